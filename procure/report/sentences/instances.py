"""Loads that are counted in whole instances, and what rounding the others up adds, in sentences."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import Instances
from procure.report.words import holds, planned_quarters, share
from procure.timekey import grouped

UNCOUNTED = 0.05
"""Racks beyond which it is said what whole instances would add."""


def instance_sentences(plan: Plan) -> list[str]:
    """Which LLMs the planned quarters count in whole instances, and what rounding up of the others adds at most.

    The second by pool: in the quarter in which it is most, in units (racks or servers) and against those that stand.
    """
    rows = [r for r in plan.rows(Instances) if r.quarter in set(planned_quarters(plan))]
    small = sorted({r.llm for r in rows if holds(r.whole)})
    sentences = [f"{'; '.join(small)}: counted in whole instances, as the load is small."] if small else []
    fleet = plan.tables["fleet"]
    stands = grouped(fleet, ["quarter", "site", "sku"])["closing"].sum().to_dict()
    more: dict[tuple[str, str], dict[str, float]] = {}
    for r in rows:
        by_quarter = more.setdefault((r.site, r.sku), {})
        by_quarter[r.quarter] = by_quarter.get(r.quarter, 0.0) + r.uncounted_units
    for (site, sku), by_quarter in sorted(more.items()):
        quarter = max(sorted(by_quarter), key=by_quarter.__getitem__)
        units, own = by_quarter[quarter], float(stands.get((quarter, site, sku), 0.0))
        if units > UNCOUNTED and own > 0:
            sentences.append(
                f"{sku} at {site}: in whole instances the other loads would take at most {units:.1f} units more in "
                f"{quarter} ({share(units / own)} of those that stand)."
            )
    return sentences
