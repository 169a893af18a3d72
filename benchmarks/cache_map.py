"""Which store caches belong in: CMX, drives, memory of peers or none, over return share, idle gap, length and LLM.

Each point is a case of one LLM on VR NVL72 alone, large enough that whole racks hardly count; each option a change of
it (what may be bought, whose memory and drives are read), solved by the study engine. Rows and picture go to ``--out``;
``docs/reproductions.md`` says what was found.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd

import procure
from procure import Case
from procure.catalogue import Catalogue
from procure.study import Effort, Study

LLMS = {
    "llama-3.1-70b": "dense GQA",
    "deepseek-v3.2": "MLA, sparse",
    "gpt-oss-120b": "GQA, half windows",
    "qwen3-next-80b-a3b": "linear hybrid",
}
INPUT_TOKENS = (8_000, 32_000)
GAPS_S = (30.0, 300.0, 3_600.0)
RETURNS = (0.3, 0.9)
RACK, KIT = "vr-nvl72", "ssd-kit-vr-nvl72"
LOAD = "load"
OPTIONS = {
    "recompute": {f"workloads/{LOAD}/reuse_curve": "none"},
    "own memory": {},
    "memory of the pod": {"case/dram_home": "pod"},
    "own drives": {"case/may_buy": [RACK, KIT]},
    "drives of the pod": {"case/may_buy": [RACK, KIT], "case/ssd_home": "pod"},
    "CMX": {"case/may_buy": [RACK, "cmx-rack", "cmx-enclosure"]},
}
"""What each may use beside the racks; all but the first have HBM and DRAM of their racks."""
WEAR = {
    "own drives of 3 writes a day": {**OPTIONS["own drives"], f"hardware/{KIT}/endurance_dwpd": 3},
    "own drives, replaced": {**OPTIONS["own drives"], "case/flash_wear": "replace"},
    "CMX, replaced": {**OPTIONS["CMX"], "case/flash_wear": "replace"},
}
"""What tells endurance from the rest, not in the picture: drives rated like those of CMX, worn ones bought again."""
ASKED = OPTIONS | WEAR
RACKS = 600.0
"""Racks that the load takes where everything is computed."""
SAME = 0.003
"""Costs that differ by less are the same: what plans are proven within, and half as much again."""


def case(llm: str, tokens: int, gap_s: float, returns: float, rate: float) -> Case:
    """One LLM at one load; half of what returns does so before the idle gap, all before twice of it."""
    quarters = ["2027Q4", "2028Q1", "2028Q2"]
    ages = [(gap_s / 2, 0.0), (gap_s, returns / 2), (2 * gap_s, returns)]
    free = {"lead_quarters": "0", "available_from": "2026Q1", "supply_per_quarter": "inf", "min_order": "1"}
    skus = (RACK, KIT, "cmx-rack", "cmx-enclosure")
    facts = Catalogue.read().facts
    tables = {
        "forecast": pd.DataFrame({"quarter": quarters, "workload": LOAD, "peak_requests_per_s": rate}),
        "workloads": pd.DataFrame(
            [{"workload": LOAD, "scenario": "chat", "card": llm, "input_mean_tokens": tokens, "ttft_s": 20.0,
              "tps_user": 30.0, "context_cap_tokens": 131_072, "shared_prefix_tokens": 0, "reuse_curve": "own"}]
        ),
        "sites": pd.DataFrame(
            [{"site": "a", "from_quarter": quarters[0], "power_kw": 1e6, "power_basis": "it", "pue": 1.2,
              "positions": 1e5, "area_m2": 1e6, "pods_max": 60,
              "electricity_usd_per_kwh": 0.08, "space_usd_per_kw_month": 150.0}]
        ),
        "reuse": pd.DataFrame(
            [{"curve": "own", "age_s": age, "return_share": share, "reused_share": 0.9} for age, share in ages]
        ),
        "hardware": pd.DataFrame(
            [{"sku": sku, "attribute": attribute, "value": value, "unit": facts[sku, attribute].unit, "source": "map"}
             for sku in skus for attribute, value in free.items()]
        ),
    }  # fmt: skip
    settings = {
        "name": "cache-map", "first_quarter": quarters[0], "planned_quarters": 1, "lookahead_quarters": 2,
        "may_buy": [RACK],
    }  # fmt: skip
    return Case.from_tables(settings, tables)


def rate_for(llm: str, tokens: int, effort: Effort) -> float:
    """Requests/s that keep :data:`RACKS` racks busy where everything is computed."""
    trial = 20.0
    made = case(llm, tokens, 300.0, 0.3, trial).with_value(f"workloads/{LOAD}/reuse_curve", "none")
    plan = procure.solve(made, gap=effort.gap, threads=1)
    limits = plan.tables["limits"]
    busy = limits[(limits["family"] == "busy racks") & (limits["quarter"] == "2027Q4")].iloc[0]
    racks_per_limit = plan.tables["purchases"]["count"].sum() / busy["limit"]
    return float(trial * RACKS / (busy["used"] * racks_per_limit))


def rows(effort: Effort) -> pd.DataFrame:
    """One row for each point and option: cost and its share of that of computing everything."""
    found = []
    for llm, tokens in itertools.product(LLMS, INPUT_TOKENS):
        rate = rate_for(llm, tokens, effort)
        computed: float | None = None
        for gap_s, returns in itertools.product(GAPS_S, RETURNS):
            names = [name for name in ASKED if name != "recompute" or computed is None]
            study = Study("cache-map", case(llm, tokens, gap_s, returns, rate), [ASKED[n] for n in names], effort)
            costs = dict(zip(names, study.run(), strict=True))
            for name, outcome in costs.items():
                if outcome.status != "optimal":
                    raise SystemExit(f"{llm} {tokens} {gap_s} {returns} {name}: {outcome.status} {outcome.reason}")
            if computed is None:
                computed = costs["recompute"].facts["objective_usd"]
            usd = {"recompute": computed} | {n: o.facts["objective_usd"] for n, o in costs.items()}
            for name in ASKED:
                bought = {} if name not in costs else {p["sku"]: p["count"] for p in costs[name].facts["purchases"]}
                found.append((llm, tokens, gap_s, returns, round(rate, 1), name, usd[name], usd[name] / computed,
                              sum(bought.values()) - bought.get(RACK, 0), bought.get(RACK)))  # fmt: skip
    columns = ["llm", "input_tokens", "idle_gap_s", "return_share", "requests_per_s", "option", "npv_usd",
               "of_recompute", "store_units", "racks"]  # fmt: skip
    return pd.DataFrame(found, columns=columns)


def draw(table: pd.DataFrame, target: Path) -> None:
    """Cost of every option over that of computing everything, in columns by option; the cheapest framed."""
    keys = ["llm", "input_tokens", "idle_gap_s", "return_share"]
    wide = table.pivot(index=keys, columns="option", values="of_recompute")[[n for n in OPTIONS if n != "recompute"]]
    figure, axes = plt.subplots(1, len(LLMS), figsize=(4.0 * len(LLMS), 6.2), sharey=True)
    for axis, (llm, family) in zip(axes, LLMS.items(), strict=True):
        part = wide.loc[llm]
        axis.imshow(part.to_numpy(), cmap="RdYlGn_r", vmin=0.4, vmax=1.2, aspect="auto")
        for (i, j), value in ((at, part.iat[at]) for at in itertools.product(*map(range, part.shape))):
            best = value <= part.iloc[i].min() + SAME
            axis.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, weight="bold" if best else "normal")
        axis.set_title(f"{llm}\n{family}", fontsize=10)
        axis.set_xticks(range(part.shape[1]), list(part.columns), rotation=40, ha="right", fontsize=8)
    labels = [f"{n // 1000}k, {gap:g} s, {share:.0%}" for n, gap, share in wide.loc[next(iter(LLMS))].index]
    axes[0].set_yticks(range(len(labels)), labels, fontsize=8)
    axes[0].set_ylabel("input, idle gap, share that returns")
    figure.suptitle("Cost with each store over that of computing everything (bold: cheapest, within 0.3%)", fontsize=11)
    figure.tight_layout()
    figure.savefig(target, dpi=110, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Solve the map; write ``cache-map.csv`` and ``cache-map.png``; print CPU seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    options = parser.parse_args()
    start = time.process_time()
    table = rows(Effort(gap=0.002, threads=1))
    table.to_csv(options.out / "cache-map.csv", index=False, float_format="%.6g")
    draw(table, options.out / "cache-map.png")
    print(f"{len(table)} rows in {time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
