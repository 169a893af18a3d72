"""Filling the cells that a planner left empty, and keeping a list of what was filled in with what."""

from __future__ import annotations

from collections.abc import Mapping

from procure.case.reader import Cell, Rows
from procure.case.scenarios import LENGTH_COLUMNS, SLA_COLUMNS, input_lengths, scenario_values, service_levels
from procure.case.schema import TABLES
from procure.case.settings import TOKEN_WORTHS, Settings
from procure.catalogue import Catalogue
from procure.sizing import Card

Used = list[str]


def fill(tables: Mapping[str, Rows], settings: Settings, catalogue: Catalogue, cards: Mapping[str, Card]) -> Used:
    """Fill the empty optional cells of every table in place; returns one sentence per table and column filled."""
    used: Used = []
    for name, table in TABLES.items():
        rows = tables[name].rows
        for column in table.columns:
            if column.required or not rows:
                continue
            fact = catalogue.premises.get(("column", f"{name}.{column.name}"))
            for row in rows:
                if row.get(column.name) is None and fact is not None:
                    value = bool(fact.number) if column.kind == "flag" else fact.value
                    _put(used, name, column.name, row, value, column.default)
                row.setdefault(column.name, None)
    for row in tables["workloads"].rows:
        _fill_workload(used, row, settings, cards)
    for row in tables["orders"].rows:
        if row["paid_share"] is None:
            share = catalogue.sku(str(row["sku"])).milestone_order
            _put(used, "orders", "paid_share", row, share, "the class's milestone at order")
    for row in tables["hardware"].rows:
        row["kind"] = row["kind"] or "user"
    return sorted(set(used))


def _put(used: Used, table: str, column: str, row: dict[str, Cell], value: Cell, source: str) -> None:
    row[column] = value
    used.append(f"{table}.{column}: {source}")


def _fill_workload(used: Used, row: dict[str, Cell], settings: Settings, cards: Mapping[str, Card]) -> None:
    scenario = str(row["scenario"])
    values = scenario_values()[scenario]

    def put(column: str, value: Cell, source: str) -> None:
        if row[column] is None:
            _put(used, "workloads", column, row, value, source)

    put("weight_precision", cards[str(row["card"])].native_precision, "the card's native precision")
    for column, quantity in SLA_COLUMNS.items():
        tier = f"scenario {scenario} at {row['sla_tier']}"
        put(column, service_levels()[scenario, str(row["sla_tier"]), quantity], tier)
    stated = {column: float(value) for column in LENGTH_COLUMNS if (value := row[column]) is not None}
    shape = f"scenario {scenario}, scaled by the lengths stated" if stated else f"scenario {scenario}"
    for column, tokens in input_lengths(scenario, stated).items():
        put(column, tokens, shape)
    for column in (
        "context_cap_tokens",
        "output_thinking_tokens",
        "output_visible_tokens",
        "mean_to_peak",
        "shared_prefix_tokens",
        "session_s_per_call",
        "calls_per_task",
        "subtasks",
        "tool_s",
        "burst_tokens",
    ):
        put(column, float(values[column]), f"scenario {scenario}")
    put("reuse_curve", values["reuse_curve"], f"scenario {scenario}")
    put("deferrable", values.get("deferrable", "false") == "true", f"scenario {scenario}")
    put("ttft_share", settings.ttft_share, "case.toml ttft_share")
    put("isl_growth_per_year", settings.isl_growth_per_year, "case.toml isl_growth_per_year")
    put("output_growth_per_year", 0.0, "no growth")
    put("tail_growth_per_year", 0.0, "no growth")
    if settings.growth_route == "cap":
        put("context_cap_growth_per_year", row["isl_growth_per_year"], "that of the input, route cap")
    put("context_cap_growth_per_year", 0.0, "no growth")
    for column in TOKEN_WORTHS:
        put(column, getattr(settings, column), f"case.toml {column}")
