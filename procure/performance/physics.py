"""The few named numbers of the decode and prefill physics, and how software moves them over time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from procure.errors import Fault, InputError, nearest
from procure.performance.work import is_wide
from procure.quarter import Quarter

LATENCIES = (
    "layer_latency_s",
    "latent_latency_s",
    "tensor_latency_s",
    "spread_latency_s",
    "off_domain_latency_s",
    "off_domain_spread_latency_s",
)
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

    Efficiencies are fractions of the catalogue's peak; latencies are seconds, one for all or an array that broadcasts
    against (elements, layouts, drafts).
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
    gather_efficiency: float
    """Of one-way scale-up bandwidth, gathering every token on every GPU before the experts, scattering after them."""
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
    """More per layer where a replica leaves its scale-up domain, tensor parallel."""
    off_domain_spread_latency_s: float
    """The same under attention data parallelism."""
    server_latency_factor: float
    """On all latencies in servers of 8, over those in a rack."""
    fp8_latency_factor: float
    """On all latencies where weights are block-scaled FP8, whose activations are quantised apart."""
    acceptance: float
    """Chance that one drafted token is accepted."""

    def scaled(self, *, latency: float | np.ndarray = 1.0, efficiency: float = 1.0, prefill: float = 1.0) -> Physics:
        """The same physics with latencies and efficiencies multiplied, none of these above 1.

        ``prefill`` multiplies the rate of every term of prefill but reading weights and prefix.
        """
        factors: dict[str, float | np.ndarray] = {**dict.fromkeys(LATENCIES, latency)}
        factors |= dict.fromkeys(DECODE_EFFICIENCIES, efficiency)
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


@dataclass(frozen=True)
class Months:
    """How the software of the fitted rows moved: factors for a month later over a month earlier.

    Attributes:
        latency: on latencies.
        early_spread: on the rates of what grows with the batch under attention data parallelism, up to the reference
            month: wide expert parallelism was new then.
    """

    latency: float
    early_spread: float


@dataclass(frozen=True)
class Factors:
    """What multiplies latencies, decode efficiencies and the rates of prefill."""

    latency: float
    efficiency: float
    prefill: float

    def __mul__(self, other: Factors) -> Factors:
        return Factors(self.latency * other.latency, self.efficiency * other.efficiency, self.prefill * other.prefill)


UNCHANGED = Factors(1.0, 1.0, 1.0)
VINTAGES = ("none", "base", "fast")
"""Levels of software, slowest first."""


@dataclass(frozen=True)
class SoftwarePath:
    """How software moves the physics over time.

    A vintage is a level, or a level with months of further latency gains behind it, such as ``base+12``. ``none`` is
    the software of the fitted rows, ``base`` that of the frontier of ``base_month``, ``fast`` is ``base`` with
    latencies times ``fast_latency_of_base``.

    Attributes:
        reference_month: of the fitted rows, such as ``2026-02``.
        fitted: how the fitted rows moved.
        base_month: of vintage ``base``.
        base: factors of vintage ``base``.
        fast_latency_of_base: factor on the latencies of ``base`` that makes ``fast``.
        path_latency_per_month: factor on latencies for every month beyond a level.
    """

    reference_month: str
    fitted: Months
    base_month: str
    base: Factors
    fast_latency_of_base: float
    path_latency_per_month: float

    def factors(self, vintage: str) -> Factors:
        """Factors of a vintage.

        Raises:
            InputError: no such vintage.
        """
        level, months = vintage_parts(vintage)
        found = UNCHANGED if level == "none" else self.base
        latency = found.latency * (self.fast_latency_of_base if level == "fast" else 1.0)
        return replace(found, latency=latency * self.path_latency_per_month**months)

    def vintage_at(self, pace: str, quarter: str) -> str:
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
        months = begin.year * 12 + 3 * begin.number - 2 - month_number(self.base_month)
        return f"{level}+{max(round(months), 0)}"

    def date(self, vintage: str) -> str:
        """Month of the software that a vintage stands for: of its evidence, with further months added."""
        level, months = vintage_parts(vintage)
        month = round(month_number(self.reference_month if level == "none" else self.base_month)) - 1 + months
        return f"{month // 12}-{month % 12 + 1:02d}"

    def factors_of_month(self, months: float) -> Factors:
        """Factors of the software ``months`` after the reference month.

        Before it latencies fall as in the fitted rows; from it to the month of ``base`` the factors move in
        proportion; after that they stay.
        """
        if months < 0:
            return replace(UNCHANGED, latency=self.fitted.latency**months)
        span = month_number(self.base_month) - month_number(self.reference_month)
        share = min(months / span, 1.0)
        return Factors(*(each**share for each in (self.base.latency, self.base.efficiency, self.base.prefill)))


def vintage_parts(vintage: str) -> tuple[str, int]:
    """Level and further months of a vintage such as ``base`` or ``base+12``.

    Raises:
        InputError: no such level, or months that are not a whole number.
    """
    level, plus, months = str(vintage).partition("+")
    if level in VINTAGES and (not plus or months.isdigit()):
        return level, int(months or 0)
    expected = f"One of {', '.join(VINTAGES)}, with `+months` behind it for a later date."
    raise InputError([Fault("", 0, "vintage", str(vintage), expected, nearest(level, VINTAGES))])


def month_number(text: str) -> float:
    """Months since year 0 of a month such as ``2026-02``."""
    return float(text[:4]) * 12 + float(text[5:7])
