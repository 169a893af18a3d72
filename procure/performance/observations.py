"""Measured points as the physics sees them: which layout, how many running streams, which phase.

A points file has the columns of ``data/performance/points.csv``. ``tps_user`` is 1 / median time per output token.
``tps_per_gpu`` is output tokens/s over all GPUs for ``e2e``, over decode GPUs for ``decode``, and input tokens/s
over prefill GPUs for ``prefill``. ``software`` names the framework and ``mtp=`` speculation, ``P=`` prefill and
``D=`` decode GPUs, ``W=`` decode workers, ``G=`` all GPUs of an aggregated run, ``tp=``, ``ep=`` and ``dpa=``
(attention data parallel). ``kv_format`` may be left out, and is empty where the source does not
state the cache's format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from procure.catalogue import Catalogue
from procure.csvtext import numbers
from procure.errors import Fault, InputError, nearest
from procure.performance.files import read_csv
from procure.schema import SkuKind
from procure.sizing import Card, load_card

if TYPE_CHECKING:
    from procure.catalogue import Sku

COLUMNS = (
    "hardware",
    "model",
    "precision",
    "isl",
    "osl",
    "phase",
    "batch_or_concurrency",
    "tps_user",
    "tps_per_gpu",
    "gpus",
    "disaggregated",
    "software",
    "date",
    "source",
)
OPTIONAL_COLUMNS = ("kv_format",)
PHASES = ("decode", "e2e", "prefill")
_NUMBERS = ("isl", "osl", "batch_or_concurrency", "tps_user", "tps_per_gpu", "gpus", "disaggregated")
LEAST_STREAMS = 0.2
LENGTH_DRAWN = 0.9
"""Lengths of InferenceX and InferenceMAX are drawn evenly from 80 to 100% of the nominal ones; others are as stated."""
_SETTING = re.compile(r"(\w+)=([\d?]+)")


def read_points(path: str | Path) -> pd.DataFrame:
    """A points file, with numbers as numbers.

    Raises:
        InputError: the file is empty, columns are missing, a number cannot be read, a phase is unknown; all at once.
    """
    name = Path(path).name
    raw = read_csv(path, COLUMNS)
    faults = []
    table = raw.reindex(columns=[*COLUMNS, *OPTIONAL_COLUMNS], fill_value="")
    for column in _NUMBERS:
        table[column] = numbers(raw[column])
        for row in raw.index[(raw[column] != "") & table[column].isna()]:
            faults.append(Fault(name, int(row) + 2, column, str(raw.at[row, column]), "A number, or nothing."))
        for row in table.index[table[column] < 0]:
            faults.append(Fault(name, int(row) + 2, column, str(raw.at[row, column]), "A number of 0 or more."))
    for row in raw.index[~raw["phase"].isin(PHASES)]:
        found = str(raw.at[row, "phase"])
        faults.append(Fault(name, int(row) + 2, "phase", found, f"One of {', '.join(PHASES)}.", nearest(found, PHASES)))
    if faults:
        raise InputError(faults)
    return table


def observe(
    points: pd.DataFrame, catalogue: Catalogue | None = None, cards: Mapping[str, Card] | None = None
) -> pd.DataFrame:
    """What each measured point says about the physics, one row per point in the same order.

    Columns beside those of the file: ``sku``, ``card``, ``weight_precision``, ``kv_format``, ``speculation``,
    ``framework``, ``aggregated``, ``frontier`` (best of a whole curve, no single run), ``gpus_per_replica``,
    ``data_parallel``, ``streams`` (running streams per replica by Little's law: tokens/s of the replica /
    TPS/User), ``decode_tps_per_gpu``, and ``reason`` why the physics cannot say anything about it ("" where it can).
    """
    known = _Known(catalogue or Catalogue.read(), cards or {})
    return pd.DataFrame([_observe(row, known) for row in points.to_dict("records")], index=points.index)


class _Known:
    """Hardware and cards that have been looked up."""

    def __init__(self, catalogue: Catalogue, cards: Mapping[str, Card]) -> None:
        self.catalogue = catalogue
        self.skus: dict[str, Sku | None] = {}
        self.cards: dict[str, Card | None] = dict(cards)

    def sku(self, name: str) -> Sku | None:
        """The GPU SKU that a points file means, or None."""
        if name not in self.skus:
            try:
                found = self.catalogue.sku(name)
                self.skus[name] = found if found.kind is SkuKind.GPU else None
            except InputError:
                self.skus[name] = None
        return self.skus[name]

    def card(self, name: str) -> Card | None:
        """The card that a points file means, or None."""
        if name not in self.cards:
            try:
                self.cards[name] = load_card(name.lower())
            except InputError:
                self.cards[name] = None
        return self.cards[name]


def _observe(row: dict, known: _Known) -> dict:
    sku, card = known.sku(row["hardware"]), known.card(row["model"])
    settings = {key: int(value) for key, value in _SETTING.findall(row["software"]) if value != "?"}
    framework = row["software"].split(" ")[0]
    seen = row | {
        "sku": sku.name if sku else "",
        "card": card.name if card else "",
        "framework": framework,
        "speculation": settings.get("mtp", 0) > 0,
        "frontier": "frontier" in row["software"],
        "aggregated": not row["disaggregated"] > 0 and row["phase"] != "prefill",
        "reason": "",
        "gpus_per_replica": float("nan"),
        "data_parallel": False,
        "expert_parallel": False,
        "gathers": False,
        "streams": float("nan"),
        "decode_tps_per_gpu": float("nan"),
        "weight_precision": "",
        "length_drawn": LENGTH_DRAWN if "Inference" in row["source"] else 1.0,
    }
    if sku is None:
        return seen | {"reason": f"hardware {row['hardware']!r} is not a GPU SKU of the catalogue"}
    if card is None:
        return seen | {"reason": f"no card for {row['model']!r}"}
    seen |= {"weight_precision": weight_precision(row["precision"], card)}
    seen |= {"kv_format": row.get("kv_format") or kv_format(seen["weight_precision"], sku)}
    if pd.isna(row["tps_per_gpu"]):
        return seen | {"reason": "no throughput"}
    if pd.isna(row["isl"]):
        return seen | {"reason": "no input length"}
    if row["phase"] == "prefill":
        return seen | {"reason": _prefill_reason(settings, row["software"])}
    if pd.isna(row["tps_user"]) or pd.isna(row["osl"]):
        return seen | {"reason": "no TPS/User or no output length"}
    if seen["frontier"]:
        return seen
    seen |= _replica(row, settings, seen["aggregated"])
    return seen | {"gathers": _gathers(seen, sku)}


def _prefill_reason(settings: dict[str, int], software: str) -> str:
    if "P" in settings or "under load" in software:
        return "lower bound: nothing shows that the prefill pool was saturated"
    if "one request over a pipeline" in software:
        return "time of one request on idle stages, not work"
    return "counts tokens that were reused" if "hits" in software else ""


def _replica(row: dict, settings: dict[str, int], aggregated: bool) -> dict:
    """Layout and running streams of one replica of a run, or the reason why they cannot be told."""
    tp, workers = settings.get("tp"), settings.get("W")
    if aggregated:
        gpus = settings.get("G") or (int(row["gpus"]) if row["gpus"] > 0 else 0)
        if not gpus:
            return {"reason": "no GPU count"}
        rate, decode_gpus, replica = row["tps_per_gpu"], gpus, float(gpus)
    else:
        decode_gpus = settings.get("D", int(row["gpus"]) if row["phase"] == "decode" and row["gpus"] > 0 else 0)
        if not decode_gpus:
            return {"reason": "no number of decode GPUs"}
        share = 1.0
        if row["phase"] == "e2e":
            if "P" not in settings:
                return {"reason": "no number of prefill GPUs"}
            share = (settings["P"] + decode_gpus) / decode_gpus
        rate = row["tps_per_gpu"] * share
        if workers is None and settings.get("ep", 0) > 1:
            replica = float(settings["ep"])  # experts spread over the GPUs of one worker
        elif workers is None or decode_gpus % workers:
            return {"reason": "no number of decode workers, or GPUs that they do not divide"}
        else:
            replica = decode_gpus / workers
            if tp and not settings.get("dpa") and replica > tp and replica % tp == 0:
                replica = float(tp)  # records that give one worker's tensor parallelism beside several workers
    streams = max(rate * replica / row["tps_user"], LEAST_STREAMS)
    return {
        "gpus_per_replica": replica,
        "streams": streams,
        "decode_tps_per_gpu": rate,
    } | _layout(settings, replica, streams)


def _layout(settings: dict[str, int], replica: float, streams: float) -> dict[str, bool]:
    """Data and expert parallelism of a replica.

    Two kinds of records do not state it. Some give ``tp=1 ep=1`` for a worker of several GPUs: up to 8 GPUs are
    taken as tensor parallel, more as spread. Some leave ``dpa`` open: whole experts and a stream per GPU are taken
    as spread.
    """
    tp, ep, dpa = settings.get("tp"), settings.get("ep", 1), settings.get("dpa")
    if replica > 1 and tp == 1 and ep == 1:
        return {"data_parallel": replica > 8, "expert_parallel": replica > 8}
    spread = dpa > 0 if dpa is not None else ep > 1 and streams >= replica
    return {"data_parallel": spread, "expert_parallel": ep > 1}


def _gathers(seen: dict, sku: Sku) -> bool:
    """Whether a run gives every GPU the tokens of all before its experts.

    Sliced experts need them. SGLang does so for whole experts too unless an all-to-all is chosen
    (https://docs.sglang.io/advanced_features/expert_parallelism.html: none is the default); the recipes of racks
    choose one.
    """
    by_default = seen["framework"].removeprefix("dynamo-") == "sglang" and sku.in_servers
    return bool(seen["data_parallel"]) and (not seen["expert_parallel"] or by_default)


def weight_precision(name: str, card: Card) -> str:
    """Weight format meant by a points file: ``fp4`` is the released 4-bit float format, else NVFP4."""
    if name == "fp4":
        native = card.known("native_precision") or ""
        return native if native.startswith(("mxfp4", "nvfp4")) else "nvfp4"
    return name


def kv_format(precision: str, sku: Sku) -> str:
    """Cache format assumed for a measured point that does not state it.

    FP8, but BF16 with BF16 weights and with MXFP4 weights on GPUs without FP4 units (what the engines chose by
    default).
    """
    wide = precision in ("bf16", "fp16") or (precision == "mxfp4" and not sku.fp4_flops_per_gpu)
    return "bf16" if wide else "fp8"
