"""A hand-made instance small enough to check by pencil: one site, one SKU of each kind, one workload of two buckets.

Three quarters, of which the first is planned; demand stands in the second only, at 100 and 50 requests/s. A rack ``g``
brings 0.5 busy racks, its decode takes 0.01 and 0.02 rack-seconds, full prefill 0.02 and 0.04, reuse a quarter of that.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd

from procure.instance import TABLES, Instance

INF = float("inf")
SITE, W, CARD = "a", "w", "llm"


KEPT, SOLD = ((0, 0, most, 0.0, 0, 20) for most in (0, 9))
"""Delay, lock-up, most sold in a quarter, USD of removal, quarters until removed, life in the books."""


def hand_tables() -> dict[str, pd.DataFrame]:
    """The default tables; edit them with :func:`edit` and :func:`rows`."""
    return {name: table.copy() for name, table in _default().items()}


@cache
def _default() -> dict[str, pd.DataFrame]:
    sku = [
        # sku kind host lead first last min supply life haircut spread, delay to life in the books, milestone attach
        # install usable present available gpus pod places
        ("e", "cmx_enclosure", "", 1, 0, 1, 1, INF, 20, 0.5, 0.0, *KEPT, 0.2, 0.0, 0.0, 0.5, 0.8, 0.8, 0, 0, 0),
        ("g", "gpu", "", 1, 0, 1, 1, INF, 20, 0.8, 0.0, *SOLD, 0.25, 10_000.0, 5_000.0, 0.5, 0.8, 0.8, 8, 1, 1),
        ("k", "ssd_kit", "g", 1, 0, 1, 1, INF, 20, 0.5, 0.0, *KEPT, 0.2, 0.0, 0.0, 0.5, 0.8, 0.8, 0, 0, 0),
        ("l", "lpx", "", 1, 0, 1, 1, INF, 20, 0.8, 0.0, *KEPT, 0.25, 0.0, 0.0, 0.5, 0.8, 0.8, 0, 0, 0),
        ("r", "cmx_rack", "", 1, 0, 1, 1, INF, 20, 0.5, 0.0, *KEPT, 0.2, 0.0, 0.0, 0.5, 0.8, 0.8, 0, 0, 16),
    ]
    price = {"e": 1.5e5, "g": 1e6, "k": 1e5, "l": 8e5, "r": 5e4}
    use = {
        "e": (1.0, 0.0, 0.0, 0.0, 4.0),
        "g": (100.0, 1.5, 3.0, 80.0, 50.0),
        "k": (2.0, 0.0, 0.0, 0.0, 0.0),
        "l": (80.0, 1.0, 3.0, 70.0, 10.0),
        "r": (5.0, 1.0, 3.0, 0.0, 0.0),
    }
    resources = ("power_kw", "positions", "area_m2", "liquid_kw", "ports")
    serve, prefill = [], []
    for bucket, size in ((0, 1), (1, 2)):
        serve.append(
            (f"p{bucket}", 1, W, bucket, CARD, "g", "g", 0.01 * size, "", 0.0, 1e12, 30.0, 1.5, 1.0, 0.9, "physics")
        )
        prefill.append((f"o{bucket}", 1, W, bucket, "g", "recompute", 0.02 * size, 1.0, 0.0, 0.0, 0.0, "physics"))
    made: dict[str, list[tuple[Any, ...]]] = {
        "quarters": [(0, "2027Q1", 1, 2027, 1.0), (1, "2027Q2", 0, 2027, 0.98), (2, "2027Q3", 0, 2027, 0.96)],
        "skus": sku,
        "prices": [(name, t, usd, usd / 100) for name, usd in price.items() for t in range(3)],
        "resource_use": [
            (SITE, n, res, v) for n, values in use.items() for res, v in zip(resources, values, strict=True)
        ],
        "site_limits": [(t, SITE, "positions", 40.0) for t in range(3)],
        "pods": [(SITE, 4, 4, 3, 1, 1)],
        "upkeep": [(SITE, name, 2_000.0, 1_000.0, 1_000.0, 3_000.0) for name in price],
        "workloads": [(W, CARD, 1.0, 0.9, 2.0, 20.0, CARD, 0.0, 0)],
        "short_prices": [(1, W, 1.0)],
        "tasks": [(1, W, 10.0, 1.0, 0.0)],
        "rates": [(1, W, 0, 100.0, 0.5), (1, W, 1, 50.0, 0.5)],
        "lengths": [(1, W, 0, 1e3, 2e3, 0.0, 300.0, 1e9), (1, W, 1, 4e3, 8e3, 0.0, 300.0, 1e9)],
        "serve": serve,
        "prefill": prefill,
        "idle_hbm": [("g", 2e12)],
        "parked": [(1, W, 1e9)],
        "ages": [(1, W, 0, 10.0, 10.0, 0.4, 0.1), (1, W, 1, 100.0, 90.0, 0.2, 0.5)],
        "lpx_copies": [(CARD, "l", 2, 1)],
    }
    return {name: pd.DataFrame(made.get(name, []), columns=list(table.by_column)) for name, table in TABLES.items()}


def a_day(tables: dict[str, pd.DataFrame]) -> None:
    """The workload has 8 hours at its peak and 16 at a quarter of it."""
    rows(tables, "dayparts", ("09-17", 8, "9 10 11 12 13 14 15 16"), ("17-09", 16, "17 18 19 20 21 22 23 0 1"))
    rows(tables, "daypart_rates", ("09-17", W, 1.0, 1.0), ("17-09", W, 0.25, 0.25))


def batch(tables: dict[str, pd.DataFrame], rack_s: float = 0.02) -> None:
    """Beside it ``v`` may wait: 30 requests/s in the mean, decoded in so many rack-seconds, prefilled in twice."""
    rows(tables, "workloads", workload("v", deferrable=1))
    rows(tables, "rates", (1, "v", 0, 30.0, 1.0))
    rows(tables, "short_prices", (1, "v", 1.0))
    rows(tables, "tasks", (1, "v", 10.0, 1.0, 0.0))
    rows(tables, "lengths", (1, "v", 0, 1e3, 2e3, 0.0, 300.0, 1e9))
    rows(tables, "parked", (1, "v", 1e9))
    rows(tables, "daypart_rates", ("09-17", "v", 1.0, 1.0), ("17-09", "v", 1.0, 1.0))
    point = ("pv", 1, "v", 0, CARD, "g", "g", rack_s, "", 0.0, 1e12, 30.0, 1.5, 1.0, 0.9, "physics")
    rows(tables, "serve", point)
    rows(tables, "prefill", ("ov", 1, "v", 0, "g", "recompute", 2 * rack_s, 1.0, 0.0, 0.0, 0.0, "physics"))


def workload(name: str, **stated: Any) -> tuple[Any, ...]:
    """A row of ``workloads``: priority 1, 90% in time within 2 s, 20 tokens/s."""
    row = {
        "workload": name,
        "card": CARD,
        "priority": 1.0,
        "ttft_share": 0.9,
        "ttft_target_s": 2.0,
        "tps_target": 20.0,
        "llm": CARD,
        "min_served_share": 0.0,
        "deferrable": 0,
        **stated,
    }
    return tuple(row[column] for column in TABLES["workloads"].by_column)


SETTINGS = {
    "objective": "min_cost",
    "budget_basis": "payment",
    "cache_moves": "none",
    "budget_carry": "within_year",
    "dayparts": "peak",
    "resale": "existing",
    "utilisation_cap": 0.75,
    "read_ports": "both",
}


def instance(tables: dict[str, pd.DataFrame], **settings: Any) -> Instance:
    """An instance of tables and settings."""
    return Instance(tables, {**SETTINGS, **settings})


def edit(tables: dict[str, pd.DataFrame], name: str, where: dict[str, Any], **values: Any) -> None:
    """Set columns of the rows of a table that match."""
    frame = tables[name].copy()
    chosen = pd.Series(True, index=frame.index)
    for column, value in where.items():
        chosen &= frame[column] == value
    assert chosen.any(), (name, where)
    for column, value in values.items():
        frame[column] = frame[column].astype(object) if isinstance(value, str) else frame[column]
        frame.loc[chosen, column] = value
    tables[name] = frame


def rows(tables: dict[str, pd.DataFrame], name: str, *more: tuple[Any, ...]) -> None:
    """Add rows to a table."""
    added = pd.DataFrame(more, columns=list(TABLES[name].by_column))
    tables[name] = added if tables[name].empty else pd.concat([tables[name], added], ignore_index=True)


def standing(tables: dict[str, pd.DataFrame], sku: str, count: int, paid: float = 1e6, retirable: int = 0) -> None:
    """Units of a vintage of four quarters ago."""
    rows(
        tables,
        "fixed",
        (f"fleet-{len(tables['fixed'])}", "fleet", SITE, sku, count, -4, retirable, paid, 0.0, 0, paid / 100),
    )


def store(tables: dict[str, pd.DataFrame], tier: str, **limits: float) -> str:
    """A store of tier ``ssd`` (in kits), ``dram`` (in racks), ``hbm`` or ``cmx`` (in enclosures) and its options."""
    name = tier if tier == "cmx" else f"{tier}:g"
    unit = {"ssd": "k", "cmx": "e"}.get(tier, "g")
    reader = limits.pop("reader_bytes_per_s", 1e13)
    ample = {"bytes": 1e15, "read_bytes_per_s": 1e13, "write_bytes_per_s": 1e13, "write_bytes_per_day": INF, **limits}
    rows(tables, "stores", (name, tier))
    rows(tables, "return_shares", (1, W, name, 2, 40.0, 1.0 if tier == "cmx" else 0.5))
    rows(tables, "store_units", (name, unit, *ample.values()))
    if tier == "cmx":
        rows(tables, "store_readers", ("g", reader))
    for bucket, size in ((0, 1), (1, 2)):
        way = (f"o{bucket}{tier}", 1, W, bucket, "g", name, 0.005 * size, 1.0, 0.0, 6e8, 5e8, "physics")
        rows(tables, "prefill", way)
    return name


def lpx_points(tables: dict[str, pd.DataFrame], alone: bool = False) -> None:
    """Points with LPX beside the rack: 0.002 rack-seconds and 0.03 LPX rack-seconds; ``alone`` drops the others."""
    kept = tables["serve"].iloc[:0] if alone else tables["serve"]
    tables["serve"] = kept
    for bucket, size in ((0, 1), (1, 2)):
        point = (
            f"x{bucket}",
            1,
            W,
            bucket,
            CARD,
            "g+l",
            "g",
            0.002 * size,
            "l",
            0.03 * size,
            5e11,
            400.0,
            2.0,
            1.0,
            0.9,
            "vendor claim",
        )
        rows(tables, "serve", point)


def instances(tables: dict[str, pd.DataFrame], *roles: str, **stated: Any) -> None:
    """Whole instances of the LLM on ``g``, a whole rack each, 0.5 of them busy; ``stated`` changes columns."""
    for role in roles:
        row = {"t": 1, "llm": CARD, "deployment": "g", "role": role, "sku": "g", "lpx_sku": "", "gpus": 8, "units": 1.0,
               "busy_units": 0.5, "load": 1.0, "whole": 1, **stated}  # fmt: skip
        rows(tables, "instances", tuple(row[column] for column in TABLES["instances"].by_column))


def handed(tables: dict[str, pd.DataFrame], nic: float) -> None:
    """Caches of 1 GB of bucket 0 and 4 GB of bucket 1 are handed to decode, over ``nic`` bytes/s of a unit."""
    rows(tables, "handovers", (1, W, 0, 1e9), (1, W, 1, 4e9))
    rows(tables, "nics", ("g", nic))


def linked(tables: dict[str, pd.DataFrame], bytes_per_s: float, late_share: float = 0.0, rent: float = 0.0) -> None:
    """A second site ``b`` that decodes what ``g`` prefills at ``a``, 1 GB for a request of bucket 0 and 4 GB of 1."""
    for name in ("resource_use", "upkeep", "pods"):
        rows(tables, name, *tables[name].assign(site="b").itertuples(index=False))
    rows(tables, "links", (1, SITE, "b", bytes_per_s, 0.001, rent))
    rows(tables, "pool_roles", (SITE, "g", "prefill"), ("b", "g", "decode"))
    for bucket, size in ((0, 1e9), (1, 4e9)):
        rows(tables, "ships", (f"o{bucket}", SITE, "b", 1, W, bucket, "g", size, 0.1, 1.1, bucket * late_share))


def asks(tables: dict[str, pd.DataFrame], **asked: Any) -> None:
    """The workload asks to survive a loss: one unit of each pool down unless something else is stated."""
    row = {"workload": W, "units_down": 1, "pod_down": 0, "site_down": 0, "cache_loss": "none", **asked}
    rows(tables, "resilience", tuple(row[column] for column in TABLES["resilience"].by_column))


def second_site(tables: dict[str, pd.DataFrame], positions: float = 40.0) -> None:
    """A second site ``b`` like the first."""
    for name in ("resource_use", "upkeep", "pods"):
        rows(tables, name, *tables[name].assign(site="b").itertuples(index=False))
    rows(tables, "site_limits", *((t, "b", "positions", positions) for t in range(3)))
