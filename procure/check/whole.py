"""Whole instances of small loads: what they take at the least of what stands, before own orders arrive."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from procure.check.supply import Supply
from procure.check.tables import Finding
from procure.instance.tables import InstanceRow, Workload
from procure.schema import SkuKind

NAME = "Whole instances of small loads on what stands, before own orders arrive"


def whole_instances(supply: Supply) -> list[Finding]:
    """Whether the instances that are counted in whole ones fit what stands and can be rented, by quarter.

    A load that is small beside a rack takes a whole instance of its LLM all the same, so that work alone
    (:func:`procure.check.arithmetic.least_load`) is told to fit where instances do not.
    """
    gpus = [sku for sku, kind in supply.kind.items() if kind == SkuKind.GPU]
    first = min((supply.arrival[sku] for sku in gpus if sku in supply.arrival), default=len(supply.quarters))
    small: dict[int, list[InstanceRow]] = defaultdict(list)
    for row in supply.instance.rows(InstanceRow):
        if row.whole and row.load > 0 and row.t < first:
            small[row.t].append(row)
    users: dict[str, list[str]] = defaultdict(list)
    for workload in supply.instance.rows(Workload):
        users[workload.llm].append(workload.workload)
    rows: list[Finding] = []
    for t, kinds in sorted(small.items()):
        taken, when = least_taken(supply, t, kinds), supply.quarters[t]
        holds = taken <= 1.0 + 1e-9
        names = ", ".join(sorted({name for row in kinds for name in users[row.llm]}))
        counted = len({row.llm for row in kinds})
        part = "no unit that stands holds one" if np.isinf(taken) else f"at least {taken:.0%} of the units that stand"
        text = f"{when}: {counted} LLMs in whole instances ({names}) take {part}."
        if np.isinf(taken):
            text = f"{when}: {counted} LLMs in whole instances ({names}): {part}."
        todo = "" if holds else (
            f"{names}, {when}: serve them with fewer LLMs or smaller instances (workloads.csv: card, instance_gpus), "
            f"have units on firm order sooner (orders.csv), or let them begin later (forecast.csv)."
        )  # fmt: skip
        rows.append(Finding(NAME, when, names, taken, 1.0, "share of the units that stand", holds, text, todo))
    return rows


def least_taken(supply: Supply, t: int, kinds: list[InstanceRow]) -> float:
    """Least share of what stands or is for rent, the same on every SKU, of whole instances; inf where one has no place.

    A linear program: each LLM and role is spread over the deployments that stand, and takes there its part of one
    instance or of those that carry its load, whichever is more. Never more than whole ones take, sites left out.
    """
    from scipy.optimize import linprog

    stands = [
        row for row in kinds if supply.most[row.sku][t] > 0 and (not row.lpx_sku or supply.most[row.lpx_sku][t] > 0)
    ]
    needs = sorted({row.llm for row in kinds})
    roles = {llm: sorted({str(row.role) for row in kinds if row.llm == llm}) for llm in needs}
    places = {(row.llm, str(row.role)) for row in stands}
    if any((llm, role) not in places for llm in needs for role in roles[llm]):
        return float("inf")
    wanted = [(llm, role) for llm in needs for role in roles[llm]]
    skus = sorted({row.sku for row in stands})
    equal, upper = np.zeros((len(wanted), len(stands) + 1)), np.zeros((len(skus), len(stands) + 1))
    for i, row in enumerate(stands):
        equal[wanted.index((row.llm, str(row.role))), i] = 1.0
        upper[skus.index(row.sku), i] = max(row.load, 1.0) * row.units
    upper[:, -1] = [-float(supply.most[sku][t]) for sku in skus]
    cost = np.append(np.zeros(len(stands)), 1.0)
    answer = linprog(cost, A_ub=upper, b_ub=np.zeros(len(skus)), A_eq=equal, b_eq=np.ones(len(wanted)), method="highs")
    return float(answer.fun) if answer.status == 0 else float("inf")
