"""What each loss takes, whether or not a case asks: the table ``survival``."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from procure.families.survivability.program.work import done_by
from procure.instance.tables import Resilience
from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.index import Option, Point, lookup
from procure.program.instances import LEAST, Kind, rounded_up, row_of
from procure.program.losses import asked, in_full
from procure.program.present import at_work, unreserved
from procure.rules.failures import likely_down
from procure.schema import RECOMPUTE, CacheLoss, Lost, Role, SkuKind, Tier
from procure.timekey import TimeKey


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
    if cmx:
        found.append((Lost.CMX_RACK, Lost.CMX_RACK.value, dict.fromkeys(cmx, 1.0 / cmx_racks(d, site, at.t))))
    return found


def cmx_racks(d: Decided, site: str, t: int) -> float:
    """CMX racks of a site that are not reserved."""
    frames = [name for name, sku in d.index.sku.items() if sku.kind is SkuKind.CMX_RACK]
    return sum(unreserved(d, site, name, t) for name in frames)


def pods_of(d: Decided, site: str, t: int) -> float:
    """Pods of a site over which what stands in pods is spread evenly."""
    return float(lookup(d.table("pods"), ["quarter", "site"], "pods")[d.names[t], site])


def in_one_pod(units: float, pods: float) -> float:
    """Units in the fullest of the pods that so many are spread over evenly."""
    return float(math.ceil(units / pods - LEAST))


def _pod_lost(d: Decided, pool: Pool, loads: list[Load]) -> tuple[float, float]:
    """Units that the loads of a pool take after the loss of a pod, and those left, with its part of each store gone."""
    site, sku, at = pool
    pods, units = pods_of(d, site, at.t), unreserved(d, site, sku, at.t)
    holders = {load.store: units for load in loads if load.store}
    holders |= {store: cmx_racks(d, site, at.t) for store in holders if d.index.tier[store] == Tier.CMX}
    shares = {store: 1.0 / min(pods, held) for store, held in holders.items()}
    needed = units_needed(d, pool, loads, d.index.sku[sku].usable_share, shares)
    return needed, at_work(d, site, sku, at.t) - in_one_pod(units, pods)


def survival(d: Decided) -> pd.DataFrame:
    """What the loads of every pool take after each loss, and what is left for them, whether or not a case asks."""
    index, rows, found = d.index, [], loads_of(d)
    cap = index.instance.settings["utilisation_cap"]
    for (site, sku, at), loads in found.items():
        pool, there = (site, sku, at), at_work(d, site, sku, at.t)
        needed = units_needed(d, pool, loads, cap, {})
        rows.append(_told(d, pool, Lost.RACK, sku, (needed, there - 1.0), loads))
        if _two_down(d, loads):
            rows.append(_told(d, pool, Lost.TWO_RACKS, sku, (needed, there - 2.0), loads))
        if index.sku[sku].pod_slots:
            rows.append(_told(d, pool, Lost.POD, Lost.POD.value, _pod_lost(d, pool, loads), loads))
        for kind, name, shares in cache_losses(d, site, at, loads):
            needed = units_needed(d, pool, loads, index.sku[sku].usable_share, shares)
            rows.append(_told(d, pool, kind, name, (needed, there), [x for x in loads if x.store in shares]))
        if len(index.sites) > 1:
            rows.append(_told(d, pool, Lost.SITE, site, _without_site(d, pool, found), loads))
    return frame("survival", sorted(rows + _lpx_survival(d, found)))


def _two_down(d: Decided, loads: list[Load]) -> bool:
    """Whether some workload of a pool asks to survive two units down."""
    asks = d.index.of(asked)
    return any(asks[load.what.workload].units_down > 1 for load in loads if load.what.workload in asks)


def _without_site(d: Decided, pool: Pool, found: dict[Pool, list[Load]]) -> tuple[float, float]:
    """Units that the loads of a SKU take at all sites but one, and those there: of all work, of decode or of prefill.

    Which of them is tightest: where pools may only prefill, or only decode, others cannot do that work for them.
    """
    index, (site, sku, at) = d.index, pool
    only = {place: role for (place, of), role in index.placeable.role.items() if of == sku}
    usable, amounts = index.sku[sku].usable_share, []
    for role in (None, Role.DECODE, Role.PREFILL) if only else (None,):
        doing = {s: [x for x in found.get((s, sku, at), []) if role in (None, x.role)] for s in index.sites}
        needed = sum(units_needed(d, (s, sku, at), mine, usable, {}) for s, mine in doing.items())
        may = [s for s in index.sites if s != site and (role is None or only.get(s, role) is role)]
        amounts.append((needed, sum(at_work(d, s, sku, at.t) for s in may)))
    return max(amounts, key=lambda a: 1.0 - max(a[1], 0.0) / a[0] if a[0] > 0 else -math.inf)


def _lpx_survival(d: Decided, found: dict[Pool, list[Load]]) -> list[tuple[Any, ...]]:
    """Rows of LPX racks that are lost, alone or with a pod: whole copies of each card, of those that are left."""
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
        needed = outside = 0.0
        for card, racks in by_card.items():
            each = d.index.copies[card, lpx].racks_per_copy
            needed += rounded_up(racks / (cap * each)) * each
            copies = d.value.whole(d.m.copies[site, card, lpx, at.t])
            outside += (copies - in_one_pod(copies, pods_of(d, site, at.t))) * each
        there = at_work(d, site, lpx, at.t)
        rows.append(_told(d, pool, Lost.RACK, lpx, (needed, there - 1.0), loads[pool]))
        if _two_down(d, loads[pool]):
            rows.append(_told(d, pool, Lost.TWO_RACKS, lpx, (needed, there - 2.0), loads[pool]))
        rows.append(_told(d, pool, Lost.POD, Lost.POD.value, (needed, outside), loads[pool]))
    return rows


def _told(
    d: Decided, pool: Pool, kind: Lost, lost: str, amounts: tuple[float, float], loads: list[Load]
) -> tuple[Any, ...]:  # fmt: skip
    """A row of ``survival``: units needed and there after a loss, for the loads that it concerns."""
    site, sku, at = pool
    needed, there = amounts
    workloads = sorted({load.what.workload for load in loads})
    units = int(unreserved(d, site, sku, at.t))
    counted = kind in (Lost.RACK, Lost.TWO_RACKS)
    down = likely_down(units, d.index.sku[sku].availability) if counted else 0
    short = max(0.0, 1.0 - max(there, 0.0) / needed)
    asking = [w for w in workloads if w in d.index.of(asked) and _asks(d.index.of(asked)[w], kind)]
    return (d.names[at.t], site, kind.value, lost, sku, needed, there, short, ", ".join(workloads), ", ".join(asking),
            down, *at.beside)  # fmt: skip


def _asks(row: Resilience, kind: Lost) -> bool:
    """Whether a workload asks to survive a loss of a kind."""
    match kind:
        case Lost.RACK | Lost.TWO_RACKS:
            return row.units_down > (kind is Lost.TWO_RACKS)
        case Lost.POD:
            return bool(row.pod_down)
        case Lost.SITE:
            return bool(row.site_down)
        case Lost.CMX_RACK:
            return row.cache_loss is not CacheLoss.NONE
        case Lost.STORE:
            return row.cache_loss in (CacheLoss.STORE, CacheLoss.COLD_START)
    return row.cache_loss is CacheLoss.COLD_START
