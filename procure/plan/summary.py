"""The summary of a plan, ``plan.json``: its fields, and its one reader."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from types import UnionType
from typing import Any, TypedDict, cast, get_args, get_origin, get_type_hints, is_typeddict

from procure.check.day import CoincidentPeak
from procure.errors import Fault, InputError, guard_reader
from procure.plan.placement import Placed
from procure.plan.provenance import Premises, Provenance
from procure.plan.status import Status
from procure.plan.uncounted import Uncounted
from procure.quarter import Quarter
from procure.rules.objective import Objective

RESULT = "plan.json"
"""The listing of a result folder."""


class Order(TypedDict):
    """Units of a SKU that are ordered in a quarter for a site."""

    quarter: str
    site: str
    sku: str
    count: int


class Sale(Order):
    """Units of a SKU that are sold: what they bring, removal taken off, and what that loses against the books."""

    net_usd: float
    book_loss_usd: float


class RentOrder(Order):
    """Units of a SKU that are rented: the offer, the quarters of use, and all that is paid for them."""

    offer: str
    first_quarter: str
    last_quarter: str
    rent_usd: float


class ChangedFirmOrder(Order):
    """Units of a firm order that are cancelled or deferred: of how many, agreed for when, and the fee for all."""

    change: str
    ordered: int
    delivery_quarter: str
    deferred_quarters: int
    fee_usd: float


class Short(TypedDict):
    """A workload of which a share of its requests is not served in a quarter, and why."""

    quarter: str
    workload: str
    share: float
    cause: str


class Shortfall(TypedDict):
    """What is not served: the weighted share of planned demand, its proven bound, and by workload."""

    share: float
    bound: float
    workloads: list[Short]
    lookahead_workloads: list[Short]


class Added(TypedDict, total=False):
    """What ``plan.json`` holds where there is something to say."""

    mps_scale: float
    """USD per unit of money of the MPS file that was written beside."""
    placement: Placed
    """Where the service was asked to stay (``placement_tolerance``): what moves, and what is given up for it."""
    coincident_peak: CoincidentPeak
    """Where all work is sized at one coincident peak and by clock hour less would do: how much at most."""
    uncounted: list[Uncounted]
    """By pool, how many units more whole instances would take at most; results of earlier releases lack it."""
    files: dict[str, str]
    """SHA-256 of every file of the result."""


class Summary(Added):
    """Content of ``plan.json``. USD, shares as fractions, seconds."""

    case: str
    case_folder: str | None
    status: str
    objective_usd: float
    bound_usd: float | None
    gap: float | None
    standing_usd: float | None
    """Net present cost of what stands and is on firm order, were nothing sold: no decision moves it."""
    objective: str
    """What the plan is chosen by (:class:`procure.rules.objective.Objective`)."""
    gap_asked: float
    method: str
    seed: int
    threads: int
    shortfall: Shortfall
    planned_quarters: list[str]
    lookahead_quarters: list[str]
    discount_rate_per_year: float
    purchases: list[Order]
    """Of planned quarters."""
    sales: list[Sale]
    """Of planned quarters."""
    rents: list[RentOrder]
    """Of planned quarters."""
    order_changes: list[ChangedFirmOrder]
    """By quarter of the notice."""
    versions: dict[str, str]
    input_hash: str
    instance_hash: str
    """SHA-256 of the coefficients that the plan was found with."""
    provenance: Provenance
    premises: Premises
    unit_costs: dict[str, dict[str, float | None]]
    cost_warnings: list[str]
    demand_notes: list[str]
    defaults_used: list[str]
    doubts: list[str]
    evidence: dict[str, dict[str, float]]
    extrapolation: dict[str, float]
    """Share of decode rack-seconds by distance from the nearest measurement, and of points without a low end."""
    points: str
    """End of the points' band that was planned with: low, base or high."""
    seconds: dict[str, float]
    """By phase of the run."""


def gap_of_decided(cost: float, bound: float, standing: float) -> float:
    """(cost − bound) over the size of what decisions move of the cost, which is all but what stands; never negative.

    All in one unit of money. A gap relative to the whole cost looks wide where the worth of an old fleet makes up for
    most of it, and narrow where firm orders are most of it.
    """
    return max(0.0, cost - bound) / max(abs(cost - standing), 1e-9)


EARLIER: dict[str, Any] = {
    "case": "",
    "case_folder": None,
    "standing_usd": None,
    "objective": "min_cost",
    "gap_asked": 0.0,
    "method": "",
    "seed": 0,
    "threads": 0,
    "discount_rate_per_year": 0.0,
    "sales": [],
    "rents": [],
    "order_changes": [],
    "versions": {},
    "instance_hash": "",
    "provenance": {"made": "", "hashes": {}, "telemetry": []},
    "premises": {"count": 0, "by_kind": {}, "with_band": 0},
    "unit_costs": {},
    "cost_warnings": [],
    "demand_notes": [],
    "defaults_used": [],
    "doubts": [],
    "evidence": {},
    "extrapolation": {},
    "points": "base",
    "seconds": {},
}
"""Fields that results of earlier releases may lack, and what is read then; verification says what is missing."""


def read_summary(file: Path) -> Summary:
    """The summary in a ``plan.json``.

    Raises:
        InputError: it cannot be read, or holds what a summary does not, with every field that is wrong.
    """
    with guard_reader(str(file), "A result folder of procure is needed."):
        content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        expected = "The summary of a plan: an object with status and objective_usd."
        raise InputError([Fault(str(file), 0, "", str(content)[:40], expected)])
    summary = {**deepcopy(EARLIER), **content}
    faults = [
        Fault(str(file), 0, key, str(summary.get(key, ""))[:40], WORDS.get(key, f"What a plan states as {key}."), HINT)
        for key, kind in get_type_hints(Summary).items()
        if _wrong(key, kind, summary)
    ]
    if faults:
        raise InputError(faults)
    return cast(Summary, summary)


HINT = "It was changed since the plan was made; solve the case again."
WORDS = {
    "status": f"One of {', '.join(Status)}.",
    "objective": f"One of {', '.join(Objective)}.",
    "objective_usd": "A number in USD.",
    "bound_usd": "A number in USD, or null.",
    "gap": "A number, or null.",
    "standing_usd": "A number in USD.",
    "shortfall": "An object with share and workloads.",
    "planned_quarters": "A list of quarters such as 2027Q1.",
    "lookahead_quarters": "A list of quarters such as 2027Q1.",
    "purchases": "A list of orders with quarter, site, sku and count.",
    "sales": "A list of sales with quarter, site, sku, count, net_usd and book_loss_usd.",
    "rents": "A list of rents with quarter, site, sku, count, offer, first_quarter, last_quarter and rent_usd.",
    "order_changes": "A list of changes with quarter, site, sku, count, change, ordered, delivery_quarter, "
    "deferred_quarters and fee_usd.",
    "input_hash": "The hash of the inputs.",
}
"""What fields hold, for a reader of faults."""


def _wrong(key: str, kind: Any, summary: dict[str, Any]) -> bool:
    """Whether a field is missing, of another kind, or states what its kind alone does not rule out."""
    if key not in summary:
        return key in Summary.__required_keys__
    value = summary[key]
    if not _fits(value, kind):
        return True
    if key in ("status", "objective"):
        return value not in list(Status if key == "status" else Objective)
    if key.endswith("_quarters"):
        return not all(map(is_quarter, value)) or (key == "planned_quarters" and not value)
    return False


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value read from JSON is of a kind that a summary is made of."""
    inner = get_args(kind)
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        return isinstance(value, dict) and all(key in value and _fits(value[key], hints[key]) for key in hints)
    if isinstance(kind, UnionType):
        return any(_fits(value, each) for each in inner)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(each, inner[0]) for each in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(_fits(each, inner[1]) for each in value.values())
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def is_quarter(text: str) -> bool:
    """Whether a text names a quarter."""
    try:
        Quarter(text)
    except ValueError:
        return False
    return True
