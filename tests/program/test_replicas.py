"""Whole instances worked by pencil: small LLMs beside each other, few instances split between prefill and decode."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import pytest
from hand_instance import SITE, W, edit, hand_tables, instance, instances, rows, standing, workload
from tiny_case import at

from procure.instance import TABLES
from procure.program import build
from procure.program.program import Program
from procure.solver.compile import compile_program
from procure.solver.highs import Options
from procure.solver.whole import solve_whole


def solved(tables: dict[str, pd.DataFrame]) -> tuple[Program, Any]:
    """The program of an instance, and the value of each of its variables in the cheapest plan."""
    program = build(instance(tables))
    compiled = compile_program(program)
    values = solve_whole(compiled, Options(gap=0.0, threads=1), "cost", None).values
    return program, lambda variable: float(values[compiled.column(variable)])


def one_bucket(tables: dict[str, pd.DataFrame], decode_s: float, prefill_s: float) -> None:
    """The shorter bucket alone, 100 requests/s, with unit-seconds of a request."""
    for name in ("rates", "lengths", "serve", "prefill"):
        tables[name] = tables[name].iloc[:1]
    edit(tables, "serve", {}, rack_s=decode_s)
    edit(tables, "prefill", {}, rack_s=prefill_s)


def like(tables: dict[str, pd.DataFrame], name: str, **other: Any) -> None:
    """Rows of a table once more, but for some columns."""
    tables[name] = pd.concat([tables[name], tables[name].assign(**other)], ignore_index=True)


def five_llms(whole: int) -> float:
    """Servers bought for five LLMs, each 0.3 of what an instance on a whole server may do: 0.15 busy servers."""
    tables = hand_tables()
    one_bucket(tables, 0.0005, 0.001)
    instances(tables, "both", whole=whole)
    base = {name: tables[name] for name in ("serve", "prefill", "rates", "lengths", "parked", "tasks", "short_prices")}
    held = tables["instances"]
    for number in range(1, 5):
        name, llm = f"w{number}", f"llm{number}"
        rows(tables, "workloads", workload(name, llm=llm))
        for table, frame in base.items():
            keys = {"serve": {"point": f"p{number}"}, "prefill": {"option": f"o{number}"}}.get(table, {})
            tables[table] = pd.concat([tables[table], frame.assign(workload=name, **keys)], ignore_index=True)
        tables["instances"] = pd.concat([tables["instances"], held.assign(llm=llm)], ignore_index=True)
    program, value = solved(tables)
    assert all(value(program.model.short[key]) < 1e-6 for key in program.model.short)
    return value(program.model.own[SITE, "g", 1])


def test_five_small_llms_take_five_servers_and_not_two():
    """Fluid: five times 0.15 busy servers, half of each busy: 1.5 servers, whole ones 2."""
    assert five_llms(whole=1) == pytest.approx(5)
    assert five_llms(whole=0) == pytest.approx(2)


DECODE_S = {"g": 0.015, "h": 0.012}
PREFILL_S = {"g": 0.04, "h": 0.008}
"""Server-seconds of a request: h prefills five times as fast as g, and decodes a quarter faster."""


def served(fleet: dict[str, int], whole: int) -> float:
    """Share of 100 requests/s that standing servers of two SKUs serve, an instance of either role on each."""
    tables = hand_tables()
    one_bucket(tables, DECODE_S["g"], PREFILL_S["g"])
    for name in ("skus", "prices", "resource_use", "upkeep"):
        of = tables[name][tables[name]["sku"] == "g"]
        tables[name] = pd.concat([tables[name], of.assign(sku="h")], ignore_index=True)
    edit(tables, "skus", {}, first_order_t=0, last_order_t=-1)
    like(tables, "serve", point="ph", deployment="h", sku="h", rack_s=DECODE_S["h"])
    like(tables, "prefill", option="oh", sku="h", rack_s=PREFILL_S["h"])
    instances(tables, "decode", "prefill", whole=whole)
    like(tables, "instances", deployment="h", sku="h")
    for sku, count in fleet.items():
        standing(tables, sku, count)
    edit(tables, "short_prices", {}, usd_per_request=1e3)
    assert list(tables["instances"].columns) == list(TABLES["instances"].by_column)
    program, value = solved(tables)
    taken = {key: value(count) for key, count in program.model.instances.items()}
    assert {key[1] for key in taken} == (set(fleet) if whole else set())
    return 1.0 - value(program.model.short[at(1), W])


def best_split(fleet: dict[str, int]) -> float:
    """The best of all ways to give each server one role: 0.5 of it busy, 100 requests/s asked for."""
    servers = [sku for sku, count in fleet.items() for _ in range(count)]
    found = []
    for roles in product((True, False), repeat=len(servers)):
        decoded = sum(0.5 / DECODE_S[sku] for sku, role in zip(servers, roles, strict=True) if role)
        filled = sum(0.5 / PREFILL_S[sku] for sku, role in zip(servers, roles, strict=True) if not role)
        found.append(min(decoded, filled) / 100)
    return max(found)


def test_three_alike_instances_serve_what_their_best_split_does():
    """One decodes 33.3, two prefill 25 requests/s. Fluid: 1.5 busy servers at 0.055 each: 27.3."""
    assert best_split({"g": 3}) == pytest.approx(0.25)
    assert served({"g": 3}, whole=1) == pytest.approx(0.25, abs=1e-6)
    assert served({"g": 3}, whole=0) == pytest.approx(1.5 / 0.055 / 100, abs=1e-6)


def test_three_instances_of_two_kinds_serve_what_their_best_split_does():
    """g and one h decode 75, the other h prefills 62.5 requests/s.

    Fluid: g decodes 33.3, both h the rest and all prefill: 1.0 busy = 0.008 x + 0.012 (x − 33.3), so x = 70.
    """
    fleet = {"g": 1, "h": 2}
    assert best_split(fleet) == pytest.approx(0.625)
    assert served(fleet, whole=1) == pytest.approx(0.625, abs=1e-6)
    assert served(fleet, whole=0) == pytest.approx(0.70, abs=1e-6)
