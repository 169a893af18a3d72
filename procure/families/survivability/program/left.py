"""What is left after a loss for workloads that ask to survive it: first stage."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyomo.environ as pyo

from procure.families.survivability.program.work import (
    Held,
    copies_after,
    held_after,
    hits_after,
    instances_after,
    parts_at_most,
    parts_of,
    pools_after,
)
from procure.program.declare import More, first_stage, first_stage_rows, recourse
from procure.program.index import Index, Option, Point, group
from procure.program.instances import row_of
from procure.program.linear import Terms
from procure.program.losses import CMX, losses, work_after
from procure.program.present import add_slowed
from procure.schema import SkuKind


def add_variables(m: Any, index: Index) -> None:
    """What is left after a loss for workloads that ask to survive it.

    First stage: used[loss, site, SKU, t] whether they are served by a pool that loses units, 0 or 1; left[...] units of
    the pool that they may count on beside whole instances; instances_left and copies_left, integer, the instances and
    LPX copies that they may count on; left_in_pods[site, SKU, t], integer, the units outside the fullest pod;
    parts[site, holder, n, t] whether caches lie in n parts at least, 0 or 1.
    Recourse: serve_elsewhere[point, site, lost site] and prefill_elsewhere[option, site, lost site], shares of the rate
    of a bucket that other sites serve; spared[hits, n], units of work that these hits spare while n parts hold them.
    """
    pools = index.of(pools_after)
    m.used = first_stage(
        [key for key in pools if index.of(losses)[key[0]].units], more=More.HELPS, domain=pyo.Binary
    )  # fmt: skip
    of_gpus = {(name, site, sku, at.t) for name, site, sku, at in index.of(work_after)}
    m.left = first_stage(sorted(of_gpus), more=More.HELPS, domain=pyo.NonNegativeReals)
    m.left_in_pods = first_stage(
        sorted(key[1:] for key in of_gpus if index.of(losses)[key[0]].pod), domain=pyo.NonNegativeIntegers
    )
    most = index.of(held_after)
    m.instances_left = first_stage(
        [tuple(held) for held in most], more=More.HELPS, domain=pyo.NonNegativeIntegers,
        bounds=lambda _, *key: (0, most[Held(*key)]),
    )  # fmt: skip
    m.copies_left = first_stage(
        sorted({(*key[:4], key[4].t) for key in index.of(copies_after)}),
        more=More.HELPS,
        domain=pyo.NonNegativeIntegers,
    )
    parts = index.of(parts_of)
    m.parts = first_stage(
        [(site, holder, n, t) for (site, holder, t), most in sorted(parts.items()) for n in range(2, most + 1)],
        more=More.HELPS, domain=pyo.Binary,
    )  # fmt: skip
    m.spared = recourse(
        [(*hits, n) for hits in sorted(index.of(hits_after))
         for n in range(2, parts_at_most(index, hits.loss, hits.site, hits.holder) + 1)],
        domain=pyo.NonNegativeReals,
    )  # fmt: skip
    moved = [
        (loss, done) for (name, *_), works in index.of(work_after).items() for done in works
        if (loss := index.of(losses)[name]).site
    ]  # fmt: skip
    points = {(d.what.point, d.site, loss.site): d.what.at for loss, d in moved if isinstance(d.what, Point)}
    ways = {(d.what.option, d.site, loss.site): d.what.at for loss, d in moved if isinstance(d.what, Option)}
    m.serve_elsewhere = recourse(list(points), blocks={key[0]: at for key, at in points.items()}, bounds=(0, 1))
    m.prefill_elsewhere = recourse(list(ways), blocks={key[0]: at for key, at in ways.items()}, bounds=(0, 1))


def units_left(m: Any, index: Index) -> None:
    """What workloads that survive a loss count on is there after it.

        left[l,s,k,t] + Σ_{d on k, c, role} units[d,c,role] · instances_left[l,s,d,c,role,t]
            ≤ own[s,k,t] − reserved[s,k,t] − (1 − factor[k])·maxq[s,k,t] − n[l]·used[l,s,k,t]
        Σ_c racks_per_copy[c,k] · copies_left[l,s,c,k,t]
            ≤ share[l,k] · (own[s,k,t] − reserved[s,k,t]) − n[l]·used[l,s,k,t]        for LPX racks k
        left[pod,s,k,t] + Σ units·instances_left ≤ left_in_pods[s,k,t] − (1 − factor[k])·maxq[s,k,t]
        left_in_pods[s,k,t] ≤ (1 − 1/pods_max[s]) · (own − reserved)[s,k,t], whole

    Units. n is how many units are down in each pool of a site (0 where caches or a site are lost); a pool that serves
    no such workload loses nothing that matters. Units down are counted here one by one, so that availability and spares
    do not take of the rest once more: ``share`` is 1 with n > 0, and the share present otherwise. A unit is lost whole,
    with all instances in it; on what is left instances and copies are formed anew. Units in pods are spread evenly over
    those that a site may have (an open pod costs nothing), so that ⌈units/pods⌉ of each SKU are in the fullest; what
    stands in no pod is not lost with one.
    """
    whole: dict[tuple[str, str, str, int], list[tuple[float, Any]]] = defaultdict(list)
    for name, kind in index.of(instances_after):
        one = row_of(index, kind)
        held = (name, kind.site, kind.deployment, kind.llm, kind.role, kind.at.t)
        whole[name, kind.site, one.sku, kind.at.t].append((one.units, held))
    copies = group(m.copies_left, lambda key: (key[0], key[1], key[3], key[4]))

    def rule(m: Any, name: str, site: str, sku: str, t: int) -> Any:
        row, loss, share = Terms(), index.of(losses)[name], 1.0
        if (name, site, sku, t) in m.left:
            row.add(1.0, m.left[name, site, sku, t])
            for units, held in dict.fromkeys(whole[name, site, sku, t]):
                row.add(units, m.instances_left[held])
            if loss.pod:
                row.add(-1.0, m.left_in_pods[site, sku, t])
                add_slowed(m, index, row, 1.0, (site, sku, t))
                return row.at_most(0.0)
        else:
            share = 1.0 if loss.units else index.sku[sku].present_share
            for key in copies[name, site, sku, t]:
                row.add(index.copies[key[2], sku].racks_per_copy, m.copies_left[key])
        row.add(-share, m.own[site, sku, t])
        add_slowed(m, index, row, 1.0, (site, sku, t))
        if loss.units:
            row.add(loss.units, m.used[name, site, sku, t])
        return row.at_most(-share * index.reserved.get((t, site, sku), 0.0))

    def outside(m: Any, site: str, sku: str, t: int) -> Any:
        row, stays = Terms(), 1.0 - 1.0 / max(index.pods_at[site].pods_max, 1)
        row.add(1.0, m.left_in_pods[site, sku, t])
        row.add(-stays, m.own[site, sku, t])
        return row.at_most(-stays * index.reserved.get((t, site, sku), 0.0))

    pools = [key for key in index.of(pools_after) if key in m.left or not index.of(losses)[key[0]].pod]
    m.units_left = first_stage_rows(pools, rule=rule)
    m.outside_the_fullest_pod = first_stage_rows(list(m.left_in_pods), rule=outside)


def caches_in_parts(m: Any, index: Index) -> None:
    """Caches lie in as many parts of equal size as units hold them.

        2·parts[s,h,2,t] + Σ_{n≥3} parts[s,h,n,t] ≤ Σ_{k of h} (own − reserved)[s,k,t]
        parts[s,h,n,t] ≤ parts[s,h,n−1,t]

    Units: CMX racks, or those of a pool. After the loss of a pod only as many parts count as the site may have pods.
    """

    def counted(m: Any, site: str, holder: str, t: int) -> Any:
        row = Terms()
        for n in range(2, index.of(parts_of)[site, holder, t] + 1):
            row.add(2.0 if n == 2 else 1.0, m.parts[site, holder, n, t])
        if not row.variables:
            return pyo.Constraint.Skip
        for name, sku in index.sku.items():
            held = sku.kind is SkuKind.CMX_RACK if holder == CMX else name == holder
            if held and (site, name, t) in index.in_stock:
                row.add(-1.0, m.own[site, name, t])
                row.constant += index.reserved.get((t, site, name), 0.0)
        return row.at_most(0.0)

    def in_order(m: Any, site: str, holder: str, n: int, t: int) -> Any:
        row = Terms()
        row.add(1.0, m.parts[site, holder, n, t])
        row.add(-1.0, m.parts[site, holder, n - 1, t])
        return row.at_most(0.0)

    m.caches_in_parts = first_stage_rows(sorted(index.of(parts_of)), rule=counted)
    m.parts_in_order = first_stage_rows([key for key in m.parts if key[2] > 2], rule=in_order)


def copies_left_in_pods(m: Any, index: Index) -> None:
    """LPX copies after a loss stand in pods, and those in a pod that is lost are gone, spread evenly as they are.

    copies_left[l,s,c,k,t] ≤ copies_per_pod[c,k] · pods[s,t]
    copies_left[pod,s,c,k,t] ≤ (1 − 1/pods_max[s]) · copies[s,c,k,t]
    """

    def rule(m: Any, *key: Any) -> Any:
        name, site, card, lpx, t = key
        row = Terms()
        row.add(1.0, m.copies_left[key])
        if index.of(losses)[name].pod:
            row.add(1.0 / max(index.pods_at[site].pods_max, 1) - 1.0, m.copies[site, card, lpx, t])
            return row.at_most(0.0)
        row.add(-index.copies[card, lpx].copies_per_pod, m.pods[site, t])
        return row.at_most(0.0)

    m.copies_left_in_pods = first_stage_rows(list(m.copies_left), rule=rule)
