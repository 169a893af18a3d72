"""The source article's statements about throughput, row by row: supported, not supported, or a vendor's claim.

Numbers come from the figure's lines on one card, so a verdict holds for that card, those lengths and that software. Two
pools are compared at the same TPS/User and software date; where one of them does not reach a speed there is no ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from procure.catalogue import Catalogue
from procure.performance.figure import Load, figure
from procure.performance.own_prefill import prefill_gpu_seconds
from procure.performance.points import decode_points
from procure.performance.rules import Setup
from procure.schema import Evidence

SUPPORTED, NOT_SUPPORTED, VENDOR, UNKNOWN = "supported", "not supported", Evidence.VENDOR.value, "cannot be told"
SPEEDS = (50.0, 75.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0, 400.0)
BLACKWELL, RUBIN, PAIR = "gb200-nvl72", "vr-nvl72", "vr-nvl72+lpx"
PROPORTION = (0.67, 1.5)
"""Throughput per MW counts as proportional to compute while their ratio stays within these."""


@dataclass(frozen=True)
class Claim:
    """One statement, what is found, and the numbers behind it."""

    claim: str
    verdict: str
    numbers: str


def claims(load: Load, setup: Setup, catalogue: Catalogue | None = None) -> list[Claim]:
    """Every statement of the article about NVL72, LPX and CMX throughput, tested on one card.

    Args:
        load: card, formats and lengths.
        setup: software and rules; a user's table is not looked at.
        catalogue: hardware; the packaged one by default.
    """
    hardware, setup = catalogue or Catalogue.read(), replace(setup, curves=None)
    lines = figure([BLACKWELL, RUBIN, PAIR], load, setup, speeds=SPEEDS, catalogue=hardware)
    table = lines.pivot(index="tps_user", columns="pool", values="tokens_per_s_per_mw").reindex(SPEEDS)
    table = table.reindex(columns=[BLACKWELL, RUBIN, PAIR])
    evidence = lines.set_index(["pool", "tps_user"])["evidence"]
    rubin = table[RUBIN] / table[BLACKWELL]
    return [
        _compute(load, rubin, evidence, hardware),
        _falls_faster(rubin, evidence),
        _ten_times(rubin, evidence),
        _thirty_five_times(table),
        _three_and_a_half_times(table),
        _low_speed(table, setup),
        cmx_multiple(load, setup, hardware),
    ]


def _listed(ratios: pd.Series, evidence: pd.Series) -> str:
    parts = []
    for speed, ratio in ratios.items():
        kinds = {str(evidence.get((pool, speed), "none")) for pool in (BLACKWELL, RUBIN)}
        said = f"{ratio:.1f}" if np.isfinite(ratio) else "no point"
        parts.append(f"{speed:g}: {said} ({'/'.join(sorted(kinds))})")
    return "; ".join(parts)


def _compute(load: Load, rubin: pd.Series, evidence: pd.Series, catalogue: Catalogue) -> Claim:
    new, old = catalogue.sku(RUBIN), catalogue.sku(BLACKWELL)
    field = "fp4_flops_per_gpu" if "fp4" in load.precision(new) else "fp8_flops_per_gpu"
    kw = {sku.name: (sku.power_kw + sku.attach_kw) / sku.gpus for sku in (new, old)}
    compute = getattr(new, field) / kw[new.name] / (getattr(old, field) / kw[old.name])
    low = rubin[rubin.index <= 100]
    known = low[np.isfinite(low)]
    verdict = UNKNOWN
    if len(known):
        share = known / compute
        verdict = SUPPORTED if share.between(*PROPORTION).all() else NOT_SUPPORTED
    return Claim(
        "Up to 100 TPS/User throughput per MW is about proportional to compute (Rubin over Blackwell)",
        verdict,
        f"peak per MW {compute:.1f}; throughput per MW at TPS/User {_listed(low, evidence)}",
    )


def _falls_faster(rubin: pd.Series, evidence: pd.Series) -> Claim:
    between = rubin[(rubin.index >= 100) & (rubin.index <= 200)]
    ends = between.iloc[[0, -1]]
    verdict = UNKNOWN
    if np.isfinite(ends).all():
        verdict = SUPPORTED if ends.iloc[1] > ends.iloc[0] else NOT_SUPPORTED
    return Claim(
        "From 100 to 200 TPS/User Blackwell falls faster than Rubin",
        verdict,
        f"Rubin over Blackwell per MW at {_listed(between, evidence)}",
    )


def _ten_times(rubin: pd.Series, evidence: pd.Series) -> Claim:
    between = rubin[(rubin.index >= 200) & (rubin.index <= 400)]
    known = between[np.isfinite(between)]
    verdict = UNKNOWN
    if len(known):
        verdict = SUPPORTED if known.max() >= 10 else NOT_SUPPORTED
    return Claim(
        "From 200 to 400 TPS/User Rubin gives up to 10 times Blackwell per MW",
        verdict,
        f"at equal software date, per MW at {_listed(between, evidence)}",
    )


def _thirty_five_times(table: pd.DataFrame) -> Claim:
    at = table.loc[400.0]
    ratio = at[PAIR] / at[BLACKWELL]
    said = f"{ratio:.0f} here" if np.isfinite(ratio) else "Blackwell has no point at 400, so there is no ratio"
    known = table[table[BLACKWELL].notna()]
    if not np.isfinite(ratio) and len(known):
        there = known[PAIR].iloc[-1] / known[BLACKWELL].iloc[-1]
        said += f"; at its last speed of {known.index.tolist()[-1]:g} the scaled pair gives {there:.0f}"
    return Claim(
        "At 400 TPS/User Rubin with LPX gives 35 times Blackwell per MW",
        VENDOR,
        said + "; no measured curve of the pair is public",
    )


def _three_and_a_half_times(table: pd.DataFrame) -> Claim:
    at = table.loc[400.0]
    ratio = at[PAIR] / at[RUBIN]
    said = f"{ratio:.1f} here" if np.isfinite(ratio) else "Rubin alone has no point at 400 here"
    return Claim(
        "At 400 TPS/User Rubin with LPX gives 3.5 times Rubin alone per MW",
        VENDOR,
        said
        + "; the pair's base curve is scaled to this claim on DeepSeek-R1 at 8k/1k, so it is an input and no finding",
    )


def _low_speed(table: pd.DataFrame, setup: Setup) -> Claim:
    ratio = (table[PAIR] / table[RUBIN])[table.index <= 100]
    known = ratio[np.isfinite(ratio)]
    verdict = UNKNOWN
    if len(known):
        verdict = SUPPORTED if known.max() <= 1.1 else NOT_SUPPORTED
    said = "; ".join(f"{speed:g}: {value:.2f}" for speed, value in known.items())
    return Claim(
        "With LPX throughput per MW is not high at low TPS/User",
        verdict,
        f"pair over Rubin alone per MW at {said} (the pair's curve carries the vendor's scale; without it about "
        f"{known.max() / setup.rules.lpx.scale:.1f})",
    )


def cmx_multiple(
    load: Load, setup: Setup, catalogue: Catalogue, multiple: float = 5.0, reused_share: float = 0.95
) -> Claim:
    """Which share of requests must hit a cache for ``multiple`` times the throughput of recomputing everything.

    GPU-seconds per request are ``decode + (1 - hit) x full prefill + hit x prefill of the new tokens``; the
    baseline is hit = 0. The pool is VR NVL72, a hit reuses ``reused_share`` of the prompt, decode runs at 50 TPS/User.
    """
    pool = catalogue.sku(RUBIN)
    setup = load.setup(pool, setup)
    prompt, answer = 100_000.0, 440.0
    if prompt + answer > load.card.max_context_tokens:
        prompt = load.card.max_context_tokens - answer
    kept = np.array([0.0, reused_share * prompt])
    full, short = prefill_gpu_seconds(pool, load.card, setup, new_tokens=prompt - kept, prefix_tokens=kept)
    points = decode_points(
        pool,
        load.card,
        setup,
        context_mean=[prompt + answer / 2],
        context_upper=[prompt + answer],
        tps_user=[50.0],
    )
    text = f"CMX gives {multiple:g} times the tokens/s"
    if points.empty:
        return Claim(text, UNKNOWN, f"no point at 50 TPS/User and {prompt:,.0f} tokens")
    decode = answer / points["tokens_per_s_per_gpu"].iloc[0]
    most = (decode + full) / (decode + short)
    hit = (decode + full) * (1 - 1 / multiple) / (full - short)
    needs = f"a hit rate of {hit:.0%} would give it" if hit <= 1 else "no hit rate gives it"
    return Claim(
        text,
        VENDOR,
        f"against recomputing every prompt of {prompt:,.0f} tokens with {answer:g} tokens of answer, a hit reusing "
        f"{reused_share:.0%}: at most {most:.1f} times; {needs} (GPU-seconds: decode {decode:.2f}, prefill in full "
        f"{full:.2f}, on a hit {short:.2f}); against a store that already hits, far less. The vendor states neither "
        "hit rate nor baseline",
    )
