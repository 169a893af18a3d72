"""Answers about one plan, as they are stored beside it and read again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from procure.csvtext import guarded
from procure.errors import guard_reader
from procure.plan import Plan
from procure.why.question import Answer, Kind, Question, Verdict, frame_of

JSON, TABLE = "explain.json", "explain.csv"
"""Files of a result that hold its explanation."""
UNKNOWN = (Verdict.NOT_ASKED, Verdict.FAILED)
"""Verdicts of questions that are asked again."""


@dataclass(frozen=True)
class Explanation:
    """Answers about one plan.

    Attributes:
        plan: facts of the plan that is explained: ``case``, ``input_hash``, ``status``, ``plan_usd`` (its objective),
            ``objective_usd``, ``bound_usd``, ``shortfall_share`` (where solved again to a finer gap, of that),
            ``short`` (who is, in planned quarters) and ``gap``, to which questions are solved. Of a case without any
            plan ``reasons``: the limits that must break.
        answers: question by question.
    """

    plan: dict[str, Any]
    answers: list[Answer] = field(repr=False)

    def of(self, kind: Kind) -> list[Answer]:
        """The answers of a kind that were asked."""
        return [a for a in self.answers if a.question.kind is kind and a.verdict is not Verdict.NOT_ASKED]

    @property
    def not_asked(self) -> list[Question]:
        """Questions for which no time was left."""
        return [a.question for a in self.answers if a.verdict is Verdict.NOT_ASKED]

    @property
    def binding(self) -> list[Answer]:
        """Limits that are proven to bind: moved by a unit, or doubled, the plan serves more or costs less."""
        return [a for a in self.of(Kind.LIMIT) if a.verdict in (Verdict.SERVES_MORE, Verdict.SAVES)]

    @property
    def gap_usd(self) -> float | None:
        """What the plan may cost over the least cost; None without a bound."""
        cost, bound = self.plan.get("objective_usd"), self.plan.get("bound_usd")
        return None if cost is None or bound is None else max(float(cost) - float(bound), 0.0)

    def is_of(self, plan: Plan) -> bool:
        """Whether it is about that plan."""
        told = self.plan.get("input_hash"), self.plan.get("plan_usd")
        return told == (plan.summary["input_hash"], plan.objective_usd)

    def facts(self) -> dict[str, Any]:
        """The content of ``explain.json``."""
        return {"plan": self.plan, "answers": [found.facts() for found in self.answers]}

    @classmethod
    def read(cls, folder: str | Path, plan: Plan) -> Explanation | None:
        """What is stored beside a plan; None where nothing about that plan is.

        Raises:
            InputError: ``explain.json`` holds something else.
        """
        file = Path(folder) / JSON
        if not file.exists():
            return None
        with guard_reader(str(file), "Answers of `procure explain` are needed.", "Remove it, and explain again."):
            content = json.loads(file.read_text(encoding="utf-8"))
            found = cls(dict(content["plan"]), [Answer.of_facts(facts) for facts in content["answers"]])
        return found if found.is_of(plan) else None

    def answered(self, gap: float) -> dict[tuple[str, ...], Answer]:
        """What need not be asked again, by the key of its question, where a gap is asked for."""
        if gap < self.plan["gap"]:
            return {}
        return {a.question.key: a for a in self.answers if a.verdict not in UNKNOWN}

    def beside(self, earlier: Explanation | None) -> Explanation:
        """The same with the answers of before to what was not asked this time."""
        asked = {a.question.key for a in self.answers}
        kept = [] if earlier is None else [
            a for a in earlier.answers if a.verdict is not Verdict.NOT_ASKED and a.question.key not in asked
        ]  # fmt: skip
        return replace(self, answers=[*self.answers, *kept])

    def store(self, folder: Path) -> None:
        """Write ``explain.json`` and ``tables/explain.csv`` into a folder."""
        text = json.dumps(self.facts(), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / JSON).write_text(text + "\n", encoding="utf-8")
        (folder / "tables").mkdir(exist_ok=True)
        guarded(frame_of(self.answers)).to_csv(folder / "tables" / TABLE, index=False, lineterminator="\n")

    def write(self, folder: str | Path) -> list[Path]:
        """The same beside a stored plan, in place of earlier ones."""
        return Plan.add(folder, self.store)
