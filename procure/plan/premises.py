"""The premises a plan rests on, and how much of its money and rack-time rests on each kind of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.plan.plan import frame
from procure.schema import Evidence, Span
from procure.timekey import grouped, summed

if TYPE_CHECKING:
    from procure.case import Case
    from procure.catalogue import Fact


def premises_table(case: Case) -> pd.DataFrame:
    """Every number that the plan rests on and did not compute, with band, kind of evidence and source.

    The premises of :attr:`procure.case.Case.rests_on`, each by the path with which it can be stated and swept.
    """
    return frame("premises", [_row(path, fact) for path, fact in case.rests_on.items()])


def _row(name: str, fact: Fact) -> tuple[Any, ...]:
    return (
        name, _text(fact.value), fact.unit, _text(fact.low), _text(fact.high), str(fact.kind), fact.source,
        fact.source_date, fact.note,
    )  # fmt: skip


def _text(value: Any) -> str:
    """A value as a reader writes it; nothing for nothing."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def evidence_shares(tables: dict[str, pd.DataFrame], case: Case) -> dict[str, dict[str, float]]:
    """Shares by kind of evidence: of the planned capital by its prices, of rack-seconds by their operating points."""
    planned = tables["purchases"][tables["purchases"]["span"] == Span.PLANNED]
    kind = {sku: case.catalogue.price_fact(sku, case.quarters[0]).kind for sku in set(planned["sku"])}
    money = grouped(planned.assign(kind=planned["sku"].map(kind)), ["kind"])["capex_usd"].sum()
    work = grouped(tables["serving"], ["evidence"])["racks"].sum().add(
        pd.Series({Evidence.PHYSICS.value: summed(tables["prefill"], "racks")}), fill_value=0.0
    )  # fmt: skip
    return {"money": _shares(money), "rack_seconds": _shares(work)}


def _shares(amounts: pd.Series) -> dict[str, float]:
    total = float(amounts.sum())
    return {str(kind): float(value) / total for kind, value in amounts.items()} if total > 0 else {}
