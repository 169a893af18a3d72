"""Family 8 in the program: what stores can read, write and endure, and what readers can take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo

from procure.families.scales import BYTES_PER_UNIT
from procure.instance.tables import PeerReader
from procure.program.day import add_way, day_of
from procure.program.declare import block_rows, recourse
from procure.program.index import Index, Option, group, lookup
from procure.program.linear import Terms
from procure.program.moves import add_flows, flows
from procure.program.part import Part
from procure.program.present import add_present
from procure.program.running import Running
from procure.quarter import SECONDS_PER_DAY, SECONDS_PER_QUARTER
from procure.schema import Tier
from procure.timekey import TimeKey


def _units(m: Any, index: Index, row: Terms, key: tuple[TimeKey, str, str], attribute: str, scale: float = 1.0) -> bool:
    """Subtract what the units of a store that serve bring, times a scale; False where some unit has no limit."""
    at, site, store = key
    for unit in index.store_units[store]:
        amount = getattr(unit, attribute)
        if amount == float("inf"):
            return False
        if (site, unit.sku, at.t) in index.in_stock:
            add_present(m, index, row, -scale * amount / BYTES_PER_UNIT, (site, unit.sku, at))
    return True


def store_reads(m: Any, index: Index) -> None:
    """Bytes read from a store per second are at most what its units deliver at their utilisation cap.

        Σ_{o from g} read_bytes·rate·prefill[o,s] + moves away
            ≤ Σ_k read_bytes_per_s[g,k]·present[k]·(own − reserved)[s,k,t]

    TB/s; :func:`procure.program.present.add_present` says which units are present. HBM has no such row: its reads are
    part of the step that uses them.
    """

    def rule(m: Any, at: TimeKey, site: str, store: str) -> Any:
        row = Terms()
        for o, s in index.reads[at, site, store]:
            row.add(o.read_bytes * o.rate / BYTES_PER_UNIT, m.prefill[o.option, s])
        add_flows(m, index, row, (at, site, store), "read_bytes_per_s", 1.0 / BYTES_PER_UNIT)
        limited = _units(m, index, row, (at, site, store), "read_bytes_per_s")
        return row.at_most(0.0) if limited else pyo.Constraint.Skip

    m.store_reads = block_rows(sorted(index.reads), rule=rule)


def _apart(index: Index) -> bool:
    """Whether prefill reads through its own ports alone."""
    return bool(index.instance.settings["read_ports"] == "prefill")


def _hours(index: Index, at: TimeKey, pool: tuple[str, str], reads: list[tuple[Option, str]]) -> list[TimeKey]:
    """Hours of a block in which the ports of a pool (site, SKU) may be tightest."""
    workloads = {o.workload for o, _ in reads}
    if _apart(index):
        workloads |= {p.workload for p, _ in index.serve_by_pool.get((*pool, at), [])}
    return index.of(day_of).rows(at, workloads)


def _decoding_units(m: Any, index: Index, row: Terms, key: tuple[str, str, TimeKey], each: float) -> None:
    """Add what the ports of units that decode in some hours do not read, where prefill reads through its own alone.

    each · present[k]/usable[k] · Σ_p rate·rack_s·serve[p,s]        units that their work keeps from prefill
    """
    if _apart(index):
        (site, name, at), sku = key, index.sku[key[1]]
        for p, s in index.serve_by_pool.get((site, name, at.block), []):
            taken = each * sku.present_share / sku.usable_share * p.rate * p.rack_s
            add_way(m, index, row, taken, (p, s), at)


def peer_reads(m: Any, index: Index) -> None:
    """With ``read_ports = "prefill"`` only units that do not decode read what lies with their peers.

        Σ_{o from g on k} read_bytes·rate·prefill[o,s] + moves away
            ≤ peer_bytes_per_s[g,k]·present[k]·((own − reserved)[s,k,t] − Σ_p rate·rack_s·serve[p,s]/usable[k])

    TB/s, for memory and drives that the racks of a pod or site share. With parts of the day in each of them
    (:func:`procure.program.day.add_way`), what moves away at all peaks at once. Otherwise the row is that of
    :func:`store_reads`, whose units read no faster from each other.
    """
    limit = {(r.store, r.sku): r.read_bytes_per_s for r in index.instance.rows(PeerReader)}
    reads = group(
        (x for rows in index.reads.values() for x in rows if (x[0].store, x[0].sku) in limit),
        lambda x: (x[0].at, x[1], x[0].store, x[0].sku),
    )

    def rule(m: Any, at: TimeKey, site: str, store: str, sku: str) -> Any:
        row, each = Terms(), limit[store, sku] / BYTES_PER_UNIT
        for o, s in reads[at.block, site, store, sku]:
            add_way(m, index, row, o.read_bytes * o.rate / BYTES_PER_UNIT, (o, s), at)
        add_flows(m, index, row, (at.block, site, store), "read_bytes_per_s", 1.0 / BYTES_PER_UNIT)
        add_present(m, index, row, -each, (site, sku, at.block))
        _decoding_units(m, index, row, (site, sku, at), each)
        return row.at_most(0.0)

    keys = [
        (hours, site, store, sku)
        for at, site, store, sku in (sorted(reads) if _apart(index) else [])
        for hours in _hours(index, at, (site, sku), reads[at, site, store, sku])
    ]
    m.peer_reads = block_rows(keys, rule=rule)


def reader_limit(m: Any, index: Index) -> None:
    """A pool reads shared stores no faster than the network ports of its units that serve allow.

        Σ_{g, o from g on k} read_bytes·rate·prefill[o,s] ≤ reader_bytes_per_s[k]·present[k]·(own − reserved)[s,k,t]

    TB/s. Only CMX stands apart from its readers; all its stores g are read through the same ports. With
    ``read_ports = "prefill"`` the ports of units that decode read nothing: they are taken off as in
    :func:`peer_reads`. By part of the day as there.
    """
    reads = group(
        (x for rows in index.reads.values() for x in rows if index.tier[x[0].store] == Tier.CMX),
        lambda x: (x[0].at, x[1], x[0].sku),
    )

    def rule(m: Any, at: TimeKey, site: str, sku: str) -> Any:
        row = Terms()
        for o, s in reads[at.block, site, sku]:
            add_way(m, index, row, o.read_bytes * o.rate / BYTES_PER_UNIT, (o, s), at)
        each = index.reader_bytes_per_s[sku] / BYTES_PER_UNIT
        add_present(m, index, row, -each, (site, sku, at.block))
        _decoding_units(m, index, row, (site, sku, at), each)
        return row.at_most(0.0)

    keys = [
        (hours, site, sku)
        for at, site, sku in sorted(reads)
        for hours in _hours(index, at, (site, sku), reads[at, site, sku])
    ]
    m.reader_limit = block_rows(keys, rule=rule)


def add_writes(m: Any, index: Index, row: Terms, key: tuple[TimeKey, str, str], mean: bool) -> None:
    """Add the bytes written to a store per second: whole sequences parked, less what a hit found that stays valid.

    What moves to it is written as :func:`procure.program.moves.flows` says.
    """
    at = key[0]
    scale = {w: (_mean_per_peak(index, at, w) if mean else 1.0) / BYTES_PER_UNIT for w in {k[2] for k in index.kept}
             if (at, w) in index.load_rate}  # fmt: skip
    add_flows(m, index, row, key, "write_bytes_per_s", scale)
    for kept in index.kept_by_store.get(key, []):
        _, _, w, interval, _ = kept
        if interval == 0:
            share = _mean_per_peak(index, at, w) if mean else 1.0
            row.add(share * index.kv_bytes[at, w] * index.load_rate[at, w] / BYTES_PER_UNIT, m.kept[kept])
    for o, s in index.reads[key]:
        share = o.mean_per_peak if mean else 1.0
        row.add(-share * o.valid_bytes * o.rate / BYTES_PER_UNIT, m.prefill[o.option, s])


def _mean_per_peak(index: Index, at: TimeKey, workload: str) -> float:
    return max(value for (block, w, _), value in index.mean_per_peak.items() if block == at and w == workload)


def store_writes(m: Any, index: Index) -> None:
    """Bytes written to a store per second are at most what its units take at their utilisation cap.

        Σ_w β·R·kept[t,s,w,0,g] − Σ_{o from g} valid_bytes·rate·prefill[o,s]
        ≤ Σ_k write_bytes_per_s[g,k]·present[k]·(own − reserved)[s,k,t]

    TB/s. A read leaves the copy in place, so that parking again writes only the new tokens, and whole every state
    or window: those are of one length.
    """

    def rule(m: Any, at: TimeKey, site: str, store: str) -> Any:
        row = Terms()
        add_writes(m, index, row, (at, site, store), mean=False)
        limited = _units(m, index, row, (at, site, store), "write_bytes_per_s")
        return row.at_most(0.0) if limited else pyo.Constraint.Skip

    m.store_writes = block_rows(sorted(index.reads), rule=rule)


def store_wear(m: Any, index: Index) -> None:
    """Mean bytes written per day stay within the drive writes per day of the drives that are written to.

        mean writes − worn[t,s,g] ≤ Σ_k write_bytes_per_day[g,k]/86,400 s·present[k]·(own − reserved)[s,k,t]

    TB per second on both sides. ``worn`` exists where worn drives are replaced at their price, and is what is written
    beyond the endurance. A drive that is down or held for others takes no writes for
    those that serve. Memory does not wear and has no such row.
    """

    def rule(m: Any, at: TimeKey, site: str, store: str) -> Any:
        row = Terms()
        add_writes(m, index, row, (at, site, store), mean=True)
        if (at, site, store) in m.worn:
            row.add(-1.0, m.worn[at, site, store])
        limited = _units(m, index, row, (at, site, store), "write_bytes_per_day", 1.0 / SECONDS_PER_DAY)
        return row.at_most(0.0) if limited else pyo.Constraint.Skip

    m.store_wear = block_rows(sorted(index.reads), rule=rule)


def wear_prices(index: Index) -> dict[tuple[TimeKey, str], float]:
    """USD per byte written beyond endurance, by (block, store)."""
    return lookup(index.timed("wear_prices"), ["at", "store"], "usd_per_byte")


def add_variables(m: Any, index: Index) -> None:
    """worn[at, site, store]: TB/s written beyond the endurance of drives, which are replaced; at most what is kept."""
    priced = index.of(wear_prices)

    def bounds(m: Any, at: TimeKey, site: str, store: str) -> tuple[float, float]:
        kept = (k for k in index.kept_by_store.get((at, site, store), []) if k[3] == 0)
        most = sum(_mean_per_peak(index, at, k[2]) * index.kv_bytes[at, k[2]] * index.load_rate[at, k[2]] for k in kept)
        # What moves in is written once more at most, and no less than credited for returns to it.
        times = 3.0 if (at, site, store) in index.of(flows) else 1.0
        return 0.0, times * most / BYTES_PER_UNIT

    m.worn = recourse([key for key in sorted(index.reads) if (key[0], key[2]) in priced], bounds=bounds)


def running(m: Any, index: Index) -> Iterator[Running]:
    """The drives that writes beyond their endurance wear off, at the price of the quarter."""
    price = index.of(wear_prices)
    for at, site, store in m.worn:
        usd = price[at, store] * BYTES_PER_UNIT * SECONDS_PER_QUARTER
        yield Running(at.t, usd, m.worn[at, site, store], at)


PROGRAM = Part((store_reads, peer_reads, reader_limit, store_writes, store_wear), add_variables, running=running)
