"""The work of a pool fits the racks that may be busy."""
