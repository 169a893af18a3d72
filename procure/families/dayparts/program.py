"""Parts of the day in the program: work that may wait is placed in clock hours, its requests of the day in all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pandas as pd

from procure.plan.plan import frame
from procure.program.day import add_way, day_of, share_in
from procure.program.decided import TINY, Decided
from procure.program.declare import block_rows, recourse
from procure.program.index import Index, Option, Point, group
from procure.program.linear import Terms
from procure.program.part import Part
from procure.program.present import at_work, ways_of
from procure.quarter import HOURS_PER_DAY
from procure.schema import RECOMPUTE, Role, SkuKind
from procure.timekey import TimeKey, totals


def placed_ways(index: Index) -> tuple[list[tuple[Point, str]], list[tuple[Option, str]]]:
    """Points and ways to prefill in full of workloads that are placed, with their sites."""
    waits = index.of(day_of).waits
    points = [(p, site) for p, site in index.serve if p.workload in waits]
    return points, [(o, site) for o, site in index.prefill if o.workload in waits and o.store == RECOMPUTE]


def add_variables(m: Any, index: Index) -> None:
    """placed_decode[point, site, hours] and placed_prefill[option, site, hours]: recourse.

    Shares of the mean rate of the bucket that run in a part of the day: all of a day's requests in h hours are 24/h.
    """
    day = index.of(day_of)
    decode, fill = (
        [(name, site, at.within(part)) for name, site, at in ways for part in day.hours]
        for ways in (
            [(p.point, site, p.at) for p, site in index.of(placed_ways)[0]],
            [(o.option, site, o.at) for o, site in index.of(placed_ways)[1]],
        )
    )

    def most(m: Any, name: str, site: str, at: TimeKey) -> tuple[float, float]:
        return 0.0, HOURS_PER_DAY / day.hours[at.hours]

    m.placed_decode = recourse(decode, bounds=most)
    m.placed_prefill = recourse(fill, bounds=most)


def decode_over_day(m: Any, index: Index) -> None:
    """What is placed in the parts of the day is what is served of the day.

        Σ_d hours[d]/24 · placed[p,s,d] = serve[p,s]        for every point p and way to prefill in full o

    Shares of the mean rate of the bucket.
    """
    day = index.of(day_of)

    def whole(m: Any, row: Terms, placed: Any, key: tuple[str, str, TimeKey]) -> Any:
        for part, hours in day.hours.items():
            row.add(hours / HOURS_PER_DAY, placed[(*key[:2], key[2].within(part))])
        return row.equal(0.0)

    def decode(m: Any, point: str, site: str, at: TimeKey) -> Any:
        row = Terms()
        row.add(-1.0, m.serve[point, site])
        return whole(m, row, m.placed_decode, (point, site, at))

    def prefill(m: Any, option: str, site: str, at: TimeKey) -> Any:
        row = Terms()
        row.add(-1.0, m.prefill[option, site])
        return whole(m, row, m.placed_prefill, (option, site, at))

    points, options = index.of(placed_ways)
    m.decode_over_day = block_rows([(p.point, site, p.at) for p, site in points], rule=decode)
    m.prefill_over_day = block_rows([(o.option, site, o.at) for o, site in options], rule=prefill)


def prefill_in_its_hours(m: Any, index: Index) -> None:
    """Requests are prefilled in the hours in which they are decoded, and sent over links in those hours.

        Σ_o placed[o,s,d] + Σ_{o from a store} prefill[o,s] − Σ_{o,s'} ship[o,s→s'] + Σ_{o,s'} ship[o,s'→s]
            = Σ_p placed[p,s,d]                                                    for every t, s, w, b, d
        Σ_{s'} ship[o,s→s'] ≤ placed[o,s,d]                                        for every o, s, d

    Shares of the mean rate of the bucket, w that may wait. What reads a store or is sent over a link comes evenly over
    the day, so that stores and links, which count it at its mean, hold in every hour.
    """
    day = index.of(day_of)
    ways: list[tuple[Point | Option, str]] = [*index.serve, *index.prefill]
    waits = group((x for x in ways if x[0].workload in day.waits), _bucket)
    ships = [pair for pair in index.ships if pair.workload in day.waits]
    sent = group(ships, lambda pair: (pair.at, pair.from_site, pair.workload, pair.bucket))
    received = group(ships, lambda pair: (pair.at, pair.to_site, pair.workload, pair.bucket))
    by_option = group(ships, lambda pair: (pair.option, pair.from_site, pair.at))

    def rule(m: Any, at: TimeKey, *place: str) -> Any:
        row, key = Terms(), (at.block, *place)
        for way in waits[key]:
            add_way(m, index, row, -1.0 if isinstance(way[0], Point) else 1.0, way, at)
        row.extend(-1.0, (m.ship[pair.key] for pair in sent.get(key, [])))
        row.extend(1.0, (m.ship[pair.key] for pair in received.get(key, [])))
        return row.equal(0.0)

    def leaves(m: Any, option: str, site: str, at: TimeKey) -> Any:
        row = Terms()
        row.extend(1.0, (m.ship[pair.key] for pair in by_option[option, site, at.block]))
        row.add(-1.0, m.placed_prefill[option, site, at])
        return row.at_most(0.0)

    keys = [(key[0].within(part), *key[1:]) for key in sorted(waits) for part in day.hours]
    m.prefill_in_its_hours = block_rows(keys, rule=rule)
    sends = [(*key[:2], key[2].within(part)) for key in sorted(by_option) for part in day.hours]
    m.sent_in_its_hours = block_rows(sends, rule=leaves)


def _bucket(way: tuple[Point | Option, str]) -> tuple[TimeKey, str, str, str]:
    return way[0].at, way[1], way[0].workload, way[0].bucket


def kept_in_every_part(m: Any, index: Index) -> None:
    """Caches of work that may wait are of requests that run evenly over the day.

        Σ_g R[t,w]·kept[t,s,w,0,g] ≤ Σ_{b,p} rate·placed[p,s,d]        for every t, s, w that may wait, d

    Shares of the workload's mean rate.
    """
    day = index.of(day_of)
    stores = group((k for k in index.kept if k[3] == 0 and k[2] in day.waits), lambda k: k[:3])
    serving = group(index.of(placed_ways)[0], lambda x: (x[0].at, x[1], x[0].workload))

    def rule(m: Any, at: TimeKey, site: str, workload: str) -> Any:
        row, block = Terms(), at.block
        row.extend(1.0, (m.kept[k] for k in stores[block, site, workload]))
        for way in serving.get((block, site, workload), []):
            add_way(m, index, row, -way[0].rate / index.load_rate[block, workload], way, at)
        return row.at_most(0.0)

    keys = [(at.within(part), site, w) for at, site, w in sorted(stores) for part in day.hours]
    m.kept_in_every_part = block_rows(keys, rule=rule)


def deferred(d: Decided) -> pd.DataFrame:
    """What of the work that may wait runs in which part of the day."""
    rows: list[tuple[Any, ...]] = []
    points, options = d.index.of(placed_ways)
    for part in d.index.of(day_of).hours:
        for p, site in points:
            rate = d.value(d.m.placed_decode[p.point, site, p.at.within(part)]) * p.rate
            if rate > TINY * p.rate:
                rows.append((d.names[p.at.t], site, p.workload, p.bucket, Role.DECODE.value, p.sku, p.point, part, rate,
                             rate * p.rack_s, rate * p.lpx_rack_s, *p.at.beside))  # fmt: skip
        for o, site in options:
            rate = d.value(d.m.placed_prefill[o.option, site, o.at.within(part)]) * o.rate
            if rate > TINY * o.rate:
                rows.append((d.names[o.at.t], site, o.workload, o.bucket, Role.PREFILL.value, o.sku, "", part, rate,
                             rate * o.rack_s, 0.0, *o.at.beside))  # fmt: skip
    return frame("deferred", rows)


def day(d: Decided) -> pd.DataFrame:
    """Racks that work keeps busy in each part of the day, by pool, and those that may be busy."""
    parts, sku = d.index.of(day_of), d.index.sku
    if not parts.of_peak and not parts.waits:
        return frame("day", [])
    cap = d.index.instance.settings["utilisation_cap"]
    copies = totals(d.table("lpx_copies"), ["quarter", "site", "sku"], "racks")
    busy: dict[tuple[str, str, TimeKey], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for what, site, name, at, racks in _in_parts(d):
        busy[site, name, at][what.workload in parts.waits] += racks
    rows = []
    for (site, name, at), (load, placed) in busy.items():
        if sku[name].kind is SkuKind.GPU:
            usable = sku[name].usable_share * at_work(d, site, name, at.t)
        else:
            usable = cap * copies.get((d.names[at.t], site, name), 0.0)
        rows.append(
            (d.names[at.t], site, name, at.hours, parts.hours[at.hours], load, placed, usable, *at.beside)
        )  # fmt: skip
    return frame("day", rows)


def _in_parts(d: Decided) -> Iterator[tuple[Point | Option, str, str, TimeKey, float]]:
    """Way, site, SKU, hours of a block, and the racks of the SKU that the way keeps busy in them."""
    parts = d.index.of(day_of)
    for site, sku, at in sorted({*d.index.serve_by_pool, *d.index.prefill_by_pool}):
        for what, _ in ways_of(d.index, (site, sku, at)):
            for part in parts.hours:
                hours = at.within(part)
                share = share_in(d, (what, site), hours)
                if share > TINY:
                    yield what, site, sku, hours, share * what.rate * what.rack_s
                    if isinstance(what, Point) and what.lpx_sku:
                        yield what, site, what.lpx_sku, hours, share * what.rate * what.lpx_rack_s


PROGRAM = Part(
    (decode_over_day, prefill_in_its_hours, kept_in_every_part),
    add_variables,
    tables={"deferred": deferred, "day": day},
)
