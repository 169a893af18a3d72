"""The best plan of a tiny case by trying every one: fleets by enumeration, service by its own linear program.

Money is counted payment by payment for each plan, as docs and design say it: price of the delivery quarter and attach,
an order milestone with the order, the rest and installation on delivery; support, idle power, power of the load, and
space while a unit stands; straight-line residual values times a haircut at the end. A sale brings that less a spread
some quarters later, costs a removal, and leaves the unit in its place, idle, until it is removed.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from oracle_once import once
from oracle_quarter import Fleet, State, Units, load_cost, short_price
from oracle_rent import Contract, Offers
from oracle_rows import Rows
from oracle_service import Service

from procure.quarter import HOURS_PER_QUARTER, Quarter

SLACK = 1e-9
SERVED = 2e-5
"""Share of a workload that may be unserved without counting, where everything is to be served."""


@dataclass(frozen=True)
class Batch:
    """Units that arrive together: existing, on firm order, or bought."""

    site: str
    sku: str
    count: int
    vintage: int
    paid_usd: float
    support_usd: float


@dataclass(frozen=True)
class Choice:
    """What a plan decides beside the service: orders, sales and expansions with their units, contracts of rent."""

    bought: dict[Any, int]
    sold: dict[Any, int]
    grown: dict[Any, int]
    rented: tuple[Contract, ...]


class BruteForce:
    """Every plan of a case. ``most`` bounds an order by SKU; the case's own limits must make it no restriction."""

    def __init__(self, case: Any, most: dict[str, int]) -> None:
        self.case, self.s, self.most = case, case.settings, most
        self._kept: dict[Any, Any] = {}
        self.service = Service(case)
        self.quarters = case.quarters
        self.end = len(self.quarters)
        self.planned = len(case.planned)
        self.start = self.quarters[0].index
        self.rate = case.settings.discount_rate_per_year
        self.sites = sorted(self.service.site)
        self.offers = Offers(case)
        self.fixed = [
            (Batch(r.site, r.sku, int(r.count), Quarter(r.in_service).index - self.start,
                   self.alone(r.sku, r.paid_usd_per_unit),
                   self.support(r.sku, self.alone(r.sku, r.paid_usd_per_unit))),
             bool(r.retirable) and self.s.resale != "none", 0.0)
            for r in self.service.records["fleet"]
        ] + [
            (Batch(r.site, r.sku, int(r.count), Quarter(r.delivery).index - self.start,
                   self.alone(r.sku, r.price_usd_per_unit),
                   self.support(r.sku, self.alone(r.sku, r.price_usd_per_unit))), self.s.resale == "all",
             r.price_usd_per_unit * (1 - r.paid_share))
            for r in self.service.records["orders"]
        ]  # fmt: skip
        self._stands: dict[Any, bool] = {}
        self._held = [self._reserved(str(q)) for q in self.quarters]
        self._served: dict[Any, Any] = {}

    def sku(self, name: str) -> Any:
        return self.case.catalogue.sku(name)

    def alone(self, sku: str, paid: float) -> float:
        """What was paid for the unit itself: neither its network nor its installation can be sold with it."""
        return max(paid - self.sku(sku).attach_usd - self.sku(sku).install_usd, 0.0)

    @once
    def support(self, sku: str, paid: float) -> float:
        return paid * self.sku(sku).support_per_year / 4

    def factor(self, t: int) -> float:
        return (1 + self.rate) ** (-t / 4)

    def residual(self, batch: Batch, t: int) -> float:
        """USD that one unit of a batch is worth in a quarter."""
        sku = self.sku(batch.sku)
        return batch.paid_usd * max(0.0, 1 - (t - batch.vintage) / (4 * sku.life_years)) * sku.haircut

    def left_of(self, of: str, paid: float, ready: int) -> float:
        """Present USD at the end of what was bought beside units, by its class."""
        life, haircut = (float(self.case.catalogue.fact(of, what).value) for what in ("life_years", "haircut"))
        return paid * max(0.0, 1 - (self.end - ready) / (4 * life)) * haircut * self.factor(self.end)

    def price_got(self, batch: Batch, t: int) -> float:
        """Present USD for one unit of a batch that is sold in a quarter, less what its removal costs."""
        sku = self.sku(batch.sku)
        price = self.residual(batch, t) * (1 - sku.resale_spread)
        return price * self.factor(t + math.ceil(sku.resale_delay_quarters)) - sku.removal_usd * self.factor(t)

    def may_leave(self, sku: str, vintage: int) -> range:
        """Quarters in which a unit that came in quarter ``vintage`` may be sold."""
        return range(max(vintage + math.ceil(self.sku(sku).resale_lockup_quarters), 0), self.end)

    def still_there(self, batch: Batch, t: int) -> range:
        """Quarters in which a unit that is sold in quarter ``t`` is not yet removed."""
        return range(t, min(t + math.ceil(self.sku(batch.sku).removal_quarters), self.end))

    def orders(self) -> list[tuple[str, str, int, int]]:
        """(site, sku, quarter of order, quarter of delivery) that can be placed."""
        found = []
        for site, name in itertools.product(sorted(set(self.case.tables["sites"]["site"])), sorted(self.s.may_buy)):
            sku = self.sku(name)
            lead = math.ceil(sku.lead_quarters)
            for t in range(self.end - lead):
                if sku.available_from and self.quarters[t + lead] < Quarter(sku.available_from):
                    continue
                if sku.last_order and self.quarters[t] > Quarter(sku.last_order):
                    continue
                if sku.footprint_m2 and sku.weight_kg / sku.footprint_m2 > self.service.site[site].floor_load_kg_per_m2:
                    continue
                found.append((site, name, t, t + lead))
        return found

    def expansions(self) -> list[tuple[Any, int, str]]:
        """Steps, the quarter in which they can be ordered, and the reservation that keeps them until then, if any."""
        kept = [
            (step, t, r.reservation)
            for r in self.service.records["reservations"] if r.counted_on
            for step in self.service.records["expansions"] if (step.site, step.expansion) == (r.site, r.expansion)
            for t, quarter in enumerate(self.quarters)
            if Quarter(step.order_until) < quarter <= Quarter(r.until_quarter)
            and t + math.ceil(step.lead_quarters) < self.end
        ]  # fmt: skip
        return kept + [
            (r, t, "")
            for r in self.service.records["expansions"]
            for t in range(self.end)
            if t + math.ceil(r.lead_quarters) < self.end
            and not (isinstance(r.order_until, str) and self.quarters[t] > Quarter(r.order_until))
        ]

    def choices(self) -> Iterator[Choice]:
        """Every combination of orders, sales, expansions and rent that suppliers, buyers and budget allow."""
        for bought, grown, rented in itertools.product(self.taken(), list(self.halls()), list(self.offers.plans())):
            if self.affordable(bought, grown, rented):
                yield from (Choice(bought, sold, grown, rented) for sold in self.sales(bought))

    def taken(self) -> Iterator[dict[Any, int]]:
        """Orders that a supplier takes: it sees one of a quarter, whatever sites its units go to."""
        orders = self.orders()
        for pick in itertools.product(*(range(self.most[name] + 1) for _, name, *_ in orders)):
            together: dict[Any, int] = defaultdict(int)
            for (_, name, t, _), n in zip(orders, pick, strict=True):
                together[name, t] += n
            if all(not n or self.sku(name).min_order <= n <= self.supplied(name, t)
                   for (name, t), n in together.items()):  # fmt: skip
                yield {o: n for o, n in zip(orders, pick, strict=True) if n}

    def supplied(self, name: str, t: int) -> float:
        """Units that can be ordered in a quarter: what the case says of their delivery, or the usual."""
        arrives = str(self.quarters[t + math.ceil(self.sku(name).lead_quarters)])
        said = [r.most_units for r in self.service.records["supply"] if (r.sku, r.quarter) == (name, arrives)]
        return float(said[0] if said else self.sku(name).supply_per_quarter)

    def sales(self, bought: dict[Any, int]) -> Iterator[dict[Any, int]]:
        """Units sold by batch (its number or order) and quarter: no more than there are, as buyers and rules allow."""
        batches = [
            [
                {(name, t): n for t, n in zip(quarters, pick, strict=True) if n}
                for pick in itertools.product(range(most + 1), repeat=len(quarters))
                if sum(pick) <= batch.count
            ]
            for name, batch in self.batches(bought).items() if self.may_sell(name)
            for quarters in [self.may_leave(batch.sku, batch.vintage)]
            for most in [min(batch.count, self.sku(batch.sku).resale_per_quarter)]
        ]  # fmt: skip
        for part in itertools.product(*batches):
            sold = {x: n for some in part for x, n in some.items()}
            if self.tradable(bought, sold):
                yield sold

    def may_sell(self, name: Any) -> bool:
        """Whether the case lets units of a batch be sold, by its number or order."""
        return self.s.resale == "all" if isinstance(name, tuple) else self.fixed[name][1]

    def halls(self) -> Iterator[dict[Any, int]]:
        """Expansions ordered by row and quarter, of each no more than there may be."""
        expansions = self.expansions()
        most = {r.reservation: r.most_steps for r in self.service.records["reservations"]}
        for pick in itertools.product(*(range(int(r.max_count) + 1) for r, _, _ in expansions)):
            built: dict[Any, int] = defaultdict(int)
            for (r, _, by), n in zip(expansions, pick, strict=True):
                built[r] += n
                built[by] += n
            if all(n <= (most.get(r, n) if isinstance(r, str) else r.max_count) for r, n in built.items()):
                yield {(r.Index, t, by): n for (r, t, by), n in zip(expansions, pick, strict=True) if n}

    def best(self) -> tuple[float, float, float]:
        """Least shortfall in basis points, and the cost in USD at it and a little above (see below)."""
        fitting = []
        for choice in self.choices():
            states = self.states(choice)
            gone = self.leaving(choice.bought, choice.sold)
            if not all(self.settles(t, own, gone[t], choice) for t, own in enumerate(states)):
                continue
            rooms = self.rooms(choice, states, gone)
            if min(rooms) < 0:
                continue
            short = sum(self.serve(t, states[t], rooms[t])[0] for t in range(self.planned))
            if short == math.inf:
                continue
            fitting.append((short, choice, states, rooms))
        assert fitting, "no plan fits"
        least = min(short for short, *_ in fitting)
        priced = sorted(((self.money(*plan[1:3]), plan) for plan in fitting), key=lambda pair: pair[0])
        income = self.income_of_all() if self.s.objective == "max_margin" else 0.0
        costs = [self._least_cost(priced, least, least + slack) - income for slack in (0.0, 2.1e-2)]
        return least, costs[0], costs[1]

    @property
    def ranked(self) -> bool:
        """Whether what planned quarters do not serve counts before money; else it is part of the cost, and 0 bp."""
        return self.s.objective not in ("min_cost_priced", "max_margin")

    def income_of_all(self) -> float:
        """Present USD that everything asked for would bring; what is short brings nothing."""
        return sum(sum(short_price(self.service, t).values()) * self.factor(t) for t in range(self.end))

    def _least_cost(self, priced: list[tuple[float, Any]], least: float, most: float) -> float:
        """Least cost of the plans that are short by at most ``most``.

        Plans come in order of their money without the load. The load and the shortfall cost something or nothing, so
        no plan is cheaper than its money, and the search ends at the first that is not below what was found.
        """
        best = math.inf
        for money, (short, _, states, rooms) in priced:
            if money >= best:
                break
            if least < 1e-6:
                if short < 1e-6:
                    best = min(best, money + sum(self.serve(t, own, rooms[t])[1] for t, own in enumerate(states)))
            elif short <= most + 1e-7:
                best = min(best, money + self.all_quarters(states, rooms, most))
        return best

    def batches(self, bought: dict[Any, int]) -> dict[Any, Batch]:
        """Everything that comes, by batch number or order."""
        new = {
            o: Batch(o[0], o[1], n, o[3], self.price(o[1], o[3]), self.support(o[1], self.price(o[1], o[3])))
            for o, n in bought.items()
        }
        return {**{i: batch for i, (batch, _, _) in enumerate(self.fixed)}, **new}

    @once
    def price(self, sku: str, t: int) -> float:
        return self.case.catalogue.price_usd(sku, self.quarters[t])

    def states(self, choice: Choice) -> list[Units]:
        """Units by site and SKU in every quarter, rented ones among them."""
        own: list[Units] = [Units(self.offers.units(choice.rented, t)) for t in range(self.end)]
        batches, sold = self.batches(choice.bought), choice.sold
        for name, batch in batches.items():
            left = batch.count
            for t in range(max(batch.vintage, 0), self.end):
                left -= sold.get((name, t), 0)
                own[t][batch.site, batch.sku] += left
        return own

    def leaving(self, bought: dict[Any, int], sold: dict[Any, int]) -> list[State]:
        """Units sold and not yet removed, by site and SKU in every quarter."""
        gone: list[State] = [defaultdict(int) for _ in range(self.end)]
        batches = self.batches(bought)
        for (name, t), n in sold.items():
            for q in self.still_there(batches[name], t):
                gone[q][batches[name].site, batches[name].sku] += n
        return gone

    def tradable(self, bought: dict[Any, int], sold: dict[Any, int]) -> bool:
        """No more of a SKU is sold in a quarter than the market takes, and none where it is ordered."""
        batches, by_quarter = self.batches(bought), defaultdict(int)
        for (name, t), n in sold.items():
            by_quarter[batches[name].sku, t] += n
        ordered = {(name, t) for (_, name, t, _) in bought}
        return all(n <= self.sku(k).resale_per_quarter and (k, t) not in ordered for (k, t), n in by_quarter.items())

    def held(self, t: int) -> State:
        """Reserved units."""
        return self._held[t]

    def _reserved(self, quarter: str) -> State:
        found: State = defaultdict(int)
        for r in self.service.records["reserved"]:
            if r.quarter == quarter:
                found[r.site, r.sku] += int(r.count)
        return found

    def settles(self, t: int, own: Units, gone: State, choice: Choice) -> bool:
        """Whether a quarter's units fit, with as few at Max-Q as that takes: those do less, and nothing better."""
        may = {
            place: n - self.held(t).get(place, 0)
            for place, n in own.items()
            if n and self.service.sku[place[1]].kind == "gpu" and self.service.at_maxq(place[1]) < 1
        }
        for pick in sorted(itertools.product(*(range(n + 1) for n in may.values())), key=sum):
            own.slow = {place: n for place, n in zip(may, pick, strict=True) if n}
            if self.stands(t, own, gone, choice):
                return True
        return False

    def stands(self, t: int, own: Units, gone: State, choice: Choice) -> bool:
        """Whether a quarter's units keep to reservations, site limits and structure."""
        lent = self.offers.units(choice.rented, t)
        units = (tuple(sorted((k, n) for k, n in state.items() if n)) for state in (own, gone, lent))
        key = (t, *units, tuple(choice.grown.items()), tuple(sorted(own.slow.items())))
        if key not in self._stands:
            self._stands[key] = self._fits(t, own, gone, lent, choice.grown)
        return self._stands[key]

    def _fits(self, t: int, own: Units, gone: State, lent: State, grown: dict[Any, int]) -> bool:
        for place, n in self.held(t).items():
            if own.get(place, 0) - lent.get(place, 0) < n:
                return False
        for site in set(self.case.tables["sites"]["site"]):
            rows = [r for r in self.service.records["sites"]
                    if r.site == site and Quarter(r.from_quarter) <= self.quarters[t]]  # fmt: skip
            place = max(rows, key=lambda r: Quarter(r.from_quarter))
            working = [(self.sku(name), n) for (s, name), n in own.items() if s == site and n]
            units = working + [(self.sku(name), n) for (s, name), n in gone.items() if s == site and n]
            saved = [(self.sku(name), n * (1 - self.sku(name).power_maxq_kw / self.sku(name).power_kw))
                     for (s, name), n in own.slow.items() if s == site]  # fmt: skip
            units_of_power = [*units, *((replace(k, attach_kw=0.0), -part) for k, part in saved)]
            use = {
                "power_kw": sum(n * (k.power_kw + k.attach_kw) for k, n in units_of_power)
                * (place.pue if place.power_basis == "facility" else 1.0),
                "positions": sum(n * (k.positions + k.attach_positions) for k, n in units),
                "area_m2": sum(n * k.area_m2 for k, n in units),
                "liquid_kw": sum(n * k.liquid_kw for k, n in units_of_power),
                "ports": sum(n * k.ports for k, n in units),
            }
            for resource, used in use.items():
                limit = getattr(place, resource)
                for r in self.service.records["expansions"]:
                    ready = sum(n for (i, o, _), n in grown.items()
                                if i == r.Index and o + math.ceil(r.lead_quarters) <= t)  # fmt: skip
                    if r.site == site and ready:
                        limit += ready * getattr(r, resource)
                if used > limit + SLACK * max(limit, 1.0):
                    return False
            kinds: dict[str, int] = defaultdict(int)
            for k, n in units:
                kinds["pod"] += n * k.pod_slots
                kinds[f"places for {k.kind}"] += n
            for k, n in working:
                kinds[k.kind] += n
                kinds["trays"] += n * k.enclosures_per_rack
                if k.kind == "ssd_kit":
                    kinds[k.host] += n
            for k, _ in working:
                hosts = own.get((site, k.host), 0) - lent.get((site, k.host), 0)  # a rented one goes back as it came
                if k.kind == "ssd_kit" and kinds[k.host] > hosts * self.service.bays(k.host):
                    return False
            pods = place.pods_max
            if kinds["pod"] > pods * self.s.nvl72_per_pod or kinds["places for lpx"] > pods * self.s.lpx_per_pod:
                return False
            if kinds["places for cmx_rack"] > pods * self.s.cmx_racks_per_pod:
                return False
            if not kinds["cmx_rack"] <= kinds["cmx_enclosure"] <= kinds["trays"]:
                return False
        return True

    def payments(self, bought: dict[Any, int], grown: dict[Any, int]) -> dict[int, float]:
        """Capital by quarter of payment, USD, purchases and expansions."""
        paid: dict[int, float] = defaultdict(float)
        for (_, name, t, delivery), n in bought.items():
            sku = self.sku(name)
            hardware = self.price(name, delivery) + sku.attach_usd
            paid[t] += n * sku.milestone_order * hardware
            paid[delivery] += n * ((1 - sku.milestone_order) * hardware + sku.install_usd)
        for (i, t, _), n in grown.items():
            paid[t] += n * next(r.capex_usd for r in self.service.records["expansions"] if r.Index == i)
        return paid

    def affordable(self, bought: dict[Any, int], grown: dict[Any, int], rented: tuple[Contract, ...]) -> bool:
        rows = self.service.records["budget"]
        if not rows:
            return True
        budget = {Quarter(r.quarter).index - self.start: r.budget_usd for r in rows}
        spent: dict[int, float] = defaultdict(float, self.offers.payments(rented, of="capital"))
        if self.s.budget_basis == "commitment":
            for order, n in bought.items():
                spent[order[2]] += sum(self.payments({order: n}, {}).values())
            for t, usd in self.payments({}, grown).items():
                spent[t] += usd
        else:
            for t, usd in self.payments(bought, grown).items():
                spent[t] += usd
            for batch, _, due in self.fixed:
                if due:
                    spent[batch.vintage] += batch.count * due
        purse = 0.0
        for t in range(self.end):
            fresh = self.s.budget_carry == "none" or (
                self.s.budget_carry == "within_year"
                and t > 0
                and self.quarters[t].fiscal_year(self.s.fiscal_year_start)
                != self.quarters[t - 1].fiscal_year(self.s.fiscal_year_start)
            )
            purse = (0.0 if fresh else purse) + budget[t] - spent[t]
            if purse < -1.0:
                return False
        return True

    def money(self, choice: Choice, states: list[Units]) -> float:
        """Net present USD of everything but the load and the shortfall."""
        bought, sold, grown = choice.bought, choice.sold, choice.grown
        total = sum(usd * self.factor(t) for t, usd in self.offers.payments(choice.rented).items())
        total += sum(usd * self.factor(t) for t, usd in self.payments(bought, grown).items())
        for t, (own, gone) in enumerate(zip(states, self.leaving(bought, sold), strict=True)):
            total += self.upkeep(t, [own, gone], grown) * self.factor(t)
        for (_, name, _, delivery), n in bought.items():
            total -= n * self.left_of("network", self.sku(name).attach_usd, delivery)
        for (i, t, _), n in grown.items():
            step = next(r for r in self.service.records["expansions"] if r.Index == i)
            total -= n * self.left_of("facility", step.capex_usd, t + math.ceil(step.lead_quarters))
        for batch, _, due in self.fixed:
            total += batch.count * due * self.factor(max(batch.vintage, 0))
        for name, batch in self.batches(bought).items():
            left = batch.count
            for t in range(max(batch.vintage, 0), self.end):
                if gone_now := sold.get((name, t), 0):
                    left -= gone_now
                    total -= gone_now * self.price_got(batch, t)
                total += left * batch.support_usd * self.factor(t)
            total -= left * self.residual(batch, self.end) * self.factor(self.end)
        return float(total)

    def copies(self, t: int, own: State) -> list[dict[tuple[str, str, str], int]]:
        """Every way to set up LPX copies of the cards."""
        cards = sorted({r.card for r in self.service.records["workloads"]})
        parts = []
        for site, name in itertools.product(self.sites, self.service.lpx):
            need = {c: self.service.racks_per_copy(c, name) for c in cards}
            racks = (own.get((site, name), 0) - self.held(t).get((site, name), 0)) * self.service.up
            pods = self.service.site[site].pods_max
            room = [
                range(min(int(racks // need[c]), pods * (self.s.lpx_per_pod // need[c])) + 1) if need[c] else range(1)
                for c in cards
            ]
            parts.append([
                {(site, c, name): n for c, n in zip(cards, pick, strict=True) if n}
                for pick in itertools.product(*room)
                if sum(n * need[c] for c, n in zip(cards, pick, strict=True)) <= racks + SLACK
            ])  # fmt: skip
        return [{k: n for part in pick for k, n in part.items()} for pick in itertools.product(*parts)]

    def rooms(self, choice: Choice, states: list[Units], gone: list[State]) -> list[float]:
        """USD that the work of each quarter may cost: its operating budget less what stands, rent and support."""
        cap = {Quarter(r.quarter).index - self.start: r.opex_usd for r in self.service.records["budget"]}
        support: dict[int, float] = defaultdict(float, self.offers.payments(choice.rented, of="opex"))
        for name, batch in self.batches(choice.bought).items():
            left = batch.count
            for t in range(max(batch.vintage, 0), self.end):
                left -= choice.sold.get((name, t), 0)
                support[t] += left * batch.support_usd
        found = []
        for t in range(self.end):
            most = cap.get(t, math.nan)
            spent = support[t] + self.upkeep(t, [states[t], gone[t]], choice.grown)
            found.append(most - spent if math.isfinite(most) else math.inf)
        return found

    def upkeep(self, t: int, units: list[Any], grown: dict[Any, int]) -> float:
        """USD of a quarter for idle power of units, with what they drag along, and for the space of their sites."""
        total, stands = 0.0, dict.fromkeys(self.sites, 0.0)
        for (site, name), n in (item for own in units for item in own.items()):
            sku, place = self.sku(name), self.service.site[site]
            power = (sku.power_idle_kw + sku.attach_kw) * place.pue * HOURS_PER_QUARTER
            total += n * power * place.electricity_usd_per_kwh
            stands[site] += n * (sku.power_kw + sku.attach_kw)
        for site in {r.site for r in self.service.records["sites"]}:  # a provider's space is in the rent
            kw = stands[site]
            rows = [r for r in self.service.records["sites"]
                    if r.site == site and Quarter(r.from_quarter) <= self.quarters[t]]  # fmt: skip
            place = max(rows, key=lambda r: Quarter(r.from_quarter))
            taken = place.contracted_kw if math.isfinite(place.contracted_kw) else 0.0
            built = sum(
                n * r.power_kw / (place.pue if place.power_basis == "facility" else 1.0)
                for r in self.service.records["expansions"] for (i, o, by), n in grown.items()
                if i == r.Index and r.site == site and o + math.ceil(r.lead_quarters) <= t
                and (not r.pays_rent or self.kept_by(by) == "early_rent")
            )  # fmt: skip
            total += (taken + max(0.0, kw - taken - built)) * 3 * self.service.site[site].space_usd_per_kw_month
        return total + sum(n * self.keeping(t, r, o, by) for (r, o, by), n in grown.items())

    def kept_by(self, name: str) -> str:
        return {r.reservation: r.instrument for r in self.service.records["reservations"]}.get(name, "")

    def keeping(self, t: int, index: int, order: int, by: str) -> float:
        """USD of a quarter for a step that is, or was, kept on offer until it is ordered: none before its offer ends,
        none after the order but rent, which stays."""
        if not by:
            return 0.0
        r = next(r for r in self.service.records["reservations"] if r.reservation == by)
        step = next(e for e in self.service.records["expansions"] if e.Index == index)
        place = self.service.site[step.site]
        if self.quarters[t] <= Quarter(step.order_until) or (t > order and r.instrument != "early_rent"):
            return 0.0
        if r.usd_per_step_month >= 0:
            return float(3 * r.usd_per_step_month)
        kw = step.power_kw / (place.pue if place.power_basis == "facility" else 1.0)
        return float(3 * r.usd_per_kw_month * kw) if r.usd_per_kw_month >= 0 else 0.0

    def serve(self, t: int, own: Units, room: float) -> tuple[float, float]:
        """Least shortfall of a quarter in basis points, and the cost of the service with the least of it.

        In look-ahead quarters shortfall is part of the cost.
        """
        key = (t, tuple(sorted((k, n) for k, n in own.items() if n)), tuple(sorted(own.slow.items())), round(room, 3))
        if key not in self._served:
            best = (math.inf, math.inf)
            for copies in self.copies(t, own):
                rows = Rows()
                Fleet(self.service, rows, t, own, self.held(t), copies).add()
                self.within(rows, t, room)
                weight = self.weights(t)
                if t < self.planned and self.ranked:
                    short = rows.minimise(weight)
                    if short is None:  # less than a workload's least share
                        continue
                    for name in weight:
                        rows.most[name] = SERVED if short > 1e-6 else 0.0
                    cost = rows.minimise(load_cost(self.service, rows, t))
                    if short > 1e-6 and cost is None:
                        best = min(best, (short, math.inf))
                        continue
                    short = 0.0
                else:
                    short = 0.0
                    cost = rows.minimise({**load_cost(self.service, rows, t), **short_price(self.service, t)})
                if cost is not None:
                    best = min(best, (max(short, 0.0) if short > 1e-6 else 0.0, cost * self.factor(t)))
            self._served[key] = best
        return self._served[key]

    def weights(self, t: int) -> dict[Any, float]:
        return {(t, "short", w): 1e4 * v for (q, w), v in self.service.weight.items() if q == t and v > 0}

    def within(self, rows: Rows, t: int, room: float) -> None:
        """Hold what the work of a quarter costs to what is left for it."""
        if math.isfinite(room):
            rows.at_most(load_cost(self.service, rows, t), room)

    def all_quarters(self, states: list[Units], rooms: list[float], most_short: float) -> float:
        """Least cost of all quarters with a limit on the shortfall over the planned ones."""
        best = math.inf
        for pick in itertools.product(*(self.copies(t, own) for t, own in enumerate(states))):
            rows, cost, weights = Rows(), {}, {}
            for t, own in enumerate(states):
                Fleet(self.service, rows, t, own, self.held(t), pick[t]).add()
                self.within(rows, t, rooms[t])
                cost |= {x: v * self.factor(t) for x, v in load_cost(self.service, rows, t).items()}
                if t < self.planned:
                    weights |= self.weights(t)
                else:
                    cost |= {x: v * self.factor(t) for x, v in short_price(self.service, t).items()}
            rows.at_most(weights, most_short)
            answer = rows.minimise(cost)
            if answer is not None:
                best = min(best, answer)
        return best
