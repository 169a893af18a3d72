"""Block references per second of exact reuse on a synthetic trace of sessions, on one core."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from procure.demand.trace import analyse


def write_sessions(path: Path, references: int, blocks_per_prompt: int) -> int:
    """A JSONL trace in Mooncake's form whose sessions grow by one block a turn; references written."""
    rng = np.random.default_rng(0)
    written, clock_ms, fresh = 0, 0, 0
    with path.open("w", encoding="utf-8") as file:
        while written < references:
            blocks = list(range(fresh, fresh + blocks_per_prompt))
            fresh += blocks_per_prompt
            for _ in range(20):
                clock_ms += int(rng.integers(1, 50))
                row = {
                    "timestamp": clock_ms,
                    "input_length": 512 * len(blocks),
                    "output_length": 300,
                    "hash_ids": blocks,
                }
                file.write(json.dumps(row) + "\n")
                written += len(blocks)
                blocks = [*blocks, fresh]
                fresh += 1
    return written


def main() -> None:
    """Print references, CPU seconds and references per minute."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=20_000_000)
    parser.add_argument("--blocks", type=int, default=200, help="blocks of a first prompt")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sessions.jsonl"
        references = write_sessions(path, options.references, options.blocks)
        start, wall = time.process_time(), time.perf_counter()
        analyse([path])
        cpu_s, wall_s = time.process_time() - start, time.perf_counter() - wall
    per_minute = references / cpu_s * 60
    print(f"{references:,} references: {cpu_s:.1f} s CPU, {wall_s:.1f} s wall")
    print(f"{per_minute / 1e6:.1f} million a minute of one core")


if __name__ == "__main__":
    main()
