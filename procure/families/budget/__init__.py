"""Capital spending stays within the budget of its quarter and fiscal year."""
