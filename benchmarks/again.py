"""CPU seconds of the search of a changed case, from nothing and from what the case itself has left, in one run."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import procure
from procure.catalogue import packaged_path
from procure.instance import Cache, build
from procure.program import build as build_program
from procure.solver import Memory, Options
from procure.solver.compile import Compiled, compile_program
from procure.solver.decompose import Decomposition
from procure.solver.solution import Solution

CHANGES = (
    "hardware/cmx-enclosure/price_usd=x0.7",
    "sites/lakeside/power_kw=x0.97",
    "budget/2028Q1/budget_usd=x1.05",
    "sites/electricity_usd_per_kwh=x1.3",
    "forecast/code-agent/peak_requests_per_s=x1.15",
)


def searched(compiled: Compiled, memory: Memory | None, gap: float, seed: int) -> tuple[Solution, float]:
    """What a search for a plan that serves everything ends with, and its CPU seconds."""
    begun = time.process_time()
    found = Decomposition(compiled, Options(gap, threads=1, seed=seed), memory).solve("cost", 0.0)
    return found, time.process_time() - begun


def main() -> None:
    """Print one line per change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="?", type=Path, default=packaged_path("data") / "cases" / "agentic-2027")
    parser.add_argument("--change", action="append", help="PATH=VALUE, as often as wanted")
    parser.add_argument("--gap", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    case, cache, first = procure.Case.read(asked.case), Cache(), Memory()
    _, seconds = searched(compile_program(build_program(build(case, cache))), first, asked.gap, asked.seed)
    print(f"{asked.case.name}: {seconds:.1f} CPU s", flush=True)
    for change in asked.change or CHANGES:
        path, value = change.split("=", 1)
        compiled = compile_program(build_program(build(case.with_value(path, value), cache)))
        cold, from_nothing = searched(compiled, None, asked.gap, asked.seed)
        warm, again = searched(compiled, replace(first), asked.gap, asked.seed)
        print(f"{change}: {from_nothing:.1f} and {again:.1f} CPU s, x {again / from_nothing:.2f}", flush=True)
        print(f"  M USD {cold.bound} to {cold.objective} and {warm.bound} to {warm.objective}", flush=True)


if __name__ == "__main__":
    main()
