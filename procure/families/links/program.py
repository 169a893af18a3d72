"""Family 10 in the program: prompts are prefilled at one site and decoded at another, within links between them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.declare import block_rows, recourse
from procure.program.index import Index, Pair, group, lookup
from procure.program.linear import Terms
from procure.program.part import Part
from procure.timekey import TimeKey


def add_variables(m: Any, index: Index) -> None:
    """ship[option, from_site, to_site]: share of the rate of its bucket, prefilled so at one site for another."""
    blocks = {pair.option: pair.at for pair in index.ships}
    m.ship = recourse([pair.key for pair in index.ships], blocks=blocks, bounds=(0, 1))


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

        Σ_o bytes[o]·rate·ship[o,s→s'] / (bandwidth·(1 − share kept)) ≤ 1        for every t, s→s'

    Shares of what the link may carry. A request sends the whole cache of its input: in the formats of its workload, the
    mean of its bucket. A cache is on the link for bytes/bandwidth seconds, during which it takes memory at both ends:
    together at most what the link carries in the time of one cache, which no other row counts.
    """
    usable = lookup(index.timed("links"), ["at", "from_site", "to_site"], "bytes_per_s")

    def rule(m: Any, at: TimeKey, sends: str, receives: str) -> Any:
        row = Terms()
        for pair in index.of(by_link)[at, sends, receives]:
            row.add(pair.bytes * pair.rate / usable[at, sends, receives], m.ship[pair.key])
        return row.at_most(1.0)

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


PROGRAM = Part((shipped_was_prefilled, shipped_within_link), add_variables, tables={"shipments": shipments})
