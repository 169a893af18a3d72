"""Studies: the same case, changed and solved again."""

from procure.study.change import Change, Effort
from procure.study.outcome import Known, Outcome, is_bug
from procure.study.run import Step, Study
from procure.study.sweep import sweep
from procure.study.tags import NothingToCompare, price_tags

__all__ = [
    "Change",
    "Effort",
    "Known",
    "NothingToCompare",
    "Outcome",
    "Step",
    "Study",
    "is_bug",
    "price_tags",
    "sweep",
]
