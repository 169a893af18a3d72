"""Instances of an LLM: GPUs of each by role, how much it carries, and which loads are counted in whole ones.

An instance is a replica of one LLM as served (card, formats of weights and cache) on so many GPUs of one pool, all its
weights resident: it prefills, decodes, or does both. A load that needs few of them is counted in whole instances; of a
larger one the plan says what rounding up would add.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from procure import performance
from procure.instance.service import LEAST_TPS, Load, machines, percentile_factor, phases
from procure.instance.standing import Standing
from procure.instance.tables import InstanceRate, InstanceRow, Rate, SkuRow, Workload
from procure.schema import RECOMPUTE, Role, SkuKind

if TYPE_CHECKING:
    from procure.case import Case
    from procure.case.settings import Settings
    from procure.catalogue import Sku

READ = ("serve", "prefill", "rates", "skus", "workloads", "fixed", "resource_use", "quarters", "pool_roles")
"""Tables that instances follow from."""
GROUP = ["t", "llm", "deployment"]
SIZES = ["t", "workload", "bucket", "deployment", "gpus", "share"]
EQUAL = 1e-9
"""Instances by which a load may be above a whole number and still need no further one."""
LEAST_LOAD = 1e-3
"""Instances below which a load is left fluid: parts of a rack that the solver's tolerances do not see."""


def sizes(case: Case, load: Load) -> pd.DataFrame:
    """How much of the best throughput instances of each size reach: one row for each bucket, deployment and size.

    Columns: t, workload, bucket, deployment, gpus, share. The phases of a request run on one instance, each at its own
    speed. Sizes that cannot serve a bucket have no row; without a pool there is none at all.
    """
    made = []
    for pool in machines(case, SkuKind.GPU):
        for partner in (None, *machines(case, SkuKind.LPX)) if pool.pairs_with_lpx else (None,):
            gpus, share = _shares(case, load, pool, partner)
            name = f"{pool.name}+{partner.name}" if partner is not None else pool.name
            row, size = np.nonzero(share > 0)
            at = load.buckets.iloc[row]
            made.append(
                pd.DataFrame({
                    "t": at["t"].to_numpy(), "workload": load.name, "bucket": at["bucket"].astype(str).to_numpy(),
                    "deployment": name, "gpus": gpus[size], "share": share[row, size],
                })
            )  # fmt: skip
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame(columns=SIZES)


def _shares(case: Case, load: Load, pool: Sku, lpx: Sku | None) -> tuple[np.ndarray, np.ndarray]:
    """Sizes, and the share of the best throughput that each reaches, shape (bucket rows, sizes); 0 for none."""
    b, factor = load.buckets, percentile_factor(case)
    output = (b["thinking_tokens"] + b["visible_tokens"]).to_numpy(float)
    best: Any = 0.0
    sized: Any = 0.0
    for phase in phases(load):
        gpus, rates = performance.decode_rates_by_size(
            pool,
            load.card,
            load.setup,
            context_mean=b["input_tokens"].to_numpy(float) + output / 2,
            context_upper=b["input_upper_tokens"].to_numpy(float) + output,
            tps_user=np.full(len(b), max(phase.tps * factor, LEAST_TPS)),
            months=b["months"].to_numpy(float),
            lpx=lpx,
        )
        tokens = np.asarray(phase.tokens, dtype=float)[:, None]
        with np.errstate(divide="ignore"):
            seconds = np.where(tokens > 0, tokens / rates, 0.0)
        sized = sized + seconds
        best = best + seconds.min(axis=1, initial=np.inf, keepdims=True)
    served = np.isfinite(sized) & (sized > 0)
    return gpus, np.where(served, best, 0.0) / np.where(served, sized, 1.0)


def prefill_sizes(case: Case, loads: Mapping[str, Load]) -> pd.DataFrame:
    """GPUs that a prefill instance of each workload may have on each pool; columns workload, sku, gpus."""
    rows = [
        (name, pool.name, gpus)
        for name, load in loads.items()
        for pool in machines(case, SkuKind.GPU)
        for gpus in performance.prefill_gpus_by_size(pool, load.card, load.setup)
    ]
    return pd.DataFrame(rows, columns=["workload", "sku", "gpus"])


def instances(
    tables: Mapping[str, pd.DataFrame], decode: pd.DataFrame, prefill: pd.DataFrame, case: Case
) -> dict[str, pd.DataFrame]:
    """The tables ``instances`` and ``instance_rates``.

    On each deployment the instances of an LLM have one size in a quarter: the one that carries its whole load with the
    fewest units, of those at least as large as the case states (``instance_gpus``). By ``instance_roles`` an instance
    prefills or decodes (``apart``), or does both (``shared``); ``by_load``: both where one instance carries the whole
    load on some pool in fewer units than instances for each role. Loads that at most ``whole_instances_up_to``
    instances of the smallest size carry, prefill and decode together on the pool where that is fewest, are counted in
    whole ones, where one of them is at least ``whole_instances_least_share`` of what all loads would take there.

    Args:
        tables: those named in :data:`READ`.
        decode: what :func:`sizes` gives, of all workloads.
        prefill: what :func:`prefill_sizes` gives.
        case: for its settings and the sizes that it states.
    """
    stated = case.tables["workloads"].set_index("workload")["instance_gpus"].astype(float).fillna(1.0)
    llm = {row.workload: row.llm for row in Workload.rows(tables["workloads"])}
    least = stated.rename(llm).groupby(level=0).max()
    prefill = _prefill_size(prefill, llm, least)
    sku = {row.sku: row for row in SkuRow.rows(tables["skus"])}
    standing = Standing.of(tables)
    may = {"serve": standing.decodes, "prefill": standing.prefills}
    stands = {name: {(k, t) for site, k, t in standing.units if does(site, k, t)} for name, does in may.items()}
    tables = {**tables, **{name: _standing(tables[name], pools) for name, pools in stands.items()}}
    decoding = _decoding(tables, decode, prefill, llm, sku, least)
    filling = _filling(tables, prefill, llm, sku)
    both = _both(decoding, filling, sku)
    small = _small(decoding, filling, case.settings)
    one = _for_both(both, decoding, filling, case.settings.instance_roles)
    chosen = [
        _fewest(decoding[(decoding["lpx_sku"] != "") | ~_among(decoding, one)], Role.DECODE),
        _fewest(both[_among(both, one)], Role.BOTH),
    ]
    alone = filling.merge(chosen[1][GROUP], how="left", on=GROUP, indicator=True)
    chosen.append(_fewest(alone[alone["_merge"] == "left_only"], Role.PREFILL))
    rows = pd.concat(chosen).sort_values([*GROUP, "role"])
    rows["whole"] = _among(rows, small).astype(int)
    made = InstanceRow.rows(rows)
    return {"instances": InstanceRow.frame(made), "instance_rates": _rates(rows, decode, llm)}


def units_of(gpus: int, per_unit: int) -> float:
    """Units that one instance takes: its part of a unit filled with its like, or whole units beyond one."""
    return 1.0 / (per_unit // gpus) if gpus <= per_unit else float(-(-gpus // per_unit))


def _decoding(
    tables: Mapping[str, pd.DataFrame],
    sized: pd.DataFrame,
    filling: pd.DataFrame,
    llm: Mapping[str, str],
    sku: Mapping[str, SkuRow],
    least: Any,
) -> pd.DataFrame:
    """Instances that decode the whole load of each LLM on a deployment, for every size that serves all its buckets.

    Where physics reaches the speed of no bucket, which a user's own figures do, they are as large as for prefill.
    """
    keys = ["t", "workload", "bucket", "deployment"]
    points = tables["serve"].groupby([*keys, "sku", "lpx_sku"], as_index=False)["rack_s"].min()
    work = points.merge(_rate(tables), on=keys[:3])
    work["racks"] = work["rack_s"] * work["requests_per_s"]
    served = work.merge(sized, on=keys, how="left")
    served["llm"] = served["workload"].map(llm)
    served["racks"] /= served["share"].fillna(1.0)
    reached = served["gpus"].notna().groupby([served[name] for name in GROUP]).transform("any").astype(bool)
    beyond = served[~reached].drop(columns="gpus").merge(filling, on=["workload", "sku"])
    known = pd.concat([served[served["gpus"].notna()], beyond]).astype({"gpus": int})
    found = known.groupby([*GROUP, "sku", "lpx_sku", "gpus"], as_index=False).agg(
        racks=("racks", "sum"), buckets=("racks", "size")
    )
    most = found.groupby(GROUP)["buckets"].transform("max")
    found = found[found["buckets"] == most].drop(columns="buckets")
    return _loads(_large_enough(found, found["llm"].map(least), GROUP), sku)


def _standing(ways: pd.DataFrame, stands: set[tuple[str, int]]) -> pd.DataFrame:
    """Ways to serve on pools that may stand in their quarter."""
    kept = [pair in stands for pair in zip(ways["sku"], ways["t"], strict=True)]
    return ways[np.array(kept, dtype=bool)]


def _rate(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    rates = tables["rates"]
    return rates[rates["requests_per_s"] > 0][[*Rate.schema.key, "requests_per_s"]]


def _filling(
    tables: Mapping[str, pd.DataFrame],
    sized: pd.DataFrame,
    llm: Mapping[str, str],
    sku: Mapping[str, SkuRow],
) -> pd.DataFrame:
    """Instances that prefill the whole load of each LLM in full on a pool, all of one size."""
    ways = tables["prefill"]
    work = ways[ways["store"] == RECOMPUTE].merge(_rate(tables), on=["t", "workload", "bucket"])
    work["racks"] = work["rack_s"] * work["requests_per_s"]
    work = work.merge(sized, on=["workload", "sku"])
    work["llm"] = work["workload"].map(llm)
    work["deployment"] = work["sku"]
    found = work.groupby([*GROUP, "sku"], as_index=False).agg(racks=("racks", "sum"), gpus=("gpus", "max"))
    return _loads(found.assign(lpx_sku=""), sku)


def _prefill_size(sized: pd.DataFrame, llm: Mapping[str, str], least: Any) -> pd.DataFrame:
    """One size for each workload and pool: the smallest of at least the GPUs stated; the largest where none is."""
    each = ["workload", "sku"]
    large = _large_enough(sized, sized["workload"].map(llm).map(least), each)
    return large.sort_values([*each, "gpus"]).drop_duplicates(each)


def _large_enough(found: pd.DataFrame, least: pd.Series, each: list[str]) -> pd.DataFrame:
    """Of each group the sizes of at least so many GPUs; the largest where there is none."""
    enough = found["gpus"] >= least
    largest = found["gpus"] == found.groupby(each)["gpus"].transform("max")
    none = ~enough.groupby([found[name] for name in each]).transform("any")
    return found[(enough | (none & largest)).astype(bool)]


def _loads(found: pd.DataFrame, sku: Mapping[str, SkuRow]) -> pd.DataFrame:
    """With the units that one instance takes, those that its work may keep busy, and the instances of the load."""
    gpus = found["sku"].map(lambda name: sku[name].gpus)
    usable = found["sku"].map(lambda name: sku[name].usable_share)
    units = [units_of(int(g), int(n)) for g, n in zip(found["gpus"], gpus, strict=True)]
    busy = usable * found["gpus"] / gpus
    figures = found.assign(units=units, busy_units=busy, load=found["racks"] / busy)
    return figures.astype({"racks": float, "units": float, "busy_units": float, "load": float, "gpus": int})


def _both(decoding: pd.DataFrame, filling: pd.DataFrame, sku: Mapping[str, SkuRow]) -> pd.DataFrame:
    """Instances that prefill and decode everything: of sizes at least as large as prefill takes, else the largest."""
    alone = decoding[decoding["lpx_sku"] == ""]
    pair = alone.merge(filling[[*GROUP, "racks", "gpus"]], on=GROUP, suffixes=("", "_prefill"))
    pair["racks"] += pair["racks_prefill"]
    return _loads(_large_enough(pair, pair["gpus_prefill"], GROUP)[list(alone.columns)], sku)


def _whole(load: Any) -> Any:
    """Whole instances that carry a load."""
    return np.ceil(np.asarray(load, dtype=float) - EQUAL)


def _small(decoding: pd.DataFrame, filling: pd.DataFrame, settings: Settings) -> set[tuple[int, str]]:
    """(t, LLM) whose load few instances of the smallest size carry, each a part of all loads that is worth counting.

    Both on the pool where that is fewest, or the largest part, of decode and prefill apart.
    """
    few: list[pd.Series] = []
    part: list[pd.Series] = []
    for found in (decoding.sort_values("gpus").drop_duplicates(GROUP), filling):
        every = found.assign(all=found["racks"] * found["units"] / found["busy_units"])
        every["all"] = every.groupby(["t", "deployment"])["all"].transform("sum")
        by_llm = every.assign(part=every["units"] / every["all"]).groupby(["t", "llm"])
        few.append(by_llm["load"].min())
        part.append(by_llm["part"].max())
    need = few[0].add(few[1], fill_value=0.0)
    worth = pd.concat(part).groupby(level=[0, 1]).max() >= settings.whole_instances_least_share
    small = (need <= settings.whole_instances_up_to) & (need >= LEAST_LOAD) & worth.reindex(need.index)
    return set(need[small].index) if settings.whole_instances_up_to > 0 else set()


def _for_both(both: pd.DataFrame, decoding: pd.DataFrame, filling: pd.DataFrame, roles: str) -> set[tuple[int, str]]:
    """(t, LLM) whose instances prefill and decode."""
    if roles != "by_load":
        return set(zip(both["t"], both["llm"], strict=True)) if roles == "shared" else set()
    one = both[_whole(both["load"]) <= 1].groupby(GROUP)["units"].min()
    split = [
        found.assign(taken=_whole(found["load"]) * found["units"]).groupby(GROUP)["taken"].min()
        for found in (decoding, filling)
    ]
    apart = (split[0] + split[1]).reindex(one.index)
    return {(t, llm) for t, llm, _ in one[one < apart - EQUAL].index}


def _among(rows: pd.DataFrame, chosen: set[tuple[int, str]]) -> pd.Series:
    """Which rows are of these (t, LLM)."""
    return pd.Series(
        [pair in chosen for pair in zip(rows["t"], rows["llm"], strict=True)], index=rows.index, dtype=bool
    )


def _fewest(found: pd.DataFrame, role: Role) -> pd.DataFrame:
    """Of every deployment the size that carries the load with the fewest units; of equals the smallest.

    Of instances that do both, the fewest of equals: one that carries all is why they do.
    """
    count = _whole(found["load"])
    taken = found.assign(role=role.value, taken=np.round(count * found["units"], 9), count=count)
    order = ["count", "gpus"] if role is Role.BOTH else ["gpus"]
    return taken.sort_values([*GROUP, "taken", *order]).drop_duplicates(GROUP)


def _rates(rows: pd.DataFrame, sized: pd.DataFrame, llm: Mapping[str, str]) -> pd.DataFrame:
    """Throughput of each bucket on the instances chosen, over the best."""
    at = sized.assign(llm=sized["workload"].map(llm))
    found = at.merge(rows[rows["role"] != Role.PREFILL.value][[*GROUP, "gpus"]], on=[*GROUP, "gpus"])
    found = found.sort_values(["t", "workload", "bucket", "deployment"])
    columns = ["t", "workload", "bucket", "deployment", "share"]
    return InstanceRate.frame([InstanceRate(*row) for row in found[columns].itertuples(index=False)])
