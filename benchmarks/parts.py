"""Ratios of measured parts within one run: what must stay cheap, against a small part of the same kind beside it.

Seconds depend on the machine and its day, ratios hardly: no test asserts either. Each line gives the ratio, what it was
when the line was written, and both parts in seconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from procure.catalogue import Catalogue
from procure.demand.trace import Options, analyse
from procure.performance import Rules, Setup, decode_points
from procure.sizing import Card, card_names, load_card

LLMS = (
    "deepseek-r1",
    "deepseek-v3.2",
    "gpt-oss-120b",
    "qwen3.5-397b-a17b",
    "minimax-m2.5",
    "kimi-k2.5",
    "mimo-v2-flash",
    "kimi-linear-48b-a3b",
    "llama-3.1-8b",
    "glm-5",
)

Part = tuple[str, Callable[[], Any], Callable[[], Any]]
"""What the ratio says, the part, and what it is measured against."""


def command(*words: str) -> Callable[[], Any]:
    return lambda: subprocess.run([sys.executable, *words], capture_output=True, check=True)


def lengths(cards: list[Card], count: int) -> Callable[[], Any]:
    tokens = np.random.default_rng(0).integers(1, 2_000_000, count)
    return lambda: [(card.stored_bytes(tokens, "fp8"), card.loaded_bytes(tokens, "fp8")) for card in cards]


def points(catalogue: Catalogue, cards: list[Card], contexts: int, quarters: int = 1) -> Callable[[], Any]:
    """Operating points of every card on five pools and the pair, software moving on every quarter."""
    context, rules = np.random.default_rng(0).uniform(1_000, 100_000, contexts), Rules.packaged()

    def run() -> None:
        for card in cards:
            for name in ("hgx-h200", "hgx-b200", "gb200-nvl72", "gb300-nvl72", "vr-nvl72", "pair"):
                decode_points(
                    catalogue.sku("vr-nvl72" if name == "pair" else name),
                    card,
                    Setup(card.native_precision, "fp8", "base", rules),
                    context_mean=np.tile(context, quarters),
                    context_upper=1.5 * np.tile(context, quarters),
                    tps_user=np.full(contexts * quarters, 60.0),
                    months=np.repeat(3.0 * np.arange(quarters), contexts),
                    lpx=catalogue.sku("lpx") if name == "pair" else None,
                )

    return run


def references(folder: Path, requests: int) -> Callable[[], Any]:
    """A trace of random block references, 25 a request: the worst case for runs of blocks."""
    blocks = (np.random.default_rng(0).random((requests, 25)) ** 3 * 400_000).astype(int).tolist()
    path = folder / f"{requests}.jsonl"
    rows = [
        {"timestamp": 100 * i, "input_length": 512 * len(chain), "output_length": 1, "hash_ids": chain}
        for i, chain in enumerate(blocks)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return lambda: analyse([path], Options(session_clock=False))


def parts(folder: Path) -> Iterator[Part]:
    cards = [load_card(name) for name in card_names()]
    ten = [load_card(name) for name in LLMS]
    catalogue = Catalogue.read()
    yield (
        "`procure --help` / Python that does nothing (was 16)",
        command("-c", "from procure.cli import main; main(['--help'])"),
        command("-c", "pass"),
    )
    yield "KV bytes of a million lengths / of 10,000, all cards (was 88)", lengths(cards, 10**6), lengths(cards, 10**4)
    yield "points of 56 contexts / of one, ten LLMs (was 1.3)", points(catalogue, ten, 56), points(catalogue, ten, 1)
    yield (
        "points of 4 contexts in each of 14 quarters of software / of one (was 1.3)",
        points(catalogue, ten, 4, 14),
        points(catalogue, ten, 4),
    )
    yield "reuse of a million references / of 100,000 (was 14)", references(folder, 40_000), references(folder, 4_000)


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print one line per ratio, medians over runs in which both parts stand side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, part, against in parts(Path(folder)):
            pairs = [(seconds(part), seconds(against)) for _ in range(options.runs)]
            ratio = statistics.median(a / b for a, b in pairs)
            first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(f"{ratio:8.1f}  {name}: {first:.3f} s / {second:.3f} s", flush=True)


if __name__ == "__main__":
    main()
