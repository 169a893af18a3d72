"""What the demand says beside rates and lengths: times of tasks, parts of the day, what caps hold back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from procure.demand.notes import sentences
from procure.demand.tables import Bucket, ScenarioRow
from procure.demand.tasks import output_s
from procure.instance.tables import Daypart, DaypartRate, Note, Task

if TYPE_CHECKING:
    from procure.case import Case
    from procure.demand import Demand


def tasks_table(case: Case, demand: Demand) -> pd.DataFrame:
    """Output time of a request at the speeds promised, as outputs grow; phases without a promise take none."""
    first: dict[str, list[Bucket]] = {}
    for bucket in Bucket.rows(demand.buckets.drop_duplicates(["quarter", "workload"])):
        first.setdefault(bucket.workload, []).append(bucket)
    rows = []
    for s in ScenarioRow.rows(demand.scenarios):
        for b in first[s.workload]:
            burst = min(s.burst_tokens, b.visible_tokens)
            phases = (
                (b.thinking_tokens, s.tps_thinking),
                (burst, s.tps_burst),
                (b.visible_tokens - burst, s.tps_visible),
            )
            seconds = sum(float(output_s(tokens, tps)) for tokens, tps in phases if tps > 0)
            calls, tools = np.ceil(s.calls_per_task / s.subtasks), s.tool_s / s.subtasks
            rows.append(Task(case.position[b.quarter], s.workload, seconds, float(calls), float(tools)))
    return Task.frame(sorted(rows, key=lambda row: (row.t, row.workload)))


def _dayparts(demand: Demand) -> pd.DataFrame:
    return demand.dayparts[list(Daypart.columns)]


def _daypart_rates(demand: Demand) -> pd.DataFrame:
    return demand.daypart_rates[list(DaypartRate.columns)]


def _notes(demand: Demand) -> pd.DataFrame:
    return Note.frame(Note(*said) for said in sentences(demand.notes))


TABLES: dict[str, Callable[[Demand], pd.DataFrame]] = {
    "dayparts": _dayparts,
    "daypart_rates": _daypart_rates,
    "notes": _notes,
}
"""The tables of :data:`procure.instance.tables.TABLES` that follow from the demand alone."""
