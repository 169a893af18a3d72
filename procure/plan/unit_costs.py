"""What a million tokens costs in a plan, by kind of token and workload, beside what it sells for."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pandas as pd

from procure.instance import Instance
from procure.instance.tables import CachedTokens, Fixed, Length, Rate, SkuRow, StoreUnit, TokenPrice
from procure.plan.plan import frame
from procure.plan.tables import Cash, Placement, Prefilled, Serving, UnitCost
from procure.quarter import SECONDS_PER_QUARTER
from procure.rules.worth import residual_usd
from procure.schema import RECOMPUTE, SkuKind, Tier
from procure.timekey import one_block, unmixed

CACHED, COMPUTED, OUTPUT = "cached input", "computed input", "output"
BLENDED = "blended"
KINDS = (CACHED, COMPUTED, OUTPUT)
"""Kinds of token, as price lists sell them; ``blended`` is all of them together."""
FAR = 3.0
"""A blended cost this many times the market's price, or this many times below it, is worth a warning."""

Amounts = dict[tuple[str, str], float]
"""An amount by workload and kind of token."""


def unit_costs_table(instance: Instance, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The plan's ``unit_costs``: present USD over present tokens served, over planned and look-ahead quarters.

    Cost is all cash but the price of what is not served and the income from what is, and what the fleet and advances on
    firm orders are worth at the start: units that exist are used up as well. A SKU's cost at a site goes to workloads
    and kinds of token by

    * busy unit-seconds of GPU and LPX units at the mean rate: decode to output, prefill to computed input;
    * bytes parked in SSD kits, CMX enclosures and the racks that hold them, to cached input. Caches in HBM, DRAM and
      drives inside a rack's price cost nothing beside the rack.

    What serves nothing (expansions, idle SKUs) follows in proportion. A market price is that of the workload's tokens,
    weighted by those of the plan in its total (empty workload) and where kinds are blended. Nothing served: no rows.

    Raises:
        InputError: rows of several scenarios or parts of the day, whose tokens would add up.
    """
    instance.of(one_block)
    one_block(tables)
    present = dict(zip(instance.quarters, instance["quarters"]["discount_factor"], strict=True))
    tokens = _million_tokens(instance, tables, present)
    if not sum(tokens.values()) > 0:
        return frame("unit_costs", [])
    usd = _allocated(_spent(instance, tables["cash"]), _uses(instance, tables, present), tokens)
    price = {(r.workload, r.tokens): float(r.usd_per_million) for r in instance.rows(TokenPrice)}
    workloads = sorted({workload for workload, _ in tokens})
    rows: list[tuple[Any, ...]] = []
    for label, members in [("", workloads), *((w, [w]) for w in workloads)]:
        for name, kinds in [*((kind, [kind]) for kind in KINDS), (BLENDED, list(KINDS))]:
            keys = [(w, kind) for w in members for kind in kinds]
            amount, cost = (sum(of.get(key, 0.0) for key in keys) for of in (tokens, usd))
            if amount > 0 or cost != 0:
                worth = sum(tokens.get(key, 0.0) * price[key] for key in keys)
                rows.append((label, name, amount, cost, _over(cost, amount), _over(worth, amount), _over(cost, worth)))
    return frame("unit_costs", rows)


def unit_costs_summary(table: pd.DataFrame) -> dict[str, dict[str, float | None]]:
    """The plan's total for ``plan.json``: USD per million tokens and the market's, by kind; None where no tokens."""
    columns = ("usd_per_million_tokens", "market_usd_per_million_tokens")
    whole = unmixed(table)[table["workload"] == ""]
    return {
        str(row.tokens): {c: None if math.isnan(getattr(row, c)) else float(getattr(row, c)) for c in columns}
        for row in UnitCost.rows(whole)
    }


def cost_warnings(table: pd.DataFrame) -> list[str]:
    """A sentence for the plan and each workload whose blended cost is :data:`FAR` times the market or under it."""
    sentences = []
    for row in UnitCost.rows(unmixed(table)[table["tokens"] == BLENDED]):
        ratio = float(row.cost_per_market)
        if math.isnan(ratio) or 1.0 / FAR <= ratio <= FAR:
            continue
        side = f"{ratio:,.1f} times" if ratio > FAR else f"{ratio:.0%} of"
        sentences.append(
            f"{row.workload or 'the whole plan'}: a million tokens cost {row.usd_per_million_tokens:,.3g} USD, {side} "
            f"the market's {row.market_usd_per_million_tokens:,.3g} for the same kinds."
        )
    return sentences


def _over(amount: float, by: float) -> float:
    return amount / by if by > 0 else math.nan


def _spent(instance: Instance, cash: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Present USD by site and SKU (or expansion), with what stands or was paid in advance at the start."""
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for row in Cash.rows(cash):
        if row.line.serves:
            spent[row.site, row.sku] += row.npv_usd
    sku_of = {r.sku: r for r in instance.rows(SkuRow)}
    for group in instance.rows(Fixed):
        sku = sku_of[group.sku]
        if group.vintage_t < 0:
            worth = residual_usd(group.paid_usd, -group.vintage_t, sku)
        else:
            worth = max(group.paid_usd + sku.attach_usd + sku.install_usd - group.due_usd, 0.0)
        spent[group.site, group.sku] += group.count * worth
    return spent


def _uses(
    instance: Instance, tables: dict[str, pd.DataFrame], present: dict[str, float]
) -> dict[tuple[str, str], Amounts]:
    """What a SKU does at a site: present busy unit-quarters, or present bytes parked, by workload and kind of token."""
    names = instance.quarters
    mean = {(names[r.t], r.workload, r.bucket): r.mean_per_peak for r in instance.rows(Rate)}
    partner = dict(zip(instance["serve"]["point"], instance["serve"]["lpx_sku"], strict=True))
    uses: dict[tuple[str, str], Amounts] = defaultdict(lambda: defaultdict(float))
    for row in Serving.rows(tables["serving"]):
        share = mean[row.quarter, row.workload, row.bucket] * present[row.quarter]
        uses[row.site, row.sku][row.workload, OUTPUT] += row.racks * share
        if row.lpx_racks:
            uses[row.site, partner[row.point]][row.workload, OUTPUT] += row.lpx_racks * share
    for fill in Prefilled.rows(tables["prefill"]):
        share = mean[fill.quarter, fill.workload, fill.bucket] * present[fill.quarter]
        uses[fill.site, fill.sku][fill.workload, COMPUTED] += fill.racks * share
    kind = dict(zip(instance["skus"]["sku"], instance["skus"]["kind"], strict=True))
    frames = [sku for sku, of in kind.items() if of == SkuKind.CMX_RACK]
    brings: dict[str, list[str]] = defaultdict(list)
    for unit in instance.rows(StoreUnit):
        if kind[unit.sku] != SkuKind.GPU:
            brings[unit.store].append(unit.sku)
    for placed in Placement.rows(tables["kv_placement"]):
        for sku in [*brings[placed.store], *(frames if placed.tier is Tier.CMX else [])]:
            uses[placed.site, sku][placed.workload, CACHED] += placed.parked_bytes * present[placed.quarter]
    return uses


def _million_tokens(instance: Instance, tables: dict[str, pd.DataFrame], present: dict[str, float]) -> Amounts:
    """Tokens served at the mean rate, discounted like the money that they have to earn, in millions."""
    names = instance.quarters
    mean = {(names[r.t], r.workload, r.bucket): r.mean_per_peak for r in instance.rows(Rate)}
    length = {(names[r.t], r.workload, r.bucket): r for r in instance.rows(Length)}
    found = {(names[r.t], r.workload, r.bucket): r for r in instance.rows(CachedTokens)}
    millions: Amounts = defaultdict(float)
    for fill in Prefilled.rows(tables["prefill"]):
        key = (fill.quarter, fill.workload, fill.bucket)
        requests = fill.requests_per_s * mean[key] * SECONDS_PER_QUARTER * present[fill.quarter] / 1e6
        cached = found[key].shared_tokens if fill.store == RECOMPUTE else found[key].reused_tokens
        millions[fill.workload, CACHED] += requests * cached
        millions[fill.workload, COMPUTED] += requests * (length[key].input_tokens - cached)
    for row in Serving.rows(tables["serving"]):
        key = (row.quarter, row.workload, row.bucket)
        requests = row.requests_per_s * mean[key] * SECONDS_PER_QUARTER * present[row.quarter] / 1e6
        millions[row.workload, OUTPUT] += requests * (length[key].thinking_tokens + length[key].visible_tokens)
    return millions


def _allocated(spent: dict[tuple[str, str], float], uses: dict[tuple[str, str], Amounts], tokens: Amounts) -> Amounts:
    """Present USD by workload and kind: each SKU's by its uses; the rest in proportion, or by tokens if all is rest."""
    usd: Amounts = defaultdict(float)
    rest = 0.0
    for place, amount in spent.items():
        total = sum(uses[place].values()) if place in uses else 0.0
        if total > 0:
            for key, use in uses[place].items():
                usd[key] += amount * use / total
        else:
            rest += amount
    basis = dict(usd) if sum(usd.values()) > 0 else tokens
    whole = sum(basis.values())
    for key, part in basis.items():
        usd[key] += rest * part / whole
    return usd
