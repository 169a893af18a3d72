"""Reading the packaged tables of facts: hardware, classes, price paths, premises and aliases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from procure.catalogue.fact import Fact, packaged_rows, parse, read_rows
from procure.catalogue.paths import packaged_path
from procure.catalogue.sku import REQUIRED
from procure.errors import Fault, InputError, nearest

Key = tuple[str, str]


@cache
def aliases() -> dict[str, list[tuple[str, str]]]:
    """Other names, in lower case with hyphens: the SKUs that each may mean, with a word on every meaning."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in packaged_rows("hardware/aliases"):
        found.setdefault(row["alias"], []).append((row["sku"], row["meaning"]))
    return found


def _plain(name: str) -> str:
    return "-".join(str(name).strip().lower().replace("_", "-").split())


def resolve(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant; case, spaces and underscores do not matter; aliases are understood.

    None for an unknown name, and for an alias with several meanings: :func:`hint` says which.
    """
    names, meanings = set(known), aliases().get(_plain(name), [])
    alias = meanings[0][0] if len(meanings) == 1 else None
    for candidate in (str(name).strip(), _plain(name), alias):
        if candidate in names:
            return candidate
    return None


def hint(name: str, known: Iterable[str]) -> str:
    """What to do about a name that :func:`resolve` does not find: its meanings, or the nearest known name."""
    meanings = aliases().get(_plain(name), [])
    if len(meanings) > 1:
        listed = "; ".join(f"{sku!r} ({words})" if sku else words for sku, words in meanings)
        return f"The name is ambiguous. It may mean {listed}. Write the SKU's own name."
    if meanings:
        return f"{meanings[0][0]}: {meanings[0][1]}."
    return nearest(name, known)


def packaged_facts() -> dict[Key, Fact]:
    """Facts of ``data/hardware`` by (SKU, class or path; attribute)."""
    folder = packaged_path("data/hardware")
    return _read([path.name for path in sorted(folder.glob("*.csv")) if path.name != "aliases.csv"], "hardware")


def packaged_premises() -> dict[Key, Fact]:
    """Facts of every ``data/premises*.csv`` by (group, name)."""
    return _read([path.name for path in sorted(packaged_path("data").glob("premises*.csv"))], "premises")


def _read(names: list[str], what: str) -> dict[Key, Fact]:
    folder, keys = ("data/hardware", ("sku", "attribute")) if what == "hardware" else ("data", ("group", "name"))
    facts: dict[Key, Fact] = {}
    faults: list[Fault] = []
    for name in names:
        for line, row in read_rows(packaged_path(f"{folder}/{name}")):
            fact, wrong = parse(row, name, line)
            faults += wrong
            key = (row[keys[0]], row[keys[1]])
            if key in facts:
                faults.append(Fault(name, line, ", ".join(keys), ", ".join(key), "One row each."))
            if fact is not None:
                facts[key] = fact
    if faults:
        raise InputError(faults)
    return facts


def sku_names(facts: Mapping[Key, Fact]) -> set[str]:
    """Names that a ``kind`` row makes a SKU."""
    return {name for name, attribute in facts if attribute == "kind"}


def sku_values(facts: Mapping[Key, Fact], name: str) -> dict[str, float | str]:
    """Attribute values of one SKU: its depreciation class's, and its own over them."""
    own = {attribute: fact.value for (sku, attribute), fact in facts.items() if sku == name}
    group = own.get("depreciation_class")
    shared = {attribute: fact.value for (sku, attribute), fact in facts.items() if sku == group}
    return {**shared, **own}


def missing(facts: Mapping[Key, Fact]) -> list[Fault]:
    """What SKUs lack, hosts that do not exist, partners outside pods, and milestones that do not sum to 1."""
    faults: list[Fault] = []
    names = sku_names(facts)
    hosts = {sku_values(facts, name).get("host") for name in names}
    for name in sorted(names):
        values = sku_values(facts, name)
        kind = str(values["kind"])
        for attribute in sorted(REQUIRED.get(kind, set()) - set(values)):
            faults.append(Fault("hardware", 0, attribute, "", f"{name} is a {kind} and needs this attribute."))
        if kind == "ssd_kit" and values.get("host") not in names:
            faults.append(Fault("hardware", 0, "host", str(values.get("host", "")), f"The SKU that {name} goes into."))
        if values.get("ssd_included_bytes") and name not in hosts:
            expected = f"0, or an ssd_kit whose host is {name}: it says how fast the drives inside the price are."
            faults.append(
                Fault("hardware", 0, "ssd_included_bytes", f"{name}: {values['ssd_included_bytes']}", expected)
            )
        if values.get("pairs_with_lpx") and not values.get("pod_slots"):
            expected = "More than 0: LPX decodes beside units of its own pod. Or pairs_with_lpx 0."
            faults.append(Fault("hardware", 0, "pod_slots", f"{name}: 0", expected))
        shares = [float(values.get(f"milestone_{step}", 0)) for step in ("order", "delivery", "acceptance")]
        if abs(sum(shares) - 1) > 1e-9:
            expected = "The milestones of order, delivery and acceptance sum to 1."
            faults.append(Fault("hardware", 0, "milestone_*", f"{name}: {sum(shares):g}", expected))
    return faults
