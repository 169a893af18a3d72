"""Loads that are counted in whole instances, and what rounding the others up adds, in sentences."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import Instances
from procure.plan.uncounted import uncounted_units
from procure.report.words import holds, planned_quarters, share

UNCOUNTED = 0.05
"""Units of a pool up to which what whole instances would add is told of all pools together."""


def instance_sentences(plan: Plan) -> list[str]:
    """Which LLMs the planned quarters count in whole instances, and what rounding up of the others adds at most.

    The second by pool: in the quarter in which it is most, in units (racks or servers) and against those that stand.
    """
    planned = set(planned_quarters(plan))
    small = sorted({r.llm for r in plan.rows(Instances) if r.quarter in planned and holds(r.whole)})
    sentences = [f"{'; '.join(small)}: counted in whole instances, as the load is small."] if small else []
    fluid = uncounted_units(plan.tables, planned)
    told = [pool for pool in fluid if pool["units"] > UNCOUNTED]
    for pool in told:
        of = f" ({share(pool['units'] / pool['standing'])} of those that stand)" if pool["standing"] > 0 else ""
        sentences.append(
            f"{pool['sku']} at {pool['site']}: in whole instances the other loads would take at most "
            f"{pool['units']:.1f} units more in {pool['quarter']}{of}."
        )
    if len(told) < len(fluid):
        where = "in any other pool" if told else "in any pool"
        sentences.append(f"Whole instances would take less than {UNCOUNTED:g} units more {where}.")
    return sentences
