"""What a plan's prefill gives each workload: who is in time, who is late beyond the promise, the TTFT reached.

From the plan's tables and the instance, with no word of the program: the plan states it, and verification asks again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from procure.instance import Instance
from procure.instance.first_token import CurveOf, Curves, Way, at_best, bucket_ends, curves_of, reached_s
from procure.instance.tables import OutOfReach, Prefill, Rate, Ship, Workload
from procure.plan.tables import Prefilled, Shipped
from procure.schema import RECOMPUTE
from procure.timekey import one_block

NOTHING = 1e-6
"""A share of a workload below this is the solver's tolerance."""


@dataclass(frozen=True)
class FirstTokens:
    """First tokens of a workload in a quarter.

    Attributes:
        late_per_s: requests/s prefilled whose first token is late.
        allowed_per_s: that may be late: a share of all requests that are not dropped for lack of capacity.
        late_share: late beyond the allowance, as a share of all requests asked for; these are short, though served.
        out_of_reach_share: not served since no hardware in play brings them in time; a share of all requests.
        in_time_share: of all requests not dropped, on the pools that the plan uses; NaN where nothing is served.
        reached_s: seconds within which the asked share of them sees its first token; NaN without target or service.
        mean_s: mean seconds to the first token of what is served; NaN where nothing is.
    """

    late_per_s: float
    allowed_per_s: float
    late_share: float
    out_of_reach_share: float
    in_time_share: float
    reached_s: float
    mean_s: float


Ways = dict[str, list[tuple[float, Way]]]
"""Requests/s of each way to prefill, by bucket."""


def first_tokens(
    instance: Instance, prefill: pd.DataFrame, shipments: pd.DataFrame
) -> dict[tuple[str, str], FirstTokens]:
    """What every workload that is asked for gets, by (quarter, workload).

    Of the requests that a site prefills in one way those in ``shipments`` see their first token after a link, and the
    others at the site itself.

    Raises:
        KeyError: the table prefills in a way that the instance does not know.
        InputError: rows of several scenarios or parts of the day.
    """
    instance.of(one_block)
    one_block({"prefill": prefill, "shipments": shipments})
    names, asked = instance.quarters, instance.of(_asked)
    ways: dict[tuple[str, str], Ways] = defaultdict(lambda: defaultdict(list))
    sent: dict[tuple[str, ...], float] = defaultdict(float)
    for away in Shipped.rows(shipments):
        t = instance.position[away.quarter]
        pair = asked.pairs[t, away.workload, away.bucket, away.sku, away.from_site, away.to_site]
        of = CurveOf(t, away.workload, away.sku, RECOMPUTE, away.from_site, away.to_site)
        way = Way(of, away.bucket, pair.late_share, pair.ttft_s)
        ways[away.quarter, away.workload][away.bucket].append((away.requests_per_s, way))
        sent[away.quarter, away.from_site, away.workload, away.bucket, away.sku, RECOMPUTE] += away.requests_per_s
    for used in Prefilled.rows(prefill):
        t = instance.position[used.quarter]
        option = asked.options[t, used.workload, used.bucket, used.sku, used.store]
        way = Way(CurveOf(t, used.workload, used.sku, used.store), used.bucket, option.late_share, option.ttft_s)
        key = (used.quarter, used.site, used.workload, used.bucket, used.sku, used.store)
        here = max(used.requests_per_s - sent.get(key, 0.0), 0.0)
        ways[used.quarter, used.workload][used.bucket].append((here, way))
    best = instance.of(at_best) if asked.away else {}
    return {
        (names[t], w): _of(
            ways[names[t], w], ends, asked.rate[t, w], asked.away.get((t, w), {}), asked.target[w], asked.curves,
            best[t, w].reached_s if (t, w) in asked.away else 0.0,
        )
        for (t, w), ends in asked.ends.items()
    }  # fmt: skip


class _Asked(NamedTuple):
    """What an instance says of first tokens, whatever a plan does; by (t, workload) and more."""

    options: Mapping[tuple[int, str, str, str, str], Prefill]
    pairs: Mapping[tuple[int, str, str, str, str, str], Ship]
    rate: Mapping[tuple[int, str], float]
    away: Mapping[tuple[int, str], dict[str, float]]
    target: Mapping[str, Workload]
    curves: Curves
    ends: Mapping[tuple[int, str], dict[str, tuple[float, float]]]


def _asked(tables: Mapping[str, pd.DataFrame]) -> _Asked:
    rate: dict[tuple[int, str], float] = defaultdict(float)
    for r in Rate.rows(tables["rates"]):
        rate[r.t, r.workload] += r.requests_per_s
    away: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
    for lost in OutOfReach.rows(tables["out_of_reach"]):
        away[lost.t, lost.workload][lost.bucket] = lost.share
    return _Asked(
        {(r.t, r.workload, r.bucket, r.sku, r.store): r for r in Prefill.rows(tables["prefill"])},
        {(r.t, r.workload, r.bucket, r.sku, r.from_site, r.to_site): r for r in Ship.rows(tables["ships"])},
        rate,
        away,
        {r.workload: r for r in Workload.rows(tables["workloads"])},
        curves_of(tables),
        bucket_ends(tables["rates"]),
    )


def _of(
    ways: Ways,
    ends: dict[str, tuple[float, float]],
    rate: float,
    away: dict[str, float],
    target: Any,
    curves: Curves,
    least_s: float,
) -> FirstTokens:
    served = late = seconds = 0.0
    for bucket, used in ways.items():
        left = 1.0 - away.get(bucket, 0.0)
        for rps, option in used:
            served += rps
            late += rps * max(option.late_share - away.get(bucket, 0.0), 0.0) / left if left > NOTHING else 0.0
            seconds += rps * option.ttft_s
    beyond = sum(share * (ends[b][1] - ends[b][0]) for b, share in away.items())
    allowed = (1.0 - target.ttft_share) * served / (1.0 - beyond) if beyond < 1.0 - NOTHING else 0.0
    excess = (late - allowed) / rate
    in_time, reached = _reached(ways, ends, target, curves)
    reached = max(reached, least_s) if reached > 0 else math.nan  # what is not served is on no pool of the plan
    return FirstTokens(
        late, allowed, excess if excess > NOTHING else 0.0, beyond, in_time, reached,
        seconds / served if served > 0 else math.nan,
    )  # fmt: skip


def _reached(ways: Ways, ends: dict[str, tuple[float, float]], target: Any, curves: Curves) -> tuple[float, float]:
    """In-time share and TTFT at the share asked for, every bucket on the pools and stores that the plan uses for it.

    A bucket that is not served at all is taken to be prefilled like the next shorter one that is.
    """
    if not any(rps > 0 for used in ways.values() for rps, _ in used):
        return math.nan, math.nan
    in_time, parts, mix = 0.0, [], []
    for bucket, (begin, end) in ends.items():
        used = ways.get(bucket, [])
        total = sum(rps for rps, _ in used)
        if total > 0:
            mix = [(rps / total, option) for rps, option in used]
            in_time += (end - begin) * sum(part * (1.0 - option.late_share) for part, option in mix)
        for part, option in mix:
            curve = curves.get(option.of)
            if curve is not None:
                parts.append((part * (end - begin), (begin, end), curve))
    asked = target.ttft_share
    return in_time, reached_s(parts, asked) if parts and asked > 0 else math.nan
