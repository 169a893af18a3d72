"""What serving costs: rates, decode points, prefill options, and how a card spreads over hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from procure import performance
from procure.case import schema as given
from procure.demand.tables import Bucket, BucketRate, ScenarioRow
from procure.instance.tables import Handover, IdleHbm, Length, LpxCopy, Nic, Rate, Resilience, Serve, Workload
from procure.instance.units import skus_in_play
from procure.schema import CacheLoss, Evidence, ResilienceKind, SkuKind

if TYPE_CHECKING:
    from procure.case import Case
    from procure.catalogue import Sku
    from procure.catalogue.sku import Machine
    from procure.demand import Demand
    from procure.sizing import Card

LEAST_TPS = 1.0
"""TPS/User that work without a target still gets: a stream that never ends holds its memory for ever."""


@dataclass(frozen=True)
class Load:
    """A workload as the builders need it: its card, setup, resolved scenario row and bucket rows of all quarters."""

    name: str
    card: Card
    setup: performance.Setup
    """At the level of software that the case states; the months since are those of each bucket row."""
    scenario: ScenarioRow
    buckets: pd.DataFrame
    """Among its columns ``months``: further months of software when the row's quarter begins."""
    nodes: list[tuple[np.ndarray, np.ndarray]]
    """Lengths (tokens) and shares, one of each per bucket, over which a function of length has the bucket's mean."""
    lengths: dict[int, np.ndarray]
    """Input tokens at the points of :data:`procure.demand.lengths.SHARES`, by quarter."""


def rules_of(case: Case) -> performance.Rules:
    """What performance takes as given in a case.

    Raises:
        InputError: a premise that is missing or out of range.
    """
    return performance.Rules.of(performance.premises_of(case.catalogue))


def loads(case: Case, demand: Demand, rules: performance.Rules) -> dict[str, Load]:
    """The workloads of a case by name, with their buckets; quarters without requests are left out."""
    asked = demand.rates[demand.rates["requests_per_s"] > 0]
    keys = ["quarter", "workload", "bucket"]
    active = demand.buckets.merge(asked[keys], on=keys)
    active.insert(0, "t", active["quarter"].map(lambda quarter: case.position[quarter]))
    scenario = {row.workload: row for row in ScenarioRow.rows(demand.scenarios)}
    returning = demand.reuse_path[["quarter", "workload", "reused_share"]]
    active = active.merge(returning, on=["quarter", "workload"], how="left").fillna({"reused_share": 0.0})
    pace, months, curves = case.settings.vintage, _months(case, rules), own_curves(case)
    active["months"] = active["t"].map(dict(enumerate(months)))
    by_workload = dict(list(active.groupby("workload", sort=False)))
    return {
        row.workload: Load(
            row.workload,
            case.cards[row.card],
            performance.Setup(row.weight_precision, row.kv_format, pace, rules, curves),
            scenario[row.workload],
            by_workload[row.workload].reset_index(drop=True),
            _nodes(demand.nodes, by_workload[row.workload]),
            {case.position[q]: demand.lengths[q, row.workload] for q in by_workload[row.workload]["quarter"].unique()},
        )
        for row in given.Workload.rows(case.tables["workloads"])
        if row.workload in by_workload
    }


def _months(case: Case, rules: performance.Rules) -> list[int]:
    """Further months of software, beyond the level that the case states, at the beginning of each quarter."""
    at = [rules.software.vintage_at(case.settings.vintage, str(quarter)) for quarter in case.quarters]
    return [int(vintage.partition("+")[2] or 0) for vintage in at]


def _nodes(nodes: pd.DataFrame, buckets: pd.DataFrame) -> list[tuple[np.ndarray, np.ndarray]]:
    """Lengths and shares of each node, in the order of the bucket rows."""
    keys = ["quarter", "workload", "bucket"]
    made = []
    for _, part in nodes.groupby("node"):
        mine = buckets[keys].merge(part, on=keys, how="left")
        made.append((mine["input_tokens"].to_numpy(float), mine["share"].to_numpy(float)))
    return made


def rates_table(case: Case, demand: Demand) -> pd.DataFrame:
    """Rates that capacity is sized for: the coincident peak, or the mean of deferrable work."""
    deferrable = dict(zip(demand.scenarios["workload"], demand.scenarios["deferrable"], strict=True))
    rows = []
    for r in BucketRate.rows(demand.rates):
        peak, mean = r.requests_per_s, r.requests_per_s * r.mean_to_peak
        sized = mean if deferrable[r.workload] else peak
        share = mean / sized if sized > 0 else 1.0
        rows.append(Rate(case.position[r.quarter], r.workload, str(r.bucket), sized, share))
    return Rate.frame(rows)


def workloads_table(case: Case, demand: Demand) -> pd.DataFrame:
    """Workloads with their targets."""
    stated = {row.workload: row for row in given.Workload.rows(case.tables["workloads"])}
    rows = []
    for s in ScenarioRow.rows(demand.scenarios):
        own = stated[s.workload]
        ttft_share = s.ttft_share if np.isfinite(s.ttft_s) else 0.0
        llm = f"{own.card}, {own.weight_precision} weights, {own.kv_format} KV"
        least = 0.0 if np.isnan(own.min_served_share) else own.min_served_share
        targets = (ttft_share, s.ttft_s, s.tps_user)
        rows.append(Workload(s.workload, own.card, own.priority, *targets, llm, least, int(s.deferrable)))
    return Workload.frame(rows)


def resilience_table(case: Case) -> pd.DataFrame:
    """Workloads that ask to be served after a loss, and what may be lost."""
    rows = []
    for r in given.Workload.rows(case.tables["workloads"]):
        asked, caches = ResilienceKind(r.resilience), CacheLoss(r.cache_loss)
        if asked is not ResilienceKind.NONE or caches is not CacheLoss.NONE:
            down = asked.units_down, int(asked.pod_down), int(asked.site_down)
            rows.append(Resilience(r.workload, *down, caches))
    return Resilience.frame(sorted(rows, key=lambda row: row.workload))


def input_bytes(load: Load) -> np.ndarray:
    """Bytes of the whole cache of a request's input, the mean of each bucket row."""
    size = np.zeros(len(load.buckets))
    for tokens, share in load.nodes:
        size += share * np.asarray(load.card.transferred_bytes(tokens, load.setup.kv_format), dtype=float)
    return size


def handovers_table(loads: Mapping[str, Load]) -> pd.DataFrame:
    """Bytes that prefill hands to decode, request by request."""
    rows = []
    for load in loads.values():
        b, size = load.buckets, input_bytes(load)
        cells = zip(b["t"].tolist(), b["bucket"].astype(str).tolist(), size.tolist(), strict=True)
        rows += [Handover(t, load.name, bucket, of_bucket) for t, bucket, of_bucket in cells]
    return Handover.frame(rows)


def nics_table(case: Case) -> pd.DataFrame:
    """Bytes/s of the scale-out network of every GPU unit."""
    cap = case.settings.store_utilisation_cap
    return Nic.frame(
        Nic(pool.name, pool.gpus * pool.scale_out_bytes_per_s_per_gpu * cap) for pool in machines(case, SkuKind.GPU)
    )


def lengths_table(loads: Mapping[str, Load]) -> pd.DataFrame:
    """Lengths of every bucket and the bytes that parking one of its sequences takes."""
    rows: list[Length] = []
    for load in loads.values():
        b = load.buckets
        visible = b["visible_tokens"].to_numpy(float)
        size = np.zeros(len(b))
        for tokens, share in load.nodes:
            size += share * np.asarray(load.card.stored_bytes(tokens + visible, load.setup.kv_format), dtype=float)
        rows += [
            Length(
                t,
                load.name,
                str(r.bucket),
                r.input_tokens,
                r.input_upper_tokens,
                r.thinking_tokens,
                r.visible_tokens,
                float(kv_bytes),
            )
            for t, r, kv_bytes in zip(b["t"].tolist(), Bucket.rows(b), size, strict=True)
        ]
    return Length.frame(rows)


@dataclass(frozen=True)
class Phase:
    """Tokens of a request that are produced at one speed."""

    tokens: np.ndarray
    tps: float


class Point(NamedTuple):
    """What is needed of a decode operating point; columns of :func:`procure.performance.decode_points`."""

    tokens_per_s_per_gpu: float
    free_hbm_bytes_per_gpu: float
    lpx_rack_s_per_token: float
    tps_user: float
    distance: float
    low: float
    evidence: Evidence


def phases(load: Load) -> list[Phase]:
    """The phases of a workload's requests: thinking, burst at the start, and the rest that is seen."""
    s, b = load.scenario, load.buckets
    visible = b["visible_tokens"].to_numpy(float)
    burst = np.minimum(visible, s.burst_tokens)
    made = [
        Phase(b["thinking_tokens"].to_numpy(float), s.tps_thinking),
        Phase(burst, s.tps_burst),
        Phase(visible - burst, s.tps_visible),
    ]
    return [p for p in made if p.tokens.sum() > 0]


def percentile_factor(case: Case) -> float:
    """How much faster the median must be so that the asked percentile of streams meets its TPS/User."""
    return 1.0 / performance.tps_over_median(case.catalogue, case.settings.tps_percentile)


def serve_rows(case: Case, load: Load) -> list[Serve]:
    """Rows of the table ``serve``: decode points of every bucket of a workload on every pool that can serve it.

    The tokens of each phase take GPU-seconds at the point that meets the speed of that phase; points of equal rank
    (largest batch, then smaller ones) go together.
    """
    rows: list[Serve] = []
    asked = Asked(percentile_factor(case), case.settings.points, case.settings.max_extrapolation)
    lpx = machines(case, SkuKind.LPX)
    for pool in machines(case, SkuKind.GPU):
        for partner in (None, *lpx) if pool.pairs_with_lpx else (None,):
            rows += _points(load, pool, partner, asked)
    return rows


def own_curves(case: Case) -> performance.Curves | None:
    """The case's own measured throughput, None without.

    Raises:
        InputError: a curve that rises with TPS/User, a card that no workload uses and none is packaged of.
    """
    rows = case.tables["throughput"]
    cards = {card.name for card in case.cards.values()}
    return performance.Curves.of_table(rows, "throughput.csv", case.catalogue, cards) if len(rows) else None


Ranks = list[dict[tuple[int, int], tuple[Point, Phase]]]
"""Operating points of each phase by (bucket row, rank): points of equal rank go together."""


@dataclass(frozen=True)
class Asked:
    """Which operating points a case takes.

    Attributes:
        factor: how much faster than promised the median must be.
        end: ``low``, ``base`` or ``high`` of every point's band.
        max_distance: doublings from the nearest measurement beyond which a point is left out.
    """

    factor: float
    end: str
    max_distance: float

    def of(self, points: pd.DataFrame) -> pd.DataFrame:
        """The points taken, at the end of their band; the best of each element stays first."""
        ends = np.ones(len(points)) if self.end == "base" else points[self.end].to_numpy(float)
        kept = (ends > 0) & (points["distance"].to_numpy(float) <= self.max_distance)
        if self.end == "base" and kept.all():
            return points
        ends = ends[kept]
        return points[kept].assign(
            tokens_per_s_per_gpu=lambda at: at["tokens_per_s_per_gpu"] * ends,
            lpx_rack_s_per_token=lambda at: at["lpx_rack_s_per_token"] / ends,
            low=lambda at: at["low"] / ends,
        )


def _points(load: Load, pool: Sku, lpx: Sku | None, asked: Asked) -> list[Serve]:
    """Rows of ``serve``: of each bucket as many ranks as every one of its phases has a point of."""
    ranks, offered = _ranks(load, pool, lpx, asked)
    partner = "" if lpx is None else lpx.name
    name = f"{pool.name}+{partner}" if partner else pool.name
    rows = []
    for i, (t, bucket) in enumerate(zip(load.buckets["t"].tolist(), load.buckets["bucket"].tolist(), strict=True)):
        for rank in range(offered[i]):
            used = _together(pool, asked.factor, i, [found[i, rank] for found in ranks])
            point = f"{load.name}|{bucket}|{t}|{name}|{rank}"
            of = (t, load.name, str(bucket), load.card.name, name, pool.name)
            rows.append(Serve(point, *of, used.rack_s, partner, used.lpx_rack_s, *used.reached))
    return rows


def _ranks(load: Load, pool: Sku, lpx: Sku | None, asked: Asked) -> tuple[Ranks, np.ndarray]:
    """The points of each phase, and how many ranks all phases of a bucket row have."""
    b = load.buckets
    output = (b["thinking_tokens"] + b["visible_tokens"]).to_numpy(float)
    mean = b["input_tokens"].to_numpy(float) + output / 2
    upper = b["input_upper_tokens"].to_numpy(float) + output
    ranks: Ranks = []
    offered = np.full(len(b), np.iinfo(int).max)
    for phase in phases(load):
        found = performance.decode_points(
            pool,
            load.card,
            load.setup,
            context_mean=mean,
            context_upper=upper,
            tps_user=np.full(len(b), max(phase.tps * asked.factor, LEAST_TPS)),
            months=b["months"].to_numpy(float),
            lpx=lpx,
        )
        points = asked.of(found)
        element = points["element"].to_numpy()
        count = np.bincount(element, minlength=len(b))
        place = np.arange(len(points)) - np.repeat(np.cumsum(count) - count, count)
        columns = [points[name].tolist() for name in Point._fields[:-1]]
        columns.append([Evidence(kind) for kind in points["evidence"].tolist()])
        keys = zip(element.tolist(), place.tolist(), strict=True)
        ranks.append(
            {key: (Point(*values), phase) for key, values in zip(keys, zip(*columns, strict=True), strict=True)}
        )
        offered = np.minimum(offered, count)
    return ranks, offered


class Used(NamedTuple):
    """What a bucket row takes, and the rest of a row of ``serve`` in its order."""

    rack_s: float
    lpx_rack_s: float
    reached: tuple[float, float, float, float, float, Evidence]


def _together(pool: Sku, factor: float, row: int, points: list[tuple[Point, Phase]]) -> Used:
    """What a bucket row takes and reaches with one point for each phase: rack_s, lpx_rack_s and the last of ``serve``.

    ``factor``: how much faster than promised the median must be.
    """
    rack_s = lpx_rack_s = free = distance = slow_s = 0.0
    slowest, margin, evidence = np.inf, np.inf, points[0][0].evidence
    for point, phase in points:
        tokens = phase.tokens[row]
        seconds = tokens / (point.tokens_per_s_per_gpu * pool.gpus)
        rack_s += seconds
        lpx_rack_s += tokens * point.lpx_rack_s_per_token
        free += seconds * point.free_hbm_bytes_per_gpu * pool.gpus
        if tokens > 0:
            distance = max(distance, point.distance)
            slow_s += seconds / point.low if point.low > 0 else np.inf
        if tokens > 0 and phase.tps > 0:
            margin = min(margin, point.tps_user / (phase.tps * factor))
        if tokens > 0 and point.tps_user < slowest:
            slowest, evidence = point.tps_user, point.evidence
    return Used(rack_s, lpx_rack_s, (free / rack_s, slowest, margin, distance, rack_s / slow_s, evidence))


def idle_hbm_table(case: Case, loads: Mapping[str, Load]) -> pd.DataFrame:
    """HBM of an idle unit that parked caches may use: what the heaviest resident card leaves."""
    rows = []
    for pool in machines(case, SkuKind.GPU):
        room = [_idle_bytes(pool, load) for load in loads.values()]
        rows.append(IdleHbm(pool.name, pool.gpus * max(0.0, min(room, default=0.0))))
    return IdleHbm.frame(rows)


def _idle_bytes(pool: Sku, load: Load) -> float:
    return performance.idle_hbm_bytes_per_gpu(pool, load.card, load.setup.weight_precision, load.setup.rules)


def lpx_copies_table(case: Case, loads: Mapping[str, Load]) -> pd.DataFrame:
    """Whole LPX racks of each SKU per copy of a card, and copies that fit in a pod."""
    rows = []
    for name, load in {load.card.name: load for load in loads.values()}.items():
        for sku in machines(case, SkuKind.LPX):
            racks = performance.lpx_racks_per_copy(load.card, sku, load.setup.rules.lpx)
            rows.append(LpxCopy(name, sku.name, racks, int(case.settings.lpx_per_pod) // racks))
    fitting = (row for row in rows if row.copies_per_pod > 0)
    return LpxCopy.frame(sorted(fitting, key=lambda row: (row.card, row.sku)))


def machines(case: Case, kind: SkuKind) -> list[Machine]:
    """The SKUs of a kind in play, as far as work on them goes."""
    return [sku.machine for sku in skus_in_play(case) if sku.kind == kind]
