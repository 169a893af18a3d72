"""Who sees the first token in time: the one place where a plan, its checks and its verification learn it.

TTFT rises with the prompt, so the requests of a workload in order of length are in order of TTFT as well. A *curve*
gives the seconds at every share of the requests, from the distribution of lengths itself; the share of a bucket that is
late is read off it, exact at the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from procure.demand.lengths import SHARES
from procure.instance.placeable import Placeable
from procure.instance.tables import (
    Age,
    FirstToken,
    Length,
    OutOfReach,
    Rate,
    ReturnShare,
    Ship,
    ShipFirstToken,
    Workload,
)
from procure.schema import RECOMPUTE

MIDDLES = np.cumsum(SHARES) - SHARES / 2
"""Share of the requests that are shorter than each point of a distribution of lengths."""
SHOWN = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0])
"""Shares at which a curve is kept, beside the ends of buckets, the share asked for and the share in time."""
LEAST = 1e-6
"""A late share below this is none: a plan's tolerances do not see it, and it would only spread the coefficients."""


def share_in_time(seconds: np.ndarray, target_s: float) -> float:
    """Share of the requests whose first token comes within ``target_s``.

    Args:
        seconds: TTFT at the points of a distribution of lengths, in order of length, shape (400,).
        target_s: seconds asked for.
    """
    rising = np.maximum.accumulate(seconds)
    in_time = int(np.searchsorted(rising, target_s, side="right"))
    if in_time in (0, len(rising)):
        return float(in_time > 0)
    before, after = rising[in_time - 1], rising[in_time]
    step = (target_s - before) / (after - before)
    return float(MIDDLES[in_time - 1] + step * (MIDDLES[in_time] - MIDDLES[in_time - 1]))


def late_shares(ends: np.ndarray, in_time: float) -> np.ndarray:
    """Late share of each bucket where the shortest ``in_time`` of all requests are in time.

    Args:
        ends: share of the requests up to the end of each bucket, rising to 1.
        in_time: share of all requests.
    """
    begins = np.concatenate([[0.0], ends[:-1]])
    late = np.clip((ends - np.maximum(begins, in_time)) / (ends - begins), 0.0, 1.0)
    return np.where(late < LEAST, 0.0, late)


def bucket_means(ends: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Mean of ``seconds`` over the requests of each bucket, whose ends are shares of all requests."""
    whole = np.concatenate([[0.0], np.cumsum(SHARES * seconds)])
    upto = np.interp(np.concatenate([[0.0], ends]), np.concatenate([[0.0], np.cumsum(SHARES)]), whole)
    return np.diff(upto) / np.diff(np.concatenate([[0.0], ends]))


def curve_nodes(ends: np.ndarray, seconds: np.ndarray, also: Iterable[float]) -> list[tuple[float, float]]:
    """(share of the requests in order of length, TTFT of the longest of them): what is kept of a curve."""
    shares = np.unique(np.concatenate([SHOWN, ends, np.asarray(list(also), dtype=float)]).round(12))
    return list(zip(shares.tolist(), np.interp(shares, MIDDLES, seconds).tolist(), strict=True))


Curve = tuple[np.ndarray, np.ndarray]
"""Shares of a workload's requests in order of length, and the TTFT of the longest of them, seconds."""


class CurveOf(NamedTuple):
    """What a curve is of: a way to prefill a workload in a quarter, and the sites of the link that its caches cross."""

    t: int
    workload: str
    sku: str
    store: str
    from_site: str = ""
    to_site: str = ""


Curves = dict[CurveOf, Curve]
"""Curves by what they are of."""


def curves_of(tables: Mapping[str, pd.DataFrame]) -> Curves:
    """The instance's tables ``first_token`` and ``ship_first_token`` by what their curves are of."""
    points: dict[CurveOf, list[tuple[float, float]]] = {}
    for r in FirstToken.rows(tables["first_token"]):
        points.setdefault(CurveOf(r.t, r.workload, r.sku, r.store), []).append((r.share, r.ttft_s))
    for sent in ShipFirstToken.rows(tables["ship_first_token"]):
        of = CurveOf(sent.t, sent.workload, sent.sku, RECOMPUTE, sent.from_site, sent.to_site)
        points.setdefault(of, []).append((sent.share, sent.ttft_s))
    return {key: (np.array([x for x, _ in found]), np.array([y for _, y in found])) for key, found in points.items()}


def bucket_ends(rates: pd.DataFrame) -> dict[tuple[int, str], dict[str, tuple[float, float]]]:
    """Shares of a quarter's and workload's requests at which each bucket begins and ends, in order of length."""
    ends: dict[tuple[int, str], dict[str, tuple[float, float]]] = {}
    asked: dict[tuple[int, str], list[Rate]] = {}
    for r in Rate.rows(rates):
        if r.requests_per_s > 0:
            asked.setdefault((r.t, r.workload), []).append(r)
    for key, part in asked.items():
        share = np.array([r.requests_per_s for r in part])
        upto = np.cumsum(share) / share.sum()
        begin = np.concatenate([[0.0], upto[:-1]])
        spans = zip(begin.tolist(), upto.tolist(), strict=True)
        ends[key] = dict(zip((r.bucket for r in part), spans, strict=True))
    return ends


def reached_s(parts: Iterable[tuple[float, tuple[float, float], Curve]], asked: float) -> float:
    """Seconds within which the share ``asked`` of the requests sees its first token.

    Args:
        parts: for each way to prefill a bucket its share of all requests, where the bucket begins and ends, its curve.
        asked: share of all requests, at most the sum of the parts' shares.
    """
    known = [
        (weight, seconds, np.clip((share - begin) / (end - begin), 0.0, 1.0), float(np.interp(end, share, seconds)))
        for weight, (begin, end), (share, seconds) in parts
    ]
    last = max((last for *_, last in known), default=np.inf)
    at = np.unique(np.concatenate([np.zeros(1), *(seconds for _, seconds, *_ in known)]))
    within, before = np.zeros(len(at)), np.zeros(len(at))
    for weight, seconds, inside, _ in known:
        within += weight * np.interp(at, seconds, inside, left=0.0)
        # Up to a node: a curve begins at its first node with the share that is then in time at once.
        before += np.where(at > seconds[0], weight * np.interp(-at, -seconds[::-1], inside[::-1]), 0.0)
    first = int(np.argmax(within >= asked))
    if within[first] < asked:
        return last
    if first == 0 or before[first] < asked:
        return min(float(at[first]), last)
    part = (asked - within[first - 1]) / (before[first] - within[first - 1])
    return min(float(at[first - 1] + part * (at[first] - at[first - 1])), last)


@dataclass(frozen=True)
class Best:
    """First tokens of a workload in a quarter with every pool that may stand and every cache kept.

    Attributes:
        in_time_share: most of its requests that can be in time.
        asked_share: that must be.
        reached_s: seconds within which the asked share sees its first token then.
        target_s: seconds asked for.
        pools: SKUs that prefill so, of the longest bucket first.
        late_bucket: shortest length bucket of which some requests are late then; empty where none is.
        late_pool: SKU that prefills it so.
        late_tokens: mean input of that bucket.
    """

    in_time_share: float
    asked_share: float
    reached_s: float
    target_s: float
    pools: tuple[str, ...]
    late_bucket: str = ""
    late_pool: str = ""
    late_tokens: float = 0.0

    @property
    def short_share(self) -> float:
        """Share of the requests that is short of its time to first token whatever is bought."""
        short = self.asked_share - self.in_time_share
        return short if short > LEAST else 0.0

    @property
    def words(self) -> str:
        """What is reached at the share asked for, against what is asked, and from which length on requests are late."""
        asked = f"{self.asked_share * 100:.4g}%"
        late = ""
        if self.late_bucket:
            size = f"mean input {self.late_tokens:,.0f} tokens"
            late = f"; late from bucket {self.late_bucket} on ({size}), on {self.late_pool}"
        return f"{asked} of requests within {self.reached_s:.3g} s at best, {self.target_s:g} s asked{late}"


def at_best(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[int, str], Best]:
    """The best that any plan can do for each quarter and workload with a TTFT, where some pool may stand.

    Of the requests that return, as many as reach their copy find it in the store that brings most of them in time; all
    others are prefilled on the pool with the fewest late. Capacity and money are left out, in the case's favour.
    """
    least: dict[tuple[int, str, str], Way] = {}
    hits: dict[tuple[int, str, str], list[Way]] = {}
    for way in sorted(_possible(tables), key=lambda way: (way.late_share, way.ttft_s)):
        key = (way.of.t, way.of.workload, way.bucket)
        if way.of.store == RECOMPUTE:
            least.setdefault(key, way)
        else:
            hits.setdefault(key, []).append(way)
    reach = {(r.t, r.workload, r.store): r.return_share for r in ReturnShare.rows(tables["return_shares"])}
    returns = tables["ages"].groupby(["t", "workload"])["return_share"].sum().clip(upper=1.0).to_dict()
    curves = curves_of(tables)
    tokens = {(r.t, r.workload, r.bucket): r.input_tokens for r in Length.rows(tables["lengths"])}
    target = {r.workload: r for r in Workload.rows(tables["workloads"])}
    found = {}
    for (t, w), ends in bucket_ends(tables["rates"]).items():
        if not np.isfinite(target[w].ttft_target_s) or (t, w, next(iter(ends))) not in least:
            continue
        parts, in_time, pools, late = [], 0.0, [], ("", "", 0.0)
        for bucket, (begin, end) in reversed(ends.items()):
            miss = least[t, w, bucket]
            back = returns.get((t, w), 0.0)
            returning = [(back * reach[t, w, way.of.store], way) for way in hits.get((t, w, bucket), [])]
            share, hit = _most_helpful(miss, returning)
            for weight, way in ((1.0 - share, miss), (share, hit)):
                if weight > 0:
                    in_time += weight * (end - begin) * (1.0 - way.late_share)
                    parts.append((weight * (end - begin), (begin, end), curves[way.of]))
                    pools.append(way.of.sku)
                    late = (bucket, way.of.sku, tokens[t, w, bucket]) if way.late_share > 0 else late
        asked = float(target[w].ttft_share)
        names = tuple(dict.fromkeys(pools))
        found[t, w] = Best(in_time, asked, reached_s(parts, asked), float(target[w].ttft_target_s), names, *late)
    return found


def _most_helpful(miss: Way, returning: list[tuple[float, Way]]) -> tuple[float, Way]:
    """The share of a bucket's requests that are hits, and from where, that brings most of them in time."""
    better = [(share, way) for share, way in returning if way.late_share <= miss.late_share]
    return max(better, key=lambda x: (x[0] * (miss.late_share - x[1].late_share), x[0]), default=(0.0, miss))


class Way(NamedTuple):
    """A way to prefill a bucket, at the site that decodes it or over a link."""

    of: CurveOf
    bucket: str
    late_share: float
    ttft_s: float


def _possible(tables: Mapping[str, pd.DataFrame]) -> list[Way]:
    """Ways to prefill on a pool that may stand in the quarter, reuse among them where anything returns.

    A pool that may only prefill, at sites at which nothing may decode, does so over links alone.
    """
    local = Placeable.of(tables).serves
    returning = {(age.t, age.workload) for age in Age.rows(tables["ages"]) if age.return_share > 0}
    columns = ("t", "workload", "bucket", "sku", "store", "late_share", "ttft_s")
    ways = [
        Way(CurveOf(t, workload, sku, store), bucket, late, ttft_s)
        for t, workload, bucket, sku, store, late, ttft_s in zip(
            *(tables["prefill"][name].tolist() for name in columns), strict=True
        )
        if (sku, t) in local and (store == RECOMPUTE or (t, workload) in returning)
    ]
    for r in Ship.rows(tables["ships"]):
        of = CurveOf(r.t, r.workload, r.sku, RECOMPUTE, r.from_site, r.to_site)
        ways.append(Way(of, r.bucket, r.late_share, r.ttft_s))
    return ways


READ = (
    "prefill", "ships", "rates", "workloads", "ages", "skus", "fixed", "resource_use", "quarters", "pool_roles",
    "rent_offers", "rented",
)  # fmt: skip
"""Tables that :func:`out_of_reach` reads."""


def out_of_reach(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Requests beyond the late share allowed that are late however they are prefilled: the longest of their workload.

        beyond[t,w] = max(0, Σ_b part[b]·min_o late_share[o] − (1 − ttft_share[w]))

    over the ways o of every pool that may stand in the quarter, reuse among them where anything returns; the longest
    requests, and of no bucket more than is late there in every way. Nothing that could be bought makes them in time, so
    they are short in any plan; and no other request is among them, however little capacity there is.

    Args:
        tables: those named in :data:`READ`.
    """
    least: dict[tuple[int, str, str], float] = {}
    for way in _possible(tables):
        key = (way.of.t, way.of.workload, way.bucket)
        least[key] = min(least.get(key, way.late_share), way.late_share)
    share = dict(zip(tables["workloads"]["workload"], tables["workloads"]["ttft_share"], strict=True))
    rows: list[OutOfReach] = []
    for (t, workload), ends in bucket_ends(tables["rates"]).items():
        late = {b: (end - begin) * least.get((t, workload, b), 0.0) for b, (begin, end) in ends.items()}
        left = sum(late.values()) - (1.0 - share[workload])
        for bucket in reversed(ends):
            if left <= LEAST:
                break
            begin, end = ends[bucket]
            taken = min(left, late[bucket])
            left -= taken
            if taken > 0:
                rows.append(OutOfReach(t, workload, bucket, min(taken / (end - begin), 1.0)))
    return OutOfReach.frame(sorted(rows, key=lambda row: (row.t, row.workload, row.bucket)))
