"""Every length bucket is served to one share of what is within reach, and what is not is counted."""

SETTINGS = ("objective",)
"""Settings of a case that the family reads."""
