"""Limits that bind, in sentences."""

from __future__ import annotations

import pandas as pd

from procure.families.contents import given_limits
from procure.families.wording import figure
from procure.plan import Plan
from procure.quarter import quarter_ranges
from procure.report.words import holds, readable
from procure.timekey import grouped


def binding_rows(limits: pd.DataFrame) -> pd.DataFrame:
    """The rows of a plan's limits that bind, however the truth was stored."""
    return limits[limits["binding"].map(holds)]


def binding_sentences(plan: Plan) -> tuple[list[str], list[str]]:
    """One sentence for every limit that binds: which, where, when, how much it is.

    First those that the site, the budget or a supplier sets, then those that follow from what was bought.
    """
    outside: list[str] = []
    inside: list[str] = []
    given = given_limits()
    rows = binding_rows(readable(plan.tables["limits"]))
    for (family, site, item), found in grouped(rows, ["family", "site", "item"], dropna=False):
        low, high, unit = float(found["limit"].min()), float(found["limit"].max()), str(found["unit"].iloc[0])
        amount = figure(low) if low == high else f"{figure(low)} to {figure(high)}"
        where = " ".join(str(part) for part in (family, f"at {site}" if str(site) else "", item) if str(part))
        sentence = f"{where}: full in {quarter_ranges(found['quarter'])} ({amount} {unit})."
        (outside if family in given else inside).append(sentence)
    return outside, inside
