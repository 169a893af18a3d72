"""Quarters and what each may spend; worth of what is bought beside units."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from procure.case import schema as given
from procure.instance.tables import BesideTerms, Budget, OpexCap, QuarterRow

if TYPE_CHECKING:
    import pandas as pd

    from procure.case import Case


def _quarters(case: Case) -> pd.DataFrame:
    rate, start = case.settings.discount_rate_per_year, case.settings.fiscal_year_start
    planned = len(case.planned)
    return QuarterRow.frame(
        QuarterRow(t, str(q), int(t < planned), q.fiscal_year(start), (1.0 + rate) ** (-t / 4))
        for t, q in enumerate(case.quarters)
    )


def _budget(case: Case) -> pd.DataFrame:
    rows = [Budget(case.position[r.quarter], r.budget_usd) for r in given.Budget.rows(case.tables["budget"])]
    return Budget.frame(sorted((row for row in rows if math.isfinite(row.budget_usd)), key=lambda row: row.t))


def _opex(case: Case) -> pd.DataFrame:
    rows = [OpexCap(case.position[r.quarter], r.opex_usd) for r in given.Budget.rows(case.tables["budget"])]
    return OpexCap.frame(sorted((row for row in rows if math.isfinite(row.opex_usd)), key=lambda row: row.t))


BESIDE = {"attach": "network", "expansion": "facility"}
"""Classes of depreciation of what is bought beside units: switches, optics and cabling; what sites are expanded by."""


def _beside_terms(case: Case) -> pd.DataFrame:
    drags = any(case.catalogue.sku(name).attach_usd > 0 for name in case.settings.may_buy)
    used = {"attach": drags, "expansion": len(case.tables["expansions"]) > 0}
    fact = case.catalogue.fact
    return BesideTerms.frame(
        BesideTerms(what, fact(of, "life_years").number * 4, fact(of, "haircut").number)
        for what, of in BESIDE.items()
        if used[what]
    )


TABLES: dict[str, Callable[[Case], pd.DataFrame]] = {
    "quarters": _quarters,
    "budget": _budget,
    "opex": _opex,
    "beside_terms": _beside_terms,
}
"""Tables of :data:`procure.instance.tables.TABLES` that it makes, of the case alone."""
