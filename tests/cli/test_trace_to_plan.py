"""A trace becomes the tables of a case, and the case a plan, by the verbs alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tiny_case import tiny

from procure.cli import main
from procure.plan import Plan

TRACE = Path(__file__).parents[1] / "demand" / "traces" / "mooncake_conversation.jsonl.gz"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_what_trace_writes_is_a_case_that_solves_and_rests_on_the_trace(tmp_path):
    assert main(["trace", str(TRACE), "-o", str(tmp_path / "trace"), "--workload", "talk", "--service-tps", "30"]) == 0
    folder = tmp_path / "case"
    tiny(peaks={"talk": [60.0] * 3}).write(folder)
    measured = {name: pd.read_csv(tmp_path / "trace" / f"{name}.csv") for name in ("workloads", "lengths", "reuse")}
    measured["workloads"].assign(card="deepseek-v3.2").to_csv(folder / "workloads.csv", index=False)
    measured["lengths"].to_csv(folder / "lengths.csv", index=False)
    measured["reuse"].to_csv(folder / "reuse.csv", index=False)
    assert main(["check", str(folder)]) == 0
    assert main(["solve", str(folder), "-o", str(tmp_path / "plan"), "--threads", "1"]) == 0
    tables = Plan.read(tmp_path / "plan").tables
    asked = tables["demand"].query("quarter == '2027Q1'")
    mean = (asked["requests_per_s"] * asked["input_tokens"]).sum() / asked["requests_per_s"].sum()
    assert mean == pytest.approx(measured["workloads"]["input_mean_tokens"].item(), rel=0.002)  # compacted at the cap
    hits = tables["prefill"].query("quarter == '2027Q1' and store != 'recompute'")["requests_per_s"].sum()
    most = measured["reuse"]["return_share"].max()
    assert 0 < hits / 60 <= most
    premises = tables["premises"].set_index("name")
    assert premises.loc["reuse/talk/reused_share", "kind"] == "user"
