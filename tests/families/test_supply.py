"""What suppliers deliver in the first quarters of a generation: few racks, or none, and more as it ramps up."""

from __future__ import annotations

import pandas as pd
import pytest
from solved_case import built, checked, planned, solved
from tiny_case import quarter_names, tiny

from procure.case import Case
from procure.errors import InputError
from procure.families.contents import moves
from procure.families.wording import Full
from procure.plan import Plan
from procure.why.levers import levers

GB = "gb300-nvl72"
QUARTERS = quarter_names(4)


def ramp(*most: int, **more) -> Case:
    """Three racks are needed from the second quarter on, ordered in the first at the earliest."""
    said = pd.DataFrame([(GB, q, n) for q, n in zip(QUARTERS[1:], most, strict=False)],
                        columns=["sku", "quarter", "most_units"])  # fmt: skip
    return tiny(peaks={"chat": [0, 150, 150, 150, 150]}, planned=2, lead=1, sites=({"positions": 20.0},),
                tables={"supply": said}, **more)  # fmt: skip


def delivered(plan: Plan) -> dict[str, int]:
    return dict(plan.purchases.groupby("delivery_quarter")["count"].sum())


@pytest.mark.thorough
def test_no_more_arrive_than_are_delivered_and_the_supplier_is_the_cause():
    plan = planned(ramp(1))
    free = delivered(planned(ramp()))
    assert free[QUARTERS[1]] > 1
    assert delivered(plan)[QUARTERS[1]] == 1
    assert [r["cause"] for r in plan.summary["shortfall"]["workloads"]] == ["limit: supply"]
    full = plan.tables["limits"]
    assert full[(full["family"] == "supply") & full["binding"]]["quarter"].tolist() == [QUARTERS[0]]


@pytest.mark.thorough
def test_what_moves_the_limit_is_the_cell_that_states_it():
    case = ramp(1)
    tables = built(case).tables
    moved = {q: moves()["supply"](Full(q, "", GB, case.tables, tables)).path for q in QUARTERS[:2]}
    assert moved == {
        QUARTERS[0]: f"supply/{GB}/{QUARTERS[1]}/most_units",
        QUARTERS[1]: f"hardware/{GB}/supply_per_quarter",
    }
    (lever,) = [lever for lever in levers(case, built(case), []) if lever.name == f"supply of {GB}"]
    assert lever.put(3.0) == {f"supply/{GB}/{QUARTERS[1]}/most_units": 3.0}


@pytest.mark.thorough
def test_a_ramp_that_is_ample_changes_nothing():
    assert planned(ramp(30)).objective_usd == pytest.approx(planned(ramp()).objective_usd, abs=1.0)


@pytest.mark.thorough
def test_quarters_that_are_stated_go_before_the_usual_supply():
    """A quarter that no order of the plan can arrive in limits none."""
    case = ramp(4, figures={(GB, "supply_per_quarter"): 2})
    before = pd.DataFrame([(GB, QUARTERS[0], 1)], columns=["sku", "quarter", "most_units"])
    both = pd.concat([before, case.tables["supply"]], ignore_index=True)
    assert built(case.replace(tables={"supply": both}))["supply"].values.tolist() == [[GB, 0, 4]]
    assert delivered(planned(case))[QUARTERS[1]] == delivered(planned(ramp()))[QUARTERS[1]]


@pytest.mark.thorough
def test_more_than_is_delivered_is_seen():
    found = solved(ramp(30))
    few = solved(ramp(1)).instance
    assert "limits" in " ".join(type(found)(ramp(1), few, found.plan).failing(found.plan))


@pytest.mark.thorough
def test_check_says_what_is_delivered_and_from_when_on():
    said = checked(ramp(0, 2))
    (row,) = said[(said["finding"] == "Orders that can arrive") & (said["item"] == GB)].to_dict("records")
    assert (row["quarter"], row["detail"].split(": ", 2)[2]) == (QUARTERS[2], "0 in 2027Q2, 2 in 2027Q3.")


def test_a_delivery_after_the_horizon_is_refused():
    late = pd.DataFrame([(GB, "2031Q1", 1)], columns=["sku", "quarter", "most_units"])
    with pytest.raises(InputError, match="later deliveries are never used"):
        ramp().replace(tables={"supply": late})
