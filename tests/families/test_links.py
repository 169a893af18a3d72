"""Prefill at one site, decode at another: what a link lets through, worked by hand."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from rich.console import Console
from solved_case import built, checked, planned
from tiny_case import linked_sites

from procure.errors import InputError
from procure.report import print_plan
from procure.report.page import render
from procure.report.sentences import links
from procure.report.workbook import build

TOKEN_BYTES = 2 * 80 * 8 * 128
"""Keys and values of llama-3.1-70b in FP8."""
USABLE = 20e9 / 8 * 0.75
"""Bytes/s of the link that are not kept for other traffic."""


def first(plan, table):
    return plan.tables[table].query("quarter == '2027Q1'")


def test_a_site_that_only_decodes_is_served_as_far_as_the_link_goes():
    plan = planned(linked_sites())
    sent = first(plan, "shipments")
    assert sent["egress_bytes_per_s"].sum() == pytest.approx(USABLE, rel=1e-4)
    assert first(plan, "sla")["served_share"].item() == pytest.approx(USABLE / (6.0 * 8_000 * TOKEN_BYTES), rel=1e-4)
    assert first(plan, "sla")["cause"].item() == "limit: link bandwidth"
    assert set(first(plan, "prefill")["site"]) == {"a"}
    assert set(first(plan, "serving")["site"]) == {"b"}
    assert plan.tables["checks"]["holds"].all()


@pytest.mark.thorough
def test_a_full_link_is_named_where_racks_are_as_good_as_full_too():
    """One server prefills 2.46 requests/s and the link carries 2.43: neither alone would serve much more."""
    case = linked_sites(34.0)
    case = case.replace(tables={"fleet": case.tables["fleet"].assign(count=[1, 8])})
    row = first(planned(case), "sla")
    assert row["served_share"].item() == pytest.approx(34e9 / 8 * 0.75 / (6.0 * 8_000 * TOKEN_BYTES), rel=1e-4)
    assert row["cause"].item() == "nothing that may be bought serves it; link bandwidth is full: a to b"


@pytest.mark.thorough
def test_a_link_wide_enough_is_not_felt():
    plan = planned(linked_sites(200.0))
    assert first(plan, "sla")["served_share"].item() == 1.0
    assert first(plan, "shipments")["egress_bytes_per_s"].sum() == pytest.approx(6.0 * 8_000 * TOKEN_BYTES, rel=1e-4)
    assert not first(plan, "limits").query("family == 'link bandwidth'")["binding"].any()
    lost = first(plan, "survival").query("loss == 'site'").set_index("site")
    assert lost["racks_there"].to_dict() == {"a": 0.0, "b": 0.0}  # what only decodes cannot prefill, nor the reverse
    assert (lost["short_share"] == 1.0).all()
    assert plan.tables["checks"]["holds"].all()


@pytest.mark.thorough
def test_both_ways_of_solving_agree():
    case = linked_sites(60.0, ("prefill", ""))
    plans = [planned(case, gap=1e-6, method=method) for method in ("decomposed", "whole")]
    assert len(plans[0].tables["shipments"])
    assert plans[0].objective_usd == pytest.approx(plans[1].objective_usd, rel=1e-6)


@pytest.mark.thorough
def test_without_a_link_nothing_is_sent_and_the_site_is_not_served():
    case = linked_sites(0.0)
    plan = planned(case)
    assert plan.tables["shipments"].empty
    assert first(plan, "sla")["served_share"].item() == 0.0
    assert first(plan, "sla")["cause"].item() == "prefill and decode do not meet"
    met = checked(case).query("finding.str.startswith('Prefill and decode')")
    assert not met["holds"].item()
    assert "no link leads from one that may prefill it" in met["detail"].item()
    assert checked(linked_sites(200.0)).query("finding.str.startswith('Prefill and decode')")["holds"].item()


def test_the_first_token_waits_for_the_link():
    """The seconds on the pair are those at the sending site, the delay, and the bytes over what the link carries."""
    instance = built(linked_sites())
    pair = instance["ships"].merge(instance["prefill"], on=["option", "t", "workload", "bucket", "sku"])
    rates = instance["rates"].merge(pair.query("t == 0"), on=["t", "workload", "bucket"])
    assert (rates["requests_per_s"] * rates["bytes"]).sum() == pytest.approx(6.0 * 8_000 * TOKEN_BYTES, rel=1e-4)
    assert pair["transfer_s"].to_numpy() == pytest.approx(0.001 + pair["bytes"] / USABLE, rel=2e-3)
    assert pair["ttft_s_x"].to_numpy() == pytest.approx(pair["ttft_s_y"] + pair["transfer_s"])


ALIKE = {"input_p50_tokens": 7_900, "input_p90_tokens": 8_100, "input_p99_tokens": 8_200}
"""Prompts of about 8,000 tokens: sending one takes 13 s at 0.8 Gbit/s, and 26 ms at 400."""


@pytest.mark.thorough
def test_what_would_be_late_over_the_link_is_prefilled_at_home():
    """H20 needs 11 s for a prompt, H200 1.4 s."""
    case = linked_sites(0.8, ("prefill", ""), 0.0, ttft_s=12.0, **ALIKE)
    assert built(case)["ships"].empty
    plan = planned(case)
    assert plan.tables["shipments"].empty
    assert set(first(plan, "prefill")["site"]) == {"b"}
    assert first(plan, "sla")["ttft_share"].item() == 1.0


@pytest.mark.thorough
def test_what_would_be_late_at_home_is_sent():
    plan = planned(linked_sites(400.0, ("prefill", ""), 0.0, ttft_s=5.0, **ALIKE))
    assert first(plan, "shipments")["requests_per_s"].sum() >= 0.9 * 6.0 - 1e-3
    assert first(plan, "sla")[["served_share", "short_share"]].to_numpy().tolist() == [[1.0, 0.0]]
    assert first(plan, "sla")["ttft_reached_s"].item() < 5.0


@pytest.mark.thorough
def test_late_over_the_link_is_late_where_nothing_else_prefills():
    """All but the tenth that may be late are out of reach, and that tenth is served over the link."""
    plan = planned(linked_sites(0.8, ("prefill", "decode"), 0.0, ttft_s=12.0, **ALIKE))
    row = first(plan, "sla")
    assert row["out_of_reach_share"].item() == pytest.approx(0.9)
    assert row["served_share"].item() <= 0.1 + 1e-6
    assert row["cause"].item().startswith("limit: link bandwidth; 90.0% out of reach: 90% of requests within")
    assert len(first(plan, "shipments"))


@pytest.mark.thorough
def test_rent_is_paid_in_the_quarters_that_use_the_link():
    """The planned quarter must be served; in the look-ahead a request is worth some cents, and rent too much."""
    plan = planned(linked_sites(200.0, usd_per_month=1e7))
    assert plan.tables["link_rents"].values.tolist() == [["2027Q1", "a", "b", 3e7]]
    paid = plan.tables["cash"].query("line == 'links'")
    assert paid[["quarter", "site", "sku", "cash_usd"]].values.tolist() == [["2027Q1", "a", "to b", 3e7]]
    assert set(plan.tables["shipments"]["quarter"]) == {"2027Q1"}
    cheap = planned(linked_sites(200.0, usd_per_month=1_000.0))
    assert len(cheap.tables["link_rents"]) == 3
    assert all(p.tables["checks"]["holds"].all() for p in (plan, cheap))


@pytest.mark.thorough
def test_a_link_that_changes_holds_from_its_quarter_on():
    case = linked_sites()
    later = pd.concat([case.tables["links"], case.tables["links"].assign(from_quarter="2027Q2", latency_s=0.5,
                                                                         bandwidth_gbit_per_s=8.0)])  # fmt: skip
    links = built(case.replace(tables={"links": later}))["links"].set_index("t")
    assert links["bytes_per_s"].tolist() == [USABLE, 0.75e9, 0.75e9]
    assert links["latency_s"].tolist() == [0.001, 0.5, 0.5]


def test_wrong_links_and_pools_are_refused_together():
    case = linked_sites()
    links = case.tables["links"].assign(to_site="a")
    pools = pd.DataFrame([("a", "cmx-rack", "prefill")], columns=["site", "sku", "role"])
    with pytest.raises(InputError) as raised:
        case.replace(tables={"links": links, "pools": pools})
    said = [(fault.file, fault.column) for fault in raised.value.faults]
    assert said == [("links.csv", "to_site"), ("pools.csv", "sku")]


@pytest.mark.usefixtures("unplotted")
@pytest.mark.thorough
def test_terminal_page_and_workbook_say_what_a_link_carries():
    plan = planned(linked_sites())
    (sentence,) = links.link_sentences(plan)
    assert sentence.startswith("a to b: 15 of 15 Gbit/s (full) at the peak of 2027Q1, 1.43 requests/s")
    console = Console(file=io.StringIO(), width=400)
    print_plan(plan, console)
    assert sentence in console.file.getvalue()
    assert sentence in render(plan)
    assert build(plan)
    idle = planned(linked_sites(2.0, ("", ""), ttft_s=0.5))
    assert links.link_sentences(idle) == ["a to b: carries nothing."]
