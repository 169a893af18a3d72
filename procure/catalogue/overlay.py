"""A case's own hardware, attach and price rows, laid over the packaged facts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from procure.catalogue.fact import TEXT_UNITS, Fact, parse
from procure.catalogue.sku import INFORMATIVE, POSITIVE, REQUIRED, SKU_KINDS
from procure.catalogue.tables import Key, hint, resolve, sku_names
from procure.errors import Fault, nearest
from procure.quarter import Quarter

Rows = Iterable[Mapping[str, object]]

ATTACH_UNITS = {"attach_kw": "kW", "attach_positions": "count", "attach_usd": "USD", "install_usd": "USD"}


def lay_hardware(facts: dict[Key, Fact], rows: Rows) -> list[Fault]:
    """Replace attributes in ``facts`` by a case's ``hardware`` rows; returns what is wrong with them."""
    rows = list(rows)
    names = {name for name, _ in facts} | {str(row["sku"]) for row in rows if row.get("attribute") == "kind"}
    attributes = {attribute for _, attribute in facts} | {a for needed in REQUIRED.values() for a in needed}
    units = {attribute: fact.unit for (_, attribute), fact in facts.items()}
    faults: list[Fault] = []
    seen: set[Key] = set()
    for line, row in _numbered(rows):
        name, attribute = resolve(str(row["sku"]), names), str(row["attribute"])
        if name is None:
            say = hint(str(row["sku"]), names)
            faults.append(Fault("hardware.csv", line, "sku", str(row["sku"]), "A SKU, class or price path.", say))
            continue
        if attribute not in attributes:
            say = nearest(attribute, attributes)
            faults.append(Fault("hardware.csv", line, "attribute", attribute, "An attribute of the catalogue.", say))
            continue
        if attribute in INFORMATIVE:
            expected = f"An attribute that a plan reads; this one is for information. {INFORMATIVE[attribute]}"
            faults.append(Fault("hardware.csv", line, "attribute", attribute, expected.strip()))
            continue
        fact, wrong = parse({**row, "kind": row.get("kind") or "user"}, "hardware.csv", line)
        faults += wrong
        if fact is None:
            continue
        if fact.unit != units.get(attribute, fact.unit):
            expected = f"{attribute} is stated in {units[attribute]}."
            faults.append(Fault("hardware.csv", line, "unit", fact.unit, expected, "Convert the value."))
        elif (name, attribute) in seen:
            faults.append(Fault("hardware.csv", line, "attribute", f"{name}, {attribute}", "One row each."))
        else:
            faults += _in_range(fact, attribute, line)
        seen.add((name, attribute))
        facts[name, attribute] = fact
    return faults


def lay_attach(facts: dict[Key, Fact], rows: Rows) -> list[Fault]:
    """Replace what units drag along outside themselves; an empty cell keeps the catalogue's value."""
    faults: list[Fault] = []
    names = sku_names(facts)
    for line, row in _numbered(rows):
        name = resolve(str(row["sku"]), names)
        if name is None:
            faults.append(_unknown("attach.csv", line, row, names))
            continue
        for attribute, unit in ATTACH_UNITS.items():
            value = row.get(attribute)
            if isinstance(value, int | float) and not math.isnan(value):
                facts[name, attribute] = Fact(float(value), unit, None, None, "user", "the case's attach table", "", "")
    return faults


def read_prices(facts: Mapping[Key, Fact], rows: Rows) -> tuple[dict[Key, float], list[Fault]]:
    """Prices by (SKU, delivery quarter) that a case states, USD."""
    names = sku_names(facts)
    prices: dict[Key, float] = {}
    faults: list[Fault] = []
    for line, row in _numbered(rows):
        name = resolve(str(row["sku"]), names)
        if name is None:
            faults.append(_unknown("prices.csv", line, row, names))
        else:
            prices[name, str(Quarter(str(row["quarter"])))] = float(str(row["price_usd"]))
    return prices, faults


def _numbered(rows: Rows) -> list[tuple[int, Mapping[str, object]]]:
    """Rows with their line in the case's file: ``_row`` where the reader noted it, else counted from 2."""
    return [(int(str(row.get("_row", line))), row) for line, row in enumerate(rows, start=2)]


def _unknown(file: str, line: int, row: Mapping[str, object], names: set[str]) -> Fault:
    return Fault(file, line, "sku", str(row["sku"]), "A SKU of the catalogue.", hint(str(row["sku"]), names))


def _in_range(fact: Fact, attribute: str, line: int) -> list[Fault]:
    def fault(expected: str, mend: str = "") -> list[Fault]:
        return [Fault("hardware.csv", line, "value", str(fact.value), expected, mend)]

    if fact.unit in TEXT_UNITS:
        if attribute == "kind" and fact.value not in SKU_KINDS:
            return fault(f"One of {', '.join(SKU_KINDS)}.", nearest(str(fact.value), SKU_KINDS))
        if fact.unit == "quarter" and fact.value:
            try:
                Quarter(str(fact.value))
            except ValueError:
                return fault("A quarter such as 2027Q1.")
        return []
    if fact.number < 0:
        return fault(f"0 or more, in {fact.unit}.")
    if fact.number == 0 and attribute in POSITIVE:
        return fault(f"Above 0, in {fact.unit}.")
    if math.isinf(fact.number) and attribute != "supply_per_quarter":
        return fault("A finite number.")
    if fact.unit == "fraction" and fact.number > 1:
        return fault("A fraction from 0 to 1.")
    if fact.unit == "flag" and fact.number not in (0, 1):
        return fault("1 for yes, 0 for no.")
    return []
