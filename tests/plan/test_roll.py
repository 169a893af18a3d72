"""Rolling a case on: what stands, what is on the way, what moves along, and what is said to differ."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from procure.case import Case
from procure.cli import build_app
from procure.demand import build
from procure.errors import InputError
from procure.plan.plan import Plan
from procure.plan.roll import PREVIOUS, roll
from procure.plan.summary import EARLIER
from procure.plan.tables import TABLES
from procure.quarter import Quarter
from procure.timekey import BASE, PEAK

FIRST = Quarter("2027Q1")
QUARTERS = [str(FIRST + step) for step in range(8)]


def case_of(**settings):
    """Two workloads, a fleet, an order on the way, one expansion and a reservation."""
    rows = [(q, w, 10.0) for q in QUARTERS for w in ("talk", "code")]
    tables = {
        "forecast": pd.DataFrame(rows, columns=["quarter", "workload", "peak_requests_per_s"]),
        "workloads": pd.DataFrame(
            {
                "workload": ["talk", "code"],
                "scenario": ["chat", "large-coding"],
                "card": "deepseek-v3.2",
                "context_cap_tokens": [131_072.0, 163_840.0],
            }
        ),
        "sites": pd.DataFrame(
            [("north", "2027Q1", 10_000.0, "it", 1.15, 60.0, 200.0, 2, 0.08, 150.0)],
            columns=[
                "site",
                "from_quarter",
                "power_kw",
                "power_basis",
                "pue",
                "positions",
                "area_m2",
                "pods_max",
                "electricity_usd_per_kwh",
                "space_usd_per_kw_month",
            ],
        ),
        "budget": pd.DataFrame({"quarter": QUARTERS, "budget_usd": 1e8}),
        "fleet": pd.DataFrame(
            [("north", "gb200-nvl72", 4, "2025Q3", 3.7e6)],
            columns=["site", "sku", "count", "in_service", "paid_usd_per_unit"],
        ),
        "orders": pd.DataFrame(
            [("north", "vr-nvl72", 2, "2027Q1", 9e6), ("north", "vr-nvl72", 3, "2027Q3", 9.5e6)],
            columns=["site", "sku", "count", "delivery", "price_usd_per_unit"],
        ),
        "expansions": pd.DataFrame(
            [("north", "hall", 5_000.0, 30.0, 90.0, 3e7, 2.0, 2)],
            columns=[
                "site",
                "expansion",
                "power_kw",
                "positions",
                "area_m2",
                "capex_usd",
                "lead_quarters",
                "max_count",
            ],
        ),
        "reserved": pd.DataFrame(
            [("north", "gb200-nvl72", q, 1, "training") for q in QUARTERS],
            columns=["site", "sku", "quarter", "count", "purpose"],
        ),
    }
    base = {"name": "small", "first_quarter": "2027Q1", "planned_quarters": 2}
    return Case.from_tables(base | settings, tables)


def plan_of(**tables):
    """A plan that retires one old rack in the first quarter and orders two new ones."""
    made = {
        "fleet": [
            ("2027Q1", "north", "gb200-nvl72", "fleet", "2025Q3", 4, 0, 1, 3),
            ("2027Q1", "north", "vr-nvl72", "order", "2027Q1", 0, 2, 0, 2),
            ("2027Q2", "north", "gb200-nvl72", "fleet", "2025Q3", 3, 0, 3, 0),
        ],
        "purchases": [
            ("2027Q1", "north", "vr-nvl72", 2, "planned", "2027Q4", 1e7, 5e5, 2e5, 2.14e7),
            ("2027Q2", "north", "vr-nvl72", 9, "planned", "2028Q1", 1e7, 5e5, 2e5, 9.63e7),
        ],
        "expansions": [
            ("2027Q1", "north", "hall", 1, "planned", 3e7, ""),
            ("2027Q2", "north", "hall", 1, "planned", 3e7, ""),
        ],
        "limits": [("budget", "2027Q1", "", "", 3e7, 1e8, 7e7, "USD", False, BASE, PEAK)],
    }
    frames = {
        name: pd.DataFrame((made | tables).get(name, []), columns=list(table.by_column))
        for name, table in TABLES.items()
    }
    served = {"share": 0.0, "bound": 0.0, "workloads": [], "lookahead_workloads": []}
    facts = {"status": "optimal", "objective_usd": 1e8, "bound_usd": 1e8, "gap": 0.0, "shortfall": served}
    spans = {"planned_quarters": ["2027Q1", "2027Q2"], "lookahead_quarters": QUARTERS[2:]}
    return Plan({**EARLIER, **facts, **spans, "purchases": [], "input_hash": ""}, frames)


def forecast_of(rate=10.0):
    rows = [(str(Quarter(q) + 1), w, rate) for q in QUARTERS for w in ("talk", "code")]
    return pd.DataFrame(rows, columns=["quarter", "workload", "peak_requests_per_s"])


@pytest.fixture(scope="module")
def rolled():
    """The case of the next quarter after that plan, with the same forecast; nobody changes it."""
    return roll(case_of(), plan_of(), forecast_of())


def rows_of(rolled, topic):
    table = rolled.differences
    return table[table["topic"] == topic]


def test_money_of_a_sale_that_is_still_to_come_is_told_and_places_not_yet_free():
    """One old rack sold in the first quarter, paid in the third, in which its place is free too."""
    sale = ("2027Q1", "north", "gb200-nvl72", "fleet", "2025Q3", 1, "planned", "2027Q3", "2027Q3", 2e6, 6e4, 1.94e6,
            2.3e6, 3.6e5)  # fmt: skip
    later = (*sale[:7], "2027Q1", "2027Q2", *sale[9:])
    details = rows_of(roll(case_of(), plan_of(sales=[sale]), forecast_of()), "sales")["detail"].tolist()
    assert details == [
        "1 sold: 2,000,000 USD to be received in 2027Q3 are not in the new case's cost",
        "1 sold take their places until 2027Q3: lower the site's limits before it",
    ]
    assert rows_of(roll(case_of(), plan_of(sales=[later]), forecast_of()), "sales").empty


def test_the_fleet_is_what_stood_at_the_end_of_the_first_quarter(rolled):
    fleet = rolled.case.tables["fleet"]
    rows = {(r.sku, r.in_service): (r.count, r.paid_usd_per_unit) for r in fleet.itertuples(index=False)}
    assert rows == {("gb200-nvl72", "2025Q3"): (3, 3.7e6), ("vr-nvl72", "2027Q1"): (2, 9e6)}


def test_firm_orders_are_those_on_the_way_and_those_placed_in_the_first_quarter(rolled):
    orders = rolled.case.tables["orders"]
    rows = {r.delivery: r for r in orders.itertuples(index=False)}
    assert set(rows) == {"2027Q3", "2027Q4"}
    assert (rows["2027Q3"].count, rows["2027Q3"].price_usd_per_unit) == (3, 9.5e6)
    assert (rows["2027Q4"].count, rows["2027Q4"].price_usd_per_unit) == (2, 1.07e7)
    milestone = rolled.case.catalogue.sku("vr-nvl72").milestone_order
    assert rows["2027Q4"].paid_share * 1.07e7 == pytest.approx(milestone * 1.05e7)  # nothing of the installation


def test_the_horizon_moves_by_one_quarter(rolled):
    following = rolled.case
    assert [str(q) for q in following.quarters] == [str(Quarter(q) + 1) for q in QUARTERS]
    assert following.name == "small-2027Q2"
    standing = [
        ("2027Q2", "north", "gb200-nvl72", "fleet", "2025Q3", 3, 0, 0, 3),
        ("2027Q2", "north", "vr-nvl72", "fleet", "2027Q1", 2, 0, 0, 2),
    ]
    again = roll(following, plan_of(fleet=standing, purchases=[], expansions=[]), _later(forecast_of())).case
    assert again.name == "small-2027Q3"


def _later(forecast):
    return forecast.assign(quarter=[str(Quarter(q) + 1) for q in forecast["quarter"]])


def test_holds_that_run_keep_what_is_ordered_later_and_rent_that_began_is_contracted():
    """The offer of both halls ended before the plan; one is rented early and ordered at once, one is held for later."""
    base = case_of()
    given = [("hold", "firm_hold"), ("early", "early_rent"), ("offer", "first_offer")]
    kept = pd.DataFrame(
        [(name, "north", "hall", kind, "2028Q1", kind == "first_offer" or None) for name, kind in given],
        columns=["reservation", "site", "expansion", "instrument", "until_quarter", "counted_on"],
    )
    steps = base.given_tables["expansions"].assign(order_until="2026Q4")
    case = base.replace(tables={"expansions": steps, "reservations": kept})

    def row(name, kind, outcome, quarter, count):
        return (name, "north", "hall", kind, outcome, quarter, count, "planned", "2027Q1", quarter, 1.0, 3e7)

    plan = plan_of(
        expansions=[("2027Q1", "north", "hall", 1, "planned", 3e7, "early")],
        reservations=[
            row("early", "early_rent", "exercised", "2027Q1", 1),
            row("hold", "firm_hold", "exercised", "2027Q3", 1),
            row("hold", "firm_hold", "lapsed", "2028Q1", 1),
            row("offer", "first_offer", "lapsed", "2028Q1", 2),
        ],
    )
    rolled = roll(case, plan, forecast_of())
    left = rolled.case.tables["reservations"]
    assert dict(zip(left["reservation"], left["most_steps"], strict=True)) == {"hold": 1, "offer": 2}
    assert set(rolled.case.tables["sites"]["contracted_kw"]) == {5_000.0}
    assert len(rows_of(rolled, "contracted_kw")) == 1

    nothing = [row(name, kind, "lapsed", "2028Q1", 2) for name, kind in given]
    gone = roll(case, plan_of(expansions=[], reservations=nothing), forecast_of())
    assert gone.case.tables["reservations"]["reservation"].tolist() == ["offer"]
    assert rows_of(gone, "reservation")["item"].tolist() == ["hold", "early"]


def test_decided_expansions_become_limits_once_they_are_ready(rolled):
    sites = rolled.case.tables["sites"].set_index("from_quarter")
    assert sites.loc["2027Q1", "power_kw"] == 10_000
    assert sites.loc["2027Q3", "power_kw"] == 15_000  # decided in Q1, two quarters
    assert sites.loc["2027Q3", "positions"] == 90
    assert rolled.case.tables["expansions"]["max_count"].tolist() == [1]
    (told,) = rows_of(rolled, "expansion")["detail"]
    assert "pays the site's rent from then on" in told


@pytest.mark.slow
def test_unspent_budget_is_carried_as_the_case_says():
    def second(**settings):
        rolled = roll(case_of(**settings), plan_of(), forecast_of())
        return rolled.case.tables["budget"].set_index("quarter")["budget_usd"]

    assert second(budget_carry="within_year")["2027Q2"] == pytest.approx(1.7e8)
    assert second(budget_carry="none")["2027Q2"] == pytest.approx(1e8)
    assert second(budget_carry="within_year", fiscal_year_start=2)["2027Q2"] == pytest.approx(1e8)
    assert second(budget_carry="unlimited", fiscal_year_start=2)["2027Q2"] == pytest.approx(1.7e8)
    assert second(budget_carry="none")["2029Q1"] == pytest.approx(1e8)  # assumed, as in the quarter before


def test_what_is_assumed_for_the_new_last_quarter_is_said(rolled):
    assert (rolled.case.tables["reserved"]["quarter"] == "2029Q1").sum() == 1
    assert (rows_of(rolled, "reserved")["detail"].str.contains("assumed")).all()
    assert (rows_of(rolled, "budget")["detail"].str.contains("assumed")).any()


def test_actual_fleet_and_orders_replace_the_planned_ones_and_failures_and_slips_are_listed():
    fleet = pd.DataFrame(
        [("north", "gb200-nvl72", 2, "2025Q3", 3.7e6), ("north", "vr-nvl72", 2, "2027Q1", 9e6)],
        columns=["site", "sku", "count", "in_service", "paid_usd_per_unit"],
    )
    orders = pd.DataFrame(
        [("north", "vr-nvl72", 5, "2028Q1", 9.5e6)], columns=["site", "sku", "count", "delivery", "price_usd_per_unit"]
    )
    rolled = roll(case_of(), plan_of(), forecast_of(), actual_fleet=fleet, actual_orders=orders)
    assert rolled.case.tables["fleet"]["count"].tolist() == [2, 2]
    (failed,) = rows_of(rolled, "fleet").itertuples(index=False)
    assert (failed.item, failed.planned, failed.actual) == ("gb200-nvl72", "3", "2")
    (slipped,) = rows_of(rolled, "orders").itertuples(index=False)
    assert slipped.planned == "3 in 2027Q3, 2 in 2027Q4"
    assert "slips by 1.6 quarters" in slipped.detail  # (3·2 + 2·1) / 5


@pytest.mark.slow
def test_a_plan_that_came_true_lists_no_failures(rolled):
    planned = rolled.case.given_tables
    same = roll(case_of(), plan_of(), forecast_of(), actual_fleet=planned["fleet"], actual_orders=planned["orders"])
    assert not len(rows_of(same, "fleet"))
    assert not len(rows_of(same, "orders"))
    assert not len(rows_of(same, "forecast"))


@pytest.mark.slow
@pytest.mark.parametrize("route", ["first_prompt", "turns", "cap"])
def test_growth_goes_on_where_it_was(route):
    """Lengths, caps and reuse of the rolled case's first quarter are those of the old case's second."""
    case = case_of(isl_growth_per_year=0.6, growth_route=route)
    rolled = roll(case, plan_of(), forecast_of()).case
    then, now = build(case), build(rolled)
    for table, columns in (
        ("buckets", ["share", "input_tokens", "visible_tokens", "thinking_tokens"]),
        ("reuse_path", ["reused_share"]),
    ):
        old = getattr(then, table).query("quarter == '2027Q2'")[columns]
        new = getattr(now, table).query("quarter == '2027Q2'")[columns]
        pd.testing.assert_frame_equal(old.reset_index(drop=True), new.reset_index(drop=True), rtol=2e-3)
    scale = then.reuse_path.query("quarter == '2027Q2'").set_index("workload")["return_scale"]
    highest = [d.reuse.groupby("workload")["return_cumulative"].max() for d in (then, now)]
    pd.testing.assert_series_equal(highest[0] * scale, highest[1], check_names=False, rtol=2e-3)


def test_a_forecast_that_moved_is_listed_and_one_that_misses_quarters_is_a_fault():
    (row,) = rows_of(roll(case_of(), plan_of(), forecast_of(12.0)), "forecast").query("item == 'talk'").itertuples()
    assert "+20.0%" in row.detail
    with pytest.raises(InputError, match="2029Q1 is missing"):
        roll(case_of(), plan_of(), forecast_of().query("quarter != '2029Q1'"))


@pytest.mark.slow
def test_the_old_plan_is_kept_beside_the_new_case(tmp_path):
    result, folder = tmp_path / "result", tmp_path / "next"
    plan = plan_of()
    plan.write(result)
    roll(case_of(), plan, forecast_of()).write(folder, result)
    assert Case.read(folder).name == "small-2027Q2"
    assert (folder / PREVIOUS / "plan.json").is_file()
    kept = pd.read_csv(folder / PREVIOUS / "tables" / "purchases.csv")
    assert kept["count"].tolist() == [2, 9]
    assert (folder / PREVIOUS / "differences.csv").is_file()


@pytest.mark.slow
def test_the_verb_writes_the_next_case_and_refuses_a_case_that_changed(tmp_path):
    case, result, folder = tmp_path / "case", tmp_path / "result", tmp_path / "next"
    case_of().write(case)
    plan = plan_of()
    Plan(plan.summary | {"input_hash": Case.read(case).input_hash}, plan.tables).write(result)
    forecast_of(12.0).to_csv(tmp_path / "new.csv", index=False)
    words = ["roll", str(result), "--case", str(case), "--forecast", str(tmp_path / "new.csv"), "-o", str(folder)]
    run = CliRunner().invoke(build_app(), words)
    assert run.exit_code == 0, run.output
    assert "+20.0%" in run.stdout
    assert Case.read(folder).tables["forecast"]["peak_requests_per_s"].eq(12).all()

    (case / "budget.csv").write_text((case / "budget.csv").read_text().replace("100000000", "90000000", 1))
    again = CliRunner().invoke(build_app(), [*words[:-1], str(tmp_path / "other")])
    assert isinstance(again.exception, InputError)
    assert "its inputs differ" in str(again.exception)


@pytest.mark.slow
def test_the_verb_numbers_what_is_wrong_in_a_new_forecast(tmp_path):
    case, result = tmp_path / "case", tmp_path / "result"
    case_of().write(case)
    plan = plan_of()
    Plan(plan.summary | {"input_hash": Case.read(case).input_hash}, plan.tables).write(result)
    (tmp_path / "new.csv").write_text("quarter,workload,peak_requests_per_s\n2027Q2,talk,10\n2027Q3,talk,-3\n")
    words = [
        "roll",
        str(result),
        "--case",
        str(case),
        "--forecast",
        str(tmp_path / "new.csv"),
        "-o",
        str(tmp_path / "n"),
    ]
    run = CliRunner().invoke(build_app(), words)
    (fault,) = run.exception.faults
    assert (fault.file, fault.row, fault.value) == (str(tmp_path / "new.csv"), 3, "-3")
