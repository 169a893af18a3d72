"""Small loads are served by whole instances of their LLMs, by role; of larger ones the plan says what rounding adds."""
