"""What is left after a loss carries what must survive it: rows of one quarter beside those of its service.

Written from docs/program.md, with no word of ``procure.instance`` or ``procure.program``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

Row = dict[Any, float]
UNITS = {"n+1": 1, "n+2": 2, "pod": 1}


def add_losses(fleet: Any) -> None:
    """Rows for every loss that a workload asks to survive."""
    asks = {w: (r.resilience, r.cache_loss) for w, r in fleet.service.workloads.items()}
    for n in (1, 2):
        _units_down(fleet, n, {w: cold == "cold_start" for w, (name, cold) in asks.items() if UNITS.get(name, 0) >= n})
    _pod_lost(fleet, {w: cold == "cold_start" for w, (name, cold) in asks.items() if name == "pod"})
    if any(caches == "cmx_rack" for _, caches in asks.values()):
        _cmx_rack_lost(fleet, {w for w, (_, caches) in asks.items() if caches != "none"})
    heed = {w for w, (_, caches) in asks.items() if caches in ("store", "cold_start")}
    for store in {x[4].store for work in fleet.works.values() for x in work if x[1] == "fill"} - {"recompute"}:
        _caches_lost(fleet, store, heed, {store})
    cold = {w for w, (_, caches) in asks.items() if caches == "cold_start"}
    every = {x[4].store for work in fleet.works.values() for x in work if x[1] == "fill"}
    _caches_lost(fleet, "cold", cold, every - {"recompute"})
    for site in fleet.service.site:
        _site_lost(fleet, site, {w for w, (name, _) in asks.items() if name == "two_sites"})


def _seconds(fleet: Any, x: Any, lost: float) -> float:
    """Rack-seconds of a request, those of a full prefill for the share of its hits whose caches are lost."""
    step = x[4]
    if x[1] == "serve" or step.store == "recompute" or not lost:
        return float(step.rack_s)
    fills = fleet.service.fills(fleet.t, x[3])
    wanted = (step.bucket, step.pool, "recompute")
    full = max(step.rack_s, next(f.rack_s for f in fills if (f.bucket, f.pool, f.store) == wanted))
    return float(step.rack_s + lost * (full - step.rack_s))


def _cmx_racks(fleet: Any, site: str) -> int:
    """CMX racks of a site; with none there are no hits either."""
    return max(sum(fleet.free(site, n) for n, sku in fleet.service.sku.items() if sku.kind == "cmx_rack"), 1)


def _cmx_rack_lost(fleet: Any, heed: set[str]) -> None:
    """One of N CMX racks takes 1/N of the hits of CMX."""
    busy = fleet.service.up * fleet.service.s.utilisation_cap
    for place, columns in fleet.works.items():
        mine = [x for x in columns if x[3] in heed]
        if any(x[1] == "fill" and x[4].store.startswith("cmx") for x in mine):
            gone = 1 / _cmx_racks(fleet, place[0])
            work = {x: _seconds(fleet, x, gone if x[1] == "fill" and x[4].store.startswith("cmx") else 0) for x in mine}
            _room(fleet, "cmx rack", place, work, busy, {})


def _pod_lost(fleet: Any, cold: dict[str, bool]) -> None:
    """Everything stands evenly in all pods of a site: the fullest takes its units, and 1/N of what N of them hold."""
    service = fleet.service
    busy = service.up * service.s.utilisation_cap
    for (site, pool), columns in fleet.works.items():
        mine, pods = [x for x in columns if x[3] in cold], service.site[site].pods_max
        if not mine or not service.sku[pool].pod_slots:
            continue
        units, work = fleet.free(site, pool), {}
        for x in mine:
            holds = _cmx_racks(fleet, site) if x[1] == "fill" and x[4].store.startswith("cmx") else units
            work[x] = _seconds(fleet, x, 1.0 if cold[x[3]] else 1 / max(min(holds, pods), 1))
        gone = math.ceil(units / pods)
        _room(fleet, "pod", (site, pool), work, busy, {}, gone)
    for (site, card, lpx), time in fleet.lpx.items():
        if mine := {x: v for x, v in time.items() if x[3] in cold}:
            copies = fleet.copies[site, card, lpx]
            left = copies - math.ceil(copies / service.site[site].pods_max)
            fleet.rows.at_most(mine, service.racks_per_copy(card, lpx) * service.s.utilisation_cap * left)


def _room(fleet: Any, loss: Any, place: tuple[str, str], work: Row, busy: float, down: Row, gone: int = 0) -> None:
    """Work fits the racks of a pool that are left: whole instances of small loads, and what is beside them."""
    service, rows, (site, pool) = fleet.service, fleet.rows, place
    row, on = dict(down), set()
    for (where, llm, deployment, role), own in fleet.replicas.items():
        if (where, deployment.partition("+")[0]) != place:
            continue
        mine = [x for x in work if _first(x) in own]
        if not mine:
            continue
        one, _ = service.replicas(fleet.t)[llm, deployment, role]
        count = (fleet.t, "left", loss, site, llm, deployment, role)
        rows.whole.add(count)
        does = busy * one.gpus / service.sku[pool].gpus
        slower = {x: own[_first(x)] / _first(x)[4].rack_s for x in mine}
        rows.at_most({**{x: work[x] * slower[x] for x in mine}, count: -does}, 0.0)
        row[count] = one.racks
        on |= set(mine)
    row |= {x: v / busy for x, v in work.items() if x not in on}
    rows.at_most(row, fleet.free(site, pool) - gone)


def _first(x: Any) -> Any:
    """The column of the plan's own service behind one of service elsewhere."""
    return (x[0], x[1].removeprefix("away "), *x[2:5])


def _units_down(fleet: Any, n: int, cold: dict[str, bool]) -> None:
    service, rows, cap = fleet.service, fleet.rows, fleet.service.s.utilisation_cap
    for place, columns in fleet.works.items():
        work = {x: _seconds(fleet, x, cold[x[3]]) for x in columns if x[3] in cold}
        if work:
            used = (fleet.t, "used", n, *place)
            _pay(fleet, used, work)
            _room(fleet, f"n+{n}", place, work, cap, {used: float(n)})
    by_sku: Any = defaultdict(dict)
    for (site, card, lpx), time in fleet.lpx.items():
        mine = {x: v for x, v in time.items() if x[3] in cold}
        if mine:
            each, count = service.racks_per_copy(card, lpx), (fleet.t, "copies left", n, site, card, lpx)
            rows.whole.add(count)
            rows.at_most({**mine, count: -each * cap}, 0.0)
            used = (fleet.t, "used", n, site, lpx)
            _pay(fleet, used, mine)
            by_sku[site, lpx] |= {count: each, used: float(n)}
    for (site, lpx), row in by_sku.items():
        rows.at_most(row, fleet.free(site, lpx))


def _pay(fleet: Any, used: Any, work: Row) -> None:
    """A pool that serves any of this is used."""
    fleet.rows.whole.add(used)
    fleet.rows.most[used] = 1.0
    for x in work:
        bucket = fleet.service.loaded(fleet.t, x[3])[x[4].bucket]
        fleet.rows.at_most({x: 1.0, used: -fleet.service.rate(x[3], bucket)}, 0.0)


def _caches_lost(fleet: Any, name: str, heed: set[str], stores: set[str]) -> None:
    busy = fleet.service.up * fleet.service.s.utilisation_cap
    for place, columns in fleet.works.items():
        if any(x[1] == "fill" and x[4].store in stores and x[3] in heed for x in columns):
            work = {
                x: _seconds(fleet, x, x[1] == "fill" and x[4].store in stores) for x in columns if x[3] in heed
            }  # fmt: skip
            _room(fleet, name, place, work, busy, {})


def _site_lost(fleet: Any, lost: str, asking: set[str]) -> None:
    """What is served anywhere is served at the other sites alone, prompts in full. Without LPX."""
    served: dict[Any, Row] = defaultdict(dict)
    filled: dict[Any, Row] = defaultdict(dict)
    for (site, pool), columns in fleet.works.items():
        work: Row = {}
        for x in columns:
            if x[3] not in asking or (x[1] == "fill" and x[4].store != "recompute"):
                continue
            if x[1] == "serve":
                assert not x[4].lpx
                served[x[3], x[4].bucket][x] = -1.0
            if site != lost:
                y = (x[0], f"away {x[1]}", *x[2:], lost)
                work[y] = x[4].rack_s
                if x[1] == "serve":
                    served[x[3], x[4].bucket][y] = 1.0
                filled[site, x[3], x[4].bucket][y] = 1.0 if x[1] == "serve" else -1.0
        if work:
            _room(fleet, f"site {lost}", (site, pool), work, fleet.service.up * fleet.service.s.utilisation_cap, {})
    for row in (*served.values(), *filled.values()):
        fleet.rows.equals(row, 0.0)
