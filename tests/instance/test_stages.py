"""A build that keeps its stages gives the same tables as a fresh one, and runs only what read the change."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd
import pytest
from tiny_case import budget, fleet, rich, tiny

from procure.case import Case
from procure.catalogue.sku import INFORMATIVE
from procure.errors import InputError
from procure.instance import TABLES, Cache, Instance, build
from procure.instance.stages import digest

WORK = {f"{kind} {workload}" for kind in ("serve", "prefill") for workload in ("agent", "code")}
"""The stages that take nearly all the time."""


@pytest.fixture(scope="module")
def base() -> Case:
    return rich()


@pytest.fixture(scope="module")
def first(base: Case) -> tuple[Cache, Instance]:
    """What a build of the base case leaves, and what it makes."""
    cache = Cache()
    return cache, build(base, cache)


@pytest.fixture
def primed(first: tuple[Cache, Instance]) -> Cache:
    """A cache that holds what a build of the base case leaves, and nothing of another test."""
    cache = Cache()
    cache.ran = list(first[0].ran)
    cache._kept = {stage: list(kept) for stage, kept in first[0]._kept.items()}
    return cache


def same(one: Instance, other: Instance) -> None:
    assert one.settings == other.settings
    for name in TABLES:
        if not one[name].equals(other[name]):  # then say where
            pd.testing.assert_frame_equal(one[name], other[name], obj=name)


def run_for(case: Case, cache: Cache, fresh: Instance | None = None) -> set[str]:
    """The stages that a case runs, once its tables are held against those of a fresh build."""
    same(build(case, cache), build(case) if fresh is None else fresh)
    return set(cache.ran)


@pytest.mark.thorough
def test_the_same_case_runs_nothing_again(base: Case, primed: Cache) -> None:
    assert len(primed.ran) > len(TABLES) - 5
    assert run_for(base, primed) == set()


@pytest.mark.parametrize(
    ("path", "value", "ran"),
    [
        ("hardware.vr-nvl72.price_usd", "x1.1", {"prices"}),
        ("hardware.cmx-enclosure.support_per_year", "x2", {"prices"}),
        (
            "hardware.vr-nvl72.attach_usd",
            "x1.1",
            {"skus", "fixed", "beside_terms", "return_shares", "out_of_reach", "instances"},
        ),
        ("discount_rate_per_year", 0.02, {"quarters", "out_of_reach", "instances"}),
        ("budget.budget_usd", "x1.1", {"budget", "opex"}),
        ("orders.price_usd_per_unit", "x1.1", {"fixed", "order_terms", "out_of_reach", "instances"}),
        ("hardware.vr-nvl72.power_idle_kw", "x1.1", {"upkeep"}),
    ],
)
@pytest.mark.thorough
def test_a_change_of_money_runs_only_the_stages_of_money(
    base: Case, first: tuple[Cache, Instance], primed: Cache, path: str, value: Any, ran: set[str]
) -> None:
    changed = base.with_value(path, value)
    fresh = build(changed)
    assert fresh.hash != first[1].hash
    assert run_for(changed, primed, fresh) == ran


@pytest.mark.parametrize("path", ["forecast.agent.peak_requests_per_s", "workloads.agent.priority"])
@pytest.mark.thorough
def test_another_rate_or_weight_leaves_every_operating_point(base: Case, primed: Cache, path: str) -> None:
    ran = run_for(base.with_value(path, "x1.2"), primed)
    assert "demand" in ran
    assert not ran & WORK


@pytest.mark.thorough
def test_what_one_workload_asks_for_is_worked_out_for_it_alone(base: Case, primed: Cache) -> None:
    assert run_for(base.with_value("workloads.code.tps_user", 700.0), primed) & WORK == {"serve code"}
    assert run_for(base.with_value("workloads.agent.kv_format", "bf16"), primed) & WORK == {
        "serve agent",
        "prefill agent",
    }


@pytest.mark.thorough
def test_going_back_and_forth_over_a_grid_runs_nothing_twice(base: Case, primed: Cache) -> None:
    cases = [(case, build(case)) for case in (base.with_value("utilisation_cap", cap) for cap in (0.5, 0.6, 0.7))]
    for case, fresh in cases:
        assert run_for(case, primed, fresh)
    for case, fresh in (*cases, (base, build(base))):
        assert run_for(case, primed, fresh) == set()


@pytest.mark.thorough
def test_a_build_that_fails_leaves_nothing_that_a_later_one_takes_for_its_own(base: Case, primed: Cache) -> None:
    rows = [("vr-nvl72", "gpt-oss-120b", "native", 1000, 1000, tps, 50.0 * tps, 0) for tps in (20.0, 40.0)]
    names = ["sku", "card", "weight_precision", "isl", "osl", "tps_user", "tokens_per_s_per_gpu", "all_gpus"]
    rising = pd.DataFrame(rows, columns=names).assign(date="2026-01", source="test")
    try:
        wrong = base.replace(tables={"throughput": rising})
        with pytest.raises(InputError):
            build(wrong, primed)
    except InputError:
        pytest.fail("the case itself refused the curve: the test shows nothing")
    assert run_for(base, primed) == set()


def slim() -> Case:
    """One workload, drives and CMX, an old fleet and a budget: every table of an instance but LPX has rows."""
    agent = {"scenario": "coding-agentic", "context_cap_tokens": 131_072, "output_growth_per_year": 0.1}
    return tiny(
        skus=("vr-nvl72", "cmx-rack", "cmx-enclosure"),
        peaks={"agent": [60, 62, 64]},
        workloads={"agent": agent},
        tables={"fleet": fleet(("a", "hgx-h200", 4, "2023Q1", 3e5)), "budget": budget(6e7, 2e7, 2e7)},
    )


def changes(case: Case) -> list[tuple[str, Any]]:
    """One of every setting, of every column of numbers that the case fills, and of every figure of two of its SKUs."""
    words = {
        "budget_basis": "commitment",
        "budget_carry": "none",
        "vintage": "fast",
        "points": "low",
        "growth_route": "cap",
    }
    found: list[tuple[str, Any]] = []
    for name, value in case.settings.model_dump().items():
        if isinstance(value, float):
            found.append((name, 0.9 * value if value else 0.3))
        elif name in words:
            found.append((name, words[name]))
    for table, frame in case.tables.items():
        if table != "hardware":
            found += [(f"{table}.{c}", "x0.9") for c in frame if frame[c].dtype.kind == "f" and frame[c].notna().any()]
    for (sku, attribute), fact in case.catalogue.facts.items():
        if sku in ("vr-nvl72", "cmx-enclosure") and attribute not in INFORMATIVE and not isinstance(fact.value, str):
            found.append((f"hardware.{sku}.{attribute}", "x0.9"))
    return found


def moved_by(case: Case, values: list[tuple[str, Any]]) -> set[str]:
    """Paths that move a table, each changed alone; what was taken from the cache for it is what a fresh build makes.

    Stages that run are fresh. Paths that run the same stages therefore have the others taken from the cache alike, and
    are held against one fresh build with all of them changed: it shows whether a stage that did not run reads any.
    """
    first, moved = Cache(), set()
    before, stages = build(case, first), tuple(first.ran)
    alike: dict[frozenset[str], list[tuple[str, Any]]] = defaultdict(list)
    for path, value in values:
        try:
            changed = case.with_value(path, value)
        except InputError:
            continue  # the factor does not fit this figure
        alone = Cache()
        for stage in stages:
            alone.of(stage).extend(first.of(stage))
        made = build(changed, alone)
        if any(not made[name].equals(before[name]) for name in TABLES):
            moved.add(path)
        alike[frozenset(alone.ran)].append((path, value))
    standing = Cache()  # one for all, so that stages of other changes stand by to be taken by mistake
    for ran, together in alike.items():
        hold(case, together, ran, standing)
    return moved


def hold(case: Case, together: list[tuple[str, Any]], ran: frozenset[str], cache: Cache) -> None:
    """Hold changes that run the same stages against a fresh build; one by one where they run more than each alone."""
    build(case, cache)  # what it left is the last used
    changed = case
    for path, value in together:
        changed = changed.with_value(path, value)
    made = build(changed, cache)
    if len(together) > 1 and not ran >= set(cache.ran):
        for change in together:
            hold(case, [change], ran, cache)
    else:
        same(made, build(changed))


@pytest.mark.slow(seconds=20)
def test_every_kind_of_cell_and_figure_gives_the_tables_of_a_fresh_build() -> None:
    case = slim()
    moved = moved_by(case, changes(case))
    assert {"utilisation_cap", "vintage", "workloads.ttft_s", "hardware.vr-nvl72.hbm_bytes_per_s_per_gpu"} <= moved
    assert len(moved) > 60


@pytest.mark.slow(seconds=20)
def test_every_packaged_premise_gives_the_tables_of_a_fresh_build() -> None:
    """What no cell, setting or SKU states: physics, queues, software, the workload's scenario, service level, reuse."""
    case = slim()
    groups = ("physics", "queue", "software", "bring_up", "scenario", "sla", "reuse")
    values: list[tuple[str, Any]] = [
        (path, "x0.9")
        for path, fact in case.rests_on.items()
        if path.split("/")[0] in groups and not isinstance(fact.value, str)
    ]
    moved = moved_by(case, [*values, ("reuse/agentic-coding/returns", "low")])
    assert {path.split("/")[0] for path in moved} >= {"physics", "queue", "software", "scenario", "sla", "reuse"}
    assert {"physics/kv_efficiency", "sla/coding-agentic/good/ttft_s", "reuse/agentic-coding/returns"} <= moved
    assert len(moved) > 40


def test_equal_content_has_one_digest_and_other_content_another() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})
    assert digest(table) == digest(table.copy())
    others = [table.assign(a=[1.0, 2.5]), table.assign(b=["x", "y"]), table.iloc[::-1]]
    others += [table.rename(columns={"a": "c"}), table.astype({"a": "int64"})]
    assert len({digest(frame) for frame in (table, *others)}) == len(others) + 1
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
    assert digest([1, "1"]) != digest(["1", 1])
    with pytest.raises(TypeError, match="not known"):
        digest(object())
