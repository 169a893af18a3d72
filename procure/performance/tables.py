"""The tables of decode operating points and of the figure: their classes of rows are their schema."""

from __future__ import annotations

from procure.schema import Evidence, Row, col, row


@row("decode_points")
class DecodePoint(Row):
    """Zero to four operating points per element asked for, the best throughput first."""

    element: int = col("position in the arrays that were asked for")
    gpus_per_replica: int = col("GPUs that decode together", unit="GPUs")
    parallelism: str = col("how they share weights and caches")
    batch_per_replica: float = col("sequences that decode together", unit="sequences")
    streams_per_gpu: float = col("sequences per GPU", unit="sequences")
    tps_user: float = col("tokens/s of one user", unit="tokens/s")
    step_s: float = col("seconds of one step", unit="s")
    tokens_per_s_per_gpu: float = col("throughput", unit="tokens/s")
    free_hbm_bytes_per_gpu: float = col("HBM beside weights and running batch", unit="B")
    lpx_rack_s_per_token: float = col("LPX rack-seconds per token; 0 without LPX", unit="s")
    binding: str = col("what holds the throughput back")
    evidence: Evidence = col("what the point rests on")
    source: str = col("where it comes from")
    source_date: str = col("date of the source")
    low: float = col("low end of the band, a factor on throughput", unit="factor")
    high: float = col("high end of the band, a factor on throughput", unit="factor")
    distance: float = col(
        "doublings in TPS/User, context, LLM size and HBM rate from the nearest measurement; 0 where measured",
        unit="doublings",
    )


@row("figure")
class FigurePoint(Row):
    """The best point of a pool at each TPS/User that it reaches, prefill and power of the facility counted in."""

    pool: str = col("hardware as it was asked for", key=True)
    tps_user: float = col("tokens/s of the median user", unit="tokens/s", key=True)
    tps_user_p90: float = col("tokens/s that nine of ten users reach", unit="tokens/s")
    tokens_per_s_per_gpu: float = col("output over decode and prefill GPUs", unit="tokens/s")
    tokens_per_s_per_mw: float = col("output over MW of the facility", unit="tokens/s per MW")
    decode_tokens_per_s_per_gpu: float = col("output over decode GPUs", unit="tokens/s")
    prefill_tokens_per_s_per_gpu: float = col("computed input over prefill GPUs", unit="tokens/s")
    ttft_s: float = col("time to first token", unit="s")
    usd_per_million_output_tokens: float = col("cost at full use", unit="USD/M tokens")
    streams_per_gpu: float = col("sequences per GPU", unit="sequences")
    gpus_per_replica: int = col("GPUs that decode together", unit="GPUs")
    parallelism: str = col("how they share weights and caches")
    binding: str = col("what holds the throughput back")
    weight_precision: str = col("format of the weights")
    evidence: Evidence = col("what the point rests on")
    source: str = col("where it comes from")
    source_date: str = col("date of the source")
    low: float = col("low end of the band, a factor on throughput", unit="factor")
    high: float = col("high end of the band, a factor on throughput", unit="factor")
