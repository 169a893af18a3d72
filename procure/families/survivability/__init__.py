"""Workloads that ask for it are served after a loss of racks, caches or a site; the plan says what each loss takes."""

SETTINGS = ("utilisation_cap",)
"""Settings of a case that the family reads."""
