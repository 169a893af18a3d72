"""What must hold of offers of rent and of what is rented, beyond each cell by itself."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from procure.case.defaults import rent_price
from procure.case.rows import Cell, Rows
from procure.catalogue import Catalogue
from procure.errors import Fault
from procure.quarter import Quarter
from procure.schema import SkuKind

PRICES = ("usd_per_gpu_hour", "usd_per_unit_hour", "usd_per_unit_month", "market_price")
"""Columns of which every offer states one."""


def prices(rent: Rows, catalogue: Catalogue, told: Iterable[Fault]) -> list[Fault]:
    """Offers without a price or with several, and packaged prices that there are none of; before cells are filled.

    Of a row whose price could not be read, or whose SKU is not known, that has been ``told``.
    """
    lines = {fault.row for fault in told if fault.file == rent.file and fault.column in (*PRICES, "sku")}
    faults = []
    for line, row in rent.numbered:
        if line in lines:
            continue
        stated = [name for name in PRICES if row.get(name) is not None]
        if len(stated) != 1:
            expected = f"One price: {', '.join(PRICES[:-1])}, or a packaged one by market_price."
            faults.append(Fault(rent.file, line, ", ".join(stated or PRICES), str(row.get("offer")), expected))
        elif stated == ["market_price"] and rent_price(row, PRICES[0]) not in catalogue.premises:
            known = [path.split("/")[1:3] for path in catalogue.premises if path.startswith("rent_price/")]
            names = sorted({f"{name} of {sku}" for sku, name in known})
            expected = f"A price that is packaged: {', '.join(names)}."
            found = f"{row['market_price']} of {row['sku']}"
            faults.append(Fault(rent.file, line, "market_price", found, expected, "State usd_per_gpu_hour instead."))
    return faults


def kinds(rent: Rows, catalogue: Catalogue) -> Iterator[Fault]:
    """Offers of what is no rack or server of GPUs."""
    known = catalogue.skus
    for line, row in rent.numbered:
        sku = known.get(str(row.get("sku")))
        if sku is not None and sku.kind is not SkuKind.GPU:
            expected = "A SKU of kind gpu: racks and servers are rented, parts are not."
            yield Fault(rent.file, line, "sku", sku.name, expected)


def agreement(tables: Mapping[str, Rows], catalogue: Catalogue, quarters: list[Quarter]) -> list[Fault]:
    """Offers of units that can be, in windows that hold their term; rented units within their offers."""
    faults = []
    rent = tables["rent"]
    floors = {str(row["site"]): float(row["floor_load_kg_per_m2"] or 0) for _, row in tables["sites"].numbered}
    for line, row in rent.numbered:
        sku = catalogue.sku(str(row["sku"]))
        load = sku.weight_kg / sku.footprint_m2 if sku.footprint_m2 else 0.0
        limit = floors.get(str(row["site"]), math.inf)
        if load > limit:
            expected = f"A unit that the floor bears: {load:,.0f} kg/m2 on {limit:,.0f} at {row['site']}."
            faults.append(Fault(rent.file, line, "sku", sku.name, expected))
        faults += _window(rent.file, line, row, sku.available_from, quarters)
    return [*faults, *_rented(tables["rented"], rent, quarters)]


def _window(
    file: str, line: int, row: Mapping[str, Cell], available_from: str, quarters: list[Quarter]
) -> Iterator[Fault]:
    """A window in the horizon, not before the SKU is there, that holds the minimum term."""
    begin, end = row["from_quarter"], row["to_quarter"]
    if begin is not None and not Quarter(str(begin)) <= quarters[-1]:
        yield Fault(file, line, "from_quarter", str(begin), f"{quarters[-1]} or earlier: the plan ends there.")
    if begin is not None and available_from and Quarter(str(begin)) < Quarter(available_from):
        expected = f"{available_from} or later, when {row['sku']} is available."
        yield Fault(file, line, "from_quarter", str(begin), expected)
    if end is not None and Quarter(str(end)) < quarters[0]:
        yield Fault(file, line, "to_quarter", str(end), f"{quarters[0]} or later: the plan begins then.")
    term = int(row["min_term_quarters"] or 1)
    first = max((Quarter(str(q)) for q in (begin, available_from) if q), default=quarters[0])
    if end is not None and begin is not None and Quarter(str(end)) < first + (term - 1):
        paid = "1 quarter is" if term == 1 else f"{term} quarters are"
        expected = f"{first + (term - 1)} or later: {paid} paid for from {first} on."
        yield Fault(file, line, "to_quarter", str(end), expected)


def _rented(rented: Rows, rent: Rows, quarters: list[Quarter]) -> Iterator[Fault]:
    offers = {str(row["offer"]): row for _, row in rent.numbered}
    held: dict[tuple[str, Quarter], int] = defaultdict(int)
    for line, row in rented.numbered:
        begin, until = (Quarter(str(row[name])) for name in ("from_quarter", "until_quarter"))
        end = offers[str(row["offer"])]["to_quarter"]
        if until < begin:
            yield Fault(rented.file, line, "until_quarter", str(until), f"{begin} or later, when they begin.")
        if begin > quarters[-1]:
            yield Fault(rented.file, line, "from_quarter", str(begin), f"{quarters[-1]} or earlier.")
        if end is not None and until > Quarter(str(end)):
            yield Fault(rented.file, line, "until_quarter", str(until), f"{end} or earlier: the offer ends then.")
        for quarter in quarters:
            held[str(row["offer"]), quarter] += int(row["count"] or 0) * (begin <= quarter)
    for name, offer in offers.items():
        most, units = int(offer["most_units"] or 0), max((held[name, q] for q in quarters), default=0)
        if units > most:
            expected = f"At most the {most} units of the offer."
            yield Fault(rented.file, 0, "count", f"{units} of {name}", expected, "Raise most_units in rent.csv.")
