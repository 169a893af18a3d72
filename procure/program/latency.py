"""Family 9: enough requests see their first token in time."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.program.index import Index, group
from procure.program.linear import Terms


def late_prefill_share(m: Any, index: Index) -> None:
    """Requests whose full prefill takes longer than TTFT are at most the share that may be late.

        Σ_{s,o late} rate·prefill[o,s] ≤ (1 − ttft_share[w]) · Σ_{s,p} rate·serve[p,s]        for every t, w

    Shares of the workload's rate. Reuse that would be late has no option at all; misses always exist, so a hard test
    would delete the long buckets.
    """
    late = group((x for x in index.prefill if not x[0].meets_ttft), lambda x: (x[0].t, x[0].workload))
    serving = group(index.serve, lambda x: (x[0].t, x[0].workload))

    def rule(m: Any, t: int, workload: str) -> Any:
        row = Terms()
        total = index.load_rate[t, workload]
        for o, s in late[t, workload]:
            row.add(o.rate / total, m.prefill[o.option, s])
        allowed = 1.0 - index.workload[workload].ttft_share
        for p, s in serving.get((t, workload), []):
            row.add(-allowed * p.rate / total, m.serve[p.point, s])
        return row.at_most(0.0)

    m.late_prefill_share = pyo.Constraint(sorted(late), rule=rule)
