"""Loads that stay fluid: what whole instances would take more is told, by at least as much as it is."""

from __future__ import annotations

import math
from typing import Any

import pytest
from solved_case import Solved, built, planned
from tiny_case import tiny

from procure.plan.uncounted import uncounted_units
from procure.report.sentences.instances import instance_sentences

H200 = "hgx-h200"
ASKED = {"reuse_curve": "none", "ttft_s": 30.0, "tps_user": 15.0, "instance_gpus": 8}


def llms(whole_up_to: int, *rates: float) -> Any:
    """LLMs of their own on instances of whole servers, which prefill and decode; all servers are up."""
    cards = ("llama-3.1-70b", "gpt-oss-120b")
    workloads = {card: {**ASKED, "card": card} for card in cards[: len(rates)]}
    return tiny(skus=(H200,), peaks={card: [rate] * 3 for card, rate in zip(workloads, rates, strict=True)},
                workloads=workloads, sites=({"positions": 20.0},),
                settings={"availability": 1.0, "spare_share": 0.0, "whole_instances_up_to": whole_up_to,
                          "instance_roles": "shared"})  # fmt: skip


def racks(plan: Any) -> int:
    assert plan.tables["checks"]["holds"].all()
    return int(plan.purchases["count"].sum())


@pytest.mark.thorough
@pytest.mark.parametrize(("rates", "more"), [((0.15, 0.3), 1), ((1.3,), 0)])
@pytest.mark.thorough
def test_whole_instances_take_no_more_than_is_told_of_what_stays_fluid(rates, more):
    case = llms(0, *rates)
    fluid, whole = planned(case, gap=1e-6), planned(llms(1_000, *rates), gap=1e-6)
    (told,) = fluid.summary["uncounted"]
    assert (told["site"], told["sku"], told["standing"]) == ("a", H200, racks(fluid))
    stand = fluid.tables["instances"].query("quarter == '2027Q1'")
    servers = sum(math.ceil(r.busy) * r.gpus / 8 for r in stand.itertuples())
    used = sum(fluid.tables[t].query("quarter == '2027Q1'")["racks"].sum() for t in ("serving", "prefill"))
    usable = float(built(case)["skus"].set_index("sku").loc[H200, "usable_share"])
    assert told["units"] == pytest.approx(servers - used / usable, rel=1e-4)
    assert racks(whole) - racks(fluid) == more <= math.ceil(told["units"])
    assert "at most" in " ".join(instance_sentences(fluid))
    assert whole.summary["uncounted"] == []


@pytest.mark.thorough
def test_another_figure_or_pool_is_named():
    case = llms(0, 1.3)
    plan = planned(case, gap=1e-6)
    solved = Solved(case, built(case), plan)
    (told,) = plan.summary["uncounted"]
    for wrong in ([], [{**told, "units": told["units"] / 2}], [{**told, "site": "b"}]):
        plan.summary["uncounted"] = wrong  # type: ignore[typeddict-item]
        assert solved.fails("plan.json agrees with the tables", plan)


@pytest.mark.thorough
def test_what_is_next_to_nothing_is_said_too():
    """A silence could mean anything."""
    plan = planned(llms(0, 1.3), gap=1e-6)
    plan.tables["instances"]["uncounted_units"] = 0.001
    assert uncounted_units(plan.tables, ["2027Q1"])[0]["units"] == 0.001
    assert instance_sentences(plan) == ["Whole instances would take less than 0.05 units more in any pool."]
