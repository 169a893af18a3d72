"""Prefill: GPU-seconds of work, and wall seconds on one replica.

| term | GPU-seconds |
|---|---|
| gemm | new tokens x sum(FLOPs per token / peak) / efficiency |
| weights | new tokens / chunk x weight bytes / (HBM rate x efficiency) |
| moved | new tokens x layers x passes x activation bytes / HBM rate |
| exchange | new tokens x bytes sent to the other GPUs of the replica / (scale-up rate x efficiency) |
| attention | attention FLOPs(new, prefix) / (attention peak x efficiency) |
| softmax | scores(new, prefix) / exponentials per second x share that no arithmetic hides |
| index | new tokens x layers that choose by an index x seconds of one |
| prefix | bytes of the prefix's cache / (HBM rate x efficiency) |

Arithmetic alone cannot say what a long prompt costs: exponentials bind where tensor cores are fast (FP8 on B200 and
GB200), moves and exchanges do not speed up with them, and a sparse index costs every token the same. The head runs
once per request and is left out. Tokens of several requests are prefilled together in chunks, over which one read of
the weights is spread. A reused prefix is not computed again, but new tokens attend to it and read it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from procure.performance.layouts import usable_hbm_bytes
from procure.performance.physics import Physics
from procure.performance.queueing import Queue, wait_in_services
from procure.performance.step import DISPATCH_BYTES, TENSOR_BYTES, Layout, layer_latency_s, others_reached
from procure.performance.work import Work, attention_peak_flops, peak_flops, work_of

if TYPE_CHECKING:
    from procure.catalogue import Sku
    from procure.performance.rules import Rules, Setup
    from procure.sizing import Card


def prefill_at_peak(
    pool: Sku, card: Card, setup: Setup, new_tokens: np.ndarray, prefix_tokens: np.ndarray
) -> dict[str, np.ndarray]:
    """GPU-seconds of one request's prefill if the hardware reached its peaks, term by term.

    ``moved`` is one pass over the activations of every layer; ``index`` counts tokens x layers, not seconds.

    Args:
        pool: hardware that prefills.
        card: the LLM.
        setup: formats and rules; the vintage does not matter.
        new_tokens: tokens computed, per request.
        prefix_tokens: tokens before them whose cache is there already.
    """
    work, rules = work_of(card, setup.weight_precision), setup.rules
    new = np.asarray(new_tokens, dtype=float)
    prefix = np.asarray(prefix_tokens, dtype=float)
    body = (work.experts, work.ffn, work.attention)
    gemm = sum(part.flops_per_token / peak_flops(pool, part.encoding) for part in body)
    body_bytes = sum(part.stored_bytes for part in body)
    hbm = pool.hbm_bytes_per_s_per_gpu
    return {
        "gemm": new * gemm,
        "weights": new * body_bytes / (rules.prefill.chunk_tokens * hbm),
        "moved": new * work.layers * work.hidden * TENSOR_BYTES / hbm,
        "exchange": new * _exchanged_bytes(pool, work, rules) / pool.scale_up_bytes_per_s_per_gpu,
        "attention": _floats(card.prefill_attention_flops(new, prefix)) / attention_peak_flops(pool, setup.kv_format),
        "softmax": _floats(card.prefill_softmax_scores(new, prefix)) / pool.exponentials_per_s_per_gpu,
        "index": new * card.indexed_layers,
        "prefix": _floats(card.stored_bytes(prefix, setup.kv_format)) / hbm,
    }


def _floats(values: object) -> np.ndarray:
    return np.asarray(values, dtype=float)


def _exchanged_bytes(pool: Sku, work: Work, rules: Rules) -> float:
    """Bytes that one token sends over the links of a prefill replica, all layers.

    MoE layers dispatch it to the other GPUs that hold one of its experts, and combine; dense layers are tensor
    parallel: two ring all-reduces, in which every GPU of g sends 2 (g - 1) / g activations.
    """
    gpus = float(prefill_group_gpus(pool, work, rules))
    expert = work.moe_layers * DISPATCH_BYTES * float(others_reached(np.array(gpus), work.top_k))
    dense = (work.layers - work.moe_layers) * 2.0 * 2.0 * (gpus - 1.0) * TENSOR_BYTES
    return work.hidden * (expert + dense)


def prefill_terms(peak: dict[str, np.ndarray], physics: Physics) -> dict[str, np.ndarray]:
    """GPU-seconds of each term at what was fitted."""
    return {
        "gemm": peak["gemm"] / physics.prefill_efficiency,
        "weights": peak["weights"] / physics.weight_efficiency,
        "moved": peak["moved"] * physics.activation_passes,
        "exchange": peak["exchange"] / physics.prefill_exchange_efficiency,
        "attention": peak["attention"] / physics.prefill_attention_efficiency,
        "softmax": peak["softmax"] * physics.exposed_exponentials,
        "index": peak["index"] * physics.index_s,
        "prefix": peak["prefix"] / physics.kv_efficiency,
    }


def prefill_seconds(peak: dict[str, np.ndarray], physics: Physics) -> np.ndarray:
    """GPU-seconds of all terms together."""
    return np.asarray(np.sum(np.broadcast_arrays(*prefill_terms(peak, physics).values()), axis=0))


def prefill_group_gpus(pool: Sku, work: Work, rules: Rules) -> int:
    """GPUs of one prefill replica.

    The smallest power of two that holds the weights times ``physics/prefill_group_factor``, inside the scale-up domain
    where the weights fit there.
    """
    fewest = 2 ** int(np.ceil(np.log2(max(work.weight_bytes / usable_hbm_bytes(pool, rules.layouts), 1.0))))
    domain = 2 ** int(np.log2(pool.scale_up_domain_gpus))
    return int(max(fewest, min(fewest * rules.prefill.group_factor, domain)))


def prefill_wall_s(pool: Sku, card: Card, setup: Setup, gpu_seconds: np.ndarray, queue: Queue) -> np.ndarray:
    """Wall seconds of prefills on one replica: start, computing, queueing.

    Service is ``GPU-seconds / (GPUs x group efficiency) + layers x latency``: one request alone does not keep every GPU
    of a group busy. The wait, in services, is that of :func:`procure.performance.queueing.wait_in_services` among
    ``queue/prefill_replicas`` replicas.
    """
    work, rules = work_of(card, setup.weight_precision), setup.rules
    physics = rules.physics(setup.vintage, pool.name)
    gpus = prefill_group_gpus(pool, work, rules)
    group = Layout.best(np.array(float(gpus)), np.array(False))
    kept_busy = gpus * (rules.prefill.group_efficiency if gpus > 1 else 1.0)
    service = gpu_seconds / kept_busy + work.layers * layer_latency_s(pool, physics, work, group)
    wait = wait_in_services(queue, rules.queue)
    return rules.prefill.start_s + service * (1.0 + wait)
