"""Family 14 in the program: workloads that ask for it are served after a loss of racks, caches or a site."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import pyomo.environ as pyo

from procure.instance.tables import Resilience
from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.declare import More, block_rows, first_stage, first_stage_rows, recourse
from procure.program.index import Index, Option, Point, group
from procure.program.instances import Kind, Work, in_whole, rounded_up, row_of, whole_kinds, work_of
from procure.program.linear import Terms
from procure.program.losses import Done, asked, in_full, left_busy, losses, work_after
from procure.program.part import Part
from procure.program.present import add_slowed, at_work, unreserved
from procure.rules.failures import likely_down
from procure.schema import RECOMPUTE, CacheLoss, Lost, Role, SkuKind, Tier
from procure.timekey import TimeKey


class Held(NamedTuple):
    """Whole instances after a loss, as they are held: of an LLM on a deployment of a site, in one role."""

    loss: str
    site: str
    deployment: str
    llm: str
    role: str
    t: int


def done_by(index: Index) -> dict[tuple[Any, str], tuple[Kind, float]]:
    """Whole instances that do a point or a way at a site, and units of their size over those of the best layout."""
    return {(w.what, w.site): (kind, _slower(w)) for kind in index.of(whole_kinds) for w in index.of(work_of)[kind]}


def instances_after(index: Index) -> dict[tuple[str, Kind], list[tuple[float, Done]]]:
    """Work of whole instances after each loss, in units at the throughput of their size."""
    made: dict[tuple[str, Kind], list[tuple[float, Done]]] = defaultdict(list)
    for (name, *_), works in index.of(work_after).items():
        for done in works:
            if (done.what, done.site) in index.of(done_by):
                kind, slower = index.of(done_by)[done.what, done.site]
                made[name, kind].append((done.units * slower, done))
    return dict(made)


def _slower(work: Work) -> float:
    """Units of an instance's work over those of the best layout."""
    plain = work.what.rate * work.what.rack_s
    return work.units / plain if plain > 0 else 1.0


def copies_after(index: Index) -> dict[tuple[str, str, str, str, TimeKey], list[Done]]:
    """Points with LPX after each loss: loss, site, card, LPX SKU, block."""
    made: dict[tuple[str, str, str, str, TimeKey], list[Done]] = defaultdict(list)
    for (name, site, _, at), works in index.of(work_after).items():
        if not index.of(losses)[name].store:  # LPX holds no caches
            for done in works:
                if isinstance(done.what, Point) and done.what.lpx_sku:
                    made[name, site, done.what.card, done.what.lpx_sku, at].append(done)
    return dict(made)


def pools_after(index: Index) -> list[tuple[str, str, str, int]]:
    """(loss, site, SKU, t) of pools, LPX among them, that something is to be done in after a loss."""
    of_gpus = {(name, site, sku, at.t) for name, site, sku, at in index.of(work_after)}
    return sorted(of_gpus | {(name, site, lpx, at.t) for name, site, _, lpx, at in index.of(copies_after)})


def held_after(index: Index) -> dict[Held, int]:
    """Whole instances after each loss, each with the number beyond which no further one has work."""
    most: dict[Held, int] = defaultdict(int)
    for (name, kind), works in index.of(instances_after).items():
        slowest: dict[tuple[str, str, bool], float] = {}
        for units, done in works:
            key = (done.what.workload, done.what.bucket, isinstance(done.what, Point))
            slowest[key] = max(slowest.get(key, 0.0), units)
        each = busy_after(index, name, kind)
        held = Held(name, kind.site, kind.deployment, kind.llm, kind.role, kind.at.t)
        most[held] = max(most[held], math.ceil(sum(slowest.values()) / each))
    return dict(most)


def busy_after(index: Index, name: str, kind: Kind) -> float:
    """Units of work that one whole instance does after a loss: its part of those of a unit."""
    one = row_of(index, kind)
    return left_busy(index, index.of(losses)[name], one.sku) * one.gpus / index.sku[one.sku].gpus


def add_variables(m: Any, index: Index) -> None:
    """What is left after a loss for workloads that ask to survive it.

    First stage: used[loss, site, SKU, t] whether they are served by a pool that loses units, 0 or 1; left[...] units of
    the pool that they may count on beside whole instances; instances_left and copies_left, integer, the instances and
    LPX copies that they may count on. Recourse: serve_elsewhere[point, site, lost site] and prefill_elsewhere[option,
    site, lost site], shares of the rate of a bucket that other sites serve.
    """
    pools = index.of(pools_after)
    m.used = first_stage(
        [key for key in pools if index.of(losses)[key[0]].units], more=More.HELPS, domain=pyo.Binary
    )  # fmt: skip
    of_gpus = {(name, site, sku, at.t) for name, site, sku, at in index.of(work_after)}
    m.left = first_stage(sorted(of_gpus), more=More.HELPS, domain=pyo.NonNegativeReals)
    most = index.of(held_after)
    m.instances_left = first_stage(
        [tuple(held) for held in most], more=More.HELPS, domain=pyo.NonNegativeIntegers,
        bounds=lambda _, *key: (0, most[Held(*key)]),
    )  # fmt: skip
    m.copies_left = first_stage(
        sorted({(*key[:4], key[4].t) for key in index.of(copies_after)}),
        more=More.HELPS,
        domain=pyo.NonNegativeIntegers,
    )
    moved = [
        (loss, done) for (name, *_), works in index.of(work_after).items() for done in works
        if (loss := index.of(losses)[name]).site
    ]  # fmt: skip
    points = {(d.what.point, d.site, loss.site): d.what.at for loss, d in moved if isinstance(d.what, Point)}
    ways = {(d.what.option, d.site, loss.site): d.what.at for loss, d in moved if isinstance(d.what, Option)}
    m.serve_elsewhere = recourse(list(points), blocks={key[0]: at for key, at in points.items()}, bounds=(0, 1))
    m.prefill_elsewhere = recourse(list(ways), blocks={key[0]: at for key, at in ways.items()}, bounds=(0, 1))


def units_left(m: Any, index: Index) -> None:
    """What workloads that survive a loss count on is there after it.

        left[l,s,k,t] + Σ_{d on k, c, role} units[d,c,role] · instances_left[l,s,d,c,role,t]
            ≤ own[s,k,t] − reserved[s,k,t] − (1 − factor[k])·maxq[s,k,t] − n[l]·used[l,s,k,t]
        Σ_c racks_per_copy[c,k] · copies_left[l,s,c,k,t]
            ≤ share[l,k] · (own[s,k,t] − reserved[s,k,t]) − n[l]·used[l,s,k,t]        for LPX racks k

    Units. n is how many units are down in each pool of a site (0 where caches or a site are lost); a pool that serves
    no such workload loses nothing that matters. Units down are counted here one by one, so that availability and spares
    do not take of the rest once more: ``share`` is 1 with n > 0, and the share present otherwise. A unit is lost whole,
    with all instances in it; on what is left instances and copies are formed anew.
    """
    whole: dict[tuple[str, str, str, int], list[tuple[float, Any]]] = defaultdict(list)
    for name, kind in index.of(instances_after):
        one = row_of(index, kind)
        held = (name, kind.site, kind.deployment, kind.llm, kind.role, kind.at.t)
        whole[name, kind.site, one.sku, kind.at.t].append((one.units, held))
    copies = group(m.copies_left, lambda key: (key[0], key[1], key[3], key[4]))

    def rule(m: Any, name: str, site: str, sku: str, t: int) -> Any:
        row, loss, share = Terms(), index.of(losses)[name], 1.0
        if (name, site, sku, t) in m.left:
            row.add(1.0, m.left[name, site, sku, t])
            for units, held in dict.fromkeys(whole[name, site, sku, t]):
                row.add(units, m.instances_left[held])
        else:
            share = 1.0 if loss.units else index.sku[sku].present_share
            for key in copies[name, site, sku, t]:
                row.add(index.copies[key[2], sku].racks_per_copy, m.copies_left[key])
        row.add(-share, m.own[site, sku, t])
        add_slowed(m, index, row, 1.0, (site, sku, t))
        if loss.units:
            row.add(loss.units, m.used[name, site, sku, t])
        return row.at_most(-share * index.reserved.get((t, site, sku), 0.0))

    m.units_left = first_stage_rows(index.of(pools_after), rule=rule)


def copies_left_in_pods(m: Any, index: Index) -> None:
    """LPX copies after a loss stand in pods: copies_left[l,s,c,k,t] ≤ copies_per_pod[c,k] · pods[s,t]."""

    def rule(m: Any, *key: Any) -> Any:
        _, site, card, lpx, t = key
        row = Terms()
        row.add(1.0, m.copies_left[key])
        row.add(-index.copies[card, lpx].copies_per_pod, m.pods[site, t])
        return row.at_most(0.0)

    m.copies_left_in_pods = first_stage_rows(list(m.copies_left), rule=rule)


def work_after_loss(m: Any, index: Index) -> None:
    """After a loss the work of those that survive it fits the units left for it.

        Σ_p rate·rack_s·serve[p,s] + Σ_o rate·rack_s'[l,o]·prefill[o,s] ≤ busy[l,k] · left[l,s,k,t]

    over the points and ways of workloads that ask to survive the loss and are not counted in whole instances. Racks.
    ``rack_s'`` is that of a full prefill on the same pool where the cache is lost: from a store that is out, from any
    store after a cold start, and with units down for workloads that ask to survive a cold start; their first tokens may
    then be late. ``busy`` is the utilisation cap with units down, else the usable share of
    :func:`procure.families.compute.program.work_within_racks`. After the loss of a site ``serve_elsewhere`` and
    ``prefill_elsewhere`` stand for serve and prefill, everything in full. Otherwise nothing moves between pools.
    """
    apart = index.of(in_whole)

    def rule(m: Any, name: str, site: str, sku: str, at: TimeKey) -> Any:
        row, loss = Terms(), index.of(losses)[name]
        for done in index.of(work_after)[name, site, sku, at]:
            if (done.what, site) not in apart:
                row.add(done.units, done.variable(m, loss))
        if not row.variables:
            return pyo.Constraint.Skip
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
        row.add(-1.0, m.instances_left[name, kind.site, kind.deployment, kind.llm, kind.role, kind.at.t])
        return row.at_most(0.0)

    keys = [(name, *kind) for name, kind in sorted(index.of(instances_after))]
    m.instances_after_loss = block_rows(keys, rule=rule)


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


class Load(NamedTuple):
    """What keeps a pool busy as the plan serves it: a point or a way, and the share of its bucket's rate."""

    what: Point | Option
    share: float

    @property
    def role(self) -> Role:
        """Whether it is decode or prefill."""
        return Role.DECODE if isinstance(self.what, Point) else Role.PREFILL

    @property
    def store(self) -> str:
        """The store that it reads, if any."""
        return self.what.store if isinstance(self.what, Option) and self.what.store != RECOMPUTE else ""


Pool = tuple[str, str, TimeKey]
"""Site, SKU and block."""


def loads_of(d: Decided) -> dict[Pool, list[Load]]:
    """Everything that is decoded and prefilled, by pool."""
    found: dict[Pool, list[Load]] = defaultdict(list)
    for p, site in d.index.serve:
        if (share := d.value(d.m.serve[p.point, site])) > TINY:
            found[site, p.sku, p.at].append(Load(p, share))
    for o, site in d.index.prefill:
        if (share := d.value(d.m.prefill[o.option, site])) > TINY:
            found[site, o.sku, o.at].append(Load(o, share))
    return dict(sorted(found.items()))


def units_needed(d: Decided, pool: Pool, loads: list[Load], busy: float, lost: Mapping[str, float]) -> float:
    """Units of a pool that loads take, ``busy`` of each at most, where ``lost`` shares of the hits of stores are gone.

    Whole instances are rounded up as everywhere else; the work of others is fluid.
    """
    index, (site, sku, at) = d.index, pool
    fluid = 0.0
    parts: dict[Kind, float] = defaultdict(float)
    for load in loads:
        what, seconds = load.what, load.what.rack_s
        if load.store in lost:
            full = index.of(in_full)[at, what.workload, what.bucket, sku].rack_s
            seconds += lost[load.store] * max(full - seconds, 0.0)
        racks = what.rate * load.share * seconds
        if (what, site) in index.of(done_by):
            kind, slower = index.of(done_by)[what, site]
            parts[kind] += racks * slower
        else:
            fluid += racks
    apart = 0.0
    for kind, racks in parts.items():
        one = row_of(index, kind)
        apart += rounded_up(racks / (busy * one.gpus / index.sku[sku].gpus)) * one.units
    return fluid / busy + apart


def cache_losses(d: Decided, site: str, at: TimeKey, loads: list[Load]) -> list[tuple[Lost, str, dict[str, float]]]:
    """Losses of caches that a pool feels: what is lost, its name, and the share of the hits of each store."""
    stores = sorted({load.store for load in loads} - {""})
    found = [(Lost.STORE, store, {store: 1.0}) for store in stores]
    if len(stores) > 1:
        found.append((Lost.CACHES, Lost.CACHES.value, dict.fromkeys(stores, 1.0)))
    cmx = [store for store in stores if d.index.tier[store] == Tier.CMX]
    frames = [name for name, sku in d.index.sku.items() if sku.kind is SkuKind.CMX_RACK]
    racks = sum(at_work(d, site, name, at.t) for name in frames)
    if cmx and racks > 1:
        found.append((Lost.CMX_RACK, Lost.CMX_RACK.value, dict.fromkeys(cmx, 1.0 / racks)))
    return found


def survival(d: Decided) -> pd.DataFrame:
    """What the loads of every pool take after each loss, and what is left for them, whether or not a case asks."""
    index, rows, found = d.index, [], loads_of(d)
    cap = index.instance.settings["utilisation_cap"]
    for (site, sku, at), loads in found.items():
        pool, there = (site, sku, at), at_work(d, site, sku, at.t)
        needed = units_needed(d, pool, loads, cap, {})
        rows.append(_told(d, pool, Lost.RACK, sku, (needed, there - 1.0), loads))
        for kind, name, shares in cache_losses(d, site, at, loads):
            needed = units_needed(d, pool, loads, index.sku[sku].usable_share, shares)
            rows.append(_told(d, pool, kind, name, (needed, there), [x for x in loads if x.store in shares]))
        if len(index.sites) > 1:
            rows.append(_told(d, pool, Lost.SITE, site, _without_site(d, pool, found), loads))
    return frame("survival", sorted(rows + _lpx_survival(d, found)))


def _without_site(d: Decided, pool: Pool, found: dict[Pool, list[Load]]) -> tuple[float, float]:
    """Units that the loads of a SKU take at all sites but one, and those there: of all work, of decode or of prefill.

    Which of them is tightest: where pools may only prefill, or only decode, others cannot do that work for them.
    """
    index, (site, sku, at) = d.index, pool
    only = {place: role for (place, of), role in index.standing.role.items() if of == sku}
    usable, amounts = index.sku[sku].usable_share, []
    for role in (None, Role.DECODE, Role.PREFILL) if only else (None,):
        doing = {s: [x for x in found.get((s, sku, at), []) if role in (None, x.role)] for s in index.sites}
        needed = sum(units_needed(d, (s, sku, at), mine, usable, {}) for s, mine in doing.items())
        may = [s for s in index.sites if s != site and (role is None or only.get(s, role) is role)]
        amounts.append((needed, sum(at_work(d, s, sku, at.t) for s in may)))
    return max(amounts, key=lambda a: 1.0 - max(a[1], 0.0) / a[0] if a[0] > 0 else -math.inf)


def _lpx_survival(d: Decided, found: dict[Pool, list[Load]]) -> list[tuple[Any, ...]]:
    """Rows of LPX racks, one of which is lost: whole copies of each card, of those that are left."""
    cap = d.index.instance.settings["utilisation_cap"]
    time: dict[Pool, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    loads: dict[Pool, list[Load]] = defaultdict(list)
    for (site, _, at), mine in found.items():
        for load in mine:
            if isinstance(load.what, Point) and load.what.lpx_sku:
                pool = (site, load.what.lpx_sku, at)
                time[pool][load.what.card] += load.what.rate * load.share * load.what.lpx_rack_s
                loads[pool].append(load)
    rows = []
    for pool, by_card in time.items():
        site, lpx, at = pool
        needed = 0.0
        for card, racks in by_card.items():
            each = d.index.copies[card, lpx].racks_per_copy
            needed += rounded_up(racks / (cap * each)) * each
        left = at_work(d, site, lpx, at.t) - 1.0
        rows.append(_told(d, pool, Lost.RACK, lpx, (needed, left), loads[pool]))
    return rows


def _told(
    d: Decided, pool: Pool, kind: Lost, lost: str, amounts: tuple[float, float], loads: list[Load]
) -> tuple[Any, ...]:  # fmt: skip
    """A row of ``survival``: units needed and there after a loss, for the loads that it concerns."""
    site, sku, at = pool
    needed, there = amounts
    workloads = sorted({load.what.workload for load in loads})
    units = int(unreserved(d, site, sku, at.t))
    down = likely_down(units, d.index.sku[sku].availability) if kind is Lost.RACK else 0
    short = max(0.0, 1.0 - max(there, 0.0) / needed)
    asking = [w for w in workloads if w in d.index.of(asked) and _asks(d.index.of(asked)[w], kind)]
    return (d.names[at.t], site, kind.value, lost, sku, needed, there, short, ", ".join(workloads), ", ".join(asking),
            down, *at.beside)  # fmt: skip


def _asks(row: Resilience, kind: Lost) -> bool:
    """Whether a workload asks to survive a loss of a kind."""
    if kind is Lost.RACK:
        return row.units_down > 0
    if kind is Lost.SITE:
        return bool(row.site_down)
    return row.cache_loss is CacheLoss.COLD_START or (row.cache_loss is CacheLoss.STORE and kind is not Lost.CACHES)


PROGRAM = Part(
    (
        units_left,
        copies_left_in_pods,
        work_after_loss,
        instances_after_loss,
        copies_after_loss,
        used_where_served,
        served_elsewhere,
    ),
    add_variables,
    tables={"fallback": fallback, "survival": survival},
)
