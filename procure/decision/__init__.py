"""What to decide, and on what it hangs: where a choice flips, and which premises matter."""

from procure.decision.tornado import Bar, Tornado, tornado
from procure.decision.trigger import Crossing, Reading, State, Trigger, trigger

__all__ = ["Bar", "Crossing", "Reading", "State", "Tornado", "Trigger", "tornado", "trigger"]
