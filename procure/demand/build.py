"""From a case to demand: requests by quarter, workload and length bucket, and the reuse of their caches by age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from procure.demand import lengths
from procure.demand.dayparts import dayparts, days_of
from procure.demand.growth import reuse_path
from procure.demand.reuse import Curve, curves_of, intervals
from procure.demand.scenarios import scenarios_of
from procure.demand.tables import DemandNote
from procure.errors import Fault, InputError

if TYPE_CHECKING:
    from procure.case import Case

TOKENS = ("input_mean_tokens", "output_thinking_tokens", "output_visible_tokens")
"""Columns of the resolved workloads whose sum is the tokens of a request: what hours of the day are compared in."""

Note = tuple[str, str, str, float, float, str, str]


@dataclass(frozen=True)
class Demand:
    """What the workloads of a case ask for. Tables, sorted by their first columns.

    Attributes:
        buckets: quarter, workload, bucket, share, input_tokens, input_upper_tokens, thinking_tokens, visible_tokens,
            shared_prefix_tokens.
        rates: quarter, workload, bucket, requests_per_s (at the peak), mean_to_peak.
        nodes: quarter, workload, bucket, node (0, 1), share (of the bucket), input_tokens: for means of functions over
            a bucket, such as KV bytes of windowed layers.
        reuse: workload, interval, age_from_s, age_to_s, return_share, return_cumulative, mean_return_before,
            mean_release_before, reused_share: of the first quarter. Seconds that a cache is held in an interval:
            (age_to_s − age_from_s)·(1 − α·mean_release_before).
        reuse_path: quarter, workload, reused_share, return_scale (factor on every R of that quarter), release_share
            (share of a parked cache, shared prefix aside, that a return takes back).
        scenarios: one row per workload, see :func:`procure.demand.scenarios.scenarios_of`.
        phases: workload, phase (thinking, burst, visible), tokens, tps_user: the output in order of time.
        notes: workload, quarter, topic, wanted, got, unit, detail: what caps and compaction did.
        dayparts, daypart_rates: see :func:`procure.demand.dayparts.dayparts`.
        lengths: input tokens at the points of :data:`procure.demand.lengths.SHARES` by (quarter, workload): the whole
            distribution that the buckets stand for, rising.
    """

    buckets: pd.DataFrame
    rates: pd.DataFrame
    nodes: pd.DataFrame
    reuse: pd.DataFrame
    reuse_path: pd.DataFrame
    scenarios: pd.DataFrame
    phases: pd.DataFrame
    notes: pd.DataFrame
    dayparts: pd.DataFrame
    daypart_rates: pd.DataFrame
    lengths: Mapping[tuple[str, str], np.ndarray]


def build(case: Case, *, bucket_count: int = 4) -> Demand:
    """Demand of a case.

    Lengths, outputs, caps and the spread of lengths at equal mean grow as :attr:`procure.case.Case.growth` says.
    Requests are those of the forecast, whatever the lengths. A prompt longer than its cap is compacted: it runs at the
    cap, the longest that it can be, and ``notes`` say how many requests and tokens that concerns. The cap leaves room
    for the output below the card's maximum.

    Args:
        case: a checked case, defaults filled in.
        bucket_count: length buckets per workload.

    Raises:
        InputError: output that grows to the card's maximum context, so that no prompt fits beside it; lengths
            that shrink to what all requests share; a spread of lengths beyond what buckets can stand for.
    """
    table = case.tables["workloads"]  # filled by the case: no default is read here
    scenarios = scenarios_of(table)
    quarters = [str(q) for q in case.quarters]
    route = case.settings.growth_route
    limits = np.array([float(case.cards[name].max_context_tokens) for name in scenarios["card"]])
    growth = case.growth
    output = growth.output
    _check_room(scenarios, limits, output.max(axis=1))

    column = {name: scenarios[name].to_numpy(dtype=float) for name in scenarios.select_dtypes("number")}
    longest = limits[:, None] - np.ceil(
        (column["output_thinking_tokens"] + column["output_visible_tokens"])[:, None] * output
    )
    cap = np.minimum(column["context_cap_tokens"][:, None] * growth.context_cap, longest)
    base = lengths.from_quantiles(*(column[f"input_{name}_tokens"] for name in ("mean", "p50", "p90", "p99")))
    for i, name in enumerate(scenarios["workload"]):
        if (bins := _histogram(case.tables["lengths"], name)) is not None:
            base[i] = lengths.from_histogram(*bins, column["input_mean_tokens"][i])
    wanted = lengths.widen(base, growth.spread) * growth.input[:, :, None]
    got = np.minimum(wanted, cap[:, :, None])
    mean = got @ lengths.SHARES
    _check_prefix(scenarios, quarters, mean)
    compacted = _compacted(scenarios, quarters, wanted, got, cap)

    buckets, rates, nodes = _buckets(case, scenarios, quarters, got, output, bucket_count)
    reuse, path, clipped = _reuse(scenarios, quarters, mean, route, curves_of(case))
    notes = pd.DataFrame([*compacted, *clipped], columns=list(DemandNote.columns))
    highest = case.tables["forecast"].groupby("workload")["peak_requests_per_s"].max()
    tokens = scenarios.set_index("workload")[list(TOKENS)].sum(axis=1)
    parts = dayparts(scenarios, days_of(case, scenarios), dict(highest * tokens), case.settings.dayparts_most)
    whole = {(q, w): got[i, t] for i, w in enumerate(scenarios["workload"]) for t, q in enumerate(quarters)}
    return Demand(buckets, rates, nodes, reuse, path, scenarios, _phases(scenarios), notes, *parts, whole)


def _check_prefix(scenarios: pd.DataFrame, quarters: list[str], mean: np.ndarray) -> None:
    """Refuse lengths that shrink, or are cut, until a mean prompt is no longer than what all requests share."""
    faults = []
    for i, row in enumerate(scenarios.to_dict("records")):
        prefix, shrunk = row["shared_prefix_tokens"], ~(mean[i] > row["shared_prefix_tokens"])
        if prefix > 0 and shrunk.any():
            t = int(np.argmax(shrunk))
            expected = (
                f"Less than the mean input of every quarter: as lengths grow, {mean[i, t]:,.0f} in {quarters[t]}."
            )
            faults.append(Fault("workloads.csv", i + 2, "shared_prefix_tokens", f"{prefix:g}", expected))
    if faults:
        raise InputError(faults)


def _check_spread(scenarios: pd.DataFrame, quarters: list[str], made: lengths.Buckets, growth: pd.Series) -> None:
    """Refuse a spread of lengths that grows until no four of them can stand for it."""
    kept = np.concatenate([made.tokens[..., None], made.node_tokens], axis=-1)
    fits = ((np.isfinite(kept) & (kept > 0)).all(axis=-1) | (made.share <= 0)).all(axis=-1)
    fits &= np.isfinite(made.share).all(axis=-1)
    faults = []
    for i, fit in enumerate(fits.reshape(len(scenarios), len(quarters))):
        if not fit.all():
            expected = f"Less growth: in {quarters[int(np.argmin(fit))]} most requests would be shorter than a token."
            value = f"{growth.iloc[i]:g}"
            faults.append(Fault("workloads.csv", i + 2, "tail_growth_per_year", value, expected))
    if faults:
        raise InputError(faults)


def _check_room(scenarios: pd.DataFrame, limits: np.ndarray, growth: np.ndarray) -> None:
    """Refuse outputs that grow until no prompt fits beside them."""
    faults = []
    for i, (row, limit) in enumerate(zip(scenarios.to_dict("records"), limits, strict=True)):
        output = np.ceil((row["output_thinking_tokens"] + row["output_visible_tokens"]) * growth[i])
        if limit - output < 1:
            expected = f"Output shorter than the maximum context of {row['card']} ({limit:,.0f} tokens) is expected."
            value = f"{row['output_visible_tokens']:g}"
            faults.append(Fault("workloads.csv", i + 2, "output_visible_tokens", value, expected))
    if faults:
        raise InputError(faults)


def _histogram(table: pd.DataFrame, workload: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Upper ends and shares of a workload's own histogram of lengths, None where the case has none."""
    rows = table[table["workload"] == workload].sort_values("up_to_tokens")
    if rows.empty:
        return None
    return rows["up_to_tokens"].to_numpy(dtype=float), rows["share_requests"].to_numpy(dtype=float)


def _buckets(
    case: Case, scenarios: pd.DataFrame, quarters: list[str], got: np.ndarray, output: np.ndarray, count: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    workloads, times, points = got.shape
    with np.errstate(all="ignore"):  # what leaves the range of numbers is refused in the next line
        made = lengths.buckets(got.reshape(workloads * times, points), count)
    _check_spread(scenarios, quarters, made, case.tables["workloads"]["tail_growth_per_year"])
    size = workloads * times
    spread = {
        name: np.repeat(scenarios[name].to_numpy(), times * count)
        for name in (
            "workload",
            "output_thinking_tokens",
            "output_visible_tokens",
            "shared_prefix_tokens",
            "mean_to_peak",
        )
    }
    growth = np.repeat(output.ravel(), count)
    table = pd.DataFrame(
        {
            "quarter": np.tile(np.repeat(quarters, count), workloads),
            "workload": spread["workload"],
            "bucket": np.tile(np.arange(count), size),
            "share": made.share.ravel(),
            "input_tokens": made.tokens.ravel(),
            "input_upper_tokens": made.upper.ravel(),
            "thinking_tokens": spread["output_thinking_tokens"] * growth,
            "visible_tokens": spread["output_visible_tokens"] * growth,
            "shared_prefix_tokens": np.minimum(spread["shared_prefix_tokens"], made.tokens.ravel()),
            "mean_to_peak": spread["mean_to_peak"],
        }
    )
    for i in range(2):
        table[f"node{i}_share"] = made.node_share[..., i].ravel()
        table[f"node{i}_tokens"] = made.node_tokens[..., i].ravel()
    table = table[table["share"] > 0].sort_values(["quarter", "workload", "bucket"], ignore_index=True)
    table["bucket"] = table.groupby(["quarter", "workload"]).cumcount()
    keys = ["quarter", "workload", "bucket"]
    parts = [
        table[[*keys, f"node{i}_share", f"node{i}_tokens"]]
        .set_axis([*keys, "share", "input_tokens"], axis=1)
        .assign(node=i)
        for i in range(2)
    ]
    nodes = pd.concat(parts).sort_values([*keys, "node"], ignore_index=True)[[*keys, "node", "share", "input_tokens"]]
    table = table.drop(columns=[c for c in table if str(c).startswith("node")])
    forecast = case.tables["forecast"].astype({"quarter": str})
    peak = table[["quarter", "workload"]].merge(forecast, how="left", on=["quarter", "workload"], validate="m:1")
    rates = table[["quarter", "workload", "bucket"]].copy()
    rates["requests_per_s"] = table["share"] * peak["peak_requests_per_s"].to_numpy(dtype=float)
    rates["mean_to_peak"] = table.pop("mean_to_peak")
    return table, rates, nodes


def _reuse(
    scenarios: pd.DataFrame, quarters: list[str], mean: np.ndarray, route: str, known: Mapping[str, Curve]
) -> tuple[pd.DataFrame, pd.DataFrame, list[Note]]:
    curves = [known[name] for name in scenarios["reuse_curve"]]
    p0 = np.array([c.reused_share for c in curves])
    r0 = np.array([c.returned[-1] if c.returned else 0.0 for c in curves])
    prefix = scenarios["shared_prefix_tokens"].to_numpy(dtype=float)[:, None] / mean
    p, scale = reuse_path(route, mean / mean[:, :1], p0, r0, prefix)
    notes: list[Note] = [
        (workload, quarters[t], "reused share", p0[i], p[i, t], "share of input", "raised to the shared prefix")
        for i, workload in enumerate(scenarios["workload"])
        for t in np.flatnonzero((p[i] == prefix[i]) & (p0[i] > 0))[:1]
    ] + [
        (name, "", "reuse clock", np.nan, np.nan, "", f"ages of {curve.name} run from the start of requests, not idle")
        for name, curve in zip(scenarios["workload"], curves, strict=True)
        if curve.clock == "start"
    ]
    release = (p - prefix) / (1 - prefix)
    path = pd.DataFrame(
        {
            "quarter": np.tile(quarters, len(scenarios)),
            "workload": np.repeat(scenarios["workload"].to_numpy(), len(quarters)),
            "reused_share": p.ravel(),
            "return_scale": scale.ravel(),
            "release_share": release.ravel(),
        }
    ).sort_values(["quarter", "workload"], ignore_index=True)
    tables = []
    for i, (workload, curve) in enumerate(zip(scenarios["workload"], curves, strict=True)):
        table = intervals(curve)
        table.insert(0, "workload", workload)
        table["mean_release_before"] = table["mean_return_before"] * release[i, 0]
        table["reused_share"] = p[i, 0]
        tables.append(table)
    reuse = pd.concat(tables).sort_values(["workload", "interval"], ignore_index=True)
    return reuse, path, notes


def _phases(scenarios: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for row in scenarios.to_dict("records"):
        burst = min(row["burst_tokens"], row["output_visible_tokens"])
        rows += [
            (row["workload"], "thinking", row["output_thinking_tokens"], row["tps_thinking"]),
            (row["workload"], "burst", burst, row["tps_burst"]),
            (row["workload"], "visible", row["output_visible_tokens"] - burst, row["tps_visible"]),
        ]
    table = pd.DataFrame(rows, columns=["workload", "phase", "tokens", "tps_user"])
    return table[table["tokens"] > 0].reset_index(drop=True)


def _compacted(
    scenarios: pd.DataFrame,
    quarters: list[str],
    wanted: np.ndarray,
    got: np.ndarray,
    cap: np.ndarray,
) -> list[Note]:
    cut = (wanted > cap[:, :, None]) @ lengths.SHARES
    before, after = wanted @ lengths.SHARES, got @ lengths.SHARES
    rows: list[Note] = []
    for i, row in enumerate(scenarios.to_dict("records")):
        name = row["workload"]
        for t, quarter in enumerate(quarters):
            if before[i, t] - after[i, t] > 1e-4 * before[i, t]:
                detail = f"{cut[i, t]:.2%} of the requests are compacted to {cap[i, t]:,.0f} tokens"
                wish = (before[i, t], after[i, t], "tokens, mean input")
                rows.append((name, quarter, "context cap", *wish, detail))
    return rows
