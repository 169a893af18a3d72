"""What a plan was asked why: stored, shown on page and in the workbook, and a line on how to ask where nothing was."""

from __future__ import annotations

import math

import pytest

from procure.plan import Plan
from procure.report.explained import HOW, sentences
from procure.report.page import render
from procure.report.workbook import build
from procure.why import LESS, NOTHING, Answer, Explanation, Kind, Question, Relation, Verdict

LINE = "2027Q1 dfw: 4 vr-nvl72"


def answer(kind: Kind, about: str, what: str, verdict: Verdict, relation: Relation, **known: object) -> Answer:
    question = Question(kind, about, what, {f"{about}/{what}": 1}, relation, "2027Q1")
    return Answer(question, verdict, **known)  # type: ignore[arg-type]


@pytest.fixture
def why(plan: Plan) -> Explanation:
    facts = {
        "case": "c", "input_hash": plan.summary["input_hash"], "status": "optimal", "plan_usd": plan.objective_usd,
        "objective_usd": 100e6, "bound_usd": 99.5e6, "shortfall_share": 0.0, "short": [], "gap": 0.005,
    }  # fmt: skip
    ease, tight = Relation.EASES, Relation.TIGHTENS
    lost = [{"quarter": q, "workload": "chat", "share": s, "cause": ""} for q, s in (("2027Q3", 0.4), ("2027Q4", 0.25))]
    return Explanation(facts, [
        answer(Kind.ORDER, LINE, NOTHING, Verdict.SERVES_LESS, tight, least_share=0.031, most_share=0.033, short=lost),
        answer(Kind.ORDER, LINE, LESS, Verdict.COSTS, tight, least_usd=65.9e3, most_usd=238.9e3, orders={"lpx": 1}),
        answer(Kind.LIMIT, "power at dfw (900 kW)", "+242 kW", Verdict.SAVES, ease, least_usd=1.2e6, most_usd=math.inf),
        answer(Kind.LIMIT, "supply lpx (1 unit)", "+1 unit", Verdict.BELOW, ease, least_usd=0.0, most_usd=4e5),
        answer(Kind.WHY_NOT, "cmx", "at least 1 cmx-rack", Verdict.NOT_ASKED, tight),
    ])  # fmt: skip


TOLD = [
    ("binds", "power at dfw (900 kW), 2027Q1: +242 kW saves 1.2 M USD or more."),
    ("limit", "supply lpx (1 unit), 2027Q1: +1 unit is worth at most 400.0 k USD: below the resolution of the gap."),
    ("order", f"{LINE}: nothing in its place leaves 3.1% to 3.3% of the planned demand unserved (up to 40.0% of chat "
              f"in 2027Q3 to 2027Q4); one less costs 65.9 to 238.9 k USD more (orders +1 lpx)."),
    ("gap", "The plan is within 500.0 k USD (0.50%) of the least cost, each answer within its own gap: what moves less "
            "is not told apart; --gap 0.0005 is finer, and slower."),
    ("left", "1 question not asked yet: cmx (at least 1 cmx-rack). The same command goes on with them."),
]  # fmt: skip


def test_every_answer_is_a_sentence_with_an_interval_from_both_bounds(why):
    assert list(sentences(why)) == TOLD


def test_answers_are_stored_and_read_again_and_belong_to_their_plan(plan, why, tmp_path):
    why.store(tmp_path)
    again = Explanation.read(tmp_path, plan)
    assert again is not None
    assert list(sentences(again)) == TOLD
    other = Plan({**plan.summary, "objective_usd": 1.0}, plan.tables)
    assert Explanation.read(tmp_path, other) is None
    assert Explanation.read(tmp_path / "nowhere", plan) is None


def test_what_is_answered_is_not_asked_again_unless_to_a_finer_gap_and_stays_beside_what_is(why):
    assert len(why.answered(0.005)) == 4  # the question without an answer is asked again
    assert why.answered(0.001) == {}
    new = Explanation(why.plan, why.answers[-1:])
    assert [a.question.key for a in new.beside(why).answers] == [
        a.question.key for a in why.answers[-1:] + why.answers[:-1]
    ]


def test_the_workbook_has_a_row_for_each_answer_or_says_how_to_ask(plan, why):
    sheets = {sheet.name: sheet for sheet in build(plan, why)}
    shown = {cell.content for cell in sheets["Why"].cells.values()}
    assert {LINE, "saves 1.2 M USD or more", 65.9e3, 238.9e3, 0.031, TOLD[-1][1]} <= shown
    (sheet,) = [sheet for sheet in build(plan) if sheet.name == "Why"]
    assert HOW in {cell.content for cell in sheet.cells.values()}


@pytest.mark.thorough
def test_the_page_has_the_answers_or_says_how_to_ask(plan, why, monkeypatch):
    monkeypatch.setattr("procure.report.page.drawn", lambda plan: [])
    html = render(plan, why)
    part = html[html.index('<section id="why">') : html.index('<section id="charts">')]
    assert f'<td class="name">{LINE}</td>' in part
    assert "<td>saves 1.2 M USD or more</td>" in part
    assert part.index("power at dfw") < part.index("supply lpx")  # what is proven to bind comes first
    assert HOW not in part
    assert HOW in render(plan)
