"""Each premise by its path: stated in a case, swept, refused with the nearest, and none that moves nothing."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest
from solved_case import built
from tiny_case import tiny

from procure.case import Case
from procure.errors import InputError
from procure.instance import Cache, build
from procure.instance.retention import wear_prices_table
from tests.case.test_case_read import one_fault

HORIZON = ("case/first_quarter", "case/planned_quarters", "case/lookahead_quarters")
"""They change together with the tables whose quarters they span."""

HIDDEN = (
    "fp4_flops_per_gpu", "joined_servers_gpus", "off_domain_latency_s", "off_domain_spread_latency_s",
    "reduce_efficiency", "scale_out_efficiency", "wide_kv_efficiency", "widening_efficiency", "tensor_gpus",
    "expert_gpus", "draft_lengths", "base_month",
)  # fmt: skip
"""Read for layouts, formats and units that compete for each point, and that another one beats in this case."""

WORDS = {
    "vintage": "none", "budget_basis": "commitment", "budget_carry": "none", "may_buy": [], "routing": "plain",
    "rack_local_return_share": 0.5, "hbm_home": "tray", "dram_home": "site", "ssd_home": "site",
    "flash_writes": "write_through", "flash_wear": "replace", "sla_tier": "great", "workloads.sla_tier": "great",
    "workloads.kv_format": "bf16", "reuse_curve": "none", "returns": "high", "power_basis": "facility",
    "available_from": "2027Q2", "last_order": "2027Q1", "points": "low", "instance_roles": "shared", "resale": "all",
    "cache_moves": "exclusive", "power_modes": "by_quarter", "cache_loss": "store", "resilience": "n+1",
    "read_ports": "prefill",
    "objective": "max_margin",
    "dayparts": "clock", "day_shape": "voice",
}  # fmt: skip
"""Another value of each premise that is no number."""


@cache
def case():
    """A case with room in its look-ahead, so that a lead time may move, and instances that are counted whole."""
    settings = {"planned_quarters": 1, "lookahead_quarters": 3, "whole_instances_up_to": 50.0}
    return tiny(planned=2, settings=settings)


def values(path, fact):
    if isinstance(fact.value, str):
        return [WORDS[path.rpartition("/")[2]]]
    factors = ["x1.01", "x0.5", "x2", "x0.1"] if fact.value else []  # nothing times a factor is nothing
    return [word for word in ("low", "high") if fact.low is not None] + factors + [0.0, 1.0]


@pytest.mark.slow(seconds=15)
def test_every_premise_of_a_plan_can_be_swept_and_moves_a_coefficient():
    """One cache for all: each change runs the stages that read it, and gives what a fresh build gives (test_stages)."""
    base, cache = case(), Cache()
    before, still = build(base, cache).hash, []
    assert len(base.rests_on) > 120
    for path, fact in base.rests_on.items():
        if path in HORIZON or path.rpartition("/")[2] in HIDDEN:
            continue
        for value in values(path, fact):
            try:
                if build(base.with_value(path, value), cache).hash != before:
                    break
            except InputError:
                continue  # out of the premise's range
        else:
            still.append(path)
    assert still == []


@pytest.mark.parametrize(
    ("path", "value", "table"),
    [
        ("physics/kv_efficiency", "low", "serve"),
        ("queue/fullest_load", 0.5, "first_token"),
        ("scenario/chat/input_p50_tokens", "high", "lengths"),
        ("sla/chat/good/ttft_s", "x2", "workloads"),
        ("reuse/chat/h_max", "low", "ages"),
        ("case/utilisation_cap", "x0.9", "skus"),
        ("hardware/gb300-nvl72/price_usd", "high", "prices"),
        ("sites/a/power_kw", 1_000, "site_limits"),
    ],
)
@pytest.mark.thorough
def test_a_path_reaches_the_coefficients_behind_it(path, value, table):
    base = case()
    changed = base.with_value(path, value)
    assert not built(base)[table].equals(built(changed)[table])
    assert changed.input_hash != base.input_hash
    assert changed.with_value(path, "base").input_hash == changed.input_hash


@pytest.mark.parametrize("server", [True, False])
def test_what_servers_alone_rest_on_is_told_where_one_is_in_play(server):
    made = tiny(skus=("gb300-nvl72", *(["hgx-b200"] if server else [])))
    assert ("physics/server_latency_factor" in made.rests_on) == server


def quoted(sku: str) -> pd.DataFrame:
    return pd.DataFrame([(sku, f"2027Q{q}", 5e5) for q in (1, 2, 3)], columns=["sku", "quarter", "price_usd"])


@pytest.mark.parametrize(
    ("path", "stated", "moves"),
    [
        ("hardware/ssd-kit-gb300-nvl72/price_usd", None, True),  # of drives that come with the rack
        ("hardware/ssd-kit-gb300-nvl72/price_usd", "ssd-kit-gb300-nvl72", False),
        ("hardware/flash-tlc/2027Q2", None, True),
        ("hardware/cmx-enclosure/price_flash_share", None, True),
        ("hardware/cmx-enclosure/price_flash_share", "cmx-enclosure", True),
    ],
)
def test_what_replaced_drives_cost_is_a_premise_of_the_plan(path, stated, moves):
    tables = {"prices": quoted(stated)} if stated else {}
    skus = ("gb300-nvl72", "vr-nvl72", "cmx-rack", "cmx-enclosure")
    base = tiny(skus=skus, tables=tables, settings={"flash_wear": "replace"})
    changed = base.with_value(path, "x0.9")
    wear = [wear_prices_table(each) for each in (base, changed)]
    assert wear[0].equals(wear[1]) is not moves
    assert (path in base.rests_on, changed.input_hash != base.input_hash) == (moves, moves)


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("hardware/vr-nvl72/prize_usd", "hardware/vr-nvl72/price_usd"),
        ("physics/kv_eficiency", "physics/kv_efficiency"),
        ("utilization_cap", "case/utilisation_cap"),
        ("scenario/chat/input_p5_tokens", "scenario/chat/input_p50_tokens"),
    ],
)
def test_an_unknown_path_names_the_nearest(path, nearest):
    with pytest.raises(InputError, match=nearest):
        case().with_value(path, 1.0)


@pytest.mark.thorough
def test_both_spellings_mean_the_same():
    base = case()
    for dots, path, value in (
        ("utilisation_cap", "case/utilisation_cap", 0.6),
        ("workloads.chat.ttft_s", "workloads/chat/ttft_s", 2.0),
        ("hardware.gb300-nvl72.power_kw", "hardware/gb300-nvl72/power_kw", "x1.1"),
    ):
        assert base.with_value(dots, value).input_hash == base.with_value(path, value).input_hash != base.input_hash


def test_a_case_states_a_premise_of_its_own_and_keeps_it(folder, tmp_path):
    text = "path,value,low,high,source\nsla/chat/good/ttft_s,1.5,1,2,our users\ncase/utilisation_cap,0.6,,,operations\n"
    stated = Case.read(folder(files={"premises.csv": text}))
    assert stated.tables["workloads"]["ttft_s"][0] == 1.5
    assert stated.settings.utilisation_cap == 0.6
    fact = stated.rests_on["sla/chat/good/ttft_s"]
    assert (fact.low, fact.high, fact.kind, fact.source) == (1.0, 2.0, "user", "our users")
    assert Case.read(stated.write(tmp_path / "copy")).input_hash == stated.input_hash


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        ("sla/chat/good/ttft,1", "path", "sla/chat/good/ttft_s"),
        ("case/utilisation_cap,1.5", "value", "less than or equal to 1"),
        ("physics/kv_efficiency,1.2", "value", "fraction from 0 to 1"),
        ("scenario/chat/input_mean_tokens,0", "value", "1 or more"),
        ("site/pue_liquid_hall,1.2", "path", "helps to fill in"),
        ("reuse/chat/returns,agentic-coding", "value", "One of low, base, high"),
        ("hardware/vr-nvl72/milestone_order,0.5", "path", "hardware/gpu_rack/milestone_order"),
        ("hardware/gpu_rack/removal_quarters,1e9", "value", "400 quarters or fewer"),
    ],
)
def test_a_premise_that_is_unknown_or_out_of_range_is_refused(folder, row, column, said):
    fault = one_fault(folder(files={"premises.csv": f"path,value\n{row}\n"}), "premises.csv")
    assert fault.column == column
    assert said in f"{fault.expected} {fault.hint}"


def test_hardware_is_stated_once(folder):
    hardware = "sku,attribute,value,unit,source\nlpx,price_usd,5e6,USD,quote\n"
    files = {"hardware.csv": hardware, "premises.csv": "path,value\nhardware/lpx/price_usd,6e6\n"}
    assert "hardware.csv" in one_fault(folder(files=files), "premises.csv").expected


def test_a_premise_that_the_case_does_not_read_is_said(folder):
    rows = ["hardware/hgx-a100/power_kw,7", "scenario/voice/input_p50_tokens,500", "case/utilisation_cap,0.7"]
    stated = Case.read(folder(files={"premises.csv": "\n".join(["path,value", *rows])}))
    unread = [doubt for doubt in stated.doubts if doubt.file == "premises.csv"]
    assert [(doubt.row, doubt.value) for doubt in unread] == [(i, rows[i - 2].split(",")[0]) for i in (2, 3)]


@pytest.mark.parametrize("path", ["sites/a/liquid_kw", "hardware/gb300-nvl72/supply_per_quarter"])
def test_a_factor_of_no_limit_is_refused(path):
    with pytest.raises(InputError, match="there is no limit now"):
        case().with_value(path, "x2")


def test_milestones_of_a_payment_move_together():
    moved = case().with_value("hardware/gpu_rack/milestone_order", 0.5)
    shares = [
        moved.catalogue.fact("gpu_rack", f"milestone_{step}").number for step in ("order", "delivery", "acceptance")
    ]
    assert shares[0] == 0.5
    assert sum(shares) == pytest.approx(1.0)


def test_what_is_replaced_keeps_its_numbers_to_the_last_digit():
    third = 1.0 / 3.0
    frame = pd.DataFrame({"quarter": ["2027Q1"], "budget_usd": [third * 1e9]})
    budget = pd.concat([frame.assign(quarter=f"2027Q{i}") for i in (1, 2, 3, 4)])
    assert case().replace(tables={"budget": budget}).tables["budget"]["budget_usd"][0] == third * 1e9
