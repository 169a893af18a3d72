"""What an instance carries of the demand beside rates and lengths: task times, parts of the day, notes."""

from __future__ import annotations

import pandas as pd
import pytest
from solved_case import built, checked
from tiny_case import rich, tiny

from procure.demand import build as demand_of

AGENT = {"scenario": "coding-agentic"}


def agents(**stated):
    row = {"scenario": "coding-agentic", "tps_user": 100, "tps_thinking": 50, "calls_per_task": 10, "tool_s": 40.0}
    row |= {"output_thinking_tokens": 200, "output_visible_tokens": 300, "context_cap_tokens": 131_072}
    return built(tiny(peaks={"agent": [5.0] * 3}, workloads={"agent": row | stated}))["tasks"].set_index("t")


@pytest.mark.thorough
def test_output_of_a_request_takes_its_phases_one_after_the_other():
    assert agents().loc[0, "output_s"] == pytest.approx(200 / 50 + 300 / 100)


@pytest.mark.thorough
def test_subtasks_share_requests_rounded_up_and_the_time_of_tools():
    split = agents(subtasks=4)
    assert split.loc[0, "calls"] == 3
    assert split.loc[0, "tool_s"] == pytest.approx(10)


@pytest.mark.thorough
def test_a_task_takes_longer_as_outputs_grow():
    grown = agents(output_growth_per_year=1.0)
    assert grown.loc[2, "output_s"] == pytest.approx(7 * 2**0.5)


@pytest.mark.slow
def test_parts_of_the_day_are_those_of_the_demand_and_cover_24_hours():
    case = rich()
    instance, demand = built(case), demand_of(case)
    pd.testing.assert_frame_equal(instance["dayparts"], demand.dayparts)
    pd.testing.assert_frame_equal(instance["daypart_rates"], demand.daypart_rates)
    assert instance["dayparts"]["hours_per_day"].sum() == 24
    rates = instance["daypart_rates"]
    assert rates.groupby("workload")["of_peak"].max().to_dict() == pytest.approx({"agent": 1.0, "code": 1.0})
    assert set(rates["workload"]) == {"agent", "code"}


@pytest.mark.thorough
def test_growth_that_a_cap_stops_is_said_by_the_check_with_both_means():
    case = tiny(
        peaks={"agent": [5.0] * 3},
        workloads={"agent": {"scenario": "coding-agentic", "context_cap_tokens": 65_536}},
        settings={"isl_growth_per_year": 3.0},
    )
    findings = checked(case)
    said = findings[findings["limit"].isna() & (findings["unit"] == "context cap")]
    assert len(said) == 1
    assert said["holds"].all()
    last = demand_of(case).notes.iloc[-1]
    assert "compacted to 65,536 tokens" in said["detail"].item()
    assert f"{last.got:,.0f} instead of {last.wanted:,.0f} tokens" in said["detail"].item()


@pytest.mark.thorough
def test_nothing_is_said_where_no_cap_is_reached():
    case = tiny(peaks={"v": [5.0] * 3}, workloads={"v": {"scenario": "voice"}})
    assert built(case)["notes"].empty


@pytest.mark.thorough
def test_a_cap_that_stops_the_same_in_every_quarter_is_said_once():
    case = tiny(peaks={"agent": [5.0] * 3}, workloads={"agent": AGENT | {"context_cap_tokens": 65_536}})
    (said,) = built(case)["notes"]["sentence"]
    assert said.startswith("agent from 2027Q1 to 2027Q3: ")
    assert said.count("compacted") == 1
