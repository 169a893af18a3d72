"""Findings that hold where they should and fail where the arithmetic says so."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from limit_cases import BINDING, grown, old
from solved_case import built, planned
from tiny_case import fleet, linked_sites, tiny

from procure.case import Case
from procure.catalogue import packaged_path
from procure.check import check_case, show
from procure.check.arithmetic import least_load
from procure.check.supply import Supply
from procure.instance import TABLES, Instance
from procure.plan import Status


@pytest.fixture(scope="module")
def case():
    return Case.read(packaged_path("data/cases/agentic-2027"))


@pytest.fixture(scope="module")
def instance(case):
    return built(case)


def changed(instance, **tables):
    return replace(instance, tables={**instance.tables, **tables})


def of(findings, name):
    return findings[findings["finding"].str.startswith(name)]


@pytest.fixture(scope="module")
def findings(case, instance):
    """What is found in the example as it is."""
    return check_case(case, instance)


@pytest.mark.slow(seconds=4)
def test_the_example_passes_its_own_arithmetic(findings):
    assert findings["holds"].all(), show(findings)
    assert "all hold." in show(findings)


@pytest.mark.slow(seconds=4)
def test_an_order_stands_a_rounded_up_lead_time_later(findings):
    arrivals = of(findings, "Orders").set_index("item")["quarter"]
    assert arrivals["vr-nvl72"] == "2028Q1"  # 3.5 quarters, rounded up to 4
    assert arrivals["lpx"] == "2027Q3"


@pytest.mark.slow(seconds=4)
def test_too_little_power_is_said_with_the_quarter_and_the_amounts(case, instance):
    limits = instance["site_limits"].copy()
    limits.loc[limits["resource"] == "power_kw", "limit"] = 100.0
    findings = check_case(
        case, changed(instance, site_limits=limits, expansion_adds=instance["expansion_adds"].iloc[:0])
    )
    power = of(findings, "Power")
    assert not power["holds"].any()
    assert power["detail"].str.contains("MW of 0.2 MW").all()
    room = of(findings, "Room").set_index("item")
    assert not room.loc["lakeside power_kw", "holds"]
    assert room.loc["lakeside positions", "holds"]


@pytest.mark.slow(seconds=4)
def test_a_workload_that_no_standing_pool_reaches_fails_and_names_the_pools_that_would(case, instance):
    early = instance["rates"].copy()
    premium = early["workload"] == "code-agent-premium"
    first = early["t"] == 0
    early.loc[premium & first, "requests_per_s"] = 1.0
    serve = instance["serve"]
    points = serve[(serve["workload"] == "code-agent-premium") & (serve["t"] == 3)].assign(t=0)
    tables = {"rates": early, "serve": pd.concat([serve, points], ignore_index=True)}
    finding = of(check_case(case, changed(instance, **tables)), "A pool").set_index("item").loc["code-agent-premium"]
    assert not finding["holds"]
    assert "vr-nvl72+lpx" in finding["detail"]
    assert "2027Q1" in finding["detail"]


def test_load_of_one_workload_on_one_pool_is_what_hand_arithmetic_gives(case):
    """10 requests/s x (2 s decode + 1 s prefill) on 30 usable racks; 0.4 of the prefill is spared by caches."""
    rows = {
        "quarters": [(0, "2027Q1", 1, 2027, 1.0)],
        "skus": [
            (
                "gpu",
                "gpu",
                "",
                1,
                0,
                0,
                1,
                np.inf,
                20,
                0.5,
                0.1,
                0,
                0,
                0,
                0.0,
                0,
                20,
                0.2,
                0,
                0,
                0.6,
                0.9,
                0.95,
                8,
                0,
                1,
            )
        ],
        "fixed": [("f", "fleet", "s", "gpu", 50, -4, 1, 1.0, 0.0, 0, 0.0)],
        "workloads": [("w", "card", 1.0, 0.9, 1.0, 20.0, "card", 0.0, 0)],
        "rates": [(0, "w", 0, 10.0, 0.5)],
        "ages": [(0, "w", 0, 60.0, 60.0, 0.4, 0.2)],
        "serve": [("p", 0, "w", 0, "card", "gpu", "gpu", 2.0, "", 0.0, 0.0, 20.0, 1.0, 1.0, 0.9, "physics")],
        "prefill": [
            ("full", 0, "w", 0, "gpu", "recompute", 1.0, 0.5, 0.0, 0.0, 0.0, "physics"),
            ("kept", 0, "w", 0, "gpu", "dram", 0.0, 0.1, 0.0, 1.0, 1.0, "physics"),
        ],
    }
    tables = {name: pd.DataFrame(rows.get(name, []), columns=list(table.by_column)) for name, table in TABLES.items()}
    supply = Supply(case, Instance(tables, {"dayparts": "peak"}))
    assert least_load(supply, 0, reuse=False) == pytest.approx(10 * 3 / (50 * 0.6))
    assert least_load(supply, 0, reuse=True) == pytest.approx(10 * (2 + 0.6) / (50 * 0.6))
    late = tables["prefill"].assign(late_share=[1.0, 0.0])
    supply = Supply(case, Instance({**tables, "prefill": late}, {"dayparts": "peak"}))
    assert least_load(supply, 0, reuse=True) == np.inf  # 60% must be prefilled in full, and only 10% may be late


@pytest.mark.slow
def test_a_small_pool_is_said_where_its_own_traffic_loses_hits(case, instance, findings):
    """0.49 requests/s of large coding on a busy HGX server; a rack of NVL72 sees above ten."""
    said = of(findings, "Small pools").set_index("item")
    assert "code-agent-large hgx-h200" in said.index
    assert said["holds"].all()
    assert not said.index.str.contains("vr-nvl72").any()
    row = said.loc["code-agent-large hgx-h200"]
    slow = instance["serve"].query("sku == 'hgx-h200'").assign(rack_s=lambda x: x["rack_s"] / 100)
    rest = instance["serve"].query("sku != 'hgx-h200'")
    prefill = instance["prefill"].assign(rack_s=instance["prefill"]["rack_s"] / 100)
    faster = changed(instance, serve=pd.concat([slow, rest], ignore_index=True), prefill=prefill)
    assert row["value"] < 1
    assert of(check_case(case, faster), "Small pools").empty


@pytest.mark.thorough
def test_a_point_that_extrapolation_takes_away_is_said():
    strict = tiny(settings={"max_extrapolation": 0.0, "points": "low"})
    (finding,) = of(check_case(strict), "A pool for every workload").to_dict("records")
    assert not finding["holds"]
    assert "at the low end of the band within max_extrapolation, 0 doublings from a measurement" in finding["detail"]


SERVERS = {"lead": 1, "workloads": {name: {"card": card, "ttft_s": 10.0} for name, card in (
    ("first", "deepseek-v3.2"), ("second", "deepseek-r1"), ("third", "glm-4.6"))}}  # fmt: skip
"""Three LLMs, each with little load, in a case whose own orders arrive a quarter late."""


def of_servers(count):
    """The three LLMs on so many old servers; one rack of each LLM at least is counted whole."""
    stands = fleet(("a", "hgx-h200", count, "2025Q1", 3e5))
    return tiny(peaks=dict.fromkeys(SERVERS["workloads"], [0.2] * 4), tables={"fleet": stands}, **SERVERS)


@pytest.mark.slow(seconds=8)
def test_whole_instances_that_have_no_place_are_said_and_the_plan_agrees():
    """Work of three small LLMs fits one server; three whole instances do not, which the plan has always known."""
    for count, fits in ((1, False), (6, True)):
        case = of_servers(count)
        findings = check_case(case, built(case))
        assert of(findings, "Whole instances")["holds"].all() == fits
        assert of(findings, "What stands")["holds"].all()
        assert (planned(case).status is Status.OPTIMAL) == fits


@pytest.mark.thorough
def test_it_ends_with_what_to_do_and_names_workloads_and_quarters():
    case = of_servers(1)
    lines = show(check_case(case, built(case))).splitlines()
    todo = lines[lines.index("What to do:") + 1 :]
    assert len(todo) == 1
    assert todo[0].startswith("  first, second, third, 2027Q1: serve them with fewer LLMs")
    assert "Next: `procure solve`" in show(check_case(tiny(), built(tiny())))


@pytest.mark.thorough
def test_a_pool_that_stands_is_not_said_to_come_too_late_where_it_is_too_slow():
    """Of the longest bucket no point is left in the first quarter, of the others all: what stands is too slow."""
    case = tiny(peaks={"chat": [1] * 3}, tables={"fleet": fleet(("a", "gb300-nvl72", 1, "2026Q1", 4e6))})
    instance = built(case)
    serve = instance["serve"]
    longest = serve["bucket"].iloc[-1]
    left = serve[(serve["bucket"] != longest) | (serve["t"] > 0)]
    finding = of(check_case(case, changed(instance, serve=left)), "A pool").iloc[0]
    assert not finding["holds"]
    assert "cannot stand" not in finding["detail"]
    assert "none can stand" not in finding["detail"]
    assert finding["detail"] == "chat: no pool for 1 of its length buckets in 2027Q1: none reaches its speed there."
    assert finding["todo"].startswith("chat, 2027Q1: lower tps_user")


@pytest.mark.thorough
def test_advice_names_every_quarter_that_it_is_for_once():
    said = show(check_case(BINDING["late first tokens"]()))
    assert said.split("What to do:\n")[1].splitlines() == [
        "  chat, 2027Q1 to 2027Q3: ask for a ttft_s of 4.272 or more, or a ttft_share of 0.8135 or less "
        "(workloads.csv), which is what 2027Q1 takes.",
        "  chat, 2027Q1 to 2027Q3: what stands serves some of it at no load; ask for less speed or a longer ttft_s: "
        "none can stand within the horizon.",
    ]


AGAINST = {
    "apart": lambda: linked_sites(gbit_per_s=0.0),
    "first tokens": lambda: grown(workloads={"chat": {"ttft_s": 0.15}}),
    "late": BINDING["late first tokens"],
    "too fast": lambda: grown(workloads={"chat": {"tps_user": 400.0}}),
    "before orders": lambda: tiny(lead=1, peaks={"chat": [90] * 4}, tables={"fleet": old()}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", AGAINST)
def test_what_fails_is_short_in_the_plan_as_well(case):
    made = AGAINST[case]()
    failed = check_case(made, built(made)).query("not holds")
    assert len(failed)
    sla = planned(made).tables["sla"].query("short_share > 1e-6")
    short = set(zip(sla["workload"], sla["quarter"], strict=True))
    for row in failed.itertuples():
        who, when = row.todo.split(": ")[0].split(", ", 1)
        first = when.split(",")[0].split(" to ")[0]
        assert (who, first) in short, row.todo
