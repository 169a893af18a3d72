"""Prefill-as-a-Service (arXiv 2604.15039, section 4) as a case: what the program plans with that hardware.

The folder beside this file is the case; docs/reproductions.md says which of its figures are published and what comes
out. Throughput is the most that can be served: more is asked for than any of the fleets serves.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
from solved_case import planned

import procure

FOLDER = Path(__file__).parent / "prefill_as_a_service"
ASKED = 5.0
GBIT = 1e9 / 8


def published() -> procure.Case:
    return procure.Case.read(FOLDER)


def homogeneous(case: procure.Case) -> procure.Case:
    """96 H20 at one site."""
    fleet = case.tables["fleet"].query("sku == 'hgx-h20'").assign(count=12)
    nothing = {name: case.tables[name].iloc[:0] for name in ("links", "pools")}
    return case.replace(tables={"fleet": fleet, **nothing})


def naive(case: procure.Case) -> procure.Case:
    """All prefill on H200, all decode on H20."""
    pools = pd.concat([case.tables["pools"], pd.DataFrame([("local-cluster", "hgx-h20", "decode")],
                                                         columns=["site", "sku", "role"])])  # fmt: skip
    return case.replace(tables={"pools": pools})


def dense(case: procure.Case) -> procure.Case:
    """As quick an LLM whose cache is that of grouped-query attention in every layer."""
    card = str(FOLDER / "dense-gqa-1t.json")
    return case.replace(tables={
        "workloads": case.tables["workloads"].assign(card=card),
        "throughput": case.tables["throughput"].assign(card="dense-gqa-1t"),
    })  # fmt: skip


@cache
def outcome(change: Any = None) -> tuple[procure.Plan, float]:
    """The plan of the first quarter, and requests/s that it serves."""
    case = published() if change is None else change(published())
    plan = planned(case, gap=1e-5, method="whole")
    assert plan.tables["checks"]["holds"].all()
    return plan, ASKED * float(plan.tables["sla"]["served_share"].iloc[0])


def egress_gbit(plan: procure.Plan) -> float:
    return float(plan.tables["shipments"]["egress_bytes_per_s"].sum()) / GBIT


def instances(plan: procure.Plan) -> dict[tuple[str, str], int]:
    table = plan.tables["instances"]
    assert table["whole"].all()
    return dict(zip(zip(table["sku"], table["role"], strict=True), table["instances"], strict=True))


def length_at(share: float) -> float:
    """Tokens below which this share of the requests is: log-normal(9.90, 1.00), cut to 128 ... 131072."""
    law = NormalDist(9.90, 1.0)
    low, high = (law.cdf(np.log(tokens)) for tokens in (128, 131_072))
    return float(np.exp(law.inv_cdf(low + share * (high - low))))


def test_its_lengths_are_those_of_the_paper():
    assert length_at(1 - 0.496) == pytest.approx(19_400, rel=0.005)
    asked = published().tables["workloads"]["input_mean_tokens"].item()
    assert asked == pytest.approx(27_486)


@pytest.mark.slow(seconds=3)
def test_instances_throughput_threshold_and_egress():
    """The paper: 4/3/5 instances, 3.24 requests/s, 49.6% of the requests from 19.4K tokens on sent, 13 Gbit/s."""
    plan, served = outcome()
    assert instances(plan) == {("hgx-h200", "prefill"): 4, ("hgx-h20", "prefill"): 3, ("hgx-h20", "decode"): 5}
    assert served == pytest.approx(3.28, abs=0.02)
    sent = plan.tables["shipments"]["requests_per_s"].sum() / served
    assert sent == pytest.approx(0.53, abs=0.01)
    assert length_at(1 - sent) == pytest.approx(17_900, rel=0.03)
    assert egress_gbit(plan) == pytest.approx(12.65, abs=0.1)
    assert plan.tables["sla"]["cause"].iloc[0] == "whole units do not fit the limits"


@pytest.mark.slow(seconds=5)
def test_gains_over_one_kind_of_hardware_and_over_the_naive_split():
    """The paper: 54% over 96 H20, of which nine instances prefill, and 32% over all prefill on H200."""
    served = outcome()[1]
    alone, split = outcome(homogeneous), outcome(naive)
    assert instances(alone[0]) == {("hgx-h20", "prefill"): 9, ("hgx-h20", "decode"): 3}
    assert instances(split[0]) == {("hgx-h200", "prefill"): 4, ("hgx-h20", "decode"): 4}
    assert alone[1] == pytest.approx(2.11, abs=0.01)
    assert split[1] == pytest.approx(2.44, abs=0.01)
    assert served / alone[1] - 1 == pytest.approx(0.554, abs=0.01)
    assert served / split[1] - 1 == pytest.approx(0.345, abs=0.01)


@pytest.mark.slow(seconds=3)
def test_with_dense_attention_the_link_binds():
    """It sends all that the link carries, and prefills more at home, where an instance fewer decodes."""
    plan, served = outcome(dense)
    assert egress_gbit(plan) == pytest.approx(100.0, rel=1e-4)
    assert plan.tables["sla"]["cause"].iloc[0] == "limit: link bandwidth"
    assert instances(plan) == {("hgx-h200", "prefill"): 4, ("hgx-h20", "prefill"): 4, ("hgx-h20", "decode"): 4}
    assert served == pytest.approx(2.92, abs=0.02)
