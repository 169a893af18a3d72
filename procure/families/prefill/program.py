"""Family 3 in the program: every served request is prefilled, at the site that decodes it or over a link to it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.declare import block_rows, recourse
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.part import Part
from procure.timekey import TimeKey


def add_variables(m: Any, index: Index) -> None:
    """prefill[option, site]: share of the rate of its bucket, continuous recourse."""
    blocks = {o.option: o.at for o, _ in index.prefill}
    m.prefill = recourse([(o.option, site) for o, site in index.prefill], blocks=blocks, bounds=(0, 1))


def prefill_where_decoded(m: Any, index: Index) -> None:
    """Requests prefilled, in full or from a store, less those sent elsewhere and with those received, are decoded.

        Σ_o prefill[o,s] − Σ_{o,s'} ship[o,s→s'] + Σ_{o,s'} ship[o,s'→s] = Σ_p serve[p,s]        for every t, s, w, b

    Shares of the bucket's rate. Which pool may read which store is the instance's ``prefill`` table; without links
    nothing is sent.
    """
    points = group(index.serve, lambda x: (x[0].at, x[1], x[0].workload, x[0].bucket))
    options = group(index.prefill, lambda x: (x[0].at, x[1], x[0].workload, x[0].bucket))

    sent = group(index.ships, lambda pair: (pair.at, pair.from_site, pair.workload, pair.bucket))
    received = group(index.ships, lambda pair: (pair.at, pair.to_site, pair.workload, pair.bucket))

    def rule(m: Any, at: TimeKey, site: str, workload: str, bucket: str) -> Any:
        row = Terms()
        key = (at, site, workload, bucket)
        row.extend(1.0, (m.prefill[o.option, s] for o, s in options.get(key, [])))
        row.extend(-1.0, (m.ship[pair.key] for pair in sent.get(key, [])))
        row.extend(1.0, (m.ship[pair.key] for pair in received.get(key, [])))
        row.extend(-1.0, (m.serve[p.point, s] for p, s in points.get(key, [])))
        return row.equal(0.0)

    m.prefill_where_decoded = block_rows(sorted({*points, *sent}), rule=rule)


def prefill(d: Decided) -> pd.DataFrame:
    """Ways to prefill that are used."""
    rows = []
    for o, site in d.index.prefill:
        share = d.value(d.m.prefill[o.option, site])
        if share > TINY:
            rate = share * o.rate
            rows.append(
                (d.names[o.at.t], site, o.workload, o.bucket, o.sku, o.sku, o.store, rate, rate * o.rack_s,
                 *o.at.beside)
            )  # fmt: skip
    return frame("prefill", rows)


PROGRAM = Part((prefill_where_decoded,), add_variables, tables={"prefill": prefill})
