"""Family 4 in the program: the work of a pool fits the racks that may be busy."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.program.index import Index
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.present import add_work


def work_within_racks(m: Any, index: Index) -> None:
    """Decode and prefill keep no more racks busy than availability, spares and the utilisation cap allow.

        Σ_p rate·rack_s·serve[p,s] + Σ_o rate·rack_s·prefill[o,s] ≤ usable_share[k] · (own[s,k,t] − reserved[s,k,t])

    Racks. All work is sized at one coincident peak, deferrable work at its mean. Left out where no work can run.
    """
    keys = [k for k in index.stock if k in index.serve_by_pool or k in index.prefill_by_pool]

    def rule(m: Any, site: str, sku: str, t: int) -> Any:
        row = Terms()
        add_work(m, index, row, (site, sku, t))
        usable = index.sku[sku].usable_share
        row.add(-usable, m.own[site, sku, t])
        return row.at_most(-usable * index.reserved.get((t, site, sku), 0.0))

    m.work_within_racks = pyo.Constraint(keys, rule=rule)


PROGRAM = Part((work_within_racks,))
