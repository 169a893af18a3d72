"""CMX is a store of its pod: what it keeps is worked on by racks of pods that have CMX."""
