"""Reading a case folder: what is accepted, what is refused and in which words."""

import pytest

from procure.case import Case
from procure.errors import InputError


def faults_of(path):
    with pytest.raises(InputError) as refused:
        Case.read(path)
    return refused.value.faults


def one_fault(path, file):
    faults = faults_of(path)
    assert len(faults) == 1, [str(fault) for fault in faults]
    assert faults[0].file == file
    return faults[0]


def test_a_right_case_is_read_whole(small):
    assert [str(q) for q in small.planned] == ["2027Q1", "2027Q2"]
    assert len(small.quarters) == 8
    assert small.tables["fleet"]["sku"].tolist() == ["gb200-nvl72"]
    assert small.tables["forecast"]["peak_requests_per_s"].sum() == 2 * sum(range(10, 18))


def test_empty_cells_take_the_scenarios_values_and_the_list_says_so(small):
    talk = small.tables["workloads"].iloc[0]
    assert talk["input_mean_tokens"] == 12035
    assert talk["ttft_s"] == 1
    assert talk["weight_precision"] == "fp8"
    assert talk["reuse_curve"] == "chat"
    later = ["lookahead_short_usd_per_request", "instance_gpus", "min_served_share"]  # by load, or none
    assert not small.tables["workloads"].drop(columns=later).isna().any().any()
    assert "workloads.ttft_s: scenario chat at good" in small.defaults_used
    assert "case.toml utilisation_cap: premise case/utilisation_cap" in small.defaults_used


def test_a_stated_mean_scales_the_scenarios_quantiles(folder):
    files = {
        "workloads.csv": "workload,scenario,card,input_mean_tokens,context_cap_tokens\n"
        "talk,chat,deepseek-v3.2,24070,163840\ncode,large-coding,deepseek-v3.2,,163840\n"
    }
    case = Case.read(folder(files=files))
    assert case.tables["workloads"].iloc[0]["input_p50_tokens"] == 2 * 6909


@pytest.mark.parametrize(
    "change", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n"), lambda t: t + "\n\n,,\n"]
)
def test_byte_order_mark_crlf_and_blank_lines_do_no_harm(folder, small, change):
    from tests.case.conftest import FILES

    changed = {name: change(text) for name, text in FILES.items() if name in ("forecast.csv", "budget.csv")}
    if ",," in changed["budget.csv"]:
        changed = {name: text.replace(",,", "," * (text.split("\n")[0].count(","))) for name, text in changed.items()}
    assert Case.read(folder(files=changed, name="other")).input_hash == small.input_hash


def test_rows_are_numbered_as_an_editor_shows_them_even_after_blank_lines_and_quoted_line_breaks(folder):
    text = 'quarter,workload,peak_requests_per_s\n\n2027Q1,"ta\nlk",1\n2027Q1,talk,much\n'
    lines = {fault.row for fault in faults_of(folder(files={"forecast.csv": text})) if fault.file == "forecast.csv"}
    assert {3, 5} <= lines


def test_quoted_commas_stay_in_their_cell(folder):
    edits = {"case.toml": [('"small"', '"small, but whole"')]}
    reserved = 'site,sku,quarter,count,purpose\nnorth,gb200-nvl72,2027Q1,1,"training, fine-tuning"\n'
    case = Case.read(folder(edits, {"reserved.csv": reserved}))
    assert case.tables["reserved"]["purpose"].tolist() == ["training, fine-tuning"]
    assert case.name == "small, but whole"


def test_all_faults_come_at_once_with_file_row_column_value_and_nearest_name(folder):
    edits = {
        "case.toml": [("planned_quarters = 2", 'planned_quarters = 2\nutilization_cap = 0.8\nbudget_basis = "cash"')],
        "workloads.csv": [
            ("talk,chat", "talk,chatt"),
            ("code,large-coding,deepseek-v3.2", "code,large-coding,deepseek-v32"),
        ],
        "sites.csv": [("10000,it", "-4,it")],
        "fleet.csv": [("GB200_NVL72,4", "GB20_NVL72,4.5")],
        "orders.csv": [("north", "nrth")],
    }
    found = {(fault.file, fault.row, fault.column, fault.value) for fault in faults_of(folder(edits))}
    assert found == {
        ("case.toml", 0, "utilization_cap", "0.8"),
        ("case.toml", 0, "budget_basis", "cash"),
        ("workloads.csv", 2, "scenario", "chatt"),
        ("workloads.csv", 3, "card", "deepseek-v32"),
        ("sites.csv", 2, "power_kw", "-4"),
        ("fleet.csv", 2, "sku", "GB20_NVL72"),
        ("fleet.csv", 2, "count", "4.5"),
        ("orders.csv", 2, "site", "nrth"),
    }
    text = "\n".join(str(fault) for fault in faults_of(folder(edits, name="again")))
    for nearest in ("utilisation_cap", "'chat'", "deepseek-v3.2", "gb200-nvl72", "'north'"):
        assert nearest in text


MIXTURES = [("FP8+rope=bf16", "fp8+rope=bf16"), ("nvfp4+index_key=mxfp4", "nvfp4+index_key=mxfp4"), ("bf16", "bf16")]


@pytest.mark.parametrize(("cell", "meant"), MIXTURES)
def test_a_kv_format_may_be_a_mixture_as_sizing_reads_it(folder, cell, meant):
    header, row = "talk,chat,deepseek-v3.2,", "workload,scenario,card,context_cap_tokens"
    case = Case.read(folder({"workloads.csv": [(row, f"{row},kv_format"), (header, f"{header},{cell}"),
                                               ("163840\n", "163840,\n")]}))  # fmt: skip
    assert case.tables["workloads"]["kv_format"].tolist()[0] == meant


@pytest.mark.parametrize(
    ("cell", "near"), [("fp9", "fp8"), ("fp8+rop=bf16", "rope"), ("fp8+rope=bf61", "bf16"), ("fp8+rope", "")]
)
def test_a_kv_format_that_sizing_cannot_read_is_refused_at_its_cell(folder, cell, near):
    header, row = "talk,chat,deepseek-v3.2,", "workload,scenario,card,context_cap_tokens"
    edits = [(row, f"{row},kv_format"), (header, f"{header},{cell}"), ("163840\n", "163840,\n")]
    fault = one_fault(folder({"workloads.csv": edits}), "workloads.csv")
    assert (fault.row, fault.column, fault.value) == (2, "kv_format", cell)
    assert near in fault.hint


@pytest.mark.parametrize("cell", ["2.5", "0", "-8", "8 GPUs"])
def test_an_instance_has_whole_gpus(folder, cell):
    header, row = "context_cap_tokens", "talk,chat,deepseek-v3.2,"
    edits = [(header, f"{header},instance_gpus"), (row, f"{row},{cell}"), ("163840\n", "163840,\n")]
    fault = one_fault(folder({"workloads.csv": edits}), "workloads.csv")
    assert (fault.row, fault.column, fault.value) == (2, "instance_gpus", cell)
    assert "GPUs" in fault.expected


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("1,000", "2 cells|cells"),
        ('"1,000"', "thousands"),
        ("1 000", "thousands"),
        ("1_000", "thousands"),
        ('"0,5"', "decimal point"),
        ("5%", "0.05"),
        ("nan", "empty"),
        ("inf", "empty"),
        ("1e999", "finite"),
        ("n/a", "empty"),
        ("-1", "0 or more"),
        ("ten", "A number"),
        ("0x10", "A number"),
        ("", "Needed"),
    ],
)
def test_a_number_that_is_none_is_refused_in_words(folder, cell, said):
    fault = one_fault(folder({"budget.csv": [("2027Q1,1e8", f"2027Q1,{cell}")]}), "budget.csv")
    assert fault.row == 2
    assert any(word in f"{fault.expected} {fault.hint}" for word in said.split("|"))


@pytest.mark.parametrize(
    ("files", "file", "said"),
    [
        ({"forecast.csv": None}, "forecast.csv", "missing"),
        ({"case.toml": None}, "case.toml", "missing"),
        ({"budgets.csv": "quarter,budget_usd\n"}, "budgets.csv", "budget"),
        ({"budget.csv": "quarter;budget_usd\n2027Q1;1\n"}, "budget.csv", "comma"),
        ({"budget.csv": ""}, "budget.csv", "empty"),
        ({"budget.csv": "quarter,budget_usd\n2027Q1,1\n".encode("utf-16")}, "budget.csv", "UTF-16"),
        ({"budget.csv": b"quarter,budget_usd\n2027Q1,\xe9\n"}, "budget.csv", "UTF-8"),
        ({"budget.csv": 'quarter,budget_usd\n"2027Q1,1\n'}, "budget.csv", "close"),
        ({"budget.csv": "quarter,budget\n"}, "budget.csv", "budget_usd"),
        ({"case.toml": "name = small\n"}, "case.toml", "TOML"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_words(folder, files, file, said):
    text = "\n".join(str(fault) for fault in faults_of(folder(files=files)) if fault.file == file)
    assert said in text


def test_a_folder_that_is_not_there_tells_how_to_start_one(tmp_path):
    assert "procure new" in str(faults_of(tmp_path / "nowhere")[0])


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("utilisation_cap = 1.5", "utilisation_cap"),
        ("utilisation_cap = nan", "utilisation_cap"),
        ('utilisation_cap = "0.7"', "utilisation_cap"),
        ("utilisation_cap = true", "utilisation_cap"),
        ("nvl72_per_pod = 16.5", "nvl72_per_pod"),
        ("fiscal_year_start = 5", "fiscal_year_start"),
        ("lookahead_quarters = 5", "lookahead_quarters"),
    ],
)
def test_a_wrong_setting_is_refused(folder, line, column):
    edits = {"case.toml": [("planned_quarters = 2", f"planned_quarters = 2\n{line}")]}
    assert column in {fault.column for fault in faults_of(folder(edits))}


@pytest.mark.parametrize("text", ["0000Q1", "0999Q4", "3000Q1", "27Q1", "2027Q5", "99999Q1"])
def test_a_year_that_no_plan_can_be_about_is_refused_where_it_stands(folder, text):
    found = faults_of(folder({"forecast.csv": [("2027Q1", text)], "case.toml": [("2027Q1", text)]}))
    assert ("case.toml", "first_quarter") in {(fault.file, fault.column) for fault in found}
    assert ("forecast.csv", 2, "quarter") in {(fault.file, fault.row, fault.column) for fault in found}


@pytest.mark.parametrize("file", ["forecast.csv", "workloads.csv", "sites.csv"])
def test_a_table_that_is_needed_has_a_row(folder, file):
    from tests.case.conftest import FILES

    fault = one_fault(folder(files={file: FILES[file].splitlines()[0] + "\n"}), file)
    assert "At least one row" in fault.expected


def test_one_broken_file_is_one_fault_and_not_one_for_every_name_in_it(folder):
    assert "UTF-16" in one_fault(folder(files={"sites.csv": "site".encode("utf-16")}), "sites.csv").expected
    assert "TOML" in one_fault(folder(files={"case.toml": "name = x\n"}, name="toml"), "case.toml").expected


def test_a_folder_in_the_place_of_a_table_is_not_passed_over(folder):
    place = folder(files={"budget.csv": None})
    (place / "budget.csv").mkdir()
    assert "folder" in one_fault(place, "budget.csv").expected


def test_a_table_without_rows_is_listed_among_the_defaults(folder):
    case = Case.read(folder(files={"budget.csv": "quarter,budget_usd\n"}))
    assert "budget: no rows. No budget limit." in case.defaults_used


@pytest.mark.parametrize(
    ("old", "new", "column"), [("72,4", "72,1e19", "count"), ("3.7e6", "1e300", "paid_usd_per_unit")]
)
def test_a_number_beyond_all_measure_is_refused(folder, old, new, column):
    fault = one_fault(folder({"fleet.csv": [(old, new)]}), "fleet.csv")
    assert (fault.row, fault.column) == (2, column)
    assert "or less" in fault.expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('name = "../elsewhere"', "folder"),
        ('name = ".."', "folder"),
        (f'name = "{"n" * 300}"', "100 characters"),
        ("tps_percentile = 96.0", "50, 90, 95, 99"),
        ('may_buy = ["vr-nvl72", "vr-nvl72"]', "each SKU once"),
    ],
)
def test_a_setting_that_could_not_be_acted_on_is_refused(folder, line, said):
    edits = {"case.toml": [("planned_quarters = 2", f"planned_quarters = 2\n{line}")]}
    if line.startswith("name"):
        edits["case.toml"] = [('name = "small"', line)]
    fault = one_fault(folder(edits), "case.toml")
    assert said.lower() in fault.expected.lower()
