"""Pods checked: as many as the site has, never fewer than before, with places for what stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from procure.instance import Instance
from procure.plan.limits import Rows
from procure.plan.part import Check
from procure.plan.plan import Plan
from procure.plan.standing import Standing
from procure.plan.tables import Pods
from procure.rules.places import POD_PLACES, pod_places


def limits(s: Standing, rows: Rows) -> None:
    """Pods against those of the site, and racks against the places in them."""
    for quarter in s.quarters:
        for site in s.sites:
            pods, per_pod = s.pods[quarter, site], s.places[site]
            rows.add("pods", quarter, site, "", pods, per_pod.pods_max, "pods")
            taken: dict[str, float] = defaultdict(float)
            for name, sku in s.sku.items():
                for place, count in pod_places(sku).items():
                    taken[place] += count * s.there(quarter, site, name)
            for place, word in POD_PLACES.items():
                if taken[place]:
                    most = getattr(per_pod, place) * pods
                    rows.add(f"{word} places in pods", quarter, site, "", taken[place], most, "racks")


def stay(plan: Plan, instance: Instance) -> Iterable[str]:
    """Pods are whole, at sites of the case, and stay once opened."""
    position = instance.position
    before: dict[str, float] = defaultdict(float)
    sites = set(instance["pods"]["site"])
    for r in sorted(plan.rows(Pods), key=lambda r: position[r.quarter]):
        if r.site not in sites:
            yield f"{r.quarter} {r.site}: pods at a site that the case does not have"
        if r.pods % 1 or r.pods < before[r.site]:
            yield f"{r.quarter} {r.site}: {r.pods:g} pods after {before[r.site]:g}"
        before[r.site] = r.pods


CHECK = Check(limits, {"pods, LPX copies and expansions are ones that can be": stay})
