"""The packaged scenario library: what kinds of work there are, what they ask for, and where each number comes from."""

from __future__ import annotations

from functools import cache

import pandas as pd

from procure.catalogue.paths import packaged_path


@cache
def scenario_facts() -> pd.DataFrame:
    """Every default of every scenario.

    Columns: scenario, field, low, base, high, unit, kind, source, note. One row per scenario and field.
    """
    return pd.read_csv(packaged_path("data") / "scenarios" / "scenarios.csv", dtype=str, keep_default_na=False)


@cache
def sla_facts() -> pd.DataFrame:
    """What each SLA tier of each scenario asks for.

    Columns: scenario, tier (ok, good, great), quantity (ttft_s, tps_thinking, tps_visible, tps_burst), value, unit,
    kind, source, note. A speed of 0 and a time of ``inf`` mean that nothing is asked.
    """
    table = pd.read_csv(packaged_path("data") / "scenarios" / "sla.csv", dtype=str, keep_default_na=False)
    table["value"] = table["value"].astype(float)
    return table


@cache
def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios, in the order of the library."""
    return tuple(dict.fromkeys(scenario_facts()["scenario"]))
