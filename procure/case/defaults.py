"""The one place that fills what a planner left empty; it keeps what was filled in with what, and which premises did it.

Nothing below the case reads a default: demand and instances take filled workloads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, fsum, log

from procure.case.days import mean_to_peak, own_days
from procure.case.rows import Cell, Rows
from procure.case.schema import TABLES
from procure.case.settings import TOKEN_WORTHS, Settings
from procure.catalogue import Catalogue
from procure.quarter import Quarter
from procure.rules.payments import paid_share
from procure.schema import Evidence, Instrument
from procure.sizing import Card

LENGTH_COLUMNS = ("input_mean_tokens", "input_p50_tokens", "input_p90_tokens", "input_p99_tokens")
"""Columns of ``workloads`` that state a distribution of input lengths between them."""

SLA_COLUMNS = {
    "ttft_s": "ttft_s",
    "tps_user": "tps_visible",
    "tps_thinking": "tps_thinking",
    "tps_burst": "tps_burst",
}
"""Column of ``workloads`` and the quantity of a service level that fills it; 0 where the level has none."""

SCENARIO_COLUMNS = (
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
    "reuse_curve",
    "deferrable",
)
"""Columns of ``workloads`` that the field of the scenario of the same name fills."""

SETTING_COLUMNS = ("ttft_share", "isl_growth_per_year", "resilience", "cache_loss", *TOKEN_WORTHS)
"""Columns of ``workloads`` that the setting of the same name fills."""


@dataclass
class Filled:
    """What was filled in.

    Attributes:
        sentences: one for each setting, or table and column: what it took its value from.
        cells: by table and line of its file, the columns filled and the path of the premise that filled each.
    """

    sentences: set[str] = field(default_factory=set)
    cells: dict[tuple[str, int], dict[str, tuple[str, ...]]] = field(default_factory=dict)

    def note(self, table: str, line: int, column: str, source: str, *paths: str) -> None:
        """A cell was filled from a source, by premises."""
        self.sentences.add(f"{table}.{column}: {source}")
        self.cells.setdefault((table, line), {})[column] = paths


def fill(tables: Mapping[str, Rows], settings: Settings, catalogue: Catalogue, cards: Mapping[str, Card]) -> Filled:
    """Fill the empty optional cells of every table in place."""
    filled = Filled()
    _rent(tables["rent"], catalogue, filled)
    _reservations(tables, catalogue, filled)
    for name, table in TABLES.items():
        rows = tables[name]
        for column in table.columns:
            if column.required:
                continue
            path = f"column/{name}.{column.name}"
            fact = catalogue.premises.get(path)
            for line, row in rows.numbered:
                if row.get(column.name) is None and fact is not None:
                    row[column.name] = bool(fact.number) if column.kind == "flag" else fact.value
                    filled.note(name, line, column.name, column.default, path)
                row.setdefault(column.name, None)
    workloads, days = tables["workloads"], own_days(tables["day_shapes"].rows)
    for line, row in workloads.numbered:
        _Workload(line, row, settings, catalogue, filled).fill(cards, days)
    orders = tables["orders"]
    for line, row in orders.numbered:
        if row["paid_share"] is None:
            row["paid_share"] = paid_share(1.0, 0.0, 0.0, catalogue.sku(str(row["sku"])))
            filled.note("orders", line, "paid_share", "the class's milestone at order")
    for row in tables["hardware"].rows:
        row["kind"] = row["kind"] or Evidence.USER.value
    return filled


def rent_price(row: Mapping[str, Cell], quantity: str) -> str:
    """The path of a figure of the packaged price that an offer of rent names."""
    return f"rent_price/{row['sku']}/{row['market_price']}/{quantity}"


def _rent(rows: Rows, catalogue: Catalogue, filled: Filled) -> None:
    """Price and minimum term of the offers that name a packaged price."""
    for line, row in rows.numbered:
        if row.get("market_price") is None:
            continue
        for column in ("usd_per_gpu_hour", "min_term_quarters"):
            path = rent_price(row, column)
            if row.get(column) is None:
                number = catalogue.premise(path).number
                row[column] = int(number) if column == "min_term_quarters" else number
                filled.note("rent", line, column, f"the packaged price {row['market_price']} of {row['sku']}", path)


HOLD_FEE = "reservation/firm_hold/usd_per_kw_month"
"""Premise: the fee of a firm hold where a case states none."""


def _reservations(tables: Mapping[str, Rows], catalogue: Catalogue, filled: Filled) -> None:
    """What reservations cost by kW, how many steps they keep, and which ones a plan counts on."""
    rents: dict[Cell, Cell] = {}
    for row in sorted(tables["sites"].rows, key=lambda row: Quarter(str(row["from_quarter"]))):
        rents.setdefault(row["site"], row["space_usd_per_kw_month"])
    steps = {(row["site"], row["expansion"]): row["max_count"] for row in tables["expansions"].rows}
    for line, row in tables["reservations"].numbered:
        kind = row["instrument"]
        if row.get("counted_on") is None:
            row["counted_on"] = kind != Instrument.FIRST_OFFER
            filled.note("reservations", line, "counted_on", "a first offer is not firm, others are")
        if row.get("most_steps") is None:
            row["most_steps"] = steps.get((row["site"], row["expansion"]), 1)
            filled.note("reservations", line, "most_steps", "max_count of the step")
        if row.get("usd_per_kw_month") is not None or row.get("usd_per_step_month") is not None:
            continue
        if kind == Instrument.FIRM_HOLD:
            row["usd_per_kw_month"] = catalogue.premise(HOLD_FEE).number
            filled.note("reservations", line, "usd_per_kw_month", "the packaged fee of a firm hold", HOLD_FEE)
        elif kind == Instrument.EARLY_RENT:
            row["usd_per_kw_month"] = rents[row["site"]]
            filled.note("reservations", line, "usd_per_kw_month", "the site's rent")


def input_lengths(base: Mapping[str, float], stated: Mapping[str, float]) -> dict[str, float]:
    """Mean, p50, p90 and p99 of a workload's input in tokens: what it states, the rest in its scenario's shape.

    What is not stated is the scenario's figure times the geometric mean of stated over scenario's figure, over all
    that is stated: a doubled mean doubles the quantiles, doubled quantiles double the mean.

    Args:
        base: the scenario's tokens by :data:`LENGTH_COLUMNS`.
        stated: tokens, above 0, by those of them that the workload states.
    """
    ratios = [log(tokens / base[column]) for column, tokens in stated.items()]
    ratio = exp(fsum(ratios) / len(ratios)) if ratios else 1.0
    return {column: stated.get(column, base[column] * ratio) for column in LENGTH_COLUMNS}


@dataclass(frozen=True)
class _Workload:
    """One row of ``workloads`` and what fills it."""

    line: int
    row: dict[str, Cell]
    settings: Settings
    catalogue: Catalogue
    filled: Filled

    def put(self, column: str, value: Cell, source: str, *paths: str) -> None:
        if self.row[column] is None:
            self.row[column] = value
            self.filled.note("workloads", self.line, column, source, *paths)

    def fill(self, cards: Mapping[str, Card], days: Mapping[str, tuple[float, ...]]) -> None:
        """Fill the row from its card, scenario and tier, the case's own days and its settings."""
        row, premises = self.row, self.catalogue.premises
        scenario, tier = str(row["scenario"]), str(row["sla_tier"])
        self.put("weight_precision", cards[str(row["card"])].native_precision, "the card's native precision")
        for column, quantity in SLA_COLUMNS.items():
            path = f"sla/{scenario}/{tier}/{quantity}"
            if path in premises:
                self.put(column, premises[path].number, f"scenario {scenario} at {tier}", path)
            else:
                self.put(column, 0.0, "none asked at this tier")
        self._lengths(scenario)
        self.put("day_shape", scenario, "the scenario's day")
        self.put("clock_shift_hours", 0, "no shift")
        if (day := days.get(str(row["day_shape"]))) is not None:
            self.put("mean_to_peak", mean_to_peak(day), "its day in day_shapes.csv")
        for column in SCENARIO_COLUMNS:
            path = f"scenario/{scenario}/{column}"
            fact = premises[path]
            value = bool(fact.number) if column == "deferrable" else fact.value
            self.put(column, value, f"scenario {scenario}", path)
        for column in SETTING_COLUMNS:
            self.put(column, getattr(self.settings, column), f"case.toml {column}", f"case/{column}")
        self.put("output_growth_per_year", 0.0, "no growth")
        self.put("tail_growth_per_year", 0.0, "no growth")
        if self.settings.growth_route == "cap":
            self.put("context_cap_growth_per_year", row["isl_growth_per_year"], "that of the input, route cap")
        self.put("context_cap_growth_per_year", 0.0, "no growth")

    def _lengths(self, scenario: str) -> None:
        paths = {column: f"scenario/{scenario}/{column}" for column in LENGTH_COLUMNS}
        base = {column: self.catalogue.premises[path].number for column, path in paths.items()}
        stated = {column: float(value) for column in LENGTH_COLUMNS if (value := self.row[column]) is not None}
        shape = f"scenario {scenario}, scaled by the lengths stated" if stated else f"scenario {scenario}"
        for column, tokens in input_lengths(base, stated).items():
            self.put(column, tokens, shape, *(paths[name] for name in (column, *stated)))
