"""Links checked: what crosses them, and that it was prefilled where it comes from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import LinkRow, Ship
from procure.plan.limits import Rows
from procure.plan.money import Ledger
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import LinkRent, Prefilled, Shipped
from procure.plan.tolerance import compare, over
from procure.schema import RECOMPUTE, CostLine


def limits(s: Standing, rows: Rows) -> None:
    """Bytes sent over every link of every quarter, used or not, against its bandwidth less what others keep of it."""
    size = {(r.t, r.workload, r.bucket): r.bytes for r in s.instance.rows(Ship)}
    sent: dict[tuple[str, str, str], float] = defaultdict(float)
    for r in Shipped.rows(s.tables["shipments"]):
        each = size[s.position[r.quarter], r.workload, r.bucket]
        sent[r.quarter, r.from_site, r.to_site] += r.requests_per_s * each
    paid = {(r.quarter, r.from_site, r.to_site) for r in LinkRent.rows(s.tables["link_rents"])}
    for link in s.instance.rows(LinkRow):
        key = (s.quarters[link.t], link.from_site, link.to_site)
        there = link.bytes_per_s if link.usd_per_quarter == 0 or key in paid else 0.0
        rows.add("link bandwidth", key[0], key[1], f"to {key[2]}", sent[key], there, "B/s")


def stated(plan: Plan, instance: Instance) -> Iterable[str]:
    """Pairs of sites are linked, their bytes and seconds as stated, and what is sent was prefilled there."""
    known = {(r.t, r.from_site, r.to_site, r.workload, r.bucket, r.sku): r for r in instance.rows(Ship)}
    filled: dict[tuple[str, ...], float] = defaultdict(float)
    for fill in plan.rows(Prefilled):
        if fill.store == RECOMPUTE:
            filled[fill.quarter, fill.site, fill.workload, fill.bucket, fill.sku] += fill.requests_per_s
    sent: dict[tuple[str, ...], float] = defaultdict(float)
    for r in plan.rows(Shipped):
        pair = known.get((instance.position[r.quarter], r.from_site, r.to_site, r.workload, r.bucket, r.sku))
        label = f"{r.quarter} {r.workload} {r.bucket} prefilled on {r.sku} at {r.from_site} for {r.to_site}"
        if pair is None:
            yield f"{label}: no such way"
            continue
        sent[r.quarter, r.from_site, r.workload, r.bucket, r.sku] += r.requests_per_s
        wanted = {"egress_bytes_per_s": r.requests_per_s * pair.bytes, "transfer_s": pair.transfer_s}
        yield from compare(label, r, wanted)
    for key, rate in sent.items():
        if over(rate, filled[key]):
            yield f"{' '.join(key)}: {rate:g} requests/s sent elsewhere, {filled[key]:g} prefilled in full"


def rented(plan: Plan, instance: Instance) -> Iterable[str]:
    """Links that are paid for are those that the case rents out, at its price."""
    rent = {(instance.quarters[r.t], r.from_site, r.to_site): r.usd_per_quarter for r in instance.rows(LinkRow)}
    for r in plan.rows(LinkRent):
        label = f"{r.quarter} link {r.from_site} to {r.to_site}"
        if not rent.get((r.quarter, r.from_site, r.to_site), 0.0) > 0:
            yield f"{label}: costs no rent"
        else:
            yield from compare(label, r, {"rent_usd": rent[r.quarter, r.from_site, r.to_site]})


def cash(ledger: Ledger, instance: Instance, tables: dict[str, pd.DataFrame]) -> None:
    """Rent of links, in the quarters in which the plan uses them."""
    for r in LinkRent.rows(tables["link_rents"]):
        ledger.pay(instance.position[r.quarter], CostLine.LINKS, r.from_site, f"to {r.to_site}", r.rent_usd)


CHECK = Check(
    limits,
    {"links are rented at their price": rented, "what crosses a link was prefilled at its beginning": stated},
    cash,
)
