"""Instances of LLMs as a plan's tables tell them: what decode and prefill take of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from procure.instance import Instance
from procure.instance.tables import InstanceRate, InstanceRow, Serve, SkuRow, Workload
from procure.plan.tables import Prefilled, Serving
from procure.schema import Role

Key = tuple[str, str, str, str, Role]
"""Quarter, site, LLM, deployment and role."""


def rounded_up(count: float) -> int:
    """Whole instances or copies that hold so many; a hundred-thousandth of one is rounding."""
    return math.ceil(count - 1e-5 * max(1.0, count))


class Sizes:
    """What instances there are, and what the work of each bucket takes of them; the same for every plan."""

    def __init__(self, instance: Instance) -> None:
        names = instance.quarters
        self.sku = {r.sku: r for r in instance.rows(SkuRow)}
        self.one = {(names[r.t], r.llm, r.deployment, r.role): r for r in instance.rows(InstanceRow)}
        self.llm = {r.workload: r.llm for r in instance.rows(Workload)}
        self.deployment = {r.point: r.deployment for r in instance.rows(Serve)}
        self.share = {
            (names[r.t], r.workload, r.bucket, r.deployment): r.throughput_share for r in instance.rows(InstanceRate)
        }

    def key(self, quarter: str, site: str, workload: str, deployment: str, own: Role) -> Key:
        """The instances that do a workload's work of a role there: for both roles where one does both."""
        llm = self.llm[workload]
        role = Role.BOTH if (quarter, llm, deployment, Role.BOTH) in self.one else own
        return (quarter, site, llm, deployment, role)

    def slowed(self, quarter: str, workload: str, bucket: str, deployment: str, racks: float) -> float:
        """Racks that decode takes on instances of their size, from those at the best layout."""
        return racks / self.share.get((quarter, workload, bucket, deployment), 1.0)

    def whole(self, key: Key) -> bool:
        """Whether the plan counts these instances in whole numbers."""
        quarter, _, llm, deployment, role = key
        one = self.one.get((quarter, llm, deployment, role))
        return one is not None and bool(one.whole)


class Taken:
    """What the decode and prefill of a plan take of instances: racks, and racks at the throughput of their size."""

    def __init__(self, instance: Instance, serving: Sequence[Serving], filled: Sequence[Prefilled]) -> None:
        self.sizes = Sizes(instance)
        self.sku, self.one = self.sizes.sku, self.sizes.one
        self.racks: dict[Key, float] = defaultdict(float)
        self.slowed: dict[Key, float] = defaultdict(float)
        for r in serving:
            deployment = self.sizes.deployment[r.point]
            key = self.sizes.key(r.quarter, r.site, r.workload, deployment, Role.DECODE)
            self._add(key, r.racks, self.sizes.slowed(r.quarter, r.workload, r.bucket, deployment, r.racks))
        for fill in filled:
            key = self.sizes.key(fill.quarter, fill.site, fill.workload, fill.sku, Role.PREFILL)
            self._add(key, fill.racks, fill.racks)

    def _add(self, key: Key, racks: float, slowed: float) -> None:
        self.racks[key] += racks
        self.slowed[key] += slowed

    def of(self, key: Key) -> InstanceRow | None:
        """What one instance of a key is; none where no size of it is known."""
        quarter, _, llm, deployment, role = key
        return self.one.get((quarter, llm, deployment, role))

    def busy(self, key: Key) -> float:
        """Instances that the work of a key fills."""
        one = self.of(key)
        return self.slowed[key] / one.busy_units if one is not None else 0.0

    def whole(self, key: Key) -> int:
        """Whole instances that do it."""
        return rounded_up(self.busy(key))
