"""The few named numbers of the decode and prefill physics, kept as data with the way they were found.

``data/performance/premises.toml`` is written by hand, ``data/performance/fitted.toml`` by ``procure perf --fit``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from procure.catalogue.paths import packaged_path
from procure.errors import Fault, InputError, nearest
from procure.performance.work import is_wide
from procure.quarter import Quarter

LATENCIES = ("layer_latency_s", "latent_latency_s", "tensor_latency_s", "spread_latency_s", "off_domain_latency_s")
DECODE_EFFICIENCIES = (
    "weight_efficiency",
    "kv_efficiency",
    "wide_kv_efficiency",
    "gemm_efficiency",
    "attention_efficiency",
)
PREFILL_EFFICIENCIES = ("prefill_efficiency", "prefill_attention_efficiency", "prefill_exchange_efficiency")
PREFILL_COSTS = ("exposed_exponentials", "activation_passes", "index_s")
FACTORS = ("latency", "efficiency", "prefill")
REFERENCE_SOFTWARE = "trt"
"""The framework whose factors are 1."""


@dataclass(frozen=True)
class Physics:
    """Parameters of one decode step and of prefill, for hardware and software of one date.

    Efficiencies are fractions of the catalogue's peak; latencies are seconds.
    """

    weight_efficiency: float
    """Of HBM bandwidth, reading weights."""
    widening_efficiency: float
    """Further factor where experts are widened to BF16 on the way (INT4 anywhere, MXFP4 without FP4 units)."""
    kv_efficiency: float
    """Of HBM bandwidth, reading caches of 8 bits and fewer."""
    wide_kv_efficiency: float
    """The same for caches of 16 bits."""
    gemm_efficiency: float
    """Of the dense peak, decode GEMMs."""
    attention_efficiency: float
    """Of the dense peak, score and value products of decode."""
    reduce_efficiency: float
    """Of one-way scale-up bandwidth, all-reduce of tensor parallelism."""
    exchange_efficiency: float
    """Of one-way scale-up bandwidth, dispatch and combine of experts."""
    scale_out_efficiency: float
    """Of one-way scale-out bandwidth."""
    prefill_efficiency: float
    """Of the dense peak, prefill GEMMs."""
    prefill_attention_efficiency: float
    """Of the dense peak, score and value products of prefill."""
    exposed_exponentials: float
    """Share of the softmax exponentials' time that the products of prefill do not hide."""
    activation_passes: float
    """How often a layer's prefill moves its activations through HBM: norms, quantisation, residuals, dispatch."""
    prefill_exchange_efficiency: float
    """Of one-way scale-up bandwidth, exchange between the GPUs of a prefill replica."""
    index_s: float
    """Seconds per token and layer of choosing what to attend to by an index (DSA), beside its arithmetic."""
    layer_latency_s: float
    """Per layer on one GPU."""
    latent_latency_s: float
    """More per layer where all heads share one cache (MLA, MQA): more and smaller kernels."""
    tensor_latency_s: float
    """More per layer and doubling of GPUs, experts sliced."""
    spread_latency_s: float
    """More per layer and doubling of GPUs, attention data parallel with whole experts on each GPU."""
    off_domain_latency_s: float
    """More per layer where a replica leaves its scale-up domain."""
    fp8_latency_factor: float
    """On all latencies where weights are block-scaled FP8, whose activations are quantised apart."""
    acceptance: float
    """Chance that one drafted token is accepted."""

    def scaled(self, *, latency: float = 1.0, efficiency: float = 1.0, prefill: float = 1.0) -> Physics:
        """The same physics with latencies and efficiencies multiplied, none of these above 1.

        ``prefill`` multiplies the rate of every term of prefill but reading weights and prefix.
        """
        factors = dict.fromkeys(LATENCIES, latency) | dict.fromkeys(DECODE_EFFICIENCIES, efficiency)
        factors |= dict.fromkeys(PREFILL_EFFICIENCIES, prefill) | dict.fromkeys(PREFILL_COSTS, 1.0 / prefill)
        changed = {name: getattr(self, name) * factor for name, factor in factors.items()}
        capped = {*DECODE_EFFICIENCIES, *PREFILL_EFFICIENCIES}
        return replace(self, **{name: min(value, 1.0) if name in capped else value for name, value in changed.items()})

    def cache_efficiency(self, kv_format: str) -> float:
        """Of HBM bandwidth, reading caches of a number format."""
        return self.wide_kv_efficiency if is_wide(kv_format) else self.kv_efficiency

    def tokens_per_step(self, draft: np.ndarray) -> np.ndarray:
        """Tokens that one step yields with ``draft`` tokens drafted: the accepted run and the step's own token.

        ``1 + a + ... + a^k = (1 - a^(k+1)) / (1 - a)`` at acceptance a, below 1.
        """
        return (1.0 - self.acceptance ** (np.asarray(draft) + 1.0)) / (1.0 - self.acceptance)


@dataclass(frozen=True)
class Software:
    """How a framework differs from the reference in the fitted rows.

    Attributes:
        latency: factor on latencies.
        acceptance: chance that one drafted token is accepted.
        mixing: factor on the prefill work that slows decode where both share GPUs.
    """

    latency: float
    acceptance: float
    mixing: float


@lru_cache(maxsize=2)
def _file(name: str) -> dict[str, Any]:
    with (packaged_path("data") / "performance" / name).open("rb") as file:
        return tomllib.load(file)


def premises() -> dict[str, Any]:
    """The whole of ``data/performance/premises.toml``."""
    return _file("premises.toml")


def fitted() -> dict[str, Any]:
    """The whole of ``data/performance/fitted.toml``."""
    return _file("fitted.toml")


def premise(name: str) -> float:
    """Value of one of the ``[premise]`` entries of ``premises.toml``."""
    return float(premises()["premise"][name]["value"])


def vintages() -> tuple[str, ...]:
    """Names of the software vintages, slowest first."""
    return ("none", "base", "fast")


def vintage_factors(vintage: str) -> dict[str, float]:
    """Factors of a software vintage on latency, decode efficiency and prefill efficiency.

    A path over time is a vintage with months behind it: ``base+12`` is ``base`` with twelve months of further latency
    gains at ``[vintage.path]`` of ``premises.toml``.

    ``none`` is the software of the fitted rows, ``base`` was fitted on the frontier of July 2026, ``fast`` is
    ``base`` with the latency of ``[vintage.fast]`` of ``premises.toml``.

    Raises:
        InputError: no such vintage.
    """
    level, months = vintage_parts(vintage)
    factors = dict.fromkeys(FACTORS, 1.0)
    if level != "none":
        factors = {name: float(fitted()["vintage"]["base"][name]) for name in FACTORS}
    if level == "fast":
        factors["latency"] *= float(premises()["vintage"]["fast"]["latency_of_base"])
    factors["latency"] *= float(premises()["vintage"]["path"]["latency_per_month"]) ** months
    return factors


def vintage_parts(vintage: str) -> tuple[str, int]:
    """Level and further months of a vintage such as ``base`` or ``base+12``.

    Raises:
        InputError: no such level, or months that are not a whole number.
    """
    level, plus, months = str(vintage).partition("+")
    if level in vintages() and (not plus or months.isdigit()):
        return level, int(months or 0)
    expected = f"One of {', '.join(vintages())}, with `+months` behind it for a later date."
    raise InputError([Fault("", 0, "vintage", str(vintage), expected, nearest(level, vintages()))])


def vintage_at(pace: str, quarter: str) -> str:
    """Vintage of a quarter on a path: ``none`` stands still, ``base`` and ``fast`` go on from their level.

    Args:
        pace: ``none``, ``base`` or ``fast``.
        quarter: such as ``2027Q3``; its first month counts.

    Raises:
        InputError: no such pace.
    """
    level, _ = vintage_parts(pace)
    if level == "none":
        return level
    begin = Quarter(quarter)
    months = begin.year * 12 + 3 * begin.number - 2 - _month_number(fitted()["vintage"]["base"]["date"])
    return f"{level}+{max(round(months), 0)}"


def vintage_date(vintage: str) -> str:
    """Month of the software that a vintage stands for: of its evidence, with further months added."""
    level, months = vintage_parts(vintage)
    text = fitted()["software"]["reference_month"] if level == "none" else fitted()["vintage"]["base"]["date"]
    month = round(_month_number(text)) - 1 + months
    return f"{month // 12}-{month % 12 + 1:02d}"


def reference_physics() -> Physics:
    """Fitted parameters at the software of the fitted rows."""
    return Physics(**{name: float(value) for name, value in fitted()["physics"].items()})


def physics(vintage: str, pool: str = "") -> Physics:
    """Fitted parameters at a software vintage and, where it was calibrated apart, for one pool.

    Args:
        vintage: ``none``, ``base`` or ``fast``.
        pool: SKU name; pools with a ``[pool]`` entry get its bring-up factors on top of the vintage.

    Raises:
        InputError: no such vintage.
    """
    factors = vintage_factors(vintage)
    own = _bring_up(pool)
    if own:
        factors = {name: factors[name] * float(own[name]) for name in FACTORS}
    return reference_physics().scaled(**factors)


def physics_of_month(months: float, pool: str = "") -> Physics:
    """Fitted parameters for software of ``months`` after the reference month.

    Before it latencies fall by ``latency_per_month``; from it to the month of ``base`` the factors move in proportion;
    after that they stay. Bring-up factors of a pool apply in full.
    """
    base = fitted()["vintage"]["base"]
    span = _month_number(base["date"]) - _month_number(fitted()["software"]["reference_month"])
    if months < 0:
        factors = {"latency": float(fitted()["software"]["latency_per_month"]) ** months}
    else:
        factors = {name: float(base[name]) ** min(months / span, 1.0) for name in FACTORS}
    own = _bring_up(pool) or dict.fromkeys(FACTORS, 1.0)
    return reference_physics().scaled(**{name: factors.get(name, 1.0) * float(own[name]) for name in FACTORS})


def _month_number(text: str) -> float:
    return float(text[:4]) * 12 + float(text[5:7])


def calibrated_apart(pool: str) -> bool:
    """Whether a pool has bring-up factors (hardware measured as an engineering sample, or announced as its heir)."""
    return _bring_up(pool) is not None


def _bring_up(pool: str) -> dict[str, float] | None:
    """Fitted bring-up factors of a pool; announced hardware takes those of its predecessor (``[bring_up_of]``)."""
    return fitted()["pool"].get(premises()["bring_up_of"].get(pool, pool))


def software(framework: str) -> Software:
    """Fitted factors of a framework; those of the reference for one that was not fitted."""
    known = fitted()["software"]["framework"]
    name = framework.removeprefix("dynamo-")
    return Software(**known.get(name, known[REFERENCE_SOFTWARE]))
