"""Family 12b in the program: racks in the places of pods."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pyomo.environ as pyo

from procure.plan.plan import frame
from procure.plan.tables import Copies
from procure.program.decided import Decided
from procure.program.declare import first_stage, first_stage_rows
from procure.program.index import Index
from procure.program.linear import Terms
from procure.program.losses import losses
from procure.program.part import Part
from procure.program.sales import leaving, there
from procure.rules.places import POD_PLACES, pod_places


def add_variables(m: Any, index: Index) -> None:
    """pods[site, t] opened, integer."""
    m.pods = first_stage(
        [(site, t) for site in index.sites for t in index.t],
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, site, t: (0, int(index.pods_at[site].pods_max)),
    )


def places_in_pods(m: Any, index: Index) -> None:
    """NVL72, LPX and CMX racks fit the places of pods: Σ slots[k]·(own + leaving)[s,k,t] ≤ places·pods[s,t].

    ``leaving`` are units sold and not yet removed. Places.
    """

    def rule(m: Any, site: str, t: int, places: str) -> Any:
        row = Terms()
        for name, sku in index.sku.items():
            row.extend(pod_places(sku)[places], there(m, index, site, name, t))
        if not row.variables:
            return pyo.Constraint.Skip
        row.add(-getattr(index.pods_at[site], places), m.pods[site, t])
        return row.at_most(0.0)

    keys = [(site, t, places) for site in index.sites for t in index.t for places in POD_PLACES]
    m.places_in_pods = first_stage_rows(keys, rule=rule)


def pods_stay(m: Any, index: Index) -> None:
    """A pod once opened stays: pods[s,t−1] ≤ pods[s,t]."""

    def rule(m: Any, site: str, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.pods[site, t - 1])
        row.add(-1.0, m.pods[site, t])
        return row.at_most(0.0)

    keys = [(site, t) for site in index.sites for t in index.t if t > 0]
    m.pods_stay = first_stage_rows(keys, rule=rule)


def pods(d: Decided) -> pd.DataFrame:
    """Pods that the racks need: opening one costs nothing by itself, so the solver may open more than that.

    All that a site may have where workloads survive the loss of one, since racks are then spread evenly over them.
    """
    leaves, spread = d.index.of(leaving), any(loss.pod for loss in d.index.of(losses).values())
    fleet, copies = d.table("fleet"), Copies.rows(d.table("lpx_copies"))
    rows = []
    for site in d.index.sites:
        opened = 0
        for t in d.index.t:
            taken = dict.fromkeys(POD_PLACES, 0.0)
            here = fleet[(fleet["quarter"] == d.names[t]) & (fleet["site"] == site)]
            units = {str(name): count for name, count in here.groupby("sku")["closing"].sum().items()}
            for name in d.index.sku:
                gone = sum(d.value.whole(sale.decision(d.m)) for sale in leaves.get((site, name, t), []))
                for place, count in pod_places(d.index.sku[name]).items():
                    taken[place] += (units.get(name, 0) + gone) * count
            per_pod = d.index.pods_at[site]
            needed = [math.ceil(count / getattr(per_pod, kind)) for kind, count in taken.items() if count]
            set_up = [r for r in copies if (r.quarter, r.site) == (d.names[t], site)]
            needed += [math.ceil(r.copies / d.index.copies[r.card, r.sku].copies_per_pod) for r in set_up]
            opened = int(per_pod.pods_max) if spread else max([opened, *needed])
            rows.append((d.names[t], site, opened))
    return frame("pods", rows)


PROGRAM = Part((places_in_pods, pods_stay), add_variables, tables={"pods": pods})
