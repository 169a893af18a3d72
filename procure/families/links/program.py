"""Family 10 in the program: prompts are prefilled at one site and decoded at another, within links between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.instance.tables import LinkRow
from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.declare import More, block_rows, first_stage, recourse
from procure.program.index import Index, Pair, group, lookup
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.running import Running
from procure.timekey import TimeKey


def add_variables(m: Any, index: Index) -> None:
    """ship[option, from_site, to_site]: share of the rate of its bucket, prefilled so at one site for another.

    link_rented[from_site, to_site, t], 0 or 1: whether a link that costs a rent is paid for in a quarter.
    """
    blocks = {pair.option: pair.at for pair in index.ships}
    m.ship = recourse([pair.key for pair in index.ships], blocks=blocks, bounds=(0, 1))
    m.link_rented = first_stage(sorted(index.of(rents)), more=More.HELPS, domain=pyo.Binary)


def rents(index: Index) -> dict[tuple[str, str, int], float]:
    """USD a quarter of links that cost a rent and may be used, by (sending site, receiving site, t)."""
    used = {(pair.from_site, pair.to_site, pair.at.t) for pair in index.ships}
    links = {(r.from_site, r.to_site, r.t): r.usd_per_quarter for r in index.instance.rows(LinkRow)}
    return {key: usd for key, usd in links.items() if usd > 0 and key in used}


def running(m: Any, index: Index) -> Iterator[Running]:
    """Rent of the links that are used."""
    for (sends, receives, t), usd in index.of(rents).items():
        yield Running(t, usd, m.link_rented[sends, receives, t])


def shipped_was_prefilled(m: Any, index: Index) -> None:
    """What a site sends was prefilled there, in full, in the way that sends it.

        Σ_{s'} ship[o,s→s'] ≤ prefill[o,s]        for every o, s

    Shares of the bucket's rate. The work is that of ``prefill[o,s]``, whoever decodes. A return whose cache is kept is
    prefilled and decoded where it lies: only what is computed in full is sent.
    """
    sent = group(index.ships, lambda pair: (pair.at, pair.option, pair.from_site))

    def rule(m: Any, at: TimeKey, option: str, site: str) -> Any:
        row = Terms()
        row.extend(1.0, (m.ship[pair.key] for pair in sent[at, option, site]))
        row.add(-1.0, m.prefill[option, site])
        return row.at_most(0.0)

    m.shipped_was_prefilled = block_rows(sorted(sent), rule=rule)


def by_link(index: Index) -> dict[tuple[TimeKey, str, str], list[Pair]]:
    """What may be sent over each link, by (block, sending site, receiving site)."""
    return group(index.ships, lambda pair: (pair.at, pair.from_site, pair.to_site))


def shipped_within_link(m: Any, index: Index) -> None:
    """Bytes sent over a link per second are at most its bandwidth less the share kept for other traffic.

        Σ_o bytes[o]·rate·ship[o,s→s'] / (bandwidth·(1 − share kept)) ≤ link_rented[s→s',t]        for every t, s→s'

    Shares of what the link may carry; ``link_rented`` is 1 for a link without rent. A request sends the whole cache of
    its input, in the formats of its workload, the mean of its bucket. A cache is on the link for bytes/bandwidth
    seconds, during which it takes memory at both ends: together at most what the link carries in the time of one cache,
    which no other row counts.
    """
    usable = lookup(index.timed("links"), ["at", "from_site", "to_site"], "bytes_per_s")

    def rule(m: Any, at: TimeKey, sends: str, receives: str) -> Any:
        row = Terms()
        for pair in index.of(by_link)[at, sends, receives]:
            row.add(pair.bytes * pair.rate / usable[at, sends, receives], m.ship[pair.key])
        if (sends, receives, at.t) not in m.link_rented:
            return row.at_most(1.0)
        row.add(-1.0, m.link_rented[sends, receives, at.t])
        return row.at_most(0.0)

    m.shipped_within_link = block_rows(sorted(index.of(by_link)), rule=rule)


def shipments(d: Decided) -> pd.DataFrame:
    """What is prefilled at one site and decoded at another."""
    rows = []
    for pair in d.index.ships:
        share = d.value(d.m.ship[pair.key])
        if share > TINY:
            rate = share * pair.rate
            rows.append(
                (d.names[pair.at.t], pair.from_site, pair.to_site, pair.workload, pair.bucket, pair.sku, rate,
                 rate * pair.bytes, pair.transfer_s, *pair.at.beside)
            )  # fmt: skip
    return frame("shipments", rows)


def link_rents(d: Decided) -> pd.DataFrame:
    """Links that are paid for."""
    rows = [
        (d.names[t], sends, receives, usd)
        for (sends, receives, t), usd in d.index.of(rents).items()
        if d.value(d.m.link_rented[sends, receives, t]) > TINY
    ]
    return frame("link_rents", rows)


PROGRAM = Part(
    (shipped_was_prefilled, shipped_within_link),
    add_variables,
    running=running,
    tables={"shipments": shipments, "link_rents": link_rents},
)
