"""Survival checked: what is asked holds after each loss, and what every loss takes is as stated."""

from __future__ import annotations

from procure.families.survivability.check.asked import elsewhere, limits
from procure.families.survivability.check.told import stated
from procure.plan.part import Check

CHECK = Check(
    limits,
    {"workloads are served without a lost site": elsewhere, "losses take what is stated": stated},
)
