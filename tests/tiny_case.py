"""Cases small enough to enumerate: few units, three or four quarters, figures of the catalogue overridden at will."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from procure.case import Case
from procure.case.settings import TOKEN_WORTHS
from procure.catalogue import Catalogue
from procure.catalogue.sku import INFORMATIVE
from procure.timekey import BASE, PEAK, TimeKey

SITE_COLUMNS = {
    "site": "a",
    "from_quarter": "2027Q1",
    "power_kw": 5_000.0,
    "power_basis": "it",
    "pue": 1.2,
    "positions": 6.0,
    "area_m2": 400.0,
    "pods_max": 2,
    "electricity_usd_per_kwh": 0.08,
    "space_usd_per_kw_month": 150.0,
}

OFFICE = pd.DataFrame(
    [("office", 9, 17, 4.0), ("office", 17, 9, 1.0)], columns=["shape", "from_hour", "to_hour", "load"]
)
"""Eight hours at the peak, sixteen at a quarter of it."""
ROOM = {"positions": 90.0, "power_kw": 5e4, "area_m2": 4e3, "pods_max": 9}


def quarter_names(count: int) -> list[str]:
    """Quarters from 2027Q1 on."""
    return [f"{2027 + i // 4}Q{i % 4 + 1}" for i in range(count)]


def at(t: int) -> TimeKey:
    """The one block of a quarter."""
    return TimeKey(BASE, t, PEAK)


def hardware(rows: Mapping[tuple[str, str], Any], alike: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A hardware table from (SKU, attribute) → value, in the catalogue's unit.

    ``alike`` describes SKUs that the catalogue does not have: each with all attributes of the packaged one that it is
    like, unless ``rows`` say otherwise.
    """
    catalogue = Catalogue.read()
    alike = alike or {}
    described = {
        (new, attribute): "2040Q4"
        if fact.value == ""
        else fact.value  # no end of sale: an empty cell is not a value of a case
        for new, old in alike.items()
        for (sku, attribute), fact in catalogue.facts.items()
        if sku == old and attribute not in INFORMATIVE
    }
    return pd.DataFrame(
        [
            (s, a, f"{v}", catalogue.fact(alike.get(s, s), a).unit, "test")
            for (s, a), v in {**described, **rows}.items()
        ],
        columns=["sku", "attribute", "value", "unit", "source"],
    )


def tiny(  # noqa: PLR0913 - one part of a case each, by name
    *,
    skus: Sequence[str] = ("gb300-nvl72",),
    peaks: Mapping[str, Sequence[float]] | None = None,
    planned: int = 1,
    lead: int = 0,
    workloads: Mapping[str, Mapping[str, Any]] | None = None,
    sites: Sequence[Mapping[str, Any]] = ({},),
    figures: Mapping[tuple[str, str], Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    tables: Mapping[str, pd.DataFrame] | None = None,
    alike: Mapping[str, str] | None = None,
) -> Case:
    """A case of ``planned`` quarters and the shortest look-ahead, ``lead`` + 2.

    Every SKU that may be bought has that lead time, is on sale throughout, and is sold one by one without a supply cap
    unless ``figures`` say otherwise. ``peaks`` is requests/s by workload for all quarters; ``workloads`` what is stated
    of each (chat on deepseek-v3.2 if nothing is); ``sites`` what differs from :data:`SITE_COLUMNS`; ``alike`` names new
    SKUs and the packaged ones that they are like. Speeds are promised to the median stream, so that what is worked by
    hand is what a measured curve says.
    """
    quarters = quarter_names(planned + lead + 2)
    peaks = peaks or {"chat": [60.0] * len(quarters)}
    stated = {w: {"scenario": "chat", "card": "deepseek-v3.2", **(workloads or {}).get(w, {})} for w in peaks}
    sale: dict[tuple[str, str], Any] = {}
    for sku in skus:
        sale |= {
            (sku, "lead_quarters"): lead,
            (sku, "available_from"): "2026Q1",
            (sku, "last_order"): "2040Q4",
            (sku, "min_order"): 1,
            (sku, "supply_per_quarter"): "inf",
        }
    frames = {
        "forecast": pd.DataFrame(
            [(q, w, float(r[i])) for w, r in peaks.items() for i, q in enumerate(quarters)],
            columns=["quarter", "workload", "peak_requests_per_s"],
        ),
        "workloads": pd.DataFrame([{"workload": w, **row} for w, row in stated.items()]),
        "sites": pd.DataFrame([{**SITE_COLUMNS, **site} for site in sites]),
        "hardware": hardware({**sale, **(figures or {})}, alike),
        **(tables or {}),
    }
    base = {
        "name": "tiny",
        "first_quarter": "2027Q1",
        "planned_quarters": planned,
        "lookahead_quarters": lead + 2,
        "may_buy": list(skus),
        "tps_percentile": 50,
    }
    return Case.from_tables({**base, **(settings or {})}, frames)


def token_worth(usd_per_million: float) -> dict[str, float]:
    """Settings with one worth for every token not served in the look-ahead."""
    return dict.fromkeys(TOKEN_WORTHS, usd_per_million)


def fleet(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """A fleet table from (site, sku, count, in_service, paid_usd_per_unit)."""
    return pd.DataFrame(rows, columns=["site", "sku", "count", "in_service", "paid_usd_per_unit"])


def budget(*usd: float) -> pd.DataFrame:
    """A budget table for the quarters from the first on."""
    return pd.DataFrame({"quarter": quarter_names(len(usd)), "budget_usd": [float(u) for u in usd]})


def linked_sites(
    gbit_per_s: float = 20.0,
    roles: Sequence[str] = ("prefill", "decode"),
    kept: float = 0.25,
    usd_per_month: float = 0.0,
    **chat: Any,
) -> Case:
    """Six requests/s of llama-3.1-70b, H200 at ``a`` and H20 at ``b`` in these roles ("" for both), and a link there.

    Nothing can be bought, no cache comes back; a token of the cache has 80 layers of 8 heads of 128, keys and values.
    """
    asked = {"card": "llama-3.1-70b", "kv_format": "fp8", "weight_precision": "fp8", "input_mean_tokens": 8_000,
             "reuse_curve": "none", "ttft_s": 60.0, "tps_user": 10.0, "output_visible_tokens": 200, **chat}  # fmt: skip
    names = ["from_site", "to_site", "from_quarter", "bandwidth_gbit_per_s", "other_traffic_share",
             "usd_per_month"]  # fmt: skip
    skus = {"a": "hgx-h200", "b": "hgx-h20"}
    link = ("a", "b", "2026Q1", gbit_per_s, kept, usd_per_month)
    pools = [(site, sku, role) for (site, sku), role in zip(skus.items(), roles, strict=True) if role]
    return tiny(
        skus=(), peaks={"chat": [6.0] * 3}, workloads={"chat": asked}, sites=({}, {"site": "b"}),
        settings={"whole_instances_up_to": 0},
        tables={
            "fleet": fleet(("a", skus["a"], 6, "2026Q1", 3e5), ("b", skus["b"], 8, "2026Q1", 1e5)),
            "pools": pd.DataFrame(pools, columns=["site", "sku", "role"]),
            "links": pd.DataFrame([link] if gbit_per_s else [], columns=names),
        },
    )  # fmt: skip


def order_to_change(**settings: Any) -> Case:
    """Four racks on firm order, of which one is never needed and one two quarters later than agreed."""
    firm = pd.DataFrame(
        [("a", "gb300-nvl72", 4, "2027Q2", 4.4e6, 0.1, 0.15, 2, 0.02)],
        columns=["site", "sku", "count", "delivery", "price_usd_per_unit", "paid_share", "cancel_fee_share",
                 "defer_quarters_most", "defer_fee_share_per_quarter"],
    )  # fmt: skip
    peaks = {"chat": [0, 80, 80, 160, 160]}
    return tiny(skus=(), peaks=peaks, planned=3, tables={"orders": firm}, settings=settings)


def racks_short_of_power(mode: str = "by_quarter", power_kw: float = 1_300.0, **stated: Any) -> Case:
    """Power for five racks at Max-P, or for six of which four save; from the third quarter on for six."""
    sites = (
        {"power_kw": power_kw, "positions": 60.0},
        {"power_kw": 1_500.0, "positions": 60.0, "from_quarter": "2027Q3"},
    )
    return tiny(skus=("vr-nvl72",), peaks={"chat": [360, 340, 340]}, sites=sites, workloads={"chat": stated},
                settings={"power_modes": mode})  # fmt: skip


def worn_drives(how: str, dwpd: float = 0.1, flash_writes: str = "write_through") -> Case:
    """Two racks with a kit each, short of racks, so that whatever saves rack time is kept; drives that wear."""
    host, kit = "vr-nvl72", "ssd-kit-vr-nvl72"
    figures = {(kit, "endurance_dwpd"): dwpd, (kit, "store_bytes"): 5e14, (host, "dram_usable_share_kv"): 0.03,
               (host, "hbm_bytes_per_gpu"): 60e9}  # fmt: skip
    standing = fleet(("a", host, 2, "2026Q4", 7e6), ("a", kit, 2, "2026Q4", 5e4)).assign(retirable=False)
    return tiny(skus=(), peaks={"agent": [50.0] * 3}, sites=({"positions": 3.6},), figures=figures,
                workloads={"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}},
                tables={"fleet": standing},
                settings={"cache_moves": how, "flash_writes": flash_writes, **token_worth(60.0)})  # fmt: skip


def by_hours(
    requests_per_day: float = 0.0,
    *,
    later: float | None = None,
    dayparts: str = "clock",
    ttft_s: float = math.nan,
    **other: Any,
) -> Case:
    """Sixty requests/s in the office hours, as many ``later`` hours later, and a batch of so many requests a day."""
    quarters = [f"2027Q{q}" for q in (1, 2, 3)]
    workloads: dict[str, dict[str, Any]] = {"day": {"day_shape": "office", "reuse_curve": "none"}}
    rows: list[dict[str, Any]] = [{"workload": "day", "peak_requests_per_s": 60.0}]
    if not math.isnan(ttft_s):
        workloads["day"]["ttft_s"] = ttft_s
    if requests_per_day:
        workloads["batch"] = {"scenario": "offline"}
        rows.append({"workload": "batch", "requests_per_day": requests_per_day})
    if later is not None:
        workloads["far"] = {**workloads["day"], "clock_shift_hours": later}
        rows.append({"workload": "far", "peak_requests_per_s": 60.0})
    forecast = pd.DataFrame([{"quarter": quarter, **row} for quarter in quarters for row in rows])
    peaks = {name: [1.0] * 3 for name in workloads}
    return tiny(peaks=peaks, workloads=workloads, sites=(ROOM,), settings={"dayparts": dayparts},
                tables={"forecast": forecast, "day_shapes": OFFICE}, **other)  # fmt: skip


def rich() -> Case:
    """A bit of everything: firm order, old fleet, reservation, rent, hall, budget, LPX, two workloads."""
    names = ["site", "expansion", "power_kw", "positions", "area_m2", "capex_usd", "lead_quarters", "max_count"]
    firm = ["site", "sku", "count", "delivery", "price_usd_per_unit"]
    code = {"scenario": "large-coding", "context_cap_tokens": 131_072, "card": "gpt-oss-120b", "tps_user": 800}
    return tiny(
        skus=("vr-nvl72", "cmx-rack", "cmx-enclosure", "lpx"),
        peaks={"agent": [60, 62, 64], "code": [10, 12, 12]},
        workloads={"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}, "code": code},
        sites=({"positions": 9.0},),
        figures={("lpx", "supply_per_quarter"): 4},
        tables={
            "expansions": pd.DataFrame([("a", "hall", 900.0, 4, 30.0, 4e5, 0, 2)], columns=names),
            "orders": pd.DataFrame([("a", "vr-nvl72", 1, "2027Q1", 8e6)], columns=firm),
            "fleet": fleet(("a", "hgx-h200", 4, "2023Q1", 3e5)),
            "budget": budget(6e7, 2e7, 2e7),
            "rent": pd.DataFrame(
                [("old", "provider", "hgx-h100", 3, 0.1, 0, "2027Q3"), ("new", "a", "vr-nvl72", 1, 0.5, 1, "2027Q2")],
                columns=["offer", "site", "sku", "most_units", "usd_per_gpu_hour", "lead_quarters", "to_quarter"],
            ),
            "rented": pd.DataFrame(
                [("old", 1, "2026Q3", "2027Q1")], columns=["offer", "count", "from_quarter", "until_quarter"]
            ),
            "reserved": pd.DataFrame(
                [("a", "vr-nvl72", "2027Q2", 1, "training")], columns=["site", "sku", "quarter", "count", "purpose"]
            ),
        },
        settings={**token_worth(5.0), "resale": "existing"},
    )


def room_kept(
    *, hold: float, offer: bool | None = None, early: float | None = None, retrofit_usd: float = 9e5, **settings: Any
) -> Case:
    """A site for one rack, and a firm order of another for the third quarter, when room at build is no longer on offer.

    ``hold`` and ``early`` are USD/kW/month of a firm hold and of rent started early; ``offer`` says whether the plan
    may count on a first offer, if there is one. Interest is 20% a year: building two quarters later saves 35 of
    400 kUSD.
    """
    later = quarter_names(3)[2]
    names = ["site", "expansion", "power_kw", "positions", "area_m2", "capex_usd", "lead_quarters", "max_count",
             "order_until", "pays_rent"]  # fmt: skip
    kept: list[tuple[Any, ...]] = [("hold", "a", "at-build", "firm_hold", later, hold, None)]
    if offer is not None:
        kept.append(("offer", "a", "at-build", "first_offer", later, None, offer))
    if early is not None:
        kept.append(("early", "a", "at-build", "early_rent", later, early, None))
    racks = [("a", "gb300-nvl72", 1, q, 4.4e6) for q in (quarter_names(1)[0], later)]
    return tiny(
        skus=(), peaks={"chat": [30, 30, 30]}, sites=({"positions": 2.0},),
        settings={"discount_rate_per_year": 0.2, **settings},
        tables={
            "expansions": pd.DataFrame(
                [("a", "at-build", 200.0, 2, 20.0, 4e5, 0, 1, "2027Q1", True),
                 ("a", "retrofit", 200.0, 2, 20.0, retrofit_usd, 0, 1, None, True)], columns=names),
            "orders": pd.DataFrame(racks, columns=["site", "sku", "count", "delivery", "price_usd_per_unit"]),
            "reservations": pd.DataFrame(
                kept, columns=["reservation", "site", "expansion", "instrument", "until_quarter", "usd_per_kw_month",
                               "counted_on"]),
        },
    )  # fmt: skip
