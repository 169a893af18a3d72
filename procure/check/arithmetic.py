"""Necessary conditions for a plan that meets every promise, each said in the planner's words.

None of them is sufficient: they leave out sites, stores and money where that keeps them simple, always in the case's
favour. What fails here cannot be mended by a solver.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from procure.check.day import (
    LEAST_SAVED,
    coincidence,
    coinciding,
    least_use,
    power_for_demand,
    spared_by_clock,
)
from procure.check.supply import Supply
from procure.check.tables import Finding
from procure.check.whole import whole_instances
from procure.instance import build
from procure.instance.first_token import Best, at_best
from procure.instance.placeable import Placeable, rent_windows
from procure.instance.tables import Note, Prefill, QuarterSupply, RentOffer, Serve, Ship, SkuRow
from procure.quarter import quarter_ranges
from procure.schema import RECOMPUTE, Resource, SkuKind

if TYPE_CHECKING:
    from procure.case import Case
    from procure.instance import Instance

DOUBTS = "Cells that may have been meant otherwise"
"""Finding of what was understood and stops nothing; the verbs say it before anything else."""


def check_case(case: Case, instance: Instance | None = None) -> pd.DataFrame:
    """What simple arithmetic says about a case: one row per finding and item, ``holds`` False where it fails.

    Args:
        case: a case that has passed validation.
        instance: its instance, built here when left out.
    """
    if instance is None:
        instance = build(case)
    supply = Supply(case, instance)
    parts = (
        _arrivals,
        _room,
        _servable,
        _joined,
        _in_time,
        _carried,
        whole_instances,
        _power,
        _small_pools,
        _held_back,
    )
    rows: list[Finding] = [
        Finding(DOUBTS, "", f"{doubt.file} {doubt.column}".strip(), np.nan, np.nan, "", True, str(doubt), "")
        for doubt in case.doubts
    ]
    rows += [row for part in parts for row in part(supply)]
    return Finding.frame(rows)


def show(findings: pd.DataFrame) -> str:
    """The findings as lines of text, those that fail marked."""
    said = [row for row in Finding.rows(findings) if row.finding != DOUBTS]
    lines = []
    for name in dict.fromkeys(row.finding for row in said):
        lines.append(name)
        lines += [f"  {'ok  ' if row.holds else 'FAIL'} {row.detail}" for row in said if row.finding == name]
    failed = sum(not row.holds for row in said)
    lines.append(f"{len(said)} findings, {failed} fail." if failed else f"{len(said)} findings, all hold.")
    if failed:
        lines.append("What to do:")
        lines += [f"  {todo}" for todo in dict.fromkeys(row.todo for row in said if not row.holds)]
    else:
        lines.append(
            "Next: `procure solve`; nothing here says that anything will be short, and nothing that none will."
        )
    return "\n".join(lines)


def _arrivals(supply: Supply) -> list[Finding]:
    rows: list[Finding] = []
    for row in supply.instance.rows(SkuRow):
        if row.sku not in supply.arrival:
            continue
        t = supply.arrival[row.sku]
        order, quarter = supply.quarters[t - row.lead_quarters], supply.quarters[t]
        text = f"{row.sku}: ordered in {order}, it can stand in {quarter} ({row.lead_quarters:.0f} quarters)."
        few = [r for r in supply.instance.rows(QuarterSupply) if r.sku == row.sku]
        if few:
            told = (f"{r.most_units:,} in {supply.quarters[r.t + row.lead_quarters]}" for r in few)
            text += f" Delivered at most: {', '.join(told)}."
        rows.append(Finding("Orders that can arrive", quarter, row.sku, t, np.nan, "quarter", True, text, ""))
    for offer in supply.instance.rows(RentOffer):
        if offer.first_t <= offer.last_start_t:
            first, last = supply.quarters[offer.first_t], supply.quarters[offer.last_t]
            text = f"{offer.offer}: up to {offer.most_units} {offer.sku} for rent at {offer.site}, {first} to {last}, "
            term = "1 quarter" if offer.min_term_quarters == 1 else f"{offer.min_term_quarters} quarters"
            text += f"{offer.usd_per_quarter:,.0f} USD a quarter each, {term} at least."
            rows.append(
                Finding("Orders that can arrive", first, offer.offer, offer.first_t, np.nan, "quarter", True, text, "")
            )
    return rows


def _room(supply: Supply) -> list[Finding]:
    """Fleet and firm orders against the limits of their sites."""
    name = "Room for the fleet and firm orders"
    fixed, use, limits = supply.table("fixed"), supply.instance.of(least_use), supply.table("site_limits")
    each = fixed.merge(use, on=["site", "sku"], how="left")
    rows: list[Finding] = []
    for (site, resource), group in limits.groupby(["site", "resource"]):
        units = each[(each["site"] == site) & (each["resource"] == resource)]
        used = [float((units["count"] * units["per_unit"])[units["vintage_t"] <= t].sum()) for t in group["t"]]
        over = np.array(used) - group["limit"].to_numpy()
        worst = int(np.argmax(over))
        t, limit = int(group["t"].iloc[worst]), float(group["limit"].iloc[worst])
        holds = bool(over[worst] <= 1e-6)
        text = f"{site}: {used[worst]:,.0f} of {limit:,.0f} {resource} in {supply.quarters[t]}."
        todo = "" if holds else (
            f"{site}, {supply.quarters[t]}: raise {resource} in sites.csv by {over[worst]:,.6g}, or let units go: "
            f"off the fleet, {'sold before (setting resale), ' if t else ''}or cancelled or deferred where orders.csv "
            f"states terms."
        )  # fmt: skip
        item = f"{site} {resource}"
        rows.append(Finding(name, supply.quarters[t], item, used[worst], limit, resource, holds, text, todo))
    return rows


def _servable(supply: Supply) -> list[Finding]:
    """Whether each workload has a pool that reaches its speed and can stand when it is asked for."""
    name = "A pool for every workload"
    rates = supply.table("rates")
    asked = rates[rates["requests_per_s"] > 0][["t", "workload", "bucket"]]
    serve = supply.decode
    ways = serve.loc[serve["can"], ["t", "workload", "bucket", "deployment"]].drop_duplicates()
    found = asked.merge(ways, on=["t", "workload", "bucket"], how="left")
    rows: list[Finding] = []
    for workload, group in found.groupby("workload"):
        without = group[group["deployment"].isna()]
        pools = sorted(group["deployment"].dropna().unique())
        text, todo = f"{workload}: {', '.join(pools)}.", ""
        if not without.empty:
            text, todo = _without_pool(supply, str(workload), without[["t", "bucket"]].drop_duplicates())
        quarters = int(without["t"].nunique())
        rows.append(Finding(name, "", workload, quarters, 0, "quarters without", without.empty, text, todo))
    return rows


def _joined(supply: Supply) -> list[Finding]:
    """Whether prefill and decode of each workload meet, at one site or over a link, where pools have roles."""
    if supply.table("pool_roles").empty:
        return []
    name, placeable = (
        "Prefill and decode of a workload meet, where pools have roles",
        Placeable.of(supply.instance.tables),
    )
    decoded: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    filled: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    for r in supply.instance.rows(Serve):
        decoded[r.t, r.workload, r.bucket] |= {s for s in placeable.sites if placeable.decodes(s, r.sku, r.t)}
    for way in supply.instance.rows(Prefill):
        sites = {s for s in placeable.sites if placeable.prefills(s, way.sku, way.t)}
        filled[way.t, way.workload, way.bucket] |= sites
    for pair in supply.instance.rows(Ship):
        if placeable.prefills(pair.from_site, pair.sku, pair.t):
            filled[pair.t, pair.workload, pair.bucket].add(pair.to_site)
    rates, serve = supply.table("rates"), supply.decode
    asked = rates[rates["requests_per_s"] > 0].merge(
        serve.loc[serve["can"], ["t", "workload", "bucket"]].drop_duplicates(), on=["t", "workload", "bucket"]
    )
    rows: list[Finding] = []
    for workload, group in asked.groupby("workload"):
        keys = zip(group["t"].tolist(), group["workload"].tolist(), group["bucket"].tolist(), strict=True)
        apart = {key[0] for key in keys if not decoded[key] & filled[key]}
        text, todo = f"{workload}: in every quarter.", ""
        if apart:
            when = _when(supply, apart)
            text = (
                f"{workload}: in {when} no site may both prefill and decode it, and no link leads from one that may "
                f"prefill it to one that may decode it."
            )
            todo = f"{workload}, {when}: let hardware do both (pools.csv), or state such a link (links.csv)."
        rows.append(Finding(name, "", str(workload), len(apart), 0, "quarters without", not apart, text, todo))
    return rows


def _without_pool(supply: Supply, workload: str, without: pd.DataFrame) -> tuple[str, str]:
    """Why a workload has no pool for some length buckets, and what to do: too early for the pools, or too fast for all.

    Only what reaches the speed in that quarter, at that length, is said to come too late.
    """
    serve = supply.decode
    fast = serve.loc[serve["workload"] == workload, ["t", "bucket", "deployment"]].drop_duplicates()
    both = without.merge(fast, on=["t", "bucket"], how="left")
    late, slow = both[both["deployment"].notna()], both[both["deployment"].isna()]
    texts, todos = [], []
    if len(late):
        when, reach = _when(supply, late["t"]), ", ".join(sorted(late["deployment"].unique()))
        count = late["bucket"].nunique()
        texts.append(f"no pool for {count} of its length buckets in {when}: only {reach} reach its speed and none can "
                     f"stand by then")  # fmt: skip
        todos.append(f"{workload}, {when}: let it begin later (forecast.csv), lower its speeds (workloads.csv), or "
                     f"have {reach} sooner (orders.csv, lead_quarters)")  # fmt: skip
    if len(slow):
        when, count = _when(supply, slow["t"]), slow["bucket"].nunique()
        asked = _points_asked(supply.case)
        texts.append(f"no pool for {count} of its length buckets in {when}: none reaches its speed there{asked}")
        todos.append(f"{workload}, {when}: lower tps_user, tps_thinking or tps_burst, or its context cap "
                     f"(workloads.csv), or let may_buy have faster pools")  # fmt: skip
    return f"{workload}: {'; '.join(texts)}.", f"{'; '.join(todos)}."


def _when(supply: Supply, steps: Any) -> str:
    """Quarters by position, runs drawn together."""
    return quarter_ranges(supply.quarters[int(t)] for t in set(steps))


def _points_asked(case: Case) -> str:
    """What a case asks of operating points beside their speed, in words; empty where it takes them as they are."""
    asked = case.settings
    words = f" at the {asked.points} end of the band" if asked.points != "base" else ""
    if case.rests_on["case/max_extrapolation"].kind == "user":
        words += f" within max_extrapolation, {asked.max_extrapolation:g} doublings from a measurement"
    return words


def _in_time(supply: Supply) -> list[Finding]:
    """Whether the share asked for can see its first token in time: the test of the program, with everything bought.

    One row per workload with a TTFT, of the quarter in which it fares worst.
    """
    name = "First token in time"
    worst: dict[str, tuple[float, int, Best]] = {}
    short: dict[str, list[int]] = defaultdict(list)
    for (t, workload), best in sorted(at_best(supply.instance.tables).items()):
        margin = best.in_time_share - best.asked_share
        if best.short_share > 0.0:
            short[workload].append(t)
        if workload not in worst or margin < worst[workload][0]:
            worst[workload] = (margin, t, best)
    rows: list[Finding] = []
    for workload, (_, t, best) in sorted(worst.items()):
        holds = best.short_share == 0.0
        text = f"{workload}: at best {best.in_time_share:.2%} within {best.target_s:g} s in {supply.quarters[t]}"
        text += f" on {', '.join(best.pools)}, {best.asked_share * 100:.4g}% asked"
        text += f"; that share within {best.reached_s:.3g} s."
        if not holds:
            text += f" Any plan is short by {best.short_share:.2%} or more."
        value, limit = best.in_time_share, best.asked_share
        when = supply.quarters[t]
        todo = "" if holds else (
            f"{workload}, {_when(supply, short[workload])}: ask for a ttft_s of {best.reached_s:.4g} or more, or a "
            f"ttft_share of {value:.4g} or less (workloads.csv), which is what {when} takes."
        )  # fmt: skip
        rows.append(Finding(name, when, workload, value, limit, "share in time", holds, text, todo))
    return rows


def _carried(supply: Supply) -> list[Finding]:
    """Load of the fleet, firm orders and all that can be rented, in the quarters before GPUs can be ordered."""
    name = "What stands or is on the way, before own orders arrive"
    gpus = [sku for sku, kind in supply.kind.items() if kind == SkuKind.GPU]
    first = min((supply.arrival[sku] for sku in gpus if sku in supply.arrival), default=len(supply.quarters))
    rows: list[Finding] = []
    advice: dict[tuple[str, str], list[int]] = defaultdict(list)
    for t in range(min(first, len(supply.quarters))):
        kept, again = least_load(supply, t, reuse=True), least_load(supply, t, reuse=False)
        holds = kept <= 1 + 1e-9
        text = f"{supply.quarters[t]}: {_load(kept)} if all caches are kept; "
        text += f"{_load(again)} if every prompt is computed again."
        if beside := rentable(supply, t):
            text += f" {beside} for rent counted in."
        when = supply.quarters[t]
        if not holds:
            advice[_asked_in(supply, t), _to_carry(kept, supply, first)].append(t)
        rows.append(Finding(name, when, "GPUs", kept, 1.0, "share of usable GPUs", holds, text, ""))
    todo = {
        supply.quarters[t]: f"{who}, {_when(supply, steps)}: {what}."
        for (who, what), steps in advice.items()
        for t in steps
    }
    return [replace(row, todo=todo.get(row.quarter, "")) for row in rows]


def rentable(supply: Supply, t: int) -> str:
    """``4 hgx-h200 and 2 hgx-h100``: what can be rented in a quarter beside what stands; empty for nothing."""
    more = supply.most.loc[t] - supply.firm.loc[t]
    return " and ".join(f"{count:,.0f} {sku}" for sku, count in more.items() if count > 0)


def _asked_in(supply: Supply, t: int) -> str:
    """Workloads that are asked for in a quarter."""
    rates = supply.table("rates")
    return ", ".join(sorted(set(rates.loc[(rates["t"] == t) & (rates["requests_per_s"] > 0), "workload"])))


def _to_carry(load: float, supply: Supply, first: int) -> str:
    """What to do about a load that what stands cannot carry."""
    later = f"from {supply.quarters[first]} on" if first < len(supply.quarters) else "within the horizon"
    ordered = f"orders of your own can stand {later}" if first < len(supply.quarters) else f"none can stand {later}"
    if np.isinf(load):
        wait = ", or wait" if first < len(supply.quarters) else ""
        return f"what stands serves some of it at no load; ask for less speed or a longer ttft_s{wait}: {ordered}"
    sooner = "bring units on firm order forward, or rent more (rent.csv)"
    return f"ask for {1.0 / load:.0%} of it or less (forecast.csv), {sooner}; {ordered}"


def _load(load: float) -> str:
    return "no mix of pools meets TTFT" if np.isinf(load) else f"{load:.0%} of the usable GPUs busy"


def least_load(supply: Supply, t: int, *, reuse: bool) -> float:
    """Least busy share of usable GPUs, the same on every pool, that serves all demand of a quarter; inf if none does.

    A linear program over decode points and prefill options of the pools that stand. With ``reuse`` every return finds
    its cache; stores, sites and LPX time are left out, all in the case's favour.
    """
    from scipy.optimize import linprog

    skus = supply.table("skus").set_index("sku")
    rates = supply.table("rates")
    asked = rates[(rates["t"] == t) & (rates["requests_per_s"] > 0)].set_index(["workload", "bucket"])
    if asked.empty:
        return 0.0
    share = supply.table("workloads").set_index("workload")["ttft_share"]
    serve = supply.decode.query("t == @t and most")
    serve = serve.sort_values("rack_s").drop_duplicates(["workload", "bucket", "deployment"])
    prefill = supply.table("prefill").query("t == @t")
    prefill = prefill.loc[[supply.most[sku][t] > 0 for sku in prefill["sku"]]]
    if not reuse:
        prefill = prefill[prefill["store"] == RECOMPUTE]
    best = prefill.sort_values(["rack_s", "late_share"]).assign(full=prefill["store"] == RECOMPUTE)
    prefill = best.drop_duplicates(["workload", "bucket", "sku", "full", "rack_s"])
    pools = sorted(set(serve["sku"]) | set(prefill["sku"]))
    loads = list(asked.index)
    column = len(serve) + len(prefill)  # the load itself
    equal = np.zeros((2 * len(loads), column + 1))
    upper: list[np.ndarray] = []
    bound: list[float] = []
    work = np.zeros((len(pools), column + 1))
    late = {name: np.zeros(column + 1) for name in share.index}
    reused = {name: np.zeros(column + 1) for name in share.index}
    works: list[Serve | Prefill] = [*Serve.rows(serve), *Prefill.rows(prefill)]
    for position, row in enumerate(works):
        key = loads.index((row.workload, row.bucket))
        rate = float(asked.loc[(row.workload, row.bucket), "requests_per_s"])
        work[pools.index(row.sku), position] = rate * row.rack_s
        if isinstance(row, Serve):
            equal[key, position] = 1.0
            continue
        equal[len(loads) + key, position] = 1.0
        late[row.workload][position] = rate * row.late_share
        if row.store != RECOMPUTE:
            reused[row.workload][position] = rate
    for index, sku in enumerate(pools):
        work[index, column] = -float(skus.loc[sku, "usable_share"]) * supply.most[sku][t]
    returns = supply.table("ages").query("t == @t").groupby("workload")["return_share"].sum()
    for name in share.index:
        total = float(asked.loc[[key for key in loads if key[0] == name], "requests_per_s"].sum())
        upper += [late[name], reused[name]]
        bound += [(1.0 - float(share[name])) * total, float(returns.get(name, 0.0)) * total]
    of = np.array([*(row.workload for row in works), ""])
    day = [work * np.array([factor.get(name, 1.0) for name in of]) for factor in coincidence(supply.instance)]
    matrix, right = np.vstack([*day, *upper]), np.concatenate([np.zeros(len(day) * len(pools)), bound])
    cost = np.append(np.zeros(column), 1.0)
    answer = linprog(cost, A_ub=matrix, b_ub=right, A_eq=equal, b_eq=np.ones(2 * len(loads)), method="highs")
    return float(answer.fun) if answer.status == 0 else float("inf")


def _of_power(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["resource"] == Resource.POWER]


def _kw_at_providers(supply: Supply, t: int) -> float:
    """Power of all units that can be rented at providers: no less than what their work would draw at the sites."""
    case, sites = supply.case, supply.case.tables["sites"]
    kw = 0.0
    for offer, at in rent_windows(supply.instance.tables):
        if at == t and offer.site in case.providers:
            sku = case.catalogue.sku(offer.sku)
            kw += offer.most_units * (sku.power_kw + sku.attach_kw)
    return float(kw * max(1.0, *sites["pue"]))


def _power(supply: Supply) -> list[Finding]:
    """Least power for the demand, every request on the pool that draws least for it, against what sites can have.

    What can be rented at providers draws on no site: it is taken off, at its own power, which is in the case's favour.
    """
    name = "Power for the demand on the most efficient pools"
    needed = coinciding(supply.instance.of(power_for_demand), coincidence(supply.instance))
    spared = spared_by_clock(supply.instance)
    rows: list[Finding] = []
    built = _of_power(supply.table("site_limits")).groupby("t")["limit"].sum()
    adds = _of_power(supply.table("expansion_adds"))
    offered = supply.table("expansions")
    steps = offered[offered["last_order_t"] >= 0].merge(adds, on=["site", "expansion"])
    for t, limit in zip(built.index.tolist(), built.tolist(), strict=True):
        ready = steps[steps["lead_quarters"] <= t]
        most = float(limit) + float((ready["adds"] * ready["max_count"]).sum())
        value = max(float(needed.get(t, 0.0)) - _kw_at_providers(supply, t), 0.0)
        when = supply.quarters[t]
        text = f"{supply.quarters[t]}: {value / 1e3:.1f} MW of {limit / 1e3:.1f} MW built"
        text += f", {most / 1e3:.1f} MW with every expansion that can be ready." if most > limit else "."
        holds = value <= most + 1e-6
        todo = "" if holds else (
            f"{_asked_in(supply, t)}, {when}: {value - most:,.0f} kW more (sites.csv, expansions.csv), or ask for "
            f"{most / value:.0%} of it (forecast.csv)."
        )  # fmt: skip
        if (less := spared.get(t, 0.0)) > LEAST_SAVED:
            text += f' Up to {less:.0%} less if capacity were sized by clock hour (dayparts = "clock").'
        rows.append(Finding(name, when, "all sites", value, most, "kW", holds, text, todo))
    return rows


def _held_back(supply: Supply) -> list[Finding]:
    """Lengths and growth that a cap stops, and what else the demand has to say: for information, all hold."""
    name = "Lengths and reuse that a limit holds back"
    return [
        Finding(name, "", note.workload, 0, np.nan, note.topic, True, note.sentence, "")
        for note in supply.instance.rows(Note)
    ]


KEPT_S, LOSS = 20.0, 0.02
"""Seconds of traffic kept, as HBM and DRAM hold, at which small pools are judged; and the loss of hits that is said."""


def _small_pools(supply: Supply) -> list[Finding]:
    """Units that see so little of a workload that caches of their own hit less: for information, all hold.

    A unit wholly busy with one workload sees usable share / unit-seconds per request of it. Instances leave the loss
    out: a stated ``rack_local_return_share`` can take it off.
    """
    from procure.demand.pool import pool_factor

    keys = ["workload", "bucket", "t", "sku"]
    each = sum(supply.table(name).groupby(keys)["rack_s"].min() for name in ("serve", "prefill")).dropna().reset_index()
    each = each.merge(supply.table("rates"), on=keys[:3])
    each = each[each["workload"].isin(supply.table("ages")["workload"]) & (each["requests_per_s"] > 0)]
    each["busy"] = each["rack_s"] * each["requests_per_s"]
    seen = each.groupby(["sku", "workload", "t"])[["requests_per_s", "busy"]].sum()
    usable = supply.table("skus").set_index("sku")["usable_share"]
    per_unit = (
        (seen["requests_per_s"] / seen["busy"] * usable.reindex(seen.index, level="sku")).groupby(level=[0, 1]).min()
    )
    rows: list[Finding] = []
    for (sku, workload), rate in per_unit.items():
        loss = 1.0 - float(np.ravel(pool_factor(supply.case.catalogue.packaged.pools, rate, KEPT_S))[0])
        if loss > LOSS:
            text = f"{workload} on {sku}: a busy unit sees {rate:.2g} requests/s; caches that it keeps to itself hit "
            text += f"{loss:.0%} less than the curve. Plans leave that out; state rack_local_return_share to lower it."
            rows.append(
                Finding("Small pools", "", f"{workload} {sku}", rate, np.nan, "requests/s per unit", True, text, "")
            )
    return rows
