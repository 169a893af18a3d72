"""Single cells of trace files: what is read, and the words for what is not."""

from __future__ import annotations

import json

import pytest

from procure.demand.trace import Options, analyse
from procure.demand.trace.readers import batches
from procure.demand.trace.source import BadLines
from procure.demand.trace.write import reuse_curve

HEADING = "t_s,input_tokens,output_tokens"


def read(tmp_path, *lines, heading=HEADING):
    path, bad = tmp_path / "t.csv", BadLines()
    path.write_text("\n".join([heading, *lines]) + "\n")
    return [row for batch in batches([path], bad) for row in zip(batch.time_s, batch.input_tokens, strict=True)], bad


@pytest.mark.parametrize("text", ["100", "100.0", "1e2"])
def test_whole_tokens_are_read_however_they_are_written(tmp_path, text):
    rows, bad = read(tmp_path, f"0,{text},5")
    assert rows == [(0.0, 100)]
    assert bad.count == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0,100.5,5", "input_tokens: read '100.5'; a whole number"),
        ("0,-3,5", "input_tokens: read -3; tokens from 0"),
        ("0,nan,5", "input_tokens: read 'nan'; a number"),
        ("0,5,", "output_tokens: read ''; a number"),
        ("0,5", "output_tokens: read None; a number"),
        ("0,5,6,7", "more values than the heading has columns"),
        ("noon,5,6", "t_s: read 'noon'; a number or an ISO date and time"),
        ("inf,5,6", "t_s: read 'inf'; a number or an ISO date and time"),
    ],
)
def test_a_cell_that_is_not_read_is_named_in_the_planners_words(tmp_path, line, said):
    rows, bad = read(tmp_path, "0,1,1", line)
    assert len(rows) == 1
    assert bad.count == 1
    assert bad.kept[0][1] == 3
    assert bad.kept[0][2].startswith(said)


def test_time_zones_are_heeded(tmp_path):
    rows, _ = read(tmp_path, "2026-03-01 12:00:00Z,1,1", "2026-03-01T14:00:01+02:00,1,1", "2026-03-01 12:00:02,1,1")
    times = [time for time, _ in rows]
    assert [time - times[0] for time in times] == [0, 1, 2]


def test_a_first_line_that_cannot_be_read_does_not_settle_the_unit_of_time(tmp_path):
    lines = ("soon,1,1", "inf,1,1", "1700000000000,1,1", "1700000001000,1,1")
    rows, bad = read(tmp_path, *lines, heading="timestamp,input_tokens,output_tokens")
    assert bad.count == 2
    assert rows[1][0] - rows[0][0] == pytest.approx(1.0)


def test_a_request_that_ends_before_it_begins_is_a_bad_line(tmp_path):
    rows, bad = read(tmp_path, "0,1,1,2.5", "1,1,1,-1", heading=f"{HEADING},service_s")
    assert len(rows) == 1
    assert "0 s or more" in bad.kept[0][2]


def small(tmp_path, *prompts):
    """A Mooncake trace of one request a second, each (input tokens, blocks)."""
    path = tmp_path / "t.jsonl"
    rows = [
        {"timestamp": 1000 * i, "input_length": tokens, "output_length": 5, "hash_ids": blocks}
        for i, (tokens, blocks) in enumerate(prompts)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return analyse([path], Options(block_tokens=512))


def test_one_prompt_shares_no_prefix(tmp_path):
    assert small(tmp_path, (1500, [1, 2, 3])).shared_prefix_tokens == 0


def test_equal_prompts_share_less_than_the_prompt(tmp_path):
    assert small(tmp_path, *[(1500, [1, 2, 3])] * 4).shared_prefix_tokens == 1024


def test_returns_of_a_short_trace_never_fall_with_age(tmp_path):
    trace = small(tmp_path, (1024, [1, 2]), (1024, [1, 3]), (1024, [4, 5]), (1024, [4, 9]), (1024, [6, 7]))
    share = reuse_curve(trace, "w")["return_share"]
    assert share.is_monotonic_increasing
    assert share.max() > 0
