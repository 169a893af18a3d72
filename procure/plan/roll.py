"""The case of the next quarter: what was planned has happened, or what happened instead is stated."""

from __future__ import annotations

import math
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.case.orders import TERMS
from procure.case.schema import Fleet, Order, Placed, Rent, Rented, Reserved, Workload
from procure.csvtext import guarded
from procure.demand import build
from procure.demand.reuse import curves_of
from procure.files import fill_folder
from procure.plan import roll_reservations
from procure.plan.happened import (
    COLUMNS,
    Difference,
    fleet_differences,
    forecast_differences,
    order_differences,
    sales_told,
)
from procure.plan.tables import Batch, ChangedOrder, ExpansionOrder, Purchase, UnitRent
from procure.quarter import Quarter
from procure.rules.payments import paid_share
from procure.schema import OrderChange, Origin, Resource
from procure.timekey import grouped, summed, totals

if TYPE_CHECKING:
    from procure.case import Case
    from procure.plan.plan import Plan

PREVIOUS = "previous"
"""Folder of the rolled case that keeps the plan it came from."""


@dataclass
class Rolled:
    """The case of the next quarter, and what differs from what the plan had said."""

    case: Case
    rows: list[Difference] = field(default_factory=list)

    @property
    def differences(self) -> pd.DataFrame:
        """Columns: topic, site, item, planned, actual, detail."""
        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    def write(self, folder: Path, result: Path) -> None:
        """Write the case, the differences, and the old plan under ``previous``.

        Raises:
            InputError: the folder holds something.
        """

        def make(fresh: Path) -> None:
            self.case.write(fresh)
            kept = fresh / PREVIOUS
            kept.mkdir()
            shutil.copyfile(result / "plan.json", kept / "plan.json")
            shutil.copytree(result / "tables", kept / "tables")
            guarded(self.differences).to_csv(kept / "differences.csv", index=False)

        fill_folder(folder, make)


def roll(
    case: Case,
    plan: Plan,
    forecast: pd.DataFrame,
    *,
    actual_fleet: pd.DataFrame | None = None,
    actual_orders: pd.DataFrame | None = None,
    workloads: pd.DataFrame | None = None,
) -> Rolled:
    """The case one quarter later.

    - The fleet is what the plan holds at the end of its first quarter, or ``actual_fleet``.
    - What the first quarter sells is gone; money still to come, and places not yet free, are told.
    - Firm orders are those still on the way and those that the plan places in its first quarter, or ``actual_orders``.
    - What the plan cancels of firm orders is gone; what it defers is on order for then, and cannot be changed again.
    - Rented units of the plan that stand after the first quarter, or were ordered in it, are rented for what is left of
      their term; offers that have ended are gone.
    - Expansions decided in the first quarter become limits of their site once they are ready.
    - Lengths, outputs and caps move along their growth by one quarter, reuse with them, unless ``workloads`` is given.
    - With ``placement_tolerance`` the service of the first quarter is where the next one's begins.
    - Unspent budget is carried as the case says; budget and reserved units of the new last quarter repeat those of
      the one before.

    Everything that differs from the plan, and everything assumed here, is listed.

    Args:
        case: the case that the plan answers.
        plan: the plan.
        forecast: the new forecast table, for the quarters from the second planned one on and one more at the end.
        actual_fleet: table ``fleet`` as it stands at the end of the first quarter.
        actual_orders: table ``orders`` as it stands then.
        workloads: table ``workloads`` for the new case.

    Raises:
        InputError: a table that does not fit.
    """
    first = case.quarters[0]
    following, last = first + 1, case.quarters[-1]
    notes: list[Difference] = []
    tables = case.given_tables | {"forecast": forecast}
    fleet = _fleet(case, plan, first)
    orders = _orders(case, plan, first, notes)
    tables["fleet"] = fleet if actual_fleet is None else actual_fleet
    tables["orders"] = orders if actual_orders is None else _summed(actual_orders)
    if actual_fleet is not None:
        notes += fleet_differences(fleet, actual_fleet)
    if actual_orders is not None:
        notes += order_differences(orders, actual_orders)
    tables |= _expanded(case, plan, first, notes)
    tables |= roll_reservations.rolled(case, plan, following, tables, notes)
    tables |= _rented(case, plan, following)
    if len(case.tables["budget"]):
        tables["budget"] = _budget(case, plan, first, notes)
    if "reserved" in tables:
        tables["reserved"] = _reserved(tables["reserved"], following, last, notes)
    if workloads is not None:
        tables["workloads"] = workloads
    else:
        tables |= _lengths(case, notes)
    if case.settings.placement_tolerance > 0:
        tables["placement"] = _placement(plan, first)
    notes += forecast_differences(case, forecast)
    notes += sales_told(plan, first)
    name = re.sub(r"-\d{4}Q[1-4]$", "", case.name)
    settings = {"name": f"{name}-{following}", "first_quarter": str(following)}
    return Rolled(case.replace(settings=settings, tables=tables), notes)


def _placement(plan: Plan, first: Quarter) -> pd.DataFrame:
    """What decoded and prefilled each workload in the first quarter, as shares of what was served of it."""
    rows: list[tuple[str, str, str, str, float]] = []
    for work, table, by in (("decode", "serving", "deployment"), ("prefill", "prefill", "sku")):
        frame = plan.tables[table]
        frame = frame[frame["quarter"] == str(first)]
        rates = totals(frame, ["workload", "site", by], "requests_per_s")
        total = totals(frame, ["workload"], "requests_per_s")
        rows += [(work, *key, min(rate / total[key[0]], 1.0)) for key, rate in rates.items() if rate > 0]
    return pd.DataFrame(rows, columns=list(Placed.schema.by_column))


def _fleet(case: Case, plan: Plan, first: Quarter) -> pd.DataFrame:
    """What stands at the end of the first quarter, at the prices paid."""
    paid: dict[tuple[Origin, str, str, str], tuple[float, float]] = {}

    def add(origin: Origin, site: str, sku: str, vintage: str, count: float, price: float) -> None:
        units, money = paid.get((origin, site, sku, vintage), (0.0, 0.0))
        paid[origin, site, sku, vintage] = (units + count, money + count * price)

    standing = Fleet.rows(case.tables["fleet"])
    for stood in standing:
        add(Origin.FLEET, stood.site, stood.sku, stood.in_service, stood.count, stood.paid_usd_per_unit)
    for due in Order.rows(case.tables["orders"]):
        add(Origin.ORDER, due.site, due.sku, due.delivery, due.count, due.price_usd_per_unit)
    for bought in plan.rows(Purchase):
        add(Origin.PURCHASE, bought.site, bought.sku, bought.delivery_quarter, bought.count, _unit_usd(bought))
    retirable = {(stood.site, stood.sku, stood.in_service): stood.retirable for stood in standing}
    merged: dict[tuple[str, str, str], tuple[float, float]] = {}
    closing = plan.tables["fleet"]
    for batch in Batch.rows(closing[closing["quarter"] == str(first)]):
        if batch.origin is Origin.RENT:
            continue
        units, money = paid[batch.origin, batch.site, batch.sku, batch.vintage]
        have, worth = merged.get((batch.site, batch.sku, batch.vintage), (0.0, 0.0))
        merged[batch.site, batch.sku, batch.vintage] = (have + batch.closing, worth + batch.closing * money / units)
    rows = [
        (site, sku, round(units), vintage, money / units, retirable.get((site, sku, vintage), True))
        for (site, sku, vintage), (units, money) in sorted(merged.items())
        if units > 0
    ]
    columns = ["site", "sku", "count", "in_service", "paid_usd_per_unit", "retirable"]
    found = pd.DataFrame(rows, columns=columns)
    stated = "retirable" in case.given_tables.get("fleet", ())
    return found if stated else found.drop(columns="retirable")


def _unit_usd(row: Purchase) -> float:
    return float(row.unit_price_usd + row.unit_attach_usd + row.unit_install_usd)


def _orders(case: Case, plan: Plan, first: Quarter, notes: list[Difference]) -> pd.DataFrame:
    """Firm orders still on the way, changed as the plan says, and those that it places in its first quarter."""
    terms = [name for name in TERMS if name in case.given_tables.get("orders", ())]
    columns = ["site", "sku", "count", "delivery", "price_usd_per_unit", "paid_share"]
    old = case.tables["orders"]
    old = old[old["delivery"].map(lambda q: Quarter(q) > first).astype(bool)][columns + terms]
    if terms:
        old = _changed(old, plan)
    bought = plan.tables["purchases"]
    new = [
        (r.site, r.sku, int(r.count), r.delivery_quarter, _unit_usd(r), _paid_share(case, r))
        for r in Purchase.rows(bought[bought["quarter"] == str(first)])
        if Quarter(r.delivery_quarter) > first
    ]
    both = pd.concat([old, pd.DataFrame(new, columns=columns)]) if new else old
    key = ["site", "sku", "delivery", "price_usd_per_unit", *terms]
    if not len(both):
        return both
    # Orders of one delivery at one price are one row; what is paid is their mean.
    both = both.assign(paid=both["count"] * both["paid_share"].astype(float))
    out = grouped(both, key, as_index=False, dropna=False)[["count", "paid"]].sum()
    out["paid_share"] = out.pop("paid") / out["count"]
    return _plain(out, terms, notes)[columns + terms] if terms else out[columns]


def _changed(orders: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Firm orders without what is cancelled; what is deferred is due at its new delivery, on no terms."""
    left = orders.copy()
    late = []
    for r in plan.rows(ChangedOrder):
        meant: Any = (left["site"] == r.site) & (left["sku"] == r.sku) & (left["delivery"] == r.delivery_quarter)
        left.loc[meant, "count"] -= int(r.count)
        if r.change is OrderChange.DEFER:
            delivery = str(Quarter(r.delivery_quarter) + r.deferred_quarters)
            moved = left[meant].assign(count=int(r.count), delivery=delivery)
            late.append(moved.assign(**{name: None for name in TERMS if name in moved}))
    return pd.concat([left[left["count"] > 0], *late], ignore_index=True) if late else left[left["count"] > 0]


def _plain(orders: pd.DataFrame, terms: list[str], notes: list[Difference]) -> pd.DataFrame:
    """Orders of one site, SKU and delivery that are several rows lose their terms: nobody could say which is meant."""
    stated = orders[terms].notna().any(axis=1)
    several = orders.duplicated(["site", "sku", "delivery"], keep=False)
    out = orders.astype(dict.fromkeys(terms, object))
    out.loc[several, terms] = None
    for _, row in orders[stated & several].iterrows():
        detail = f"terms of the {row['count']:g} units for {row['delivery']} dropped: other orders arrive with them"
        notes.append(("orders", str(row["site"]), str(row["sku"]), "", "", detail))
    return out


def _summed(orders: pd.DataFrame) -> pd.DataFrame:
    """Orders that have slipped into one delivery at one price and one share paid, as one row."""
    same = [name for name in orders.columns if name != "count"]
    if not len(orders):
        return orders
    return grouped(orders, same, as_index=False, dropna=False, sort=False)["count"].sum()[list(orders.columns)]


def _paid_share(case: Case, row: Purchase) -> float:
    """Paid with the order over all that a unit costs."""
    terms = case.catalogue.sku(row.sku)
    return paid_share(row.unit_price_usd, row.unit_attach_usd, row.unit_install_usd, terms)


def _rented(case: Case, plan: Plan, following: Quarter) -> dict[str, pd.DataFrame]:
    """Offers that go on, and what is rented of them; of what ran before those stay whose term ends last."""
    if not len(case.tables["rent"]):
        return {}
    given = case.given_tables["rent"]
    goes_on = [not q or Quarter(q) >= following for q in case.tables["rent"]["to_quarter"]]
    stay: dict[str, int] = defaultdict(int)
    found: dict[tuple[str, str, str], int] = defaultdict(int)
    term = {offer.offer: offer.min_term_quarters for offer in Rent.rows(case.tables["rent"])}
    for r in plan.rows(UnitRent):
        if Quarter(r.last_quarter) < following:
            continue
        if not r.decided:
            stay[r.offer] += r.count
        elif Quarter(r.quarter) < following:
            until = Quarter(r.first_quarter) + (term[r.offer] - 1)
            found[r.offer, r.first_quarter, str(until)] += r.count
    for ran in sorted(Rented.rows(case.tables["rented"]), key=lambda r: Quarter(r.until_quarter).index, reverse=True):
        count = min(ran.count, stay[ran.offer])
        stay[ran.offer] -= count
        if count:
            found[ran.offer, ran.from_quarter, ran.until_quarter] += count
    rows = [(offer, count, begin, until) for (offer, begin, until), count in sorted(found.items())]
    rented = pd.DataFrame(rows, columns=list(Rented.columns))
    return {"rent": given[goes_on], "rented": rented}


def _expanded(case: Case, plan: Plan, first: Quarter, notes: list[Difference]) -> dict[str, pd.DataFrame]:
    """Sites and expansions after the steps that the plan decides in its first quarter."""
    decided = plan.tables["expansions"]
    decided = decided[(decided["quarter"] == str(first)) & (decided["count"] > 0)]
    if not len(decided):
        return {}
    sites, steps = case.tables["sites"].copy(), case.tables["expansions"].copy()
    for r in ExpansionOrder.rows(decided):
        here: Any = (steps["site"] == r.site) & (steps["expansion"] == r.expansion)
        step = steps[here].iloc[0]
        ready = first + math.ceil(step["lead_quarters"])
        mine = sites["site"] == r.site
        index = sites["from_quarter"].map(lambda q: Quarter(q).index)
        if not (mine & (index == ready.index)).any():
            before = sites[mine & (index < ready.index)].sort_values("from_quarter").iloc[-1:]
            sites = pd.concat([sites, before.assign(from_quarter=str(ready))], ignore_index=True)
        later = (sites["site"] == r.site) & (sites["from_quarter"].map(lambda q: Quarter(q).index) >= ready.index)
        for name in Resource:
            sites.loc[later, name] += r.count * step[name]
        steps.loc[here, "max_count"] -= int(r.count)
        detail = f"decided; in the site's limits from {ready}"
        if step["power_kw"] > 0 and not step["pays_rent"] and sites.loc[later, "space_usd_per_kw_month"].max() > 0:
            detail += "; what stands on it pays the site's rent from then on: sites.csv has no power that pays none"
        notes.append(("expansion", r.site, r.expansion, f"{r.count:g}", f"{r.count:g}", detail))
    return {
        "sites": sites.sort_values(["site", "from_quarter"], ignore_index=True),
        "expansions": steps[steps["max_count"] > 0],  # none left is an empty table: what is built is not offered again
    }


def _budget(case: Case, plan: Plan, first: Quarter, notes: list[Difference]) -> pd.DataFrame:
    table = case.tables["budget"]
    following, last, new = str(first + 1), str(case.quarters[-1]), str(case.quarters[-1] + 1)
    kept = table[table["quarter"].map(lambda q: Quarter(q) > first).astype(bool)]
    kept = pd.concat([kept, kept[kept["quarter"] == last].assign(quarter=new)], ignore_index=True)
    kept = kept.sort_values("quarter", ignore_index=True)
    for column, what in (("budget_usd", "budget"), ("opex_usd", "operating budget")):
        amount = float(kept[column].iloc[-1])
        if math.isfinite(amount):
            notes.append((what, "", new, "", f"{amount:,.0f}", "assumed: as in the quarter before"))
    start = case.settings.fiscal_year_start
    same_year = first.fiscal_year(start) == (first + 1).fiscal_year(start)
    carry = case.settings.budget_carry
    limits = plan.tables["limits"]
    unspent = summed(limits[(limits["family"] == "budget") & (limits["quarter"] == str(first))], "slack")
    if unspent > 0 and (carry == "unlimited" or (carry == "within_year" and same_year)):
        kept.loc[kept["quarter"] == following, "budget_usd"] += float(unspent)
        detail = f"unspent in {first}, carried as the case allows"
        notes.append(("budget", "", following, "", f"{unspent:,.0f}", detail))
    return kept


def _reserved(table: pd.DataFrame, following: Quarter, last: Quarter, notes: list[Difference]) -> pd.DataFrame:
    kept = table[table["quarter"].map(lambda q: Quarter(q) >= following).astype(bool)]
    repeat = kept[kept["quarter"] == str(last)].assign(quarter=str(last + 1))
    for r in Reserved.rows(repeat):
        detail = f"assumed: held in {last + 1} as in {last} for {r.purpose}"
        notes.append(("reserved", r.site, r.sku, "", f"{r.count:g}", detail))
    return pd.concat([kept, repeat], ignore_index=True)


_GROWN = (
    (("input_mean_tokens", "input_p50_tokens", "input_p90_tokens", "input_p99_tokens"), "isl_growth_per_year"),
    (("output_thinking_tokens", "output_visible_tokens"), "output_growth_per_year"),
    (("context_cap_tokens",), "context_cap_growth_per_year"),
)


def _lengths(case: Case, notes: list[Difference]) -> dict[str, pd.DataFrame]:
    """Workloads one quarter along their growth, and curves of reuse where growth moves them."""
    full = case.tables["workloads"]
    given = case.given_tables["workloads"].copy()
    names = [g for _, g in _GROWN] + ["tail_growth_per_year"]
    if not (full[names].fillna(0.0).to_numpy() != 0).any():
        return {}
    for columns, growth in _GROWN:
        factor = (1 + full[growth].astype(float).fillna(0.0)) ** 0.25
        for column in columns:
            moved = full[column].astype(float) * factor
            if column == "context_cap_tokens":
                moved = moved.clip(upper=full["card"].map(lambda c: float(case.cards[c].max_context_tokens)))
            given[column] = moved if (factor != 1).any() else given.get(column)
    path = build(case).reuse_path
    path = path[path["quarter"] == str(case.quarters[0] + 1)].set_index("workload")
    known = curves_of(case)
    curves = [case.given_tables["reuse"]] if "reuse" in case.given_tables else []
    given["reuse_curve"] = full["reuse_curve"]
    for i, r in enumerate(Workload.rows(full)):
        at, name = path.loc[r.workload], r.reuse_curve
        curve = known[name]
        if not curve.age_s or (at.return_scale == 1 and abs(at.reused_share - curve.reused_share) < 1e-12):
            continue
        label = f"{r.workload}-{case.quarters[0] + 1}"
        shares = [min(s * at.return_scale, 1.0) for s in curve.returned]
        table = {"curve": label, "age_s": curve.age_s, "return_share": shares, "reused_share": at.reused_share}
        curves.append(pd.DataFrame(table))
        given.loc[given.index[i], "reuse_curve"] = label
    for r in Workload.rows(full):
        grown = (1 + r.isl_growth_per_year) ** 0.25
        if grown != 1:
            mean = r.input_mean_tokens
            detail = "lengths moved one quarter along their growth, reuse with them"
            notes.append(("lengths", "", r.workload, f"{mean:,.0f}", f"{mean * grown:,.0f}", detail))
        if r.tail_growth_per_year:
            notes.append(("lengths", "", r.workload, "", "", "the spread of lengths starts anew from p50, p90 and p99"))
    out = {"workloads": given.dropna(axis=1, how="all")}
    return out | ({"reuse": pd.concat(curves, ignore_index=True)} if curves else {})
