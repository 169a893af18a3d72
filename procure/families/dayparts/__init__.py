"""Work that may wait is placed in parts of the day, its requests of the day in all."""

SETTINGS = ("dayparts", "utilisation_cap")
"""Settings of a case that the family reads."""
