"""Enough requests see their first token in time; late ones beyond that are short."""
