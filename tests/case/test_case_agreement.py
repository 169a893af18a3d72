"""Tables that must agree with each other, with the cards and with the catalogue."""

import pytest

from procure.case import Case
from tests.case.test_case_read import faults_of, one_fault

WRONG = {
    "a quarter is missing": ({"forecast.csv": [("2027Q3,talk,12\n", "")]}, "forecast.csv", "2027Q3"),
    "a quarter is outside": ({"forecast.csv": [("2027Q1,talk", "2026Q4,talk")]}, "forecast.csv", "2027Q1 to 2028Q4"),
    "a row is repeated": (
        {"forecast.csv": [("2027Q2,talk,11\n", "2027Q2,talk,11\n2027Q2,talk,12\n")]},
        "forecast.csv",
        "row 4",
    ),
    "a budget is missing": ({"budget.csv": [("2027Q4,1e8\n", "")]}, "budget.csv", "2027Q4"),
    "an order is late": ({"orders.csv": [("2027Q2", "2029Q1")]}, "orders.csv", "fleet.csv"),
    "a fleet is not there yet": ({"fleet.csv": [("2025Q3", "2027Q1")]}, "fleet.csv", "orders.csv"),
    "limits begin late": ({"sites.csv": [("2027Q1", "2027Q2")]}, "sites.csv", "first row"),
    "a floor is too weak": (
        {
            "sites.csv": [
                ("space_usd_per_kw_month", "space_usd_per_kw_month,floor_load_kg_per_m2"),
                (",150", ",150,1200"),
            ]
        },
        "fleet.csv",
        "kg/m2",
    ),
    "a context exceeds the card": ({"workloads.csv": [("163840", "200000")]}, "workloads.csv", "163,840"),
    "a cap is not stated": ({"workloads.csv": [("163840", "")]}, "workloads.csv", "State the cap"),
}


@pytest.mark.parametrize("name", WRONG)
def test_tables_that_disagree_are_refused(folder, name):
    edits, file, said = WRONG[name]
    text = "\n".join(str(fault) for fault in faults_of(folder(edits)) if fault.file == file)
    assert said in text


def test_parts_need_a_host_that_is_there_when_they_arrive(folder):
    orders = (
        "site,sku,count,delivery,price_usd_per_unit\nnorth,cmx-rack,1,2027Q2,0\nnorth,cmx-enclosure,17,2027Q2,6e5\n"
    )
    assert "At most 16 per cmx-rack" in faults_of(folder(files={"orders.csv": orders}))[0].expected
    early = orders.replace("cmx-enclosure,17,2027Q2", "cmx-enclosure,1,2027Q1")
    assert "in 2027Q1" in faults_of(folder(files={"orders.csv": early}, name="early"))[0].expected


def test_what_is_reserved_must_be_owned(folder):
    reserved = "site,sku,quarter,count,purpose\nnorth,gb200-nvl72,2027Q1,5,training\n"
    fault = one_fault(folder(files={"reserved.csv": reserved}), "reserved.csv")
    assert "4 units" in fault.expected


def test_quantiles_must_rise_and_the_mean_must_fit_the_cap(folder):
    workloads = (
        "workload,scenario,card,input_mean_tokens,input_p50_tokens,input_p90_tokens,context_cap_tokens\n"
        "talk,chat,deepseek-v3.2,,9000,8000,\ncode,large-coding,deepseek-v3.2,,,,100000\n"
    )
    columns = {fault.column for fault in faults_of(folder(files={"workloads.csv": workloads}))}
    assert columns == {"input_p50_tokens", "input_mean_tokens"}


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        ("talk,chat,deepseek-v3.2,90000,6909,28000,85401,100", "input_mean_tokens", "at most p99 (85401)"),
        ("talk,chat,deepseek-v3.2,600,6909,28000,85401,100", "input_mean_tokens", "above p50 / 10 (690.9)"),
        ("talk,chat,deepseek-v3.2,12035,,,,12035", "shared_prefix_tokens", "Shorter than the mean input"),
        ("talk,chat,deepseek-v3.2,,,,8540,100", "", ""),
        ("talk,chat,deepseek-v3.2,8000,8000,8000,8000,100", "", ""),
    ],
)
def test_a_mean_lies_between_its_quantiles_and_holds_the_shared_prefix(folder, row, column, said):
    """What is left empty follows the shape, so that a p99 alone cannot contradict the other three."""
    header = (
        "workload,scenario,card,input_mean_tokens,input_p50_tokens,input_p90_tokens,input_p99_tokens,"
        "shared_prefix_tokens\n"
    )
    path = folder(files={"workloads.csv": f"{header}{row}\ncode,large-coding,deepseek-v4-pro,,,,,\n"})
    if not said:
        assert Case.read(path).tables["workloads"]["input_p50_tokens"].iloc[0] > 0
        return
    fault = one_fault(path, "workloads.csv")
    assert fault.column == column
    assert said in fault.expected


def test_a_wrong_hardware_row_is_reported_at_its_line(folder):
    hardware = (
        "sku,attribute,value,unit,low,high,kind,source,source_date,note\n"
        "vr-nvl72,price_usd,8e6,USD,,,user,quote,2026-11,\nvr-nvl72,power_kw,227,W,,,user,quote,2026-11,\n"
    )
    fault = one_fault(folder(files={"hardware.csv": hardware}), "hardware.csv")
    assert (fault.row, fault.column) == (3, "unit")
