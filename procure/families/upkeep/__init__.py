"""Power and space of what stands, and the power of the work that it does: costs without a limit of their own."""
