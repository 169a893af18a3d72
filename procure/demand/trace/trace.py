"""What a trace says: lengths, arrivals, reuse, and what was inferred or assumed."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from procure.demand.trace.arrivals import Arrivals, Lengths
from procure.demand.trace.reuse import CLOCKS, Measured
from procure.demand.trace.source import BadLines


@dataclass
class Trace:
    """What a trace says.

    Attributes:
        inputs, outputs: lengths of prompts and outputs.
        arrivals: arrivals by second; empty where each session has its own clock.
        reuse: None where the trace has neither blocks nor sessions.
        clock: ``idle`` where completions are stated or assumed, else ``start``.
        timed: whether arrivals are stated; a benchmark result may hold lengths alone.
        sentences: what was inferred or assumed, in words.
    """

    inputs: Lengths = field(default_factory=Lengths)
    outputs: Lengths = field(default_factory=Lengths)
    arrivals: Arrivals = field(default_factory=Arrivals)
    reuse: Measured | None = None
    clock: str = "start"
    session_clock: bool = False
    timed: bool = True
    block_tokens: int = 0
    shared_prefix_tokens: float = 0.0
    common_tokens: float = 0.0
    sessions: int = 0
    out_of_order: int = 0
    bad: BadLines = field(default_factory=BadLines)
    sentences: list[str] = field(default_factory=list)

    @property
    def shared_share(self) -> float:
        """Share of the input that every prompt has in common and that hits contain; 0 where hits are private."""
        return self.common_tokens / self.inputs.mean if self.inputs.mean else 0.0

    @property
    def requests(self) -> int:
        """Requests read (or counted, where the trace states rates alone)."""
        return self.inputs.requests or round(self.arrivals.requests)

    @property
    def has_arrivals(self) -> bool:
        """Whether requests arrive on one clock."""
        return self.timed and not self.session_clock

    @property
    def requests_per_s(self) -> float:
        """Mean rate over the trace; 0 where each session has its own clock."""
        span = self.arrivals.span_s
        return self.requests / span if span > 0 else 0.0

    def reuse_table(self) -> pd.DataFrame:
        """Reuse against age and capacity.

        Columns: policy (ttl or lru), clock (idle or start; empty for lru), age_s, capacity_tokens_per_rps, hit_rate
        (share of the input tokens), hit_rate_whole (lru: from the cold start), kept_tokens_per_rps (ttl), return_share
        (R, weighted by tokens), return_share_requests, reused_share (p).
        """
        columns = [
            "policy",
            "clock",
            "age_s",
            "capacity_tokens_per_rps",
            "hit_rate",
            "hit_rate_whole",
            "kept_tokens_per_rps",
            "return_share",
            "return_share_requests",
            "reused_share",
        ]
        if self.reuse is None:
            return pd.DataFrame(columns=columns)
        tables = []
        for clock in CLOCKS if self.clock == "idle" else ("start",):
            table = self.reuse.hits[clock].table().rename(columns={"share": "hit_rate"})
            table["kept_tokens_per_rps"] = table.pop("occupied_s") * self.inputs.mean
            for name, curve in (
                ("return_share", self.reuse.returns),
                ("return_share_requests", self.reuse.returns_requests),
            ):
                table = table.merge(curve[clock].table()[["age_s", "share"]], on="age_s").rename(
                    columns={"share": name}
                )
            tables.append(table.assign(policy="ttl", clock=clock, reused_share=self.reuse.reused_share))
        if self.reuse.capacity is not None and self.requests_per_s > 0:
            lru = self.reuse.capacity.table()
            lru["capacity_tokens_per_rps"] = lru.pop("capacity_blocks") * self.block_tokens / self.requests_per_s
            tables.append(lru.assign(policy="lru", clock=""))
        return pd.concat(tables, ignore_index=True).reindex(columns=columns)
