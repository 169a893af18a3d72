"""Cells that are allowed and that a planner may have meant otherwise: what was understood, and what to write if not.

A doubt is a :class:`~procure.errors.Fault` that stops nothing: its ``expected`` says what was understood. ``check`` and
``solve`` print the doubts of a case and its plan carries them.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from procure.case.rows import Cell, Rows
from procure.catalogue import Catalogue, Sku
from procure.errors import Fault
from procure.quarter import Quarter
from procure.schema import MOST, Column, SkuKind, Table

_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_POINT = re.compile(r"[+-]?\d*\.\d+")


def decimal_points(table: Table, header: Sequence[str], body: Sequence[tuple[int, Sequence[str]]]) -> list[Fault]:
    """Numbers such as ``3.000``, which is three here and three thousand where a point separates thousands.

    A column leaves no doubt where another of its cells can only be read with a decimal point (``0.5``, ``12.25``), nor
    a cell whose thousandfold the column would not allow. One doubt for a column, at its first such cell.

    Args:
        table: what the columns are.
        header: names of the columns.
        body: rows as text, each with its line; "" for cells that hold no text.
    """
    doubts: list[Fault] = []
    for position, name in enumerate(header):
        column = table.by_column.get(name)
        if column is None or column.kind not in ("number", "integer"):
            continue
        cells = [(line, row[position].strip()) for line, row in body if position < len(row)]
        pointed = [(line, cell) for line, cell in cells if _POINT.fullmatch(cell)]
        if not pointed or not all(_GROUPS.fullmatch(cell) and _allowed(column, cell) for _, cell in pointed):
            continue
        line, cell = pointed[0]
        others = f" (and {len(pointed) - 1} more)" if len(pointed) > 1 else ""
        thousand = cell.replace(".", "")
        expected = f"Understood as {float(cell):g}{others}, the point as decimal."
        hint = f"Write {thousand} if {int(thousand):,} was meant."
        doubts.append(Fault(f"{table.name}.csv", line, name, cell, expected, hint))
    return doubts


def _allowed(column: Column, cell: str) -> bool:
    """Whether the number without its point would be allowed too."""
    value = float(cell.replace(".", ""))
    most = MOST[column.kind] if column.maximum is None else column.maximum
    return value <= most and (column.minimum is None or value >= column.minimum)


@dataclass(frozen=True)
class _Unit:
    """A number that is unlikely in its unit beyond ``above``: as what it was understood, and what may have been meant.

    ``factor`` brings the number from the unit that may have been meant to the column's.
    """

    table: str
    column: str
    above: float
    understood: str
    meant: str
    factor: float


_UNITS = (
    _Unit("sites", "electricity_usd_per_kwh", 1.0, "USD per kWh", "USD per MWh", 1e-3),
    _Unit("sites", "space_usd_per_kw_month", 2_000.0, "USD per kW and month", "USD per kW and year", 1 / 12),
    _Unit("workloads", "ttft_s", 300.0, "seconds", "milliseconds", 1e-3),
    _Unit("workloads", "tool_s", 1e6, "seconds", "milliseconds", 1e-3),
    _Unit("workloads", "session_s_per_call", 1e6, "seconds", "milliseconds", 1e-3),
    _Unit("workloads", "isl_growth_per_year", 4.0, "a multiple: 1 doubles in a year", "percent", 1e-2),
    _Unit("workloads", "output_growth_per_year", 4.0, "a multiple: 1 doubles in a year", "percent", 1e-2),
    _Unit("workloads", "context_cap_growth_per_year", 4.0, "a multiple: 1 doubles in a year", "percent", 1e-2),
    _Unit("expansions", "lead_quarters", 20.0, "quarters", "weeks", 1 / 13),
)


def units(tables: Mapping[str, Rows]) -> list[Fault]:
    """Numbers that fit another unit better than that of their column."""
    doubts = []
    for unit in _UNITS:
        rows = tables[unit.table]
        for line, row in rows.numbered:
            value = row.get(unit.column)
            if value is not None and float(value) > unit.above:
                other = f"{float(value) * unit.factor:.3g}"
                doubts.append(_doubt(rows, line, unit.column, value, f"Understood as {unit.understood}.",
                                     f"Write {other} if {float(value):g} {unit.meant} were meant."))  # fmt: skip
    return doubts


LEAST_SHARE = 0.1
"""Of a unit's price: what is smaller is no budget or price in USD. Quoted prices lie within a factor of a few."""


def sizes(tables: Mapping[str, Rows], may_buy: Sequence[str], catalogue: Catalogue) -> list[Fault]:
    """Power, budgets and prices below those of a single unit: MW or M USD written where kW and USD belong."""
    buy = [catalogue.sku(name) for name in may_buy]
    gpus = [sku for sku in buy if sku.kind is SkuKind.GPU]
    doubts: list[Fault] = []
    for rows, line, row in _each(tables, "sites", "expansions"):
        power = row.get("power_kw")
        standing = [catalogue.sku(str(r["sku"])) for r in tables["fleet"].rows if r.get("site") == row.get("site")]
        racks = [*gpus, *(sku for sku in standing if sku.kind is SkuKind.GPU)]
        least = min(racks, key=lambda sku: sku.power_kw, default=None)
        if power and least is not None and float(power) < least.power_kw:
            expected = f"Understood as kW: not enough for one {least.name} ({least.power_kw:g} kW)."
            hint = f"Write {float(power) * 1e3:g} if {float(power):g} MW were meant."
            doubts.append(_doubt(rows, line, "power_kw", power, expected, hint))
    cheapest = min((sku for sku in buy if sku.price_usd), key=lambda sku: sku.price_usd, default=None)
    for rows, line, row in _each(tables, "budget", "fleet", "orders", "prices"):
        name = next(c for c in ("budget_usd", "paid_usd_per_unit", "price_usd_per_unit", "price_usd") if c in row)
        sku = cheapest if name == "budget_usd" else catalogue.sku(str(row["sku"]))
        value = row[name]
        if value and sku is not None and float(value) < LEAST_SHARE * sku.price_usd:
            expected = f"Understood as USD: one {sku.name} costs about {sku.price_usd:,.0f}."
            thousands = name != "budget_usd" and float(value) * 1e5 > sku.price_usd
            factor, unit = (1e3, "thousand") if thousands else (1e6, "million")
            hint = f"Write {float(value) * factor:.6g} if {float(value):g} {unit} USD were meant."
            doubts.append(_doubt(rows, line, name, value, expected, hint))
    return doubts


def packages(tables: Mapping[str, Rows], catalogue: Catalogue) -> list[Fault]:
    """Counts of servers or racks whose SKU is written by the name of its GPU: ``h100,160`` is 160 servers of 8.

    Only where the GPUs of so many servers or racks could be meant: 12 H100 fill no whole number of servers.
    """
    doubts = []
    for rows, line, row in _each(tables, "fleet", "orders", "reserved"):
        written, count = str(row.get("sku") or ""), row.get("count")
        name = catalogue.resolve(written)
        if name is None or count is None or not _names_a_gpu(written, catalogue.sku(name)):
            continue
        sku, units = catalogue.sku(name), int(count)
        if units % sku.gpus:
            continue
        each = "racks" if sku.scale_up_domain_gpus > 8 else "servers"
        expected = f"Understood as {units:,} {each} {name} of {sku.gpus} GPUs, {units * sku.gpus:,} GPUs in all."
        hint = f"Write {units // sku.gpus} if {units:,} GPUs were meant, or {name} to say that units are counted."
        doubts.append(_doubt(rows, line, "sku", f"{written},{units}", expected, hint))
    return doubts


def unsold(fleet: Rows) -> list[Fault]:
    """Units stated as ones that may be sold, in a case that leaves ``resale`` at its default, which sells none."""
    lines = [line for line, row in fleet.numbered if row.get("retirable")]
    if not lines:
        return []
    expected = "Understood as units that stay: the setting resale is left at none, so that nothing is sold."
    hint = (
        'State resale = "existing" in case.toml to let the plan sell them, or resale = "none" to say that it may not.'
    )
    return [Fault(fleet.file, lines[0], "retirable", "true", expected, hint)]


def providers(tables: Mapping[str, Rows]) -> list[Fault]:
    """Offers of rent at a location that is spelt nearly as a site is: units there take nothing of the site."""
    sites = {str(row["site"]) for row in tables["sites"].rows}
    doubts = []
    for rows, line, row in _each(tables, "rent"):
        site = str(row["site"])
        if site not in sites and (near := difflib.get_close_matches(site.lower(), map(str.lower, sites), n=1)):
            expected = "Understood as the provider's location: no site of sites.csv has that name."
            doubts.append(_doubt(rows, line, "site", site, expected, f"Write the site's name if {near[0]} was meant."))
    return doubts


def never_rented(tables: Mapping[str, Rows], catalogue: Catalogue, quarters: Sequence[Quarter]) -> list[Fault]:
    """Offers of which no unit can be rented within the horizon: their lead, SKU or window lets none begin in time."""
    running = {row["offer"] for row in tables["rented"].rows}
    doubts = []
    for rows, line, row in _each(tables, "rent"):
        opens = [str(q) for q in (row["from_quarter"], catalogue.sku(str(row["sku"])).available_from) if q]
        begins = max([quarters[0] + math.ceil(float(row["lead_quarters"] or 0)), *(Quarter(q) for q in opens)])
        last = quarters[-1]
        if row["to_quarter"] is not None:
            last = min(last, Quarter(str(row["to_quarter"])) + (1 - int(row["min_term_quarters"] or 1)))
        if begins > last and row["offer"] not in running:
            expected = (
                f"Understood as an offer that nothing can be rented of: rent begins in {begins} at the earliest, "
            )
            expected += f"and would have to by {last}."
            hint = "A shorter lead, a longer window or a longer horizon makes it one; or delete the row."
            doubts.append(_doubt(rows, line, "lead_quarters", row["lead_quarters"], expected, hint))
    return doubts


def unread(rows: Rows, read: Container[str]) -> list[Fault]:
    """Premises that the case states and does not read: of a SKU, scenario, service level or curve that it does not use.

    Args:
        rows: the ``premises`` table as stated.
        read: paths of the premises that the case rests on.
    """
    expected = "Understood as for another case: nothing in this one reads it, and the row changes nothing."
    hint = "Delete the row, or state the premise of a SKU, scenario, service level or curve that the case uses."
    paths = [(line, str(row["path"])) for line, row in rows.numbered]
    return [Fault(rows.file, line, "path", path, expected, hint) for line, path in paths if path not in read]


def _names_a_gpu(written: str, sku: Sku) -> bool:
    """Whether the name says nothing of a server or rack."""
    plain = written.lower()
    return (
        sku.kind is SkuKind.GPU and sku.gpus > 1 and not any(part in plain for part in ("nvl", "hgx", "dgx", "kyber"))
    )


def _each(tables: Mapping[str, Rows], *names: str) -> Iterator[tuple[Rows, int, dict[str, Cell]]]:
    for name in names:
        rows = tables[name]
        for line, row in rows.numbered:
            yield rows, line, row


def _doubt(rows: Rows, line: int, column: str, value: Cell, understood: str, hint: str) -> Fault:
    shown = value if isinstance(value, str) else f"{value:g}"
    return Fault(rows.file, line, column, shown, understood, hint)
