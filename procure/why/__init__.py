"""Why a plan is as it is: limits, orders and demands moved, and the case solved again."""

from procure.why.explain import Asked, Explanation, How, explain, unblock
from procure.why.needs import ALL
from procure.why.question import Answer, Kind, Question, Verdict, frame_of

__all__ = [
    "ALL",
    "Answer",
    "Asked",
    "Explanation",
    "How",
    "Kind",
    "Question",
    "Verdict",
    "explain",
    "frame_of",
    "unblock",
]
