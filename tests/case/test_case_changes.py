"""Changing, writing and hashing a case; the documentation of its tables."""

from pathlib import Path

import pandas as pd
import pytest

from procure.case import TABLES, Case
from procure.case.docs import render
from procure.case.settings import TOKEN_WORTHS
from procure.errors import InputError
from tests.case.conftest import FILES
from tests.case.test_case_read import one_fault


def test_the_documentation_of_the_case_folder_is_fresh():
    page = Path(__file__).parents[2] / "docs" / "case.md"
    assert page.read_text(encoding="utf-8") == render(), "run `python -m procure.case.docs`"


def test_every_default_of_a_column_is_explained():
    for table in TABLES.values():
        for column in table.columns:
            assert column.description
            assert column.required or column.default, (table.name, column.name)


def test_a_written_case_reads_back_as_the_same_case(small, tmp_path):
    again = Case.read(small.write(tmp_path / "copy"))
    assert again.input_hash == small.input_hash
    assert again.defaults_used == small.defaults_used
    with pytest.raises(InputError, match="new or empty"):
        small.write(tmp_path / "copy")


@pytest.mark.thorough
def test_row_order_and_name_do_not_change_the_hash_but_any_value_does(folder, small):
    shuffled = {
        name: "\n".join([text.split("\n")[0], *reversed(text.strip().split("\n")[1:])]) + "\n"
        for name, text in FILES.items()
        if name in ("forecast.csv", "budget.csv")
    }
    same = Case.read(folder({"case.toml": [('"small"', '"other"')]}, shuffled, name="shuffled"))
    assert same.input_hash == small.input_hash
    for name in ("forecast.peak_requests_per_s", "budget.budget_usd", "sites.power_kw", "hardware.lpx.power_kw"):
        assert small.with_value(name, "x1.001").input_hash != small.input_hash, name
    assert small.with_value("utilisation_cap", 0.7).input_hash != small.input_hash


def test_sources_are_for_readers_and_change_nothing(folder, small):
    sources = "table,column,item,kind,source,note\nbudget,budget_usd,,assumption,finance,\n"
    assert Case.read(folder(files={"sources.csv": sources}, name="sourced")).input_hash == small.input_hash


def test_a_changed_value_reaches_its_rows_only(small):
    changed = small.with_value("workloads.talk.ttft_s", 3.0)
    assert changed.tables["workloads"]["ttft_s"].tolist() == [3.0, small.tables["workloads"]["ttft_s"][1]]
    doubled = small.with_value("forecast.code.peak_requests_per_s", "x2").tables["forecast"]
    before = small.tables["forecast"]
    code = before["workload"] == "code"
    assert (doubled["peak_requests_per_s"][code] == 2 * before["peak_requests_per_s"][code]).all()
    assert (doubled["peak_requests_per_s"][~code] == before["peak_requests_per_s"][~code]).all()


def test_a_changed_case_leaves_the_first_one_alone(small):
    before = small.input_hash, small.tables["budget"].copy()
    small.with_value("budget.budget_usd", "x0.5")
    small.tables["budget"].copy()
    assert small.tables["budget"].equals(before[1])
    assert small.input_hash == before[0]


def test_growth_reaches_workloads_that_state_none_themselves(folder):
    workloads = FILES["workloads.csv"].replace("context_cap_tokens\n", "context_cap_tokens,isl_growth_per_year\n")
    workloads = workloads.replace("deepseek-v3.2,\n", "deepseek-v3.2,,\n").replace("163840\n", "163840,0.1\n")
    grown = Case.read(folder(files={"workloads.csv": workloads})).grow(isl_growth_per_year=0.5)
    assert grown.tables["workloads"]["isl_growth_per_year"].tolist() == [0.5, 0.1]


def test_defaults_that_depend_on_settings_are_worked_out_anew(small):
    name = "lookahead_short_usd_per_million_output_tokens"
    dear = small.replace(settings={name: 2 * getattr(small.settings, name)})
    assert dear.tables["workloads"][name].tolist() == (2 * small.tables["workloads"][name]).tolist()


def test_the_one_worth_of_a_token_of_before_is_said_to_be_three(folder):
    toml = FILES["case.toml"] + "lookahead_short_usd_per_million_tokens = 5\n"
    fault = one_fault(folder(files={"case.toml": toml}), "case.toml")
    assert fault.column == "lookahead_short_usd_per_million_tokens"
    assert all(name in fault.expected for name in TOKEN_WORTHS)


@pytest.mark.parametrize(
    "name", ["utilization_cap", "forecast.peak", "workloads.nobody.ttft_s", "hardware.vr-nvl72.prize", "a.b.c.d"]
)
def test_an_unknown_name_in_a_sweep_is_refused(small, name):
    with pytest.raises(InputError):
        small.with_value(name, 1.0)


def test_a_changed_case_is_checked_like_any_other(small):
    with pytest.raises(InputError, match="missing"):
        small.replace(tables={"forecast": small.tables["forecast"].iloc[1:]})
    with pytest.raises(InputError, match="Not a table"):
        small.replace(tables={"forcast": pd.DataFrame()})


def test_a_users_own_card_counts_by_content_not_by_place(folder):
    from procure.catalogue import packaged_path

    card = packaged_path("models/deepseek-v3.2.json").read_text(encoding="utf-8")
    workloads = FILES["workloads.csv"].replace("talk,chat,deepseek-v3.2", "talk,chat,mine.json")
    one = Case.read(folder(files={"workloads.csv": workloads, "mine.json": card}, name="one"))
    two = Case.read(folder(files={"workloads.csv": workloads, "mine.json": card}, name="two"))
    other = Case.read(folder(files={"workloads.csv": workloads, "mine.json": card + "\n"}, name="three"))
    assert one.input_hash == two.input_hash != other.input_hash


def test_the_premises_of_a_case_are_those_that_it_did_not_state(small):
    assert small.rests_on["case/utilisation_cap"].kind != "user"
    assert "column/workloads.kv_format" in small.rests_on
    assert "column/expansions.ports" in small.premises
    assert "column/expansions.ports" not in small.rests_on  # there are no expansions
    stated = small.with_value("utilisation_cap", 0.7)
    assert set(small.rests_on) == set(stated.rests_on)
    assert stated.rests_on["case/utilisation_cap"].kind == "user"
    assert stated.rests_on["case/utilisation_cap"].value == 0.7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("budget.budget_usd", "xabc"),
        ("budget.budget_usd", "x"),
        ("workloads.card", "x2"),
        ("hardware.vr-nvl72.kind", "x2"),
        ("hardware.vr-nvl72.power_kw", "xyz"),
        ("utilisation_cap", "x1.9"),
        ("case/vintage", "x2"),
    ],
)
def test_a_factor_that_is_none_or_of_what_is_no_number_is_refused(small, name, value):
    with pytest.raises(InputError):
        small.with_value(name, value)
