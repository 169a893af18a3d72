"""Workloads of a case as demand uses them: the speeds of each phase beside what the case filled in.

What a row of ``workloads`` leaves empty was filled in by the case (:mod:`procure.case.defaults`), and only there.
"""

from __future__ import annotations

import pandas as pd

from procure.case.defaults import LENGTH_COLUMNS

_SAME = (
    "workload",
    "scenario",
    "card",
    "sla_tier",
    *LENGTH_COLUMNS,
    "output_thinking_tokens",
    "output_visible_tokens",
    "calls_per_task",
    "tool_s",
    "subtasks",
    "mean_to_peak",
    "shared_prefix_tokens",
    "session_s_per_call",
    "context_cap_tokens",
    "burst_tokens",
    "ttft_s",
    "ttft_share",
    "tps_thinking",
    "reuse_curve",
    "deferrable",
)


def scenarios_of(workloads: pd.DataFrame) -> pd.DataFrame:
    """One row per workload with the speed of each phase of its output.

    ``tps_user`` of a workload is the speed of its visible output, ``tps_thinking`` that of the thinking before it; a
    burst has its own.

    Args:
        workloads: the case's table, defaults filled in.

    Returns:
        columns: workload, scenario, card, sla_tier; mean and quantiles of input, outputs and burst_tokens in tokens
        per request; calls_per_task, subtasks, tool_s (per task); mean_to_peak, shared_prefix_tokens,
        session_s_per_call, context_cap_tokens; ttft_s (``inf``: none asked), ttft_share; tps_thinking, tps_visible,
        tps_burst (0 without burst), tps_user (the fastest phase that has tokens); reuse_curve, deferrable.
    """
    table = workloads[list(_SAME)].copy()
    table["deferrable"] = table["deferrable"].astype(bool)
    table["tps_visible"] = workloads["tps_user"].astype(float)
    table["tps_burst"] = workloads["tps_burst"].astype(float).where(workloads["burst_tokens"] > 0, 0.0)
    thinking = table["tps_thinking"].where(table["output_thinking_tokens"] > 0, 0.0)
    table["tps_user"] = pd.concat([table["tps_visible"], table["tps_burst"], thinking], axis=1).max(axis=1)
    return table.reset_index(drop=True)
