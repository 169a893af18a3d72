"""Power and space in the program: costs of what stands and of what it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from procure.instance.tables import Upkeep
from procure.program.index import Index
from procure.program.part import Part
from procure.program.power import prefill_usd, serve_usd
from procure.program.running import Running
from procure.program.sales import leaving


def running(m: Any, index: Index) -> Iterator[Running]:
    """Idle power and space of what stands or was sold and is not yet removed, and power above idle at the mean rate.

    Decode and prefill draw different shares of a unit's maximum.
    """
    rows = {(r.site, r.sku): r.idle_usd_per_quarter + r.space_usd_per_quarter for r in index.instance.rows(Upkeep)}
    for site, sku, t in index.stock:
        yield Running(t, rows[site, sku], m.own[site, sku, t])
    for (site, sku, t), found in index.of(leaving).items():
        for sale in found:
            yield Running(t, rows[site, sku], sale.decision(m))
    for p, site, usd in serve_usd(index):
        yield Running(p.at.t, usd, m.serve[p.point, site], p.at)
    for o, site, usd in prefill_usd(index):
        yield Running(o.at.t, usd, m.prefill[o.option, site], o.at)


PROGRAM = Part(running=running)
