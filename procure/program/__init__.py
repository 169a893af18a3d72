"""The mixed-integer program: what all families share, and the builder that puts their parts together."""

from procure.program.program import Program, build

__all__ = ["Program", "build"]
