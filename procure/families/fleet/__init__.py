"""What stands at a site existed, was on firm order, or was ordered and delivered, and was not sold."""

SETTINGS = ("resale",)
"""Settings of a case that the family reads."""
