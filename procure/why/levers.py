"""What a planner can move so that more is served: promises, limits, money, dates, pools; each by how much."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from procure.case import Case
from procure.case.forecast import MEASURES
from procure.case.schema import Supply
from procure.instance import Instance
from procure.instance.first_token import at_best
from procure.instance.tables import SkuRow
from procure.plan.summary import Short
from procure.schema import Resource, SkuKind
from procure.study.change import Change

FAR = 10.0
"""How many times a limit, a budget or a time is raised at most."""
SLOWEST = 0.02
"""Of a speed, what is left of it at the least."""
MOST_PODS = 20
FIGURES = 7
"""Significant figures of the values that are tried, and told."""
FORMATS = ("fp8", "nvfp4")
"""Formats of KV caches that are tried, the larger first."""


LEAST_SHARE = "least share served of "


@dataclass(frozen=True)
class Lever:
    """Something that a planner can move, and what moving it changes in the case.

    Attributes:
        name: in words.
        unit: of the value.
        start, far: what stands, and the most that is tried.
        put: the change that puts a value.
        whole: whether only whole numbers make sense.
        eases: whether it is a limit or promise that may be moved together with others.
        guess: a value that is likely to be enough, or NaN.
    """

    name: str
    unit: str
    start: float
    far: float
    put: Callable[[float], Change]
    whole: bool = False
    eases: bool = True
    guess: float = math.nan

    def at(self, moved: float) -> float:
        """The value when it is moved by so much, as it is told: rounded away from what stands."""
        value = self.start + math.copysign(moved, self.far - self.start)
        if self.whole or value == 0.0:
            return float(round(value))
        scale = 10.0 ** (FIGURES - 1 - math.floor(math.log10(abs(value))))
        away = math.ceil if self.far > self.start else math.floor
        return away(value * scale * (1.0 - 1e-12 if self.far > self.start else 1.0 + 1e-12)) / scale

    def plainest(self, low: float, high: float) -> float:
        """The move beyond ``low``, and by ``high`` at most, that leads to the value with the fewest figures."""
        way = math.copysign(1.0, self.far - self.start)
        for figures in range(1, FIGURES):
            value = float(f"{self.start + way * high:.{figures}g}")
            if low < way * (value - self.start) <= high:
                return way * (value - self.start)
        return high

    @property
    def most(self) -> float:
        """By how much it is moved at most."""
        return abs(self.far - self.start)


@dataclass(frozen=True)
class Choice:
    """Something that can be had otherwise: another format, another pool."""

    name: str
    what: str
    change: Change


def levers(case: Case, instance: Instance, short: Sequence[Short]) -> list[Lever]:
    """Everything that is moved by a number, what the causes of the shortfall name first.

    Args:
        short: who is short in planned quarters; nobody where the case has no plan: what must be served of workloads is
            a lever then, as are their promises.
    """
    made = [*_limits(case, instance), *_links(case), *_offers(case), *_budgets(case)]
    asked: dict[str, set[str]] = {}
    for s in short:
        asked.setdefault(s["workload"], set()).add(s["quarter"])
    if not short:  # a case without any plan may have none because of what must be served
        least = list(_least_shares(case))
        made += least
        asked = {lever.name.removeprefix(LEAST_SHARE): {str(q) for q in case.planned} for lever in least}
    for workload, quarters in asked.items():
        made += _promises(case, instance, workload, quarters)
    made += _lead_times(case)
    causes = " ".join(s["cause"] for s in short)
    return sorted(made, key=lambda lever: lever.name.split(" at ")[0].split(" of ")[0] not in causes)


def choices(case: Case, short: Sequence[Short]) -> list[Choice]:
    """Other KV formats of what is short, losses it need not survive, any order, and SKUs the case may not buy."""
    found = [
        Choice(f"KV format of {row['workload']}", f"{row['kv_format']} → {name}",
               {f"workloads/{row['workload']}/kv_format": name})
        for row in case.tables["workloads"].to_dict("records")
        if row["workload"] in {s["workload"] for s in short}
        for name in FORMATS
        if name != row["kv_format"]
    ]  # fmt: skip
    found += [
        Choice(f"{column} of {row['workload']}", f"{row[column]} → none",
               {f"workloads/{row['workload']}/{column}": "none"})
        for row in case.tables["workloads"].to_dict("records")
        if row["workload"] in {s["workload"] for s in short}
        for column in ("resilience", "cache_loss")
        if row[column] != "none"
    ]  # fmt: skip
    for sku in case.settings.may_buy:
        least = case.catalogue.sku(sku).min_order
        if least > 1:
            found.append(Choice(f"minimum order of {sku}", f"{least:g} → 1", {f"hardware/{sku}/min_order": 1}))
    bought = set(case.settings.may_buy)
    found += [
        Choice(f"pool {name}", "may be bought", {"case/may_buy": " ".join([*case.settings.may_buy, name])})
        for name, sku in sorted(case.catalogue.skus.items())
        if sku.kind == SkuKind.GPU and name not in bought
    ]
    return found


def _limits(case: Case, instance: Instance) -> Iterable[Lever]:
    """What sites hold and suppliers sell."""
    sites: dict[str, list[dict[str, Any]]] = {}
    for row in case.tables["sites"].to_dict("records"):
        sites.setdefault(str(row["site"]), []).append({str(name): cell for name, cell in row.items()})
    for site, rows in sites.items():
        for resource in Resource:
            cells = [(f"sites/{site}/{row['from_quarter']}/{resource}", float(row[resource])) for row in rows]
            start = cells[0][1]
            if math.isfinite(start) and start > 0:
                yield Lever(f"{resource.word} at {site}", resource.unit, start, FAR * start, _scaled(cells, start))
        cells = [(f"sites/{site}/{row['from_quarter']}/pods_max", float(row["pods_max"])) for row in rows]
        pods = cells[0][1]
        yield Lever(f"pods at {site}", "pods", pods, pods + MOST_PODS, _added(cells, pods), whole=True)
    for sku in instance.rows(SkuRow):
        cells = [(f"hardware/{sku.sku}/supply_per_quarter", sku.supply_per_quarter)]
        cells += [
            (f"supply/{row.sku}/{row.quarter}/most_units", float(row.most_units))
            for row in Supply.rows(case.tables["supply"])
            if row.sku == sku.sku
        ]
        cells = [cell for cell in cells if math.isfinite(cell[1])]
        if cells and sku.sku in case.settings.may_buy:
            most = cells[0][1]
            far = most + (FAR - 1.0) * max(max(units for _, units in cells), 1.0)
            yield Lever(f"supply of {sku.sku}", "units", most, far, _added(cells, most), whole=True)


def _links(case: Case) -> Iterable[Lever]:
    """What links carry, all rows of one direction in proportion."""
    ways: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for row in case.tables["links"].to_dict("records"):
        way, gbit_per_s = (str(row["from_site"]), str(row["to_site"])), float(row["bandwidth_gbit_per_s"])
        if gbit_per_s > 0:
            path = f"links/{way[0]}/{way[1]}/{row['from_quarter']}/bandwidth_gbit_per_s"
            ways.setdefault(way, []).append((path, gbit_per_s))
    for (sends, receives), cells in ways.items():
        start = cells[0][1]
        name = f"link bandwidth of {sends} to {receives}"
        yield Lever(name, "Gbit/s", start, FAR * start, _scaled(cells, start))


def _offers(case: Case) -> Iterable[Lever]:
    """How many units an offer of rent has at once."""
    for row in case.tables["rent"].to_dict("records"):
        most, path = float(row["most_units"]), f"rent/{row['offer']}/most_units"
        yield Lever(f"rent of {row['offer']}", "units", most, FAR * most, _cell(path), whole=True)


def _budgets(case: Case) -> Iterable[Lever]:
    """Budgets of all planned quarters in proportion, told as that of the first that has one: capital, operating."""
    planned = {str(quarter) for quarter in case.planned}
    rows = [row for row in case.tables["budget"].to_dict("records") if row["quarter"] in planned]
    for name, column in (("budget", "budget_usd"), ("operating budget", "opex_usd")):
        stated = [(str(row["quarter"]), float(row[column])) for row in rows]
        cells = [(quarter, usd) for quarter, usd in stated if math.isfinite(usd) and usd > 0]
        if cells:
            quarter, usd = cells[0]
            put = _scaled([(f"budget/{q}/{column}", now) for q, now in cells], usd)
            yield Lever(f"{name} of {quarter}, others in proportion", "USD", usd, FAR * usd, put)


def _least_shares(case: Case) -> Iterable[Lever]:
    """The least shares that workloads ask for."""
    for row in case.tables["workloads"].to_dict("records"):
        share = float(row["min_served_share"])
        if share > 0:
            path = f"workloads/{row['workload']}/min_served_share"
            yield Lever(f"{LEAST_SHARE}{row['workload']}", "of its requests", share, 0.0, _cell(path))


def _promises(case: Case, instance: Instance, workload: str, short: set[str]) -> Iterable[Lever]:
    """What a workload is promised, how much of it there is, and when it begins."""
    workloads = case.tables["workloads"]
    row = workloads[workloads["workload"] == workload].iloc[0]
    ttft_s = float(row["ttft_s"])
    if math.isfinite(ttft_s):
        best, names = instance.of(at_best), [str(quarter) for quarter in case.quarters]
        reached = [best[t, w].reached_s for t, w in best if w == workload and names[t] in short]
        guess = max((s for s in reached if s > ttft_s and math.isfinite(s)), default=math.nan)
        path = f"workloads/{workload}/ttft_s"
        far = max(FAR * ttft_s, 1.0 if math.isnan(guess) else 2.0 * guess)
        yield Lever(f"time to first token of {workload}", "s", ttft_s, far, _cell(path), guess=guess)
    speeds = [(f"workloads/{workload}/{name}", float(row[name])) for name in ("tps_user", "tps_thinking", "tps_burst")]
    speeds = [(path, tps) for path, tps in speeds if tps > 0]
    if speeds:
        tps = speeds[0][1]
        yield Lever(f"TPS/User of {workload}", "tokens/s", tps, SLOWEST * tps, _scaled(speeds, tps))
    load = load_cells(case, workload)
    yield Lever(f"load of {workload}", "of the forecast", 1.0, 0.0, _scaled(load, 1.0), eases=False)
    if len(case.planned) > 1:
        yield Lever(
            f"start of {workload}", "quarters later", 0.0, float(len(case.planned) - 1), _starts(case, workload),
            whole=True, eases=False,
        )  # fmt: skip


def _lead_times(case: Case) -> Iterable[Lever]:
    """Everything that may be bought so many quarters sooner."""
    leads = {sku: float(case.catalogue.sku(sku).lead_quarters) for sku in case.settings.may_buy}
    most = math.ceil(max(leads.values(), default=0.0))
    if most > 0:

        def put(quarters: float) -> Change:
            return {f"hardware/{s}/lead_quarters": max(0.0, lead - quarters) for s, lead in leads.items() if lead > 0}

        yield Lever("delivery", "quarters sooner", 0.0, float(most), put, whole=True, eases=False)


def load_cells(case: Case, workload: str, quarters: Iterable[str] | None = None) -> list[tuple[str, float]]:
    """Cells of the forecast that say how much a workload asks for, and what they say."""
    rows = case.given_tables["forecast"]
    mine = rows[rows["workload"].astype(str) == workload]
    wanted = None if quarters is None else set(quarters)
    return [
        (f"forecast/{workload}/{row['quarter']}/{name}", float(row[name]))
        for row in mine.to_dict("records")
        for name in MEASURES
        if name in row and row[name] == row[name] and row[name] is not None
        and (wanted is None or str(row["quarter"]) in wanted)
    ]  # fmt: skip


def _starts(case: Case, workload: str) -> Callable[[float], Change]:
    planned = [str(quarter) for quarter in case.planned]

    def put(quarters: float) -> Change:
        return {path: 0.0 for path, _ in load_cells(case, workload, planned[: round(quarters)])}

    return put


def _cell(path: str) -> Callable[[float], Change]:
    return lambda value: {path: value}


def _scaled(cells: Sequence[tuple[str, float]], start: float) -> Callable[[float], Change]:
    return lambda value: {path: now * (value / start) for path, now in cells}


def _added(cells: Sequence[tuple[str, float]], start: float) -> Callable[[float], Change]:
    return lambda value: {path: now + (value - start) for path, now in cells}
