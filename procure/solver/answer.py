"""Values of the program's variables as the plan's tables."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd

from procure.demand.tasks import task_s
from procure.families.fleet.program import retirable
from procure.families.lpx.program import sets_of_copies
from procure.families.retention.program import parked_seconds
from procure.instance import Instance
from procure.plan.first_token import first_tokens
from procure.plan.limits import limits_table
from procure.plan.money import cash_table, costs_table
from procure.plan.plan import frame
from procure.plan.unit_costs import unit_costs_table
from procure.program import Program
from procure.program.index import Index
from procure.quarter import Quarter
from procure.rules.places import POD_PLACES, pod_places
from procure.solver.compile import Compiled
from procure.timekey import TimeKey

TINY = 1e-7
"""Shares of a rate below this are the solver's tolerance, not service."""


class Values:
    """Values by variable; a variable that no row mentions is at its lower bound, zero."""

    def __init__(self, compiled: Compiled, values: np.ndarray) -> None:
        self._compiled, self._values = compiled, values

    def __call__(self, variable: Any) -> float:
        """Value of a continuous variable, never below zero."""
        column = self._compiled.column(variable)
        return max(float(self._values[column]), 0.0) if column >= 0 else 0.0

    def whole(self, variable: Any) -> int:
        """Value of an integer variable."""
        return round(self(variable))


def tables_of(program: Program, instance: Instance, value: Values) -> dict[str, pd.DataFrame]:
    """Every table of a plan that follows from the decisions; premises and checks are added by the caller."""
    m, index = program.model, program.index
    names = instance.quarters
    tables = {
        "purchases": _purchases(m, index, value, names),
        "fleet": _fleet(m, index, value, names),
        "serving": _serving(m, index, value, names),
        "prefill": _prefill(m, index, value, names),
        "retention": _retention(m, index, value, names),
        "kv_placement": _placement(m, index, value, names),
        "lpx_copies": frame(
            "lpx_copies",
            [
                (names[t], site, card, lpx, count, count * int(index.copies[card, lpx].racks_per_copy))
                for site, card, lpx, t in index.of(sets_of_copies)
                if (count := value.whole(m.copies[site, card, lpx, t]))
            ],
        ),
        "expansions": frame(
            "expansions",
            [
                (names[t], site, e, n, index.instance.span[names[t]], n * index.expansion[site, e].capex_usd)
                for site, e, t in index.expansion_orders
                if (n := value.whole(m.expand[site, e, t]))
            ],
        ),
    }
    tables["pods"] = _pods(index, tables["fleet"], tables["lpx_copies"], names)
    tables["sla"] = _sla(m, index, value, names, tables["prefill"])
    tables["demand"] = _demand(index, names)
    tables["cash"] = cash_table(instance, tables)
    tables["costs"] = costs_table(tables["cash"])
    tables["unit_costs"] = unit_costs_table(instance, tables)
    tables["limits"] = limits_table(instance, tables)
    return {name: _sorted(name, table) for name, table in tables.items()}


def _sorted(name: str, table: pd.DataFrame) -> pd.DataFrame:
    if name in ("cash", "costs", "unit_costs", "limits", "pods", "expansions"):
        return table
    return table.sort_values(list(table.columns[:5]), kind="stable", ignore_index=True)


def _purchases(m: Any, index: Index, value: Values, names: list[str]) -> pd.DataFrame:
    rows = []
    for site, sku, t in index.orders:
        count = value.whole(m.buy[site, sku, t])
        if count:
            row = index.sku[sku]
            delivery = t + int(row.lead_quarters)
            price = index.price[sku, delivery]
            unit = price + row.attach_usd + row.install_usd
            rows.append(
                (names[t], site, sku, count, index.instance.span[names[t]], names[delivery], price, row.attach_usd,
                 row.install_usd, count * unit)
            )  # fmt: skip
    return frame("purchases", rows)


def _fleet(m: Any, index: Index, value: Values, names: list[str]) -> pd.DataFrame:
    """Units by vintage and quarter, from what exists, is on order and was bought, less what was sold."""
    start = Quarter(names[0]).index
    batches: list[tuple[str, str, str, int, int, dict[int, int]]] = []
    for g in index.fixed.values():
        sold = {t: n for name, t in index.of(retirable) if name == g.group and (n := value.whole(m.retire[name, t]))}
        batches.append((g.site, g.sku, g.origin, int(g.vintage_t), int(g.count), sold))
    for site, sku, t in index.orders:
        count = value.whole(m.buy[site, sku, t])
        if count:
            batches.append((site, sku, "purchase", t + int(index.sku[sku].lead_quarters), count, {}))
    rows = []
    for site, sku, origin, vintage, count, sold in batches:
        label = str(Quarter.from_index(start + vintage))
        held = count if vintage < 0 else 0
        for t in index.t:
            delivered = count if vintage == t else 0
            retired = sold.get(t, 0)
            closing = held + delivered - retired
            if held or delivered:
                rows.append((names[t], site, sku, origin, label, held, delivered, retired, closing))
            held = closing
    return frame("fleet", rows)


def _pods(index: Index, fleet: pd.DataFrame, copies: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Pods that the racks need: opening one costs nothing by itself, so the solver may open more than that."""
    rows = []
    for site in index.sites:
        opened = 0
        for t in index.t:
            taken = dict.fromkeys(POD_PLACES, 0.0)
            here = fleet[(fleet["quarter"] == names[t]) & (fleet["site"] == site)]
            for name, units in here.groupby("sku")["closing"].sum().items():
                for place, count in pod_places(index.sku[str(name)]).items():
                    taken[place] += units * count
            per_pod = index.pods_at[site]
            needed = [math.ceil(count / getattr(per_pod, kind)) for kind, count in taken.items() if count]
            set_up = copies[(copies["quarter"] == names[t]) & (copies["site"] == site)]
            needed += [math.ceil(r.copies / index.copies[r.card, r.sku].copies_per_pod) for r in set_up.itertuples()]
            opened = max([opened, *needed])
            rows.append((names[t], site, opened))
    return frame("pods", rows)


def _serving(m: Any, index: Index, value: Values, names: list[str]) -> pd.DataFrame:
    evidence = dict(zip(index.instance["serve"]["point"], index.instance["serve"]["evidence"], strict=True))
    rows = []
    for p, site in index.serve:
        share = value(m.serve[p.point, site])
        if share > TINY:
            rate = share * p.rate
            rows.append(
                (names[p.at.t], site, p.workload, p.bucket, p.deployment, p.sku, rate, rate * p.rack_s,
                 rate * p.lpx_rack_s, evidence[p.point], p.point)
            )  # fmt: skip
    return frame("serving", rows)


def _prefill(m: Any, index: Index, value: Values, names: list[str]) -> pd.DataFrame:
    rows = []
    for o, site in index.prefill:
        share = value(m.prefill[o.option, site])
        if share > TINY:
            rate = share * o.rate
            rows.append((names[o.at.t], site, o.workload, o.bucket, o.sku, o.sku, o.store, rate, rate * o.rack_s))
    return frame("prefill", rows)


def _retention(m: Any, index: Index, value: Values, names: list[str]) -> pd.DataFrame:
    rows = []
    for at, site, w, interval, store in index.kept:
        share = value(m.kept[at, site, w, interval, store])
        if share > TINY:
            rows.append((names[at.t], site, w, store, interval, share * index.load_rate[at, w]))
    return frame("retention", rows)


def _placement(m: Any, index: Index, value: Values, names: list[str]) -> pd.DataFrame:
    parked: dict[tuple[TimeKey, str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0, 0.0])
    for at, site, w, interval, store in index.kept:
        share = value(m.kept[at, site, w, interval, store])
        if share > TINY:
            entry = parked[at, site, w, store]
            rate = share * index.load_rate[at, w]
            entry[0] += index.kv_bytes[at, w] * parked_seconds(index, at, w, interval, store) * rate
            entry[3] += index.kv_bytes[at, w] * rate if interval == 0 else 0.0
            entry[4] = max(entry[4], index.ages[at, w][interval].age_to_s)
    for o, site in index.prefill:
        share = value(m.prefill[o.option, site])
        if o.store != "recompute" and share > TINY:
            entry = parked[o.at, site, o.workload, o.store]
            entry[1] += share * o.rate
            entry[2] += share * o.rate * o.read_bytes
            entry[3] -= share * o.rate * o.valid_bytes
    rows = [
        (names[at.t], site, w, store, index.tier[store], size, hits, read, max(write, 0.0), age)
        for (at, site, w, store), (size, hits, read, write, age) in parked.items()
    ]
    return frame("kv_placement", rows)


def _sla(m: Any, index: Index, value: Values, names: list[str], prefill: pd.DataFrame) -> pd.DataFrame:
    """What each workload gets: share served, share in time to the first token, seconds of a task.

    The share late beyond the promise is worked out from the prefill, so that a price of zero cannot leave it slack.
    """
    first = first_tokens(index.instance, prefill)
    rows = []
    for at, w in index.loads:
        given, target, task = first[names[at.t], w], index.workload[w], index.task[at, w]
        late = given.late_share
        short = value(m.short[at, w]) + (value(m.tolerated[at, w]) if (at, w) in m.tolerated else 0.0)
        short += late - (value(m.late[at, w]) if (at, w) in m.late else 0.0)
        short = min(short, 1.0) if short > TINY else 0.0
        seconds = float(task_s(task.calls, given.mean_s, task.output_s, task.tool_s))
        rows.append(
            (names[at.t], w, index.load_rate[at, w], 1.0 - short, short, "", target.ttft_target_s, given.in_time_share,
             target.tps_target, seconds, late, given.out_of_reach_share, target.ttft_share, given.reached_s)
        )  # fmt: skip
    return frame("sla", rows)


def _demand(index: Index, names: list[str]) -> pd.DataFrame:
    rows = [
        (names[r.at.t], r.workload, r.bucket, index.rate.get((r.at, r.workload, r.bucket), 0.0), r.input_tokens,
         r.input_upper_tokens, r.thinking_tokens, r.visible_tokens, r.kv_bytes)
        for r in index.timed("lengths").itertuples()
    ]  # fmt: skip
    return frame("demand", rows)
