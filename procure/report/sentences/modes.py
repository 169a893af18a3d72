"""Units that run at Max-Q, in sentences."""

from __future__ import annotations

from procure.plan import Plan
from procure.plan.tables import Modes
from procure.report.words import count_of, planned_quarters


def mode_sentences(plan: Plan) -> list[str]:
    """Where and when units of the planned quarters run at Max-Q, the most of any quarter first told by SKU and site."""
    found: dict[tuple[str, str], list[Modes]] = {}
    for r in plan.rows(Modes):
        if r.maxq and r.quarter in set(planned_quarters(plan)):
            found.setdefault((r.sku, r.site), []).append(r)
    sentences = []
    for (sku, site), rows in sorted(found.items()):
        most = max(rows, key=lambda r: r.maxq)
        sentences.append(
            f"{most.maxq} of {most.maxq + most.max_p} {sku} at {site} run at Max-Q in {most.quarter}, which leaves "
            f"{most.saved_kw:,.0f} kW; {count_of(len(rows), 'planned quarter')} with units at Max-Q."
        )
    return sentences
