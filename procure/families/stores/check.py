"""Stores checked: reads, writes and wear, and what readers take."""

from __future__ import annotations

import math
from collections import defaultdict

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import PeerReader, Prefill, StoreReader, WearPrice
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.standing import Standing
from procure.plan.tables import Prefilled
from procure.quarter import SECONDS_PER_DAY, SECONDS_PER_QUARTER
from procure.schema import CostLine, Tier


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


def _reading(s: Standing, quarter: str, site: str, sku: str) -> float:
    """Units whose ports read for prefill: all that serve, or those of them that no decode keeps busy."""
    units = s.serving(quarter, site, sku)
    if s.instance.settings["read_ports"] == "both":
        return units
    busy = sum(r.racks for r in s.decoding if (r.quarter, r.site, r.sku) == (quarter, site, sku))
    return units - busy * s.sku[sku].present_share / s.sku[sku].usable_share


def _readers(s: Standing, rows: Rows) -> None:
    limit = {r.sku: r.read_bytes_per_s for r in s.instance.rows(StoreReader)}
    size = {(r.t, r.workload, r.bucket, r.sku, r.store): r.read_bytes for r in s.instance.rows(Prefill)}
    used: dict[tuple[str, str, str], float] = defaultdict(float)
    for r in Prefilled.rows(s.tables["prefill"]):
        if s.tier.get(r.store) == Tier.CMX:
            read = size[s.position[r.quarter], r.workload, r.bucket, r.sku, r.store]
            used[r.quarter, r.site, r.sku] += r.requests_per_s * read
    for (quarter, site, sku), value in sorted(used.items()):
        most = limit[sku] * _reading(s, quarter, site, sku)
        rows.add("store readers", quarter, site, f"cmx by {sku}", value, most, "B/s")
    if s.instance.settings["read_ports"] == "prefill":
        for peer in s.instance.rows(PeerReader):
            for (quarter, site, store), stored in s.stored.items():
                if store == peer.store:
                    most = peer.read_bytes_per_s * _reading(s, quarter, site, peer.sku)
                    rows.add("peer readers", quarter, site, store, stored.read_bytes_per_s, most, "B/s")


CHECK = Check(limits, cash=cash)
