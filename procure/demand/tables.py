"""The tables of a demand: one class of rows for each, which is its schema. Sorted by their first columns."""

from __future__ import annotations

from procure.schema import Row, Table, col, row

_BUCKET = "length bucket, 0 the shortest of those with requests"


@row("buckets")
class Bucket(Row):
    """Lengths of the requests, in buckets."""

    quarter: str = col("quarter", kind="quarter", key=True)
    workload: str = col("workload", key=True)
    bucket: int = col(_BUCKET, key=True)
    share: float = col("share of the workload's requests", unit="share")
    input_tokens: float = col("mean tokens of input", unit="tokens")
    input_upper_tokens: float = col("longest input", unit="tokens")
    thinking_tokens: float = col("mean tokens of thinking", unit="tokens")
    visible_tokens: float = col("mean tokens of visible output", unit="tokens")
    shared_prefix_tokens: float = col("tokens of input that all requests share", unit="tokens")


@row("rates")
class BucketRate(Row):
    """Requests of each bucket."""

    quarter: str = col("quarter", kind="quarter", key=True)
    workload: str = col("workload", key=True)
    bucket: int = col(_BUCKET, key=True)
    requests_per_s: float = col("requests at the peak", unit="requests/s")
    mean_to_peak: float = col("mean rate over the peak", unit="share")


@row("nodes")
class Node(Row):
    """Two lengths of each bucket: the mean over them is that of the bucket, for functions that are not quadratic."""

    quarter: str = col("quarter", kind="quarter", key=True)
    workload: str = col("workload", key=True)
    bucket: int = col(_BUCKET, key=True)
    node: int = col("0 or 1", key=True)
    share: float = col("share of the bucket", unit="share")
    input_tokens: float = col("tokens of input", unit="tokens")


@row("reuse")
class ReuseInterval(Row):
    """Returns and reuse by age, in the first quarter.

    Seconds that a cache is held in an interval: (age_to_s − age_from_s)·(1 − α·mean_release_before).
    """

    workload: str = col("workload", key=True)
    interval: int = col("position of the age interval, 0 for the youngest", key=True)
    age_from_s: float = col("idle seconds at its start", unit="s")
    age_to_s: float = col("idle seconds at its end", unit="s")
    return_share: float = col("share of requests that return within it (r_i)", unit="share")
    return_cumulative: float = col("share that has returned by its end (R)", unit="share")
    mean_return_before: float = col("mean of R over the interval", unit="share")
    mean_release_before: float = col("mean over it of the share of parked bytes that a return took back", unit="share")
    reused_share: float = col("share of a returning request's input that is reused (p)", unit="share")


@row("reuse_path")
class ReusePath(Row):
    """What growth does to reuse, quarter by quarter."""

    quarter: str = col("quarter", kind="quarter", key=True)
    workload: str = col("workload", key=True)
    reused_share: float = col("share of a returning request's input that is reused", unit="share")
    return_scale: float = col("factor on every return of that quarter", unit="factor")
    release_share: float = col("share of a parked cache, shared prefix aside, that a return takes back", unit="share")


@row("scenarios")
class ScenarioRow(Row):
    """Workloads as they were resolved: lengths, speeds and reuse of the first quarter."""

    workload: str = col("workload", key=True)
    scenario: str = col("scenario that fills what the case leaves empty")
    card: str = col("LLM")
    sla_tier: str = col("service level of the scenario", choices=("ok", "good", "great"))
    input_mean_tokens: float = col("mean input", unit="tokens")
    input_p50_tokens: float = col("median input", unit="tokens")
    input_p90_tokens: float = col("90th percentile of input", unit="tokens")
    input_p99_tokens: float = col("99th percentile of input", unit="tokens")
    output_thinking_tokens: float = col("thinking of a request", unit="tokens")
    output_visible_tokens: float = col("visible output of a request", unit="tokens")
    calls_per_task: float = col("requests of one task", unit="requests/task")
    tool_s: float = col("seconds of tools of one task", unit="s")
    subtasks: float = col("sessions of one task", unit="sessions/task")
    mean_to_peak: float = col("mean rate over the peak", unit="share")
    shared_prefix_tokens: float = col("input that all requests share", unit="tokens")
    session_s_per_call: float = col("seconds of open session per request", unit="s")
    context_cap_tokens: float = col("longest context served", unit="tokens")
    burst_tokens: float = col("first tokens that come at burst speed", unit="tokens")
    ttft_s: float = col("time to first token asked for; inf: none", unit="s")
    ttft_share: float = col("share of requests that must meet it", unit="share")
    tps_thinking: float = col("speed of thinking; 0: none asked", unit="tokens/s")
    reuse_curve: str = col("reuse curve")
    deferrable: bool = col("whether it may wait for quiet hours")
    tps_visible: float = col("speed of visible output; 0: none asked", unit="tokens/s")
    tps_burst: float = col("speed of the burst; 0 without one", unit="tokens/s")
    tps_user: float = col("speed of the fastest phase that has tokens; 0: none asked", unit="tokens/s")


@row("phases")
class PhaseRow(Row):
    """The output in order of time."""

    workload: str = col("workload", key=True)
    phase: str = col("phase", choices=("thinking", "burst", "visible"), key=True)
    tokens: float = col("tokens of a request", unit="tokens")
    tps_user: float = col("speed asked for; 0: none", unit="tokens/s")


@row("notes")
class DemandNote(Row):
    """What caps and compaction did, and reuse that is not as stated."""

    workload: str = col("workload")
    quarter: str = col("quarter that it concerns", empty="all of them")
    topic: str = col("context cap, reused share or reuse clock")
    wanted: float = col("what was asked for", empty="nothing to compare")
    got: float = col("what it became", empty="nothing to compare")
    unit: str = col("unit of both", empty="nothing to compare")
    detail: str = col("how it came about")


@row("dayparts")
class Daypart(Row):
    """Parts of the day."""

    daypart: str = col("part of the day: its clock hours, such as 09-17; the busiest first", key=True)
    hours_per_day: int = col("clock hours in it", unit="h")
    clock_hours: str = col("which, such as 9 10 11")


@row("daypart_rates")
class DaypartRate(Row):
    """Rates by part of the day."""

    daypart: str = col("part of the day", key=True, reference="dayparts.daypart")
    workload: str = col("workload", key=True)
    of_peak: float = col("rate of its busiest hour over the workload's peak", unit="share")
    mean_of_peak: float = col("mean rate over the workload's peak", unit="share")


ROWS: tuple[type[Row], ...] = (
    Bucket, BucketRate, Node, ReuseInterval, ReusePath, ScenarioRow, PhaseRow, DemandNote, Daypart, DaypartRate,
)  # fmt: skip
"""Every table of a demand, in order."""

TABLES: dict[str, Table] = {made.schema.name: made.schema for made in ROWS}
"""Their descriptions by name."""
