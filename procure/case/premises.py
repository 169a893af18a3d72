"""The premises of a case by their paths: what each may be, what stands now, and which of them a plan rests on.

A path is the same in the ``premises`` table of a case, in :meth:`procure.case.Case.with_value`, in sweeps and in the
premises table of a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import pandas as pd

from procure.case.defaults import LENGTH_COLUMNS, SETTING_COLUMNS, SLA_COLUMNS
from procure.case.reader import shown, type_cell
from procure.case.resolved import Resolved
from procure.case.rows import Rows
from procure.case.schema import TABLES
from procure.case.settings import COMPUTED, Settings, problem, typed
from procure.catalogue import Fact, Packaged, Sku
from procure.catalogue.fact import TEXT_UNITS
from procure.catalogue.overlay import hardware_key
from procure.catalogue.packaged import LEVELS
from procure.catalogue.sku import INFORMATIVE, READ
from procure.errors import InputError
from procure.schema import Column, Evidence, SkuKind, Tier
from procure.sizing import kv_format

UNLIMITED = ("liquid_kw", "ports", "ttft_s")
"""Columns whose default may be infinite: no limit, no target."""

STATED = ("workloads", "sites", "reuse", "throughput")
"""Tables of a case whose cells are premises: how work and sites are. The others say what is asked, owned and paid."""

NO_FIGURE = ("card", "scenario", "low", "high", "date", "source", "techniques")
"""Columns that name what is asked for, or tell of the figure in another column of their row."""


def allowed(tables: Mapping[str, Rows], packaged: Packaged) -> Callable[[str, Fact], str | None]:
    """What the value of a premise that fills a setting or a cell must be: as a function of path and fact.

    It answers with what is expected, "" for a value that fits, None for premises of which their unit decides.
    """
    curves = (*packaged.curves, *{str(row["curve"]) for row in tables["reuse"].rows if row.get("curve")})

    def expected(path: str, fact: Fact) -> str | None:
        group, _, name = path.partition("/")
        if group == "case":
            return problem(name, typed(name, fact.value))
        if group == "reuse" and fact.unit in TEXT_UNITS:
            return "" if fact.value in LEVELS else f"One of {', '.join(LEVELS)}: a packaged shape of the curve."
        column = _filled_column(path)
        if column is None:
            return None
        if column.name == "reuse_curve":
            return "" if fact.value in curves else f"One of {', '.join(sorted(curves))}."
        if column.name == "kv_format":
            return _kv_problem(str(fact.value))
        if fact.value == float("inf"):
            return "" if column.name in UNLIMITED else "A finite number."
        if column.kind == "flag":
            return "" if fact.value in (0.0, 1.0) else "1 for yes, 0 for no."
        return type_cell(column, shown(fact.value))[1]

    return expected


def _filled_column(path: str) -> Column | None:
    """The column that a premise fills, None for one that fills no cell."""
    group, _, name = path.partition("/")
    if group == "column":
        table, _, column = name.partition(".")
        return TABLES[table].by_column[column]
    quantity = path.rpartition("/")[2]
    workloads = TABLES["workloads"].by_column
    if group == "sla":
        return next((workloads[column] for column, filled_by in SLA_COLUMNS.items() if filled_by == quantity), None)
    return workloads[quantity] if group == "scenario" else None


def _kv_problem(text: str) -> str:
    try:
        kv_format(text)
    except InputError as error:
        return " ".join(f"{fault.expected} {fault.hint}" for fault in error.faults)
    return ""


def all_premises(case: Resolved) -> dict[str, Fact]:
    """Every premise by its path: packaged ones, under what the case states of itself."""
    found = {f"hardware/{sku}/{a}": f for (sku, a), f in case.catalogue.facts.items() if a not in INFORMATIVE}
    found |= case.catalogue.premises
    for name in Settings.model_fields:
        if name in case.given and name not in ("name", "description"):
            found[f"case/{name}"] = _stated_setting(case, name)
    every = {name: range(len(case.tables[name])) for name in STATED}
    return found | _cells(case, lambda table, at, column: True, every)


def _stated_setting(case: Resolved, name: str) -> Fact:
    """A setting of ``case.toml``; the packaged band stays where it holds the value."""
    value = getattr(case.settings, name)
    text = " ".join(value) if isinstance(value, list) else value
    number = float(value) if isinstance(value, int | float) else text
    packaged = case.catalogue.premises.get(f"case/{name}")
    band: tuple[Any, Any] = (None, None)
    if packaged is not None and isinstance(number, float) and packaged.low is not None and packaged.high is not None:
        inside = float(packaged.low) <= number <= float(packaged.high)
        band = (packaged.low, packaged.high) if inside else band
    unit = "" if packaged is None else packaged.unit
    return Fact(number, unit, *band, Evidence.USER, "case.toml", "", "stated by the case")


Reads = Callable[[str, int, str], bool]


def _cells(case: Resolved, reads: Reads, rows: Mapping[str, range]) -> dict[str, Fact]:
    """Cells of the tables in :data:`STATED` that the case states itself, each by ``table/key/column``.

    The key is the first column's where all rows that share it say the same, else all of the row's.

    Args:
        case: the case.
        reads: whether a cell, by table, position and column, counts.
        rows: positions of the rows of each table.
    """
    found: dict[str, Fact] = {}
    for name, positions in rows.items():
        table, frame, said = TABLES[name], case.tables[name], case.stated_rows(name).rows
        for column in table.columns:
            if column.name in (*table.key, *NO_FIGURE):
                continue
            stated = [i for i in positions if said[i].get(column.name) is not None and reads(name, i, column.name)]
            values: dict[str, set[Any]] = {}
            for i in stated:
                values.setdefault(shown(frame[table.key[0]].iloc[i]), set()).add(frame[column.name].iloc[i])
            for i in stated:
                first = shown(frame[table.key[0]].iloc[i])
                whole = "/".join(shown(frame[part].iloc[i]) for part in table.key)
                key = first if len(values[first]) == 1 and name != "throughput" else whole
                found[f"{name}/{key}/{column.name}"] = _cell(name, column, frame.iloc[i])
    return found


def _cell(table: str, column: Column, row: pd.Series) -> Fact:
    """One stated cell as a premise, with the band and the source that its own table may give."""
    value = row[column.name]
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else shown(value)
    source, note = f"{table}.csv", "stated by the case"
    band: tuple[float | None, float | None] = (None, None)
    if table == "throughput":
        source = f"throughput.csv: {row['source']}"
        if column.name == "tokens_per_s_per_gpu":
            note += f", over {'all' if row['all_gpus'] else 'decode'} GPUs"
            low, high = (None if pd.isna(row[end]) else float(value) * float(row[end]) for end in ("low", "high"))
            band = (low, high)
    if table == "reuse":
        note += f"; ages count from {'completion' if row['clock'] == 'idle' else 'the start of requests'}"
    return Fact(number, column.unit or column.kind, *band, Evidence.USER, source, str(row.get("date") or ""), note)


def used_premises(case: Resolved, premises: Mapping[str, Fact]) -> list[str]:
    """Paths of the premises that a plan of the case rests on, in order of the alphabet.

    Of the packaged data those that filled a cell or a setting, figures of the SKUs in play, curves that workloads
    name; of the case its own statements. What nothing in this case reads is left out: a test sweeps all others and
    sees a coefficient move.
    """
    inert = _inert_columns(case)
    paths = {f"case/{name}" for name in set(Settings.model_fields) - _inert_settings(case)}
    for (table, line), columns in case.filled.cells.items():
        dead = inert(table, case.stated_rows(table).lines.index(line))
        paths |= {path for column, by in columns.items() if column not in dead for path in by}
    rows = {name: range(len(case.tables[name])) for name in STATED}
    paths |= set(_cells(case, lambda table, at, column: column not in inert(table, at), rows))
    paths |= hardware_used(case) | _reuse(case)
    paths |= {path for path in case.catalogue.premises if _read(case, path)}
    if case.settings.tps_percentile != 50:
        paths.add(f"performance/tps_p{case.settings.tps_percentile:g}_over_median")
    return sorted(path for path in paths if path in premises)


def _read(case: Resolved, path: str) -> bool:
    """Whether coefficients of this case rest on a premise of performance or of routing."""
    group, _, name = path.partition("/")
    pool = name.partition("/")[0].partition("+")[0]
    if group == "band" and name.endswith("_high"):
        return case.settings.points == "high" and (not name.startswith("sparse_") or _indexed(case))
    if path in ("band/sparse_low", "physics/index_s"):
        return _indexed(case)
    if path == "physics/server_latency_factor":
        return any(case.catalogue.sku(sku).in_servers for sku in case.skus_in_play)
    if group in ("physics", "queue", "software", "band"):
        pace = case.settings.vintage
        idle = (pace != "fast" and name.startswith("fast_")) or (pace == "none" and name.startswith(("base_", "path_")))
        return name not in PLANS_DO_NOT_READ and not (group == "software" and idle)
    if group == "plain_routing":
        return case.settings.routing == "plain"
    if group == "bring_up":
        heirs = {other for other in case.skus_in_play if f"bring_up/{other}" in case.catalogue.premises}
        followed = {str(case.catalogue.premises[f"bring_up/{heir}"].value) for heir in heirs}
        return pool in {*case.skus_in_play, *followed} and "/" in name
    if group == "curve":
        card = [*name.split("/"), ""][1]
        return pool in case.skus_in_play and card in {known.name for known in case.cards.values()}
    return group == "lpx" and any(case.catalogue.sku(sku).kind is SkuKind.LPX for sku in case.skus_in_play)


def _indexed(case: Resolved) -> bool:
    """Whether a card of the case chooses what it attends to by an index."""
    return any(card.indexed_layers for card in case.cards.values())


PLANS_DO_NOT_READ = ("latency_per_month", "early_spread_per_month", "gather_efficiency", "reference_month")
"""Premises of performance that only fits and pictures of older software read."""


def _inert_settings(case: Resolved) -> set[str]:
    """Settings that no coefficient of this case reads; those that workloads state themselves are among them."""
    inert = {"name", "description"}
    growth = case.tables["workloads"][["isl_growth_per_year", "context_cap_growth_per_year", "tail_growth_per_year"]]
    if (growth == 0).all(axis=None):
        inert.add("growth_route")
    kinds = {case.catalogue.sku(name).kind for name in case.skus_in_play}
    s = case.settings
    shared = [tier for tier, home in ((Tier.DRAM, s.dram_home), (Tier.SSD, s.ssd_home)) if home in ("pod", "site")]
    inert |= {f"peer_{tier}_bytes_per_s_per_gpu" for tier in (Tier.DRAM, Tier.SSD) if tier not in shared}
    if "tray" not in (s.hbm_home, s.dram_home, s.ssd_home):
        inert.add("gpus_per_tray")
    if SkuKind.CMX_ENCLOSURE not in kinds:
        inert |= {"pod_return_share"} | (set() if shared else {"shared_store_fidelity"})
    if s.placement_tolerance == 0:
        inert.add("placement_tolerance")
    if s.flash_wear != "replace":
        inert.add("flash_rated_years")
    if not any(case.catalogue.sku(name).power_maxq_kw > 0 for name in case.skus_in_play):
        inert.add("power_modes")
    filled = {path for columns in case.filled.cells.values() for paths in columns.values() for path in paths}
    return inert | {name for name in SETTING_COLUMNS if f"case/{name}" not in filled}


def _inert_columns(case: Resolved) -> Callable[[str, int], set[str]]:
    """As a function of table and row: columns that nothing reads in that row."""
    histograms = set(case.tables["lengths"]["workload"])
    sessions = set(case.tables["forecast"].loc[case.tables["forecast"]["open_sessions"].notna(), "workload"])
    curves, days = set(case.tables["workloads"]["reuse_curve"]), set(case.tables["day_shapes"]["shape"])
    cards = {card.name for card in case.cards.values()}
    loads = case.tables["workloads"]
    precisions = {(case.cards[c].name, p) for c, p in zip(loads["card"], loads["weight_precision"], strict=True)}
    in_play = set(case.skus_in_play)

    def workload(row: Any) -> set[str]:
        dead = set(LENGTH_COLUMNS[1:]) if row["workload"] in histograms else set()
        dead |= set() if row["workload"] in sessions else {"session_s_per_call"}
        dead |= set() if row["output_thinking_tokens"] > 0 else {"tps_thinking"}
        dead |= set() if row["burst_tokens"] > 0 else {"tps_burst"}
        if row["deferrable"]:  # when it runs is decided
            dead |= {"clock_shift_hours"} | (set() if row["day_shape"] in days else {"day_shape"})
        return dead | (set() if row["calls_per_task"] > 1 or row["tool_s"] > 0 else {"subtasks"})

    def own_point(row: Any) -> set[str]:
        known = row["sku"] in in_play and row["card"] in cards and (row["card"], row["weight_precision"]) in precisions
        return set() if known else {"tokens_per_s_per_gpu", "prefill_tokens_per_s_per_gpu"}

    def dead(table: str, at: int) -> set[str]:
        row = case.tables[table].iloc[at]
        if table == "workloads":
            return workload(row)
        if table == "throughput":
            return own_point(row)
        return set() if table != "reuse" or row["curve"] in curves else set(TABLES["reuse"].by_column)

    return dead


DRIVES = ("store_bytes", "store_read_bytes_per_s", "store_write_bytes_per_s", "endurance_dwpd")
"""What is read of a kit that is like the drives inside the price of its host."""

WORTH = ("life_years", "haircut")
"""What is read of the classes of what is bought beside units: how it loses its worth."""

PRICE = frozenset({"price_usd", "price_flash_share"})
"""The price of a SKU and the share of it that is flash; drives inside a host have one where worn ones are replaced."""


def hardware_used(case: Resolved) -> set[str]:
    """Paths of the figures that are read: of SKUs in play, of their classes, paths of their prices, drives in them."""
    catalogue, facts = case.catalogue, case.catalogue.facts
    paths: set[str] = set()
    if any(catalogue.sku(name).attach_usd > 0 for name in case.settings.may_buy):
        paths |= {f"hardware/network/{attribute}" for attribute in WORTH}
    if len(case.tables["expansions"]):
        paths |= {f"hardware/facility/{attribute}" for attribute in WORTH}
    for name in case.skus_in_play:
        sku = catalogue.sku(name)
        for attribute in READ - _inert_attributes(case, name):
            own = (name, attribute) if (name, attribute) in facts else (sku.depreciation_class, attribute)
            paths.add("/".join(("hardware", *own)))
        paths |= {f"hardware/{path}/{at}" for path, at in catalogue.indices(name, case.quarters)}
        like = catalogue.included_drives(sku) if sku.kind is SkuKind.GPU else None
        if like is not None:
            paths |= {f"hardware/{like.name}/{attribute}" for attribute in DRIVES}
            if case.settings.flash_wear == "replace":
                priced = PRICE - _inert_price(case, like)
                paths |= {f"hardware/{like.name}/{attribute}" for attribute in priced}
                paths |= {f"hardware/{path}/{at}" for path, at in catalogue.indices(like.name, case.quarters)}
    return {path for path in paths if (key := hardware_key(path)) is not None and key in facts}


def _inert_attributes(case: Resolved, name: str) -> set[str]:
    """Figures of a SKU in play that nothing reads in this case."""
    sku, play = case.catalogue.sku(name), case.skus_in_play
    inert: set[str] = set()
    if sku.kind is SkuKind.GPU and not case.catalogue.is_stated(sku, "power_typical_kw"):
        inert.add("power_typical_kw")  # measured shares of the nameplate stand instead
    if name not in case.settings.may_buy:
        inert |= {"available_from", "last_order", "footprint_m2", "weight_kg"}
    if case.settings.availability != COMPUTED:
        inert |= {"failures_per_year", "repair_hours"}
    if sku.footprint_m2 <= 0:
        inert |= {"footprint_m2", "weight_kg"}
    if sku.cmx_read_bytes_per_s <= 0:
        inert.add("cmx_read_bytes_per_s")
    if case.settings.power_modes == "max_p":
        inert |= {"power_maxq_kw", "maxq_throughput_factor"}
    if not any(case.catalogue.sku(other).kind is SkuKind.LPX for other in play) or sku.pod_slots <= 0:
        inert.add("pairs_with_lpx")
    return inert | _inert_price(case, sku)


def _inert_price(case: Resolved, sku: Sku) -> frozenset[str]:
    """Of the price of a SKU what nothing reads, since the case states that of every quarter itself."""
    if not all((sku.name, str(quarter)) in case.catalogue.prices for quarter in case.quarters):
        return frozenset()
    replaced = case.settings.flash_wear == "replace" and sku.kind in (SkuKind.SSD_KIT, SkuKind.CMX_ENCLOSURE)
    return PRICE - {"price_flash_share"} if replaced else PRICE


def _reuse(case: Resolved) -> set[str]:
    """Premises of the packaged curves that workloads name."""
    names = set(case.tables["workloads"]["reuse_curve"]) - set(case.tables["reuse"]["curve"])
    return {f"reuse/{name}/{what}" for name in names for what in ("reused_share", "returns", "h_max")}
