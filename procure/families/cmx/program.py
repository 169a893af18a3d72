"""Family 7b in the program: CMX is a store of its pod: what it keeps is worked on by racks of pods that have CMX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from procure.instance.tables import Prefill, Serve
from procure.program.declare import block_rows
from procure.program.index import Index, group
from procure.program.linear import Terms
from procure.program.moves import MoveKey, moves
from procure.program.part import Part
from procure.schema import RECOMPUTE, SkuKind, Tier
from procure.timekey import TimeKey

Least = dict[tuple[TimeKey, str, str], float]


def _add_places_near(m: Any, index: Index, row: Terms, site: str, t: int) -> None:
    """Subtract the NVL72 places of pods that have CMX: one pod for each CMX rack that is not reserved, at most."""
    per_pod = float(index.pods_at[site].nvl72_per_pod)
    for name, sku in index.sku.items():
        if sku.kind is SkuKind.CMX_RACK and (site, name, t) in index.in_stock:
            row.add(-per_pod, m.own[site, name, t])
            row.constant += per_pod * index.reserved.get((t, site, name), 0.0)


def _stays_in_pods(index: Index, site: str) -> bool:
    return not index.pods_at[site].cmx_crosses_pods


def cmx_reads_in_pods(m: Any, index: Index) -> None:
    """Racks whose ports read CMX stand in pods that have CMX.

        Σ_k slots[k] · reads[s,k,t] / (present[k]·reader_bytes_per_s[k]) ≤ places · Σ_r (own − reserved)[s,r,t]

    NVL72 places; k are the SKUs that read CMX, r those of CMX racks. CMX racks may each stand in a pod of its own, so
    that their number bounds the pods with CMX. Left out where reads cross pods.
    """
    reads = group(
        (x for rows in index.reads.values() for x in rows if index.tier[x[0].store] == Tier.CMX),
        lambda x: (x[1], x[0].at),
    )

    def rule(m: Any, site: str, at: TimeKey) -> Any:
        row = Terms()
        for o, s in reads[site, at]:
            sku = index.sku[o.sku]
            per_place = sku.present_share * index.reader_bytes_per_s[o.sku] / sku.pod_slots
            row.add(o.read_bytes * o.rate / per_place, m.prefill[o.option, s])
        _add_places_near(m, index, row, site, at.t)
        return row.at_most(0.0)

    m.cmx_reads_in_pods = block_rows(sorted(k for k in reads if _stays_in_pods(index, k[0])), rule=rule)


def least_work_near(index: Index) -> tuple[Least, Least]:
    """Least rack-seconds of decode and of a full prefill, on SKUs that read CMX, by (block, workload, bucket)."""
    decode: Least = {}
    full: Least = {}
    in_full = [(at, way) for at, way in index.timed_rows(Prefill) if way.store == RECOMPUTE]
    works: tuple[tuple[Least, Sequence[tuple[TimeKey, Serve | Prefill]]], ...] = (
        (decode, index.timed_rows(Serve)),
        (full, in_full),
    )
    for found, ways in works:
        for at, way in ways:
            if way.sku in index.reader_bytes_per_s:
                key = (at, way.workload, way.bucket)
                found[key] = min(found.get(key, way.rack_s), way.rack_s)
    return decode, full


def to_store(index: Index) -> dict[tuple[TimeKey, str, str], list[MoveKey]]:
    """Moves by the (block, site, store) that they end in."""
    return group(index.of(moves), lambda key: (key[0], key[1], key[5]))


def cmx_sessions_in_pods(m: Any, index: Index) -> None:
    """Requests whose caches lie in CMX are decoded and prefilled by racks that read it, in pods that have it.

        W[s,t] = Σ_w R·(d̄_w + f̄_w)·(kept[t,s,w,0,CMX] + Σ_{i,g} move[t,s,w,i,g→CMX])
                 + Σ_{o from CMX} rate·(rack_s − f_{w,b})·prefill[o,s]
        W ≤ Σ_k usable[k]·(own − reserved)[s,k,t]
        W ≤ (usable/slots)·places·Σ_r (own − reserved)[s,r,t]                left out where reads cross pods

    Racks. Of each bucket d is the least rack-seconds of decode, f of a full prefill, on SKUs k that read CMX; bars are
    means over the buckets. What hits takes the work of its own option, so that W is no more than the work of these
    requests: the plan may choose points that take more.
    """
    decode, full = least_work_near(index)
    stores = {store for store, tier in index.tier.items() if tier == Tier.CMX}
    keys = sorted({(site, at) for at, site, store in index.kept_by_store if store in stores})
    readers = [name for name in index.reader_bytes_per_s if name in index.sku]

    def work(m: Any, site: str, at: TimeKey) -> Terms:
        row = Terms()
        each: dict[str, float] = {}
        for block, w, b in index.buckets:
            if block == at:
                seconds = decode.get((at, w, b), 0.0) + full.get((at, w, b), 0.0)
                each[w] = each.get(w, 0.0) + index.rate[at, w, b] * seconds
        for store in sorted(stores):
            for key in index.kept_by_store.get((at, site, store), []):
                if key[3] == 0:
                    row.add(each[key[2]], m.kept[key])
            for move in index.of(to_store).get((at, site, store), []):
                row.add(each[move[2]], m.move[move])
            for o, s in index.reads.get((at, site, store), []):
                spared = full.get((at, o.workload, o.bucket), 0.0)
                row.add(o.rate * (o.rack_s - spared), m.prefill[o.option, s])
        return row

    def on_readers(m: Any, site: str, at: TimeKey) -> Any:
        row = work(m, site, at)
        for name in readers:
            if (site, name, at.t) in index.in_stock:
                usable = index.sku[name].usable_share
                row.add(-usable, m.own[site, name, at.t])
                row.constant += usable * index.reserved.get((at.t, site, name), 0.0)
        return row.at_most(0.0)

    def near(m: Any, site: str, at: TimeKey) -> Any:
        row = work(m, site, at)
        per_rack = max(index.sku[name].usable_share / index.sku[name].pod_slots for name in readers)
        row.coefs = [coef / per_rack for coef in row.coefs]
        _add_places_near(m, index, row, site, at.t)
        return row.at_most(0.0)

    m.cmx_sessions_on_readers = block_rows(keys, rule=on_readers)
    m.cmx_sessions_in_pods = block_rows([k for k in keys if _stays_in_pods(index, k[0])], rule=near)


PROGRAM = Part((cmx_reads_in_pods, cmx_sessions_in_pods))
