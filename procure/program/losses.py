"""Losses that workloads ask to survive, and the work that must then be done with what is left."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from procure.instance.tables import Resilience
from procure.program.index import Index, Option, Point, served_by
from procure.schema import RECOMPUTE, CacheLoss
from procure.timekey import TimeKey

ALL_STORES = "*"
"""Every store of a site."""


class Loss(NamedTuple):
    """What is lost at a time: ``units`` of each pool of a site, a ``store`` of each site, or a ``site``."""

    name: str
    units: int = 0
    store: str = ""
    site: str = ""


class Done(NamedTuple):
    """Work that is to be done after a loss: unit-seconds for all of a bucket's rate, at a point or in a way."""

    units: float
    what: Point | Option
    site: str

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
    if any(row.cache_loss is not CacheLoss.NONE for row in asks):
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
    if loss.site:
        return bool(row.site_down)
    cold = row.cache_loss is CacheLoss.COLD_START
    return cold or (row.cache_loss is CacheLoss.STORE and loss.store != ALL_STORES)


def in_full(index: Index) -> dict[tuple[TimeKey, str, str, str], Option]:
    """Ways to compute everything, by block, workload, bucket and SKU."""
    return {(o.at, o.workload, o.bucket, o.sku): o for o, _ in index.prefill if o.store == RECOMPUTE}


def work_after(index: Index) -> dict[tuple[str, str, str, TimeKey], list[Done]]:
    """What workloads that ask for it keep busy after each loss, by its name, site, SKU and block.

    After the loss of a store only pools that read it have more to do than before, and only these are listed.
    """
    asks, full = index.of(asked), index.of(in_full)
    made: dict[tuple[str, str, str, TimeKey], list[Done]] = defaultdict(list)
    for loss in index.of(losses).values():
        readers = {(site, o.sku, o.at) for o, site in index.prefill if o.store in _lost(index, loss)}
        served: list[tuple[Point | Option, str]] = [*index.serve, *index.prefill]
        for what, site in served:
            row = asks.get(what.workload)
            if row is None or not survives(row, loss) or site == loss.site:
                continue
            if loss.store and (site, what.sku, what.at) not in readers:
                continue
            seconds = what.rack_s
            if isinstance(what, Option) and what.store != RECOMPUTE:
                if loss.site:
                    continue  # caches of a site are lost with it, and those of the others are not counted on
                if what.store in _lost(index, loss) or (loss.units and row.cache_loss is CacheLoss.COLD_START):
                    seconds = max(seconds, full[what.at, what.workload, what.bucket, what.sku].rack_s)
            made[loss.name, site, what.sku, what.at].append(Done(what.rate * seconds, what, site))
    return dict(made)


def _lost(index: Index, loss: Loss) -> set[str]:
    """Stores whose caches are gone."""
    return set(index.tier) if loss.store == ALL_STORES else {loss.store} - {""}


def left_busy(index: Index, loss: Loss, sku: str) -> float:
    """Share of the units left that may be busy: with units counted as down, all others are up and none is a spare."""
    return float(index.instance.settings["utilisation_cap"]) if loss.units else index.sku[sku].usable_share
