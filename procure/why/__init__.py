"""Why a plan is as it is: limits, orders and demands moved, and the case solved again."""

from procure.why.explain import Asked, Explanation, How, explain
from procure.why.question import Answer, Kind, Question, Verdict, frame_of

__all__ = ["Answer", "Asked", "Explanation", "How", "Kind", "Question", "Verdict", "explain", "frame_of"]
