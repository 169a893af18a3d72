"""Every length bucket is served to one share of what is within reach, and what is not is counted."""
