"""Premises alone at the ends of their bands, against plans that are solved without the study."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import tiny

from procure.cli import main
from procure.decision import Bar, tornado
from procure.decision.rounds import How, Rounds
from procure.decision.tornado import End, banded
from procure.errors import InputError
from procure.study import Effort, Outcome

GB, VR = "gb300-nvl72", "vr-nvl72"
PRICE = f"hardware/{GB}/price_usd"
EFFORT = Effort(gap=1e-4, threads=1)


def choice():
    """Two GB300 or one VR serve the chat; GB300 may cost half as much again, which turns the choice."""
    case = tiny(skus=(GB, VR), peaks={"chat": [60, 80, 90]})
    usd = float(case.premises[PRICE].value)
    band = pd.DataFrame([(PRICE, usd, 0.8 * usd, 1.5 * usd, "assumption", "test")],
                        columns=["path", "value", "low", "high", "kind", "source"])  # fmt: skip
    return tiny(skus=(GB, VR), peaks={"chat": [60, 80, 90]}, tables={"premises": band})


@pytest.mark.slow(seconds=8)
def test_a_bar_is_what_the_cost_moves_by_and_a_choice_that_turns_is_proven_by_its_regret(tmp_path):
    case = choice()
    found = tornado(case, [PRICE], How(EFFORT, tmp_path / "out"))
    (bar,) = found.bars
    stands, low, high, dear = (
        planned(each, gap=1e-4).objective_usd
        for each in (case, case.with_value(PRICE, "low"), case.with_value(PRICE, "high"),
                     case.replace(settings={"may_buy": [GB]}).with_value(PRICE, "high"))
    )  # fmt: skip
    assert bar.low.least_usd - 1 <= low - stands <= bar.low.most_usd + 1
    assert bar.high.least_usd - 1 <= high - stands <= bar.high.most_usd + 1
    assert bar.low.most_usd < 0 < bar.high.least_usd
    assert bar.low.moves == {} and not bar.low.decides  # noqa: PT018
    assert bar.high.moves == {GB: -2, VR: 1}
    assert bar.high.regret_usd == pytest.approx(dear - high, rel=0.01)
    assert bar.decides and not bar.is_noise  # noqa: PT018
    assert found.first_orders == {GB: 2}
    assert found.frame["decides"].tolist() == [False, True]
    assert found.frame["first_orders"].tolist() == ["", "-2 gb300-nvl72, +1 vr-nvl72"]


def test_bars_rank_by_what_is_proven_and_what_the_bounds_leave_is_noise():
    """A shortfall that only the plans found differ in, and a search that ran out of time, are no findings either."""
    fact = choice().premises[PRICE]
    bars = [
        Bar("noise", fact, End(-5.0, 9.0, 3.0, 0.0, 0.0), None),
        Bar("small", fact, End(1.0, 90.0, 3.0, 0.0, 0.0), End(-50.0, -2.0, -30.0, 0.0, 0.0)),
        Bar("short", fact, End(least_share=0.1, most_share=0.3), None),
        Bar("less short", fact, End(least_share=-0.4, most_share=-0.2), None),
        Bar("short as found", fact, End(least_share=-0.1, most_share=0.3), None),
        Bar("no plan", fact, None, End(reason="no plan keeps its limits", is_infeasible=True)),
        Bar("no time", fact, None, End(reason="no plan in time")),
    ]
    assert [bar.path for bar in bars if bar.is_noise] == ["noise", "short as found"]
    assert {bar.path: bar.weight for bar in bars} == {
        "noise": (0.0, 0.0), "small": (0.0, 2.0), "short": (0.1, 0.0), "less short": (0.2, 0.0),
        "short as found": (0.0, 0.0), "no plan": (1.0, 0.0), "no time": (0.0, 0.0),
    }  # fmt: skip
    small = bars[1].low
    assert not bars[1].decides
    assert Bar("b", fact, replace(small, regret_usd=1.0), None).decides


def outcome(usd: float, short: float = 0.0, *, error: str = "", racks: int = 2) -> Outcome:
    """What came of a change: a plan whose cost is proven to 1 USD, or the class of what was raised."""
    if error:
        return Outcome(1, {}, "failed", "a reason", error)
    orders = [{"quarter": "2027Q1", "sku": GB, "count": racks}]
    facts = {"objective_usd": usd, "bound_usd": usd - 1, "shortfall_share": short, "shortfall_bound": short}
    return Outcome(1, {}, "optimal", facts={**facts, "purchases": orders})


@pytest.mark.parametrize(
    ("held", "regret", "is_open"),
    [
        (outcome(150.0), (49.0, 0.0), False),  # bound of the one less cost of the other
        (outcome(102.0), (0.0, 0.0), False),  # within twice the gap of 1
        (outcome(90.0, 0.25), (0.0, 0.25), False),
        (outcome(0.0, error="Infeasible"), (0.0, 1.0), False),
        (outcome(0.0, error="NoPlan"), (math.nan, math.nan), True),
        (None, (math.nan, math.nan), True),
    ],
)
def test_what_todays_orders_lose_is_what_is_proven_and_no_answer_is_none(monkeypatch, held, regret, is_open):
    """At the high end one rack is ordered for 100 USD; two, as today, cost what is said there, or have no plan."""

    def ask(self, changes):
        found = {"low": outcome(95.0), "high": outcome(100.0, racks=1)}
        return [outcome(98.0) if not c else held if len(c) > 1 else found[c[PRICE]] for c in changes]

    monkeypatch.setattr(Rounds, "ask", ask)
    found = tornado(choice(), [PRICE], How())
    (bar,) = found.bars
    assert (bar.high.regret_usd, bar.high.regret_share) == pytest.approx(regret, nan_ok=True)
    assert bar.high.moves == {GB: -1}
    assert bar.high.error == (held.error if is_open and held else "")
    assert (bar.low.regret_usd, bar.low.regret_share, bar.low.is_open) == (0.0, 0.0, False)
    assert (found.left, bar.high.is_open) == ([PRICE] if is_open else [], is_open)


@pytest.mark.parametrize(("error", "is_open"), [("InputError", True), ("Infeasible", False)])
def test_an_end_without_a_plan_is_a_row_with_its_reason(monkeypatch, error, is_open):
    ends = {"low": outcome(95.0), "high": outcome(0.0, error=error)}
    monkeypatch.setattr(Rounds, "ask", lambda self, asked: [ends[c[PRICE]] if c else outcome(98.0) for c in asked])
    found = tornado(choice(), [PRICE], How())
    (bar,) = found.bars
    assert (bar.high.moves, bar.high.is_open, found.left) == ({}, is_open, [PRICE] if is_open else [])
    assert found.frame["reason"].astype(bool).tolist() == [False, True]


def test_premises_without_a_band_and_names_that_no_premise_begins_with():
    case = choice()
    assert PRICE in banded(case)
    assert all(fact.low != fact.high for fact in banded(case).values())
    assert set(banded(case, ["physics"])) < set(banded(case))
    with pytest.raises(InputError, match=r"groups: .*hardware"):
        banded(case, ["hardwear"])


@pytest.mark.slow(seconds=8)
def test_the_verb_ranks_and_says_what_is_noise(tmp_path, capsys):
    case, out = choice().write(tmp_path / "a case"), tmp_path / "out"
    words = ["tornado", str(case), "-o", str(out), "--gap", "1e-4", "--threads", "1", "--only", PRICE]

    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["path"] == PRICE
    assert {path.name for path in out.iterdir()} == {"tornado.csv", "tornado.png", "tornado.svg", "rounds"}
    assert main(words) == 0
    assert f"Change the first orders: {PRICE}." in capsys.readouterr().out
    assert main([*words, "--only", "nothing"]) == 2
    assert main(["tornado", str(case), "-o", str(tmp_path / "no"), "--only", PRICE, "--time-limit", "0"]) == 4
