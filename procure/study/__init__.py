"""Studies: the same case, changed and solved again."""

from procure.study.sweep import long_form, sweep

__all__ = ["long_form", "sweep"]
