"""Parts checked: kits and enclosures in hosts, and those that serve in hosts that are free."""

from __future__ import annotations

from collections import defaultdict

from procure.instance.tables import StoreUnit
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.standing import Standing, Stored
from procure.schema import SkuKind, Tier


def limits(s: Standing, rows: Rows) -> None:
    """Kits and enclosures against the places of their hosts; CMX racks against the enclosures in them."""
    for quarter in s.quarters:
        for site in s.sites:
            _in_hosts(s, rows, quarter, site)
    _free_hosts(s, rows)


def _in_hosts(s: Standing, rows: Rows, quarter: str, site: str) -> None:
    kits: dict[str, float] = defaultdict(float)
    racks = enclosures = places = 0.0
    for name, sku in s.sku.items():
        own = s.own[quarter, site, name]
        if sku.kind is SkuKind.SSD_KIT and own:
            kits[sku.host] += own
        elif sku.kind is SkuKind.CMX_ENCLOSURE:
            enclosures += own
        elif sku.kind is SkuKind.CMX_RACK:
            racks += own
            places += own * sku.places
    for host, count in sorted(kits.items()):
        bays = (s.own[quarter, site, host] - s.rented[quarter, site, host]) * s.sku[host].places
        rows.add("kits in hosts", quarter, site, host, count, bays, "units")
    if enclosures:
        rows.add("CMX enclosures in racks", quarter, site, "", enclosures, places, "enclosures")
    if racks:
        rows.add("CMX racks not empty", quarter, site, "", racks, enclosures, "racks")


def _free_hosts(s: Standing, rows: Rows) -> None:
    """Kits and enclosures that serve stand in hosts that are not held for others."""
    needed: dict[tuple[str, str, tuple[tuple[str, float], ...]], float] = defaultdict(float)
    for (quarter, site, store), used in s.stored.items():
        for unit in s.units[store] if s.tier[store] != Tier.HBM else ():
            needed[quarter, site, tuple(s.hosts(unit.sku).items())] += _parts_needed(s, unit, used)
    for (quarter, site, hosts), count in sorted(needed.items()):
        if any(s.reserved[quarter, site, host] for host, _ in hosts):
            free = {
                h: s.own[quarter, site, h] - s.rented[quarter, site, h] - s.reserved[quarter, site, h] for h, _ in hosts
            }
            room = sum(n * free[host] for host, n in hosts)
            rows.add("parts in free hosts", quarter, site, ", ".join(host for host, _ in hosts), count, room, "units")


def _parts_needed(s: Standing, unit: StoreUnit, used: Stored) -> float:
    """Units that a store's use takes, by whichever of bytes, reads, writes and wear asks for most."""
    asked = vars(used)
    return max(float(value) / getattr(unit, name) for name, value in asked.items()) / s.sku[unit.sku].present_share


CHECK = Check(limits)
