"""Rent by trying every contract: so many units of an offer from one quarter to another, paid for its term at least."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from procure.quarter import HOURS_PER_QUARTER, Quarter


class Contract(NamedTuple):
    """Units of an offer that stand from ``first`` to ``last`` and are paid for until ``paid``."""

    offer: str
    count: int
    first: int
    last: int
    paid: int


class Offers:
    """The offers of a case, and every way to take them."""

    def __init__(self, case: Any) -> None:
        self.case, self.end = case, len(case.quarters)
        self.start = case.quarters[0].index
        self.offers = {r.offer: r for r in case.tables["rent"].itertuples()}
        self.running = list(case.tables["rented"].itertuples())

    def window(self, offer: Any) -> range:
        """Quarters of the horizon in which the units of an offer may stand."""
        begins = (offer.from_quarter, self.case.catalogue.sku(offer.sku).available_from)
        first = max([0, *(Quarter(q).index - self.start for q in begins if q)])
        last = self.end - 1 if not offer.to_quarter else min(Quarter(offer.to_quarter).index - self.start, self.end - 1)
        return range(first, last + 1)

    def contracts(self, offer: Any) -> list[Contract]:
        """One unit each, from any quarter to any later one that leaves room for the term."""
        window, term = self.window(offer), offer.min_term_quarters
        closes = Quarter(offer.to_quarter).index - self.start if offer.to_quarter else math.inf
        found = []
        for first in window:
            if first < math.ceil(offer.lead_quarters) or first + term - 1 > closes:
                continue
            for last in range(min(first + term - 1, window[-1]), window[-1] + 1):
                found.append(Contract(offer.offer, 1, first, last, max(last, first + term - 1)))
        return found

    def kept(self, row: Any) -> list[Contract]:
        """Ways in which one unit that is rented when the plan begins may end."""
        first, until = (Quarter(q).index - self.start for q in (row.from_quarter, row.until_quarter))
        last = self.window(self.offers[row.offer])[-1]
        return [Contract(row.offer, 1, first, q, max(q, until)) for q in range(min(until, last), last + 1)]

    def plans(self) -> Iterator[tuple[Contract, ...]]:
        """Every set of contracts within what the offers have at once; one for those that stand and pay alike."""
        ends = [list(itertools.combinations_with_replacement(self.kept(row), int(row.count))) for row in self.running]
        new = [list(self.filled((), self.contracts(offer))) for offer in self.offers.values()]
        seen = set()
        for picks in itertools.product(*ends, *new):
            taken = tuple(contract for part in picks for contract in part)
            stand = [tuple(sorted(self.units(taken, t).items())) for t in range(self.end)]
            alike = (*stand, *sorted(self.payments(taken).items()), *sorted(self.payments(taken, of="capital").items()))
            if self.fit(taken) and alike not in seen:
                seen.add(alike)
                yield taken

    def filled(self, taken: tuple[Contract, ...], ways: list[Contract]) -> Iterator[tuple[Contract, ...]]:
        """What was taken with every further number of units of the ways that are left."""
        if not ways:
            yield taken
            return
        while self.fit(taken):
            yield from self.filled(taken, ways[1:])
            taken = (*taken, ways[0])

    def fit(self, taken: tuple[Contract, ...]) -> bool:
        return all(
            sum(c.first <= t <= c.last for c in taken if c.offer == name) <= offer.most_units
            for name, offer in self.offers.items()
            for t in range(self.end)
        )

    def units(self, taken: tuple[Contract, ...], t: int) -> dict[tuple[str, str], int]:
        """Units by site and SKU in a quarter."""
        found: dict[tuple[str, str], int] = defaultdict(int)
        for c in taken:
            if c.first <= t <= c.last:
                found[self.offers[c.offer].site, self.offers[c.offer].sku] += c.count
        return found

    def price(self, name: str) -> float:
        """USD for one unit and quarter."""
        offer = self.offers[name]
        if math.isfinite(offer.usd_per_gpu_hour):
            return float(offer.usd_per_gpu_hour * self.case.catalogue.sku(offer.sku).gpus * HOURS_PER_QUARTER)
        if math.isfinite(offer.usd_per_unit_hour):
            return float(offer.usd_per_unit_hour * HOURS_PER_QUARTER)
        return float(offer.usd_per_unit_month * 3)

    def payments(self, taken: tuple[Contract, ...], *, of: str = "") -> dict[int, float]:
        """USD by quarter, the horizon's and later ones; of all offers, or of those charged to ``of``."""
        paid: dict[int, float] = defaultdict(float)
        for c in taken:
            if of in ("", self.offers[c.offer].charged_to):
                for t in range(max(c.first, 0), c.paid + 1):
                    paid[t] += c.count * self.price(c.offer)
        return paid
