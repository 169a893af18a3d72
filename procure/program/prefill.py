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


def returns_of_bucket(m: Any, index: Index) -> None:
    """No bucket reuses more than the share of its requests that can return at all.

        Σ_{o reusing} prefill[o,s] ≤ R_max[w] · Σ_p serve[p,s]        for every t, s, w, b

    Returns are spread over the buckets as requests are: without this row all hits would go to the longest bucket.
    """
    keys = sorted({(o.t, site, o.workload, o.bucket) for o, site in index.prefill if o.store != "recompute"})

    def rule(m: Any, t: int, site: str, workload: str, bucket: str) -> Any:
        key = (t, site, workload, bucket)
        serving = index.serve_by_site_bucket.get(key)
        if not serving:
            return pyo.Constraint.Skip
        row = Terms()
        row.extend(
            1.0, (m.prefill[o.option, s] for o, s in index.prefill_by_site_bucket[key] if o.store != "recompute")
        )
        row.extend(-index.return_limit[t, workload, bucket], (m.serve[p.point, s] for p, s in serving))
        return row.at_most(0.0)

    m.returns_of_bucket = pyo.Constraint(keys, rule=rule)
