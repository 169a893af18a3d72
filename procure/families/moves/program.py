"""Family 7c in the program: copies that move down between stores as they age."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd

from procure.plan.plan import frame
from procure.program.decided import TINY, Decided
from procure.program.declare import block_rows, recourse
from procure.program.index import Index
from procure.program.linear import Terms
from procure.program.moves import flows, into, moved, moves
from procure.program.part import Part
from procure.timekey import TimeKey


def add_variables(m: Any, index: Index) -> None:
    """Shares of the workload's rate; recourse.

    move[at, site, workload, i, g, h] leaves store g for h at the start of age interval i; moved[at, site, workload, i,
    h] came to h from another store and stays through interval i.
    """
    m.move = recourse(index.of(moves), bounds=(0, 1))
    m.moved = recourse(index.of(moved), bounds=(0, 1))


def moved_only_falls(m: Any, index: Index) -> None:
    """What stays in a store after moves was there before or came at the start of the interval.

        moved[i,h] ≤ moved[i−1,h] + Σ_g move[i,g→h]

    Shares of the workload's rate. A copy moves once; it is dropped by staying no longer. What leaves g is taken from
    ``kept`` there (``kept_only_falls`` of retention).
    """

    def rule(m: Any, at: TimeKey, site: str, workload: str, interval: int, store: str) -> Any:
        row = Terms()
        row.add(1.0, m.moved[at, site, workload, interval, store])
        if interval > 1:
            row.add(-1.0, m.moved[at, site, workload, interval - 1, store])
        row.extend(-1.0, (m.move[key] for key in index.of(into)[at, site, workload, interval, store]))
        return row.at_most(0.0)

    m.moved_only_falls = block_rows(index.of(moved), rule=rule)


def cache_moves(d: Decided) -> pd.DataFrame:
    """Copies that move, with the bytes that leave one store and come to the other."""
    traffic: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for rows in d.index.of(flows).values():
        for flow in rows:
            if flow.decision == "move":
                traffic[flow.key][0] += flow.read_bytes_per_s
                traffic[flow.key][1] += flow.write_bytes_per_s
    made = []
    for key in d.index.of(moves):
        share = d.value(d.m.move[key])
        if share > TINY:
            at, site, w, interval, source, target = key
            read, write = traffic[key]
            made.append(
                (d.names[at.t], site, w, source, target, interval, d.index.ages[at, w][interval - 1].age_to_s,
                 share * d.index.load_rate[at, w], share * read, share * write, *at.beside)
            )  # fmt: skip
    return frame("cache_moves", made)


def moved_retention(d: Decided) -> pd.DataFrame:
    """Cohorts of caches that came from another store, by age."""
    rows = []
    for at, site, w, interval, store in d.index.of(moved):
        share = d.value(d.m.moved[at, site, w, interval, store])
        if share > TINY:
            rows.append((d.names[at.t], site, w, store, interval, share * d.index.load_rate[at, w], *at.beside))
    return frame("moved_retention", rows)


PROGRAM = Part(
    (moved_only_falls,), add_variables, tables={"cache_moves": cache_moves, "moved_retention": moved_retention}
)
