"""Throughput against TPS/User for every pool: decode operating points, prefill cost and time, with their evidence."""

from procure.performance.first_token import first_token_s, load_s
from procure.performance.lpx import lpx_racks_per_copy
from procure.performance.measured import Curves
from procure.performance.own_prefill import prefill_gpu_seconds, prefill_is_stated, served_prefill_gpu_seconds
from procure.performance.percentile import tps_over_median
from procure.performance.points import (
    decode_points,
    idle_hbm_bytes_per_gpu,
    prefill_gpus_per_replica,
    prefill_latency_s,
)
from procure.performance.queueing import Queue
from procure.performance.rules import Rules, Setup, premises_of
from procure.performance.sizes import decode_rates_by_size, prefill_gpus_by_size

__all__ = [
    "Curves",
    "Queue",
    "Rules",
    "Setup",
    "decode_points",
    "decode_rates_by_size",
    "first_token_s",
    "idle_hbm_bytes_per_gpu",
    "load_s",
    "lpx_racks_per_copy",
    "prefill_gpu_seconds",
    "prefill_gpus_by_size",
    "prefill_gpus_per_replica",
    "prefill_is_stated",
    "prefill_latency_s",
    "premises_of",
    "served_prefill_gpu_seconds",
    "tps_over_median",
]
