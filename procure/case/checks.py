"""Second and third pass over a case: names that must exist, then tables that must agree with each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from procure.case import orders, rent, reservations
from procure.case.days import day_faults, mean_faults, own_days
from procure.case.defaults import LENGTH_COLUMNS
from procure.case.rows import Cell, Rows
from procure.case.schema import TABLES
from procure.case.settings import FILE, Settings
from procure.catalogue import Catalogue, Sku
from procure.errors import Fault, InputError, nearest
from procure.quarter import Quarter
from procure.schema import ResilienceKind, SkuKind
from procure.sizing import Card, card_names, kv_format, load_card
from procure.sizing.cards import stands
from procure.sizing.formats import precision_names

Tables = Mapping[str, Rows]

LEAST_MEAN = 0.1
"""A mean input below this share of the median is a slip: no distribution of requests in the library is near it."""
ROUNDING = 1e-9
"""A mean and a p99 worked out from each other may differ by this share."""


@dataclass
class Names:
    """What the names in a case may refer to."""

    tables: Tables
    catalogue: Catalogue
    folder: Path | None

    @property
    def _own_curves(self) -> list[str]:
        return sorted({str(row["curve"]) for row in self.tables["reuse"].rows if row.get("curve")})

    @property
    def _own_days(self) -> list[str]:
        return sorted({str(row["shape"]) for row in self.tables["day_shapes"].rows if row.get("shape")})

    @cached_property
    def known(self) -> dict[str, Sequence[str]]:
        """Known names by kind of reference."""
        return {
            "workload": [str(row["workload"]) for row in self.tables["workloads"].rows if row.get("workload")],
            "site": sorted({str(row["site"]) for row in self.tables["sites"].rows if row.get("site")}),
            "place": sorted(
                {str(row["site"]) for t in ("sites", "rent") for row in self.tables[t].rows if row.get("site")}
            ),
            "sku": sorted(self.catalogue.skus),
            "offer": [str(row["offer"]) for row in self.tables["rent"].rows if row.get("offer")],
            "scenario": sorted(self.catalogue.packaged.scenarios),
            "precision": sorted(precision_names()),
            "reuse_curve": (*self.catalogue.packaged.curves, *self._own_curves),
            "day_shape": (*sorted(self.catalogue.packaged.profiles), *self._own_days),
            "table": [*TABLES, FILE],
            "card": card_names(),
        }


def references(names: Names) -> tuple[list[Fault], dict[str, Card]]:
    """Put canonical names into the tables in place; faults for names that are not known; the cards used."""
    faults: list[Fault] = []
    cards: dict[str, Card] = {}
    for name, table in TABLES.items():
        rows = names.tables[name]
        for column in table.columns:
            if column.reference in ("", "premise"):
                continue  # the catalogue has said what is wrong with a premise's path
            for line, row in rows.numbered:
                value = row.get(column.name)
                if value is None:
                    continue
                if column.reference == "card":
                    faults += _card(names, rows.file, line, row, cards)
                    continue
                if column.reference == "kv_format":
                    faults += _kv_format(rows.file, line, row)
                    continue
                known = names.known[column.reference]
                if not known:
                    continue  # that table could not be read or is empty, which is said of it
                is_sku = column.reference == "sku"
                meant = names.catalogue.resolve(str(value)) if is_sku else str(value)
                if meant not in known:
                    expected = f"A known {column.reference.replace('_', ' ')}."
                    say = names.catalogue.hint(str(value)) if is_sku else nearest(str(value), known)
                    faults.append(Fault(rows.file, line, column.name, str(value), expected, say))
                else:
                    row[column.name] = meant
    return faults, cards


def _kv_format(file: str, line: int, row: dict[str, Cell]) -> list[Fault]:
    """A packaged format, or a mixture such as ``fp8+rope=bf16``, in small letters; what sizing cannot read."""
    text = str(row["kv_format"]).strip().lower()
    try:
        kv_format(text)
    except InputError as error:
        return [Fault(file, line, "kv_format", str(row["kv_format"]), f.expected, f.hint) for f in error.faults]
    row["kv_format"] = text
    return []


def _card(names: Names, file: str, line: int, row: dict[str, Cell], cards: dict[str, Card]) -> list[Fault]:
    text = str(row["card"])
    if text not in names.known["card"] and names.folder is not None and stands(names.folder / text):
        text = str((names.folder / text).resolve())
    try:
        card = load_card(text)
        needed = (card.max_context_tokens, card.native_precision, card.params)
    except InputError as error:
        return [
            Fault(file, line, "card", str(row["card"]), fault.expected, fault.hint)
            if fault.file == "card"
            else Fault(fault.file, fault.row, fault.column, fault.value, fault.expected, fault.hint)
            for fault in error.faults
        ]
    del needed
    row["card"] = text
    cards[text] = card
    return []


def may_buy(settings: Settings | None, catalogue: Catalogue) -> list[Fault]:
    """SKUs that the settings name and the catalogue does not know under that name."""
    known = sorted(catalogue.skus)
    names = [] if settings is None else settings.may_buy
    return [
        Fault(FILE, 0, "may_buy", name, "SKUs of the catalogue by their own names.", catalogue.hint(name))
        for name in names
        if name not in known
    ]


def duplicates(tables: Tables) -> list[Fault]:
    """Rows that repeat the key of an earlier row."""
    faults: list[Fault] = []
    for name, table in TABLES.items():
        seen: dict[tuple[Cell, ...], int] = {}
        rows = tables[name]
        for line, row in rows.numbered:
            key = tuple(row.get(column) for column in table.key)
            if any(part is None for part in key):
                continue
            if key in seen:
                what = ", ".join(str(part) for part in key)
                expected = f"Each {', '.join(table.key)} once; row {seen[key]} has it too."
                faults.append(Fault(rows.file, line, ", ".join(table.key), what, expected))
            seen.setdefault(key, line)
    return faults


def agreement(tables: Tables, settings: Settings, catalogue: Catalogue, cards: Mapping[str, Card]) -> list[Fault]:
    """Everything that two tables must agree on."""
    first = Quarter(settings.first_quarter)
    quarters = [first + step for step in range(settings.planned_quarters + settings.lookahead_quarters)]
    faults = _horizon(settings, catalogue, first)
    faults += _in_horizon(tables, quarters)
    faults += _coverage(tables, quarters)
    faults += _lengths(tables, cards)
    faults += _curves(tables)
    faults += day_faults(tables["day_shapes"], catalogue.packaged.profiles)
    faults += mean_faults(tables["workloads"], own_days(tables["day_shapes"].rows))
    faults += _sites(tables, catalogue, first)
    faults += _owned(tables, catalogue, quarters)
    faults += _between_sites(tables, catalogue)
    faults += _second_site(tables, settings)
    faults += _second_pod(tables, settings)
    faults += rent.agreement(tables, catalogue, quarters)
    faults += orders.agreement(tables["orders"])
    faults += reservations.agreement(tables)
    return faults


def _second_site(tables: Tables, settings: Settings) -> list[Fault]:
    """A workload that survives the loss of a site is served at another one."""
    sites = sorted({str(row["site"]) for _, _, row in _rows(tables, "sites")})
    if len(sites) != 1:
        return []
    expected = f"A second site in sites.csv: without {sites[0]} nothing is left. Or none, n+1, n+2 or pod."
    return _asked(tables, settings, ResilienceKind.TWO_SITES, expected)


def _second_pod(tables: Tables, settings: Settings) -> list[Fault]:
    """A workload that survives the loss of a pod is served in another one."""
    if any(float(row["pods_max"] or 0) > 1 for _, _, row in _rows(tables, "sites")):
        return []
    expected = "pods_max of 2 or more at some site in sites.csv: without its one pod nothing is left. Or n+1 or n+2."
    return _asked(tables, settings, ResilienceKind.POD, expected)


def _asked(tables: Tables, settings: Settings, kind: ResilienceKind, expected: str) -> list[Fault]:
    """A fault wherever a case asks to survive what it cannot: in its settings, or by workload."""
    if settings.resilience == kind:
        return [Fault(FILE, 0, "resilience", kind, expected)]
    asking = [(file, line) for file, line, row in _rows(tables, "workloads") if row["resilience"] == kind]
    return [Fault(file, line, "resilience", kind, expected) for file, line in asking]


def _between_sites(tables: Tables, catalogue: Catalogue) -> list[Fault]:
    """A link leads to another site; what served before is hardware that is known."""
    faults: list[Fault] = []
    for file, line, row in _rows(tables, "links"):
        if row["from_site"] == row["to_site"]:
            expected = f"Another site than {row['from_site']}: inside a site no link is needed."
            faults.append(Fault(file, line, "to_site", str(row["to_site"]), expected))
    for file, line, row in _rows(tables, "placement"):
        known = [name for name in str(row["deployment"]).split("+") if name in catalogue.skus]
        if len(known) != len(str(row["deployment"]).split("+")):
            expected = "A GPU SKU of the catalogue or hardware.csv, by its own name; with + and the LPX SKU beside it."
            faults.append(Fault(file, line, "deployment", str(row["deployment"]), expected,
                                nearest(str(row["deployment"]), tuple(catalogue.skus))))  # fmt: skip
    return faults


def kinds(tables: Tables, catalogue: Catalogue) -> Iterable[Fault]:
    """Hardware that is known and cannot be what a table takes it for; said beside names that are not known."""
    yield from rent.kinds(tables["rent"], catalogue)
    known = catalogue.skus
    for file, line, row in _rows(tables, "pools"):
        sku = known.get(str(row.get("sku")))
        if sku is not None and sku.kind is not SkuKind.GPU:
            yield Fault(file, line, "sku", sku.name, f"A GPU SKU, which prefills or decodes; this one is {sku.kind}.")


def _horizon(settings: Settings, catalogue: Catalogue, first: Quarter) -> list[Fault]:
    named = [catalogue.sku(name) for name in settings.may_buy]
    sold = [sku for sku in named if not sku.last_order or Quarter(sku.last_order) >= first]
    if not sold:
        return []
    slowest = max(sold, key=lambda sku: sku.lead_quarters)
    needed = math.ceil(slowest.lead_quarters) + 2
    if settings.lookahead_quarters >= needed:
        return []
    expected = (
        f"{needed} or more: {slowest.name} takes {slowest.lead_quarters:g} quarters, rounded up, "
        "and two more keep late orders in sight."
    )
    return [Fault(FILE, 0, "lookahead_quarters", str(settings.lookahead_quarters), expected)]


def _rows(tables: Tables, name: str) -> Iterable[tuple[str, int, dict[str, Cell]]]:
    rows = tables[name]
    return ((rows.file, line, row) for line, row in rows.numbered)


def _in_horizon(tables: Tables, quarters: list[Quarter]) -> list[Fault]:
    first, last = quarters[0], quarters[-1]
    inside = f"A quarter of the plan and its look-ahead, {first} to {last}."
    rules: list[tuple[str, str, Callable[[Quarter], bool], str]] = [
        ("forecast", "quarter", lambda q: first <= q <= last, inside),
        ("budget", "quarter", lambda q: first <= q <= last, inside),
        ("reserved", "quarter", lambda q: first <= q <= last, inside),
        ("orders", "delivery", lambda q: first <= q <= last, f"{inside} Units that stand already belong in fleet.csv."),
        ("fleet", "in_service", lambda q: q < first, f"Before {first}; what arrives later belongs in orders.csv."),
        ("sites", "from_quarter", lambda q: q <= last, f"{last} or earlier: later limits are never used."),
        ("supply", "quarter", lambda q: q <= last, f"{last} or earlier: later deliveries are never used."),
        ("links", "from_quarter", lambda q: q <= last, f"{last} or earlier: later links are never used."),
    ]
    return [
        Fault(file, line, column, str(row[column]), expected)
        for name, column, allowed, expected in rules
        for file, line, row in _rows(tables, name)
        if row.get(column) is not None and not allowed(Quarter(str(row[column])))
    ]


def _coverage(tables: Tables, quarters: list[Quarter]) -> list[Fault]:
    faults: list[Fault] = []
    asked = {(row["workload"], str(row["quarter"])) for _, _, row in _rows(tables, "forecast")}
    for _, _, row in _rows(tables, "workloads"):
        missing = [str(q) for q in quarters if (row["workload"], str(q)) not in asked]
        if missing:
            expected = f"A row for every quarter; {_some(missing)} missing. Write 0 where nothing is asked."
            faults.append(Fault("forecast.csv", 0, "workload", str(row["workload"]), expected))
    stated = {str(row["quarter"]) for _, _, row in _rows(tables, "budget")}
    missing = [str(q) for q in quarters if str(q) not in stated]
    if stated and missing:
        faults.append(Fault("budget.csv", 0, "quarter", "", f"A row for every quarter; {_some(missing)} missing."))
    return faults


def _some(items: list[str]) -> str:
    shown = ", ".join(items[:4]) + (f" and {len(items) - 4} more" if len(items) > 4 else "")
    return f"{shown} {'is' if len(items) == 1 else 'are'}"


def _lengths(tables: Tables, cards: Mapping[str, Card]) -> list[Fault]:
    faults: list[Fault] = []
    for file, line, row in _rows(tables, "workloads"):
        limit = cards[str(row["card"])].max_context_tokens
        cap = float(row["context_cap_tokens"] or 0)
        if cap > limit:
            expected = f"{limit:,} tokens or fewer: {cards[str(row['card'])].name} holds no longer context."
            hint = "State the cap; longer requests are then compacted to it."
            faults.append(Fault(file, line, "context_cap_tokens", f"{cap:g}", expected, hint))
        mean, *quantiles = (float(row[column] or 0) for column in LENGTH_COLUMNS)
        hint = "What is left empty of mean, p50, p90 and p99 follows the scenario's shape: state all four."
        if quantiles != sorted(quantiles):
            shown = ", ".join(f"{length:g}" for length in quantiles)
            faults.append(Fault(file, line, "input_p50_tokens", shown, "p50 <= p90 <= p99.", hint))
        elif not LEAST_MEAN * quantiles[0] < mean <= quantiles[-1] * (1 + ROUNDING):
            expected = f"A mean above p50 / 10 ({LEAST_MEAN * quantiles[0]:g}) and at most p99 ({quantiles[-1]:g})."
            faults.append(Fault(file, line, "input_mean_tokens", f"{mean:g}", expected, hint))
        if float(row["shared_prefix_tokens"] or 0) >= mean:
            shown = f"{float(row['shared_prefix_tokens'] or 0):g}"
            expected = f"Shorter than the mean input, {mean:g}: the prefix is a part of it."
            faults.append(Fault(file, line, "shared_prefix_tokens", shown, expected))
        if mean + float(row["output_thinking_tokens"] or 0) + float(row["output_visible_tokens"] or 0) > cap:
            expected = f"Mean input and output within the context cap, {cap:g}."
            faults.append(Fault(file, line, "input_mean_tokens", f"{mean:g}", expected))
    return faults


def _curves(tables: Tables) -> list[Fault]:
    """Own reuse curves must rise with age, and reuse one share."""
    faults: list[Fault] = []
    rows = sorted(_rows(tables, "reuse"), key=lambda x: (str(x[2]["curve"]), float(x[2]["age_s"] or 0)))
    for (_, _, before), (file, line, row) in pairwise(rows):
        if before["curve"] != row["curve"]:
            continue
        for column, good, expected in (
            (
                "return_share",
                float(row["return_share"] or 0) >= float(before["return_share"] or 0),
                "No less than at {}.",
            ),
            (
                "reused_share",
                row["reused_share"] == before["reused_share"],
                "The same in all rows of a curve, as at {}.",
            ),
        ):
            if not good:
                where = f"{float(before['age_s'] or 0):g} s ({float(before[column] or 0):g})"
                faults.append(Fault(file, line, column, f"{float(row[column] or 0):g}", expected.format(where)))
    return faults


LASTING = (
    "power_basis",
    "pue",
    "floor_load_kg_per_m2",
    "pods_max",
    "cmx_crosses_pods",
    "electricity_usd_per_kwh",
    "space_usd_per_kw_month",
)
"""Columns of ``sites`` that a plan reads once: they cannot differ between the rows of a site."""


def _sites(tables: Tables, catalogue: Catalogue, first: Quarter) -> list[Fault]:
    faults: list[Fault] = []
    earlier: dict[str, dict[str, Cell]] = {}
    for file, line, row in sorted(_rows(tables, "sites"), key=lambda x: Quarter(str(x[2]["from_quarter"]))):
        before = earlier.setdefault(str(row["site"]), row)
        for column in LASTING:
            if row[column] != before[column]:
                expected = f"{before[column]}, as from {before['from_quarter']}: it is the same in all rows of a site."
                faults.append(Fault(file, line, column, str(row[column]), expected))
    starts: dict[str, Quarter] = {}
    floors: dict[str, float] = {}
    for _, _, row in _rows(tables, "sites"):
        site, quarter = str(row["site"]), Quarter(str(row["from_quarter"]))
        starts[site] = min(starts.get(site, quarter), quarter)
        floors[site] = max(floors.get(site, 0.0), float(row["floor_load_kg_per_m2"] or 0))
    faults += _readers_outside_pods(tables, catalogue)
    for site, start in starts.items():
        if start > first:
            expected = f"A first row at {first} or earlier."
            faults.append(Fault("sites.csv", 0, "from_quarter", f"{site}: {start}", expected))
    for name in ("fleet", "orders"):
        for file, line, row in _rows(tables, name):
            sku = catalogue.sku(str(row["sku"]))
            load = sku.weight_kg / sku.footprint_m2 if sku.footprint_m2 else 0.0
            limit = floors.get(str(row["site"]), math.inf)
            if load > limit:
                expected = f"A unit that the floor bears: {load:,.0f} kg/m2 on {limit:,.0f} at {row['site']}."
                faults.append(Fault(file, line, "sku", sku.name, expected))
    return faults


def _owned(tables: Tables, catalogue: Catalogue, quarters: list[Quarter]) -> list[Fault]:
    """Parts need their hosts, and what is reserved must be there."""
    last = quarters[-1]
    faults: list[Fault] = []
    held: dict[tuple[str, str], list[tuple[Quarter, int]]] = {}
    for name, column in (("fleet", "in_service"), ("orders", "delivery")):
        for _, _, row in _rows(tables, name):
            key = (str(row["site"]), str(row["sku"]))
            held.setdefault(key, []).append((Quarter(str(row[column])), int(row["count"] or 0)))

    def count(site: str, sku: str, quarter: Quarter) -> int:
        return sum(units for arrival, units in held.get((site, sku), []) if arrival <= quarter)

    inside: dict[tuple[str, tuple[tuple[str, float], ...]], list[str]] = {}
    for site, name in sorted(held):
        if hosts := _hosts(catalogue.sku(name), catalogue):
            inside.setdefault((site, tuple(hosts.items())), []).append(name)
    for (site, hosts_of), names in inside.items():
        for quarter in sorted({max(arrival, quarters[0]) for name in names for arrival, _ in held[site, name]}):
            parts = sum(count(site, name, quarter) for name in names)
            places = sum(each * count(site, host, quarter) for host, each in hosts_of)
            if quarter <= last and parts > places + ROUNDING:
                room = " or ".join(f"{each:g} per {host}" for host, each in hosts_of)
                expected = f"At most {room}; there are {parts} for {places:g} places in {quarter}."
                faults.append(Fault("fleet.csv, orders.csv", 0, "count", f"{', '.join(names)} at {site}", expected))
                break
    for file, line, row in _rows(tables, "reserved"):
        there = count(str(row["site"]), str(row["sku"]), Quarter(str(row["quarter"])))
        if int(row["count"] or 0) > there:
            expected = f"At most the {there} units that the fleet and firm orders have there in {row['quarter']}."
            faults.append(Fault(file, line, "count", str(row["count"]), expected))
    return faults


def _readers_outside_pods(tables: Tables, catalogue: Catalogue) -> list[Fault]:
    """What reads CMX stands in its pod, unless reads cross pods at every site."""
    if all(row["cmx_crosses_pods"] for _, _, row in _rows(tables, "sites")):
        return []
    expected = "More than 0 where cmx_read_bytes_per_s is: CMX is read within a pod. Or cmx_crosses_pods at every site."
    return [
        Fault("hardware.csv", 0, "pod_slots", f"{sku.name}: 0", expected)
        for sku in catalogue.skus.values()
        if sku.cmx_read_bytes_per_s > 0 and sku.pod_slots <= 0
    ]


def _hosts(sku: Sku, catalogue: Catalogue) -> dict[str, float]:
    """The SKUs that a part goes into and how many parts each takes; none for a unit that stands alone."""
    if sku.kind is SkuKind.SSD_KIT:
        return {sku.host: catalogue.places(catalogue.sku(sku.host))}
    if sku.kind is SkuKind.CMX_ENCLOSURE:
        return {rack.name: catalogue.places(rack) for rack in catalogue.skus.values() if rack.kind is SkuKind.CMX_RACK}
    return {}
