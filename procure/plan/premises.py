"""The premises a plan rests on, and how much of its money and rack-time rests on each kind of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from procure.case.frames import in_order
from procure.demand.packaged import scenario_facts, sla_facts
from procure.demand.reuse import Curve, own_curves, reuse_facts
from procure.instance import Instance
from procure.plan.plan import frame
from procure.timekey import grouped, summed

if TYPE_CHECKING:
    from procure.case import Case
    from procure.catalogue import Fact

WORDS = {"kind", "host", "depreciation_class", "price_path"}
"""Attributes that name or sort; they are no premises."""


def premises_table(case: Case, instance: Instance) -> pd.DataFrame:
    """Every number that the plan rests on and did not compute, with band, kind of evidence and source.

    Settings and defaults of the case; the catalogue's figures of each SKU in play; scenario and SLA defaults of the
    workloads; reuse curves. What the planner states in the case is of kind ``user``.
    """
    rows: list[tuple[Any, ...]] = []
    for name, value in case.settings.model_dump().items():
        fact = case.premises.get(f"case/{name}")
        if fact is not None:
            rows.append(_row(f"case/{name}", fact))
        elif name not in ("name", "description"):
            rows.append((f"case/{name}", _text(value), "", "", "", "user", "case.toml", "", "stated by the case"))
    rows += [_row(name, fact) for name, fact in case.premises.items() if not name.startswith("case/")]
    in_play = set(instance["skus"]["sku"])
    classes = {case.catalogue.sku(name).depreciation_class for name in in_play}
    for (sku, attribute), fact in sorted(case.catalogue.facts.items()):
        if (sku in in_play or sku in classes) and attribute not in WORDS and _counts(case, sku, attribute):
            rows.append(_row(f"hardware/{sku}/{attribute}", fact))
    used = set(case.tables["workloads"]["scenario"])
    for r in scenario_facts().itertuples():
        if r.scenario in used:
            name = f"scenario/{r.scenario}/{r.field}"
            rows.append((name, r.base, r.unit, r.low, r.high, r.kind, r.source, "", r.note))
    for r in sla_facts().itertuples():
        if r.scenario in used:
            name = f"sla/{r.scenario}/{r.tier}/{r.quantity}"
            rows.append((name, _text(r.value), r.unit, "", "", r.kind, r.source, "", r.note))
    return frame("premises", rows + _reuse(case) + _throughput(case))


def _counts(case: Case, sku: str, attribute: str) -> bool:
    """Whether the plan reads it: of packaged GPU units the typical power is replaced by measured shares."""
    if attribute != "power_typical_kw" or sku not in case.catalogue.skus:
        return True
    unit = case.catalogue.skus[sku]
    return unit.kind != "gpu" or case.catalogue.is_stated(unit, attribute)


def _reuse(case: Case) -> list[tuple[Any, ...]]:
    """The reuse curves that workloads name; of the case's own each point, of kind ``user``."""
    rows: list[tuple[Any, ...]] = []
    own = own_curves(case.tables.get("reuse"))
    for name in sorted(set(case.tables["workloads"]["reuse_curve"].dropna())):
        if name in own:
            rows += _own_curve(own[name])
            continue
        curve, _, level = name.partition(":")
        for r in reuse_facts().itertuples():
            if r.curve == curve:
                value = getattr(r, level or "base")
                at = (f"reuse/{name}/{r.quantity}", _text(value), r.unit, _text(r.low), _text(r.high))
                rows.append((*at, r.kind, r.source, "", r.note))
    return rows


def _throughput(case: Case) -> list[tuple[Any, ...]]:
    """Measured throughput that the case states, point by point, of kind ``user``."""
    rows: list[tuple[Any, ...]] = []
    for r in in_order(case.tables["throughput"]).itertuples():
        base = "all" if r.all_gpus else "decode"
        pool = f"{r.sku}+lpx" if r.with_lpx == 1 else r.sku
        at = f"throughput/{pool}/{r.card}/{r.weight_precision}/{r.isl:g}+{r.osl:g} at {r.tps_user:g} TPS/User"
        note = f"stated by the case, over {base} GPUs; band as factors"
        value = _text(r.tokens_per_s_per_gpu), "tokens/s", _text(r.low), _text(r.high)
        rows.append((at, *value, "user", f"throughput.csv: {r.source}", str(r.date), note))
        if pd.notna(r.prefill_tokens_per_s_per_gpu):
            at = f"prefill/{r.sku}/{r.card}/{r.weight_precision}/{r.isl:g}"
            value = _text(r.prefill_tokens_per_s_per_gpu), "tokens/s", "", ""
            note = "stated by the case, per GPU of a saturated prefill pool"
            rows.append((at, *value, "user", f"throughput.csv: {r.source}", str(r.date), note))
    return list({row[0]: row for row in rows}.values())  # a prefill rate stands in every row of its curve


def _own_curve(curve: Curve) -> list[tuple[Any, ...]]:
    clock = f"ages count from {'completion' if curve.clock == 'idle' else 'the start of requests'}"
    told = ("user", "reuse.csv", "", f"stated by the case; {clock}")
    values = [("reused_share", curve.reused_share, "share of input tokens")]
    values += [
        (f"return_share at {age:g} s", share, "share of requests (by tokens)")
        for age, share in zip(curve.age_s, curve.returned, strict=True)
    ]
    return [(f"reuse/{curve.name}/{quantity}", _text(value), unit, "", "", *told) for quantity, value, unit in values]


def _row(name: str, fact: Fact) -> tuple[Any, ...]:
    return (
        name, _text(fact.value), fact.unit, _text(fact.low), _text(fact.high), fact.kind, fact.source,
        fact.source_date, fact.note,
    )  # fmt: skip


def _text(value: Any) -> str:
    """A value as a reader writes it; nothing for nothing."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def evidence_shares(tables: dict[str, pd.DataFrame], case: Case) -> dict[str, dict[str, float]]:
    """Shares by kind of evidence: of the planned capital by its prices, of rack-seconds by their operating points."""
    planned = tables["purchases"][tables["purchases"]["span"] == "planned"]
    kind = {sku: case.catalogue.price_fact(sku, case.quarters[0]).kind for sku in set(planned["sku"])}
    money = grouped(planned.assign(kind=planned["sku"].map(kind)), ["kind"])["capex_usd"].sum()
    work = grouped(tables["serving"], ["evidence"])["racks"].sum().add(
        pd.Series({"physics": summed(tables["prefill"], "racks")}), fill_value=0.0
    )  # fmt: skip
    return {"money": _shares(money), "rack_seconds": _shares(work)}


def _shares(amounts: pd.Series) -> dict[str, float]:
    total = float(amounts.sum())
    return {str(kind): float(value) / total for kind, value in amounts.items()} if total > 0 else {}
