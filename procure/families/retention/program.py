"""Family 7 in the program: caches kept between requests, and the hits they give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pandas as pd

from procure.families.scales import BYTES_PER_UNIT
from procure.plan.plan import frame
from procure.program.day import add_way, day_of
from procure.program.decided import TINY, Decided
from procure.program.declare import block_rows, recourse
from procure.program.index import Index, Option, group, lookup
from procure.program.linear import Terms
from procure.program.moves import add_flows, flows, out_of
from procure.program.part import Part
from procure.program.present import add_present, ways_of
from procure.rules.caches import held_seconds
from procure.schema import RECOMPUTE, Tier
from procure.timekey import TimeKey


def add_variables(m: Any, index: Index) -> None:
    """kept[at, site, workload, interval, store]: share of the workload's rate whose cache stays so long; recourse."""
    m.kept = recourse(index.kept, bounds=(0, 1))


def kept_at_most_served(m: Any, index: Index) -> None:
    """What is parked at first was just served: Σ_g kept[1,g] ≤ Σ serve.

        Σ_g R[t,w]·kept[t,s,w,0,g] ≤ Σ_{b,p} rate·serve[p,s]

    Shares of the workload's rate.
    """
    stores = group((k for k in index.kept if k[3] == 0), lambda k: k[:3])
    serving = group(index.serve, lambda x: (x[0].at, x[1], x[0].workload))

    def rule(m: Any, at: TimeKey, site: str, workload: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.kept[k] for k in stores[at, site, workload]))
        total = index.load_rate[at, workload]
        for p, s in serving.get((at, site, workload), []):
            row.add(-p.rate / total, m.serve[p.point, s])
        return row.at_most(0.0)

    m.kept_at_most_served = block_rows(sorted(stores), rule=rule)


def kept_only_falls(m: Any, index: Index) -> None:
    """A cohort only shrinks with age, by what is dropped and what moves away.

        kept[i,g] + Σ_h move[i,g→h] ≤ kept[i−1,g]

    Shares of the workload's rate.
    """

    def rule(m: Any, at: TimeKey, site: str, workload: str, interval: int, store: str) -> Any:
        row = Terms()
        row.add(1.0, m.kept[at, site, workload, interval, store])
        row.add(-1.0, m.kept[at, site, workload, interval - 1, store])
        row.extend(1.0, (m.move[key] for key in index.of(out_of).get((at, site, workload, interval, store), [])))
        return row.at_most(0.0)

    m.kept_only_falls = block_rows([k for k in index.kept if k[3] > 0], rule=rule)


def hits_from_kept(m: Any, index: Index) -> None:
    """Reuse from a store is at most what returns while its copy is kept and reached, bucket by bucket.

        Σ_{o from g} prefill[o,s] ≤ Σ_i r_i·α[t,w,g]·(kept + moved)[t,s,w,i,g]        for every t, s, w, b, g

    Shares of the bucket's and of the workload's rate; r_i is the share returning in interval i, α the chance to
    reach the copy. A cohort is kept at the mix of buckets, so its hits are at that mix: one row for all buckets
    together would let a few kept caches give all their hits to the longest bucket.
    """
    reading = group((x for x in index.prefill if x[0].store != RECOMPUTE),
                    lambda x: (x[0].at, x[1], x[0].workload, x[0].bucket, x[0].store))  # fmt: skip

    def rule(m: Any, at: TimeKey, site: str, workload: str, bucket: str, store: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.prefill[o.option, s] for o, s in reading[at, site, workload, bucket, store]))
        alpha = index.return_share[at, workload, store]
        for age in index.ages[at, workload]:
            key = (at, site, workload, age.interval, store)
            row.add(-alpha * age.return_share, m.kept[key])
            if key in m.moved:
                row.add(-alpha * age.return_share, m.moved[key])
        return row.at_most(0.0)

    m.hits_from_kept = block_rows(sorted(reading), rule=rule)


def parked_seconds(index: Index, at: TimeKey, workload: str, interval: int, store: str) -> float:
    """K_i of :func:`parked_within_store`: seconds that a cohort occupies a store in an age interval."""
    age = index.ages[at, workload][interval]
    return held_seconds(age.seconds, age.mean_released, index.return_share[at, workload, store])


def in_use_seconds(index: Index, o: Option) -> float:
    """Seconds from a return's arrival to its last token, at the speeds promised, while its copy stays in its store."""
    return o.ttft_s + index.task[o.at, o.workload].output_s


def parked_within_store(m: Any, index: Index) -> None:
    """Parked bytes, and those of returns that wait or run, fit the bytes of the units that serve.

        Σ_{w,i} β[t,w]·K_i·R[t,w]·kept[t,s,w,i,g] + Σ_{o from g} valid_bytes·U_o·rate·prefill[o,s]
        ≤ Σ_k bytes[g,k]·present[k]·(own − reserved)[s,k,t]

    TB. β is the mean bytes of a parked sequence, K_i the seconds of :func:`parked_seconds`, U_o those of
    :func:`in_use_seconds`: a read leaves the copy where it is, to be added to when the sequence is parked again.
    What moves and what was moved takes bytes as :func:`procure.program.moves.flows` says.
    In HBM what is read is a prompt, then part of the batch: the room beside both is that of :func:`_hbm`, with parts of
    the day in each of them. What is parked counts at the peaks of all workloads, since caches outlive their hour.
    """
    idle_hbm = lookup(index.instance["idle_hbm"], ["sku"], "bytes")
    sequence = lookup(index.timed("lengths"), ["at", "workload", "bucket"], "kv_bytes")

    def rule(m: Any, at: TimeKey, site: str, store: str) -> Any:
        row = Terms()
        block = at.block
        for key in index.kept_by_store[block, site, store]:
            _, _, w, interval, _ = key
            parked = index.kv_bytes[block, w] * parked_seconds(index, block, w, interval, store)
            row.add(parked * index.load_rate[block, w] / BYTES_PER_UNIT, m.kept[key])
        add_flows(m, index, row, (block, site, store), "held_bytes", 1.0 / BYTES_PER_UNIT)
        if index.tier[store] == Tier.HBM:
            for unit in index.store_units[store]:
                if (site, unit.sku, at.t) in index.in_stock:
                    _hbm(m, index, row, (site, unit.sku, at), idle_hbm[unit.sku], sequence)
            return row.at_most(0.0)
        for o, s in index.reads[at, site, store]:
            row.add(o.valid_bytes * in_use_seconds(index, o) * o.rate / BYTES_PER_UNIT, m.prefill[o.option, s])
        for unit in index.store_units[store]:
            if (site, unit.sku, at.t) in index.in_stock:
                add_present(m, index, row, -unit.bytes / BYTES_PER_UNIT, (site, unit.sku, at))
        return row.at_most(0.0)

    m.parked_within_store = block_rows(_hours_of_stores(index), rule=rule)


def _hours_of_stores(index: Index) -> list[tuple[TimeKey, str, str]]:
    """(hours of a block, site, store): those in which work leaves the least HBM; all others hold at every hour."""
    day, found = index.of(day_of), []
    for at, site, store in sorted(index.kept_by_store):
        hours = [at]
        if index.tier[store] == Tier.HBM:
            pools = [(site, unit.sku, at) for unit in index.store_units[store]]
            hours = day.rows(at, {way.workload for pool in pools for way, _ in ways_of(index, pool)})
        found += [(part, site, store) for part in hours]
    return found


def _hbm(
    m: Any, index: Index, row: Terms, pool: tuple[str, str, TimeKey], idle: float,
    sequence: Mapping[tuple[TimeKey, str, str], float],
) -> None:  # fmt: skip
    """Subtract the HBM of a pool's racks that caches may be parked in.

        idle_hbm·present·(own − reserved) − Σ_p (idle_hbm − free_hbm)·rate·rack_s·serve[p,s]
        − Σ_{o on k} min(kv_bytes[t,w,b]·ttft_s, idle_hbm·rack_s)·rate·prefill[o,s]

    TB. Racks that decode have what their batch leaves, all others what the resident weights leave. Whole caches of
    prompts that wait or are prefilled take of it, by Little's law, at most what the racks that prefill them have: the
    row limits what is parked, not what is prefilled.
    """
    site, sku, at = pool
    block = (site, sku, at.block)
    for p, s in index.serve_by_pool.get(block, []):
        taken = (idle - p.free_hbm_bytes) / BYTES_PER_UNIT * p.rate * p.rack_s
        add_way(m, index, row, taken, (p, s), at)
    for o, s in index.prefill_by_pool.get(block, []):
        held = min(sequence[o.at, o.workload, o.bucket] * o.ttft_s, idle * o.rack_s)
        add_way(m, index, row, held * o.rate / BYTES_PER_UNIT, (o, s), at)
    add_present(m, index, row, -idle / BYTES_PER_UNIT, block)


def retention(d: Decided) -> pd.DataFrame:
    """Cohorts of caches that are kept, by age."""
    rows = []
    for at, site, w, interval, store in d.index.kept:
        share = d.value(d.m.kept[at, site, w, interval, store])
        if share > TINY:
            rows.append((d.names[at.t], site, w, store, interval, share * d.index.load_rate[at, w], *at.beside))
    return frame("retention", rows)


def placement(d: Decided) -> pd.DataFrame:
    """What caches kept in a store hold, read and write there."""
    parked: dict[tuple[TimeKey, str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0, 0.0])
    for at, site, w, interval, store in d.index.kept:
        share = d.value(d.m.kept[at, site, w, interval, store])
        if share > TINY:
            entry = parked[at, site, w, store]
            rate = share * d.index.load_rate[at, w]
            entry[0] += d.index.kv_bytes[at, w] * parked_seconds(d.index, at, w, interval, store) * rate
            entry[3] += d.index.kv_bytes[at, w] * rate if interval == 0 else 0.0
            entry[4] = max(entry[4], d.index.ages[at, w][interval].age_to_s)
    for o, site in d.index.prefill:
        share = d.value(d.m.prefill[o.option, site])
        if o.store != RECOMPUTE and share > TINY:
            entry = parked[o.at, site, o.workload, o.store]
            entry[1] += share * o.rate
            entry[2] += share * o.rate * o.read_bytes
            entry[3] -= share * o.rate * o.valid_bytes
            if d.index.tier[o.store] != Tier.HBM:
                entry[0] += share * o.rate * o.valid_bytes * in_use_seconds(d.index, o)
    for (at, site, store), moving in d.index.of(flows).items():
        for flow in moving:
            share = d.value(flow.variable(d.m))
            if share > TINY:
                w, interval = flow.key[2], flow.key[3]
                entry = parked[at, site, w, store]
                entry[0] += share * flow.held_bytes
                entry[2] += share * flow.read_bytes_per_s
                entry[3] += share * flow.write_bytes_per_s
                if flow.decision == "moved":
                    entry[4] = max(entry[4], d.index.ages[at, w][interval].age_to_s)
    rows = [
        (d.names[at.t], site, w, store, d.index.tier[store], size, hits, read, max(write, 0.0), age, *at.beside)
        for (at, site, w, store), (size, hits, read, write, age) in parked.items()
    ]
    return frame("kv_placement", rows)


PROGRAM = Part(
    (kept_at_most_served, kept_only_falls, hits_from_kept, parked_within_store),
    add_variables,
    tables={"retention": retention, "kv_placement": placement},
)
