"""Caches handed from prefill to decode, and read from other units, go over the scale-out network of what stands."""
