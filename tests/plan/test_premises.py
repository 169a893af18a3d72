"""Premises of a plan: the reuse curves it rests on."""

from __future__ import annotations

import pandas as pd
import pytest
from tiny_case import tiny

from procure.plan.premises import premises_table


def reuse_rows(case):
    table = premises_table(case)
    return table[table["name"].str.startswith("reuse/")].set_index("name")


def test_a_curve_of_the_case_is_a_premise_of_kind_user_point_by_point():
    points = [("mine", 60.0, 0.4, 0.8, "start"), ("mine", 600.0, 0.7, 0.8, "start"), ("spare", 60.0, 0.1, 0.5, "idle")]
    table = pd.DataFrame(points, columns=["curve", "age_s", "return_share", "reused_share", "clock"])
    rows = reuse_rows(tiny(workloads={"chat": {"reuse_curve": "mine"}}, tables={"reuse": table}))
    assert rows.loc["reuse/mine/clock", "value"] == "start"
    rows = rows.drop("reuse/mine/clock")
    assert rows["value"].astype(float).to_dict() == pytest.approx(
        {
            "reuse/mine/reused_share": 0.8,
            "reuse/mine/60/return_share": 0.4,
            "reuse/mine/600/return_share": 0.7,
        }
    )
    assert (rows["kind"] == "user").all()
    assert rows["note"].str.contains("start of requests").all()


def test_typical_power_of_a_gpu_unit_is_a_premise_only_where_the_case_states_it():
    name = "hardware/gb300-nvl72/power_typical_kw"
    for figures, shown in ({}, False), ({("gb300-nvl72", "power_typical_kw"): 100.0}, True):
        case = tiny(figures=figures)
        names = set(premises_table(case)["name"])
        assert (name in names) is shown
        assert "case/energy_share_of_nameplate_decode" in names


def test_a_packaged_curve_shows_the_level_that_is_used():
    rows = reuse_rows(tiny(workloads={"chat": {"reuse_curve": "chat:high"}}))
    shown = rows.loc["reuse/chat:high/reused_share"]
    assert float(shown["value"]) == float(shown["high"]) == pytest.approx(0.8)
    assert shown["kind"] == "measured"
