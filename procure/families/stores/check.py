"""Stores checked: reads, writes and wear, and what readers take."""

from __future__ import annotations

import math
from collections import defaultdict

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import PeerReader, Prefill, StoreReader, WearPrice
from procure.plan.day import PartOfDay
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.moves import Moves
from procure.plan.part import Check
from procure.plan.standing import Standing
from procure.quarter import SECONDS_PER_DAY, SECONDS_PER_QUARTER
from procure.schema import RECOMPUTE, CostLine, Tier

READERS = "store readers"


def limits(s: Standing, rows: Rows) -> None:
    """Traffic and wear of stores against what their units that serve bear, and of CMX against its readers' ports."""
    replaced = _replacement(s.instance)
    for key, used in s.stored.items():
        if s.tier[key[2]] == Tier.HBM:
            continue  # its traffic is part of the step that uses it
        rows.add("store reads", *key, used.read_bytes_per_s, s.brought(key, "read_bytes_per_s"), "B/s")
        rows.add("store writes", *key, used.write_bytes_per_s, s.brought(key, "write_bytes_per_s"), "B/s")
        endured = s.brought(key, "write_bytes_per_day")
        if math.isfinite(endured) and (s.position[key[0]], key[2]) not in replaced:
            rows.add("store wear", *key, used.write_bytes_per_day, endured, "B/day")
    _readers(s, rows)


def _replacement(instance: Instance) -> dict[tuple[int, str], float]:
    """USD per byte written beyond endurance, where worn drives are replaced."""
    return {(r.t, r.store): r.usd_per_byte for r in instance.rows(WearPrice)}


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Drives that are replaced for what is written to a store beyond its endurance, day after day of the quarter."""
    price = _replacement(instance)
    if not price:
        return
    s = Standing(instance, tables)
    for (quarter, site, store), used in s.stored.items():
        t = s.position[quarter]
        beyond = used.write_bytes_per_day - s.brought((quarter, site, store), "write_bytes_per_day")
        if (t, store) in price and beyond > 0:
            days = SECONDS_PER_QUARTER / SECONDS_PER_DAY
            ledger.pay(t, CostLine.DRIVE_WEAR, site, s.units[store][0].sku, beyond * days * price[t, store])


def _reading(s: Standing, part: PartOfDay, pool: tuple[str, str, str]) -> float:
    """Units of (quarter, site, SKU) whose ports read for prefill: all that serve, or those that do not decode."""
    units = s.serving(*pool)
    if s.instance.settings["read_ports"] == "both":
        return units
    busy = sum(r.racks for r in part.decoding if (r.quarter, r.site, r.sku) == pool)
    return units - busy * s.sku[pool[2]].present_share / s.sku[pool[2]].usable_share


def _readers(s: Standing, rows: Rows) -> None:
    """Reads through the ports of a pool, in the part of the day that leaves them least."""
    limit = {r.sku: r.read_bytes_per_s for r in s.instance.rows(StoreReader)}
    peers = {r.store: r for r in s.instance.rows(PeerReader) if s.instance.settings["read_ports"] == "prefill"}
    moved: dict[tuple[str, str, str], float] = defaultdict(float)
    for (quarter, site, _, store), taken in Moves(s.instance, s.tables).taken.items() if peers else ():
        moved[quarter, site, store] += taken.read_bytes_per_s
    found: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for part in s.day:
        through, lent = _reads(s, part)
        for (quarter, site, sku), value in through.items():
            most = limit[sku] * _reading(s, part, (quarter, site, sku))
            found[READERS, quarter, site, f"cmx by {sku}"].append((value, most))
        for quarter, site, store in s.stored:
            if store in peers:
                most = peers[store].read_bytes_per_s * _reading(s, part, (quarter, site, peers[store].sku))
                value = lent[quarter, site, store] + moved[quarter, site, store]
                found["peer readers", quarter, site, store].append((value, most))
    for (name, quarter, site, item), parts in sorted(found.items(), key=lambda of: (of[0][0] != READERS, of[0])):
        value, most = min(parts, key=lambda of: of[1] - of[0])
        rows.add(name, quarter, site, item, value, most, "B/s")


def _reads(s: Standing, part: PartOfDay) -> tuple[dict[tuple[str, str, str], float], dict[tuple[str, str, str], float]]:
    """Bytes/s that prefill reads in a part of the day: of CMX by (quarter, site, SKU), of all by (..., store)."""
    size = {(r.t, r.workload, r.bucket, r.sku, r.store): r.read_bytes for r in s.instance.rows(Prefill)}
    through: dict[tuple[str, str, str], float] = defaultdict(float)
    lent: dict[tuple[str, str, str], float] = defaultdict(float)
    for r in part.filled:
        if r.store != RECOMPUTE:
            read = r.requests_per_s * size[s.position[r.quarter], r.workload, r.bucket, r.sku, r.store]
            lent[r.quarter, r.site, r.store] += read
            if s.tier[r.store] == Tier.CMX:
                through[r.quarter, r.site, r.sku] += read
    return through, lent


CHECK = Check(limits, cash=cash)
