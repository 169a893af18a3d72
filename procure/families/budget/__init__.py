"""Capital spending stays within the budget of its quarter and fiscal year."""

SETTINGS = ("budget_basis", "budget_carry")
"""Settings of a case that the family reads."""
