"""What happened against what the plan had said: fleet, orders, sales and forecast of the quarter that passed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.plan.tables import Sold
from procure.quarter import Quarter
from procure.timekey import grouped, totals

if TYPE_CHECKING:
    from procure.case import Case
    from procure.plan.plan import Plan

COLUMNS = ("topic", "site", "item", "planned", "actual", "detail")
Difference = tuple[str, str, str, str, str, str]
"""Cells of :data:`COLUMNS`."""


def fleet_differences(planned: pd.DataFrame, actual: pd.DataFrame) -> list[Difference]:
    """Per SKU and site: units of table ``fleet`` that are more or fewer than planned."""
    return [
        ("fleet", site, sku, f"{a:g}", f"{b:g}", f"{abs(b - a):g} {'more' if b > a else 'fewer'} than planned")
        for (site, sku), a, b in _counts(planned, actual, ["site", "sku"])
        if a != b
    ]


def order_differences(planned: pd.DataFrame, actual: pd.DataFrame) -> list[Difference]:
    """Per SKU and site, of table ``orders``: orders that come later (slips), that are gone, or that are new."""
    rows = []
    for (site, sku), a, b in _counts(planned, actual, ["site", "sku"]):
        due = _by_delivery(planned, site, sku)
        now = _by_delivery(actual, site, sku)
        if due == now:
            continue
        if a == b:
            late = sum(Quarter(q).index * n for q, n in now.items()) - sum(Quarter(q).index * n for q, n in due.items())
            detail = f"slips by {late / a:.2g} quarters on average" if late > 0 else "comes earlier"
        else:
            detail = f"{abs(b - a):g} units {'more' if b > a else 'fewer'} on order than planned"
        rows.append(("orders", site, sku, _words(due), _words(now), detail))
    return rows


def _counts(planned: pd.DataFrame, actual: pd.DataFrame, key: list[str]) -> list[tuple[Any, float, float]]:
    sums = [totals(table, key, "count") if len(table) else {} for table in (planned, actual)]
    keys: list[Any] = sorted({*map(tuple, sums[0]), *map(tuple, sums[1])})
    return [(k, float(sums[0].get(k, 0)), float(sums[1].get(k, 0))) for k in keys]


def _by_delivery(table: pd.DataFrame, site: str, sku: str) -> dict[str, float]:
    rows = table[(table["site"] == site) & (table["sku"] == sku)] if len(table) else table
    return {str(q): float(n) for q, n in totals(rows, ["delivery"], "count").items()} if len(rows) else {}


def _words(due: dict[str, float]) -> str:
    return ", ".join(f"{count:g} in {quarter}" for quarter, count in sorted(due.items())) or "none"


def forecast_differences(case: Case, forecast: pd.DataFrame) -> list[Difference]:
    """Workloads whose peak in the quarters that both forecasts have has moved, by its mean."""
    if "peak_requests_per_s" not in forecast:
        return []
    old = case.tables["forecast"][["quarter", "workload", "peak_requests_per_s"]]
    both = old.merge(forecast, on=["quarter", "workload"], suffixes=("", "_new"))
    rows = []
    for workload, part in grouped(both, ["workload"]):
        before = float(part["peak_requests_per_s"].astype(float).mean())
        now = float(pd.to_numeric(part["peak_requests_per_s_new"], errors="coerce").mean())
        if before > 0 and now != before and not math.isnan(now):
            detail = f"mean peak of the quarters in both forecasts, {now / before - 1:+.1%}"
            rows.append(("forecast", "", str(workload), f"{before:,.4g}", f"{now:,.4g}", detail))
    return rows


def sales_told(plan: Plan, first: Quarter) -> list[Difference]:
    """What the first quarter sold: its money, and its places where they are free only after the new first quarter."""
    rows = []
    for r in plan.rows(Sold):
        if r.quarter != str(first):
            continue
        usd, received = r.count * r.unit_price_usd, Quarter(r.received_quarter)
        if received > first:
            detail = f"{r.count:g} sold: {usd:,.0f} USD to be received in {received} are not in the new case's cost"
            rows.append(("sales", r.site, r.sku, f"{r.count:g}", f"{r.count:g}", detail))
        if (freed := Quarter(r.freed_quarter)) > first + 1:
            detail = f"{r.count:g} sold take their places until {freed}: lower the site's limits before it"
            rows.append(("sales", r.site, r.sku, f"{r.count:g}", f"{r.count:g}", detail))
    return rows
