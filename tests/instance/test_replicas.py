"""Sizes, roles and counting of instances: weights fit, racks hold whole ones, small loads are told from large ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_case import tiny

from procure import performance
from procure.instance import Cache, build
from procure.instance.replicas import units_of
from procure.instance.tables import InstanceRate, InstanceRow
from procure.schema import Role

LLAMA = {"card": "llama-3.1-70b", "reuse_curve": "none", "ttft_s": 30.0, "tps_user": 15.0}
CACHE = Cache()
"""Of one process: cases differ in settings and rates, and most of a build is the same."""


def instances(peak: float, stated: dict[str, Any] | None = None, **settings: Any) -> list[InstanceRow]:
    """Those of the planned quarter on servers of eight H200."""
    case = tiny(
        skus=("hgx-h200",),
        peaks={"chat": [peak] * 3},
        workloads={"chat": {**LLAMA, **(stated or {})}},
        settings={"availability": 1.0, "spare_share": 0.0, **settings},
    )
    return [row for row in build(case, CACHE).rows(InstanceRow) if row.t == 0]


def by_role(rows: list[InstanceRow]) -> dict[str, tuple[int, int]]:
    return {row.role.value: (row.gpus, row.whole) for row in rows}


@pytest.mark.parametrize(
    ("gpus", "per_unit", "units"),
    [(8, 8, 1.0), (4, 8, 0.5), (3, 8, 0.5), (16, 72, 0.25), (48, 72, 1.0), (12, 8, 2.0), (24, 8, 3.0)],
)
def test_an_instance_takes_its_part_of_a_unit_full_of_its_like(gpus, per_unit, units):
    assert units_of(gpus, per_unit) == units


@pytest.mark.thorough
def test_one_instance_that_carries_everything_does_both():
    assert by_role(instances(0.1)) == {"both": (4, 1)}


@pytest.mark.thorough
def test_larger_loads_have_instances_by_role():
    """Prefill takes more than two instances of eight GPUs; one of sixteen does not carry both."""
    rows = instances(2.0, {"instance_gpus": 8})
    assert {row.role for row in rows} == {Role.DECODE, Role.PREFILL}
    assert all(row.whole for row in rows)


@pytest.mark.thorough
def test_roles_as_the_case_states_them():
    assert set(by_role(instances(0.1, instance_roles="apart"))) == {"decode", "prefill"}
    assert set(by_role(instances(2.0, {"instance_gpus": 8}, instance_roles="shared"))) == {"both"}


@pytest.mark.thorough
def test_an_instance_has_at_least_the_gpus_that_the_case_states():
    assert by_role(instances(0.1, {"instance_gpus": 6})) == {"both": (8, 1)}
    assert by_role(instances(0.1, {"instance_gpus": 64})) == {"both": (16, 1)}


@pytest.mark.thorough
def test_no_instance_has_more_gpus_than_a_layout_has():
    """A dense LLM on servers: layouts of up to 16 GPUs. Prefill of 64 GPUs, or of six, is of one of them as well."""
    apart = {"instance_roles": "apart"}
    assert by_role(instances(0.1, {"instance_gpus": 64}, **apart)) == {"decode": (16, 1), "prefill": (16, 1)}
    assert by_role(instances(0.1, {"instance_gpus": 6}, **apart)) == {"decode": (8, 1), "prefill": (8, 1)}


@pytest.mark.parametrize(
    ("peak", "settings"),
    [(9.0, {}), (0.1, {"whole_instances_up_to": 0.0}), (1e-6, {}), (0.1, {"whole_instances_least_share": 1.0})],
    ids=["more than five", "none asked for", "less than a thousandth", "small against all"],
)
@pytest.mark.thorough
def test_what_stays_fluid(peak, settings):
    """The only load is all of what a pool would do: one instance of it is above any share of it but all."""
    rows = instances(peak, **settings)
    assert rows
    assert not any(row.whole for row in rows) or settings.get("whole_instances_least_share")


@pytest.mark.thorough
def test_the_size_carries_the_load_with_the_fewest_servers():
    """Two instances of two GPUs take half a server, as one of four does: of equals the smallest."""
    rows = {row.role: row for row in instances(3.0, instance_roles="apart")}
    decode = rows[Role.DECODE]
    assert decode.gpus == 2
    assert 1 < decode.load < 2
    assert decode.busy_units == pytest.approx(0.75 * 2 / 8)


def test_throughput_by_size_is_best_where_the_operating_point_is_and_needs_room_for_the_weights():
    case = tiny(skus=("hgx-h200",), workloads={"chat": LLAMA})
    card, pool = case.cards["llama-3.1-70b"], case.catalogue.sku("hgx-h200")
    setup = performance.Setup("bf16", "fp8", "none", performance.Rules.of(performance.premises_of(case.catalogue)))
    asked = {"context_mean": [4e3, 3e4], "context_upper": [6e3, 5e4], "tps_user": [30.0, 15.0]}
    gpus, rates = performance.decode_rates_by_size(pool, card, setup, **asked)
    points = performance.decode_points(pool, card, setup, **asked).drop_duplicates("element")
    assert rates.max(axis=1) == pytest.approx(points["tokens_per_s_per_gpu"].to_numpy(), rel=1e-9)
    assert gpus[rates.argmax(axis=1)].tolist() == points["gpus_per_replica"].tolist()
    assert gpus[0] * pool.hbm_bytes_per_gpu > card.weight_bytes("bf16") > pool.hbm_bytes_per_gpu
    assert np.all(np.diff(gpus) > 0)


@pytest.mark.thorough
def test_rates_of_buckets_are_those_of_the_size_chosen():
    case = tiny(skus=("hgx-h200",), peaks={"chat": [0.1] * 3}, workloads={"chat": LLAMA})
    made = build(case, CACHE)
    shares = [row.throughput_share for row in made.rows(InstanceRate) if row.t == 0]
    assert shares
    assert all(0 < share <= 1 for share in shares)


@pytest.mark.parametrize("skus", [(), ("lpx",), ("cmx-rack", "cmx-enclosure")])
@pytest.mark.thorough
def test_without_a_gpu_pool_there_are_no_instances(skus):
    made = build(tiny(skus=skus), CACHE)
    assert made["instances"].empty
    assert made["instance_rates"].empty
