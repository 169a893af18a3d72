"""What binds, what one more unit is worth and what an order is for, each against the changed case solved again."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from limit_cases import BINDING, GB, grown, old
from solved_case import built, planned
from tiny_case import linked_sites, tiny

from procure.errors import InputError
from procure.families import contents
from procure.families.wording import Full
from procure.study import Effort
from procure.study.change import changed
from procure.why import Answer, Asked, How, Kind, Verdict, explain, frame_of, limits
from procure.why.effect import Effect, Point

GAP = 1e-6
HOW = How(Effort(gap=GAP, threads=1))


def better(plan, than):
    """Whether a plan serves more, or as much for less."""
    short = than.summary["shortfall"]["share"] - plan.summary["shortfall"]["share"]
    return short > 1e-5 or (abs(short) <= 1e-5 and plan.objective_usd < than.objective_usd * (1.0 - 1e-5))


QUICK = ("positions", "rent")


@pytest.mark.parametrize(
    "limit", [pytest.param(n, marks=pytest.mark.thorough if n in QUICK else pytest.mark.slow) for n in BINDING]
)
def test_a_limit_is_named_as_binding_and_doubled_it_lowers_cost_or_shortfall(limit):
    case = BINDING[limit]()
    plan = planned(case, gap=GAP)
    found = explain(plan, case, Asked(orders=False), HOW)
    assert {name for name in BINDING for a in found.binding if a.question.about.startswith(name)} == {limit}
    for one in found.binding:
        twice = dict.fromkeys(one.question.change, "x0.5" if limit == "least share served" else "x2")
        assert better(planned(changed(case, twice), gap=GAP), plan)
        moved = planned(changed(case, one.question.change), gap=GAP)
        served = plan.summary["shortfall"]["share"] - moved.summary["shortfall"]["share"]
        assert one.least_share - 2e-6 <= served <= one.most_share + 2e-6


def test_there_is_a_case_for_every_limit_that_can_be_moved():
    assert set(BINDING) == set(contents.moves())


def test_no_cell_moves_limits_of_a_provider():
    row = Full("2027Q2", "cloud", "", tiny().tables, {})
    assert [contents.moves()[name](row) for name in ("pods", "power", "positions")] == [None] * 3


@pytest.mark.thorough
def test_a_full_link_is_named_in_the_quarter_in_which_what_counts_as_served_leaves_a_little_of_it():
    case = linked_sites()
    plan = planned(case, gap=GAP)
    used = plan.tables["limits"].query("family == 'link bandwidth' and quarter == '2027Q1'").iloc[0]
    assert used["slack"] > 0 or used["binding"]
    (link,) = limits.candidates(plan, case, built(case), ("link bandwidth",))
    assert "2027Q1" in link.cells[0][1]


@pytest.mark.thorough
def test_a_limit_of_several_cells_is_moved_in_all_of_them_and_then_one_by_one():
    case = BINDING["opex"]()
    (limit,) = limits.candidates(planned(case, gap=GAP), case, built(case))
    asked = limits.question(limit)
    assert asked.about == "opex (250,000 USD)"
    assert asked.what.endswith("USD in each")
    assert asked.quarters == "2027Q1 to 2027Q4"
    assert [list(limits.question(one).change) for one in limit.singles] == [[path] for path in asked.change]


@pytest.mark.thorough
def test_what_a_unit_is_worth_lies_where_the_moved_case_puts_it():
    """The cheap rack takes 1.5 positions; where it does not fit, dear servers serve the same."""
    case = tiny(
        skus=(GB, "hgx-h200"),
        peaks={"chat": [20] * 3},
        sites=({"positions": 1.6},),
        figures={(GB, "price_usd"): 1e5, ("hgx-h200", "price_usd"): 5e6},
    )
    plan = planned(case, gap=GAP)
    found = explain(plan, case, Asked(orders=False, named=("positions",)), HOW)
    (one, *_) = [a for a in found.answers if a.question.about.startswith("positions")]
    ((path, value),) = one.question.change.items()
    moved = planned(case.with_value(path, value), gap=GAP)
    assert one.least_usd - 20 <= plan.objective_usd - moved.objective_usd <= one.most_usd + 20


@pytest.mark.thorough
def test_a_limit_that_nothing_waits_for_is_not_named_as_binding():
    """Positions are full to the last rack that the demand takes."""
    case = tiny(peaks={"chat": [60, 60, 60]}, sites=({"positions": 3.2},))
    found = explain(planned(case, gap=GAP), case, Asked(orders=False), HOW)
    assert {a.verdict for a in found.of(Kind.LIMIT)} == {Verdict.BELOW}
    assert found.binding == []


@pytest.mark.thorough
def test_a_limit_may_be_asked_by_name_and_an_unknown_one_is_refused():
    case = BINDING["positions"]()
    plan = planned(case, gap=GAP)
    found = explain(plan, case, Asked(limits=False, named=("power at a",), orders=False), HOW)
    assert [a.verdict for a in found.answers] == [Verdict.BELOW] * 2  # one more unit, and twice as much
    with pytest.raises(InputError, match="positions at a"):
        explain(plan, case, Asked(named=("gravity",)), HOW)


@pytest.fixture(scope="module")
def bought():
    """Two lines: racks now, and racks a quarter later."""
    sale = {"lead_quarters": 0, "available_from": "2026Q1", "last_order": "2040Q4", "min_order": 1}
    case = grown(
        peaks={"chat": [60, 100, 100, 100]},
        tables={"fleet": old()},
        figures={("hgx-h200", name): value for name, value in sale.items()},
    )
    plan = planned(case, gap=GAP)
    return case, plan, explain(plan, case, Asked(limits=False, why_not=(GB, "hgx-h200")), HOW)


def asked_of(found, what):
    return {a.question.about: a for a in found.answers if a.question.what == what}


@pytest.mark.thorough
def test_every_order_line_is_asked_about_in_every_way(bought):
    _, plan, found = bought
    lines = [f"{o['quarter']} {o['site']}: {o['count']} {o['sku']}" for o in plan.summary["purchases"]]
    assert len(lines) == 2
    for what in ("nothing in its place", "a quarter later", "without it"):
        assert sorted(asked_of(found, what)) == sorted(lines)


@pytest.mark.thorough
def test_an_order_is_for_what_breaks_with_nothing_in_its_place(bought):
    """As many racks as the plan has, less those of the line: a case that may buy nothing and has the rest on order."""
    case, plan, found = bought
    lines = plan.tables["purchases"]
    for line in plan.purchases.itertuples():
        rest = lines[~((lines["quarter"] == line.quarter) & (lines["sku"] == line.sku))]
        firm = pd.DataFrame(
            [(o.site, o.sku, o.count, o.delivery_quarter, o.capex_usd / o.count) for o in rest.itertuples()],
            columns=["site", "sku", "count", "delivery", "price_usd_per_unit"],
        )
        alone = case.replace(settings={"may_buy": []}, tables={"orders": firm})
        short = {s["quarter"]: s["share"] for s in planned(alone, gap=GAP).summary["shortfall"]["workloads"]}
        one = asked_of(found, "nothing in its place")[f"{line.quarter} a: {line.count} {line.sku}"]
        assert {s["quarter"]: s["share"] for s in one.short} == pytest.approx(short, abs=1e-4)
        assert one.verdict is Verdict.SERVES_LESS


@pytest.mark.thorough
def test_without_a_sku_the_plan_is_that_of_a_case_that_may_not_buy_it(bought):
    case, plan, found = bought
    (one,) = [a for a in found.of(Kind.WHY_NOT) if a.question.about == GB]
    without = planned(case.replace(settings={"may_buy": []}), gap=GAP)
    lost = without.summary["shortfall"]["share"] - plan.summary["shortfall"]["share"]
    assert one.least_share - 2e-6 <= lost <= one.most_share + 2e-6
    assert one.cost_usd == pytest.approx(without.objective_usd - plan.objective_usd, abs=20)
    assert one.orders == {GB: -sum(o["count"] for o in plan.summary["purchases"])}


@pytest.mark.thorough
def test_a_sku_that_may_not_be_bought_is_allowed_and_then_forced_in(bought):
    case, plan, found = bought
    allowed, forced = (a for a in found.of(Kind.WHY_NOT) if a.question.about == "hgx-h200")
    wider = planned(case.with_value("case/may_buy", f"{GB} hgx-h200"), gap=GAP)
    assert allowed.least_usd - 20 <= plan.objective_usd - wider.objective_usd <= allowed.most_usd + 20
    assert (allowed.verdict, forced.verdict) == (Verdict.SAVES, Verdict.SAVES)  # wanted, so that forcing adds nothing
    assert forced.orders == allowed.orders
    assert forced.orders["hgx-h200"] >= 1
    assert forced.least_usd - 1 <= -forced.cost_usd <= forced.most_usd + 1


@pytest.mark.thorough
def test_without_time_every_question_is_named_and_none_is_answered(bought):
    case, plan, _ = bought
    found = explain(plan, case, Asked(), How(Effort(gap=GAP), seconds=0.0))
    assert len(found.not_asked) == len(found.answers) > 0
    assert found.binding == []


@pytest.mark.thorough
def test_a_finer_gap_has_the_plan_itself_solved_again():
    case = BINDING["positions"]()
    plan = planned(case, gap=0.05)
    lines: list[str] = []
    explain(plan, case, Asked(orders=False), How(Effort(gap=GAP, threads=1), progress=lines.append))
    assert "the case as it stands" in lines[0]


@pytest.mark.thorough
def test_a_run_of_so_many_questions_goes_on_with_the_others_also_where_its_plans_are_kept(tmp_path):
    case = BINDING["rent"]()
    plan, asked = planned(case, gap=GAP), Asked(limits=False, named=("rent", "power"), orders=False)
    lines: list[str] = []
    how = How(HOW.effort, most=1, out=tmp_path, progress=lines.append)
    first = explain(plan, case, asked, how)
    assert len(first.not_asked) == 1
    second = explain(plan, case, asked, how, first)
    assert [a.question.about for a in second.answers][:2] == [a.question.about for a in first.answers]
    assert second.answers[0] == first.answers[0] or second.answers[1] == first.answers[1]
    assert sum("asking" in line for line in lines) == 2
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.thorough
def test_a_case_that_was_changed_since_is_refused(bought):
    case, plan, _ = bought
    with pytest.raises(InputError, match="changed since"):
        explain(plan, case.with_value("utilisation_cap", 0.5), Asked(), HOW)


def test_where_shortfall_has_a_price_and_no_rank_cost_alone_is_compared():
    facts = {"objective_usd": 9.0, "bound_usd": 8.0, "shortfall_share": 0.4, "shortfall_bound": 0.0}
    assert Point.of_facts(facts, ranked=False) == Point(9.0, 8.0, 0.0, 0.0)
    assert Point.of_facts(facts, ranked=True) == Point(9.0, 8.0, 0.4, 0.0)


def test_effects_are_intervals_from_both_bounds():
    before, after = Point(10.0, 9.0, 0.0, 0.0), Point(7.0, 6.5, 0.0, 0.0)
    saved = Effect.of(before, after, ordered=True)
    assert (saved.least_usd, saved.most_usd, saved.saves) == (2.0, 3.5, True)
    hardly = Effect.of(before, Point(9.5, 8.0, 0.0, 0.0), ordered=True)
    assert (hardly.least_usd, hardly.most_usd, hardly.helps) == (0.0, 2.0, False)
    assert Effect.of(before, Point(9.5, 8.0, 0.0, 0.0), ordered=False).least_usd == -0.5
    short = Effect.of(Point(10.0, 9.0, 0.3, 0.3), Point(12.0, 11.0, 0.1, 0.05), ordered=True)
    assert (short.least_share, short.most_share) == pytest.approx((0.2, 0.25))
    assert math.isnan(short.least_usd)
    assert short.serves_more


@pytest.mark.thorough
def test_answers_are_rows_and_json_without_numbers_that_are_none(bought):
    _, _, found = bought
    frame = frame_of(found.answers)
    assert len(frame) == len(found.answers)
    assert set(frame["kind"]) == {"order", "why not"}
    question = found.answers[0].question
    assert Answer(question, Verdict.FAILED).facts()["least_usd"] is None
