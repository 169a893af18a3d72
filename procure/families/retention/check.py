"""Kept caches checked: what they hold, the hits they give, and what is said of where they lie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import Age, IdleHbm, Length, Parked, Prefill, Rate, ReturnShare, Task
from procure.plan.day import PartOfDay
from procure.plan.limits import Rows
from procure.plan.moves import Moves, Taken
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Kept, MovedKept, Placement, Prefilled
from procure.plan.tolerance import compare, over
from procure.rules.caches import held_seconds
from procure.schema import RECOMPUTE, Tier
from procure.timekey import totals

Place = tuple[str, str, str, str]
"""Quarter, site, workload and store."""


def limits(s: Standing, rows: Rows) -> None:
    """Parked bytes against those of the units that serve."""
    for key, used in s.stored.items():
        room = _hbm_bytes(s, key) if s.tier[key[2]] == Tier.HBM else s.brought(key, "bytes")
        rows.add("parked KV", *key, used.bytes, room, "B")


def _hbm_bytes(s: Standing, key: tuple[str, str, str]) -> float:
    """HBM for parked caches: beside running batches, and in all other racks that are up beside prompts in prefill.

    In the part of the day in which it is least.
    """
    return min(_hbm_in_part(s, key, part) for part in s.day)


def _hbm_in_part(s: Standing, key: tuple[str, str, str], part: PartOfDay) -> float:
    quarter, site, store = key
    idle = {r.sku: r.bytes for r in s.instance.rows(IdleHbm)}
    room = 0.0
    for sku in {unit.sku for unit in s.units[store]}:
        rest = s.serving(quarter, site, sku)
        for r in part.decoding:
            if (r.quarter, r.site, r.sku) == (quarter, site, sku):
                room += r.racks * s.points[r.point].free_hbm_bytes
                rest -= r.racks
        room += idle[sku] * rest - _prompt_bytes(s, part.filled, (quarter, site, sku), idle[sku])
    return room


def _prompt_bytes(s: Standing, filled: list[Prefilled], pool: tuple[str, str, str], idle_bytes: float) -> float:
    """Bytes of whole sequences that wait for their first token, of each way at most those of the racks that prefill.

    ``pool`` is (quarter, site, SKU), ``idle_bytes`` the HBM of one of its units beside resident weights.
    """
    t, sku = s.position[pool[0]], pool[2]
    size = {(r.workload, r.bucket): r.kv_bytes for r in s.instance.rows(Length) if r.t == t}
    wait = {(r.workload, r.bucket, r.store): r.ttft_s for r in s.instance.rows(Prefill) if (r.t, r.sku) == (t, sku)}
    return sum(
        min(
            r.requests_per_s * size[r.workload, r.bucket] * wait[r.workload, r.bucket, r.store],
            idle_bytes * r.racks,
        )
        for r in filled
        if (r.quarter, r.site, r.sku) == pool
    )


def reuse(plan: Plan, instance: Instance) -> Iterable[str]:
    """Hits against kept cohorts, cohorts that only shrink, parked bytes and traffic as stated."""
    position = instance.position
    ages = {(r.t, r.workload, r.interval): r for r in instance.rows(Age)}
    alpha = {(r.t, r.workload, r.store): r.return_share for r in instance.rows(ReturnShare)}
    kept: dict[Place, dict[int, float]] = defaultdict(dict)
    for r in plan.rows(Kept):
        kept[r.quarter, r.site, r.workload, r.store][int(r.interval)] = r.kept_requests_per_s
    hits = _hits(plan.tables["prefill"])
    share = _bucket_shares(instance)
    served = totals(plan.tables["serving"], ["quarter", "site", "workload"], "requests_per_s")
    parked_first: dict[tuple[str, str, str], float] = defaultdict(float)
    moves = Moves(instance, plan.tables)
    for key in [*kept, *(place for place in moves.moved if place not in kept)]:
        cohort, moved = kept.get(key, {}), moves.moved.get(key, {})
        quarter, _, workload, store = key
        possible = sum(
            ages[position[quarter], workload, interval].return_share * alpha[position[quarter], workload, store] * rate
            for interval, rate in moved.items()
        )
        for interval in sorted(cohort):
            age = ages[position[quarter], workload, interval]
            possible += age.return_share * alpha[position[quarter], workload, store] * cohort[interval]
            gone = moves.away.get((key, interval), 0.0)
            if interval and over(cohort[interval] + gone, cohort.get(interval - 1, 0.0)):
                yield f"{' '.join(key)}: more is kept in interval {interval} than before it, or moved away"
        parked_first[key[:3]] += cohort.get(0, 0.0)
        for bucket, part in share[quarter, workload].items():
            used = hits.pop((*key, bucket), 0.0)
            if over(used, part * possible):
                yield f"{' '.join(key)} {bucket}: {used:g} hits/s where {part * possible:g} can return"
    for key in sorted(hits):
        yield f"{' '.join(key)}: hits without anything kept"
    for place, rate in parked_first.items():
        if over(rate, served.get(place, 0.0)):
            yield f"{' '.join(place)}: parks {rate:g} sequences/s of {served.get(place, 0.0):g} served"
    for (key, interval), gone in moves.away.items():
        if interval not in kept.get(key, {}) and over(gone, kept.get(key, {}).get(interval - 1, 0.0)):
            yield f"{' '.join(key)}: more moves away at interval {interval} than is kept before it"
    yield from _placement(plan, instance, kept, ages, alpha)


def _hits(prefill: pd.DataFrame) -> dict[Any, float]:
    reused = prefill[prefill["store"] != RECOMPUTE]
    return totals(reused, ["quarter", "site", "workload", "store", "bucket"], "requests_per_s")


def _bucket_shares(instance: Instance) -> dict[tuple[str, str], dict[str, float]]:
    """Share of each bucket in the requests of a quarter and workload: a cohort is kept at that mix."""
    names = instance.quarters
    rates: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for r in instance.rows(Rate):
        rates[names[r.t], r.workload][r.bucket] = r.requests_per_s
    return {key: {b: v / sum(by.values()) for b, v in by.items()} for key, by in rates.items() if sum(by.values()) > 0}


def _placement(
    plan: Plan,
    instance: Instance,
    kept: Mapping[Place, Mapping[int, float]],
    ages: Mapping[tuple[int, str, int], Age],
    alpha: Mapping[tuple[int, str, str], float],
) -> Iterable[str]:
    """Bytes held, read and written in each store as stated, from the cohorts kept there and what reads them."""
    position = instance.position
    kv_bytes = {(r.t, r.workload): r.kv_bytes for r in instance.rows(Parked)}
    size = {(r.t, r.workload, r.bucket, r.sku, r.store): r for r in instance.rows(Prefill)}
    tier = dict(zip(instance["stores"]["store"], instance["stores"]["tier"], strict=True))
    output_s = {(r.t, r.workload): r.output_s for r in instance.rows(Task)}
    reads: dict[Place, float] = defaultdict(float)
    stays: dict[Place, float] = defaultdict(float)
    in_use: dict[Place, float] = defaultdict(float)
    for r in plan.rows(Prefilled):
        if r.store != RECOMPUTE:
            t, key = position[r.quarter], (r.quarter, r.site, r.workload, r.store)
            option = size[t, r.workload, r.bucket, r.sku, r.store]
            reads[key] += r.requests_per_s * option.read_bytes
            stays[key] += r.requests_per_s * option.valid_bytes
            if tier[r.store] != Tier.HBM:  # there it is a prompt, then part of the batch
                seconds = option.ttft_s + output_s[t, r.workload]
                in_use[key] += r.requests_per_s * option.valid_bytes * seconds
    stated = {(r.quarter, r.site, r.workload, r.store): r for r in plan.rows(Placement)}
    moves = Moves(instance, plan.tables)
    for key in [*kept, *(place for place in moves.taken if place not in kept)]:
        cohort, moving = kept.get(key, {}), moves.taken.get(key, Taken())
        quarter, _, workload, store = key
        t = position[quarter]
        total = in_use[key] + moving.held_bytes
        for interval, rate in cohort.items():
            age = ages[t, workload, interval]
            held = held_seconds(age.seconds, age.mean_released, alpha[t, workload, store])
            total += kv_bytes[t, workload] * rate * held
        write = max(kv_bytes[t, workload] * cohort.get(0, 0.0) - stays[key] + moving.write_bytes_per_s, 0.0)
        row = stated.get(key)
        if row is None:
            yield f"{' '.join(key)}: kept caches are not in kv_placement"
            continue
        read = reads[key] + moving.read_bytes_per_s
        for name, value in (("parked_bytes", total), ("read_bytes_per_s", read), ("write_bytes_per_s", write)):
            if abs(getattr(row, name) - value) > 1e-4 * max(value, 1.0) + 1e3:
                yield f"{' '.join(key)}: {name} is {value:g}, not {getattr(row, name):g}"


def stated(plan: Plan, instance: Instance) -> Iterable[str]:
    """Hits, longest ages and tiers of what is parked, and nothing that is not kept."""
    position = instance.position
    age = {(r.t, r.workload, r.interval): r.age_to_s for r in instance.rows(Age)}
    tier = dict(zip(instance["stores"]["store"], instance["stores"]["tier"], strict=True))
    hits: dict[Place, float] = defaultdict(float)
    for fill in plan.rows(Prefilled):
        if fill.store != RECOMPUTE:
            hits[fill.quarter, fill.site, fill.workload, fill.store] += fill.requests_per_s
    longest: dict[Place, float] = {}
    cohorts: list[Kept | MovedKept] = [*plan.rows(Kept), *plan.rows(MovedKept)]
    for r in cohorts:
        key = (r.quarter, r.site, r.workload, r.store)
        longest[key] = max(longest.get(key, 0.0), age[position[r.quarter], r.workload, r.interval])
    for placed in plan.rows(Placement):
        key = (placed.quarter, placed.site, placed.workload, placed.store)
        if key not in longest:
            yield f"{' '.join(key)}: in kv_placement, though nothing is kept"
        if tier[placed.store] != placed.tier:
            yield f"{' '.join(key)}: tier is {tier[placed.store]}, not {placed.tier}"
        wanted = {"hits_per_s": hits[key], "longest_age_s": longest.get(key, 0.0)}
        yield from compare(" ".join(key), placed, wanted)


CHECK = Check(
    limits,
    {"reuse has a kept copy behind it": reuse, "demand and parked caches are as stated": stated},
)
