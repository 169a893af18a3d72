"""What is left after a loss, by pencil: whole replicas and N+1, shared racks, two sites, stores, and what plans say."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from solved_case import built, planned
from tiny_case import tiny

from procure.errors import InputError
from procure.instance.tables import InstanceRow
from procure.plan.tables import Survival
from procure.report import print_plan
from procure.report.page import render
from procure.report.sentences import losses
from procure.report.workbook import build
from procure.schema import Lost

CERTAIN = {"availability": 1.0, "spare_share": 0.0, "instance_roles": "shared"}
FORMATS = ("bf16", "fp8", "nvfp4")
CHAT = {"card": "llama-3.1-70b", "reuse_curve": "none", "ttft_s": 30.0, "tps_user": 15.0, "instance_gpus": 8}


def replicas(loads: dict[str, float], sku: str = "hgx-h200", sites=({"positions": 9.0},), **settings):
    """LLMs that need so many instances each at their peaks, of 8 GPUs, which prefill and decode."""

    def case(peaks):
        workloads = {name: {**CHAT, "weight_precision": form} for name, form in zip(loads, FORMATS, strict=False)}
        return tiny(skus=(sku,), peaks={name: [peak] * 3 for name, peak in peaks.items()}, workloads=workloads,
                    sites=sites, settings={**CERTAIN, **settings})  # fmt: skip

    asked = built(case(dict.fromkeys(loads, 0.1)))
    each = {row.llm: row.load for row in asked.rows(InstanceRow) if row.t == 0}
    llm = dict(zip(asked["workloads"]["workload"], asked["workloads"]["llm"], strict=True))
    return case({name: 0.1 * load / each[llm[name]] for name, load in loads.items()})


def bought(case) -> int:
    plan = planned(case)
    assert plan.tables["checks"]["holds"].all()
    assert str(plan.status) == "optimal"
    return int(plan.purchases["count"].sum())


@pytest.mark.parametrize(("resilience", "servers"), [("none", 2), ("n+2", 4)])
@pytest.mark.thorough
def test_two_instances_on_a_server_each_have_one_more_for_each_that_may_be_down(resilience, servers):
    assert bought(replicas({"chat": 1.6}, resilience=resilience)) == servers


@pytest.mark.thorough
def test_a_plan_that_may_lose_two_units_says_what_two_take():
    told = {
        r.loss: r for r in planned(replicas({"chat": 1.6}, resilience="n+2")).rows(Survival) if r.quarter == "2027Q1"
    }
    assert (told[Lost.RACK].racks_there, told[Lost.TWO_RACKS].racks_there) == (3, 2)
    assert told[Lost.TWO_RACKS].racks_needed == 2
    assert told[Lost.TWO_RACKS].asked == told[Lost.RACK].asked == "chat"


@pytest.mark.parametrize(("pods", "racks"), [(2, 4), (3, 3)])
@pytest.mark.thorough
def test_racks_are_spread_over_all_pods_so_that_those_outside_the_fullest_carry_all(pods, racks):
    """Eleven instances of 8 GPUs take two racks of nine: two of four are left of two pods, two of three of three."""
    loads = {"a": 4.6, "b": 4.6, "c": 0.6}
    case = replicas(loads, "vr-nvl72", ({"positions": 20.0, "pods_max": pods},), resilience="pod")
    assert bought(case) == racks
    plan = planned(case)
    assert set(plan.tables["pods"]["pods"]) == {pods}
    row = next(r for r in plan.rows(Survival) if r.loss is Lost.POD)
    assert (row.racks_needed, row.racks_there, row.asked) == (pytest.approx(11 / 9), 2, "a, b, c")


def test_one_pod_cannot_be_two():
    with pytest.raises(InputError) as told:
        tiny(settings={"resilience": "pod"}, sites=({"pods_max": 1},))
    fault = told.value.faults[0]
    assert (fault.file, fault.column, fault.value) == ("case.toml", "resilience", "pod")
    assert "pods_max of 2 or more" in fault.expected
    assert "read 'pod'." in str(fault)


@pytest.mark.parametrize(("resilience", "racks"), [("none", 1), ("n+1", 2)])
@pytest.mark.thorough
def test_small_llms_that_share_a_rack_share_the_one_that_stands_by(resilience, racks):
    """Nine places of 8 GPUs in a rack, for 2 + 3 + 1 instances; a rack is lost whole, with all in it."""
    loads = {"a": 1.6, "b": 2.7, "c": 0.6}
    assert bought(replicas(loads, "gb300-nvl72", resilience=resilience)) == racks


@pytest.mark.thorough
def test_two_sites_each_able_to_carry_the_load_are_twice_as_much():
    sites = ({"site": "a", "positions": 9.0}, {"site": "b", "positions": 9.0})
    plan = planned(replicas({"chat": 1.6}, sites=sites, resilience="two_sites"))
    assert plan.purchases.set_index("site")["count"].to_dict() == {"a": 2, "b": 2}
    away = plan.tables["fallback"].query("quarter == '2027Q1' and role == 'decode'")
    asked = plan.tables["demand"].query("quarter == '2027Q1'")["requests_per_s"].sum()
    assert away.groupby(["lost_site", "site"])["requests_per_s"].sum().to_dict() == {
        ("a", "b"): pytest.approx(asked),
        ("b", "a"): pytest.approx(asked),
    }


@pytest.mark.thorough
def test_a_load_that_may_not_be_lost_is_short_where_the_rack_that_stands_by_finds_no_place():
    """Two servers hold two instances: one can be counted on, of 1.6 that the load fills."""
    use = built(replicas({"chat": 1.6}))["resource_use"].query("resource == 'positions'")["per_unit"].item()
    plan = planned(replicas({"chat": 1.6}, sites=({"positions": 2 * use},), resilience="n+1"))
    now = plan.tables["sla"].query("quarter == '2027Q1'")
    assert now["served_share"].item() == pytest.approx(1 / 1.6, rel=1e-4)
    assert now["cause"].item() == "limit: positions, resilience"


@pytest.mark.thorough
def test_units_counted_as_down_are_not_counted_in_availability_and_spares_too():
    """At 0.9 · 0.8 an instance is busy for 0.72 of the cap: 3.6 servers fill up to it, or 2.6 beside a lost one."""
    settings = {"availability": 0.9, "spare_share": 0.2}
    assert bought(replicas({"chat": 2.6 / 0.72}, **settings)) == 4
    assert bought(replicas({"chat": 2.6 / 0.72}, **settings, resilience="n+1")) == 4
    assert bought(replicas({"chat": 2.6 / 0.72}, **settings, resilience="n+2")) == 5


@pytest.fixture(scope="module")
def cached():
    """Agents on racks whose memory keeps caches."""
    agent = {"scenario": "coding-agentic", "context_cap_tokens": 131_072}
    case = tiny(peaks={"agent": [60, 62, 64]}, workloads={"agent": agent}, sites=({"positions": 40.0},))
    return case, planned(case)


@pytest.mark.thorough
def test_without_a_store_its_hits_are_computed_in_full(cached):
    case, plan = cached
    instance = built(case)
    filled = plan.tables["prefill"].query("quarter == '2027Q1'")
    store = filled.query("store != 'recompute'")["store"].iloc[0]
    full = instance["prefill"].query("t == 0 and store == 'recompute'").set_index("bucket")["rack_s"]
    busy = plan.tables["serving"].query("quarter == '2027Q1'")["racks"].sum()
    for r in filled.itertuples():
        busy += r.requests_per_s * full[r.bucket] if r.store == store else r.racks
    row = next(r for r in plan.rows(Survival) if (r.quarter, r.lost) == ("2027Q1", store))
    assert row.racks_needed == pytest.approx(busy / instance["skus"]["usable_share"].iloc[0])
    assert (row.loss, row.workloads, row.asked, row.likely_down) == (Lost.STORE, "agent", "", 0)
    assert row.short_share == pytest.approx(max(0.0, 1 - row.racks_there / row.racks_needed))


@pytest.mark.thorough
def test_racks_for_a_cold_start_carry_everything_in_full(cached):
    case, plan = cached
    cold = planned(case.replace(settings={"cache_loss": "cold_start"}))
    rows = [r for r in cold.rows(Survival) if r.loss in (Lost.STORE, Lost.CACHES)]
    assert rows
    assert all(r.short_share < 1e-6 and r.asked == "agent" for r in rows)
    assert any(r.short_share > 0.01 for r in plan.rows(Survival) if r.loss is Lost.STORE)
    assert cold.purchases["count"].sum() > plan.purchases["count"].sum()


@pytest.mark.usefixtures("unplotted")
@pytest.mark.thorough
def test_every_plan_says_what_a_loss_takes(cached):
    _, plan = cached
    short, carried = losses.loss_sentences(plan)
    rack = next(s for s in short + carried if s.startswith("with one gb300-nvl72 fewer at a the load needs "))
    assert " in 2027Q1: " in rack
    assert any(" at a the load (agent read it) needs " in s for s in short)
    console = Console(file=io.StringIO(), width=400)
    print_plan(plan, console)
    assert all(sentence in console.file.getvalue() for sentence in short[:5])
    page = render(plan)
    assert all(sentence.partition(":")[0] in page for sentence in short + carried)
    (without,) = losses.cache_sentences(plan)  # of the one workload that lives on caches, the store it misses most
    assert without.startswith("without HBM (hbm:gb300-nvl72) at a the load (agent read it) needs ")
    assert without in console.file.getvalue()
    assert all(losses.NOT_HELD in text for text in (console.file.getvalue(), page))
    sheet = next(sheet for sheet in build(plan) if sheet.name == "Survival")
    table = plan.tables["survival"]
    shares = [c.value for c in sheet.cells.values() if c.style == "calc:share" and c.column == 7]
    worst = table.groupby(["sku", "site", "loss", "lost"])["short_share"].max()
    assert sorted(shares) == pytest.approx(sorted(worst))


def test_one_site_cannot_be_two():
    with pytest.raises(InputError) as told:
        tiny(settings={"resilience": "two_sites"})
    fault = told.value.faults[0]
    assert (fault.file, fault.column, fault.value) == ("case.toml", "resilience", "two_sites")
    with pytest.raises(InputError) as told:
        tiny(workloads={"chat": {"resilience": "two_sites"}})
    assert (told.value.faults[0].file, told.value.faults[0].row) == ("workloads.csv", 2)


@pytest.mark.thorough
def test_availability_follows_from_failures_and_repair_of_each_sku():
    """288 hours of 8,760 for a rack of the packaged class, 438 for one that says so; a kit is up with its rack."""
    figures = {("gb300-nvl72", "failures_per_year"): 4.0, ("gb300-nvl72", "repair_hours"): 438 / 4}
    skus = ("gb300-nvl72", "vr-nvl72", "ssd-kit-vr-nvl72")
    case = tiny(skus=skus, figures=figures, settings={"availability": "computed", "spare_share": 0.1})
    up = built(case)["skus"].set_index("sku")
    rack, drives = 8_760 / (8_760 + 9.3 * 31), 8_760 / (8_760 + 0.0098 * 72)
    wanted = {"gb300-nvl72": 8_760 / 9_198, "vr-nvl72": rack, "ssd-kit-vr-nvl72": rack * drives}
    assert up["availability"].to_dict() == pytest.approx(wanted)
    assert up["present_share"].to_dict() == pytest.approx({name: 0.9 * share for name, share in wanted.items()})


@pytest.mark.parametrize("wrong", [0, 1.5, "always"])
def test_an_availability_is_a_share_or_computed(wrong):
    with pytest.raises(InputError) as told:
        tiny(settings={"availability": wrong})
    assert "a share above 0 and at most 1, or computed" in str(told.value).lower()
