"""Family 12 in the program: what only exists inside something else."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from procure.program.declare import block_rows, first_stage_rows, recourse
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.part import Part
from procure.schema import SkuKind
from procure.timekey import TimeKey


def in_held_hosts(index: Index) -> list[tuple[str, str, TimeKey]]:
    """(site, part, block) of stores, some of whose hosts are reserved."""
    return sorted({
        (site, u.sku, at)
        for at, site, store in index.kept_by_store
        for u in index.store_units[store]
        if (site, u.sku, at.t) in index.in_stock
        and any(index.reserved.get((at.t, site, host), 0.0) > 0 for host in index.places.get(u.sku, {}))
    })  # fmt: skip


def add_variables(m: Any, index: Index) -> None:
    """fitted[site, sku, at]: kits or enclosures that serve where some hosts are reserved, units, recourse."""
    m.fitted = recourse(index.of(in_held_hosts), domain=pyo.NonNegativeReals)


def kits_within_hosts(m: Any, index: Index) -> None:
    """A kit fills all drive bays of one host that are free, and leaves with it.

        Σ_k own[s,k,t] ≤ places[h]·(own[s,h,t] − Σ_f on_rent[f,t])     over the kits k of a host h, offers f of it

    Units; rented hosts go back as they came, so that no kit is put into them. ``places`` is 1, less the share of the
    bays that drives inside the host's price take.
    """
    kits = group(
        (k for k in index.stock if index.sku[k[1]].kind is SkuKind.SSD_KIT),
        lambda k: (k[0], index.sku[k[1]].host, k[2]),
    )

    def rule(m: Any, site: str, host: str, t: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.own[k] for k in kits[site, host, t]))
        if (site, host, t) in index.in_stock:
            row.add(-float(index.sku[host].places), m.own[site, host, t])
        places = float(index.sku[host].places)
        row.extend(places, (m.on_rent[key] for key in index.rented_at.get((site, host, t), [])))
        return row.at_most(0.0)

    m.kits_within_hosts = first_stage_rows(sorted(kits), rule=rule)


def parts_in_free_hosts(m: Any, index: Index) -> None:
    """Where hosts are held for others, only parts that fit into the rest of them serve.

        Σ_k fitted[s,k,t] ≤ Σ_h places[h]·(own[s,h,t] − Σ_f on_rent[f,t] − reserved[s,h,t])
                                                                     over the parts k of the same hosts h
        fitted[s,k,t] ≤ own[s,k,t] − reserved[s,k,t]

    Units; kits in racks or servers, enclosures in CMX racks. A part that finds no free host is held with the others.
    Parts that share a host share all of them: the row goes by the first.
    """
    parts = group(index.of(in_held_hosts), lambda k: (k[0], k[2], min(index.places[k[1]])))

    def rule(m: Any, site: str, at: TimeKey, host_sku: str) -> Any:
        row = Terms()
        held = parts[site, at, host_sku]
        row.extend(1.0, (m.fitted[k] for k in held))
        for host, places in index.places[held[0][1]].items():
            if (site, host, at.t) in index.in_stock:
                row.add(-places, m.own[site, host, at.t])
            row.extend(places, (m.on_rent[key] for key in index.rented_at.get((site, host, at.t), [])))
            row.constant += places * index.reserved.get((at.t, site, host), 0.0)
        return row.at_most(0.0)

    def owned(m: Any, site: str, sku: str, at: TimeKey) -> Any:
        row = Terms()
        row.add(1.0, m.fitted[site, sku, at])
        row.add(-1.0, m.own[site, sku, at.t])
        return row.at_most(-index.reserved.get((at.t, site, sku), 0.0))

    m.parts_in_free_hosts = block_rows(list(parts), rule=rule, against=["on_rent"])
    m.fitted_within_own = block_rows(index.of(in_held_hosts), rule=owned)


def enclosures_in_racks(m: Any, index: Index) -> None:
    """CMX racks hold at least one enclosure each, and no more than they have places.

        Σ_r own[s,r,t] ≤ Σ_e own[s,e,t] ≤ Σ_r places[r]·own[s,r,t]       over the SKUs of racks r and of enclosures e

    Units; 1 to 16 in the reference rack.
    """
    racks, enclosures = (
        group((k for k in index.stock if index.sku[k[1]].kind is kind), lambda k: (k[0], k[2]))
        for kind in (SkuKind.CMX_RACK, SkuKind.CMX_ENCLOSURE)
    )
    keys = sorted(set(racks) | set(enclosures))

    def within(m: Any, site: str, t: int) -> Any:
        row = Terms()
        row.extend(1.0, (m.own[k] for k in enclosures.get((site, t), [])))
        for key in racks.get((site, t), []):
            row.add(-float(index.sku[key[1]].places), m.own[key])
        return row.at_most(0.0)

    def not_empty(m: Any, site: str, t: int) -> Any:
        row = Terms()
        row.extend(-1.0, (m.own[k] for k in enclosures.get((site, t), [])))
        row.extend(1.0, (m.own[k] for k in racks.get((site, t), [])))
        return row.at_most(0.0)

    m.enclosures_in_racks = first_stage_rows(keys, rule=within)
    m.no_empty_cmx_rack = first_stage_rows(keys, rule=not_empty)


PROGRAM = Part((kits_within_hosts, enclosures_in_racks, parts_in_free_hosts), add_variables)
