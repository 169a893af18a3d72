"""A case's own hardware, attach, price and premise rows, laid over the packaged facts."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping

from procure.catalogue.aliases import Aliases
from procure.catalogue.fact import TEXT_UNITS, Fact, parse
from procure.catalogue.packaged import GUIDANCE
from procure.catalogue.sku import INFORMATIVE, INTEGER_FIELDS, POSITIVE, REQUIRED, SKU_KINDS
from procure.catalogue.tables import Key, sku_names
from procure.errors import Fault, nearest
from procure.quarter import Quarter
from procure.schema import Evidence

Rows = Iterable[Mapping[str, object]]

MOST_QUARTERS = 400.0
"""Quarters that a term may take at most: a hundred years, whose ends are still quarters that can be written."""
ATTACH_UNITS = {"attach_kw": "kW", "attach_positions": "count", "attach_usd": "USD", "install_usd": "USD"}


def lay_hardware(facts: dict[Key, Fact], rows: Rows, aliases: Aliases) -> list[Fault]:
    """Replace attributes in ``facts`` by a case's ``hardware`` rows; returns what is wrong with them."""
    rows = list(rows)
    names = {name for name, _ in facts} | {str(row["sku"]) for row in rows if row.get("attribute") == "kind"}
    attributes = {attribute for _, attribute in facts} | {a for needed in REQUIRED.values() for a in needed}
    units = {attribute: fact.unit for (_, attribute), fact in facts.items()}
    faults: list[Fault] = []
    seen: set[Key] = set()
    for line, row in _numbered(rows):
        name, attribute = aliases.resolve(str(row["sku"]), names), str(row["attribute"])
        if name is None:
            say = aliases.hint(str(row["sku"]), names)
            faults.append(Fault("hardware.csv", line, "sku", str(row["sku"]), "A SKU, class or price path.", say))
            continue
        if attribute not in attributes:
            say = nearest(attribute, attributes)
            faults.append(Fault("hardware.csv", line, "attribute", attribute, "An attribute of the catalogue.", say))
            continue
        if attribute in INFORMATIVE:
            faults.append(Fault("hardware.csv", line, "attribute", attribute, _for_information(attribute)))
            continue
        fact, wrong = parse({**row, "kind": row.get("kind") or Evidence.USER}, "hardware.csv", line)
        faults += wrong
        if fact is None:
            continue
        if fact.unit != units.get(attribute, fact.unit):
            expected = f"{attribute} is stated in {units[attribute]}."
            faults.append(Fault("hardware.csv", line, "unit", fact.unit, expected, "Convert the value."))
        elif (name, attribute) in seen:
            faults.append(Fault("hardware.csv", line, "attribute", f"{name}, {attribute}", "One row each."))
        elif out := _out_of_range(fact, attribute):
            faults.append(Fault("hardware.csv", line, "value", str(fact.value), *out))
        seen.add((name, attribute))
        facts[name, attribute] = fact
    return faults


def lay_attach(facts: dict[Key, Fact], rows: Rows, aliases: Aliases) -> list[Fault]:
    """Replace what units drag along outside themselves; an empty cell keeps the catalogue's value."""
    faults: list[Fault] = []
    names = sku_names(facts)
    for line, row in _numbered(rows):
        name = aliases.resolve(str(row["sku"]), names)
        if name is None:
            faults.append(_unknown("attach.csv", line, row, names, aliases))
            continue
        for attribute, unit in ATTACH_UNITS.items():
            value = row.get(attribute)
            if isinstance(value, int | float) and not math.isnan(value):
                facts[name, attribute] = Fact(
                    float(value), unit, None, None, Evidence.USER, "the case's attach table", "", ""
                )
    return faults


def read_prices(facts: Mapping[Key, Fact], rows: Rows, aliases: Aliases) -> tuple[dict[Key, float], list[Fault]]:
    """Prices by (SKU, delivery quarter) that a case states, USD."""
    names = sku_names(facts)
    prices: dict[Key, float] = {}
    faults: list[Fault] = []
    for line, row in _numbered(rows):
        name = aliases.resolve(str(row["sku"]), names)
        if name is None:
            faults.append(_unknown("prices.csv", line, row, names, aliases))
        else:
            prices[name, str(Quarter(str(row["quarter"])))] = float(str(row["price_usd"]))
    return prices, faults


Allowed = Callable[[str, Fact], str | None]
"""What is expected of the value of a premise that does not fit, "" for one that fits, None where its unit decides."""


def lay_premises(
    facts: dict[Key, Fact], premises: dict[str, Fact], rows: Rows, stated: Iterable[Key], allowed: Allowed
) -> list[Fault]:
    """Replace facts and premises by a case's ``premises`` rows, each in the unit of what it replaces.

    Args:
        facts: hardware by (SKU, attribute), which paths ``hardware/...`` replace.
        premises: all others by path.
        rows: path, value, low, high, kind, source, note.
        stated: hardware that another table of the case states: nothing is stated twice.
        allowed: what a premise that fills a cell or a setting may be.
    """
    stated = set(stated)
    paths = [*premises, *(f"hardware/{sku}/{attribute}" for sku, attribute in facts)]
    faults: list[Fault] = []
    for line, row in _numbered(rows):
        path = str(row["path"])
        key = hardware_key(path)
        packaged = facts.get(key) if key is not None else premises.get(path)
        expected = hint = ""
        if packaged is None:
            expected, hint = "The path of a packaged premise.", nearest_path(_of_class(key, facts) or path, paths)
        elif path.startswith(GUIDANCE):
            expected = "A premise that a plan reads: this one helps to fill in the tables of a case. State it there."
        elif key is not None and key[1] in INFORMATIVE:
            expected = _for_information(key[1])
        elif key in stated:
            expected, hint = f"Stated once: hardware.csv or attach.csv states {path} too.", "Delete one of the two."
        if expected or packaged is None:
            faults.append(Fault("premises.csv", line, "path", path, expected, hint))
            continue
        told = {"kind": row.get("kind") or Evidence.USER, "source": row.get("source") or "the case's premises table"}
        fact, wrong = parse({**row, **told, "unit": packaged.unit}, "premises.csv", line)
        faults += wrong
        if fact is None:
            continue
        known, attribute = allowed(path, fact), "" if key is None else key[1]
        if out := _out_of_range(fact, attribute, packaged) if known is None else ((known,) if known else ()):
            faults.append(Fault("premises.csv", line, "value", str(fact.value), *out))
        elif key is not None:
            facts[key] = fact
        else:
            premises[path] = fact
    return faults


def _of_class(key: Key | None, facts: Mapping[Key, Fact]) -> str:
    """Where the class of a SKU states a figure that the SKU itself does not: its path; empty for other keys."""
    kind = None if key is None else facts.get((key[0], "depreciation_class"))
    if key is None or kind is None or (str(kind.value), key[1]) not in facts:
        return ""
    return f"hardware/{kind.value}/{key[1]}"


def hardware_key(path: str) -> Key | None:
    """SKU (class or price path) and attribute of a path ``hardware/...``, None for another."""
    parts = path.split("/")
    return (parts[1], parts[2]) if parts[0] == "hardware" and len(parts) == 3 else None


def nearest_path(path: str, known: Iterable[str]) -> str:
    """A sentence naming the path that is nearest to one, or those that begin alike."""
    known = list(known)
    first, last = path.split("/")[0], path.split("/")[-1]
    inside = [other for other in known if other.split("/")[0] == first] or known
    ends = {other.split("/")[-1] for other in inside}
    matches = difflib.get_close_matches(path, inside, n=1) or [
        other for end in difflib.get_close_matches(last, ends, n=1) for other in inside if other.endswith(f"/{end}")
    ]
    if matches:
        return f"Did you mean {matches[0]!r}?"
    return f"Paths begin with {', '.join(sorted({other.split('/')[0] for other in known}))}."


def _for_information(attribute: str) -> str:
    return f"An attribute that a plan reads; this one is for information. {INFORMATIVE[attribute]}".strip()


def _numbered(rows: Rows) -> list[tuple[int, Mapping[str, object]]]:
    """Rows with their line in the case's file: ``_row`` where the reader noted it, else counted from 2."""
    return [(int(str(row.get("_row", line))), row) for line, row in enumerate(rows, start=2)]


def _unknown(file: str, line: int, row: Mapping[str, object], names: set[str], aliases: Aliases) -> Fault:
    return Fault(file, line, "sku", str(row["sku"]), "A SKU of the catalogue.", aliases.hint(str(row["sku"]), names))


def _out_of_range(fact: Fact, attribute: str, packaged: Fact | None = None) -> tuple[str, ...]:
    """What is expected of a value that is out of its range, and what to do; nothing of one that is in it.

    A premise whose packaged value and band lie above 0 must be above 0 itself: something is divided by it.
    """
    if fact.unit in TEXT_UNITS:
        if attribute == "kind" and fact.value not in SKU_KINDS:
            return f"One of {', '.join(SKU_KINDS)}.", nearest(str(fact.value), SKU_KINDS)
        if fact.unit == "quarter" and fact.value:
            try:
                Quarter(str(fact.value))
            except ValueError:
                return ("A quarter such as 2027Q1.",)
        return ()
    bounds = [] if packaged is None else [x for x in (packaged.value, packaged.low) if isinstance(x, float)]
    if fact.number < 0:
        return (f"0 or more, in {fact.unit}.",)
    if fact.number == 0 and (attribute in POSITIVE if attribute else min(bounds, default=0.0) > 0):
        return (f"Above 0, in {fact.unit}.",)
    if math.isinf(fact.number) and attribute != "supply_per_quarter":
        return ("A finite number.",)
    if fact.unit.split(" ")[0] in ("fraction", "share") and fact.number > 1:
        return ("A fraction from 0 to 1.",)
    if fact.unit == "quarters" and fact.number > MOST_QUARTERS:
        return (f"{MOST_QUARTERS:g} quarters or fewer.",)
    if fact.unit == "flag" and fact.number not in (0, 1):
        return ("1 for yes, 0 for no.",)
    if attribute in INTEGER_FIELDS and fact.number % 1:
        return (f"A whole number, in {fact.unit}.",)
    return ()
