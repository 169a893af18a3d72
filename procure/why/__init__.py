"""Why a plan is as it is: limits, orders and demands moved, and the case solved again."""

from procure.why.explain import Asked, How, explain, unblock
from procure.why.explanation import Explanation
from procure.why.orders import LATER, LESS, NOTHING, WITHOUT
from procure.why.question import Answer, Kind, Question, Relation, Verdict, frame_of
from procure.why.serve import ALL

__all__ = [
    "ALL",
    "LATER",
    "LESS",
    "NOTHING",
    "WITHOUT",
    "Answer",
    "Asked",
    "Explanation",
    "How",
    "Kind",
    "Question",
    "Relation",
    "Verdict",
    "explain",
    "frame_of",
    "unblock",
]
