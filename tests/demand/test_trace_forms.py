"""Forms of traces: units that a file proves or that are asked for, chains of requests, benchmarks, tables of a case."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from procure.case.frames import rows_of
from procure.case.schema import TABLES
from procure.cli import main
from procure.demand.trace import Options, analyse, forecast, write
from procure.errors import InputError

TRACES = Path(__file__).parent / "traces"


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_at(times, **more):
    return [{"timestamp": t, "input_length": 600, "output_length": 5, "hash_ids": [i, 7], **more}
            for i, t in enumerate(times)]  # fmt: skip


# ------------------------------------------------------------------------ units


def test_seconds_with_hashes_are_not_read_as_milliseconds():
    """600 requests in 598.9 s, 1.00/s: they were 0.6 s and 1,002/s, without a word."""
    trace = analyse([TRACES / "bailian_like.jsonl.gz"])
    assert trace.requests == 600
    assert trace.arrivals.span_s == pytest.approx(598.9, abs=0.05)
    assert trace.requests_per_s == pytest.approx(1.00, abs=0.005)
    assert any(
        sentence.startswith("Times are in s: the file has the form of Qwen-Bailian") for sentence in trace.sentences
    )


def test_the_form_of_mooncake_proves_milliseconds_for_whole_numbers_alone(tmp_path):
    trace = analyse([written(tmp_path / "a.jsonl", rows_at([0, 1_000, 5_000]))])
    assert trace.arrivals.span_s == 5
    assert any(
        sentence.startswith("Times are in ms: the file has the form of Mooncake") for sentence in trace.sentences
    )
    for name, rows in (("b", rows_at([0.128, 1.5, 5.2])), ("c", rows_at([0, 1_000], user="x"))):
        with pytest.raises(InputError, match=r"nothing tells seconds from milliseconds.*--time-unit"):
            analyse([written(tmp_path / f"{name}.jsonl", rows)])


@pytest.mark.parametrize(("unit", "span_s"), [("s", 5_000), ("ms", 5), ("us", 0.005), ("ns", 5e-6)])
def test_a_stated_unit_holds_whatever_the_form(tmp_path, unit, span_s):
    trace = analyse([written(tmp_path / "a.jsonl", rows_at([0, 1_000, 5_000]))], Options(time_unit=unit))
    assert trace.arrivals.span_s == pytest.approx(span_s)
    assert f"Times are in {unit}: as stated with --time-unit." in trace.sentences


@pytest.mark.parametrize(
    ("heading", "times", "span_s", "said"),
    [
        ("arrival_ms", (0, 5_000), 5, "the column arrival_ms names it"),
        ("t_s", (0, 5_000), 5_000, "the column t_s names it"),
        ("time", (1_790_000_000, 1_790_005_000), 5_000, "Times are in s: their size"),
        ("time", (1_790_000_000_000, 1_790_000_005_000), 5, "Times are in ms: their size"),
        ("timestamp", ("2027-01-01 00:00:00", "2027-01-01T01:00:00Z"), 3_600, "Times are dates."),
    ],
)
def test_what_a_table_proves_is_said(tmp_path, heading, times, span_s, said):
    path = tmp_path / "t.csv"
    path.write_text(f"{heading},input_tokens,output_tokens\n" + "".join(f"{t},10,10\n" for t in times))
    trace = analyse([path])
    assert trace.arrivals.span_s == pytest.approx(span_s)
    assert any(said in sentence for sentence in trace.sentences)


@pytest.mark.usefixtures("unpictured")
@pytest.mark.thorough
def test_the_verb_asks_for_the_unit_with_exit_code_2(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("timestamp,input_tokens,output_tokens\n0,1,1\n60,1,1\n")
    words = ["trace", str(path), "-o", str(tmp_path / "out")]
    assert main(words) == 2
    assert "--time-unit s, ms, us, ns" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*words, "--time-unit", "hours"]) == 2
    assert main([*words, "--time-unit", "s", "--quarter", "2027Q2"]) == 0
    assert "as stated with --time-unit" in capsys.readouterr().out


# ------------------------------------------------------------------------ chains


def test_parents_chain_requests_into_sessions(tmp_path):
    """Two roots; the second has two children and a grandchild; two share a parent before the trace began."""
    parents = {1: -1, 2: -1, 3: 2, 4: 2, 5: 3, 6: 99, 7: 99}
    rows = [
        {"chat_id": me, "parent_chat_id": parent, "timestamp": float(me), "input_length": 100 * me, "output_length": 10,
         "turn": 1, "type": "text"}
        for me, parent in parents.items()
    ]  # fmt: skip
    trace = analyse([written(tmp_path / "a.jsonl", rows)])
    assert trace.sessions == 3
    assert "Sessions are chains of requests: chat_id, parent_chat_id." in trace.sentences
    # 3, 4 and 5 return after the context before them (210, 310, 410 tokens), 7 after 6 (610).
    assert trace.reuse.reused_tokens == 210 + 310 + 410 + 610
    assert trace.reuse.returning_tokens == 300 + 400 + 500 + 700


# ------------------------------------------------------------------------ BurstGPT and benchmarks


def test_burstgpt_is_read_and_failed_requests_are_counted(tmp_path):
    path = tmp_path / "burst.csv"
    path.write_text(
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,230,1317,Conversation log\n"
        "118,GPT-4,417,0,417,API log\n125,GPT-4,1360,180,1540,API log\n"
    )
    trace = analyse([path])
    assert (trace.requests, trace.bad.count, trace.arrivals.span_s) == (3, 1, 120)
    assert trace.inputs.mean == pytest.approx((472 + 1087 + 1360) / 3)
    assert "no response tokens" in trace.bad.kept[0][2]


RUN = {
    "backend": "vllm", "completed": 3, "duration": 12.5, "request_throughput": 0.24, "request_rate": "inf",
    "input_lens": [100, 200, 300, 400], "output_lens": [10, 20, 30, 0], "ttfts": [0.1, 0.2, 0.3, 0.0],
    "itls": [[0.01] * 9, [0.01] * 19, [0.01] * 29, []], "errors": ["", "", "", "Timeout"],
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1])
def test_a_benchmark_result_gives_lengths_and_no_arrivals(tmp_path, indent):
    path = tmp_path / "vllm.json"
    path.write_text(json.dumps(RUN, indent=indent))
    trace = analyse([path])
    assert (trace.requests, trace.inputs.mean, trace.outputs.mean) == (3, 200, 20)
    assert trace.bad.kept[0][2] == "the request failed: Timeout"
    assert not trace.has_arrivals
    assert trace.reuse is None
    assert forecast(trace) is None
    assert any("lengths alone" in sentence for sentence in trace.sentences)


def test_start_times_of_a_benchmark_are_arrivals(tmp_path):
    path = tmp_path / "vllm.json"
    path.write_text(json.dumps({**RUN, "start_times": [1000.0, 1004.0, 1010.0, 1011.0]}))
    assert analyse([path]).arrivals.span_s == 10


def test_runs_one_a_line_are_read_and_totals_alone_refused(tmp_path):
    """SGLang adds a line for each run; details are an option of both engines."""
    totals = {key: RUN[key] for key in ("backend", "completed", "duration", "request_throughput")}
    assert analyse([written(tmp_path / "a.jsonl", [RUN, RUN])]).requests == 6
    with pytest.raises(InputError, match=r"totals alone.*--output-details"):
        analyse([written(tmp_path / "b.jsonl", [totals])])
    with pytest.raises(InputError, match="A list of 4 entries"):
        analyse([written(tmp_path / "c.jsonl", [{**RUN, "ttfts": [0.1]}])])
    with pytest.raises(InputError, match="Measure such files apart"):
        analyse([tmp_path / "a.jsonl", written(tmp_path / "d.jsonl", rows_at([0, 1_000]))])


# ------------------------------------------------------------------------ tables of a case


@pytest.mark.usefixtures("unpictured")
def test_what_a_case_takes_is_written_under_its_own_names(tmp_path):
    """Rows of every table that is written type and check as rows of a case."""
    trace = analyse([TRACES / "bailian_like.jsonl.gz"])
    files = write(trace, tmp_path / "out", workload="ours", scenario="chat", quarter="2027Q2")
    tables = {path.stem: pd.read_csv(path) for path in files if path.parent == tmp_path / "out"}
    assert tables.keys() == {"workloads", "forecast", "lengths", "reuse"}
    for name, frame in tables.items():
        _, faults = rows_of(TABLES[name], frame)
        assert {fault.column for fault in faults} <= ({"card"} if name == "workloads" else set())
    (row,) = tables["forecast"].itertuples(index=False)
    assert (row.quarter, row.workload) == ("2027Q2", "ours")
    assert row.peak_requests_per_s == pytest.approx(trace.requests_per_s, rel=1e-5)
    assert tables["workloads"]["reuse_curve"].item() == tables["reuse"]["curve"].unique().item() == "ours"


def test_the_forecast_is_the_busiest_hour_in_the_quarter_of_the_dates(tmp_path):
    """Three hours of 2027Q3: 60, 180 and 120 requests, then one on the edge."""
    start = pd.Timestamp("2027-09-30T20:00:00Z").timestamp()
    times = np.concatenate([h * 3_600 + np.arange(n) * 3_600 / n for h, n in enumerate((60, 180, 120))])
    path = tmp_path / "t.csv"
    path.write_text("t_s,input_tokens,output_tokens\n" + "".join(f"{start + t},10,10\n" for t in [*times, 10_800]))
    found = forecast(analyse([path]))
    assert (found.quarter, found.peak_requests_per_s) == ("2027Q3", pytest.approx(180 / 3_600))
    assert "the busiest hour" in found.sentence
    assert "in which the trace ends" in found.sentence
    assert forecast(analyse([path]), "2028Q1").quarter == "2028Q1"
