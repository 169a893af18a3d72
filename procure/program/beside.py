"""What is bought beside units, and what is left of it at the end of the horizon."""

from __future__ import annotations

from procure.instance.tables import BesideTerms
from procure.program.index import Index
from procure.rules.worth import residual_usd


def terms(index: Index) -> dict[str, BesideTerms]:
    """How attach and expansions lose their worth."""
    return {row.what: row for row in index.instance.rows(BesideTerms)}


def beside_residual_usd(index: Index, what: str, paid_usd: float, ready_t: int) -> float:
    """Present USD of what ``attach`` or an ``expansion`` that is ready in a quarter is worth at the end."""
    row = index.of(terms).get(what)
    return 0.0 if row is None else residual_usd(paid_usd, index.horizon - ready_t, row) * index.end_discount
