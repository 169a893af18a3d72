"""Premises alone at the ends of their bands, against plans that are solved without the study."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import tiny

from procure.cli import main
from procure.decision import Bar, tornado
from procure.decision.rounds import How
from procure.decision.tornado import End, banded
from procure.errors import InputError
from procure.study import Effort

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
    fact = choice().premises[PRICE]
    noise = Bar("a", fact, End(-5.0, 9.0, 3.0, 0.0), None)
    small = Bar("b", fact, End(1.0, 90.0, 3.0, 0.0), End(-50.0, -2.0, -30.0, 0.0))
    short = Bar("c", fact, End(share=0.1), None)
    without = Bar("d", fact, None, End(reason="no plan keeps its limits"))
    assert [bar.is_noise for bar in (noise, small, short, without)] == [True, False, False, False]
    assert [bar.weight for bar in (noise, small, short, without)] == [(0.0, 0.0), (0.0, 2.0), (0.1, 0.0), (1.0, 0.0)]
    assert not small.decides
    assert Bar("b", fact, replace(small.low, regret_usd=1.0), None).decides


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
