"""One decode step in the open: bytes, FLOPs and seconds of every term, for the best point of a deployment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from procure.performance.decode import Deployment, Lengths, solve
from procure.performance.lpx import (
    ffn_seconds_per_token,
    lpx_premise,
    lpx_racks_per_copy,
    paired_terms,
    vendor_scale,
)
from procure.performance.physics import Physics, physics
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
    lengths = Lengths(np.array([context_tokens]), np.array([context_tokens]))
    points = solve(deployment, lengths, np.array([tps_user]))
    if not len(points["element"]):
        return None
    point = {name: values[0] for name, values in points.items()}
    rules, card, work = physics(deployment.vintage, deployment.pool.name), deployment.card, deployment.work
    kv, drafts = deployment.kv_format, np.array([point["draft"]])
    each = card.speculating() if point["draft"] > 0 else card
    spread = np.array([bool(point["data_parallel"])])
    layout = Layout(np.array([float(point["gpus_per_replica"])]), spread, spread)
    loaded = np.asarray(each.loaded_bytes(lengths.mean, kv), dtype=float)
    streams = Streams(kv, drafts, loaded, np.asarray(card.decode_attention_flops(lengths.mean), dtype=float))
    scale = vendor_scale() if deployment.lpx else 1.0
    batch = np.array([float(point["batch_per_replica"])]) / scale
    seconds = _seconds(deployment, rules, layout, streams, batch)
    rates = _rates(deployment, rules, layout, streams, batch, seconds)
    return {
        "point": {name: value.item() if hasattr(value, "item") else value for name, value in point.items()},
        "tokens_per_step": float(rules.tokens_per_step(drafts)[0]),
        "terms": [Term(name, value * rates[name][1], *rates[name], value) for name, value in seconds.items()],
        "weight_bytes": work.weight_bytes,
        "cache_bytes_stored": float(np.asarray(each.stored_bytes(context_tokens, kv))),
        "cache_bytes_loaded": float(loaded[0]),
        "vendor_scale": scale,
    }


def _seconds(
    deployment: Deployment, rules: Physics, layout: Layout, streams: Streams, batch: np.ndarray
) -> dict[str, float]:
    if deployment.lpx is None:
        found = decode_terms(deployment.pool, rules, deployment.work, layout, streams, batch)
    else:
        racks = lpx_racks_per_copy(deployment.card, deployment.lpx)
        ffn_s = ffn_seconds_per_token(deployment.work, deployment.lpx, racks)
        found = paired_terms(deployment.pool, rules, deployment.work, layout, streams, batch, ffn_s)
    return {name: float(value[0]) for name, value in found.items()}


def _rates(
    deployment: Deployment,
    rules: Physics,
    layout: Layout,
    streams: Streams,
    batch: np.ndarray,
    seconds: dict[str, float],
) -> dict[str, tuple[str, float]]:
    """Unit and rate per second of each term: the catalogue's peak times the fitted efficiency."""
    pool, work = deployment.pool, deployment.work
    hbm = pool.hbm_bytes_per_s_per_gpu
    parts = (work.attention, work.head) if deployment.lpx else (work.experts, *work.dense)
    weights = hbm * rules.weight_efficiency
    if deployment.lpx is None:
        plain = weight_seconds(pool, replace(rules, widening_efficiency=1.0), work, layout, streams.draft, batch)
        weights *= float(plain[0]) / seconds["weights"]
    rates = {
        "weights": ("bytes", weights),
        "gemm": ("FLOP", _mean_peak(pool, parts) * rules.gemm_efficiency),
        "kv": ("bytes", hbm * rules.cache_efficiency(streams.kv_format)),
        "attention": ("FLOP", attention_peak_flops(pool, streams.kv_format) * rules.attention_efficiency),
        "network": ("bytes", _link(deployment, rules, layout, batch * (1.0 + streams.draft))),
        "latency": ("layers", (work.layers + float(streams.draft[0])) / seconds["latency"]),
    }
    if deployment.lpx is not None:
        racks = lpx_racks_per_copy(deployment.card, deployment.lpx)
        rates["lpx"] = ("FLOP", racks * deployment.lpx.fp8_flops_per_rack * lpx_premise("flops_efficiency"))
    return rates


def _mean_peak(pool: Sku, parts: tuple[Part, ...]) -> float:
    """Mean dense peak over parts of a step, weighted by their FLOPs."""
    seconds = sum(part.flops_per_token / peak_flops(pool, part.encoding) for part in parts)
    return sum(part.flops_per_token for part in parts) / seconds


def _link(deployment: Deployment, rules: Physics, layout: Layout, tokens: np.ndarray) -> float:
    """Bytes/s that the slower side of the exchange reaches."""
    pool = deployment.pool
    if deployment.lpx is not None:
        return pool.scale_out_bytes_per_s_per_gpu * lpx_premise("link_efficiency")
    up, out = network_sides(pool, rules, deployment.work, layout, tokens)
    if out[0] > up[0]:
        return pool.scale_out_bytes_per_s_per_gpu * rules.scale_out_efficiency
    fitted = rules.exchange_efficiency if layout.data_parallel[0] else rules.reduce_efficiency
    return pool.scale_up_bytes_per_s_per_gpu * fitted


def explain_prefill(deployment: Deployment, new_tokens: float, prefix_tokens: float) -> dict[str, Any]:
    """GPU-seconds of each term of one request's prefill, at the peak and at fitted efficiencies."""
    peak = prefill_at_peak(
        deployment.pool,
        deployment.card,
        weight_precision=deployment.weight_precision,
        kv_format=deployment.kv_format,
        new_tokens=np.array([new_tokens]),
        prefix_tokens=np.array([prefix_tokens]),
    )
    terms = prefill_terms(peak, physics(deployment.vintage, deployment.pool.name))
    peak["index"] = np.zeros(1)  # a latency: no peak of the hardware says anything about it
    return {
        "gpus": prefill_group_gpus(deployment.pool, deployment.work),
        "terms": [
            {"term": name, "at_peak_gpu_s": float(peak[name][0]), "gpu_s": float(terms[name][0])} for name in terms
        ],
    }
