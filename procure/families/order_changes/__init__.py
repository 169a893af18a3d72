"""What is cancelled or deferred of firm orders, where their terms allow it, for a fee."""
