"""What tokens sell for, and an unserved request is worth: its tokens at the lengths and the reuse of its quarter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from procure.case import schema as given
from procure.instance.tables import ShortPrice, TokenPrice

if TYPE_CHECKING:
    from procure.case import Case
    from procure.demand import Demand


def short_prices_table(case: Case, demand: Demand) -> pd.DataFrame:
    """USD of a mean request of every quarter and workload.

        worth = (L·h·cached + L·(1 − h)·computed + O·output) / 1e6,   h = R·p + (1 − R)·s

    L tokens of input and O of output (thinking and visible), means over the buckets of the quarter; h the share of
    input tokens that a cache kept for an hour holds: R returns within it, p what a return reuses, s the shared prefix.
    A workload's ``lookahead_short_usd_per_request`` stands instead where it is stated.
    """
    keys = ["quarter", "workload"]
    b = demand.buckets
    names = ["input_tokens", "thinking_tokens", "visible_tokens", "shared_prefix_tokens"]
    mean = b[names].mul(b["share"], axis=0).groupby([b[key] for key in keys]).sum().reset_index()
    path = mean.merge(demand.reuse_path, on=keys, validate="1:1").merge(_returns(demand), on="workload", how="left")
    returned = path["returned"].fillna(0.0) * path["return_scale"]
    shared = path["shared_prefix_tokens"] / path["input_tokens"]
    held = path["input_tokens"] * (returned * path["reused_share"] + (1.0 - returned) * shared)
    stated = case.tables["workloads"].set_index("workload").loc[path["workload"]].reset_index()
    usd = held * stated["lookahead_short_usd_per_million_cached_input_tokens"]
    usd += (path["input_tokens"] - held) * stated["lookahead_short_usd_per_million_computed_input_tokens"]
    output = path["thinking_tokens"] + path["visible_tokens"]
    usd += output * stated["lookahead_short_usd_per_million_output_tokens"]
    by_request = stated["lookahead_short_usd_per_request"].astype(float)
    worth = np.where(by_request.notna(), by_request, usd / 1e6)
    rows = zip(
        path["quarter"].map(lambda quarter: case.position[quarter]).tolist(),
        path["workload"].tolist(),
        worth.tolist(),
        strict=True,
    )
    return ShortPrice.frame(ShortPrice(*row) for row in sorted(rows))


def token_prices_table(case: Case) -> pd.DataFrame:
    """What a million tokens of each workload sells for, by kind, whether served or not."""
    rows = []
    for r in given.Workload.rows(case.tables["workloads"]):
        rows += [
            TokenPrice(r.workload, "cached input", r.lookahead_short_usd_per_million_cached_input_tokens),
            TokenPrice(r.workload, "computed input", r.lookahead_short_usd_per_million_computed_input_tokens),
            TokenPrice(r.workload, "output", r.lookahead_short_usd_per_million_output_tokens),
        ]
    return TokenPrice.frame(rows)


def _returns(demand: Demand) -> pd.DataFrame:
    """Share of requests that return within the last age, in the first quarter: workload, returned."""
    last = demand.reuse.groupby("workload")["return_share"].sum()
    return last.rename("returned").reset_index()
