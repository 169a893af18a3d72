"""Rules that program and verification share on purpose: pure functions that a case's figures are put into.

They are told here once, and worked out by hand in ``tests/rules``. Whatever else a family's program says, its check
says again in its own words.
"""
