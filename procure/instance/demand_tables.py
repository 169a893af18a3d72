"""What the demand says beside rates and lengths: times of tasks, parts of the day, what caps hold back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from procure.demand.notes import sentences
from procure.demand.tasks import output_s
from procure.instance.instance import SCHEMA, table

if TYPE_CHECKING:
    from procure.case import Case
    from procure.demand import Demand


def demand_tables(case: Case, demand: Demand) -> dict[str, pd.DataFrame]:
    """The tables ``tasks``, ``dayparts``, ``daypart_rates`` and ``notes``."""
    return {
        "tasks": _tasks(case, demand),
        "dayparts": demand.dayparts[list(SCHEMA["dayparts"])],
        "daypart_rates": demand.daypart_rates[list(SCHEMA["daypart_rates"])],
        "notes": table("notes", sentences(demand.notes)),
    }


def _tasks(case: Case, demand: Demand) -> pd.DataFrame:
    """Output time of a request at the speeds promised, as outputs grow; phases without a promise take none."""
    position = {str(q): t for t, q in enumerate(case.quarters)}
    first = demand.buckets.drop_duplicates(["quarter", "workload"]).set_index("workload")
    rows = []
    for s in demand.scenarios.itertuples():
        for b in first.loc[[s.workload]].itertuples():
            burst = min(s.burst_tokens, b.visible_tokens)
            phases = (
                (b.thinking_tokens, s.tps_thinking),
                (burst, s.tps_burst),
                (b.visible_tokens - burst, s.tps_visible),
            )
            seconds = sum(float(output_s(tokens, tps)) for tokens, tps in phases if tps > 0)
            calls, tools = np.ceil(s.calls_per_task / s.subtasks), s.tool_s / s.subtasks
            rows.append((position[b.quarter], s.workload, seconds, float(calls), float(tools)))
    return table("tasks", sorted(rows))
