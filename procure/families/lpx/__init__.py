"""LPX decodes in whole copies of a card's FFN weights, in the pods of the racks it works with."""

SETTINGS = ("utilisation_cap",)
"""Settings of a case that the family reads."""
