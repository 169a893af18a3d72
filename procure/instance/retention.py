"""Where caches can be kept, and how much keeping one takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from procure.instance.instance import table
from procure.instance.prefill import Stores
from procure.instance.supply import skus_in_play

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case
    from procure.catalogue import Sku
    from procure.demand import Demand


def store_tables(case: Case) -> tuple[dict[str, pd.DataFrame], Stores]:
    """The tables ``stores``, ``store_units`` and ``store_readers``, and who reads what how fast.

    HBM and DRAM come with GPU racks, SSDs with them or as kits; their copies are reached by returns that the router
    sends to the same rack. CMX is read by every rack of the pod that supports it.
    """
    cap = case.settings.store_utilisation_cap
    local, pod = case.settings.rack_local_return_share, case.settings.pod_return_share
    inf = float("inf")
    stores: list[tuple[Any, ...]] = []
    units: list[tuple[Any, ...]] = []
    readers: list[tuple[Any, ...]] = []
    reads: Stores = {}
    skus = skus_in_play(case)
    kits = {sku.host: sku for sku in case.catalogue.skus.values() if sku.kind == "ssd_kit"}
    in_play = {sku.name for sku in skus}
    for sku in (s for s in skus if s.kind == "gpu"):
        stores.append((f"hbm:{sku.name}", "hbm", local))
        units.append((f"hbm:{sku.name}", sku.name, 0.0, inf, inf, inf))
        reads[f"hbm:{sku.name}"] = (sku.name, lambda pool: pool.hbm_bytes_per_s_per_gpu)
        if sku.dram_kv_bytes > 0:
            stores.append((f"dram:{sku.name}", "dram", local))
            speed = sku.dram_bytes_per_s * cap
            units.append((f"dram:{sku.name}", sku.name, sku.dram_kv_bytes * cap, speed, speed, inf))
            reads[f"dram:{sku.name}"] = (sku.name, lambda pool: pool.dram_bytes_per_s * cap / pool.gpus)
        kit = kits.get(sku.name)
        if kit is None or (kit.name not in in_play and sku.ssd_included_bytes <= 0):
            continue
        stores.append((f"ssd:{sku.name}", "ssd", local))
        reads[f"ssd:{sku.name}"] = (
            sku.name,
            lambda pool, kit=kit: kit.store_read_bytes_per_s * cap / pool.gpus,  # type: ignore[misc]
        )
        if sku.ssd_included_bytes > 0:
            units.append((f"ssd:{sku.name}", sku.name, *_flash(kit, cap, sku.ssd_included_bytes / kit.store_bytes)))
        if kit.name in in_play and sku.ssd_included_bytes <= 0:
            units.append((f"ssd:{sku.name}", kit.name, *_flash(kit, cap)))
    enclosure = next((s for s in skus if s.kind == "cmx_enclosure"), None)
    if enclosure is not None:
        stores.append(("cmx", "cmx", pod))
        units.append(("cmx", enclosure.name, *_flash(enclosure, cap)))
        for sku in skus:
            if sku.cmx_read_bytes_per_s > 0:
                readers.append(("cmx", sku.name, sku.cmx_read_bytes_per_s * cap))
        reads["cmx"] = ("", lambda pool: pool.cmx_read_bytes_per_s * cap / pool.gpus)
    tables = {
        "stores": table("stores", stores),
        "store_units": table("store_units", units),
        "store_readers": table("store_readers", readers),
    }
    return tables, reads


def _flash(sku: Sku, cap: float, share: float = 1.0) -> tuple[float, float, float, float]:
    """Usable bytes, read and write bytes/s, and bytes that may be written per day, of a share of a flash unit."""
    return (
        share * sku.store_bytes * cap,
        share * sku.store_read_bytes_per_s * cap,
        share * sku.store_write_bytes_per_s * cap,
        share * sku.endurance_dwpd * sku.store_bytes,
    )


def parked_table(lengths: pd.DataFrame, rates: pd.DataFrame) -> pd.DataFrame:
    """Bytes of one parked sequence, input and visible output, at the mix of buckets: thinking is dropped."""
    keys = ["t", "workload", "bucket"]
    both = lengths.merge(rates, on=keys)
    both["weighted"] = both["kv_bytes"] * both["requests_per_s"]
    sums = both.groupby(["t", "workload"], sort=True)[["weighted", "requests_per_s"]].sum()
    mean = sums["weighted"] / sums["requests_per_s"]
    return table("parked", [(int(t), w, float(value)) for (t, w), value in mean.items()])


def ages_table(case: Case, demand: Demand) -> pd.DataFrame:
    """Age intervals of the workloads whose caches come back, with the returns of every quarter."""
    path = {(r.quarter, r.workload): r for r in demand.reuse_path.itertuples()}
    rows = []
    for t, quarter in enumerate(case.quarters):
        for r in demand.reuse.itertuples():
            at = path[str(quarter), r.workload]
            rows.append(
                (
                    t,
                    r.workload,
                    int(r.interval),
                    r.age_to_s,
                    r.age_to_s - r.age_from_s,
                    r.return_share * at.return_scale,
                    r.mean_return_before * at.return_scale * at.release_share,
                )
            )
    return table("ages", rows)
