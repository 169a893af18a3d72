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


class Taken:
    """What the decode and prefill of a plan take of instances: racks, and racks at the throughput of their size."""

    def __init__(self, instance: Instance, serving: Sequence[Serving], filled: Sequence[Prefilled]) -> None:
        self.sku = {r.sku: r for r in instance.rows(SkuRow)}
        self.one = {(instance.quarters[r.t], r.llm, r.deployment, r.role): r for r in instance.rows(InstanceRow)}
        self.racks: dict[Key, float] = defaultdict(float)
        self.slowed: dict[Key, float] = defaultdict(float)
        llm = {r.workload: r.llm for r in instance.rows(Workload)}
        points = {r.point: r for r in instance.rows(Serve)}
        names = instance.quarters
        share = {
            (names[r.t], r.workload, r.bucket, r.deployment): r.throughput_share for r in instance.rows(InstanceRate)
        }
        for r in serving:
            deployment = points[r.point].deployment
            slower = share.get((r.quarter, r.workload, r.bucket, deployment), 1.0)
            self._add(r, llm[r.workload], deployment, Role.DECODE, r.racks / slower)
        for fill in filled:
            self._add(fill, llm[fill.workload], fill.sku, Role.PREFILL, fill.racks)

    def _add(self, r: Serving | Prefilled, llm: str, deployment: str, own: Role, slowed: float) -> None:
        role = Role.BOTH if (r.quarter, llm, deployment, Role.BOTH) in self.one else own
        key = (r.quarter, r.site, llm, deployment, role)
        self.racks[key] += r.racks
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
        """Whole instances that do it; a hundred-thousandth of one is rounding."""
        busy = self.busy(key)
        return math.ceil(busy - 1e-5 * max(1.0, busy))
