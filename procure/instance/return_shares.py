"""The chance that a return reaches the copy it left, by workload, store and quarter: from the requests in flight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from procure.case.settings import COMPUTED
from procure.demand.routing import HOMES, kept_by_affinity, kept_by_chance
from procure.instance.tables import Age, Length, Prefill, Rate, ReturnShare, Serve, SkuRow
from procure.schema import RECOMPUTE, SkuKind, Tier
from procure.timekey import compensated

if TYPE_CHECKING:
    from procure.case import Case
    from procure.case.settings import Settings

SHARED_HOMES = ("pod", "site")
"""Homes whose store is one for many racks: what is lost inside them is the store's, not the router's."""


class Share(NamedTuple):
    """What a store keeps of the returns of a workload."""

    homes: int
    in_flight_per_home: float
    return_share: float


@dataclass(frozen=True)
class Reach:
    """How returns find their copies in a case.

    Attributes:
        settings: of the case.
        units_per_home: units of each GPU SKU whose caches are one home, by kind of home; ``inf`` where all are.
        crosses_pods: whether the racks of every site read the CMX of all its pods.
        kept_without_affinity: shares of returns that find their home by chance, with each of
            :data:`procure.demand.routing.HOMES`.
    """

    settings: Settings
    units_per_home: Mapping[tuple[str, str], float]
    crosses_pods: bool
    kept_without_affinity: tuple[float, ...]

    @classmethod
    def of(cls, case: Case, skus: pd.DataFrame) -> Reach:
        """Homes from a case and its instance's ``skus``.

        A unit of eight GPUs or less is one tray, and one outside pods is its own pod.
        """
        settings = case.settings
        units: dict[tuple[str, str], float] = {}
        for row in (row for row in SkuRow.rows(skus) if row.kind == SkuKind.GPU):
            trays = row.gpus / settings.gpus_per_tray if row.gpus > NODE_GPUS else 1.0
            pod = settings.nvl72_per_pod / row.pod_slots if row.pod_slots > 0 else 1.0
            units |= {
                (row.sku, "tray"): 1.0 / trays, (row.sku, "rack"): 1.0, (row.sku, "pod"): pod,
                (row.sku, "site"): math.inf,
            }  # fmt: skip
        by_chance = tuple(case.catalogue.premise(f"plain_routing/kept_of_{n}_homes").number for n in HOMES)
        return cls(settings, units, bool(case.tables["sites"]["cmx_crosses_pods"].all()), by_chance)

    def home(self, tier: str) -> str:
        """What one home of a tier is: tray, rack, pod or site."""
        if tier == Tier.CMX:
            return "site" if self.crosses_pods else "pod"
        return str(getattr(self.settings, f"{tier}_home"))

    def share(self, tier: str, sku: str, in_flight: float, units: float) -> Share:
        """What a store keeps of a workload's returns.

            F = k·N / units per home,  H = ⌈F⌉,  m = M/H,  share = f·(1 − ErlangB(m, ⌈m/ρ⌉)), or f where H = 1

        k LLMs share a home, so that each is spread over k times the homes that its work fills. ρ is the load of a home,
        utilisation cap · F/H, over the load at which the router lets a session go; f the fidelity of the router, or of
        a store that many racks share. Without affinity the share is that of placement by load alone.

        Args:
            tier: of the store; a stated share of its reach (``rack_local_return_share``, ``pod_return_share``) is taken
                as it is.
            sku: GPU SKU that works.
            in_flight: requests in flight at the peak, M.
            units: units that the work fills, N.
        """
        home = self.home(tier)
        filled = units * self.settings.llms_per_home / self.units_per_home[sku, home]
        homes = max(math.ceil(filled - 1e-9), 1)
        at_home = in_flight / homes
        stated = self.settings.pod_return_share if tier == Tier.CMX else self.settings.rack_local_return_share
        if stated != COMPUTED:
            return Share(homes, at_home, float(stated))
        sticky = self.settings.routing == "affinity"
        kept = 1.0
        if homes > 1 and at_home > 0:
            load = self.settings.utilisation_cap * filled / homes / self.settings.router_release_load
            kept = kept_by_affinity(at_home, load) if sticky else kept_by_chance(homes, self.kept_without_affinity)
        found = self.settings.shared_store_fidelity if home in SHARED_HOMES else self.settings.router_fidelity
        return Share(homes, at_home, kept * found)


NODE_GPUS = 8
"""GPUs of a server whose trays are no homes of their own."""


READ = ("serve", "prefill", "rates", "lengths", "ages", "stores", "skus")
"""Tables that :func:`return_shares_table` reads."""


def return_shares_table(tables: Mapping[str, pd.DataFrame], case: Case) -> pd.DataFrame:
    """The table ``return_shares``: of each store that a workload's prefill can read.

    Requests in flight and units filled are linear in the load, so that m and ρ do not depend on how many units a plan
    buys: they are those of a unit which is as full as the utilisation cap allows. Taken at each bucket's largest batch,
    with every return that the curve allows prefilled behind its copy; of a store with several readers, the least share.

    Args:
        tables: those named in :data:`READ`.
        case: settings and sites.
    """
    reach = Reach.of(case, tables["skus"])
    usable = dict(zip(tables["skus"]["sku"], tables["skus"]["usable_share"], strict=True))
    tier = dict(zip(tables["stores"]["store"], tables["stores"]["tier"], strict=True))
    found: dict[tuple[int, str, str], Share] = {}
    for (t, workload, store, sku), (seconds, unit_s) in _work(tables).items():
        share = reach.share(tier[store], sku, seconds, unit_s / usable[sku])
        before = found.get((t, workload, store))
        if before is None or share.return_share < before.return_share:
            found[t, workload, store] = share
    return ReturnShare.frame(ReturnShare(*key, *share) for key, share in sorted(found.items()))


def _work(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[int, str, str, str], tuple[float, float]]:
    """Requests in flight and units busy with a workload on the SKU that reads a store, by (t, workload, store, SKU)."""
    rate = {(r.t, r.workload, r.bucket): r.requests_per_s for r in Rate.rows(tables["rates"]) if r.requests_per_s > 0}
    returned = compensated(((r.t, r.workload), r.return_share) for r in Age.rows(tables["ages"]))
    ways = [way for way in Prefill.rows(tables["prefill"]) if (way.t, way.workload, way.bucket) in rate]
    full = {(way.t, way.workload, way.bucket, way.sku): way for way in ways if way.store == RECOMPUTE}
    decode = _decode(tables)
    in_flight, units = [], []
    for hit in ways:
        on = (hit.t, hit.workload, hit.bucket, hit.sku)
        if hit.store == RECOMPUTE or on not in full:
            continue
        key, miss, asked = (hit.t, hit.workload, hit.store, hit.sku), full[on], rate[on[:3]]
        back = min(returned.get(on[:2], 0.0), 1.0)
        decode_s, decode_rack_s = decode.get(on, (0.0, 0.0))
        in_flight.append((key, asked * (decode_s + back * hit.ttft_s + (1.0 - back) * miss.ttft_s)))
        units.append((key, asked * (decode_rack_s + back * hit.rack_s + (1.0 - back) * miss.rack_s)))
    busy = compensated(units)
    return {key: (requests, busy[key]) for key, requests in compensated(in_flight).items()}


def _decode(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[int, str, str, str], tuple[float, float]]:
    """Seconds from the first token to the last and unit-seconds of decode, by bucket and SKU, at the largest batch.

    A SKU decodes with LPX beside it where it cannot alone. Seconds are those of the slowest phase's speed.
    """
    tokens = {(r.t, r.workload, r.bucket): r.thinking_tokens + r.visible_tokens for r in Length.rows(tables["lengths"])}
    found: dict[tuple[int, str, str, str], tuple[float, float]] = {}
    for point in sorted(Serve.rows(tables["serve"]), key=lambda point: (point.lpx_sku != "", point.rack_s)):
        seconds = tokens[point.t, point.workload, point.bucket] / point.tps_user
        found.setdefault((point.t, point.workload, point.bucket, point.sku), (seconds, point.rack_s))
    return found
