"""Where a SKU enters or leaves, against the costs of plans that are solved without the study."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import fleet, tiny

from procure.cli import main
from procure.cli.decide import _show_trigger, _without
from procure.decision import Crossing, Reading, State, trigger
from procure.decision.rounds import How, Rounds
from procure.decision.trigger import Trigger, crossings, values_along
from procure.errors import InputError
from procure.report.decisions import trigger_sentences
from procure.study import Effort, Outcome

GB, VR = "gb300-nvl72", "vr-nvl72"
PRICE = f"hardware/{GB}/price_usd"
EFFORT = Effort(gap=1e-4, threads=1)


def choice():
    """Two GB300 or one VR serve the chat: what they cost decides."""
    return tiny(skus=(GB, VR), peaks={"chat": [60, 80, 90]})


def break_even(case) -> float:
    """The factor on the price of GB300 at which both cost the same: the cost of GB300 is linear in it."""
    at_half, as_it_is, dear = (
        planned(case.with_value(PRICE, f"x{factor}"), gap=1e-4).objective_usd for factor in (0.5, 1, 3)
    )
    return 1 + 0.5 * (dear - as_it_is) / (as_it_is - at_half)


@pytest.mark.slow(seconds=8)
def test_a_crossing_lies_where_both_choices_cost_the_same(tmp_path):
    case = choice()
    base = float(case.premises[PRICE].value)
    found = trigger(case, GB, PRICE, [0.8 * base, 2 * base], 0.1 * base, How(EFFORT, tmp_path / "out"))
    (crossing,) = found.crossings
    assert (crossing.below.state, crossing.above.state) == (State.IN, State.OUT)
    assert crossing.below.value < break_even(case) * base < crossing.above.value < crossing.below.value + 0.1 * base
    assert crossing.below.instead == {GB: -2, VR: 1}
    assert found.price == []
    without, with_it = planned(choice().with_value(PRICE, "x3"), gap=1e-4), planned(choice(), gap=1e-4)
    saved = without.objective_usd - with_it.objective_usd
    stands = trigger(case, GB, PRICE, [base], 1.0, How(EFFORT)).readings[0]
    assert stands.least_usd <= saved + 1.0
    assert saved - 1.0 <= stands.most_usd
    assert any("turns from in to out" in sentence and "-2 gb300-nvl72, +1 vr-nvl72" in sentence
               for sentence in trigger_sentences(found))  # fmt: skip


@pytest.mark.slow(seconds=8)
def test_where_nothing_flips_the_price_that_would_is_found():
    case = choice()
    usd = 1.05 * float(case.premises[f"hardware/{VR}/price_usd"].value)
    found = trigger(case, GB, f"hardware/{VR}/price_usd", [usd / 1.05, usd], usd, How(EFFORT))
    assert found.crossings == []
    (flip,) = crossings(found.price)
    assert flip.below.value < break_even(case.with_value(f"hardware/{VR}/price_usd", usd)) < flip.above.value
    assert flip.above.value / flip.below.value < 1.2
    assert "Its price would flip it" in trigger_sentences(found)[-1]


@pytest.mark.slow(seconds=4)
def test_what_is_needed_to_serve_is_in_whatever_it_costs_and_what_stands_suffices_until_it_does_not():
    case = tiny(peaks={"chat": [60, 80, 90]}, tables={"fleet": fleet(("a", GB, 2, "2026Q4", 3.3e6))})
    path = "forecast/chat/peak_requests_per_s"
    found = trigger(case, GB, path, [60.0, 240.0], 30.0, How(EFFORT))
    assert [reading.state for reading in found.readings][:: len(found.readings) - 1] == [State.OUT, State.IN]
    (crossing,) = found.crossings
    assert not planned(case.with_value(path, crossing.below.value), gap=1e-4).summary["purchases"]
    assert planned(case.with_value(path, crossing.above.value), gap=1e-4).summary["purchases"]
    assert crossing.above.least_share > 0


def test_unknown_values_make_no_crossing_and_ties_do():
    states = [State.OUT, State.UNKNOWN, State.OUT, State.TIE, State.IN]
    readings = [Reading(float(value), state) for value, state in enumerate(states)]
    assert crossings(readings) == [Crossing(readings[2], readings[3]), Crossing(readings[3], readings[4])]


def answers(monkeypatch, state, path=PRICE):
    """Let two plans at a value be what is said of it: in, out, or None where there is no plan in time."""

    def ask(self, changes):
        found = []
        for change in changes:
            said, without = state(change.get(path), change.get(PRICE)), len(change) > 1 and f"buy/*/{GB}/*" in change
            units = 2 if said == "in" and not without else 0
            usd = 150.0 if without and said == "in" else 100.0
            facts = {"objective_usd": usd, "bound_usd": usd - 1, "shortfall_share": 0.0, "shortfall_bound": 0.0,
                     "purchases": [{"quarter": "2027Q1", "sku": GB, "count": units}]}  # fmt: skip
            found.append(Outcome(1, {}, "optimal", facts=facts) if said else Outcome(1, {}, "failed", "time", "NoPlan"))
        return found

    monkeypatch.setattr(Rounds, "ask", ask)


def test_a_value_without_a_plan_in_the_middle_of_a_crossing_ends_the_bisection(monkeypatch):
    answers(monkeypatch, lambda value, _: None if value == 6e6 else "in" if value < 6e6 else "out")
    found = trigger(choice(), GB, PRICE, [4e6, 8e6], 1e4, How())
    assert [(reading.value, reading.state) for reading in found.readings] == [
        (4e6, State.IN), (6e6, State.UNKNOWN), (8e6, State.OUT),
    ]  # fmt: skip
    (crossing,) = found.crossings
    assert (crossing.below.value, crossing.above.value) == (4e6, 8e6)
    assert found.frame["error"].tolist() == ["", "NoPlan", ""]


def test_the_price_that_flips_is_looked_for_at_the_last_known_value_past_prices_without_a_plan(monkeypatch):
    """In at 1 and 2, no plan at 3; at four times its price it is out, at twice there is no plan."""
    path = "isl_growth_per_year"
    answers(
        monkeypatch, lambda value, price: None if value == 3 else {None: "in", "x2": None, "x4": "out"}[price], path
    )
    found = trigger(choice(), GB, path, [1.0, 2.0, 3.0], 1.0, How())
    assert [(reading.value, reading.state) for reading in found.price] == [
        (1.0, State.IN), (2.0, State.UNKNOWN), (4.0, State.OUT),
    ]  # fmt: skip
    assert "between 1 and 4 times today's, at isl_growth_per_year = 2" in trigger_sentences(found)[-1]


def test_a_scan_takes_the_band_of_a_premise_or_a_range():
    case = choice()
    assert values_along(case, "isl_growth_per_year", 4) == ("isl_growth_per_year", [0.0, 0.5, 1.0, 1.5])
    assert values_along(case, "workloads/chat/ttft_s=1:2", 2)[1] == [1.0, 2.0]
    assert values_along(case, "workloads/=x/ttft_s=1:2", 2) == ("workloads/=x/ttft_s", [1.0, 2.0])
    for wrong in ("isl_growth_per_year=2:1", "isl_growth_per_year=a:b", "case/name", "isl_growht=0:1:2"):
        with pytest.raises(InputError):
            values_along(case, wrong, 4)
    with pytest.raises(InputError, match="isl_growth_per_year"):
        values_along(case, "isl_growht_per_year", 4)
    with pytest.raises(InputError, match="may order: gb300-nvl72, vr-nvl72"):
        trigger(case, "lpx", PRICE, [1.0], 1.0, How(EFFORT))


@pytest.mark.slow(seconds=6)
def test_the_verb_writes_its_table_and_pictures_and_goes_on(tmp_path, capsys):
    case, out = choice().write(tmp_path / "a case"), tmp_path / "out"
    words = ["trigger", str(case), "--sku", GB, "--along", f"{PRICE}=4e6:8e6", "--points", "2", "--within", "4e6"]
    words += ["-o", str(out), "--gap", "1e-4", "--threads", "1"]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["along"] for row in rows[:2]] == [PRICE, PRICE]
    assert {path.name for path in out.iterdir()} == {"trigger.csv", "trigger.png", "trigger.svg", "rounds"}
    before = (out / "rounds" / "1" / "outcomes.jsonl").read_bytes()
    assert main(words) == 0
    told = capsys.readouterr()
    assert "gb300-nvl72 is" in told.out
    assert (out / "rounds" / "1" / "outcomes.jsonl").read_bytes() == before
    assert pd.read_csv(out / "trigger.csv")["state"].tolist() == [row["state"] for row in rows]
    assert main([*words, "--within", "0"]) == 2


def test_the_folder_of_a_case_holds_no_run_and_a_premise_that_nothing_reads_is_said(tmp_path, capsys):
    case = choice().write(tmp_path / "a case")
    before = sorted(case.iterdir())
    words = ["trigger", str(case), "-o", str(case), "--along", "hardware/lpx/price_usd=1e6:2e6"]
    assert main([*words, "--sku", f"{GB} + {GB}"]) == 2
    told = capsys.readouterr().err
    assert "A folder that is new or empty" in told
    assert "read 'hardware/lpx/price_usd'. Understood as stated: every value gives the same inputs" in told
    with pytest.raises(InputError, match="new or empty"):
        Rounds("tornado", choice(), How(out=case))
    assert sorted(case.iterdir()) == before


def test_what_is_not_served_without_it_stands_where_its_cost_is_not_known():
    costs = Reading(1.0, State.IN, least_usd=2e6, most_usd=3e6, least_share=0.0, most_share=0.0)
    short = Reading(1.0, State.IN, least_share=0.25, most_share=0.5)
    assert _without(costs) == ("2.00", "3.00")
    assert _without(short) == ("25.00% unserved", "50.00% unserved")
    assert _without(Reading(1.0, State.UNKNOWN)) == ("", "")


@pytest.mark.parametrize(("error", "said"), [("", "No value is known yet."), ("Infeasible", "No value has a plan.")])
def test_a_run_that_was_stopped_knows_nothing_of_plans(error, said):
    assert trigger_sentences(Trigger("x", "y", "", [Reading(1.0, State.UNKNOWN, error=error)], [])) == [said]


def test_what_has_no_bound_is_told_as_not_known(capsys):
    """A search that was cut off may have a plan without a bound: its gap is no number."""
    unbounded = Reading(1.0, State.TIE, 2, -math.inf, 5e6, 0.0, 0.0, math.inf)
    _show_trigger(Trigger(GB, PRICE, "USD", [unbounded, Reading(2.0, State.OUT, 0, -1.0, 2e6, 0.0, 0.0, 1e6)]))
    told = capsys.readouterr().out
    assert told.count("unknown") == 2
    assert "inf" not in told
    assert "-0.00" not in told
