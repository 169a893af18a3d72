"""Losses that workloads ask to survive, and the work that must then be done with what is left."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from procure.instance.tables import Resilience
from procure.program.index import Index, Option, Point, served_by
from procure.schema import RECOMPUTE, CacheLoss, Tier
from procure.timekey import TimeKey

ALL_STORES = "*"
"""Every store of a site."""

CMX = "cmx"
"""What holds the caches of CMX: its racks, of whatever SKU."""


class Loss(NamedTuple):
    """What is lost at a time: ``units`` of each pool of a site, a ``store`` of each site, or a ``site``.

    Or a CMX rack of each site (``cmx_rack``), or a ``pod`` of each: with it one of the parts that caches lie in.
    """

    name: str
    units: int = 0
    store: str = ""
    site: str = ""
    cmx_rack: bool = False
    pod: bool = False

    @property
    def counted(self) -> bool:
        """Whether units are gone that a fleet is counted by: of each pool of a site, or all that stand in a pod."""
        return self.units > 0 or self.pod


class Done(NamedTuple):
    """Work that is to be done after a loss: unit-seconds for all of a bucket's rate, at a point or in a way.

    ``units`` are those with all hits of what is lost in part gone; ``spared`` of them are not needed while the caches
    lie in parts of ``holder`` (the SKU of a pool, or :data:`CMX`) that are left.
    """

    units: float
    what: Point | Option
    site: str
    spared: float = 0.0
    holder: str = ""

    def variable(self, m: Any, loss: Loss) -> Any:
        """The share of the bucket's rate; after the loss of a site it is served anew at the others."""
        if not loss.site:
            return served_by(m, self.what, self.site)
        if isinstance(self.what, Point):
            return m.serve_elsewhere[self.what.point, self.site, loss.site]
        return m.prefill_elsewhere[self.what.option, self.site, loss.site]


def asked(index: Index) -> dict[str, Resilience]:
    """What workloads ask to survive; those that ask for nothing have no entry."""
    return {row.workload: row for row in index.instance.rows(Resilience)}


def losses(index: Index) -> dict[str, Loss]:
    """Losses that some workload asks to survive, by name."""
    asks = index.of(asked).values()
    found = [Loss(f"n+{n}", units=n) for n in (1, 2) if any(row.units_down >= n for row in asks)]
    if any(row.pod_down for row in asks):
        found.append(Loss("pod", pod=True))
    if any(row.cache_loss is CacheLoss.CMX_RACK for row in asks):
        found.append(Loss("cmx rack", cmx_rack=True))
    if any(row.cache_loss in (CacheLoss.STORE, CacheLoss.COLD_START) for row in asks):
        found += [Loss(f"store {store}", store=store) for store in sorted(index.tier)]
    if any(row.cache_loss is CacheLoss.COLD_START for row in asks):
        found.append(Loss("cold start", store=ALL_STORES))
    if any(row.site_down for row in asks):
        found += [Loss(f"site {site}", site=site) for site in index.sites]
    return {loss.name: loss for loss in found}


def survives(row: Resilience, loss: Loss) -> bool:
    """Whether a workload that asks for so much asks to be served after a loss."""
    if loss.units:
        return row.units_down >= loss.units
    if loss.pod:
        return bool(row.pod_down)
    if loss.site:
        return bool(row.site_down)
    if loss.cmx_rack:
        return row.cache_loss is not CacheLoss.NONE
    cold = row.cache_loss is CacheLoss.COLD_START
    return cold or (row.cache_loss is CacheLoss.STORE and loss.store != ALL_STORES)


def in_full(index: Index) -> dict[tuple[TimeKey, str, str, str], Option]:
    """Ways to compute everything, by block, workload, bucket and SKU."""
    return {(o.at, o.workload, o.bucket, o.sku): o for o, _ in index.prefill if o.store == RECOMPUTE}


def work_after(index: Index) -> dict[tuple[str, str, str, TimeKey], list[Done]]:
    """What workloads that ask for it keep busy after each loss, by its name, site, SKU and block.

    After the loss of a store or a CMX rack only pools that read it have more to do than before, and only these are
    listed; after that of a pod those whose units stand in pods.
    """
    asks = index.of(asked)
    made: dict[tuple[str, str, str, TimeKey], list[Done]] = defaultdict(list)
    for loss in index.of(losses).values():
        readers = {(site, o.sku, o.at) for o, site in index.prefill if o.store in _lost(index, loss)}
        served: list[tuple[Point | Option, str]] = [*index.serve, *index.prefill]
        for what, site in served:
            row = asks.get(what.workload)
            if row is None or not survives(row, loss) or site == loss.site:
                continue
            if (loss.store or loss.cmx_rack) and (site, what.sku, what.at) not in readers:
                continue
            if loss.pod and not index.sku[what.sku].pod_slots:
                continue
            if loss.site and isinstance(what, Option) and what.store != RECOMPUTE:
                continue  # caches of a site are lost with it, and those of the others are not counted on
            made[loss.name, site, what.sku, what.at].append(_done(index, loss, row, what, site))
    return dict(made)


def _done(index: Index, loss: Loss, row: Resilience, what: Point | Option, site: str) -> Done:
    """What a point or a way of a workload keeps busy after a loss."""
    if isinstance(what, Point) or what.store == RECOMPUTE:
        return Done(what.rate * what.rack_s, what, site)
    cold = loss.counted and row.cache_loss is CacheLoss.COLD_START
    if not cold and what.store not in _lost(index, loss):
        return Done(what.rate * what.rack_s, what, site)
    full = max(what.rack_s, index.of(in_full)[what.at, what.workload, what.bucket, what.sku].rack_s)
    if cold or loss.store:
        return Done(what.rate * full, what, site)
    holder = CMX if index.tier[what.store] == Tier.CMX else what.sku
    return Done(what.rate * full, what, site, what.rate * (full - what.rack_s), holder)


def _lost(index: Index, loss: Loss) -> set[str]:
    """Stores whose caches are gone, or a part of them is."""
    if loss.cmx_rack:
        return {store for store, tier in index.tier.items() if tier == Tier.CMX}
    return set(index.tier) if loss.pod or loss.store == ALL_STORES else {loss.store} - {""}


def left_busy(index: Index, loss: Loss, sku: str) -> float:
    """Share of the units left that may be busy: with units counted as down, all others are up and none is a spare."""
    return float(index.instance.settings["utilisation_cap"]) if loss.units else index.sku[sku].usable_share
