"""Why each order line, and why not another SKU: orders held otherwise, and the case solved again."""

from __future__ import annotations

from collections.abc import Iterable

from procure.case import Case
from procure.errors import Fault, InputError
from procure.instance import Instance
from procure.instance.tables import SkuRow
from procure.plan import Plan
from procure.plan.tables import Purchase
from procure.schema import SkuKind
from procure.study.change import HELD
from procure.why.question import Kind, Question, Relation

NOTHING, LESS, LATER, WITHOUT = "nothing in its place", "one less", "a quarter later", "without it"
"""What is asked of an order line, in the order in which it is asked."""
GROUPS = {
    "cmx": (SkuKind.CMX_ENCLOSURE, SkuKind.CMX_RACK),
    "lpx": (SkuKind.LPX,),
    "ssd": (SkuKind.SSD_KIT,),
    "gpu": (SkuKind.GPU,),
}
"""SKUs that go together, by the word a planner uses: kinds, of which the first is what is forced in."""


def order_questions(plan: Plan, case: Case) -> list[Question]:
    """What every line of the recommended orders is for: the quick question of all lines first, then the next.

    Of each question the line that costs most comes first, since time may end.
    """
    lines = sorted(Purchase.rows(plan.purchases), key=lambda line: -line.capex_usd)
    every = plan.rows(Purchase)
    asked = [_nothing(line, every, case) for line in lines]
    asked += [_fewer(line, LESS, line.count - 1) for line in lines if line.count > 1]
    asked += [later for line in lines if (later := _later(line, lines, case))]
    return [*asked, *(_fewer(line, WITHOUT, 0) for line in lines)]


def _about(line: Purchase) -> str:
    return f"{line.quarter} {line.site}: {line.count} {line.sku}"


def _path(line: Purchase) -> str:
    return f"{HELD}{line.site}/{line.sku}/{line.quarter}"


def _nothing(line: Purchase, every: Iterable[Purchase], case: Case) -> Question:
    """All other orders as the plan has them, and this one not: what stands on it."""
    change: dict[str, str | float] = {
        _path(other): 0 if _path(other) == _path(line) else other.count for other in every
    }
    rest = sum(other.count for other in every) - line.count
    change[f"{HELD}*/{'+'.join(sorted(case.settings.may_buy))}/*"] = f"<={rest}"
    return Question(Kind.ORDER, _about(line), NOTHING, change, Relation.TIGHTENS, line.quarter)


def _fewer(line: Purchase, what: str, most: int) -> Question:
    """At most so many in that quarter; everything else is chosen anew."""
    return Question(Kind.ORDER, _about(line), what, {_path(line): f"<={most}"}, Relation.TIGHTENS, line.quarter)


def _later(line: Purchase, lines: Iterable[Purchase], case: Case) -> Question | None:
    """The order a quarter later, beside what the plan orders then; None where that is beyond the horizon.

    Nor more of it earlier than in the plan: else the same units are had a quarter sooner, and one more in its place.
    """
    names = [str(quarter) for quarter in case.quarters]
    after = names.index(line.quarter) + 1
    if after == len(names):
        return None
    mine = [o for o in lines if (o.site, o.sku) == (line.site, line.sku)]
    before = sum(o.count for o in mine if o.quarter < line.quarter)
    there = sum(o.count for o in mine if o.quarter == names[after])
    change = {
        _path(line): "<=0",
        f"{HELD}{line.site}/{line.sku}/{names[0]}..{line.quarter}": f"<={before}",
        f"{HELD}{line.site}/{line.sku}/{names[after]}": f">={there + line.count}",
    }
    return Question(Kind.ORDER, _about(line), LATER, change, Relation.TIGHTENS, line.quarter)


def why_not(name: str, plan: Plan, case: Case, instance: Instance) -> list[Question]:
    """What it costs to have a SKU or group of SKUs that the plan does not order, or not to have one that it orders.

    One that the case may not buy is allowed first, and forced in beside.

    Raises:
        InputError: nothing of that name.
    """
    skus = _skus(name, case)
    span = f"{case.planned[0]}..{case.planned[-1]}"
    if any(line.sku in skus for line in Purchase.rows(plan.purchases)):
        change = {f"{HELD}*/{'+'.join(skus)}/*": 0}
        return [Question(Kind.WHY_NOT, name, f"no {', '.join(skus)}", change, Relation.TIGHTENS)]
    missing = [sku for sku in skus if sku not in case.settings.may_buy]
    allowed = {"case/may_buy": " ".join([*case.settings.may_buy, *missing])} if missing else {}
    forced = [sku for sku in skus if _is_first(sku, name, case)]
    least = {row.sku: row.min_order for row in instance.rows(SkuRow)}
    units = min(least.get(sku, 1) for sku in forced)
    hold = {f"{HELD}*/{'+'.join(forced)}/{span}": f">={units}"}
    what = f"at least {units} {' or '.join(forced)}"
    relation = Relation.OTHER if missing else Relation.TIGHTENS
    asked = [Question(Kind.WHY_NOT, name, f"{', '.join(missing)} may be bought", allowed, Relation.EASES)]
    return [*(asked if missing else []), Question(Kind.WHY_NOT, name, what, {**allowed, **hold}, relation)]


def _skus(name: str, case: Case) -> list[str]:
    """SKUs that a name means: one SKU, or those of a group that may be bought (all of the catalogue if none may)."""
    if name in GROUPS:
        of_kind = [sku for sku, made in sorted(case.catalogue.skus.items()) if made.kind in GROUPS[name]]
        return [sku for sku in of_kind if sku in case.settings.may_buy] or of_kind
    try:
        return [case.catalogue.sku(name).name]
    except InputError as error:
        hint = f"{error.faults[0].hint} Groups: {', '.join(GROUPS)}.".strip()
        raise InputError(
            [Fault("--why-not", 0, "", name, "A SKU of the catalogue, or a group of them.", hint)]
        ) from None


def _is_first(sku: str, name: str, case: Case) -> bool:
    return name not in GROUPS or case.catalogue.sku(sku).kind == GROUPS[name][0]
