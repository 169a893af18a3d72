"""Write what a trace says as tables that a case can take up, and draw it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from procure.csvtext import guarded
from procure.demand.trace.arrivals import QUANTILES
from procure.demand.trace.trace import Trace
from procure.files import Tell, silent, write_files

HOUR_S = 3600
EARLIEST_DATE_S = 1e9
"""Times from here on are dates: seconds since 1970."""


@dataclass(frozen=True)
class Forecast:
    """What a trace says of a quarter: its rate at the peak, and in words where quarter and rate come from."""

    quarter: str
    peak_requests_per_s: float
    sentence: str


def forecast(trace: Trace, quarter: str = "") -> Forecast | None:
    """The rate of a trace's busiest hour as the forecast of a quarter; None where it has no arrivals.

    Args:
        trace: as measured.
        quarter: the quarter that is meant; "" for that in which a dated trace ends, else today's.
    """
    if not trace.has_arrivals or not trace.requests_per_s > 0:
        return None
    busiest = trace.arrivals.busiest(HOUR_S)
    rate = trace.requests_per_s if busiest is None else busiest
    what = "the mean rate, of a trace shorter than two hours" if busiest is None else "the busiest hour"
    moment, why = datetime.now(UTC), "today's quarter; the trace has no dates"
    if trace.arrivals.start_s >= EARLIEST_DATE_S:
        moment, why = datetime.fromtimestamp(trace.arrivals.end_s, UTC), "the quarter in which the trace ends"
    if quarter:
        why = "as stated"
    named = quarter or f"{moment.year}Q{(moment.month + 2) // 3}"
    return Forecast(named, rate, f"forecast.csv: {rate:,.4g} requests/s, {what}; {named} is {why}.")


def forecast_row(trace: Trace, workload: str, quarter: str) -> pd.DataFrame:
    """The trace as a row of a case's ``forecast`` table; no rows without arrivals."""
    found = forecast(trace, quarter)
    rows = [] if found is None else [(found.quarter, workload, found.peak_requests_per_s)]
    return pd.DataFrame(rows, columns=["quarter", "workload", "peak_requests_per_s"])


def write(
    trace: Trace, folder: Path, *, workload: str, scenario: str, quarter: str = "", tell: Tell = silent
) -> list[Path]:
    """Write the tables and the picture of a trace, all or nothing.

    What a case takes stands in ``folder`` under the names of a case's tables; what is for readers, in ``measured/``.

    Args:
        trace: as measured.
        folder: new, empty, or with the files of an earlier trace, which are replaced (see :mod:`procure.files`).
        workload: name of the workload, and of its curve in ``reuse.csv``.
        scenario: scenario that fills what the trace does not say.
        quarter: see :func:`forecast`.
        tell: called with a sentence for each file that was kept aside.

    Returns:
        the files: what the trace tells of workloads.csv, forecast.csv, lengths.csv and reuse.csv; and in ``measured``
        trace.png, histogram.csv, quantiles.csv, arrivals.csv, hours.csv, reuse_by_age.csv and bad_lines.csv.
    """
    tables = {
        "workloads": workload_row(trace, workload, scenario),
        "forecast": forecast_row(trace, workload, quarter),
        "lengths": length_bins(trace, workload),
        "reuse": reuse_curve(trace, workload),
        "measured/histogram": histograms(trace),
        "measured/quantiles": quantiles(trace),
        "measured/arrivals": trace.arrivals.peaks() if trace.has_arrivals else pd.DataFrame(),
        "measured/hours": trace.arrivals.hours() if trace.has_arrivals else pd.DataFrame(),
        "measured/reuse_by_age": trace.reuse_table(),
        "measured/bad_lines": guarded(pd.DataFrame(trace.bad.kept, columns=["file", "line", "what"])),
    }

    def make(fresh: Path) -> None:
        (fresh / "measured").mkdir()
        for name, table in tables.items():
            if len(table):
                table.to_csv(fresh / f"{name}.csv", index=False, float_format="%.6g")
        plot(trace, fresh / "measured" / "trace.png", workload)

    return write_files(folder, make, tell=tell)


def histograms(trace: Trace) -> pd.DataFrame:
    """Columns: quantity (input, output), up_to_tokens, share_requests, share_tokens; no rows without lengths."""
    tables = [
        lengths.histogram().assign(quantity=name)
        for name, lengths in (("input", trace.inputs), ("output", trace.outputs))
        if lengths.requests
    ]
    columns = ["quantity", "up_to_tokens", "share_requests", "share_tokens"]
    return pd.concat(tables)[columns] if tables else pd.DataFrame(columns=columns)


def length_bins(trace: Trace, workload: str, bins: int = 60) -> pd.DataFrame:
    """The inputs as the ``lengths`` table of a case: bins of equal width in the logarithm of the length.

    Columns: workload, up_to_tokens, share_requests; empty bins are left out, no rows without lengths.
    """
    columns = ["workload", "up_to_tokens", "share_requests"]
    if not trace.inputs.longest:
        return pd.DataFrame(columns=columns)
    shortest = max(trace.inputs.quantile(0.0), 1.0)
    ends = np.unique(np.ceil(np.geomspace(shortest, max(trace.inputs.longest, shortest + 1), bins + 1)))
    share = np.diff([0.0, *(trace.inputs.share_up_to(end) for end in ends)])
    table = pd.DataFrame({"workload": workload, "up_to_tokens": ends, "share_requests": share})
    return table[table["share_requests"] > 0][columns]


def quantiles(trace: Trace) -> pd.DataFrame:
    """Columns: quantity (input, output), quantile (p1 ... p99.9, mean, max), tokens; no rows without lengths."""
    rows: list[tuple[str, str, float]] = []
    if not trace.inputs.requests:
        return pd.DataFrame(rows, columns=["quantity", "quantile", "tokens"])
    for name, lengths in (("input", trace.inputs), ("output", trace.outputs)):
        rows += [(name, f"p{100 * q:g}", lengths.quantile(q)) for q in QUANTILES]
        rows += [(name, "mean", lengths.mean), (name, "max", float(lengths.longest))]
    return pd.DataFrame(rows, columns=["quantity", "quantile", "tokens"])


def mean_to_peak(trace: Trace) -> float | None:
    """Mean rate over that of the peak hour, None where the trace is shorter than a day."""
    if not trace.has_arrivals or trace.arrivals.span_s < 86_000:
        return None
    peaks = trace.arrivals.peaks().set_index("bin_s")["peak_to_mean"]
    return float(1 / peaks[HOUR_S])


def workload_row(trace: Trace, workload: str, scenario: str) -> pd.DataFrame:
    """The trace as a row of a case's ``workloads`` table; what it cannot say is left to the scenario."""
    row: dict[str, object] = {"workload": workload, "scenario": scenario, "card": ""}
    if trace.inputs.requests:
        row["input_mean_tokens"] = round(trace.inputs.mean, 1)
        row |= {f"input_p{q}_tokens": trace.inputs.quantile(q / 100) for q in (50, 90, 99)}
        row |= {"output_thinking_tokens": 0, "output_visible_tokens": round(trace.outputs.mean, 1)}
    if trace.shared_prefix_tokens:
        row["shared_prefix_tokens"] = trace.shared_prefix_tokens
    if (share := mean_to_peak(trace)) is not None:
        row["mean_to_peak"] = round(share, 4)
    if trace.reuse is not None:
        row["reuse_curve"] = workload
    return pd.DataFrame([row])


def reuse_curve(trace: Trace, workload: str) -> pd.DataFrame:
    """The trace as a curve of a case's ``reuse`` table.

    R is the share of requests, weighted by tokens, with which the hit rate is that of the trace at each age:
    hit rate = R·p + (1 − R)·(share of the prefix that all requests have in common).

    Columns: curve, age_s, return_share (R), reused_share (p), clock.
    """
    columns = ["curve", "age_s", "return_share", "reused_share", "clock"]
    table = trace.reuse_table()
    ttl = table[(table["policy"] == "ttl") & (table["clock"] == trace.clock)]
    if not len(ttl):
        return pd.DataFrame(columns=columns)
    prefix = trace.shared_share
    # R cannot fall with age; measured on the references from each age on, it may where they are few.
    share = ((ttl["hit_rate"] - prefix) / (ttl["reused_share"] - prefix)).clip(0, 1).fillna(0.0).cummax()
    return ttl.assign(curve=workload, return_share=share)[columns]


def plot(trace: Trace, path: Path, title: str) -> Path:
    """Draw lengths, arrivals and reuse."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7), constrained_layout=True)
    lengths, arrivals, age, capacity = axes.ravel()
    for name, values in (("input", trace.inputs), ("output", trace.outputs)):
        table = quantiles(trace).query("quantity == @name and quantile.str.startswith('p')")
        share = table["quantile"].str[1:].astype(float) / 100
        lengths.plot(table["tokens"], share, marker=".", label=f"{name}, mean {values.mean:,.0f}")
    lengths.set(xscale="log", xlabel="tokens", ylabel="share of requests", title="Lengths")
    lengths.legend()

    peaks = trace.arrivals.peaks() if trace.has_arrivals else pd.DataFrame()
    if len(peaks):
        arrivals.plot(peaks["bin_s"], peaks["peak_to_mean"], marker="o")
        arrivals.set(xscale="log", xlabel="seconds per bin", ylabel="peak over mean", title="Arrivals")
    else:
        arrivals.set(title="Arrivals: none on a common clock")
        arrivals.axis("off")

    table = trace.reuse_table()
    for (policy, clock), rows in table.groupby(["policy", "clock"]):
        if policy == "ttl":
            age.plot(rows["age_s"], rows["hit_rate"], marker=".", label=f"kept by age ({clock} clock)")
            capacity.plot(rows["kept_tokens_per_rps"] / 1e6, rows["hit_rate"], label=f"kept by age ({clock} clock)")
        else:
            known = rows["capacity_tokens_per_rps"] / 1e6
            capacity.plot(known, rows["hit_rate"], label="least recently used", linestyle="--")
    for axis, label in ((age, "age, s"), (capacity, "kept, million tokens per request/s")):
        axis.set(xscale="log", ylim=(0, 1), xlabel=label, ylabel="share of input tokens reused")
        if axis.lines:
            axis.legend(loc="upper left", fontsize="small")
    age.set_title("Reuse by age")
    capacity.set_title("Reuse by capacity")
    for axis in axes.ravel():
        axis.grid(alpha=0.3)
    figure.suptitle(f"{title}: {trace.requests:,} requests")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
