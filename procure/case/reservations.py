"""What must hold of reservations, beyond each cell by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from procure.case.rows import Cell, Rows
from procure.errors import Fault, nearest
from procure.quarter import Quarter
from procure.schema import Instrument

FEES = ("usd_per_kw_month", "usd_per_step_month")


def agreement(tables: Mapping[str, Rows]) -> Iterator[Fault]:
    """Each keeps a step that is offered for a time, for longer than that, at one price that is a price."""
    steps = {(row["site"], row["expansion"]): row for row in tables["expansions"].rows}
    table = tables["reservations"]
    for line, row in table.numbered:
        site, name = str(row["site"]), str(row["expansion"])
        step = steps.get((row["site"], row["expansion"]))
        if step is None:
            known = sorted(str(expansion) for at, expansion in steps if at == site)
            expected = f"A step of expansions.csv at {site}."
            yield Fault(table.file, line, "expansion", name, expected, nearest(name, known))
            continue
        until, ends = Quarter(str(row["until_quarter"])), step["order_until"]
        if ends is None:
            expected = "A step that states order_until in expansions.csv: one on offer without an end needs no keeping."
            yield Fault(table.file, line, "expansion", name, expected)
        elif until <= Quarter(str(ends)):
            expected = f"After {ends}: until then the step is on offer anyway (order_until in expansions.csv)."
            yield Fault(table.file, line, "until_quarter", str(until), expected)
        yield from _fee(table.file, line, row, step)


def _fee(file: str, line: int, row: Mapping[str, Cell], step: Mapping[str, Cell]) -> Iterator[Fault]:
    stated = [name for name in FEES if row[name] is not None]
    if row["instrument"] == Instrument.FIRST_OFFER:
        for name in stated:
            expected = "Empty: a first offer is free. What costs a fee is a firm_hold."
            yield Fault(file, line, name, str(row[name]), expected)
    elif len(stated) > 1:
        yield Fault(file, line, ", ".join(stated), str(row["reservation"]), "One of the two: a fee by kW or by step.")
    elif stated == [FEES[0]] and not step["power_kw"]:
        expected = f"{row['expansion']} adds no power, so that a fee by kW would be none."
        yield Fault(file, line, FEES[0], str(row[FEES[0]]), expected, f"State {FEES[1]}; 0 where it is free.")
