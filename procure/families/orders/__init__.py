"""What a supplier sells in a quarter, what the least order is, and what is paid for it when."""
