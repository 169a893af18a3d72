"""Studies: the same case, changed and solved again."""

from procure.study.sweep import sweep

__all__ = ["sweep"]
