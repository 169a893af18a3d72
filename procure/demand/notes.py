"""Notes of a demand in sentences: growth and contexts that a cap stops, one sentence per workload and topic."""

from __future__ import annotations

import math

import pandas as pd

from procure.demand.tables import DemandNote


def sentences(notes: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Notes as (workload, topic, sentence): the first and, where it says more, the last quarter that a topic concerns.

    Args:
        notes: as in :class:`procure.demand.Demand`.
    """
    rows = []
    for (workload, topic), part in notes.groupby(["workload", "topic"], sort=False):
        first, last = ((note.quarter, _said(note)) for note in DemandNote.rows(part.iloc[[0, -1]]))
        if first[1] == last[1]:
            spans = [(f" from {first[0]} to {last[0]}" if first != last else _when(first[0]), first[1])]
        else:
            spans = [(_when(quarter), said) for quarter, said in (first, last)]
        rows.append((str(workload), str(topic), " ".join(f"{workload}{when}: {said}" for when, said in spans)))
    return rows


def _when(quarter: object) -> str:
    return f" in {quarter}" if quarter else ""


def _said(row: DemandNote) -> str:
    if math.isnan(row.wanted):
        return f"{row.detail}."
    return f"{row.detail}; {_number(row.got)} instead of {_number(row.wanted)} {row.unit}."


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
