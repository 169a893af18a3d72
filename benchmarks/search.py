"""CPU seconds of the search as ratios to one relaxation of the same program in the same run."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import procure
from procure.catalogue import packaged_path
from procure.instance import build
from procure.program import build as build_program
from procure.solver.compile import Compiled, compile_program, limited
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options, Progress, load, new_solver, run, set_option


def relaxation_s(compiled: Compiled) -> float:
    """CPU seconds of the whole relaxation by interior point without crossover: the measure, no part of the search."""
    solver, stage = new_solver(Options(threads=1)), limited(compiled, 0.0)
    set_option(solver, "solver", "ipx")
    set_option(solver, "run_crossover", "off")
    rows, columns = (stage.row_lower, stage.row_upper), (compiled.col_lower, stage.col_upper)
    load(solver, stage.matrix, compiled.cost, rows, columns)
    began = time.process_time()
    answer = run(solver)
    print(f"relaxation: {answer.status}, {answer.objective} M USD", flush=True)
    return time.process_time() - began


def main() -> None:
    """Print when the relaxation's bound, the first plan and the search were done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="?", type=Path, default=packaged_path("data") / "cases" / "agentic-2027")
    parser.add_argument("--gap", type=float, default=0.005)
    parser.add_argument("--seed", type=int, action="append", help="as often as wanted")
    parser.add_argument("--time-limit", type=float, default=600.0)
    options = parser.parse_args()
    compiled = compile_program(build_program(build(procure.Case.read(options.case))))
    whole = relaxation_s(compiled)
    print(f"{options.case.name}, gap {options.gap:g}; relaxation {whole:.2f} CPU s; all else as ratios to it")
    for seed in options.seed or [0]:
        marks: dict[str, float] = {}
        start = time.process_time()

        def listen(progress: Progress, marks: dict[str, float] = marks, start: float = start) -> None:
            if progress.incumbent is not None:
                marks.setdefault("first plan", time.process_time() - start)

        asked = Options(options.gap, options.time_limit, threads=1, seed=seed, progress=listen)
        found = Decomposition(compiled, asked).solve("cost", 0.0)
        marks["end"] = time.process_time() - start
        told = ", ".join(f"{name} {seconds / whole:.2f}" for name, seconds in marks.items())
        print(f"seed {seed}: {found.status}, {found.objective} M USD, bound {found.bound}: {told}", flush=True)


if __name__ == "__main__":
    main()
