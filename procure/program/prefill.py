"""Family 3: every served request is prefilled at the site that decodes it."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.program.index import Index
from procure.program.linear import Terms


def prefill_where_decoded(m: Any, index: Index) -> None:
    """Requests prefilled, in full or from a store, equal requests decoded.

        Σ_o prefill[o,s] = Σ_p serve[p,s]        for every t, s, w, b

    Shares of the bucket's rate. Which pool may read which store is the instance's ``prefill`` table.
    """

    def rule(m: Any, t: int, site: str, workload: str, bucket: str) -> Any:
        row = Terms()
        key = (t, site, workload, bucket)
        row.extend(1.0, (m.prefill[o.option, s] for o, s in index.prefill_by_site_bucket.get(key, [])))
        row.extend(-1.0, (m.serve[p.point, s] for p, s in index.serve_by_site_bucket[key]))
        return row.equal(0.0)

    m.prefill_where_decoded = pyo.Constraint(sorted(index.serve_by_site_bucket), rule=rule)
