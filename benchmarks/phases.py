"""Seconds of every phase of a plan, as medians over runs and as ratios within one run."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import procure
from procure.catalogue import packaged_path


def one_run(case_folder: Path, gap: float, threads: int) -> dict[str, float]:
    """Solve and write the case once; seconds by phase."""
    from procure.report import write_reports

    start = time.perf_counter()
    case = procure.Case.read(case_folder)
    load = time.perf_counter() - start
    plan = procure.solve(case, gap=gap, threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        target = plan.write(Path(folder) / "plan", write_reports)
        seconds = procure.Plan.read(target).summary["seconds"]
    return {**seconds, "load": load, "gap reached": plan.summary["gap"]}


def main() -> None:
    """Print one line per phase."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="?", type=Path, default=packaged_path("data") / "cases" / "agentic-2027")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gap", type=float, default=0.005)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    runs = [one_run(options.case, options.gap, options.threads) for _ in range(options.runs)]
    total = statistics.median(sum(v for k, v in run.items() if k != "gap reached") for run in runs)
    print(f"{options.case.name}, gap {options.gap:g}, {options.runs} runs; median total {total:.1f} s")
    for phase in ("load", "size", "build", "solve", "tables", "explain", "verify", "write"):
        seconds = [run[phase] for run in runs]
        ratio = statistics.median(run[phase] / run["size"] for run in runs)
        middle = statistics.median(seconds)
        spread = f"({min(seconds):.2f} to {max(seconds):.2f})"
        print(f"{phase:8s} {middle:8.2f} s  {spread:16s} {middle / total:6.1%}  x size {ratio:.2f}")
    rest = statistics.median(sum(v for k, v in run.items() if k not in ("solve", "gap reached")) for run in runs)
    print(f"all but the solver: {rest:.1f} s; gap reached: {statistics.median(run['gap reached'] for run in runs):.3%}")


if __name__ == "__main__":
    main()
