"""SKUs as facts: names, values with those of their class, and what one lacks to be a SKU."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from procure.catalogue.fact import Fact
from procure.catalogue.sku import REQUIRED
from procure.errors import Fault
from procure.schema import SkuKind

Key = tuple[str, str]
"""SKU, class or price path, and attribute."""


def sku_names(facts: Mapping[Key, Fact]) -> set[str]:
    """Names that a ``kind`` row makes a SKU."""
    return {name for name, attribute in facts if attribute == "kind"}


def sku_values(facts: Mapping[Key, Fact]) -> dict[str, dict[str, float | str]]:
    """Attribute values of every SKU, in alphabetical order: its depreciation class's, and its own over them."""
    values: dict[str, dict[str, float | str]] = defaultdict(dict)
    for (name, attribute), fact in facts.items():
        values[name][attribute] = fact.value
    shared = {name: values.get(str(values[name].get("depreciation_class")), {}) for name in sorted(sku_names(facts))}
    return {name: {**of_class, **values[name]} for name, of_class in shared.items()}


def missing(facts: Mapping[Key, Fact]) -> list[Fault]:
    """What SKUs lack, hosts that do not exist, partners outside pods, and milestones that do not sum to 1."""
    faults: list[Fault] = []
    found = sku_values(facts)
    hosts = {values.get("host") for values in found.values()}
    for name, values in found.items():
        kind = str(values["kind"])
        for attribute in sorted(REQUIRED.get(kind, set()) - set(values)):
            faults.append(Fault("hardware", 0, attribute, "", f"{name} is a {kind} and needs this attribute."))
        if kind == SkuKind.SSD_KIT and values.get("host") not in found:
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
