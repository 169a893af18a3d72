"""What a plan costs: net present USD over planned and look-ahead quarters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo

from procure.program.budget import order_payments
from procure.program.index import USD_PER_UNIT, Index, Option, Point, lookup
from procure.program.linear import Terms

SECONDS_PER_QUARTER = 8_760 / 4 * 3_600
DETERRENT = 100.0
"""What is tolerated costs this many times the dearest power of its workload: freeing a rack for others saves less."""
LEAST_DETERRENT_USD = 1_000.0
"""The same where power is free, USD for the whole workload; of which at most the tolerated share is ever counted."""


def least_cost(m: Any, index: Index) -> None:
    """Least net present cost.

        Σ payments + support + power (idle and load) + space + expansions + firm payments − sales − residual values
        + price of look-ahead shortfall + a price on what is tolerated

    M USD, each payment discounted from the start of its quarter, residual values from the end of the horizon. What
    exists and is on order enters as a constant: the variable ``always``, fixed at 1, so that any reader of the MPS file
    counts it. The price on what is tolerated is no money: it keeps a share that could be served from being left out
    to save its power, and is taken out of what a plan says it costs.
    """
    terms = Terms()
    m.always = pyo.Var(bounds=(1.0, 1.0))
    terms.add(_constant(index), m.always)
    _purchases(m, index, terms)
    _sales(m, index, terms)
    _upkeep(m, index, terms)
    _load(m, index, terms)
    _shortfall(m, index, terms)
    _tolerated(m, index, terms)
    m.cost = pyo.Objective(expr=terms.expression, sense=pyo.minimize)


def least_shortfall(m: Any, index: Index) -> None:
    """Least weighted shortfall over planned quarters: Σ_t quarter_short[t], in basis points of their demand."""
    m.shortfall = pyo.Objective(expr=pyo.quicksum(m.quarter_short[t] for t in index.planned), sense=pyo.minimize)


def _end_factor(index: Index) -> float:
    last = index.horizon - 1
    step = index.discount[last] / index.discount[last - 1] if last else 1.0
    return index.discount[last] * step


def _constant(index: Index) -> float:
    total = 0.0
    for g in index.fixed.values():
        start = max(int(g.vintage_t), 0)
        total += g.count * g.support_usd_per_quarter * sum(index.discount[t] for t in index.t if t >= start)
        if g.due_t in index.discount:
            total += g.count * g.due_usd * index.discount[g.due_t]
        age = index.horizon - int(g.vintage_t)
        total -= g.count * index.residual(g.paid_usd, g.sku, age) * _end_factor(index)
    return total / USD_PER_UNIT


def _purchases(m: Any, index: Index, terms: Terms) -> None:
    for site, sku, order_t in index.orders:
        delivery = order_t + int(index.sku[sku].lead_quarters)
        usd = sum(paid * index.discount[t] for t, paid in order_payments(index, sku, order_t).items())
        usd += index.support[sku, delivery] * sum(index.discount[t] for t in index.t if t >= delivery)
        usd -= index.residual(index.price[sku, delivery], sku, index.horizon - delivery) * _end_factor(index)
        terms.add(usd / USD_PER_UNIT, m.buy[site, sku, order_t])
    for site, name, t in index.expansion_orders:
        terms.add(index.expansion[site, name].capex_usd * index.discount[t] / USD_PER_UNIT, m.expand[site, name, t])


def _sales(m: Any, index: Index, terms: Terms) -> None:
    """A sold unit brings its residual value less the spread, ends its support, and is not there at the end."""
    for name, t in index.retirable:
        g = index.fixed[name]
        usd = -index.sale(g.paid_usd, g.sku, t - int(g.vintage_t)) * index.discount[t]
        usd -= g.support_usd_per_quarter * sum(index.discount[q] for q in index.t if q >= t)
        usd += index.residual(g.paid_usd, g.sku, index.horizon - int(g.vintage_t)) * _end_factor(index)
        terms.add(usd / USD_PER_UNIT, m.retire[name, t])


def _upkeep(m: Any, index: Index, terms: Terms) -> None:
    rows = {
        (r.site, r.sku): r.idle_usd_per_quarter + r.space_usd_per_quarter for r in index.instance["upkeep"].itertuples()
    }
    for site, sku, t in index.stock:
        terms.add(rows[site, sku] * index.discount[t] / USD_PER_UNIT, m.own[site, sku, t])


def _load(m: Any, index: Index, terms: Terms) -> None:
    """Power above idle, at the mean rate; decode and prefill draw different shares of a unit's maximum."""
    for p, site, usd in _serve_costs(index):
        terms.add(usd / USD_PER_UNIT, m.serve[p.point, site])
    for o, site, usd in _prefill_costs(index):
        terms.add(usd / USD_PER_UNIT, m.prefill[o.option, site])


def _serve_costs(index: Index) -> Iterator[tuple[Point, str, float]]:
    """Present USD of the power of decoding the whole bucket at a point."""
    load = lookup(index.instance["upkeep"], ["site", "sku"], "decode_usd_per_quarter")
    for p, site in index.serve:
        usd = p.rack_s * load[site, p.sku]
        if p.lpx_sku:
            usd += p.lpx_rack_s * load[site, p.lpx_sku]
        yield p, site, usd * p.rate * p.mean_per_peak * index.discount[p.t]


def _prefill_costs(index: Index) -> Iterator[tuple[Option, str, float]]:
    """Present USD of the power of prefilling the whole bucket in one way."""
    load = lookup(index.instance["upkeep"], ["site", "sku"], "prefill_usd_per_quarter")
    for o, site in index.prefill:
        usd = o.rack_s * load[site, o.sku]
        yield o, site, usd * o.rate * o.mean_per_peak * index.discount[o.t]


def _shortfall(m: Any, index: Index, terms: Terms) -> None:
    """What unserved requests of look-ahead quarters are worth, each at its own quarter's price."""
    unserved: dict[tuple[int, str], float] = {}
    for t, w, b in index.buckets:
        if t not in index.planned:
            requests = index.rate[t, w, b] * index.mean_per_peak[t, w, b] * SECONDS_PER_QUARTER
            unserved[t, w] = unserved.get((t, w), 0.0) + requests
    price = lookup(index.instance["short_prices"], ["t", "workload"], "usd_per_request")
    for (t, w), requests in unserved.items():
        terms.add(price[t, w] * requests * index.discount[t] / USD_PER_UNIT, m.short[t, w])


def _tolerated(m: Any, index: Index, terms: Terms) -> None:
    """More than leaving a workload out could save at a given fleet, so that it is served wherever it can be."""
    dearest: dict[tuple[int, str, str], float] = {}
    for costs in (_serve_costs(index), _prefill_costs(index)):
        most: dict[tuple[int, str, str], float] = {}
        for row, _, usd in costs:
            key = (row.t, row.workload, row.bucket)
            most[key] = max(most.get(key, 0.0), usd)
        for key, usd in most.items():
            dearest[key] = dearest.get(key, 0.0) + usd
    saved: dict[tuple[int, str], float] = {}
    for (t, w, _), usd in dearest.items():
        saved[t, w] = saved.get((t, w), 0.0) + usd
    for key in m.tolerated:
        terms.add((DETERRENT * saved.get(key, 0.0) + LEAST_DETERRENT_USD) / USD_PER_UNIT, m.tolerated[key])
