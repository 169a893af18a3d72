"""A small plan made by hand: 14 quarters (8 planned), two sites, four SKUs, money that follows from the orders."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pandas as pd
import pytest

from procure.plan import Plan
from procure.plan.plan import frame
from procure.plan.summary import EARLIER
from procure.plan.tables import TABLES
from procure.quarter import Quarter
from procure.timekey import BASE, PEAK

QUARTERS = [str(Quarter("2027Q1") + i) for i in range(14)]
PLANNED = 8
END = len(QUARTERS)  # position of the quarter after the last, where residual values stand
RATE = 0.1
PRICES = {"vr-nvl72": (7e6, 924e3, 60e3), "lpx": (5e6, 2e5, 3e4), "cmx-rack": (0.0, 5e5, 1e4)}
EXISTING = {("dfw", "gb200-nvl72"): 12, ("osl", "gb200-nvl72"): 6}
LEAD = 3
ORDERS = [  # order quarter, site, SKU, units
    (0, "dfw", "vr-nvl72", 4), (2, "osl", "vr-nvl72", 3), (2, "dfw", "cmx-rack", 1), (4, "dfw", "vr-nvl72", 5),
    (5, "osl", "lpx", 4), (9, "dfw", "vr-nvl72", 2),
]  # fmt: skip
EXPANSION = (2, "dfw", "east wing", 2, 3e6)  # order quarter, site, name, count, USD each
SALE = (6, "osl", "gb200-nvl72", "fleet", "2025Q4", 2, 8, 7, 8e5, 5e4, 1.75e6)
"""Quarter, site, SKU, origin, vintage, units, money in, places free in; price, removal and book value of one, USD."""
SHARE_AT_ORDER = {"vr-nvl72": 0.2, "lpx": 0.3, "cmx-rack": 0.2}
POWER_KW = {"vr-nvl72": 242.0, "lpx": 160.0, "cmx-rack": 25.0, "gb200-nvl72": 139.0}


def span(t: int) -> str:
    return "planned" if t < PLANNED else "lookahead"


def factor(t: float) -> float:
    return (1 + RATE) ** (-t / 4)


def _units() -> dict[tuple[str, str, str, str], list[tuple[float, float, float, float]]]:
    """Opening, delivered, retired, closing by (site, SKU, origin, vintage); osl retires two old racks in quarter 6."""
    made = {}
    for (site, sku), count in EXISTING.items():
        rows, stock = [], float(count)
        for t in range(len(QUARTERS)):
            gone = 2.0 if (site, t) == ("osl", 6) else 0.0
            rows.append((stock, 0.0, gone, stock - gone))
            stock -= gone
        made[site, sku, "fleet", "2025Q4"] = rows
    arrivals = [(t + LEAD, site, sku, n, "purchase") for t, site, sku, n in ORDERS]
    for arrival, site, sku, n, origin in [*arrivals, (1, "dfw", "vr-nvl72", 2, "order")]:
        made[site, sku, origin, QUARTERS[arrival]] = [
            (
                0.0 if t <= arrival else float(n),
                float(n) if t == arrival else 0.0,
                0.0,
                float(n) if t >= arrival else 0.0,
            )
            for t in range(len(QUARTERS))
        ]
    return made


def make_plan(rename: Callable[[str], str] = lambda name: name, price_factor: float = 1.0, **summary: Any) -> Plan:
    """The plan; ``rename`` changes every name of a site, SKU, workload and premise; prices times ``price_factor``."""
    quarter = dict(enumerate(QUARTERS))
    purchases, cash, powers, fleet = [], [], {}, []
    for t, site, sku, n in ORDERS:
        price, attach, install = (p * price_factor for p in PRICES[sku])
        m = SHARE_AT_ORDER[sku]
        purchases.append((quarter[t], site, sku, n, span(t), quarter[t + LEAD], price, attach, install,
                          n * (price + attach + install)))  # fmt: skip
        for line, usd in (("hardware", price), ("attach", attach)):
            cash.append((t, line, site, sku, n * m * usd))
            cash.append((t + LEAD, line, site, sku, n * (1 - m) * usd))
        cash.append((t + LEAD, "installation", site, sku, n * install))
        cash.append((END, "residual value", site, sku, -0.3 * n * price))
    cash.append((EXPANSION[0], "expansions", *EXPANSION[1:3], EXPANSION[3] * EXPANSION[4]))
    cash.append((1, "firm orders", "dfw", "vr-nvl72", 2 * 5e6))
    for (site, sku, origin, vintage), rows in _units().items():
        for t, row in enumerate(rows):
            fleet.append((quarter[t], site, sku, origin, vintage, *row))
            powers[t, site] = powers.get((t, site), 0.0) + row[3] * POWER_KW[sku]
            cash.append((t, "power", site, sku, row[3] * POWER_KW[sku] * 2190 * 0.07))
    sold, site, sku, origin, vintage, n, received, freed, price, removal, books = SALE
    net = n * (price - removal)
    cash += [(received, "sales", site, sku, -n * price), (sold, "removal of sold units", site, sku, n * removal)]
    sale = (quarter[sold], site, sku, origin, vintage, n, span(sold), quarter[received], quarter[freed], price, removal,
            net, books, n * books - net)  # fmt: skip
    made: dict[str, pd.DataFrame] = {
        "sales": frame("sales", [sale]),
        "purchases": frame("purchases", purchases),
        "fleet": frame("fleet", fleet),
        "cash": _cash(cash),
        "expansions": frame(
            "expansions", [(QUARTERS[EXPANSION[0]], *EXPANSION[1:4], "planned", EXPANSION[3] * EXPANSION[4], "")]
        ),
    }
    costs = made["cash"].groupby(["line", "span"], as_index=False)["npv_usd"].sum()
    made["costs"] = costs[["line", "span", "npv_usd"]]
    made["limits"] = _limits(quarter, powers)
    made |= _service(quarter, 0.05 if summary.get("status") == "short" else 0.0)
    made["premises"] = frame("premises", [
        ("case/discount_rate_per_year", RATE, "per year", 0.08, 0.12, "assumption", "treasury", "2026-11", ""),
        ("vr-nvl72 price_usd", 7e6, "USD", 6e6, 8e6, "analyst", "an analyst's note", "2026-09", "level of 2026Q4"),
        ("kv_format", "fp8", "", None, None, "user", "case", "", ""),
    ])  # fmt: skip
    made["checks"] = frame("checks", [("power within limits", True, "28 rows"), ("money adds up", True, "")])
    for name in TABLES:
        made.setdefault(name, frame(name, []))
    for table in made.values():
        for column in set(table.columns) & {"site", "sku", "workload", "deployment", "item", "expansion"}:
            table[column] = [rename(str(v)) for v in table[column]]
    objective = float(made["costs"]["npv_usd"].sum())
    facts = {"case": rename("by-hand"), "status": "optimal", "objective_usd": objective, "bound_usd": objective * 0.997,
             "gap": 0.003,
             "shortfall": {"share": 0.006 if summary.get("status") == "short" else 0.0, "bound": 0.0, "workloads": [],
                           "lookahead_workloads": []},
             "input_hash": "abc123",
             "planned_quarters": QUARTERS[:PLANNED], "lookahead_quarters": QUARTERS[PLANNED:],
             "versions": {"procure": "0.1.0", "highspy": "1.16.0"},
             "seconds": {"solve": 12.0}, "evidence": {"money": {"analyst": 0.7, "assumption": 0.3}}}  # fmt: skip
    bought = made["purchases"]
    facts["purchases"] = bought.loc[bought["span"] == "planned", ["quarter", "site", "sku", "count"]].to_dict("records")
    return Plan({**deepcopy(EARLIER), **facts, **summary}, made)


def _cash(flows: list[tuple]) -> pd.DataFrame:
    """The table of flows of (position, line, site, SKU, USD), alike ones summed."""
    totals: dict[tuple, float] = {}
    for *key, usd in flows:
        totals[tuple(key)] = totals.get(tuple(key), 0.0) + usd
    names = [*QUARTERS, str(Quarter(QUARTERS[-1]) + 1)]
    return frame("cash", [
        (names[t], span(t), line, site, sku, usd, factor(t), usd * factor(t))
        for (t, line, site, sku), usd in sorted(totals.items())
    ])  # fmt: skip


def _limits(quarter: dict[int, str], powers: dict[tuple[int, str], float]) -> pd.DataFrame:
    most = {"dfw": 6_000.0, "osl": 2_000.0}
    rows = [("power", quarter[t], site, "facility", kw, most[site], most[site] - kw, "kW", kw > 0.9 * most[site])
            for (t, site), kw in sorted(powers.items())]  # fmt: skip
    rows += [("positions", q, "dfw", "hall", 20.0 + t, 60.0, 40.0 - t, "positions", False)
             for t, q in enumerate(QUARTERS)]  # fmt: skip
    rows += [("ports", q, "osl", "", 3.0, float("inf"), float("inf"), "ports", False) for q in QUARTERS]
    return frame("limits", [(*row, BASE, PEAK) for row in rows])


def _service(quarter: dict[int, str], unserved: float) -> dict[str, pd.DataFrame]:
    sla, serving, prefill, kv, demand = [], [], [], [], []
    for t, q in quarter.items():
        for workload, base, short in (("chat", 100.0, 0.0), ("agentic coding", 20.0, unserved if t == 3 else 0.0)):
            rate = base * 1.05**t
            served = rate * (1 - short)
            sla.append(
                (
                    q,
                    workload,
                    rate,
                    1 - short,
                    short,
                    "inside lead time" if short else "",
                    2.0,
                    0.93,
                    20.0,
                    None,
                    0.0,
                    0.0,
                    0.9,
                    1.8,
                )
            )
            for site, part in (("dfw", 0.6), ("osl", 0.4)):
                for bucket, weight in (("short", 0.7), ("long", 0.3)):
                    amount = served * part * weight
                    serving.append((q, site, workload, bucket, "gb200-nvl72", "gb200-nvl72", amount, amount / 20, 0.0,
                                    0.0, 0.9, "measured", "p1"))  # fmt: skip
                    prefill.append((q, site, workload, bucket, "gb200-nvl72", "gb200-nvl72", "recompute", amount / 2,
                                    amount / 60))  # fmt: skip
                    prefill.append((q, site, workload, bucket, "gb200-nvl72", "gb200-nvl72", "ssd", amount / 2,
                                    amount / 200))  # fmt: skip
                for tier, size in (("hbm", 4e12), ("ssd", 9e13), ("cmx", 6e14 if t > 5 and site == "dfw" else 0.0)):
                    kv.append(
                        (q, site, workload, tier, tier, size * 1.03**t * part, served * part / 3, 3e9, 1e9, 3600.0)
                    )
            for bucket, tokens in (("short", 2_000), ("long", 40_000)):
                demand.append((q, workload, bucket, rate / 2, tokens, 2 * tokens, 200, 300, tokens * 4e4))
    return {
        "sla": frame("sla", [(*row, BASE, PEAK) for row in sla]),
        "serving": frame("serving", [(*row, BASE, PEAK) for row in serving]),
        "prefill": frame("prefill", [(*row, BASE, PEAK) for row in prefill]),
        "kv_placement": frame("kv_placement", [(*row, BASE, PEAK) for row in kv]),
        "demand": frame("demand", [(*row, BASE, PEAK) for row in demand]),
    }


@pytest.fixture(scope="session")
def plan() -> Plan:
    return make_plan()


@pytest.fixture(scope="session")
def build_plan() -> Callable[..., Plan]:
    return make_plan
