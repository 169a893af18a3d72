"""Budgets in words."""

from __future__ import annotations

from procure.families.scales import USD_PER_UNIT
from procure.families.wording import Broken, Cause, Full, Moved, RowWords, Words


def short_of_budget(broken: Broken) -> str:
    """What is due in the quarter, its budget, and what could be carried in, in USD."""
    t = broken.key[0]
    budget = dict(zip(*(broken.tables["budget"][name] for name in ("t", "budget_usd")), strict=True))
    carried_out, carried_in = (broken.values.get(f"carry[{q}]", 0.0) for q in (t, t - 1))
    due_usd = (broken.activity - carried_out + carried_in - broken.limit) * USD_PER_UNIT + budget[t]
    return (
        f"short of budget by {broken.over * USD_PER_UNIT:,.0f} USD ({due_usd:,.0f} USD due, "
        f"{budget[t]:,.0f} budgeted, {carried_in * USD_PER_UNIT:,.0f} carried in)"
    )


def moved(full: Full) -> Moved:
    """The budget of the quarter, by what the dearest unit on offer costs at any time with attach and installation."""
    usd = full.cell(full.stated["budget"], "quarter", full.quarter, "budget_usd")
    skus = full.on_offer.merge(full.tables["prices"], on="sku")
    each = skus["price_usd"] + skus["attach_usd"] + skus["install_usd"]
    step = float(each.max()) if len(each) else usd
    return Moved(f"budget/{full.quarter}/budget_usd", usd, step, "USD")


def opex_moved(full: Full) -> Moved:
    """The operating budget of the quarter, by what the dearest unit on offer costs to stand: power, space, support."""
    usd = full.cell(full.stated["budget"], "quarter", full.quarter, "opex_usd")
    skus = full.on_offer.merge(full.tables["prices"], on="sku").merge(full.tables["upkeep"], on="sku")
    each = skus["support_usd_per_quarter"] + skus["idle_usd_per_quarter"] + skus["space_usd_per_quarter"]
    step = float(each.max()) if len(each) else usd
    return Moved(f"budget/{full.quarter}/opex_usd", usd, step, "USD")


WORDS = Words(
    rows={
        "budget_limit": RowWords("budget", "USD", ("t",), USD_PER_UNIT),
        "opex_limit": RowWords("operating budget", "USD", ("t",), USD_PER_UNIT),
        "work_within_opex": RowWords("operating budget", "USD", ("at",), USD_PER_UNIT),
    },
    given=("budget", "opex"),
    moves={"budget": moved, "opex": opex_moved},
    causes=(Cause("budget", ("budget_limit",), place=1), Cause("operating budget", ("opex_limit",), place=2)),
    told={"budget_limit": short_of_budget},
    spared=("carry",),
)
