"""Throughput per MW against TPS/User for several pools on one card: the figure, its cost line, its table.

    tokens/s over all GPUs = 1 / (1 / decode tokens/s per GPU + prefill GPU-seconds per request / output tokens)
    kW per token/s = GPU kW / tokens/s per GPU + LPX rack-seconds per token x LPX rack kW

Power is maximum power with what a unit drags along outside itself, times the PUE. Cost is straight-line over life at
full use: price, attach, installation, support, electricity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from procure.catalogue import Catalogue, Sku
from procure.errors import Fault, InputError
from procure.performance.first_token import first_token_s
from procure.performance.frontier import over_all_gpus
from procure.performance.own_prefill import prefill_gpu_seconds
from procure.performance.percentile import tps_over_median
from procure.performance.points import decode_points
from procure.performance.queueing import Queue
from procure.performance.rules import Setup
from procure.performance.tables import FigurePoint
from procure.quarter import HOURS_PER_YEAR
from procure.schema import SkuKind
from procure.sizing import Card

SPEEDS = (10.0, 20.0, 30.0, 40.0, 50.0, 75.0, 100.0, 125.0, 150.0, 175.0, 200.0, 250.0, 300.0, 350.0, 400.0, 500.0)
_MAX_Q, _MAX_P = ("-max-q", "-maxq"), ("-max-p", "-maxp")


@dataclass(frozen=True)
class Pool:
    """Hardware of one line of the figure.

    Attributes:
        label: how it was asked for.
        sku: GPU hardware, in the power mode that was asked for.
        lpx: LPX hardware beside it, or None.
        slowed: whether the power mode is one that a user's table, which names SKUs, does not state.
    """

    label: str
    sku: Sku
    lpx: Sku | None
    slowed: bool = False

    @classmethod
    def named(cls, name: str, catalogue: Catalogue) -> Pool:
        """``vr-nvl72`` (or ``vr-nvl72-max-p``), ``vr-nvl72-max-q``, ``vr-nvl72+lpx``; aliases are understood.

        Raises:
            InputError: unknown or ambiguous hardware, something without GPUs, or a power mode without figures.
        """
        first, _, second = name.strip().lower().partition("+")
        plain = "-".join(first.replace("_", "-").split())
        mode = next((suffix for suffix in (*_MAX_Q, *_MAX_P) if plain.endswith(suffix)), "")
        sku = catalogue.sku(plain.removesuffix(mode))
        lpx = catalogue.sku(second) if second else None
        if sku.kind is not SkuKind.GPU or (lpx is not None and lpx.kind is not SkuKind.LPX):
            expected = "GPU hardware, with `+lpx` behind it for the pair."
            raise InputError([Fault("--pools", 0, "", name, expected)])
        if not mode:
            return cls(name, sku, lpx)
        if (sku.name, "maxq_throughput_factor") not in catalogue.facts:
            expected = f"Max-P and Max-Q are power modes of VR NVL72; {sku.name} has no figures for them."
            raise InputError([Fault("--pools", 0, "", name, expected)])
        if mode in _MAX_P:
            return cls(name, sku, lpx)
        power_kw, factor = (catalogue.fact(sku.name, of).number for of in ("power_maxq_kw", "maxq_throughput_factor"))
        return cls(name, replace(sku, power_kw=power_kw, throughput_factor=factor), lpx, True)


@dataclass(frozen=True)
class Facility:
    """What turns units into MW and money, and how full its links are planned.

    Attributes:
        pue: facility power over IT power.
        usd_per_kwh: price of electricity.
        link_share: share of a link's bytes/s that is planned with, as in a case that states nothing else.
        queue: how full prefill is planned and the share of requests that TTFT is stated for, as in such a case.
        p90_over_median: TPS/User that nine of ten streams reach, over the median stream's.
    """

    pue: float
    usd_per_kwh: float
    link_share: float
    queue: Queue
    p90_over_median: float

    @classmethod
    def of(cls, catalogue: Catalogue) -> Facility:
        """A liquid-cooled hall at the packaged price of electricity."""
        pue, price = (catalogue.premise(f"site/{name}") for name in ("pue_liquid_hall", "electricity_usd_per_kwh"))
        names = ("store_utilisation_cap", "utilisation_cap", "ttft_share")
        links, busy, share = (catalogue.premise(f"case/{name}").number for name in names)
        return cls(float(pue.value), float(price.value), links, Queue(busy, share), tps_over_median(catalogue, 90))


@dataclass(frozen=True)
class Load:
    """What is served: an LLM in given formats at given lengths.

    Attributes:
        card: the LLM.
        weight_precision: format of the weights; ``native`` is the released one, ``best`` NVFP4 where the GPU has FP4
            units and the card is released wider.
        kv_format: format of the caches.
        input_tokens: prompt.
        output_tokens: answer.
        reused_share: share of the prompt whose cache is there already.
    """

    card: Card
    weight_precision: str
    kv_format: str
    input_tokens: float
    output_tokens: float
    reused_share: float = 0.0

    @property
    def kept_tokens(self) -> float:
        """Tokens of the prompt whose cache is there already."""
        return self.reused_share * self.input_tokens

    def setup(self, sku: Sku, setup: Setup) -> Setup:
        """A setup in the formats of this load on a pool."""
        return replace(setup, weight_precision=self.precision(sku), kv_format=self.kv_format)

    def precision(self, sku: Sku) -> str:
        """Weight precision on a pool."""
        if self.weight_precision not in ("best", "native"):
            return self.weight_precision
        native = self.card.native_precision
        if self.weight_precision == "native":
            return native
        return "nvfp4" if sku.fp4_flops_per_gpu and native in ("fp8", "int8", "int4", "bf16", "fp16") else native


def curve(pool: Pool, load: Load, speeds: np.ndarray, setup: Setup, site: Facility) -> pd.DataFrame:
    """One line of the figure: the best point at each TPS/User that the pool reaches.

    Args:
        pool: hardware.
        load: what is served; its formats win over those of the setup.
        speeds: TPS/User asked for, ascending.
        setup: software, rules and a user's table, which says nothing of a power mode other than its own.
        site: facility power and electricity.
    """
    setup = replace(load.setup(pool.sku, setup), curves=None if pool.slowed else setup.curves)
    points = decode_points(
        pool.sku,
        load.card,
        setup,
        context_mean=np.full(len(speeds), load.input_tokens + load.output_tokens / 2),
        context_upper=np.full(len(speeds), load.input_tokens + load.output_tokens),
        tps_user=speeds,
        lpx=pool.lpx,
    ).drop_duplicates("element")
    prompt = {
        "new_tokens": np.array([load.input_tokens - load.kept_tokens]),
        "prefix_tokens": np.array([load.kept_tokens]),
    }
    prefill_s = prefill_gpu_seconds(pool.sku, load.card, setup, **prompt)[0]
    decode = points["tokens_per_s_per_gpu"].to_numpy(dtype=float)
    rate = over_all_gpus(decode, prefill_s / load.output_tokens)
    kw, usd = _per_token(pool, site, rate, points["lpx_rack_s_per_token"].to_numpy(dtype=float))
    ttft = first_token_s(pool.sku, load.card, setup, **prompt, queue=site.queue, link_share=site.link_share)[0]
    kept = ("streams_per_gpu", "gpus_per_replica", "parallelism", "binding")
    told = ("evidence", "source", "source_date", "low", "high")
    made = pd.DataFrame(
        {
            "pool": pool.label,
            "tps_user": speeds[points["element"]],
            "tps_user_p90": speeds[points["element"]] * site.p90_over_median,
            "tokens_per_s_per_gpu": rate,
            "tokens_per_s_per_mw": 1000.0 / kw,
            "decode_tokens_per_s_per_gpu": decode,
            "prefill_tokens_per_s_per_gpu": (load.input_tokens - load.kept_tokens) / prefill_s,
            "ttft_s": ttft,
            "usd_per_million_output_tokens": usd * 1e6,
            **{name: points[name].to_numpy() for name in kept},
            "weight_precision": setup.weight_precision,
            **{name: points[name].to_numpy() for name in told},
        }
    )
    return FigurePoint.checked(made.astype({"gpus_per_replica": int}))


def _per_token(pool: Pool, site: Facility, rate: np.ndarray, lpx_rack_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Facility kW behind one token/s and USD behind one token, at tokens/s per GPU and LPX rack-seconds per token."""
    kw = unit_kw(pool.sku, site.pue) / pool.sku.gpus / rate
    usd = usd_per_unit_hour(pool.sku, site) / pool.sku.gpus / 3600.0 / rate
    if pool.lpx is not None:
        kw = kw + lpx_rack_s * unit_kw(pool.lpx, site.pue)
        usd = usd + lpx_rack_s * usd_per_unit_hour(pool.lpx, site) / 3600.0
    return kw, usd


def unit_kw(sku: Sku, pue: float) -> float:
    """Facility kW of one unit with what it drags along."""
    return (sku.power_kw + sku.attach_kw) * pue


def usd_per_unit_hour(sku: Sku, site: Facility) -> float:
    """USD for one hour of one unit at full use: capital straight-line over its life, support and electricity."""
    capital = (sku.price_usd + sku.attach_usd + sku.install_usd) / (sku.life_years * HOURS_PER_YEAR)
    support = sku.price_usd * sku.support_per_year / HOURS_PER_YEAR
    return capital + support + unit_kw(sku, site.pue) * site.usd_per_kwh


def figure(
    pools: list[str],
    load: Load,
    setup: Setup,
    *,
    speeds: tuple[float, ...] = SPEEDS,
    catalogue: Catalogue | None = None,
) -> pd.DataFrame:
    """All lines of the figure, one row per pool and TPS/User reached: of the median stream, and of the 90th percentile.

    Args:
        pools: hardware by name.
        load: what is served; its formats win over those of the setup.
        setup: software, rules and a user's table.
        speeds: TPS/User asked for.
        catalogue: hardware; the packaged one by default.

    Raises:
        InputError: unknown pools, formats or vintage.
    """
    catalogue = catalogue or Catalogue.read()
    facility = Facility.of(catalogue)
    asked = np.sort(np.array(speeds, dtype=float))
    return pd.concat(
        [curve(Pool.named(name, catalogue), load, asked, setup, facility) for name in pools], ignore_index=True
    )


def measured_points(
    pools: list[str], load: Load, setup: Setup, catalogue: Catalogue | None = None
) -> list[dict[str, Any]]:
    """Packaged and user's measured points of the pools on this card, as dots over the figure."""
    catalogue, dots = catalogue or Catalogue.read(), []
    pue = Facility.of(catalogue).pue
    for name in pools:
        pool = Pool.named(name, catalogue)
        for known in (setup.rules.curves, setup.curves):
            if known is None or pool.lpx is not None or pool.sku.throughput_factor != 1.0:
                continue
            rows = known.of(pool.sku.name, load.card.name, load.precision(pool.sku), known.vintage)
            for row in rows[rows["all_gpus"] == 1].to_dict("records"):
                kw = unit_kw(pool.sku, pue) / pool.sku.gpus / row["tokens_per_s_per_gpu"]
                told = {key: row[key] for key in ("isl", "osl", "date", "source")}
                dots.append({"pool": name, "tps_user": row["tps_user"], "tokens_per_s_per_mw": 1000.0 / kw, **told})
    return dots
