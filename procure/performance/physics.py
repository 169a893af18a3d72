"""The few named numbers of the decode and prefill physics, kept as data with the way they were found."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache

from procure.catalogue.paths import packaged_path
from procure.errors import Fault, InputError, nearest


@dataclass(frozen=True)
class Physics:
    """Parameters of one decode step and of prefill, for hardware and software of one date.

    Efficiencies are fractions of the catalogue's peak; latencies are seconds; ``acceptance`` is the chance
    that one drafted token is accepted.
    """

    weight_efficiency: float  # of HBM bandwidth, reading weights
    kv_efficiency: float  # of HBM bandwidth, reading KV caches
    gemm_efficiency: float  # of the dense peak, decode GEMMs
    attention_efficiency: float  # of the dense peak, score and value products
    network_efficiency: float  # of one-way link bandwidth
    prefill_efficiency: float  # of the dense peak, prefill GEMMs
    prefill_attention_efficiency: float  # of the dense peak, score and value products of prefill
    layer_latency_s: float  # per layer on one GPU
    layer_latency_per_doubling_s: float  # per layer and doubling of the GPUs of a replica
    layer_latency_off_domain_s: float  # per layer when a replica leaves its scale-up domain
    acceptance: float

    def scaled(self, *, latency: float = 1.0, efficiency: float = 1.0, prefill: float = 1.0) -> Physics:
        """The same physics with latencies, decode efficiencies and prefill efficiency multiplied."""
        return replace(
            self,
            layer_latency_s=self.layer_latency_s * latency,
            layer_latency_per_doubling_s=self.layer_latency_per_doubling_s * latency,
            layer_latency_off_domain_s=self.layer_latency_off_domain_s * latency,
            weight_efficiency=min(self.weight_efficiency * efficiency, 1.0),
            kv_efficiency=min(self.kv_efficiency * efficiency, 1.0),
            gemm_efficiency=min(self.gemm_efficiency * efficiency, 1.0),
            prefill_efficiency=min(self.prefill_efficiency * prefill, 1.0),
            prefill_attention_efficiency=min(self.prefill_attention_efficiency * prefill, 1.0),
        )

    def tokens_per_step(self, draft: int) -> float:
        """Tokens that one step yields with ``draft`` tokens drafted: the accepted run and the step's own token."""
        return float(sum(self.acceptance**i for i in range(draft + 1)))


@lru_cache(maxsize=1)
def premises() -> dict:
    """The whole of ``data/performance/physics.toml``."""
    with (packaged_path("data") / "performance" / "physics.toml").open("rb") as file:
        return tomllib.load(file)


def vintages() -> list[str]:
    """Names of the software vintages, slowest first."""
    return list(premises()["vintage"])


def premise(name: str) -> float:
    """Value of one of the ``[premise.*]`` entries of ``physics.toml``."""
    return float(premises()["premise"][name]["value"])


def physics(vintage: str, pool: str = "") -> Physics:
    """Fitted parameters at a software vintage and, where it was calibrated apart, for one pool.

    Args:
        vintage: ``none`` (the software of the fitted rows), ``base`` or ``fast``.
        pool: SKU name; pools with a ``[pool.*]`` entry get its bring-up factors on top of the vintage.

    Raises:
        InputError: no such vintage.
    """
    known = premises()["vintage"]
    if vintage not in known:
        raise InputError([Fault("", 0, "vintage", vintage, f"One of {', '.join(known)}.", nearest(vintage, known))])
    base = Physics(**{name: float(entry["value"]) for name, entry in premises()["physics"].items()})
    factors = {key: known[vintage][key] for key in ("latency", "efficiency", "prefill")}
    own = premises().get("pool", {}).get(pool)
    if own:
        factors = {key: factors[key] * own[key] for key in factors}
    return base.scaled(**factors)
