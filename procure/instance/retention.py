"""Where caches can be kept, and how much keeping one takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from procure.demand.tables import ReuseInterval, ReusePath
from procure.instance.return_shares import SHARED_HOMES
from procure.instance.tables import Age, Parked, PeerReader, Store, StoreReader, StoreUnit, WearPrice
from procure.instance.units import skus_in_play
from procure.schema import SkuKind, Tier

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case
    from procure.case.settings import Settings
    from procure.catalogue import Sku
    from procure.demand import Demand


DAYS_PER_YEAR = 365.0


class Reads(NamedTuple):
    """Who reads a store how fast."""

    owner: str
    """GPU SKU that alone reads it; empty where all do."""
    tier: Tier
    speed: Callable[[Any], float]
    """Bytes/s that one GPU of a pool reads it at."""
    peers: float = float("inf")
    """Bytes/s at which one GPU reads what lies with its peers, where units share the store."""


Stores = dict[str, Reads]
"""Reads by the name of the store."""
Brought = tuple[float, float, float, float]
"""What a unit brings to a store: bytes, bytes/s read and written, bytes that may be written per day."""


def store_tables(case: Case) -> dict[str, pd.DataFrame]:
    """The tables ``stores``, ``store_units``, ``store_readers`` and ``peer_readers``."""
    stores, units, reads = _stores(case)
    cap = case.settings.store_utilisation_cap
    gpus = [sku for sku in skus_in_play(case) if sku.kind == SkuKind.GPU]
    readers = [StoreReader(sku.name, sku.cmx_read_bytes_per_s * cap) for sku in gpus if sku.cmx_read_bytes_per_s > 0]
    return {
        "stores": Store.frame(stores),
        "store_units": StoreUnit.frame(units),
        "store_readers": StoreReader.frame(readers),
        "peer_readers": PeerReader.frame(
            PeerReader(store, sku.name, sku.gpus * of.peers)
            for store, of in reads.items()
            for sku in gpus
            if of.owner == sku.name and of.peers < float("inf")
        ),
    }


def wear_prices_table(case: Case) -> pd.DataFrame:
    """The table ``wear_prices``: price of a unit's flash over the bytes that it is rated for.

        usd_per_byte = write_amplification · price of flash / (DWPD · bytes · 365 · rated years)

    The price is that of the quarter in which the drives are replaced.
    """
    settings = case.settings
    if settings.flash_wear != "replace":
        return WearPrice.empty()
    rows = []
    for store, unit in sorted(_flash_units(case).items()):
        lifetime = unit.endurance_dwpd * unit.store_bytes * DAYS_PER_YEAR * settings.flash_rated_years
        for t, quarter in enumerate(case.quarters):
            flash_usd = case.catalogue.flash_usd(unit.name, quarter)
            rows.append(WearPrice(t, store, settings.write_amplification * flash_usd / lifetime))
    return WearPrice.frame(sorted(rows, key=lambda row: (row.t, row.store)))


def _store(tier: Tier, sku: Sku) -> str:
    """Name of the store of a tier that units of a SKU bring; tables have its parts as columns."""
    return f"{tier}:{sku.name}"


def _flash_units(case: Case) -> dict[str, Sku]:
    """The unit whose drives a store on flash consists of: of included drives the kit that they are like."""
    units = {}
    for sku in skus_in_play(case):
        like = case.catalogue.included_drives(sku) if sku.kind == SkuKind.GPU else None
        if like is not None:
            units[_store(Tier.SSD, sku)] = like
        elif sku.kind in (SkuKind.SSD_KIT, SkuKind.CMX_ENCLOSURE):
            units[_store(Tier.SSD if sku.kind == SkuKind.SSD_KIT else Tier.CMX, sku)] = sku
    return {store: unit for store, unit in units.items() if unit.endurance_dwpd * unit.store_bytes > 0}


def store_reads(case: Case) -> Stores:
    """Who reads which store how fast."""
    return _stores(case)[2]


def _stores(case: Case) -> tuple[list[Store], list[StoreUnit], Stores]:
    """Rows of ``stores`` and of ``store_units``, and who reads what how fast.

    A store is what the units of one SKU bring. HBM, DRAM and included drives come with GPU racks, other drives as kits;
    each rack reads its own, or at the speed of the network its peers' too where the case says so. CMX is read by every
    rack of the pod that supports it.
    """
    settings = case.settings
    cap = settings.store_utilisation_cap
    inf = float("inf")
    stores: list[Store] = []
    units: list[StoreUnit] = []
    reads: Stores = {}

    def bring(tier: Tier, sku: Sku, brings: Brought, owner: str, speed: Any, peers: float = inf) -> None:
        name = _store(tier, sku)
        stores.append(Store(name, tier))
        units.append(StoreUnit(name, sku.name, *brings))
        reads[name] = Reads(owner, tier, speed, peers)

    skus = skus_in_play(case)
    gpus = {sku.name: sku for sku in skus if sku.kind == SkuKind.GPU}
    for sku in gpus.values():
        peers_dram, peers_ssd = _peers(settings, Tier.DRAM, sku), _peers(settings, Tier.SSD, sku)
        bring(Tier.HBM, sku, (0.0, inf, inf, inf), sku.name, lambda pool: pool.hbm_bytes_per_s_per_gpu)
        if sku.dram_kv_bytes > 0:
            speed = sku.dram_bytes_per_s * cap
            brings = (sku.dram_kv_bytes * cap, min(speed, peers_dram * sku.gpus), speed, inf)
            bring(Tier.DRAM, sku, brings, sku.name, _from_memory(cap, peers_dram), peers_dram)
        like = case.catalogue.included_drives(sku)
        if like is not None:
            brings = _flash(like, settings, sku.ssd_included_bytes / like.store_bytes, peers_ssd * sku.gpus)
            bring(Tier.SSD, sku, brings, sku.name, _from_drives(like, cap, peers_ssd), peers_ssd)
    for sku in skus:
        if sku.kind == SkuKind.SSD_KIT and sku.host in gpus:
            peers_ssd = _peers(settings, Tier.SSD, gpus[sku.host])
            brings = _flash(sku, settings, peers=peers_ssd * gpus[sku.host].gpus)
            bring(Tier.SSD, sku, brings, sku.host, _from_drives(sku, cap, peers_ssd), peers_ssd)
        elif sku.kind == SkuKind.CMX_ENCLOSURE:
            bring(Tier.CMX, sku, _flash(sku, settings), "", lambda pool: pool.cmx_read_bytes_per_s * cap / pool.gpus)
    return stores, units, reads


def _peers(settings: Settings, tier: Tier, pool: Sku) -> float:
    """Bytes/s of one GPU at which copies are read where racks read each other's: all at the speed of a peer's.

    Never faster than the GPU's part of the scale-out network, at its utilisation cap.
    """
    if getattr(settings, f"{tier}_home") not in SHARED_HOMES:
        return float("inf")
    stated: float = getattr(settings, f"peer_{tier}_bytes_per_s_per_gpu")
    return min(stated, pool.scale_out_bytes_per_s_per_gpu * settings.store_utilisation_cap)


def _from_memory(cap: float, peers: float) -> Callable[[Any], float]:
    """Bytes/s at which one GPU of a pool reads the memory of its unit, or of its peers."""
    return lambda pool: min(pool.dram_bytes_per_s * cap / pool.gpus, peers)


def _from_drives(kit: Sku, cap: float, peers: float) -> Callable[[Any], float]:
    """Bytes/s at which one GPU of a pool reads the drives of its unit, or of its peers."""
    return lambda pool: min(kit.store_read_bytes_per_s * cap / pool.gpus, peers)


def _flash(sku: Sku, settings: Settings, share: float = 1.0, peers: float = float("inf")) -> Brought:
    """Usable bytes, read and write bytes/s, and bytes that may be written per day, of a share of a flash unit.

    ``peers``: bytes/s at which the host reads drives of its peers, where it does.
    """
    cap = settings.store_utilisation_cap
    return (
        share * sku.store_bytes * cap,
        min(share * sku.store_read_bytes_per_s * cap, peers),
        share * sku.store_write_bytes_per_s * cap,
        share * sku.endurance_dwpd * sku.store_bytes / settings.write_amplification,
    )


def parked_table(lengths: pd.DataFrame, rates: pd.DataFrame) -> pd.DataFrame:
    """Bytes of one parked sequence, input and visible output, at the mix of buckets: thinking is dropped."""
    keys = ["t", "workload", "bucket"]
    both = lengths.merge(rates, on=keys)
    both["weighted"] = both["kv_bytes"] * both["requests_per_s"]
    sums = both.groupby(["t", "workload"], sort=True)[["weighted", "requests_per_s"]].sum()
    mean = sums["weighted"] / sums["requests_per_s"]
    t, workload = (sums.index.get_level_values(name).tolist() for name in ("t", "workload"))
    return Parked.frame(map(Parked, t, workload, mean.tolist()))


def ages_table(case: Case, demand: Demand) -> pd.DataFrame:
    """Age intervals of the workloads whose caches come back, with the returns of every quarter."""
    path = {(r.quarter, r.workload): r for r in ReusePath.rows(demand.reuse_path)}
    rows = []
    for t, quarter in enumerate(case.quarters):
        for r in ReuseInterval.rows(demand.reuse):
            at = path[str(quarter), r.workload]
            rows.append(
                Age(
                    t,
                    r.workload,
                    r.interval,
                    r.age_to_s,
                    r.age_to_s - r.age_from_s,
                    r.return_share * at.return_scale,
                    r.mean_return_before * at.return_scale * at.release_share,
                )
            )
    return Age.frame(rows)
