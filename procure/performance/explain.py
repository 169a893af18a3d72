"""One decode step in the open: bytes, FLOPs and seconds of every term, for the best point of a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from procure.performance.decode import Deployment, Lengths, solve
from procure.performance.lpx import lpx_premise
from procure.performance.physics import physics
from procure.performance.prefill import prefill_at_peak, prefill_group_gpus, prefill_terms
from procure.performance.step import Layout, Streams, decode_terms
from procure.performance.work import attention_peak_flops


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
    rules, pool, card, work = (
        physics(deployment.vintage, deployment.pool.name),
        deployment.pool,
        deployment.card,
        deployment.work,
    )
    kv, drafts = deployment.kv_format, np.array([point["draft"]])
    each = card.speculating() if point["draft"] > 0 else card
    spread = np.array([bool(point["data_parallel"])])
    layout = Layout(np.array([float(point["gpus_per_replica"])]), spread, spread)
    streams = Streams(
        kv,
        drafts,
        np.asarray(each.loaded_bytes(lengths.mean, kv), dtype=float),
        np.asarray(card.decode_attention_flops(lengths.mean), dtype=float),
    )
    batch = np.array([float(point["batch_per_replica"])])
    if deployment.lpx is not None:
        terms: list[Term] = []
    else:
        seconds = {
            name: float(value[0]) for name, value in decode_terms(pool, rules, work, layout, streams, batch).items()
        }
        hbm = pool.hbm_bytes_per_s_per_gpu
        flops = _gemm_rate(deployment) * rules.gemm_efficiency
        link = pool.scale_up_bytes_per_s_per_gpu * (rules.exchange_efficiency if spread[0] else rules.reduce_efficiency)
        rates = {
            "weights": ("bytes", hbm * rules.weight_efficiency),
            "gemm": ("FLOP", flops),
            "kv": ("bytes", hbm * rules.kv_efficiency),
            "attention": ("FLOP", attention_peak_flops(pool, kv) * rules.attention_efficiency),
            "network": ("bytes", link),
            "latency": ("layers", (work.layers + float(point["draft"])) / seconds["latency"]),
        }
        terms = [Term(name, value * rates[name][1], *rates[name], value) for name, value in seconds.items()]
    return {
        "point": {name: value.item() if hasattr(value, "item") else value for name, value in point.items()},
        "tokens_per_step": float(rules.tokens_per_step(drafts)[0]),
        "terms": terms,
        "weight_bytes": work.weight_bytes,
        "cache_bytes_stored": float(np.asarray(each.stored_bytes(context_tokens, kv))),
        "cache_bytes_loaded": float(streams.loaded_bytes[0]),
        "vendor_scale_applies": deployment.lpx is not None,
        "lpx_fill": lpx_premise("racks_fill") if deployment.lpx else None,
    }


def _gemm_rate(deployment: Deployment) -> float:
    """Mean dense peak over the parts of a step, weighted by their FLOPs."""
    from procure.performance.work import peak_flops

    parts = (deployment.work.experts, *deployment.work.dense)
    seconds = sum(part.flops_per_token / peak_flops(deployment.pool, part.encoding) for part in parts)
    return sum(part.flops_per_token for part in parts) / seconds


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
    return {
        "gpus": prefill_group_gpus(deployment.pool, deployment.work),
        "terms": [
            {"term": name, "at_peak_gpu_s": float(peak[name][0]), "gpu_s": float(terms[name][0])} for name in terms
        ],
    }
