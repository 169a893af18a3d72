"""Every dollar of a plan, from its tables: what is paid when, and what it is worth at the start.

Nothing here knows the program: the total is compared with the solver's objective.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd

from procure.instance import Instance
from procure.plan.plan import frame
from procure.quarter import SECONDS_PER_QUARTER, Quarter
from procure.rules.payments import due_by_line
from procure.rules.worth import residual_usd, sale_usd

LINES = (
    "hardware",
    "attach",
    "installation",
    "firm orders",
    "expansions",
    "support",
    "power",
    "space",
    "sales",
    "residual value",
    "look-ahead shortfall",
)
"""Cost lines in the order of reports; sales and residual value are negative."""


class Ledger:
    """Cash by quarter position, line, site and SKU."""

    def __init__(self, instance: Instance) -> None:
        self.quarters = instance["quarters"]
        self.cash: dict[tuple[int, str, str, str], float] = defaultdict(float)

    def pay(self, t: int, line: str, site: str, sku: str, usd: float) -> None:
        """Record a payment; receipts are negative."""
        self.cash[t, line, site, sku] += usd

    def table(self) -> pd.DataFrame:
        """The plan's ``cash`` table. Residual values stand in the quarter after the last."""
        names, planned = self.quarters["quarter"].tolist(), self.quarters["planned"].tolist()
        factors = self.quarters["discount_factor"].tolist()
        step = factors[-1] / factors[-2] if len(factors) > 1 else 1.0
        names.append(str(Quarter(names[-1]) + 1))
        planned.append(0)
        factors.append(factors[-1] * step)
        rows: list[tuple[Any, ...]] = []
        for (t, line, site, sku), usd in sorted(
            self.cash.items(), key=lambda i: (i[0][0], LINES.index(i[0][1]), i[0][2:])
        ):
            if usd != 0.0:
                span = "planned" if planned[t] else "lookahead"
                rows.append((names[t], span, line, site, sku, usd, factors[t], usd * factors[t]))
        return frame("cash", rows)


def cash_table(instance: Instance, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """What a plan pays, by quarter, line, site and SKU.

    Payments fall at the start of their quarter. Reads the plan's ``purchases``, ``fleet``, ``expansions``, ``serving``,
    ``prefill`` and ``sla``.
    """
    ledger = Ledger(instance)
    position = instance.position
    _purchases(ledger, instance, tables["purchases"], position)
    _firm_orders(ledger, instance)
    for row in tables["expansions"].itertuples():
        ledger.pay(position[row.quarter], "expansions", row.site, row.expansion, row.capex_usd)
    _standing(ledger, instance, tables["fleet"], position)
    _load_power(ledger, instance, tables, position)
    _shortfall(ledger, instance, tables["sla"], position)
    return ledger.table()


def costs_table(cash: pd.DataFrame) -> pd.DataFrame:
    """Net present cost by line and span; the sum is the objective."""
    sums = cash.groupby(["line", "span"])["npv_usd"].sum()
    rows = [(line, span, float(sums.get((line, span), 0.0))) for line in LINES for span in ("planned", "lookahead")]
    return frame("costs", rows)


def _purchases(ledger: Ledger, instance: Instance, purchases: pd.DataFrame, position: dict[str, int]) -> None:
    order_share = dict(zip(instance["skus"]["sku"], instance["skus"]["milestone_order"], strict=True))
    for row in purchases.itertuples():
        ordered, delivered = position[row.quarter], position[row.delivery_quarter]
        unit_usd = (row.unit_price_usd, row.unit_attach_usd, row.unit_install_usd)
        for line, due in due_by_line(*unit_usd, order_share[row.sku]).items():
            ledger.pay(ordered, line, row.site, row.sku, row.count * due.on_order)
            ledger.pay(delivered, line, row.site, row.sku, row.count * due.on_delivery)


def _firm_orders(ledger: Ledger, instance: Instance) -> None:
    for row in instance["fixed"].itertuples():
        if row.due_usd > 0:
            ledger.pay(int(row.due_t), "firm orders", row.site, row.sku, row.count * row.due_usd)


def _standing(ledger: Ledger, instance: Instance, fleet: pd.DataFrame, position: dict[str, int]) -> None:
    """Support, idle power, space, sales and residual values, by vintage."""
    start = Quarter(instance.quarters[0]).index
    fixed = {(r.site, r.sku, r.origin, r.vintage_t): r for r in _by_origin(instance["fixed"]).itertuples()}
    bought = {(r.sku, r.t): r for r in instance["prices"].itertuples()}
    sku_of = {r.sku: r for r in instance["skus"].itertuples()}
    upkeep = {(r.site, r.sku): r for r in instance["upkeep"].itertuples()}
    end = len(position)
    for row in fleet.itertuples():
        t, vintage = position[row.quarter], Quarter(row.vintage).index - start
        if row.origin == "purchase":
            paid, support = bought[row.sku, vintage].price_usd, bought[row.sku, vintage].support_usd_per_quarter
        else:
            group = fixed[row.site, row.sku, row.origin, vintage]
            paid, support = group.paid_usd, group.support_usd_per_quarter
        keep = upkeep[row.site, row.sku]
        ledger.pay(t, "support", row.site, row.sku, row.closing * support)
        ledger.pay(t, "power", row.site, row.sku, row.closing * keep.idle_usd_per_quarter)
        ledger.pay(t, "space", row.site, row.sku, row.closing * keep.space_usd_per_quarter)
        sku = sku_of[row.sku]
        ledger.pay(t, "sales", row.site, row.sku, -row.retired * sale_usd(paid, t - vintage, sku))
        if t == end - 1:
            ledger.pay(end, "residual value", row.site, row.sku, -row.closing * residual_usd(paid, end - vintage, sku))


def _by_origin(fixed: pd.DataFrame) -> pd.DataFrame:
    """Fleet and firm orders with their origin as a column."""
    return fixed.assign(origin=fixed["group"].str.split("-").str[0])


def _load_power(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame], position: dict[str, int]) -> None:
    """Power above idle of busy racks at their mean load, by kind of work."""
    decode = {(r.site, r.sku): r.decode_usd_per_quarter for r in instance["upkeep"].itertuples()}
    prefill = {(r.site, r.sku): r.prefill_usd_per_quarter for r in instance["upkeep"].itertuples()}
    mean = {(r.t, r.workload, r.bucket): r.mean_per_peak for r in instance["rates"].itertuples()}
    partner = dict(zip(instance["serve"]["point"], instance["serve"]["lpx_sku"], strict=True))
    for row in tables["serving"].itertuples():
        t = position[row.quarter]
        share = mean[t, row.workload, row.bucket]
        ledger.pay(t, "power", row.site, row.sku, row.racks * share * decode[row.site, row.sku])
        if row.lpx_racks:
            lpx = partner[row.point]
            ledger.pay(t, "power", row.site, lpx, row.lpx_racks * share * decode[row.site, lpx])
    for row in tables["prefill"].itertuples():
        t = position[row.quarter]
        usd = row.racks * mean[t, row.workload, row.bucket] * prefill[row.site, row.sku]
        ledger.pay(t, "power", row.site, row.sku, usd)


def _shortfall(ledger: Ledger, instance: Instance, sla: pd.DataFrame, position: dict[str, int]) -> None:
    """The stated price of requests not served in look-ahead quarters."""
    planned = dict(zip(instance["quarters"]["t"], instance["quarters"]["planned"], strict=True))
    price = {(r.t, r.workload): r.usd_per_request for r in instance["short_prices"].itertuples()}
    requests: dict[tuple[int, str], float] = defaultdict(float)
    for r in instance["rates"].itertuples():
        requests[r.t, r.workload] += r.requests_per_s * r.mean_per_peak * SECONDS_PER_QUARTER
    for row in sla.itertuples():
        t = position[row.quarter]
        if not planned[t] and row.short_share > 0:
            usd = row.short_share * requests[t, row.workload] * price[t, row.workload]
            ledger.pay(t, "look-ahead shortfall", "", row.workload, usd)
