"""A plan checked against its case: every limit, every SLA and the money, recomputed without the program.

The coefficients come from the case anew; the decisions are read from the plan's tables. Nothing here imports Pyomo.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.instance import Instance, build
from procure.plan import claims, statements
from procure.plan.first_token import first_tokens
from procure.plan.limits import BINDING_SHARE, limits_table
from procure.plan.money import cash_table
from procure.plan.plan import Plan, Status, frame
from procure.plan.tolerance import ABSOLUTE, MONEY, RELATIVE, SHARE, differ, over, unlike
from procure.quarter import Quarter
from procure.rules.caches import held_seconds

if TYPE_CHECKING:
    from procure.case import Case


class Checks:
    """Named checks; a check fails with the first few things that do not hold."""

    def __init__(self, found: pd.DataFrame | None = None) -> None:
        self.rows: list[tuple[str, bool, str]] = []
        if found is not None:
            self.rows += found.itertuples(index=False, name=None)

    def add(self, name: str, faults: Iterable[str]) -> None:
        """One check with everything that breaks it."""
        try:
            found = list(faults)
        except (KeyError, ValueError, TypeError) as error:  # a name or number in the tables that nothing stands behind
            found = [f"cannot be recomputed: the tables state {error}, which the case does not know"]
        detail = "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
        self.rows.append((name, not found, detail))

    @property
    def table(self) -> pd.DataFrame:
        """The plan's ``checks`` table."""
        return frame("checks", self.rows)


def verify(plan: Plan, case: Case, instance: Instance | None = None, folder: str | Path | None = None) -> pd.DataFrame:
    """The ``checks`` table of a plan: check, holds, detail.

    Args:
        plan: what is checked.
        case: the case that it answers.
        instance: the case's instance if it is at hand; it is built from the case otherwise.
        folder: where the plan is stored, if its files (workbook and page too) are to be held against their hashes.
    """
    fresh = instance if instance is not None else build(case)
    found = checks_of(plan, case, fresh)
    checks = Checks(found)
    checks.add("the plan's own checks are these", claims.stated_checks(plan, found))
    if folder is not None:
        checks.add("the files are as they were written", (f"{name} changed" for name in Plan.changed_files(folder)))
    if plan.status is Status.UNVERIFIED:
        checks.add("the plan passed its own verification", ["plan.json says that it did not"])
    return checks.table


def checks_of(plan: Plan, case: Case, fresh: Instance) -> pd.DataFrame:
    """The ``checks`` table that a plan is stored with: all that can be said before it states its own checks."""
    checks = Checks()
    checks.add("the plan answers this case", _hash(plan, case))
    checks.add("every choice is one that the case offers", _choices(plan, fresh))
    checks.add("fleet balances by vintage", _fleet(plan, fresh))
    checks.add("orders arrive when they can", _orders(plan, fresh))
    checks.add("demand is served or counted short", _demand(plan, fresh))
    checks.add("prefill happens where decode does", _prefill(plan, fresh))
    checks.add("reuse has a kept copy behind it", _reuse(plan, fresh))
    checks.add("SLA: time to first token", _ttft(plan, fresh))
    checks.add("SLA: TPS/User", _tps(plan, fresh))
    checks.add("SLA: shares, targets and tasks are as stated", statements.sla(plan, fresh))
    checks.add("pods, LPX copies and expansions are ones that can be", statements.structure(plan, fresh))
    checks.add("every limit holds", _limits(fresh, plan))
    checks.add("limits are as stated", _same_limits(fresh, plan))
    checks.add("demand and parked caches are as stated", _stated(plan, fresh))
    checks.add("money is as stated and sums to the objective", _money(plan, fresh))
    checks.add("costs of tokens are as stated", claims.unit_costs(plan, fresh))
    checks.add("each row stands once", claims.rows_once(plan))
    checks.add("causes stand where something is short", claims.causes(plan, fresh))
    checks.add("premises are those of the case", claims.premises(plan, case, fresh))
    checks.add("plan.json agrees with the tables", claims.summary(plan, case, fresh))
    return checks.table


def _stated(plan: Plan, instance: Instance) -> Iterable[str]:
    yield from statements.demand(plan, instance)
    yield from statements.placement(plan, instance)


def _hash(plan: Plan, case: Case) -> Iterable[str]:
    if plan.summary["input_hash"] != case.input_hash:
        yield "the case, or packaged data that it uses, changed since the plan was made"


def _choices(plan: Plan, instance: Instance) -> Iterable[str]:
    """Operating points and prefill options exist, and take the racks that they say."""
    position = instance.position
    points = {r.point: r for r in instance["serve"].itertuples()}
    for r in plan.tables["serving"].itertuples():
        point = points.get(r.point)
        label = f"{r.quarter} {r.site} {r.workload} {r.bucket} on {r.deployment}"
        if point is None or (point.t, point.workload, point.bucket, point.sku) != (
            position[r.quarter], r.workload, r.bucket, r.sku
        ):  # fmt: skip
            yield f"{label}: no such operating point"
        elif (r.deployment, r.evidence) != (point.deployment, point.evidence):
            yield f"{label}: the point is {point.evidence} on {point.deployment}, not {r.evidence}"
        elif differ(r.racks, r.requests_per_s * point.rack_s) or differ(
            r.lpx_racks, r.requests_per_s * point.lpx_rack_s
        ):
            yield f"{label}: {r.racks:g} racks stated, {r.requests_per_s * point.rack_s:g} needed"
    options = {(r.t, r.workload, r.bucket, r.sku, r.store): r for r in instance["prefill"].itertuples()}
    for r in plan.tables["prefill"].itertuples():
        option = options.get((position[r.quarter], r.workload, r.bucket, r.sku, r.store))
        label = f"{r.quarter} {r.site} prefill of {r.workload} {r.bucket} on {r.sku} from {r.store}"
        if option is None:
            yield f"{label}: no such way"
        elif r.deployment != r.sku:
            yield f"{label}: prefill runs on {r.sku}, not on {r.deployment}"
        elif differ(r.racks, r.requests_per_s * option.rack_s):
            yield f"{label}: {r.racks:g} racks stated, {r.requests_per_s * option.rack_s:g} needed"


def _fleet(plan: Plan, instance: Instance) -> Iterable[str]:
    """Opening + delivered − retired = closing; openings follow closings; deliveries are orders and firm orders."""
    position = instance.position
    start = Quarter(instance.quarters[0]).index
    delivered: dict[tuple[str, str, str, int], float] = defaultdict(float)
    for r in plan.tables["purchases"].itertuples():
        delivered[r.site, r.sku, "purchase", position[r.delivery_quarter]] += r.count
    retirable = {}
    for r in instance["fixed"].itertuples():
        origin = r.group.split("-")[0]
        delivered[r.site, r.sku, origin, r.vintage_t] += r.count
        retirable[r.site, r.sku, origin, r.vintage_t] = bool(r.retirable)
    standing: dict[tuple[str, str, str, int], tuple[int, float]] = {}
    for r in plan.tables["fleet"].sort_values("quarter").itertuples():
        t, vintage = position[r.quarter], Quarter(r.vintage).index - start
        key = (r.site, r.sku, r.origin, vintage)
        label = f"{r.quarter} {r.site} {r.sku} of {r.vintage}"
        expected = delivered[key] if vintage < 0 and t == 0 else standing.get(key, (t - 1, 0.0))[1]
        arriving = delivered[key] if vintage == t else 0.0
        if key in standing and standing[key][0] != t - 1:
            yield f"{label}: a quarter is missing before it"
        if r.opening != expected or r.delivered != arriving:
            yield f"{label}: opens with {r.opening:g} and receives {r.delivered:g}, not {expected:g} and {arriving:g}"
        if r.opening + r.delivered - r.retired != r.closing or min(r.closing, r.retired) < 0 or r.closing % 1:
            yield f"{label}: {r.opening:g} + {r.delivered:g} − {r.retired:g} is not {r.closing:g} whole units"
        if r.retired and not retirable.get(key, False):
            yield f"{label}: sells units that may not be sold"
        standing[key] = (t, r.closing)
    last = len(position) - 1
    for key, count in delivered.items():
        if count and (key not in standing or (standing[key][1] > 0 and standing[key][0] != last)):
            yield f"{key[0]} {key[1]} delivered {count:g} that the fleet does not show to the end"


def _orders(plan: Plan, instance: Instance) -> Iterable[str]:
    """Whole units, in the order window, at the price of their delivery quarter."""
    position = instance.position
    sku = {r.sku: r for r in instance["skus"].itertuples()}
    allowed = set(zip(instance["resource_use"]["site"], instance["resource_use"]["sku"], strict=True))
    price = {(r.sku, r.t): r.price_usd for r in instance["prices"].itertuples()}
    planned = dict(zip(instance.quarters, instance["quarters"]["planned"], strict=True))
    for r in plan.tables["purchases"].itertuples():
        t, row = position[r.quarter], sku[r.sku]
        label = f"{r.quarter} {r.site} {r.sku}"
        if not row.first_order_t <= t <= row.last_order_t or (r.site, r.sku) not in allowed:
            yield f"{label}: cannot be ordered then and there"
        if position[r.delivery_quarter] != t + row.lead_quarters:
            yield f"{label}: delivery in {r.delivery_quarter} does not fit a lead of {row.lead_quarters} quarters"
        elif differ(r.unit_price_usd, price[r.sku, position[r.delivery_quarter]]):
            yield f"{label}: {r.unit_price_usd:g} USD is not the price of its delivery quarter"
        unit = r.unit_price_usd + r.unit_attach_usd + r.unit_install_usd
        if r.count <= 0 or r.count % 1 or differ(r.capex_usd, r.count * unit):
            yield f"{label}: {r.count:g} units for {r.capex_usd:g} USD"
        if differ(r.unit_attach_usd, row.attach_usd) or differ(r.unit_install_usd, row.install_usd):
            yield f"{label}: attach or installation is not the catalogue's"
        if r.span != statements.SPANS[planned[r.quarter]]:
            yield f"{label}: span {r.span} is wrong"


def _demand(plan: Plan, instance: Instance) -> Iterable[str]:
    names = instance.quarters
    served = plan.tables["serving"].groupby(["quarter", "workload", "bucket"])["requests_per_s"].sum().to_dict()
    short = {(r.quarter, r.workload): r.short_share for r in plan.tables["sla"].itertuples()}
    late = {(r.quarter, r.workload): r.late_share for r in plan.tables["sla"].itertuples()}
    reachable = _reachable(instance)
    for r in instance["rates"].itertuples():
        if r.requests_per_s > 0:
            key = (names[r.t], r.workload, r.bucket)
            kept = 1.0 - short.get(key[:2], 0.0) + late.get(key[:2], 0.0)
            needed = kept * reachable.get((r.t, r.workload, r.bucket), 1.0) * r.requests_per_s
            if unlike(served.get(key, 0.0), needed, r.requests_per_s):
                yield f"{' '.join(key)}: {served.get(key, 0.0):g} requests/s served of {needed:g}"
    lost = total = 0.0
    priority = dict(zip(instance["workloads"]["workload"], instance["workloads"]["priority"], strict=True))
    for r in instance["rates"].itertuples():
        if instance["quarters"]["planned"].iloc[r.t]:
            weight = priority[r.workload] * r.requests_per_s * r.mean_per_peak
            total += weight
            lost += weight * short.get((names[r.t], r.workload), 0.0)
    share = lost / total if total else 0.0
    if abs(share - plan.summary["shortfall"]["share"]) > 2e-6:
        yield f"the shortfall is {share:g} of the weighted demand, not {plan.summary['shortfall']['share']:g}"


def _reachable(instance: Instance) -> dict[tuple[int, str, str], float]:
    """Where requests are out of reach of their TTFT: what is served of a bucket for each share served of its workload.

    Only the longest are left out, and the others are served to one share.
    """
    away = {(r.t, r.workload, r.bucket): r.share for r in instance["out_of_reach"].itertuples()}
    rate: dict[tuple[int, str], float] = defaultdict(float)
    lost: dict[tuple[int, str], float] = defaultdict(float)
    rates = [r for r in instance["rates"].itertuples() if (r.t, r.workload) in {key[:2] for key in away}]
    for r in rates:
        rate[r.t, r.workload] += r.requests_per_s
        lost[r.t, r.workload] += r.requests_per_s * away.get((r.t, r.workload, r.bucket), 0.0)
    shares = {}
    for r in rates:
        left = 1.0 - lost[r.t, r.workload] / rate[r.t, r.workload]
        kept = 1.0 - away.get((r.t, r.workload, r.bucket), 0.0)
        shares[r.t, r.workload, r.bucket] = kept / left if left > 1e-6 else 0.0
    return shares


def _prefill(plan: Plan, instance: Instance) -> Iterable[str]:
    keys = ["quarter", "site", "workload", "bucket"]
    decoded = plan.tables["serving"].groupby(keys)["requests_per_s"].sum().to_dict()
    filled = plan.tables["prefill"].groupby(keys)["requests_per_s"].sum().to_dict()
    names = instance.quarters
    rate = {(names[r.t], r.workload, r.bucket): r.requests_per_s for r in instance["rates"].itertuples()}
    for key in sorted(set(decoded) | set(filled)):
        if unlike(decoded.get(key, 0.0), filled.get(key, 0.0), rate.get((key[0], *key[2:]), 0.0)):
            yield f"{' '.join(key)}: {filled.get(key, 0.0):g} prefilled, {decoded.get(key, 0.0):g} decoded"


def _reuse(plan: Plan, instance: Instance) -> Iterable[str]:
    """Hits against kept cohorts, cohorts that only shrink, parked bytes and traffic as stated."""
    position = instance.position
    ages = {(r.t, r.workload, r.interval): r for r in instance["ages"].itertuples()}
    alpha = dict(zip(instance["stores"]["store"], instance["stores"]["return_share"], strict=True))
    kept: dict[tuple[str, str, str, str], dict[int, float]] = defaultdict(dict)
    for r in plan.tables["retention"].itertuples():
        kept[r.quarter, r.site, r.workload, r.store][int(r.interval)] = r.kept_requests_per_s
    hits = _hits(plan.tables["prefill"])
    share = _bucket_shares(instance)
    served = plan.tables["serving"].groupby(["quarter", "site", "workload"])["requests_per_s"].sum().to_dict()
    parked_first: dict[tuple[str, str, str], float] = defaultdict(float)
    for key, cohort in kept.items():
        quarter, _, workload, store = key
        possible = 0.0
        for interval in sorted(cohort):
            age = ages[position[quarter], workload, interval]
            possible += age.return_share * alpha[store] * cohort[interval]
            if interval and over(cohort[interval], cohort.get(interval - 1, 0.0)):
                yield f"{' '.join(key)}: more is kept in interval {interval} than before it"
        parked_first[key[:3]] += cohort.get(0, 0.0)
        for bucket, part in share[quarter, workload].items():
            used = hits.pop((*key, bucket), 0.0)
            if over(used, part * possible):
                yield f"{' '.join(key)} {bucket}: {used:g} hits/s where {part * possible:g} can return"
    for key in sorted(hits):
        yield f"{' '.join(key)}: hits without anything kept"
    for place, rate in parked_first.items():
        if over(rate, served.get(place, 0.0)):
            yield f"{' '.join(place)}: parks {rate:g} sequences/s of {served.get(place, 0.0):g} served"
    yield from _placement(plan, instance, kept, ages, alpha)


def _hits(prefill: pd.DataFrame) -> dict[Any, float]:
    reused = prefill[prefill["store"] != "recompute"]
    return reused.groupby(["quarter", "site", "workload", "store", "bucket"])["requests_per_s"].sum().to_dict()


def _bucket_shares(instance: Instance) -> dict[tuple[str, str], dict[str, float]]:
    """Share of each bucket in the requests of a quarter and workload: a cohort is kept at that mix."""
    names = instance.quarters
    rates: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for r in instance["rates"].itertuples():
        rates[names[r.t], r.workload][r.bucket] = r.requests_per_s
    return {key: {b: v / sum(by.values()) for b, v in by.items()} for key, by in rates.items() if sum(by.values()) > 0}


def _placement(plan: Plan, instance: Instance, kept: Any, ages: Any, alpha: Any) -> Iterable[str]:
    position = instance.position
    kv_bytes = {(r.t, r.workload): r.kv_bytes for r in instance["parked"].itertuples()}
    size = {(r.t, r.workload, r.bucket, r.sku, r.store): r for r in instance["prefill"].itertuples()}
    reads: dict[Any, float] = defaultdict(float)
    stays: dict[Any, float] = defaultdict(float)
    for r in plan.tables["prefill"].itertuples():
        if r.store != "recompute":
            option = size[position[r.quarter], r.workload, r.bucket, r.sku, r.store]
            reads[r.quarter, r.site, r.workload, r.store] += r.requests_per_s * option.read_bytes
            stays[r.quarter, r.site, r.workload, r.store] += r.requests_per_s * option.valid_bytes
    stated = {(r.quarter, r.site, r.workload, r.store): r for r in plan.tables["kv_placement"].itertuples()}
    for key, cohort in kept.items():
        quarter, _, workload, store = key
        t = position[quarter]
        total = 0.0
        for interval, rate in cohort.items():
            age = ages[t, workload, interval]
            total += kv_bytes[t, workload] * rate * held_seconds(age.seconds, age.mean_released, alpha[store])
        write = max(kv_bytes[t, workload] * cohort.get(0, 0.0) - stays[key], 0.0)
        row = stated.get(key)
        if row is None:
            yield f"{' '.join(key)}: kept caches are not in kv_placement"
            continue
        for name, value in (
            ("parked_bytes", total), ("read_bytes_per_s", reads[key]), ("write_bytes_per_s", write)
        ):  # fmt: skip
            if abs(getattr(row, name) - value) > 1e-4 * max(value, 1.0) + 1e3:
                yield f"{' '.join(key)}: {name} is {value:g}, not {getattr(row, name):g}"


def _ttft(plan: Plan, instance: Instance) -> Iterable[str]:
    """What is late beyond the promise, or out of its reach, is counted short."""
    stated = {(r.quarter, r.workload): r for r in plan.tables["sla"].itertuples()}
    asked = {r.workload: r.ttft_share for r in instance["workloads"].itertuples()}
    for (quarter, workload), first in first_tokens(instance, plan.tables["prefill"]).items():
        row = stated.get((quarter, workload))
        if row is None:
            continue  # said of the SLA table
        counted = first.allowed_per_s + row.late_share * row.requests_per_s
        if over(first.late_per_s, counted) and first.late_per_s - counted > SHARE * row.requests_per_s:
            yield (
                f"{quarter} {workload}: {first.in_time_share:.1%} in time, {asked[workload]:.1%} asked for, "
                f"{row.late_share:.1%} counted short for it"
            )
        if row.late_share + first.out_of_reach_share > row.short_share + 2 * SHARE:
            yield f"{quarter} {workload}: {row.short_share:.1%} short, of which late and out of reach are more"


def _tps(plan: Plan, instance: Instance) -> Iterable[str]:
    margin = {r.point: r.tps_margin for r in instance["serve"].itertuples()}
    for r in plan.tables["serving"].itertuples():
        if over(1.0, margin.get(r.point, 0.0)):
            yield f"{r.quarter} {r.workload} {r.bucket} on {r.deployment}: {margin.get(r.point, 0.0):.1%} of the speed"


def _limits(instance: Instance, plan: Plan) -> Iterable[str]:
    for r in limits_table(instance, plan.tables).itertuples():
        if over(r.used, r.limit, r.unit):
            yield f"{r.family} {r.quarter} {r.site} {r.item}: {r.used:g} {r.unit} used of {r.limit:g}"


def _same_limits(instance: Instance, plan: Plan) -> Iterable[str]:
    recomputed = limits_table(instance, plan.tables)
    keys = ["family", "quarter", "site", "item"]
    stated = {tuple(getattr(r, k) for k in keys): r for r in plan.tables["limits"].itertuples()}
    for r in recomputed.itertuples():
        row = stated.pop(tuple(getattr(r, k) for k in keys), None)
        if row is None:
            yield f"{r.family} {r.quarter} {r.site} {r.item}: not in the limits table"
        elif row.unit != r.unit:
            yield f"{r.family} {r.quarter} {r.site} {r.item}: in {r.unit}, not {row.unit}"
        elif differ(row.used, r.used) or differ(row.limit, r.limit):
            label = f"{r.family} {r.quarter} {r.site} {r.item}"
            yield f"{label}: {r.used:g} of {r.limit:g}, not {row.used:g} of {row.limit:g}"
        elif abs(row.slack - r.slack) > RELATIVE * max(abs(r.used), abs(r.limit)) + ABSOLUTE or _misjudged(row):
            yield f"{r.family} {r.quarter} {r.site} {r.item}: slack {row.slack:g}, binding {row.binding}"
    for key in stated:
        yield f"{' '.join(key)}: no such limit"


def _misjudged(row: Any) -> bool:
    """Whether a limit is said to bind with room left, or not to bind with none; near the threshold either is right."""
    share = row.slack / max(abs(row.limit), 1.0)
    if row.binding:
        return bool(share > 10 * BINDING_SHARE or row.used <= 0)
    return bool(share < BINDING_SHARE / 10 and row.used > 0)


def _money(plan: Plan, instance: Instance) -> Iterable[str]:
    recomputed = cash_table(instance, plan.tables)
    keys = ["quarter", "line", "site", "sku"]
    fresh = recomputed.groupby(keys)["cash_usd"].sum().to_dict()
    stated = plan.tables["cash"].groupby(keys)["cash_usd"].sum().to_dict()
    for key in sorted(set(fresh) | set(stated)):
        a, b = fresh.get(key, 0.0), stated.get(key, 0.0)
        if abs(a - b) > MONEY * max(abs(a), abs(b)) + 1.0:
            yield f"{' '.join(key)}: {a:,.0f} USD, not {b:,.0f}"
    yield from statements.present_values(plan, recomputed)
    total, objective = float(recomputed["npv_usd"].sum()), plan.objective_usd
    if differ(total, objective, MONEY):
        yield f"cash is worth {total:,.0f} USD, the objective says {objective:,.0f}"
    lines = float(plan.tables["costs"]["npv_usd"].sum())
    if differ(lines, objective, MONEY):
        yield f"cost lines sum to {lines:,.0f} USD, the objective says {objective:,.0f}"
