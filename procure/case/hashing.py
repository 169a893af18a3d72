"""The hash by which a plan knows its inputs: what the case states, and of the packaged data what the case uses.

Packaged rows that no plan of the case reads are left out, so that a new SKU, scenario or curve leaves stored plans
valid. A test changes everything that is left out and holds that no coefficient moves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from procure.catalogue import Fact
from procure.catalogue.fact import packaged_rows
from procure.sizing import card_files

if TYPE_CHECKING:
    import pandas as pd

    from procure.case.case import Case

NO_EFFECT = ("name", "description")
"""Settings that do not change a plan."""
STATES = ("bf16", "fp32")
"""Encodings that sizing reads by name: states and short convolutions of the formula convention."""


def hash_inputs(case: Case) -> str:
    """SHA-256 over settings, tables (in any row order), the cards used by content, and the packaged data used."""
    cards = {name: _card(name) for name in case.cards}
    content = {
        "settings": {k: v for k, v in case.settings.model_dump().items() if k not in NO_EFFECT},
        "tables": {
            name: _records(frame, cards if name == "workloads" else {})
            for name, frame in case.tables.items()
            if name != "sources"
        },
        "catalogue": _catalogue(case),
        "premises": _premises(case),
        "packaged": {**_demand(case), **_formats(case), **_performance(case)},
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _records(frame: pd.DataFrame, cards: Mapping[str, str]) -> list[str]:
    """Rows as text, sorted; a card by its content, so that its place does not matter."""
    records = frame.to_dict("records")
    for record in records:
        if cards:
            record["card"] = cards[record["card"]]
    return sorted(json.dumps(record, sort_keys=True, default=str) for record in records)


def _skus(case: Case) -> set[str]:
    """SKUs that stand, are on order or may be bought, and the drives that go into them."""
    named = {*case.tables["fleet"]["sku"], *case.tables["orders"]["sku"], *case.settings.may_buy}
    used = {case.catalogue.sku(name).name for name in named}
    return used | {sku.name for sku in case.catalogue.skus.values() if sku.kind == "ssd_kit" and sku.host in used}


def _catalogue(case: Case) -> dict[str, Any]:
    """Facts of the SKUs used and of their classes, their prices in every quarter, and how a CMX rack is filled."""
    used = _skus(case)
    named = used | {case.catalogue.sku(name).depreciation_class for name in used}
    facts = {f"{sku}/{a}": _fact(fact) for (sku, a), fact in case.catalogue.facts.items() if sku in named}
    prices = {
        f"{sku}/{quarter}": _fact(case.catalogue.price_fact(sku, quarter)) for sku in used for quarter in case.quarters
    }
    return {"facts": facts, "prices": prices, "frame": _fact(case.catalogue.fact("cmx-rack", "enclosures_per_rack"))}


def _premises(case: Case) -> dict[str, Any]:
    """Premises behind the defaults used, and the factor behind the percentile of TPS/User."""
    found = dict(case.premises)
    tail = ("performance", f"tps_p{case.settings.tps_percentile:g}_over_median")
    if tail in case.catalogue.premises:
        found["/".join(tail)] = case.catalogue.premises[tail]
    return {name: _fact(fact) for name, fact in found.items()}


def _fact(fact: Fact) -> list[Any]:
    return list(astuple(fact))


def _demand(case: Case) -> dict[str, Any]:
    """Rows of the scenarios and of the packaged reuse curves that workloads name."""
    workloads = case.tables["workloads"]
    scenarios = set(workloads["scenario"])
    curves = {str(name).partition(":")[0] for name in workloads["reuse_curve"].dropna()}
    found = {f"scenarios/{name}": _rows(f"scenarios/{name}", "scenario", scenarios) for name in _SCENARIO_FILES}
    return found | {f"reuse/{name}": _rows(f"reuse/{name}", "curve", curves) for name in ("curves.csv", "sources.csv")}


_SCENARIO_FILES = ("scenarios.csv", "sla.csv", "profiles.csv")


def _formats(case: Case) -> dict[str, Any]:
    """The KV formats, weight precisions and states used, and the encodings that they are made of."""
    workloads = case.tables["workloads"]
    mixtures = [str(spec).strip().lower().split("+") for spec in workloads["kv_format"]]
    found = {
        "formats.csv": _rows("kv_formats/formats.csv", "format", {base for base, *_ in mixtures}),
        "weights.csv": _rows("kv_formats/weights.csv", "precision", set(workloads["weight_precision"])),
        "conventions.csv": _rows("kv_formats/conventions.csv", "convention", {"formula"}),
    }
    encodings = {cell for rows in found.values() for row in rows for cell in row.values()} | set(STATES)
    encodings |= {change.partition("=")[2] for _, *changes in mixtures for change in changes}
    found["encodings.csv"] = _rows("kv_formats/encodings.csv", "encoding", encodings)
    return {f"kv_formats/{name}": rows for name, rows in found.items()}


def _performance(case: Case) -> dict[str, Any]:
    """Measured curves of the SKUs and cards used, and the physics behind every point."""
    cards, skus = {card.name for card in case.cards.values()}, _skus(case)
    found = {}
    for (group, name), fact in case.catalogue.premises.items():
        sku, card, *_ = [*name.split("/"), ""]
        if group in PERFORMANCE and (group != "curve" or (sku in skus and card in cards)):
            found[f"{group}/{name}"] = _fact(fact)
    return found


PERFORMANCE = ("physics", "queue", "software", "bring_up", "band", "lpx", "curve")
"""Groups of premises that operating points rest on; factors of single frameworks are not among them."""


def _rows(name: str, column: str, wanted: Collection[str]) -> list[dict[str, str]]:
    """Rows of a packaged table under ``data`` whose column holds one of the names."""
    return [row for row in _table(name) if row[column] in wanted]


@cache
def _table(name: str) -> tuple[dict[str, str], ...]:
    return tuple(packaged_rows(name.removesuffix(".csv")))


def _card(name: str) -> str:
    """A card by the content of what it is read from: its file, and the base that it changes."""
    digests = [_digest(path) for path in card_files(name)]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
