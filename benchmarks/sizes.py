"""Cases of any size, made from the example: quarters × sites × workloads, and what a search of one comes to in a time.

Sites and workloads are copies of the example's under numbered names, each with its fleet and its load, those of copies
drawn by a seed between a fifth and three fifths of as much; money grows with the sites.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd

import procure
from procure.catalogue import packaged_path
from procure.instance import build
from procure.program import build as build_program
from procure.solver import NoPlan, Progress
from procure.solver.compile import compile_program


def sized(quarters: int, sites: int, workloads: int, seed: int) -> procure.Case:
    """The example with so many planned quarters, sites and workloads."""
    example = procure.Case.read(packaged_path("data") / "cases" / "agentic-2027")
    given, draw = example.given_tables, np.random.default_rng(seed)
    first = example.planned[0]
    names = [str(first + t) for t in range(quarters + example.settings.lookahead_quarters)]
    places = _numbered(given["sites"]["site"].unique().tolist(), sites)
    loads = _numbered(given["workloads"]["workload"].tolist(), workloads)
    scale = (sites / given["sites"]["site"].nunique()) / (workloads / len(given["workloads"]))
    forecast = pd.concat(
        _lasting(given["forecast"][given["forecast"]["workload"] == old], names).assign(
            workload=new, peak_requests_per_s=lambda f: f["peak_requests_per_s"] * scale * draw.uniform(0.2, 0.6)
        )
        for new, old in loads
    )
    budget = _lasting(given["budget"], names)
    budget["budget_usd"] *= 1.5 * sites / given["sites"]["site"].nunique()
    tables = {
        "workloads": pd.concat(
            given["workloads"][given["workloads"]["workload"] == old].assign(workload=new) for new, old in loads
        ),
        "forecast": forecast,
        "budget": budget,
        **{
            name: pd.concat(given[name][given[name]["site"] == old].assign(site=new) for new, old in places)
            for name in ("sites", "fleet")
        },
        **{name: given[name].iloc[:0] for name in ("orders", "reserved", "expansions", "sources")},
    }
    return example.replace(settings={"planned_quarters": quarters}, tables=tables)


def _numbered(names: list[str], count: int) -> list[tuple[str, str]]:
    """New names and whose copies they are."""
    return [(f"{names[i % len(names)]}-{i // len(names) + 1}", names[i % len(names)]) for i in range(count)]


def _lasting(rows: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Rows for every quarter; after the last one that is stated everything stays as it is."""
    stated = rows.set_index(rows["quarter"].astype(str))
    last = stated.index[-1]
    return pd.concat(stated.loc[[name if name in stated.index else last]].assign(quarter=name) for name in names)


def main() -> None:
    """Print size, memory, and incumbent and bound as they come."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quarters", type=int, default=12)
    parser.add_argument("--sites", type=int, default=4)
    parser.add_argument("--workloads", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gap", type=float, default=0.005)
    parser.add_argument("--time-limit", type=float, default=480.0)
    parser.add_argument("--write", type=Path, help="write the case there and end")
    asked = parser.parse_args()
    case = sized(asked.quarters, asked.sites, asked.workloads, asked.seed)
    if asked.write is not None:
        case.write(asked.write)
        return
    begun, wall = time.process_time(), time.perf_counter()
    size = compile_program(build_program(build(case)))
    rows, columns = size.matrix.shape
    print(f"{rows:,} rows, {columns:,} columns, {int(size.integer.sum())} integers", flush=True)

    def listen(progress: Progress) -> None:
        money = " to ".join("-" if usd is None else f"{usd:,.1f}" for usd in (progress.bound, progress.incumbent))
        gap = "" if progress.gap is None else f", {progress.gap:.2%}"
        print(f"{time.process_time() - begun:8.1f} {progress.phase:20s} {money}{gap}", flush=True)

    try:
        plan = procure.solve(
            case, gap=asked.gap, time_limit_s=asked.time_limit, threads=1, seed=asked.seed, progress=listen
        )
    except NoPlan as error:
        print(error)
    else:
        told = {name: plan.summary[name] for name in ("status", "objective_usd", "bound_usd", "gap", "seconds")}
        print(told, f"short {plan.summary['shortfall']['share']:.4%}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{time.process_time() - begun:.1f} CPU s, {time.perf_counter() - wall:.1f} s in all, {peak:.2f} GB")


if __name__ == "__main__":
    main()
