"""The mixed-integer program: one module per topic, one function per constraint family."""

from procure.program.program import Program, build

__all__ = ["Program", "build"]
