"""Instances of an LLM: GPUs of each by role, how much it carries, and which loads are counted in whole ones.

An instance is a replica of one LLM as served (card, formats of weights and cache) on so many GPUs of one pool, all its
weights resident: it prefills, decodes, or does both. A load that needs few of them is counted in whole instances; of a
larger one the plan says what rounding up would add.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from procure import performance
from procure.instance.placeable import Placeable
from procure.instance.service import LEAST_TPS, Load, machines, percentile_factor, phases
from procure.instance.tables import InstanceRate, InstanceRow, Prefill, Rate, Resilience, Serve, SkuRow, Workload
from procure.schema import RECOMPUTE, Role, SkuKind

if TYPE_CHECKING:
    from procure.case import Case
    from procure.case.settings import Settings
    from procure.catalogue import Sku

F = TypeVar("F")

READ = (
    "serve", "prefill", "rates", "skus", "workloads", "resilience", "fixed", "resource_use", "quarters", "pool_roles",
    "rent_offers", "rented",
)  # fmt: skip
"""Tables that instances follow from."""
SIZES = ["t", "workload", "bucket", "deployment", "gpus", "share"]
EQUAL = 1e-9
"""Instances by which a load may be above a whole number and still need no further one."""
LEAST_LOAD = 1e-3
"""Instances below which a load is left fluid: parts of a rack that the solver's tolerances do not see."""


def sizes(case: Case, load: Load) -> pd.DataFrame:
    """How much of the best throughput instances of each size reach: one row for each bucket, deployment and size.

    Columns: t, workload, bucket, deployment, gpus, share. The phases of a request run on one instance, each at its own
    speed. Sizes that cannot serve a bucket have no row; without a pool there is none at all.
    """
    made = []
    for pool in machines(case, SkuKind.GPU):
        for partner in (None, *machines(case, SkuKind.LPX)) if pool.pairs_with_lpx else (None,):
            gpus, share = _shares(case, load, pool, partner)
            name = f"{pool.name}+{partner.name}" if partner is not None else pool.name
            row, size = np.nonzero(share > 0)
            at = load.buckets.iloc[row]
            made.append(
                pd.DataFrame({
                    "t": at["t"].to_numpy(), "workload": load.name, "bucket": at["bucket"].astype(str).to_numpy(),
                    "deployment": name, "gpus": gpus[size], "share": share[row, size],
                })
            )  # fmt: skip
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame(columns=SIZES)


def _shares(case: Case, load: Load, pool: Sku, lpx: Sku | None) -> tuple[np.ndarray, np.ndarray]:
    """Sizes, and the share of the best throughput that each reaches, shape (bucket rows, sizes); 0 for none."""
    b, factor = load.buckets, percentile_factor(case)
    output = (b["thinking_tokens"] + b["visible_tokens"]).to_numpy(float)
    best: Any = 0.0
    sized: Any = 0.0
    for phase in phases(load):
        gpus, rates = performance.decode_rates_by_size(
            pool,
            load.card,
            load.setup,
            context_mean=b["input_tokens"].to_numpy(float) + output / 2,
            context_upper=b["input_upper_tokens"].to_numpy(float) + output,
            tps_user=np.full(len(b), max(phase.tps * factor, LEAST_TPS)),
            months=b["months"].to_numpy(float),
            lpx=lpx,
        )
        tokens = np.asarray(phase.tokens, dtype=float)[:, None]
        with np.errstate(divide="ignore"):
            seconds = np.where(tokens > 0, tokens / rates, 0.0)
        sized = sized + seconds
        best = best + seconds.min(axis=1, initial=np.inf, keepdims=True)
    served = np.isfinite(sized) & (sized > 0)
    return gpus, np.where(served, best, 0.0) / np.where(served, sized, 1.0)


def prefill_sizes(case: Case, loads: Mapping[str, Load]) -> pd.DataFrame:
    """GPUs that a prefill instance of each workload may have on each pool; columns workload, sku, gpus."""
    rows = [
        (name, pool.name, gpus)
        for name, load in loads.items()
        for pool in machines(case, SkuKind.GPU)
        for gpus in performance.prefill_gpus_by_size(pool, load.card, load.setup)
    ]
    return pd.DataFrame(rows, columns=["workload", "sku", "gpus"])


def instances(
    tables: Mapping[str, pd.DataFrame], decode: pd.DataFrame, prefill: pd.DataFrame, case: Case
) -> dict[str, pd.DataFrame]:
    """The tables ``instances`` and ``instance_rates``.

    On each deployment the instances of an LLM have one size in a quarter: the one that carries its whole load with the
    fewest units, of those at least as large as the case states (``instance_gpus``), units down included that it is to
    survive. By ``instance_roles`` an instance prefills or decodes (``apart``), or does both (``shared``); ``by_load``:
    both where one instance carries the whole load on some pool in fewer units than instances for each role. Loads that
    at most ``whole_instances_up_to`` instances of the smallest size carry, prefill and decode together on the pool
    where that is fewest, are counted in whole ones, where one of them is at least ``whole_instances_least_share`` of
    what all loads would take there.

    Args:
        tables: those named in :data:`READ`.
        decode: what :func:`sizes` gives, of all workloads.
        prefill: what :func:`prefill_sizes` gives.
        case: for its settings and the sizes that it states.
    """
    llm = {row.workload: row.llm for row in Workload.rows(tables["workloads"])}
    least: dict[str, float] = {}
    for workload, gpus in zip(*_columns(case.tables["workloads"], ["workload", "instance_gpus"]), strict=True):
        least[llm[workload]] = max(least.get(llm[workload], 1.0), float(gpus) if pd.notna(gpus) else 1.0)
    sku = {row.sku: row for row in SkuRow.rows(tables["skus"])}
    placeable = Placeable.of(tables)
    decodes = {(name, t) for site, name, t in placeable.units if placeable.decodes(site, name, t)}
    prefills = {(name, t) for site, name, t in placeable.units if placeable.prefills(site, name, t)}
    rate = {(r.t, r.workload, r.bucket): r.requests_per_s for r in Rate.rows(tables["rates"]) if r.requests_per_s > 0}
    size = _prefill_size(prefill, llm, least)
    served = [way for way in Serve.rows(tables["serve"]) if (way.sku, way.t) in decodes]
    ways = [way for way in Prefill.rows(tables["prefill"]) if (way.sku, way.t) in prefills]
    decoding = _decoding(served, rate, decode, size, llm, sku, least)
    filling = _filling(ways, rate, size, llm, sku)
    both = _both(decoding, filling, sku)
    small = _small(decoding, filling, case.settings)
    one = _for_both(both, decoding, filling, case.settings.instance_roles)
    losses = _Losses.of(tables["resilience"], llm, sku, case.settings.utilisation_cap)
    shared = _fewest([found for found in both if found.of in one], Role.BOTH, losses)
    apart = _fewest([found for found in decoding if found.lpx_sku or found.of not in one], Role.DECODE, losses)
    among = {found.group for found in shared}
    alone = _fewest([found for found in filling if found.group not in among], Role.PREFILL, losses)
    chosen = [(found, Role.DECODE) for found in apart]
    chosen += [(found, Role.BOTH) for found in shared] + [(found, Role.PREFILL) for found in alone]
    rows = [
        InstanceRow(
            t=of.t, llm=of.llm, deployment=of.deployment, role=role, sku=of.sku, lpx_sku=of.lpx_sku, gpus=of.gpus,
            units=of.units, busy_units=of.busy_units, load=of.load, whole=int(of.of in small),
        )
        for of, role in sorted(chosen, key=lambda pair: (pair[0].group, pair[1].value))
    ]  # fmt: skip
    return {"instances": InstanceRow.frame(rows), "instance_rates": _rates(rows, decode, llm)}


def units_of(gpus: int, per_unit: int) -> float:
    """Units that one instance takes: its part of a unit filled with its like, or whole units beyond one."""
    return 1.0 / (per_unit // gpus) if gpus <= per_unit else float(-(-gpus // per_unit))


class _Sized(NamedTuple):
    """Instances of one size that carry the whole load of an LLM on a deployment: how many, and what each takes."""

    t: int
    llm: str
    deployment: str
    sku: str
    lpx_sku: str
    gpus: int
    units: float
    busy_units: float
    load: float
    racks: float

    @property
    def group(self) -> tuple[int, str, str]:
        return self[:3]

    @property
    def of(self) -> tuple[int, str]:
        return self[:2]

    @property
    def whole(self) -> float:
        """Whole instances that carry the load."""
        return float(np.ceil(self.load - EQUAL))


def _sized(group: tuple[int, str, str], pool: SkuRow, lpx_sku: str, gpus: int, racks: float) -> _Sized:
    busy = pool.usable_share * gpus / pool.gpus
    return _Sized(*group, pool.sku, lpx_sku, gpus, units_of(gpus, int(pool.gpus)), busy, racks / busy, racks)


def _decoding(
    served: list[Serve],
    rate: Mapping[tuple[int, str, str], float],
    sized: pd.DataFrame,
    filling: Mapping[tuple[str, str], int],
    llm: Mapping[str, str],
    sku: Mapping[str, SkuRow],
    least: Mapping[str, float],
) -> list[_Sized]:
    """Instances that decode the whole load of each LLM on a deployment, for every size that serves all its buckets.

    Where physics reaches the speed of no bucket, which a user's own figures do, they are as large as for prefill.
    """
    best: dict[Any, float] = {}
    for way in served:
        if (way.t, way.workload, way.bucket) in rate:
            key = (way.t, way.workload, way.bucket, way.deployment), way.sku, way.lpx_sku
            best[key] = min(best.get(key, math.inf), way.rack_s)
    known: dict[Any, list[tuple[int, float]]] = defaultdict(list)
    for t, workload, bucket, deployment, gpus, share in zip(*_columns(sized, SIZES), strict=True):
        known[t, workload, bucket, deployment].append((gpus, share))
    reached = {(t, llm[w], deployment) for (t, w, b, deployment), _, _ in best if (t, w, b, deployment) in known}
    racks: dict[Any, list[float]] = defaultdict(list)
    for (at, pool, lpx), rack_s in best.items():
        t, workload, bucket, deployment = at
        group = t, llm[workload], deployment
        alone = [(filling[workload, pool], 1.0)] if group not in reached and (workload, pool) in filling else []
        for gpus, share in known.get(at, alone):
            racks[group, pool, lpx, gpus].append(rack_s * rate[t, workload, bucket] / share)
    most: dict[Any, int] = defaultdict(int)
    for (group, *_), of_buckets in racks.items():
        most[group] = max(most[group], len(of_buckets))
    found = [
        _sized(group, sku[pool], lpx, gpus, sum(of_buckets))
        for (group, pool, lpx, gpus), of_buckets in racks.items()
        if len(of_buckets) == most[group]
    ]
    return _large_enough(found, [least[one.llm] for one in found], _group, _gpus)


def _filling(
    ways: list[Prefill],
    rate: Mapping[tuple[int, str, str], float],
    size: Mapping[tuple[str, str], int],
    llm: Mapping[str, str],
    sku: Mapping[str, SkuRow],
) -> list[_Sized]:
    """Instances that prefill the whole load of each LLM in full on a pool, all of one size."""
    work: dict[Any, list[tuple[float, int]]] = defaultdict(list)
    for way in ways:
        at = way.t, way.workload, way.bucket
        if way.store == RECOMPUTE and at in rate and (way.workload, way.sku) in size:
            work[way.t, llm[way.workload], way.sku].append((way.rack_s * rate[at], size[way.workload, way.sku]))
    return [
        _sized(group, sku[group[2]], "", max(gpus for _, gpus in taken), sum(racks for racks, _ in taken))
        for group, taken in work.items()
    ]


def _prefill_size(
    sized: pd.DataFrame, llm: Mapping[str, str], least: Mapping[str, float]
) -> dict[tuple[str, str], int]:
    """One size for each workload and pool: the smallest of at least the GPUs stated; the largest where none is."""
    rows = list(zip(*_columns(sized, ["workload", "sku", "gpus"]), strict=True))
    large = _large_enough(
        rows, [least[llm[workload]] for workload, _, _ in rows], lambda row: row[:2], lambda row: row[2]
    )
    size: dict[tuple[str, str], int] = {}
    for workload, name, gpus in large:
        size[workload, name] = min(size.get((workload, name), gpus), gpus)
    return size


def _large_enough(
    found: list[F], least: Sequence[float], each: Callable[[F], Any], gpus: Callable[[F], int]
) -> list[F]:
    """Of each group the sizes of at least so many GPUs; the largest where there is none."""
    largest: dict[Any, int] = {}
    enough = set()
    for one, asked in zip(found, least, strict=True):
        largest[each(one)] = max(largest.get(each(one), 0), gpus(one))
        if gpus(one) >= asked:
            enough.add(each(one))
    return [
        one
        for one, asked in zip(found, least, strict=True)
        if (gpus(one) >= asked if each(one) in enough else gpus(one) == largest[each(one)])
    ]


def _both(decoding: list[_Sized], filling: list[_Sized], sku: Mapping[str, SkuRow]) -> list[_Sized]:
    """Instances that prefill and decode everything: of sizes at least as large as prefill takes, else the largest."""
    fill = {one.group: one for one in filling}
    alone = [one for one in decoding if not one.lpx_sku and one.group in fill]
    found = [_sized(one.group, sku[one.sku], "", one.gpus, one.racks + fill[one.group].racks) for one in alone]
    return _large_enough(found, [fill[one.group].gpus for one in found], _group, _gpus)


def _small(decoding: list[_Sized], filling: list[_Sized], settings: Settings) -> set[tuple[int, str]]:
    """(t, LLM) whose load few instances of the smallest size carry, each a part of all loads that is worth counting.

    Both on the pool where that is fewest, or the largest part, of decode and prefill apart.
    """
    if settings.whole_instances_up_to <= 0:
        return set()
    need: dict[tuple[int, str], float] = defaultdict(float)
    part: dict[tuple[int, str], float] = defaultdict(float)
    smallest: dict[Any, _Sized] = {}
    for one in sorted(decoding, key=_gpus):
        smallest.setdefault(one.group, one)
    for found in (list(smallest.values()), filling):
        every: dict[tuple[int, str], float] = defaultdict(float)
        fewest: dict[tuple[int, str], float] = {}
        for one in found:
            every[one.t, one.deployment] += one.racks * one.units / one.busy_units
            fewest[one.of] = min(fewest.get(one.of, math.inf), one.load)
        for of, load in fewest.items():
            need[of] += load
        for one in found:
            part[one.of] = max(part[one.of], one.units / every[one.t, one.deployment])
    least = settings.whole_instances_least_share
    return {
        of for of, load in need.items() if LEAST_LOAD <= load <= settings.whole_instances_up_to and part[of] >= least
    }


def _for_both(both: list[_Sized], decoding: list[_Sized], filling: list[_Sized], roles: str) -> set[tuple[int, str]]:
    """(t, LLM) whose instances prefill and decode."""
    if roles != "by_load":
        return {one.of for one in both} if roles == "shared" else set()
    apart: dict[Any, list[float]] = defaultdict(list)
    for found in (decoding, filling):
        taken: dict[Any, float] = {}
        for one in found:
            taken[one.group] = min(taken.get(one.group, math.inf), one.whole * one.units)
        for group, units in taken.items():
            apart[group].append(units)
    return {one.of for one in both if one.whole <= 1 and one.units < sum(apart[one.group]) - EQUAL}


class _Losses(NamedTuple):
    """Units that each LLM is to survive the loss of; those that are left are all up, and none of them is a spare."""

    down: Mapping[str, int]
    sku: Mapping[str, SkuRow]
    cap: float

    @classmethod
    def of(
        cls, resilience: pd.DataFrame, llm: Mapping[str, str], sku: Mapping[str, SkuRow], cap: float
    ) -> _Losses:  # fmt: skip
        """From what workloads ask for: of an LLM the most."""
        down: dict[str, int] = {}
        for row in Resilience.rows(resilience):
            down[llm[row.workload]] = max(down.get(llm[row.workload], 0), row.units_down)
        return cls(down, sku, cap)

    def units(self, one: _Sized) -> float:
        """Units that stand for instances of a size: those of the whole load, or what is left of it and those down."""
        down = self.down.get(one.llm, 0)
        left = math.ceil(one.load * self.sku[one.sku].usable_share / self.cap - EQUAL) * one.units
        return max(one.whole * one.units, left + down if down else 0.0)


def _fewest(found: Sequence[_Sized], role: Role, losses: _Losses) -> list[_Sized]:
    """Of every deployment the size that carries the load with the fewest units; of equals the smallest.

    Of instances that do both, the fewest of equals: one that carries all is why they do. Where units may be down the
    smallest in any role, of which the fewest are lost.
    """
    best: dict[Any, tuple[float, float, int]] = {}
    chosen: dict[Any, _Sized] = {}
    for one in found:
        by_count = role is Role.BOTH and not losses.down.get(one.llm, 0)
        order = round(losses.units(one), 9), one.whole if by_count else 0.0, one.gpus
        if one.group not in best or order < best[one.group]:
            best[one.group], chosen[one.group] = order, one
    return list(chosen.values())


def _rates(rows: list[InstanceRow], sized: pd.DataFrame, llm: Mapping[str, str]) -> pd.DataFrame:
    """Throughput of each bucket on the instances chosen, over the best."""
    chosen = {(row.t, row.llm, row.deployment, row.gpus) for row in rows if row.role is not Role.PREFILL}
    found = [
        InstanceRate(t, workload, bucket, deployment, share)
        for t, workload, bucket, deployment, gpus, share in zip(*_columns(sized, SIZES), strict=True)
        if (t, llm[workload], deployment, gpus) in chosen
    ]
    return InstanceRate.frame(sorted(found, key=lambda row: (row.t, row.workload, row.bucket, row.deployment)))


def _columns(frame: pd.DataFrame, names: list[str]) -> list[list[Any]]:
    return [frame[name].tolist() for name in names]


def _group(one: _Sized) -> tuple[int, str, str]:
    return one.group


def _gpus(one: _Sized) -> int:
    return one.gpus
