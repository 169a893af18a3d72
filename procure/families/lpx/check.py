"""LPX checked: time of copies, racks that they take, pods that they stand in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from procure.instance import Instance
from procure.instance.tables import LpxCopy
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Copies
from procure.schema import SkuKind


def limits(s: Standing, rows: Rows) -> None:
    """LPX time against copies, copies against pods, racks of copies against racks that serve."""
    taken: dict[tuple[str, str, str], float] = defaultdict(float)
    copies = {}
    for r in Copies.rows(s.tables["lpx_copies"]):
        taken[r.quarter, r.site, r.sku] += r.racks
        copies[r.quarter, r.site, r.card, r.sku] = r
    used: dict[tuple[str, str, str, str], float] = defaultdict(float)
    point = s.points
    for part in s.day:
        here: dict[tuple[str, str, str, str], float] = defaultdict(float)
        for decode in part.decoding:
            if decode.lpx_racks:
                by = point[decode.point]
                here[decode.quarter, decode.site, by.card, by.lpx_sku] += decode.lpx_racks
        for key, racks in here.items():
            used[key] = max(used[key], racks)
    cap = s.instance.settings["utilisation_cap"]
    per_pod = {(r.card, r.sku): r.copies_per_pod for r in s.instance.rows(LpxCopy)}
    for key in sorted(set(used) | set(copies)):
        quarter, site, card, sku = key
        there = copies[key].racks if key in copies else 0
        item = f"{card} on {sku}"
        rows.add("LPX time", quarter, site, item, used[key], cap * there, "racks")
        if key in copies:
            most = per_pod[card, sku] * s.pods[quarter, site]
            rows.add("LPX copies in pods", quarter, site, item, copies[key].copies, most, "copies")
    for quarter, site, sku in sorted(s.own):
        if s.sku[sku].kind is SkuKind.LPX:
            limit = s.serving(quarter, site, sku)
            rows.add("LPX racks for copies", quarter, site, sku, taken[quarter, site, sku], limit, "racks")


def whole_copies(plan: Plan, instance: Instance) -> Iterable[str]:
    """Copies are whole and take the racks of their card."""
    racks = {(r.card, r.sku): r.racks_per_copy for r in instance.rows(LpxCopy)}
    for r in plan.rows(Copies):
        if r.copies % 1 or r.copies < 0 or r.racks != r.copies * racks[r.card, r.sku]:
            yield f"{r.quarter} {r.site}: {r.copies:g} copies of {r.card} in {r.racks:g} racks of {r.sku}"


CHECK = Check(limits, {"pods, LPX copies and expansions are ones that can be": whole_copies})
