"""A forecast in sessions, people or tokens a day gives the peak that Little's law and arithmetic say."""

from __future__ import annotations

import pandas as pd
import pytest

from procure.case import Case
from procure.catalogue import packaged_path
from procure.demand import build
from procure.errors import InputError


@pytest.fixture(scope="module")
def example():
    return Case.read(packaged_path("data/cases/agentic-2027"))


def replaced(case, workload, **measures):
    """The case with one workload's forecast stated by other measures."""
    table = case.tables["forecast"].copy()
    rows = table["workload"] == workload
    table.loc[rows, "peak_requests_per_s"] = measures.pop("peak_requests_per_s", None)
    for name, value in measures.items():
        table[name] = table[name].astype(object)
        table.loc[rows, name] = value
    return case.replace(tables={"forecast": table})


def peak(case, workload):
    table = case.tables["forecast"]
    return table.loc[table["workload"] == workload, "peak_requests_per_s"]


def row(case, workload):
    table = case.tables["workloads"]
    return table[table["workload"] == workload].iloc[0]


@pytest.mark.thorough
def test_open_sessions_over_session_time_is_the_rate(example):
    case = replaced(example, "chat", open_sessions=20_500.0)
    assert peak(case, "chat").to_numpy() == pytest.approx(20_500 / 205)
    rates = build(case).rates.groupby(["quarter", "workload"])["requests_per_s"].sum()
    assert rates.xs("chat", level="workload").to_numpy() == pytest.approx(100)


def test_people_times_activity_is_the_rate(example):
    case = replaced(example, "code-chat", people=7_200.0, requests_per_person_hour=5.0)
    assert peak(case, "code-chat").to_numpy() == pytest.approx(10)


def test_tokens_of_a_day_close_with_the_mean_rate(example):
    case = replaced(example, "chat", tokens_per_day=1e12)
    workload = row(case, "chat")
    tokens = workload["input_mean_tokens"] + workload["output_thinking_tokens"] + workload["output_visible_tokens"]
    a_day = peak(case, "chat") * workload["mean_to_peak"] * 86_400 * tokens
    assert a_day.to_numpy() == pytest.approx(1e12)


def test_growth_of_lengths_leaves_requests_as_converted_at_the_base_quarter(example):
    case = replaced(example, "chat", tokens_per_day=1e12)
    grown = case.grow(isl_growth_per_year=1.0)
    assert peak(grown, "chat").to_numpy() == pytest.approx(peak(case, "chat").to_numpy())


def test_measures_that_contradict_each_other_are_faults(example):
    with pytest.raises(InputError) as caught:
        replaced(example, "chat", peak_requests_per_s=100.0, open_sessions=41_000.0)
    assert {f.column for f in caught.value.faults} == {"open_sessions"}
    assert "200" in str(caught.value)
    replaced(example, "chat", peak_requests_per_s=100.0, open_sessions=21_000.0)  # within a tenth


def test_people_need_an_activity_and_a_row_needs_a_measure(example):
    with pytest.raises(InputError, match="requests_per_person_hour"):
        replaced(example, "chat", people=5.0)
    with pytest.raises(InputError, match="write 0 where nothing is expected"):
        replaced(example, "chat")


def test_own_curves_must_rise_and_are_known_by_name(example):
    workloads = example.tables["workloads"].copy()
    workloads.loc[workloads["workload"] == "chat", "reuse_curve"] = "ours"
    curve = pd.DataFrame({"curve": "ours", "age_s": [60.0, 10.0], "return_share": [0.4, 0.2], "reused_share": 0.7})
    case = example.replace(tables={"workloads": workloads, "reuse": curve})
    reuse = build(case).reuse.query("workload == 'chat'")
    assert reuse["return_cumulative"].iloc[-1] == pytest.approx(0.4)
    falling = curve.assign(return_share=[0.2, 0.4])
    with pytest.raises(InputError, match="No less than at 10 s"):
        example.replace(tables={"workloads": workloads, "reuse": falling})


def test_a_peak_of_next_to_nothing_is_refused_and_the_least_is_taken(example):
    """Below it the solver's tolerance would decide whether the workload is served."""
    with pytest.raises(InputError, match="0, or a peak of 1e-06 requests/s or more; this gives 1e-08"):
        replaced(example, "chat", peak_requests_per_s=1e-8)
    assert (peak(replaced(example, "chat", peak_requests_per_s=1e-6), "chat") == 1e-6).all()
    assert (peak(replaced(example, "chat", peak_requests_per_s=0.0), "chat") == 0.0).all()
