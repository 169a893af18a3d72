"""The smallest change that serves what is short: applied and solved again it does, and 1% less of it does not."""

from __future__ import annotations

import pytest
from limit_cases import GB, grown, old
from solved_case import built, planned
from tiny_case import budget, fleet, linked_sites, rich, tiny

from procure.errors import InputError
from procure.solver.servable import has_plan, servable
from procure.study import Effort
from procure.study.change import changed
from procure.why import ALL, Asked, How, Verdict, explain, unblock
from procure.why.levers import Lever, choices, levers
from procure.why.search import Found, Trial, alone, shared, together
from procure.why.serve import others_held, wanted

EFFORT = Effort(threads=1)

SHORT = {
    "positions at a": {"sites": ({"positions": 3.0},)},
    "power at a": {"sites": ({"positions": 20.0, "power_kw": 200.0},)},
    "budget of 2027Q1, others in proportion": {"tables": {"fleet": old(), "budget": budget(6e6, 6e6, 1e8, 1e8)}},
    f"supply of {GB}": {"figures": {(GB, "supply_per_quarter"): 1}},
    "load of chat": {"sites": ({"positions": 3.0},)},
    "start of chat": {"peaks": {"chat": [100, 150, 150, 150, 150]}, "lead": 1},
    "delivery": {"peaks": {"chat": [100, 150, 150, 150, 150]}, "lead": 1},
    "time to first token of chat": {"workloads": {"chat": {"ttft_s": 0.2}}},
    "TPS/User of chat": {"workloads": {"chat": {"tps_user": 1_000.0}}},
}
"""What is stated of cases that are short, by the lever that alone serves them."""
QUICK = ("positions at a", "start of chat")


def lever_of(case, name):
    short = planned(case).summary["shortfall"]["workloads"]
    assert short
    (found,) = [lever for lever in levers(case, built(case), short) if lever.name == name]
    return found


def is_served(case, change):
    return planned(changed(case, change)).summary["shortfall"]["share"] < 2e-6


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.thorough if n in QUICK else pytest.mark.slow) for n in SHORT]
)
def test_the_smallest_change_serves_and_one_percent_less_does_not(name):
    case = grown(**SHORT[name])
    lever = lever_of(case, name)
    found = alone(lever, Trial(case, {}, servable, EFFORT))
    assert found is not None
    assert is_served(case, found.change)
    moved = found.values[0] - lever.start
    less = lever.start + (moved - (1.0 if moved > 0 else -1.0) if lever.whole else 0.99 * moved)
    assert not is_served(case, lever.put(less))


@pytest.mark.thorough
def test_links_offers_of_rent_and_operating_budgets_can_be_moved():
    """Each is a limit that a shortfall may be due to."""
    spent = budget(6e7, 2e7, 2e7).assign(opex_usd=[4e5, None, 5e5])
    case = tiny(tables={"budget": spent})
    (running,) = [lever for lever in levers(case, built(case), []) if lever.name.startswith("operating budget")]
    assert (running.name, running.start) == ("operating budget of 2027Q1, others in proportion", 4e5)
    assert running.put(8e5) == {"budget/2027Q1/opex_usd": 8e5}  # of the planned quarter
    short = [{"quarter": "2027Q1", "workload": "chat", "share": 0.2, "cause": ""}]
    assert all(lever.most > 0 for lever in levers(case, built(case), short))  # no later start within one quarter
    case = rich()
    assert {"rent of old": 3.0, "rent of new": 1.0}.items() <= {
        lever.name: lever.start for lever in levers(case, built(case), [])
    }.items()


@pytest.mark.slow
def test_a_link_that_is_too_narrow_is_widened_by_what_is_missing():
    """Prompts of 8,000 tokens and 163,840 bytes each, six a second, over three quarters of the link."""
    case = linked_sites()
    found = alone(lever_of(case, "link bandwidth of a to b"), Trial(case, {}, servable, EFFORT))
    assert found is not None
    assert found.values[0] == pytest.approx(6 * 8_000 * 163_840 * 8 / 0.75 / 1e9, rel=0.02)
    assert is_served(case, found.change)


@pytest.mark.thorough
def test_a_lever_that_does_not_help_has_no_value():
    case = grown(**SHORT["positions at a"])
    assert alone(lever_of(case, "power at a"), Trial(case, {}, servable, EFFORT)) is None


@pytest.mark.slow
def test_two_limits_of_which_none_helps_alone_are_each_moved_by_the_least():
    """One rack each: the floor holds no other and the budget pays for no other."""
    case = grown(sites=({"positions": 2.0},), tables={"budget": budget(8e6, 8e6, 1e8, 1e8)})
    short = planned(case).summary["shortfall"]["workloads"]
    trial = Trial(case, {}, servable, EFFORT)
    moved = [lever for lever in levers(case, built(case), short) if lever.name.split(" ")[0] in ("positions", "budget")]
    assert [alone(lever, trial) for lever in moved] == [None, None]
    found = together(moved, trial)
    assert found is not None
    assert set(found.levers) == set(moved)
    assert is_served(case, found.change)
    for lever, value in zip(found.levers, found.values, strict=True):
        less = {**found.change, **lever.put(lever.start + 0.99 * (value - lever.start))}
        assert not is_served(case, less)


def ramp(need, **more):
    """A lever and what holds of it, without any case: enough from a value on."""
    lever = Lever("x", "kW", 100.0, 1_000.0, lambda value: {"x": value}, **more)
    trial = Trial(None, {}, None, EFFORT)
    trial.__dict__["_known"] = Ramp(need)
    return lever, trial


class Ramp(dict):
    """Answers of a trial as if every change had been asked: whether the sum of what is put reaches a need."""

    def __init__(self, need):
        super().__init__()
        self.need = need

    def __contains__(self, key):
        return True

    def __getitem__(self, key):
        return sum(float(value) for _, value in key) >= self.need


class Largest(Ramp):
    """The same where values do not add up: whether the largest reaches the need."""

    def __getitem__(self, key):
        return max(float(value) for _, value in key) >= self.need


@pytest.mark.parametrize("need", [100.001, 101.0, 123.456, 500.0, 999.99])
def test_the_least_is_within_one_percent_of_the_change_and_plain_where_it_can_be(need):
    lever, trial = ramp(need)
    value = alone(lever, trial).values[0]
    assert need <= value <= need + 0.0102 * (need - 100.0) + 1e-5 * 900.0
    if need in (101.0, 500.0):
        assert value == need
    assert alone(ramp(1_000.1)[0], ramp(1_000.1)[1]) is None


def test_a_good_guess_is_believed_only_as_far_as_it_is_the_least():
    for guess in (150.0, 300.0, 120.0):
        lever, trial = ramp(150.0, guess=guess)
        assert alone(lever, trial).values[0] == pytest.approx(150.0, abs=0.6)


def test_several_that_serve_alone_share_the_change():
    """Each would need 100 more alone; together each moves half of that."""
    one, trial = ramp(300.0)
    other = Lever("y", "kW", 100.0, 1_000.0, lambda value: {"y": value})
    found = shared([Found((lever,), (200.0,), lever.put(200.0)) for lever in (one, other)], trial)
    assert sum(found.values) == pytest.approx(300.0, rel=0.01)
    assert found.values[0] == found.values[1]


def test_what_serves_alone_and_no_sooner_beside_others_is_not_told_together():
    one, trial = ramp(200.0)
    other = Lever("y", "kW", 100.0, 1_000.0, lambda value: {"y": value})
    trial.__dict__["_known"] = Largest(200.0)
    assert shared([Found((lever,), (200.0,), lever.put(200.0)) for lever in (one, other)], trial) is None


@pytest.mark.thorough
def test_who_is_short_beside_who_is_asked_about_keeps_what_it_has():
    case = tiny(peaks={"chat": [100, 120, 130], "rag": [10, 10, 10]}, workloads={"rag": {"scenario": "chat"}})
    short = [
        {"quarter": "2027Q1", "workload": name, "share": share, "cause": ""}
        for name, share in (("chat", 0.2), ("rag", 0.5))
    ]
    held = others_held(case, short, wanted(short, ("rag",)))
    assert held == {"forecast/chat/2027Q1/peak_requests_per_s": pytest.approx(80.0, rel=2e-4)}
    assert wanted(short, (ALL,)) == short
    with pytest.raises(InputError, match="chat, rag; or all"):
        wanted(short, ("code",))


@pytest.mark.thorough
def test_other_formats_pools_and_small_orders_are_choices():
    case = grown(figures={(GB, "min_order"): 4})
    short = [{"quarter": "2027Q1", "workload": "chat", "share": 0.2, "cause": ""}]
    names = {choice.name for choice in choices(case, short)}
    assert {"KV format of chat", f"minimum order of {GB}", "pool vr-nvl72"} <= names
    for choice in choices(case, short):
        assert choice.change
    case = grown(settings={"resilience": "n+1", "cache_loss": "store"})
    changes = [choice.change for choice in choices(case, short)]
    assert {"workloads/chat/resilience": "none"} in changes
    assert {"workloads/chat/cache_loss": "none"} in changes


@pytest.mark.slow
def test_what_serves_is_told_with_its_cost_and_what_does_not_is_told_too(monkeypatch):
    case = grown(**SHORT["positions at a"])
    monkeypatch.setattr("procure.why.serve.choices", lambda case, short: [])
    plan = planned(case, gap=1e-6)
    found = explain(plan, case, Asked(limits=False, orders=False, to_serve=(ALL,)), How(Effort(gap=1e-6, threads=1)))
    verdicts = {one.question.what: one for one in found.answers}
    served = verdicts["positions at a 3 → 6 positions"]
    assert served.verdict is Verdict.HOLDS
    assert served.short == []
    moved = planned(case.with_value("sites/a/positions", 6.0), gap=1e-6)
    assert served.cost_usd == pytest.approx(moved.objective_usd - plan.objective_usd, abs=20)
    assert verdicts["power at a up to 50,000 kW"].verdict is Verdict.NOT_ENOUGH


def standing():
    """Four racks that take 506.8 kW stand where 300 kW are."""
    racks = fleet(("a", "gb200-nvl72", 4, "2025Q1", 3.3e6)).assign(retirable=False)
    return tiny(sites=({"power_kw": 300.0},), tables={"fleet": racks})


@pytest.mark.thorough
def test_a_case_without_a_plan_is_told_what_lets_it_have_one():
    case = standing()
    trial = Trial(case, {}, has_plan, EFFORT)
    (power,) = [lever for lever in levers(case, built(case), []) if lever.name == "power at a"]
    found = alone(power, trial)
    assert found.values[0] == pytest.approx(506.8, rel=0.005)
    assert trial(found.change)
    assert not trial(power.put(300.0 + 0.99 * (found.values[0] - 300.0)))


@pytest.mark.thorough
def test_a_case_with_a_plan_needs_nothing_to_have_one():
    assert unblock(tiny(), How(EFFORT)) is None


@pytest.mark.thorough
def test_a_least_share_that_lets_no_plan_be_is_lowered_to_what_can_be_served():
    """One rack fits: it serves 42% of the requests of which 95% are asked for."""
    case = tiny(
        peaks={"chat": [110, 60, 60]}, workloads={"chat": {"min_served_share": 0.95}}, sites=({"positions": 1.5},)
    )
    moves = {lever.name: lever for lever in levers(case, built(case), [])}
    assert {"load of chat", "TPS/User of chat"} < set(moves)  # what is promised of it lets no plan be, too
    found = alone(moves["least share served of chat"], Trial(case, {}, has_plan, EFFORT))
    assert found.values[0] == pytest.approx(0.4215, abs=0.0054)
    assert found.what.startswith("least share served of chat 0.95 → 0.4")
