"""Every limit of a plan: what is used, what is there, in the units a planner uses.

Computed from the plan's tables and the instance with no word of the program, so that it can say the program was wrong.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from procure.instance import RESOURCES, Instance
from procure.plan.first_token import first_tokens
from procure.plan.plan import frame
from procure.quarter import SECONDS_PER_DAY
from procure.rules.payments import due

BINDING_SHARE = 1e-6
"""A limit binds when what is left is less than this share of it."""


@dataclass
class Rows:
    """Limit rows under construction."""

    made: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, family: str, quarter: str, site: str, item: str, used: float, limit: float, unit: str) -> None:
        """One limit: ``used`` must be at most ``limit``."""
        slack = limit - used
        binding = bool(used > 0 and slack <= BINDING_SHARE * max(abs(limit), 1.0))
        self.made.append((family, quarter, site, item, used, limit, slack, unit, binding))


class Standing:
    """Units that stand at a site in a quarter, of a SKU, and what the tables say they do."""

    def __init__(self, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
        self.instance, self.tables = instance, tables
        self.quarters, self.position = instance.quarters, instance.position
        self.sku = {r.sku: r for r in instance["skus"].itertuples()}
        self.sites = instance["pods"]["site"].tolist()
        self.own: dict[tuple[str, str, str], float] = defaultdict(float)
        for r in tables["fleet"].itertuples():
            self.own[r.quarter, r.site, r.sku] += r.closing
        self.reserved: dict[tuple[str, str, str], float] = defaultdict(float)
        for r in instance["reserved"].itertuples():
            self.reserved[self.quarters[r.t], r.site, r.sku] += r.count
        self.busy: dict[tuple[str, str, str], float] = defaultdict(float)
        for name in ("serving", "prefill"):
            for r in tables[name].itertuples():
                self.busy[r.quarter, r.site, r.sku] += r.racks
        self.pods = {(r.quarter, r.site): r.pods for r in tables["pods"].itertuples()}
        self.places = {r.site: r for r in instance["pods"].itertuples()}

    def serving(self, quarter: str, site: str, sku: str) -> float:
        """Units that are up, no spares and not held for other purposes, whatever their hosts are used for."""
        return float(self.sku[sku].present_share * (self.own[quarter, site, sku] - self.reserved[quarter, site, sku]))

    def hosts(self, sku: str) -> dict[str, float]:
        """SKUs that a part stands in, with places per unit; none for what stands alone."""
        if self.sku[sku].kind == "ssd_kit":
            return {self.sku[sku].host: self.sku[self.sku[sku].host].places}
        if self.sku[sku].kind == "cmx_enclosure":
            return {name: row.places for name, row in self.sku.items() if row.kind == "cmx_rack"}
        return {}


def limits_table(instance: Instance, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The plan's ``limits`` table: one row for each limit that exists, whether or not it binds."""
    s, rows = Standing(instance, tables), Rows()
    _compute(s, rows)
    _reserved(s, rows)
    _lpx(s, rows)
    _stores(s, rows)
    _first_token(s, rows)
    _site(s, rows)
    _structure(s, rows)
    _orders(s, rows)
    _budget(s, rows)
    return frame("limits", rows.made)


def _compute(s: Standing, rows: Rows) -> None:
    for (quarter, site, sku), own in sorted(s.own.items()):
        if s.sku[sku].kind == "gpu":
            limit = s.sku[sku].usable_share * (own - s.reserved[quarter, site, sku])
            rows.add("busy racks", quarter, site, sku, s.busy[quarter, site, sku], limit, "racks")


def _reserved(s: Standing, rows: Rows) -> None:
    for (quarter, site, sku), count in sorted(s.reserved.items()):
        if count > 0:
            rows.add("reserved units stand", quarter, site, sku, count, s.own[quarter, site, sku], "units")


def _lpx(s: Standing, rows: Rows) -> None:
    taken: dict[tuple[str, str, str], float] = defaultdict(float)
    copies = {}
    for r in s.tables["lpx_copies"].itertuples():
        taken[r.quarter, r.site, r.sku] += r.racks
        copies[r.quarter, r.site, r.card, r.sku] = r
    used: dict[tuple[str, str, str, str], float] = defaultdict(float)
    point = {r.point: r for r in s.instance["serve"].itertuples()}
    for r in s.tables["serving"].itertuples():
        if r.lpx_racks:
            used[r.quarter, r.site, point[r.point].card, point[r.point].lpx_sku] += r.lpx_racks
    cap = s.instance.settings["utilisation_cap"]
    per_pod = {(r.card, r.sku): r.copies_per_pod for r in s.instance["lpx_copies"].itertuples()}
    for key in sorted(set(used) | set(copies)):
        quarter, site, card, sku = key
        racks = copies[key].racks if key in copies else 0
        item = f"{card} on {sku}"
        rows.add("LPX time", quarter, site, item, used[key], cap * racks, "racks")
        if key in copies:
            limit = per_pod[card, sku] * s.pods[quarter, site]
            rows.add("LPX copies in pods", quarter, site, item, copies[key].copies, limit, "copies")
    for quarter, site, sku in sorted(s.own):
        if s.sku[sku].kind == "lpx":
            limit = s.serving(quarter, site, sku)
            rows.add("LPX racks for copies", quarter, site, sku, taken[quarter, site, sku], limit, "racks")


def _stores(s: Standing, rows: Rows) -> None:
    placed = s.tables["kv_placement"]
    sums = placed.groupby(["quarter", "site", "store"])[["parked_bytes", "read_bytes_per_s", "write_bytes_per_s"]].sum()
    mean_share: dict[tuple[int, str], float] = {}
    for r in s.instance["rates"].itertuples():
        mean_share[r.t, r.workload] = max(mean_share.get((r.t, r.workload), 0.0), r.mean_per_peak)
    day: dict[tuple[str, str, str], float] = defaultdict(float)
    for r in placed.itertuples():
        share = mean_share[s.position[r.quarter], r.workload]
        day[r.quarter, r.site, r.store] += r.write_bytes_per_s * share * SECONDS_PER_DAY
    tier = dict(zip(s.instance["stores"]["store"], s.instance["stores"]["tier"], strict=True))
    units = {store: list(g.itertuples()) for store, g in s.instance["store_units"].groupby("store")}
    busy: dict[tuple[str, str, str], float] = defaultdict(float)
    for key, used in sums.iterrows():
        quarter, site, store = key
        if tier[store] == "hbm":
            rows.add("parked KV", quarter, site, store, used["parked_bytes"], _hbm_bytes(s, quarter, site, store), "B")
            continue
        own = [(u, s.serving(quarter, site, u.sku)) for u in units[store]]
        limit = {
            name: sum(n * getattr(u, name) for u, n in own if n)
            for name in ("bytes", "read_bytes_per_s", "write_bytes_per_s", "write_bytes_per_day")
        }
        for unit, _ in own:
            busy[quarter, site, unit.sku] += _parts_needed(s, unit, used, day[key])
        rows.add("parked KV", quarter, site, store, used["parked_bytes"], limit["bytes"], "B")
        rows.add("store reads", quarter, site, store, used["read_bytes_per_s"], limit["read_bytes_per_s"], "B/s")
        rows.add("store writes", quarter, site, store, used["write_bytes_per_s"], limit["write_bytes_per_s"], "B/s")
        if math.isfinite(limit["write_bytes_per_day"]):
            rows.add("store wear", quarter, site, store, day[key], limit["write_bytes_per_day"], "B/day")
    _free_hosts(s, rows, busy)
    _readers(s, rows)
    _pods_with_cmx(s, rows)


def _parts_needed(s: Standing, unit: Any, used: Any, written_per_day: float) -> float:
    """Units that a store's use takes, by whichever of bytes, reads, writes and wear asks for most."""
    asked = {
        "bytes": used["parked_bytes"],
        "read_bytes_per_s": used["read_bytes_per_s"],
        "write_bytes_per_s": used["write_bytes_per_s"],
        "write_bytes_per_day": written_per_day,
    }
    return max(float(value) / getattr(unit, name) for name, value in asked.items()) / s.sku[unit.sku].present_share


def _free_hosts(s: Standing, rows: Rows, busy: dict[tuple[str, str, str], float]) -> None:
    """Kits and enclosures that serve stand in hosts that are not held for others."""
    needed: dict[tuple[str, str, tuple[Any, ...]], float] = defaultdict(float)
    for (quarter, site, sku), count in busy.items():
        needed[quarter, site, tuple(s.hosts(sku).items())] += count
    for (quarter, site, hosts), count in sorted(needed.items()):
        if any(s.reserved[quarter, site, host] for host, _ in hosts):
            room = sum(n * (s.own[quarter, site, host] - s.reserved[quarter, site, host]) for host, n in hosts)
            names = "+".join(host for host, _ in hosts)
            rows.add("parts in free hosts", quarter, site, names, count, room, "units")


def _hbm_bytes(s: Standing, quarter: str, site: str, store: str) -> float:
    """HBM for parked caches: beside running batches, and in racks that are up and idle."""
    sku = store.split(":", 1)[1]
    free = dict(zip(s.instance["serve"]["point"], s.instance["serve"]["free_hbm_bytes"], strict=True))
    serving = s.tables["serving"]
    mine = serving[(serving["quarter"] == quarter) & (serving["site"] == site) & (serving["sku"] == sku)]
    beside = sum(r.racks * free[r.point] for r in mine.itertuples())
    idle = dict(zip(s.instance["idle_hbm"]["sku"], s.instance["idle_hbm"]["bytes"], strict=True))[sku]
    return beside + idle * (s.serving(quarter, site, sku) - s.busy[quarter, site, sku])


def _readers(s: Standing, rows: Rows) -> None:
    limit = {r.sku: r.read_bytes_per_s for r in s.instance["store_readers"].itertuples()}
    tier = dict(zip(s.instance["stores"]["store"], s.instance["stores"]["tier"], strict=True))
    size = {(r.t, r.workload, r.bucket, r.sku, r.store): r.read_bytes for r in s.instance["prefill"].itertuples()}
    used: dict[tuple[str, str, str], float] = defaultdict(float)
    for r in s.tables["prefill"].itertuples():
        if tier.get(r.store) == "cmx":
            read = size[s.position[r.quarter], r.workload, r.bucket, r.sku, r.store]
            used[r.quarter, r.site, r.sku] += r.requests_per_s * read
    for (quarter, site, sku), value in sorted(used.items()):
        most = limit[sku] * s.serving(quarter, site, sku)
        rows.add("store readers", quarter, site, f"cmx by {sku}", value, most, "B/s")


def _pods_with_cmx(s: Standing, rows: Rows) -> None:
    """Reads of CMX, and the work of requests whose caches lie there, against racks that read it, in pods with CMX."""
    port = {r.sku: r.read_bytes_per_s for r in s.instance["store_readers"].itertuples()}
    cmx = {r.store for r in s.instance["stores"].itertuples() if r.tier == "cmx"}
    fills = {(r.t, r.workload, r.bucket, r.sku, r.store): r for r in s.instance["prefill"].itertuples()}
    frames = [name for name, sku in s.sku.items() if sku.kind == "cmx_rack"]
    full, both = _least_on_readers(s, set(port))
    reading: dict[tuple[str, str], float] = defaultdict(float)
    work: dict[tuple[str, str], float] = defaultdict(float)
    for r in s.tables["prefill"].itertuples():
        if r.store in cmx:
            t, sku = s.position[r.quarter], s.sku[r.sku]
            way = fills[t, r.workload, r.bucket, r.sku, r.store]
            ports = r.requests_per_s * way.read_bytes / port[r.sku]
            reading[r.quarter, r.site] += ports * sku.pod_slots / sku.present_share
            work[r.quarter, r.site] += r.requests_per_s * (way.rack_s - full.get((t, r.workload, r.bucket), 0.0))
    for r in s.tables["retention"].itertuples():
        if r.store in cmx and r.interval == 0:
            work[r.quarter, r.site] += r.kept_requests_per_s * both[s.position[r.quarter], r.workload]
    for quarter, site in sorted(set(work) | set(reading)):
        ours = {k: s.own[quarter, site, k] - s.reserved[quarter, site, k] for k in [*port, *frames]}
        racks = sum(s.sku[k].usable_share * ours[k] for k in port)
        rows.add("CMX sessions on readers", quarter, site, "", work[quarter, site], racks, "racks")
        if not s.places[site].cmx_crosses_pods:
            near = s.places[site].nvl72_per_pod * sum(ours[k] for k in frames)
            rows.add("CMX readers in pods", quarter, site, "", reading[quarter, site], near, "places")
            busy = max(s.sku[k].usable_share / s.sku[k].pod_slots for k in port)
            rows.add("CMX sessions in pods", quarter, site, "", work[quarter, site] / busy, near, "places")


def _least_on_readers(s: Standing, readers: set[str]) -> tuple[dict[Any, float], dict[Any, float]]:
    """Least rack-seconds on SKUs that read CMX: of a bucket's full prefill; of decode and it, mean of a workload."""
    full: dict[Any, float] = {}
    decode: dict[Any, float] = {}
    for r in s.instance["prefill"].itertuples():
        if r.sku in readers and r.store == "recompute":
            key = (r.t, r.workload, r.bucket)
            full[key] = min(full.get(key, math.inf), r.rack_s)
    for r in s.instance["serve"].itertuples():
        if r.sku in readers:
            key = (r.t, r.workload, r.bucket)
            decode[key] = min(decode.get(key, math.inf), r.rack_s)
    seconds: dict[Any, float] = defaultdict(float)
    rate: dict[Any, float] = defaultdict(float)
    for r in s.instance["rates"].itertuples():
        key = (r.t, r.workload, r.bucket)
        rate[r.t, r.workload] += r.requests_per_s
        seconds[r.t, r.workload] += r.requests_per_s * (full.get(key, 0.0) + decode.get(key, 0.0))
    return full, {key: seconds[key] / rate[key] for key in rate if rate[key] > 0}


def _first_token(s: Standing, rows: Rows) -> None:
    """Late first tokens against the share that may be late, and what is counted short beyond it."""
    rate = {(r.quarter, r.workload): r.requests_per_s for r in s.tables["sla"].itertuples()}
    short = {(r.quarter, r.workload): r.late_share for r in s.tables["sla"].itertuples()}
    for key, first in sorted(first_tokens(s.instance, s.tables["prefill"]).items()):
        if first.late_per_s > 0 and key in rate:
            limit = first.allowed_per_s + short[key] * rate[key]
            rows.add("late first tokens", key[0], "", key[1], first.late_per_s, limit, "requests/s")


def _site(s: Standing, rows: Rows) -> None:
    use: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for r in s.instance["resource_use"].itertuples():
        use[r.site, r.resource].append(r)
    lead = {(r.site, r.expansion): int(r.lead_quarters) for r in s.instance["expansions"].itertuples()}
    adds = {(r.site, r.expansion, r.resource): r.adds for r in s.instance["expansion_adds"].itertuples()}
    for r in s.instance["site_limits"].itertuples():
        quarter = s.quarters[r.t]
        used = sum(u.per_unit * s.own[quarter, r.site, u.sku] for u in use[r.site, r.resource])
        grown = sum(
            e.count * adds.get((e.site, e.expansion, r.resource), 0.0)
            for e in s.tables["expansions"].itertuples()
            if e.site == r.site and s.position[e.quarter] + lead[e.site, e.expansion] <= r.t
        )
        name, unit = RESOURCES[r.resource]
        rows.add(name, quarter, r.site, "", used, r.limit + grown, unit)


def _structure(s: Standing, rows: Rows) -> None:
    for quarter in s.quarters:
        for site in s.sites:
            total: dict[str, float] = defaultdict(float)
            kits: dict[str, float] = defaultdict(float)
            for name, sku in s.sku.items():
                own = s.own[quarter, site, name]
                total[sku.kind] += own
                total["pod"] += own * sku.pod_slots
                total["places"] += own * sku.places * (sku.kind == "cmx_rack")
                if sku.kind == "ssd_kit" and own:
                    kits[sku.host] += own
            for host, count in sorted(kits.items()):
                bays = s.own[quarter, site, host] * s.sku[host].places
                rows.add("kits in hosts", quarter, site, host, count, bays, "units")
            racks, enclosures = total["cmx_rack"], total["cmx_enclosure"]
            if enclosures:
                rows.add("CMX enclosures in racks", quarter, site, "", enclosures, total["places"], "enclosures")
            if racks:
                rows.add("CMX racks not empty", quarter, site, "", racks, enclosures, "racks")
            pods, site_places = s.pods[quarter, site], s.places[site]
            rows.add("pods", quarter, site, "", pods, site_places.pods_max, "pods")
            for kind, per_pod, label in (
                ("pod", site_places.nvl72_per_pod, "NVL72 places in pods"),
                ("lpx", site_places.lpx_per_pod, "LPX places in pods"),
                ("cmx_rack", site_places.cmx_racks_per_pod, "CMX places in pods"),
            ):
                if total[kind]:
                    rows.add(label, quarter, site, "", total[kind], per_pod * pods, "racks")


def _orders(s: Standing, rows: Rows) -> None:
    bought = s.tables["purchases"]
    for (quarter, sku), group in bought.groupby(["quarter", "sku"]):
        most = s.sku[sku].supply_per_quarter
        if math.isfinite(most):
            rows.add("supply", quarter, "", sku, group["count"].sum(), most, "units")
        least = s.sku[sku].min_order
        if least > 1:
            rows.add("minimum order", quarter, "", sku, least, group["count"].sum(), "units")


def _budget(s: Standing, rows: Rows) -> None:
    """Spending against budget and what could be carried into the quarter."""
    budget = dict(zip(s.instance["budget"]["t"], s.instance["budget"]["budget_usd"], strict=True))
    if not budget:
        return
    spent: dict[int, float] = defaultdict(float)
    commitment = s.instance.settings["budget_basis"] == "commitment"
    first = {r.sku: r.milestone_order for r in s.instance["skus"].itertuples()}
    for r in s.tables["purchases"].itertuples():
        ordered, delivered = s.position[r.quarter], s.position[r.delivery_quarter]
        unit = due(r.unit_price_usd, r.unit_attach_usd, r.unit_install_usd, first[r.sku])
        spent[ordered] += r.count * (unit.on_order + unit.on_delivery if commitment else unit.on_order)
        spent[delivered] += 0.0 if commitment else r.count * unit.on_delivery
    for r in s.tables["expansions"].itertuples():
        spent[s.position[r.quarter]] += r.capex_usd
    if not commitment:
        for g in s.instance["fixed"].itertuples():
            spent[int(g.due_t)] += g.count * g.due_usd
    year = dict(zip(s.instance["quarters"]["t"], s.instance["quarters"]["fiscal_year"], strict=True))
    mode, carried = s.instance.settings["budget_carry"], 0.0
    for t, quarter in enumerate(s.quarters):
        if t not in budget:
            carried = 0.0
            continue
        if mode == "none" or (mode == "within_year" and t and year[t] != year[t - 1]):
            carried = 0.0
        rows.add("budget", quarter, "", "", spent[t], budget[t] + carried, "USD")
        carried = max(0.0, budget[t] + carried - spent[t])
