"""Fitted numbers as premises: each with its band, what it rests on and what it means."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields

from procure.catalogue import Fact
from procure.performance.fit import HELD, Fit
from procure.performance.physics import Factors, Physics
from procure.schema import Evidence

COLUMNS = ("group", "name", "value", "unit", "low", "high", "kind", "source", "source_date", "note")
NOTES = {
    "weight_efficiency": "Of HBM bandwidth, reading weights.",
    "widening_efficiency": "Further factor where weights are widened to BF16 on the way.",
    "kv_efficiency": "Of HBM bandwidth, reading caches of 8 bits and fewer.",
    "gemm_efficiency": "Of the dense peak, decode GEMMs.",
    "reduce_efficiency": "Of one-way scale-up bandwidth, all-reduce of tensor parallelism.",
    "exchange_efficiency": "Of one-way scale-up bandwidth, dispatch and combine of experts in decode.",
    "gather_efficiency": "Of one-way scale-up bandwidth, gathering all tokens on every GPU before the experts of a "
    "decode step and scattering after them: engines without an all-to-all. Plans use one.",
    "prefill_efficiency": "Of the dense peak, prefill GEMMs.",
    "prefill_attention_efficiency": "Of the dense peak, score and value products of prefill.",
    "exposed_exponentials": "Share of the softmax exponentials' time that the products of prefill do not hide.",
    "activation_passes": "How often a layer's prefill moves its activations through HBM.",
    "prefill_exchange_efficiency": "Of one-way scale-up bandwidth, exchange between the GPUs of a prefill replica.",
    "layer_latency_s": "Per layer of a decode step on one GPU.",
    "latent_latency_s": "More per layer where all heads share one cache (MLA, MQA).",
    "tensor_latency_s": "More per layer and doubling of GPUs, experts sliced.",
    "spread_latency_s": "More per layer and doubling of GPUs, attention data parallel with whole experts on each GPU.",
    "off_domain_latency_s": "More per layer where a replica leaves its scale-up domain, tensor parallel.",
    "off_domain_spread_latency_s": "The same with attention data parallel and experts spread. Four runs of "
    "TensorRT-LLM on H100; later ones with low-latency kernels (GLM-5.2 on 16 H200) are faster than computed with it.",
    "server_latency_factor": "On all latencies in servers of 8 over those in racks: lower clocks, other hosts.",
    "fp8_latency_factor": "On all latencies where weights are block-scaled FP8.",
    "acceptance": "Chance that one drafted token is accepted.",
}
MONTHLY = {
    "latency": "Latencies of the fitted rows by their month, a month later over a month earlier.",
    "early_spread": "Rates of what grows with the batch under attention data parallelism (arithmetic, caches, "
    "exchange), a month later over a month earlier, up to the reference month; plans lie after it.",
}
LEFT_OUT = "Band: least and most over fits that left one source, hardware or card out."


def fitted_facts(found: Fit, without: Sequence[Fit], source: str, month: str) -> dict[str, Fact]:
    """Physics, software by framework and month, with the range over fits that left a group out as their band."""

    def fact(unit: str, note: str, value: float, others: Sequence[float]) -> Fact:
        low, high = min([value, *others]), max([value, *others])
        return Fact(
            _short(value), unit, _short(low), _short(high), Evidence.PHYSICS, source, month, f"{note} {LEFT_OUT}"
        )

    made = {"software/reference_month": Fact(month, "text", None, None, Evidence.PHYSICS, source, month,
                                             "Month of the fitted rows' software.")}  # fmt: skip
    for name, note in MONTHLY.items():
        every = [getattr(each.months, name) for each in without]
        made[f"software/{name}_per_month"] = fact("ratio", note, getattr(found.months, name), every)
    for name in (each.name for each in fields(Physics) if each.name not in HELD):
        others = [getattr(each.physics, name) for each in without]
        made[f"physics/{name}"] = fact(_unit(name), NOTES[name], getattr(found.physics, name), others)
    for framework, software in found.frameworks.items():
        for name, value in vars(software).items():
            note = f"Of {framework}, over the reference; plans do not rest on it."
            others = [getattr(each.frameworks[framework], name) for each in without]
            made[f"framework/{framework}/{name}"] = fact("ratio", note, value, others)
    return made


def factor_facts(base: Factors, pools: Mapping[str, Factors], month: str) -> dict[str, Fact]:
    """The vintage ``base`` and bring-up factors, each loose: a handful of frontier points stand behind them."""
    source = "Frontiers of July 2026 (curves), fitted through the envelope over layouts"
    made = {
        "software/base_month": Fact(
            month, "text", None, None, Evidence.PHYSICS, source, month, "Month of vintage base."
        )
    }
    bands = {"latency": (0.85, 1.1), "efficiency": (1.0, 1.1), "prefill": (1.0, 1.2)}
    for name, value in vars(base).items():
        low, high = (value * bands[name][0], value * bands[name][1])
        note = f"Factor of vintage base on {name} over the fitted rows; seven points, band an assumption."
        made[f"software/base_{name}"] = Fact(
            _short(value), "ratio", _short(low), _short(high), Evidence.PHYSICS, source, month, note
        )
    for pool, factors in pools.items():
        for name, value in vars(factors).items():
            note = f"Factor on {name} of an engineering sample. Band: four fifths of it, and 1, no bring-up left."
            low, high = _short(min(0.8 * value, 1.0)), _short(max(value, 1.0))
            made[f"bring_up/{pool}/{name}"] = Fact(
                _short(value), "ratio", low, high, Evidence.PHYSICS, source, month, note
            )
    return made


def band_facts(bands: Mapping[str, tuple[float, float]], kept: int) -> dict[str, Fact]:
    """The band on TPS/User at a given batch."""
    source = f"{kept} runs kept out of the fit (points.csv)"
    made = {}
    for kind, (low, high) in bands.items():
        for end, value, room in (("low", low, (0.8 * low, 1.0)), ("high", high, (1.0, 1.2 * high))):
            note = (
                f"Measured over computed TPS/User {kind.replace('_', ' ')}, {'10th' if end == 'low' else '90th'} "
                "percentile. Band: no error at all, and a fifth wider (assumption)."
            )
            made[f"band/{kind}_{end}"] = Fact(
                value, "ratio", _short(room[0]), _short(room[1]), Evidence.MEASURED, source, "2026-07", note
            )
    return made


def lpx_facts(basis: Mapping[str, float]) -> dict[str, Fact]:
    """What turns the vendor's multiple into the pair's scale."""
    notes = {
        "paired_s": ("s", "GPU-seconds behind one decoded token of the pair by physics, LPX power counted in GPUs."),
        "alone_tokens_per_s": ("tokens/s per GPU", "Decode of VR NVL72 alone there: its last measured point, moved."),
        "alone_prefill_s": ("s", "Prefill GPU-seconds of VR NVL72 behind one token there."),
    }
    source = "Physics at the load of the vendor's claim: DeepSeek-R1, 8k/1k, 400 TPS/User"
    return {
        f"lpx/{name}": Fact(
            value, notes[name][0], _short(0.5 * value), _short(2.0 * value), Evidence.PHYSICS, source, "2026-07",
            f"{notes[name][1]} The scale follows from it and lpx/vendor_multiple. Band: half and twice (assumption).",
        )
        for name, value in basis.items()
    }  # fmt: skip


def _unit(name: str) -> str:
    if name.endswith("_s"):
        return "s"
    if name in ("fp8_latency_factor", "server_latency_factor", "activation_passes"):
        return "ratio"
    return "share" if name in ("acceptance", "exposed_exponentials") else "share of peak"


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def to_csv(premises: Mapping[str, Fact]) -> str:
    """The text of ``premises_fitted.csv``: rows as in the packaged tables of premises."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for path, fact in premises.items():
        group, _, name = path.partition("/")
        low, high = ("" if end is None else end for end in (fact.low, fact.high))
        told = (fact.kind, fact.source, fact.source_date, fact.note)
        writer.writerow((group, name, fact.value, fact.unit, low, high, *told))
    return text.getvalue()
