"""How much of the demand coincides: what loads count where capacity is sized by clock hour, in the case's favour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

import pandas as pd

from procure.instance.tables import Daypart, DaypartRate, Workload
from procure.quarter import HOURS_PER_DAY
from procure.schema import Resource, Span

if TYPE_CHECKING:
    from procure.instance import Instance

LEAST_SAVED = 0.01
"""Part of the work that may coincide less by the clock before it is said."""


class CoincidentPeak(TypedDict):
    """What sizing at one coincident peak costs at most: the planned quarter in which sizing by the clock spares most.

    ``spared_share`` is of the power of the demand on the pools that draw least for it (:func:`power_for_demand`).
    """

    quarter: str
    spared_share: float


def coincidence(instance: Instance, *, by_clock: bool | None = None) -> list[dict[str, float]]:
    """Factors on the rate of each workload, of which every set must be carried, whatever is placed when.

    At one coincident peak a single set of ones. By the clock one for each part of the day, work on demand as it is in
    it and none that may wait; and one for the day as a whole, in its mean. Each follows from the program's rows.

    Args:
        by_clock: whether capacity is sized by the clock; what the case says where None.
    """
    loads = instance.rows(Workload)
    if by_clock is None:
        by_clock = instance.settings["dayparts"] == "clock"
    if not by_clock:
        return [{row.workload: 1.0 for row in loads}]
    hours = {row.daypart: row.hours_per_day for row in instance.rows(Daypart)}
    of_peak = {(row.daypart, row.workload): row.of_peak for row in instance.rows(DaypartRate)}
    waits = {row.workload for row in loads if row.deferrable}
    names = [row.workload for row in loads]
    sets = [{w: 0.0 if w in waits else of_peak[part, w] for w in names} for part in hours]
    mean = {w: sum(n * of_peak[part, w] for part, n in hours.items()) / HOURS_PER_DAY for w in names}
    return [*sets, {w: 1.0 if w in waits else mean[w] for w in names}]


def least_use(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What a unit takes of a site at least: at Max-Q where the plan may run it so, in the case's favour."""
    both = tables["resource_use"].merge(tables["maxq_savings"], on=["site", "sku", "resource"], how="left")
    return both.assign(per_unit=both["per_unit"] - both["saved"].fillna(0.0))


def power_for_demand(tables: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Least power for the peak of each workload, kW by (t, workload): every request on the pool that draws least."""
    use: Any = least_use(tables)
    use = use[use["resource"] == Resource.POWER].groupby("sku")["per_unit"].min()
    usable = tables["skus"].set_index("sku")["usable_share"]
    serve, prefill, keys = tables["serve"], tables["prefill"], ["t", "workload", "bucket"]
    lpx_kw = serve["lpx_sku"].map(use).fillna(0.0)
    kw_s = (serve["sku"].map(use) / serve["sku"].map(usable)) * serve["rack_s"] + lpx_kw * serve["lpx_rack_s"]
    decode = serve.assign(kw_s=kw_s)[[*keys, "kw_s"]].groupby(keys)["kw_s"].min()
    cost = (prefill["sku"].map(use) / prefill["sku"].map(usable)) * prefill["rack_s"]
    fill = prefill.assign(kw_s=cost)[[*keys, "kw_s"]].groupby(keys)["kw_s"].min()
    per_request = decode.add(fill, fill_value=0.0)
    rate = tables["rates"].set_index(keys)["requests_per_s"]
    each: pd.Series = (per_request * rate).fillna(0.0).groupby(level=["t", "workload"]).sum()
    return each


def coinciding(each: pd.Series, factors: list[dict[str, float]]) -> pd.Series:
    """The most that sets of factors on workloads make of figures by (quarter, workload), by quarter."""
    workload = each.index.get_level_values("workload")
    sums = [(each * [factor[name] for name in workload]).groupby(level="t").sum() for factor in factors]
    return pd.concat(sums, axis=1).max(axis=1)


def spared_by_clock(instance: Instance) -> dict[int, float]:
    """Share of the power for the demand that sizing by clock hour spares at most, by quarter; none where it is so."""
    if instance.settings["dayparts"] == "clock":
        return {}
    each = instance.of(power_for_demand)
    peak, clock = (coinciding(each, coincidence(instance, by_clock=by_clock)) for by_clock in (False, True))
    return {
        int(t): 1.0 - float(clock[t]) / most for t, most in zip(peak.index, peak.astype(float), strict=True) if most > 0
    }


def coincident_peak(instance: Instance) -> CoincidentPeak | None:
    """What a plan sized at one coincident peak says of it; None where nothing to speak of would be spared."""
    names = instance.quarters
    shares = [
        (share, names[t])
        for t, share in sorted(spared_by_clock(instance).items())
        if share > LEAST_SAVED and instance.span[names[t]] is Span.PLANNED
    ]
    if not shares:
        return None
    share, quarter = max(shares, key=lambda found: found[0])
    return {"quarter": quarter, "spared_share": share}
