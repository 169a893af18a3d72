"""Notes of a demand in sentences: growth and contexts that a cap stops, one sentence per workload and topic."""

from __future__ import annotations

import pandas as pd


def sentences(notes: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Notes as (workload, topic, sentence): the first and, where it says more, the last quarter that a topic concerns.

    Args:
        notes: as in :class:`procure.demand.Demand`.
    """
    rows = []
    for (workload, topic), part in notes.groupby(["workload", "topic"], sort=False):
        told = dict.fromkeys(_sentence(row) for row in part.iloc[[0, -1]].itertuples())
        rows.append((str(workload), str(topic), " ".join(told)))
    return rows


def _sentence(row: object) -> str:
    names = ("workload", "quarter", "wanted", "got", "unit", "detail")
    workload, quarter, wanted, got, unit, detail = (getattr(row, name) for name in names)
    said = f"{workload}{f' in {quarter}' if quarter else ''}: {detail}"
    return f"{said}." if pd.isna(wanted) else f"{said}; {_number(got)} instead of {_number(wanted)} {unit}."


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
