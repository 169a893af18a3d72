"""What moves to other hardware between quarters, in a sentence."""

from __future__ import annotations

from procure.plan import Plan
from procure.report.words import usd

SHOWN = 0.005
"""Workloads that move by less are told as 0.00."""


def placement_sentence(plan: Plan) -> str:
    """What moves to other hardware between quarters, where the service was asked to stay; else nothing."""
    if "placement" not in plan.summary:
        return ""
    told = plan.summary["placement"]
    if told["moved_cheapest"] < SHOWN:
        return "Between quarters the cheapest service moves nothing to other hardware: nothing is given up for it."
    moves = f"Between quarters {told['moved']:.2f} of a workload moves to other hardware (decode and prefill, summed)"
    if told["moved"] == told["moved_cheapest"]:
        return (
            f"{moves}: no service that moves less was found within what may be given up, in the time that the search "
            "itself took."
        )
    return (
        f"{moves}, {told['moved_cheapest']:.2f} with the cheapest service of the same fleet, which costs "
        f"{usd(max(told['given_up_usd'], 0.0))} less."
    )
