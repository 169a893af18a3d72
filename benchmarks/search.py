"""CPU seconds of the search as ratios to one relaxation of the same program in the same run."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import procure
from procure.catalogue import packaged_path
from procure.instance import build
from procure.program import build as build_program
from procure.solver.compile import compile_program
from procure.solver.decompose import Decomposition
from procure.solver.highs import Options, Progress
from procure.solver.search import Search


def main() -> None:
    """Print when the relaxation, the first plan and the search were done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="?", type=Path, default=packaged_path("data") / "cases" / "agentic-2027")
    parser.add_argument("--gap", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=600.0)
    options = parser.parse_args()
    compiled = compile_program(build_program(build(procure.Case.read(options.case))))
    marks: dict[str, float] = {}
    start = time.process_time()
    inner = Search.whole_relaxation

    def relaxation(self: Any) -> Any:
        began = time.process_time()
        answer = inner(self)
        marks.setdefault("relaxation", time.process_time() - began)
        return answer

    def listen(progress: Progress) -> None:
        if progress.incumbent is not None:
            marks.setdefault("first plan", time.process_time() - start)

    Search.whole_relaxation = relaxation  # type: ignore[method-assign]
    search = Options(options.gap, options.time_limit, threads=1, seed=options.seed, progress=listen)
    found = Decomposition(compiled, search).solve("cost", 0.0)
    marks["end"] = time.process_time() - start
    print(f"{options.case.name}, gap {options.gap:g}, seed {options.seed}: {found.status}")
    print(f"{found.objective} M USD, bound {found.bound}")
    for name, seconds in marks.items():
        print(f"{name:12s} {seconds:8.2f} CPU s  x relaxation {seconds / marks['relaxation']:.2f}")


if __name__ == "__main__":
    main()
