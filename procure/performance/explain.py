"""One decode step in the open: bytes, FLOPs and seconds of every term, for the best point of a deployment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from procure.performance.decode import Deployment, Elements, solve
from procure.performance.lpx import paired_terms
from procure.performance.physics import Physics
from procure.performance.prefill import prefill_at_peak, prefill_group_gpus, prefill_terms
from procure.performance.step import Layout, Streams, decode_terms, network_sides, weight_seconds
from procure.performance.work import Part, attention_peak_flops, peak_flops

if TYPE_CHECKING:
    from procure.catalogue import Sku


@dataclass(frozen=True)
class Term:
    """One term of a step: ``amount`` of ``unit`` on the busiest GPU at ``rate`` per second takes ``seconds``.

    A term that is no flow (latency) has amount = layers and rate = layers per second.
    """

    name: str
    amount: float
    unit: str
    rate: float
    seconds: float


def explain_decode(deployment: Deployment, context_tokens: float, tps_user: float) -> dict[str, Any] | None:
    """The best point at a context and TPS/User with each term of its step, or None where nothing serves it.

    Amounts follow from seconds and rates, so their product closes; :mod:`procure.performance.step` says how seconds
    are made.
    """
    asked = Elements.alike(context_tokens, np.array([tps_user]))
    points = solve(deployment, asked)
    if not len(points["element"]):
        return None
    point = {name: values[0] for name, values in points.items()}
    card, work, setup = deployment.card, deployment.work, deployment.setup
    physics = setup.rules.physics(setup.vintage, deployment.pool.name)
    kv, drafts = setup.kv_format, np.array([point["draft"]])
    each = card.speculating() if point["draft"] > 0 else card
    spread = np.array([bool(point["data_parallel"])])
    layout = Layout.best(np.array([float(point["gpus_per_replica"])]), spread)
    loaded = np.asarray(each.loaded_bytes(asked.mean, kv), dtype=float)
    streams = Streams(kv, drafts, loaded, np.asarray(card.decode_attention_flops(asked.mean), dtype=float))
    scale = deployment.scale
    batch = np.array([float(point["batch_per_replica"])]) / scale
    seconds = _seconds(deployment, physics, layout, streams, batch)
    rates = _rates(deployment, physics, layout, streams, batch, seconds)
    return {
        "point": {name: value.item() if hasattr(value, "item") else value for name, value in point.items()},
        "tokens_per_step": float(physics.tokens_per_step(drafts)[0]),
        "terms": [Term(name, value * rates[name][1], *rates[name], value) for name, value in seconds.items()],
        "weight_bytes": work.weight_bytes,
        "cache_bytes_stored": float(np.asarray(each.stored_bytes(context_tokens, kv))),
        "cache_bytes_loaded": float(loaded[0]),
        "vendor_scale": scale,
    }


def _seconds(
    deployment: Deployment, physics: Physics, layout: Layout, streams: Streams, batch: np.ndarray
) -> dict[str, float]:
    copy = deployment.copy()
    if copy is None:
        found = decode_terms(deployment.pool, physics, deployment.work, layout, streams, batch)
    else:
        found = paired_terms(deployment.pool, physics, deployment.work, layout, streams, batch, copy)
    return {name: float(value[0]) for name, value in found.items()}


def _rates(
    deployment: Deployment,
    physics: Physics,
    layout: Layout,
    streams: Streams,
    batch: np.ndarray,
    seconds: dict[str, float],
) -> dict[str, tuple[str, float]]:
    """Unit and rate per second of each term: the catalogue's peak times the fitted efficiency."""
    pool, work = deployment.pool, deployment.work
    hbm = pool.hbm_bytes_per_s_per_gpu
    parts = (work.attention, work.head) if deployment.lpx else (work.experts, *work.dense)
    weights = hbm * physics.weight_efficiency
    if deployment.lpx is None:
        plain = weight_seconds(pool, replace(physics, widening_efficiency=1.0), work, layout, streams.draft, batch)
        weights *= float(plain[0]) / seconds["weights"]
    rates = {
        "weights": ("bytes", weights),
        "gemm": ("FLOP", _mean_peak(pool, parts) * physics.gemm_efficiency),
        "kv": ("bytes", hbm * physics.cache_efficiency(streams.kv_format)),
        "attention": ("FLOP", attention_peak_flops(pool, streams.kv_format) * physics.attention_efficiency),
        "network": ("bytes", _link(deployment, physics, layout, batch * (1.0 + streams.draft))),
        "latency": ("layers", (work.layers + float(streams.draft[0])) / seconds["latency"]),
    }
    copy = deployment.copy()
    if copy is not None and deployment.lpx is not None:
        rates["lpx"] = ("FLOP", copy.racks * deployment.lpx.fp8_flops_per_rack * copy.rules.flops_efficiency)
    return rates


def _mean_peak(pool: Sku, parts: tuple[Part, ...]) -> float:
    """Mean dense peak over parts of a step, weighted by their FLOPs."""
    seconds = sum(part.flops_per_token / peak_flops(pool, part.encoding) for part in parts)
    return sum(part.flops_per_token for part in parts) / seconds


def _link(deployment: Deployment, physics: Physics, layout: Layout, tokens: np.ndarray) -> float:
    """Bytes/s that the slower side of the exchange reaches."""
    pool = deployment.pool
    if deployment.lpx is not None:
        return pool.scale_out_bytes_per_s_per_gpu * deployment.setup.rules.lpx.link_efficiency
    up, out = network_sides(pool, physics, deployment.work, layout, tokens)
    if out[0] > up[0]:
        return pool.scale_out_bytes_per_s_per_gpu * physics.scale_out_efficiency
    fitted = physics.exchange_efficiency if layout.data_parallel[0] else physics.reduce_efficiency
    return pool.scale_up_bytes_per_s_per_gpu * fitted


def explain_prefill(deployment: Deployment, new_tokens: float, prefix_tokens: float) -> dict[str, Any]:
    """GPU-seconds of each term of one request's prefill, at the peak and at fitted efficiencies."""
    pool, setup = deployment.pool, deployment.setup
    peak = prefill_at_peak(pool, deployment.card, setup, np.array([new_tokens]), np.array([prefix_tokens]))
    terms = prefill_terms(peak, setup.rules.physics(setup.vintage, pool.name))
    peak["index"] = np.zeros(1)  # a latency: no peak of the hardware says anything about it
    return {
        "gpus": prefill_group_gpus(pool, deployment.work, setup.rules),
        "terms": [
            {"term": name, "at_peak_gpu_s": float(peak[name][0]), "gpu_s": float(terms[name][0])} for name in terms
        ],
    }
