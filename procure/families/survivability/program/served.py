"""What is left carries the work of workloads that survive a loss: rows by block, and the table ``fallback``."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.families.survivability.program.work import (
    Hits,
    busy_after,
    copies_after,
    hits_after,
    instances_after,
    parts_at_most,
    spared_at_most,
)
from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.declare import block_rows
from procure.program.index import Index, Point, group
from procure.program.instances import Kind, in_whole
from procure.program.linear import Terms
from procure.program.losses import Done, asked, left_busy, losses, work_after
from procure.schema import Role
from procure.timekey import TimeKey


def work_after_loss(m: Any, index: Index) -> None:
    """After a loss the work of those that survive it fits the units left for it.

        Σ_p rate·rack_s·serve[p,s] + Σ_o rate·rack_s'[l,o]·prefill[o,s] ≤ busy[l,k] · left[l,s,k,t]

    over the points and ways of workloads that ask to survive the loss and are not counted in whole instances. Racks.
    ``rack_s'`` is that of a full prefill on the same pool where the cache is lost: from a store that is out, from any
    store after a cold start, and with units down for workloads that ask to survive a cold start; their first tokens may
    then be late. ``busy`` is the utilisation cap with units down, else the usable share of
    :func:`procure.families.compute.program.work_within_racks`. After the loss of a site ``serve_elsewhere`` and
    ``prefill_elsewhere`` stand for serve and prefill, everything in full. Otherwise nothing moves between pools.
    Of caches in N parts one of which is lost, hits in the others spare what :func:`spared_by_hits` says.
    """
    apart = index.of(in_whole)

    def rule(m: Any, name: str, site: str, sku: str, at: TimeKey) -> Any:
        row, loss = Terms(), index.of(losses)[name]
        for done in index.of(work_after)[name, site, sku, at]:
            if (done.what, site) not in apart:
                row.add(done.units, done.variable(m, loss))
        if not row.variables:
            return pyo.Constraint.Skip
        _add_spared(m, index, row, (name, site, sku, "", ""), at, 1.0)
        row.add(-left_busy(index, loss, sku), m.left[name, site, sku, at.t])
        return row.at_most(0.0)

    m.work_after_loss = block_rows(sorted(index.of(work_after)), rule=rule)


def instances_after_loss(m: Any, index: Index) -> None:
    """After a loss the work of small loads that survive it is done by the whole instances left for it.

        Σ of their work (as in work_after_loss, at the throughput of their size) / work of one ≤ instances_left[l,…]

    In instances, for each LLM, deployment, role and site.
    """

    def rule(m: Any, name: str, *key: Any) -> Any:
        row, kind, loss = Terms(), Kind(*key), index.of(losses)[name]
        each = busy_after(index, name, kind)
        for units, done in index.of(instances_after)[name, kind]:
            row.add(units / each, done.variable(m, loss))
        _add_spared(m, index, row, (name, kind.site, kind.deployment, kind.llm, kind.role), kind.at, 1.0 / each)
        row.add(-1.0, m.instances_left[name, kind.site, kind.deployment, kind.llm, kind.role, kind.at.t])
        return row.at_most(0.0)

    keys = [(name, *kind) for name, kind in sorted(index.of(instances_after))]
    m.instances_after_loss = block_rows(keys, rule=rule)


def _whose_hits(index: Index) -> dict[tuple[Any, ...], list[Hits]]:
    """Hits by whose they are and by block, of all holders."""
    return group(index.of(hits_after), lambda hits: (tuple(hits[:5]), hits.at))


def _add_spared(m: Any, index: Index, row: Terms, whose: tuple[str, ...], at: TimeKey, scale: float) -> None:
    """Subtract the work that hits spare in the parts that are left: 1 − 1/N of it where their caches lie in N parts."""
    for hits in index.of(_whose_hits).get((whose, at), []):
        for n in range(2, parts_at_most(index, hits.loss, hits.site, hits.holder) + 1):
            row.add(-scale / (n * (n - 1)), m.spared[(*hits, n)])


def spared_by_hits(m: Any, index: Index) -> None:
    """Of N equal parts that caches lie in one is lost: the share 1/N of their hits is computed in full.

        spared[h,n] ≤ Σ_o rate·(rack_s of a full prefill − rack_s)·prefill[o]        for n = 2, 3, …
        spared[h,n] ≤ most[h] · parts[s,holder,n,t]

    Units of work. Each part beyond the first adds 1/(n·(n − 1)) of it to what stays spared in the rows of work, in all
    1 − 1/N: exact for every whole N up to the most that are told apart. ``most`` is what hits may spare at all.
    """
    works = index.of(hits_after)

    def by_hits(m: Any, *key: Any) -> Any:
        hits, row = Hits(*key[:-1]), Terms()
        row.add(1.0, m.spared[key])
        for units, done in works[hits]:
            row.add(-units, done.variable(m, index.of(losses)[hits.loss]))
        return row.at_most(0.0)

    def in_parts(m: Any, *key: Any) -> Any:
        hits, row = Hits(*key[:-1]), Terms()
        row.add(1.0, m.spared[key])
        row.add(-spared_at_most(index, works[hits]), m.parts[hits.site, hits.holder, key[-1], hits.at.t])
        return row.at_most(0.0)

    m.spared_by_hits = block_rows(list(m.spared), rule=by_hits)
    m.spared_in_parts = block_rows(list(m.spared), rule=in_parts)


def copies_after_loss(m: Any, index: Index) -> None:
    """After a loss the LPX time of those that survive it fits the copies left for it.

        Σ_{p with k} rate·lpx_rack_s·serve[p,s] ≤ racks_per_copy[c,k] · cap · copies_left[l,s,c,k,t]

    LPX racks; cap is the utilisation cap.
    """
    cap = index.instance.settings["utilisation_cap"]

    def rule(m: Any, name: str, site: str, card: str, lpx: str, at: TimeKey) -> Any:
        row, loss = Terms(), index.of(losses)[name]
        for done in index.of(copies_after)[name, site, card, lpx, at]:
            if isinstance(done.what, Point):
                row.add(done.what.rate * done.what.lpx_rack_s, done.variable(m, loss))
        row.add(-cap * index.copies[card, lpx].racks_per_copy, m.copies_left[name, site, card, lpx, at.t])
        return row.at_most(0.0)

    m.copies_after_loss = block_rows(sorted(index.of(copies_after)), rule=rule)


def used_where_served(m: Any, index: Index) -> None:
    """A pool that serves a workload which survives units down loses these units.

        Σ_{p or o of b on k} serve or prefill ≤ used[l,s,k,t]        for every bucket b, decode and prefill apart

    Shares of the bucket's rate, so that ``used`` is 1 where a whole bucket is served, in parts of units too.
    """
    parts: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for (name, site, sku, at), works in index.of(work_after).items():
        if index.of(losses)[name].units:
            for done in works:
                role = Role.DECODE if isinstance(done.what, Point) else Role.PREFILL
                key = (name, site, at, done.what.workload, done.what.bucket, role.value)
                parts[*key, sku].append(done)
                if isinstance(done.what, Point) and done.what.lpx_sku:
                    parts[*key, done.what.lpx_sku].append(done)

    def rule(m: Any, *key: Any) -> Any:
        name, site, at, *_, sku = key
        row = Terms()
        row.extend(1.0, (done.variable(m, index.of(losses)[name]) for done in parts[key]))
        row.add(-1.0, m.used[name, site, sku, at.t])
        return row.at_most(0.0)

    m.used_where_served = block_rows(sorted(parts), rule=rule)


def served_elsewhere(m: Any, index: Index) -> None:
    """What a workload that survives the loss of a site is served of each bucket, the other sites serve without it.

        Σ_{p,s} serve[p,s] = Σ_{p, s ≠ a} serve_elsewhere[p,s,a]        for every lost site a, workload, bucket
        Σ_o prefill_elsewhere[o,s,a] = Σ_p serve_elsewhere[p,s,a]       for every site s ≠ a

    Shares of the bucket's rate; every prompt is computed in full (a cold start).
    """
    asks = {w for w, row in index.of(asked).items() if row.site_down}
    served = group((x for x in index.serve if x[0].workload in asks), lambda x: (x[0].at, x[0].workload, x[0].bucket))
    moved: dict[tuple[Any, ...], list[Done]] = defaultdict(list)
    for (name, _, _, at), works in index.of(work_after).items():
        for done in works if index.of(losses)[name].site else ():
            moved[name, at, done.what.workload, done.what.bucket].append(done)
    names = sorted(name for name, loss in index.of(losses).items() if loss.site)

    def served_rule(m: Any, name: str, at: TimeKey, workload: str, bucket: str) -> Any:
        row, loss = Terms(), index.of(losses)[name]
        row.extend(1.0, (m.serve[p.point, s] for p, s in served[at, workload, bucket]))
        for done in moved[name, at, workload, bucket]:
            if isinstance(done.what, Point):
                row.add(-1.0, done.variable(m, loss))
        return row.equal(0.0)

    def filled_rule(m: Any, name: str, at: TimeKey, workload: str, bucket: str, site: str) -> Any:
        row, loss = Terms(), index.of(losses)[name]
        for done in moved[name, at, workload, bucket]:
            if done.site == site:
                row.add(-1.0 if isinstance(done.what, Point) else 1.0, done.variable(m, loss))
        return row.equal(0.0) if row.variables else pyo.Constraint.Skip

    keys = [(name, *key) for name in names for key in sorted(served)]
    m.served_elsewhere = block_rows(keys, rule=served_rule)
    places = sorted({(*key, done.site) for key, works in moved.items() for done in works})
    m.prefilled_elsewhere = block_rows(places, rule=filled_rule)


def fallback(d: Decided) -> pd.DataFrame:
    """Where what survives the loss of a site is served without it."""
    rows = []
    for (name, site, _, at), works in sorted(d.index.of(work_after).items(), key=lambda item: item[0]):
        loss = d.index.of(losses)[name]
        for done in works if loss.site else ():
            share, what = d.value(done.variable(d.m, loss)), done.what
            if share > TINY:
                rate = share * what.rate
                if isinstance(what, Point):
                    told = (Role.DECODE.value, what.deployment, rate * what.lpx_rack_s, what.point)
                else:
                    told = (Role.PREFILL.value, what.sku, 0.0, what.option)
                role, deployment, lpx_racks, way = told
                rows.append(
                    (d.names[at.t], loss.site, site, what.workload, what.bucket, role, deployment, what.sku, rate,
                     rate * what.rack_s, lpx_racks, way, *at.beside)
                )  # fmt: skip
    return frame("fallback", rows)
