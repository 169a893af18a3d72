"""Laws of traces: hand-worked small traces, exactness against brute force, and published figures of real traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from procure.case import Case
from procure.catalogue import Catalogue, packaged_path
from procure.cli import build_app
from procure.demand import build
from procure.demand.reuse import packaged_curve
from procure.demand.trace import Options, analyse, write
from procure.demand.trace.batch import Numbering
from procure.demand.trace.stack import LruStack, before, earlier_larger
from procure.demand.trace.write import reuse_curve
from procure.errors import InputError

TRACES = Path(__file__).parent / "traces"


def ttl(trace, clock=None):
    table = trace.reuse_table().query("policy == 'ttl'")
    return table[table["clock"] == (clock or trace.clock)].set_index("age_s")


def lru(trace):
    return trace.reuse_table().query("policy == 'lru'")


def jsonl(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def request(t_ms, blocks, tokens=None, output=10):
    return {
        "timestamp": t_ms,
        "input_length": tokens or 512 * len(blocks),
        "output_length": output,
        "hash_ids": blocks,
    }


# ------------------------------------------------------------------ the stack


@given(st.lists(st.integers(-5, 40), max_size=70))
def test_earlier_larger_counts_pairs(values):
    wanted = [sum(v > value for v in values[:i]) for i, value in enumerate(values)]
    assert earlier_larger(np.array(values, dtype=np.int64)).tolist() == wanted


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=40), max_size=6))
@pytest.mark.thorough
def test_stack_distances_are_those_of_a_list_moved_to_front(batches):
    stack, line = LruStack(), []
    for batch in batches:
        wanted = []
        for block in batch:
            wanted.append(line.index(block) if block in line else -1)
            if block in line:
                line.remove(block)
            line.insert(0, block)
        blocks = np.array(batch)
        assert stack.distances(blocks, before(blocks)).tolist() == wanted
    assert stack.blocks == len(line)


def test_numbers_of_blocks_are_kept_when_names_stop_being_dense():
    numbering = Numbering()
    first = numbering.number([0, 1, 2, 1])
    second = numbering.number([2, 10**15, "x", 1, "x"])
    assert first.tolist() == [0, 1, 2, 1]
    assert second[[0, 3]].tolist() == [2, 1]
    assert second[2] == second[4]
    assert len({*second.tolist()}) == 4


# ------------------------------------------------------- hand-worked small traces


def test_hits_by_age_of_a_trace_worked_by_hand(tmp_path):
    """Blocks of 512 tokens. At 40 s block 1 returns after 40 s, block 2 is new; at 100 s both return after 60 s."""
    file = jsonl(tmp_path / "t.jsonl", [request(0, [1]), request(40_000, [1, 2]), request(100_000, [1, 2])])
    trace = analyse([file], Options(session_clock=False, block_tokens=512))
    table = ttl(trace)
    # From 45 s on the start only the references at 100 s remain: two blocks, none within 45 s, both within 60 s.
    assert table.loc[45.0, "hit_rate"] == 0
    assert table.loc[60.0, "hit_rate"] == 1
    # At 20 s, the four references from 20 s on: none is a hit.
    assert table.loc[20.0, "hit_rate"] == 0
    assert trace.reuse.hits["start"].unlimited() == pytest.approx(3 / 5)


def test_occupied_seconds_are_the_integral_of_misses(tmp_path):
    """Two calls 30 s apart in each session: held 30 s after the first, the whole age after the second."""
    rows = "session,t_s,input_tokens,output_tokens\n" + "".join(f"{s},0,100,0\n{s},30,100,0\n" for s in range(4))
    file = tmp_path / "t.csv"
    file.write_text(rows)
    trace = analyse([file])
    assert trace.session_clock
    held = ttl(trace)["kept_tokens_per_rps"] / 100
    assert held[20.0] == pytest.approx(20, rel=1e-3)
    assert held[60.0] == pytest.approx((30 + 60) / 2, rel=0.01)
    assert held[3600.0] == pytest.approx((30 + 3600) / 2, rel=1e-3)


def test_the_idle_clock_starts_when_the_request_before_completes(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("session,t_s,input_tokens,output_tokens,service_s\na,0,100,0,25\na,40,100,0,1\n")
    trace = analyse([file])
    assert trace.clock == "idle"
    assert ttl(trace, "idle").loc[15.0, "hit_rate"] == pytest.approx(0.5)
    assert ttl(trace, "start").loc[30.0, "hit_rate"] == 0
    assert ttl(trace, "start").loc[45.0, "hit_rate"] == pytest.approx(0.5)


def test_assumed_service_shortens_ages_and_is_said(tmp_path):
    file = jsonl(tmp_path / "t.jsonl", [request(0, [1], output=280), request(40_000, [1])])
    trace = analyse([file], Options(session_clock=False, service_ttft_s=1, service_tps=10))
    assert trace.clock == "idle"
    # 40 s − (1 s + 28 s) = 11 s
    assert ttl(trace, "idle").loc[15.0, "hit_rate"] == 1
    assert ttl(trace, "start").loc[30.0, "hit_rate"] == 0
    assert any("assumed" in s for s in trace.sentences)


def test_lru_of_a_loop_over_more_blocks_than_fit_never_hits(tmp_path):
    """Ten prompts of one block each in turn: nothing below ten blocks of capacity, everything from ten on."""
    records = [request(1000 * i, [i % 10]) for i in range(200)]
    trace = analyse([jsonl(tmp_path / "t.jsonl", records)], Options(session_clock=False, block_tokens=512))
    table = trace.reuse.capacity.table().set_index("capacity_blocks")
    assert table.loc[9, "hit_rate"] == 0
    assert table.loc[10, "hit_rate"] == 1
    assert table.loc[10, "hit_rate_whole"] == pytest.approx(0.95)


def test_only_the_leading_blocks_of_a_prompt_count_for_its_return(tmp_path):
    """Block 9 is known at 10 s, but behind a new block: the request does not return."""
    records = [request(0, [1, 9]), request(10_000, [2, 9]), request(20_000, [1, 9, 3])]
    trace = analyse([jsonl(tmp_path / "t.jsonl", records)], Options(session_clock=False, block_tokens=512))
    assert trace.reuse.returning_tokens == 3 * 512
    assert trace.reuse.reused_share == pytest.approx(2 / 3)


def test_a_prefix_that_every_prompt_has_is_not_a_return(tmp_path):
    records = [request(1000 * i, [0, i + 1]) for i in range(50)]
    trace = analyse([jsonl(tmp_path / "t.jsonl", records)], Options(session_clock=False))
    assert trace.shared_prefix_tokens == 512
    assert trace.reuse.returning_tokens == 0
    assert trace.reuse.hits["start"].unlimited() == pytest.approx(49 / 100)


@pytest.mark.thorough
def test_the_curve_of_a_case_gives_back_the_hit_rate(chat):
    curve = reuse_curve(chat, "w").set_index("age_s")
    prefix = chat.shared_share
    hit = curve["return_share"] * curve["reused_share"] + (1 - curve["return_share"]) * prefix
    measured = ttl(chat)["hit_rate"]
    late = measured.index >= 5  # before, not even the common prefix is always found
    np.testing.assert_allclose(hit[late], measured[late], atol=1e-9)


# ------------------------------------------------------------- exact, and in batches


def brute_force(records, capacity, age_s):
    """Hit shares of blocks by a plain cache of each kind, replayed one reference at a time."""
    line, last = [], {}
    hits_lru = hits_age = total = 0
    for record in records:
        now = record["timestamp"] / 1e3
        for block in reversed(record["hash_ids"]):
            total += 1
            hits_lru += block in line[:capacity]
            if block in line:
                line.remove(block)
            line.insert(0, block)
        for block in record["hash_ids"]:
            hits_age += block in last and now - last[block] <= age_s
        last |= dict.fromkeys(record["hash_ids"], now)
    return hits_lru / total, hits_age / total


def test_curves_equal_a_replay_of_each_cache(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    records, live, new = [], [], 1
    for i in range(400):
        if live and rng.random() < 0.6:
            chain = live[rng.integers(len(live))]
        else:
            chain = []
            live.append(chain)
        chain.extend(range(new, new + 2))
        new += 2
        records.append(request(int(i * 1500 + rng.integers(900)), list(chain)))
    file = jsonl(tmp_path / "t.jsonl", records)
    monkeypatch.setattr("procure.demand.trace.batch.REFERENCES", 300)  # many batches
    trace = analyse([file], Options(session_clock=False, block_tokens=512))
    capacity = trace.reuse.capacity.table().set_index("capacity_blocks")["hit_rate_whole"]
    gaps = trace.reuse.hits["start"]
    edges = np.cumsum(gaps._gap)[:-1] / gaps.weight  # shares of all references, without leaving out the start
    from procure.demand.trace.curves import _EDGES

    for size, age in ((10, 10.0), (50, 60.0), (200, 300.0)):
        size = int(capacity.index[capacity.index.searchsorted(size)])
        by_lru, by_age = brute_force(records, size, age)
        assert capacity[size] == pytest.approx(by_lru, abs=1e-12)
        assert edges[np.searchsorted(_EDGES, age)] == pytest.approx(by_age, abs=1e-12)


@pytest.mark.thorough
def test_batches_do_not_change_the_result(monkeypatch, chat):
    monkeypatch.setattr("procure.demand.trace.batch.REFERENCES", 40_000)
    in_parts = analyse([TRACES / "mooncake_conversation.jsonl.gz"])
    pd.testing.assert_frame_equal(in_parts.reuse_table(), chat.reuse_table())


# ----------------------------------------------------------------- formats and faults


def test_formats_of_the_same_requests_agree(tmp_path):
    records = [request(1000 * i, [0, i % 7 + 1], tokens=600 + i, output=i) for i in range(100)]
    plain = jsonl(tmp_path / "a.jsonl", records)
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    table = tmp_path / "c.csv"
    lines = [
        f"{r['timestamp'] / 1e3},{r['input_length']},{r['output_length']},{' '.join(map(str, r['hash_ids']))}"
        for r in records
    ]
    table.write_text("t_s,input_tokens,output_tokens,blocks\n" + "\n".join(lines) + "\n")
    options = Options(session_clock=False)
    one, *others = (analyse([p], options) for p in (plain, packed, table))
    for other in others:
        pd.testing.assert_frame_equal(one.reuse_table(), other.reuse_table())
        assert one.inputs.mean == other.inputs.mean
        assert one.block_tokens == other.block_tokens == 512


def test_bad_lines_are_counted_and_numbered_and_the_rest_is_read(tmp_path):
    file = tmp_path / "t.jsonl"
    good = json.dumps(request(0, [1]))
    file.write_text(
        f'{good}\n{{"timestamp": 5}}\nnot json\n{good}\n{{"timestamp": 1, "input_length": -4, "output_length": 1}}\n'
    )
    trace = analyse([file])
    assert trace.requests == 2
    assert [(line, file) for file, line, _ in trace.bad.kept] == [(n, str(file)) for n in (2, 3, 5)]


def test_bad_lines_of_a_table_carry_the_line_number(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("t_s,input_tokens,output_tokens\n0,5,5\nx,5,5\n1,,5\n2,7,5\n")
    trace = analyse([file])
    assert trace.requests == 2
    assert [line for _, line, _ in trace.bad.kept] == [3, 4]


def test_files_without_a_needed_column_and_missing_files_are_faults(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("t_s,prompt\n1,2\n")
    with pytest.raises(InputError, match="input_tokens"):
        analyse([file])
    with pytest.raises(InputError, match="No such file"):
        analyse([tmp_path / "none.csv", tmp_path / "neither.csv"])
    (tmp_path / "empty.csv").write_text("\n")
    with pytest.raises(InputError, match="empty"):
        analyse([tmp_path / "empty.csv"])


# ------------------------------------------------------ figures of the real traces


@pytest.fixture(scope="module")
def chat():
    return analyse([TRACES / "mooncake_conversation.jsonl.gz"])


@pytest.fixture(scope="module")
def coding():
    return analyse([TRACES / "claude_code_requests.csv.gz"])


def test_chat_lengths_and_arrivals(chat):
    assert chat.requests == 12_031
    assert [chat.inputs.quantile(q) for q in (0.5, 0.9, 0.99)] == pytest.approx([6_909, 27_367, 85_401], rel=1e-3)
    assert chat.inputs.mean == pytest.approx(12_035, rel=1e-4)
    assert chat.outputs.mean == pytest.approx(342.6, rel=1e-3)
    peaks = chat.arrivals.peaks().set_index("bin_s")["peak_to_mean"]
    assert peaks[10] == pytest.approx(1.97, abs=0.01)
    assert peaks[60] == pytest.approx(1.21, abs=0.01)
    shares = chat.inputs.histogram()["share_requests"][:8]
    np.testing.assert_allclose(shares, [0.11, 0.12, 0.11, 0.21, 0.22, 0.16, 0.05, 0.02], atol=0.006)


def test_chat_hit_rates_by_age_and_kept_tokens(chat):
    table = ttl(chat)
    ages = [30.0, 120.0, 300.0, 600.0, 1800.0]
    np.testing.assert_allclose(table.loc[ages, "hit_rate"], [0.060, 0.198, 0.302, 0.363, 0.395], atol=0.0006)
    np.testing.assert_allclose(table.loc[ages, "kept_tokens_per_rps"] / 1e6, [0.34, 1.29, 2.89, 5.29, 14.2], rtol=0.015)
    assert chat.reuse.hits["start"].unlimited() == pytest.approx(0.3736, abs=1e-4)


def test_chat_lru_in_the_second_half_equals_the_age_curve(chat):
    by_age, by_size = ttl(chat), lru(chat)
    hit = np.interp(by_age["kept_tokens_per_rps"], by_size["capacity_tokens_per_rps"], by_size["hit_rate"])
    middle = (by_age.index >= 30) & (by_age.index <= 1800)
    np.testing.assert_allclose(hit[middle], by_age["hit_rate"][middle], atol=0.009)


def test_chat_lru_at_published_capacities(chat):
    """Whole trace: 41% of the most at 3M tokens in the published figure (37% here), 99% at 50M."""
    by_size = lru(chat)
    tokens = by_size["capacity_tokens_per_rps"] * chat.requests_per_s
    most = by_size["hit_rate_whole"].iloc[-1]
    at = np.interp([3e6, 50e6], tokens, by_size["hit_rate_whole"]) / most
    np.testing.assert_allclose(at, [0.37, 0.99], atol=0.02)


@pytest.mark.thorough
def test_coding_lengths(coding):
    assert coding.session_clock
    assert coding.requests == 49_334
    assert coding.sessions == 710
    assert [coding.inputs.quantile(q) for q in (0.5, 0.9, 0.99)] == pytest.approx([103_656, 233_633, 498_617], rel=1e-3)
    assert coding.outputs.mean == pytest.approx(440, rel=1e-3)
    shares = coding.inputs.histogram().set_index("up_to_tokens")["share_requests"]
    for up_to, share in ((65_536, 0.18), (131_072, 0.46), (262_144, 0.23), (524_288, 0.07), (1_048_576, 0.008)):
        assert shares[up_to] == pytest.approx(share, abs=0.006)


def test_coding_hit_rates_by_idle_time_and_kept_tokens(coding):
    table = ttl(coding, "idle")
    ages = [10.0, 60.0, 300.0, 1800.0, 3600.0]
    np.testing.assert_allclose(table.loc[ages, "hit_rate"], [0.446, 0.816, 0.916, 0.952, 0.958], atol=0.002)
    np.testing.assert_allclose(table.loc[ages, "kept_tokens_per_rps"] / 1e6, [1.0, 2.7, 5.9, 16.3, 26.1], rtol=0.03)
    assert ttl(coding, "start").loc[60.0, "hit_rate"] == pytest.approx(0.786, abs=0.002)
    assert coding.reuse.hits["idle"].unlimited() == pytest.approx(0.963, abs=0.0005)
    assert coding.shared_prefix_tokens == pytest.approx(15_000, rel=0.02)


@pytest.mark.thorough
def test_whole_coding_sessions_with_blocks_reuse_nearly_all():
    names = ("claude_code_trace_0712.json.gz", "claude_code_trace_0730.json.gz")
    trace = analyse([TRACES / name for name in names])
    assert trace.requests == 63 + 83
    assert trace.sessions == 2
    assert trace.block_tokens == 64
    assert trace.reuse.hits["idle"].unlimited() == pytest.approx(0.973, abs=0.001)


@pytest.mark.parametrize(
    ("name", "mean", "output", "peak_60", "peak_10"),
    [("azure2023_code.csv.gz", 2_048, 27.9, 4.2, 12.8), ("azure2023_conv.csv.gz", 1_155, 211, 1.52, 1.77)],
)
def test_azure_lengths_and_bursts(name, mean, output, peak_60, peak_10):
    trace = analyse([TRACES / name])
    assert trace.inputs.mean == pytest.approx(mean, rel=1e-3)
    assert trace.outputs.mean == pytest.approx(output, rel=2e-3)
    peaks = trace.arrivals.peaks().set_index("bin_s")["peak_to_mean"]
    assert peaks[60] == pytest.approx(peak_60, abs=0.03)
    assert peaks[10] == pytest.approx(peak_10, abs=0.03)
    assert trace.reuse is None


@pytest.mark.parametrize(
    ("name", "peak"), [("m_large", 1.862), ("m_mid", 1.828), ("deepseek_r1", 2.194), ("mm_image", 1.347)]
)
def test_hourly_peaks_of_two_weeks_and_of_a_day(name, peak):
    trace = analyse([TRACES / f"servegen_rate_{name}.csv"])
    assert trace.arrivals.peaks().set_index("bin_s").loc[3600, "peak_to_mean"] == pytest.approx(peak, abs=0.002)
    assert trace.arrivals.hours()["of_mean"].mean() == pytest.approx(1)


@pytest.mark.thorough
def test_packaged_curves_are_those_of_the_traces(coding):
    """Chat with the assumed service of the packaged curve; agentic coding with the trace's own reused share."""
    shipped = packaged_curve("agentic-coding", Catalogue.read())
    table = reuse_curve(coding, "w")
    table = table[table["age_s"] <= 3600]
    np.testing.assert_allclose(table["return_share"], shipped.at(table["age_s"].to_numpy()), atol=0.0002)
    assert packaged_curve("agentic-coding:high", Catalogue.read()).reused_share == pytest.approx(
        coding.reuse.reused_share, abs=1e-4
    )

    chat = analyse([TRACES / "mooncake_conversation.jsonl.gz"], Options(service_ttft_s=1, service_tps=30))
    shipped, table = packaged_curve("chat", Catalogue.read()), reuse_curve(chat, "w")
    table = table[table["age_s"] <= 1800]
    np.testing.assert_allclose(table["return_share"], shipped.at(table["age_s"].to_numpy()), atol=0.0002)
    assert shipped.reused_share == pytest.approx(chat.reuse.reused_share, abs=0.001)


# ------------------------------------------------------------------------- the verb


@pytest.mark.thorough
def test_the_verb_writes_tables_for_a_case_and_a_picture(tmp_path):
    out = tmp_path / "out"
    file = str(TRACES / "mooncake_conversation.jsonl.gz")
    result = CliRunner().invoke(build_app(), ["trace", file, "-o", str(out), "--workload", "mine", "--json"])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["requests"] == 12_031
    assert {Path(f).name for f in summary["files"]} == {p.name for p in out.rglob("*") if p.is_file()} - {
        "procure-files.json"
    }
    row = pd.read_csv(out / "workloads.csv").iloc[0]
    assert row["workload"] == row["reuse_curve"] == "mine"
    assert row["input_p50_tokens"] == 6_909
    curve = pd.read_csv(out / "reuse.csv")
    assert (curve["curve"] == "mine").all()
    assert curve["return_share"].is_monotonic_increasing
    assert (out / "measured" / "trace.png").stat().st_size > 20_000


@pytest.mark.thorough
def test_what_a_trace_does_not_say_is_not_written(tmp_path):
    trace = analyse([TRACES / "servegen_rate_mm_image.csv"])
    files = {p.name for p in write(trace, tmp_path, workload="w", scenario="chat")}
    assert files == {"workloads.csv", "forecast.csv", "arrivals.csv", "hours.csv", "trace.png"}
    row = pd.read_csv(tmp_path / "workloads.csv").iloc[0]
    assert row["mean_to_peak"] == pytest.approx(1 / 1.347, rel=0.01)
    assert "input_mean_tokens" not in row


def test_the_verb_names_the_nearest_scenario(tmp_path):
    file = str(TRACES / "servegen_rate_mm_image.csv")
    result = CliRunner().invoke(build_app(), ["trace", file, "-o", str(tmp_path), "--scenario", "larg-coding"])
    assert isinstance(result.exception, InputError)
    assert "'large-coding'" in str(result.exception)


@pytest.mark.usefixtures("unpictured")
@pytest.mark.thorough
def test_tables_of_a_trace_make_a_workload_with_its_lengths_and_hits(tmp_path, chat):
    """workloads.csv, lengths.csv and reuse.csv in a case give back the tokens and the hit rate of the trace."""
    write(chat, tmp_path, workload="ours", scenario="chat")
    row = pd.read_csv(tmp_path / "workloads.csv").assign(card="deepseek-v3.2", context_cap_tokens=131_072)
    example = Case.read(packaged_path("data/cases/agentic-2027"))
    quarters = [str(q) for q in example.quarters]
    forecast = pd.DataFrame({"quarter": quarters, "workload": "ours", "peak_requests_per_s": 5.0})
    case = example.replace(
        tables={
            "workloads": row.drop(columns=["card"]).assign(card="deepseek-v3.2"),
            "lengths": pd.read_csv(tmp_path / "lengths.csv"),
            "reuse": pd.read_csv(tmp_path / "reuse.csv"),
            "forecast": forecast,
        }
    )
    demand = build(case)
    first = demand.buckets.query("quarter == '2027Q1'")
    lengths = np.arange(len(chat.inputs._counts))
    square = chat.inputs._counts @ lengths**2.0 / chat.requests
    assert first["share"] @ first["input_tokens"] == pytest.approx(chat.inputs.mean, rel=0.003)
    assert first["share"] @ first["input_tokens"] ** 2 == pytest.approx(square, rel=0.01)
    for p, q in ((0.5, 6_909), (0.9, 27_367)):
        inside = first.loc[first["input_upper_tokens"] <= q * 1.1, "share"].sum()
        assert inside <= p + 0.06
    last = demand.reuse.iloc[-1]
    hit = last["return_cumulative"] * last["reused_share"] + (1 - last["return_cumulative"]) * 512 / chat.inputs.mean
    assert hit == pytest.approx(np.interp(last["age_to_s"], ttl(chat).index, ttl(chat)["hit_rate"]), abs=0.005)


def test_damaged_and_strange_files_are_faults_or_bad_lines_never_crashes(tmp_path):
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes((TRACES / "mooncake_conversation.jsonl.gz").read_bytes()[:100_000])
    with pytest.raises(InputError, match="cut off or damaged"):
        analyse([cut])
    false = tmp_path / "false.csv.gz"
    false.write_text("t_s,input_tokens,output_tokens\n")
    with pytest.raises(InputError, match="cut off or damaged"):
        analyse([false])
    session = tmp_path / "session.json"
    session.write_text("{\n not json\n}")
    with pytest.raises(InputError, match="No request could be read"):
        analyse([session])
    huge = jsonl(tmp_path / "huge.jsonl", [request(0, [1]), request(1, [2], tokens=10**12), request(2, [[3]])])
    trace = analyse([huge])
    assert [line for _, line, _ in trace.bad.kept] == [2, 3]


def test_times_of_an_epoch_are_read_in_their_unit(tmp_path):
    for unit in (1, 10**3, 10**6, 10**9):
        file = tmp_path / f"{unit}.csv"
        rows = [f"{(1_790_000_000 + s) * unit},10,10" for s in (0, 3_600)]
        file.write_text("\n".join(["time,prompt_tokens,completion_tokens", *rows]) + "\n")
        assert analyse([file]).arrivals.span_s == pytest.approx(3_600)
    dates = tmp_path / "dates.csv"
    dates.write_text("timestamp,prompt_tokens,completion_tokens\n2026-11-01T00:00:00Z,1,1\n2026-11-01 01:00:00.5,1,1\n")
    assert analyse([dates]).arrivals.span_s == pytest.approx(3_600.5)


def test_times_in_a_wrong_unit_are_a_fault_and_do_not_fill_the_memory(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("t_s,input_tokens,output_tokens\n0,1,1\n99999999999,1,1\n")
    with pytest.raises(InputError, match="at most 1,000 are expected"):
        analyse([file])
