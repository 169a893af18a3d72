"""Every reader of a user's file, on valid files with small harm: it reads, or raises InputError, and nothing else.

``PROCURE_FUZZ=5000 pytest tests/fuzz`` tries so many changes of each file; the suite tries a few. A failure names the
seed of its change; ``PROCURE_FUZZ_SEED`` begins at another.
"""

from __future__ import annotations

import json
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mutations import any_book, any_csv, any_json, any_jsonl, any_text
from solved_case import planned
from tiny_case import tiny

from procure.case import Case
from procure.case.schema import TABLES
from procure.case.template import write_workbook
from procure.catalogue import packaged_path
from procure.demand.trace import Options, analyse
from procure.errors import Fault, InputError
from procure.performance.measured import Curves
from procure.performance.observations import read_points
from procure.plan import Plan
from procure.sizing import load_card

TRIES = int(os.environ.get("PROCURE_FUZZ", "12"))
"""Changes of each file."""

FIRST = int(os.environ.get("PROCURE_FUZZ_SEED", "0"))
"""The seed of the first change."""

Harm = Callable[[bytes, random.Random], bytes]


def _refused(path: Path, seed: int, read: Callable[[], object]) -> list[list[Fault]]:
    """The faults of one harmed file, none where it reads."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            read()
    except InputError as error:
        return [error.faults]
    except Exception as error:
        kept = path.read_bytes()[:300]
        raise AssertionError(f"{path.name}, seed {seed}: {type(error).__name__}: {error}; begins {kept!r}") from error
    return []


def survives(path: Path, harm: Harm, read: Callable[[], object], *, refuses: bool = True) -> None:
    """Harm a file again and again; reading gives something or an InputError with faults in words.

    ``refuses``: at least one change is refused. A trace counts its bad lines and goes on.
    """
    whole = path.read_bytes()
    read()
    faults: list[list[Fault]] = []
    try:
        for seed in range(FIRST, FIRST + TRIES):
            path.write_bytes(harm(whole, random.Random(seed)))
            faults += _refused(path, seed, read)
    finally:
        path.write_bytes(whole)
    assert faults or not refuses, "no change was refused: nothing was tried"
    assert all(found and all(fault.expected for fault in found) for found in faults)


# ------------------------------------------------------------------------ cases


OWN = {
    "lengths": "workload,up_to_tokens,share_requests\nchat,1000,0.5\nchat,8000,0.5\n",
    "reuse": "curve,age_s,return_share,reused_share,clock\nown,60,0.1,0.9,idle\nown,600,0.4,0.9,idle\n",
    "throughput": "sku,card,weight_precision,isl,osl,tps_user,tokens_per_s_per_gpu,all_gpus,low,high,date,source\n"
    "gb300-nvl72,deepseek-v3.2,fp8,8192,1024,40,2000,1,0.8,1.2,2027-01,us\n"
    "gb300-nvl72,deepseek-v3.2,fp8,8192,1024,60,1000,1,0.8,1.2,2027-01,us\n",
    "attach": "sku,attach_kw,attach_positions,attach_usd,install_usd\ngb300-nvl72,10,1,1e5,1e5\n",
    "prices": "sku,quarter,price_usd\ngb300-nvl72,2027Q1,4e6\n",
    "budget": "quarter,budget_usd\n2027Q1,1e8\n2027Q2,1e8\n2027Q3,1e8\n",
    "fleet": "site,sku,count,in_service,paid_usd_per_unit,retirable\na,gb300-nvl72,2,2026Q3,4e6,true\n",
    "orders": "site,sku,count,delivery,price_usd_per_unit,paid_share\na,gb300-nvl72,1,2027Q1,4e6,0.2\n",
    "expansions": "site,expansion,power_kw,positions,area_m2,liquid_kw,ports,capex_usd,lead_quarters,max_count,"
    "order_until\na,hall,1000,4,60,,,2e6,1.5,2,2027Q1\n",
    "reservations": "reservation,site,expansion,instrument,until_quarter\nhold,a,hall,firm_hold,2027Q2\n",
    "reserved": "site,sku,quarter,count,purpose\na,gb300-nvl72,2027Q1,1,training\n",
    "rent": "offer,site,sku,most_units,usd_per_gpu_hour,lead_quarters\nbridge,cloud,hgx-h200,4,3.5,0\n",
    "rented": "offer,count,from_quarter,until_quarter\nbridge,1,2026Q4,2027Q2\n",
    "supply": "sku,quarter,most_units\ngb300-nvl72,2027Q1,2\n",
    "links": "from_site,to_site,from_quarter,bandwidth_gbit_per_s\na,cloud,2027Q1,100\n",
    "pools": "site,sku,role\ncloud,hgx-h200,decode\n",
    "placement": "work,workload,site,deployment,share\ndecode,chat,a,gb300-nvl72,1\nprefill,chat,a,gb300-nvl72,1\n",
    "day_shapes": "shape,from_hour,to_hour,load\noffice,9,17,4\noffice,17,9,1\n",
    "premises": "path,value\nhardware/gb300-nvl72/power_kw,140\nphysics/kv_efficiency,0.8\n",
    "sources": "table,column,item,kind,source,note\nsites,power_kw,,user,meter,\n",
}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A case that has every table."""
    folder = tiny().write(tmp_path_factory.mktemp("fuzz") / "case")
    for table, content in OWN.items():
        (folder / f"{table}.csv").write_text(content)
    return folder


@pytest.mark.parametrize("name", [*TABLES, "case"])
@pytest.mark.thorough
def test_files_of_a_case(case, name):
    toml = name == "case"
    survives(case / ("case.toml" if toml else f"{name}.csv"), any_text if toml else any_csv, lambda: Case.read(case))


@pytest.mark.thorough
def test_workbooks(tmp_path):
    path = write_workbook(tmp_path / "case.xlsx", tiny())
    survives(path, any_book, lambda: Case.read(path))


@pytest.mark.thorough
def test_a_case_with_every_table_reads(case):
    assert all(len(Case.read(case).tables[name]) for name in TABLES)


# ------------------------------------------------------------------------ cards

ARCHETYPE = """
name = "own"
num_layers = 8
hidden_size = 2048
vocab_size = 32000
max_context_tokens = 65536
native_precision = "bf16"
[[attention]]
family = "kda"
ratio = 3
heads = 16
dim = 128
kernel = 4
[[attention]]
family = "gqa"
ratio = 1
query_heads = 16
kv_heads = 4
k_dim = 128
v_dim = 128
window = 4096
[feed_forward]
dense_layers = 1
dense_width = 8192
moe_layers = 7
experts = 64
top_k = 4
expert_width = 1024
shared_width = 1024
"""


def used(path: Path) -> None:
    """Load a card and ask all that a plan asks of it."""
    card = load_card(path)
    lengths = np.array([0, 1, 1_000, 1_000_000])
    for ask in (card.stored_bytes, card.loaded_bytes, card.hbm_bytes, card.transferred_bytes):
        ask(lengths, "fp8")
    card.state_bytes("bf16"), card.decode_attention_flops(lengths), card.prefill_attention_flops(lengths, lengths)
    card.weight_bytes(card.native_precision), card.params, card.moe, card.max_context_tokens, card.kv_heads_shardable
    card.hidden_size, card.vocab_size, card.speculating()


@pytest.mark.parametrize(
    "name",
    [
        "deepseek-v3.2",
        "deepseek-v4-flash",
        "gpt-oss-120b",
        "qwen3.5-397b-a17b",
        "minimax-m2.5",
        "mimo-v2-flash",
        "llama-3.1-8b",
    ],
)
def test_cards_and_released_configs(tmp_path, name):
    card = json.loads((packaged_path("models") / f"{name}.json").read_text())
    (tmp_path / "card.json").write_text(json.dumps(card))
    (tmp_path / "config.json").write_text(json.dumps(card["config"]))
    survives(tmp_path / "card.json", any_json, lambda: used(tmp_path / "card.json"))
    survives(tmp_path / "config.json", any_json, lambda: sized(tmp_path / "config.json"))


def sized(path: Path) -> None:
    """Load a released config, which need not state its context or precision, and ask for its bytes."""
    card = load_card(path)
    lengths = np.array([0, 1, 1_000, 1_000_000])
    card.stored_bytes(lengths, "fp8"), card.loaded_bytes(lengths, "fp8"), card.hbm_bytes(lengths, "fp8")


def test_archetypes(tmp_path):
    (tmp_path / "own.toml").write_text(ARCHETYPE)
    survives(tmp_path / "own.toml", any_text, lambda: used(tmp_path / "own.toml"))


# ------------------------------------------------------------------------ traces


def mooncake(i: int) -> dict:
    return {"timestamp": 27 * i, "input_length": 1_200 + i, "output_length": 30, "hash_ids": [1, 2 + i % 5, 9]}


TRACES = {
    "mooncake.jsonl": ("".join(json.dumps(mooncake(i)) + "\n" for i in range(40)), any_jsonl),
    "azure.csv": (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        + "".join(f"2026-11-01 00:00:{i:02d}.5,{100 + i},{10 + i}\n" for i in range(40)),
        any_csv,
    ),
    "sessions.json": (
        json.dumps(
            {
                "id": "a",
                "tool_tokens": 10,
                "system_tokens": 5,
                "requests": [{"t": 3.0 * i, "in": 100 + i, "out": 5, "hash_ids": [1, i]} for i in range(20)],
            }
        ),
        any_json,
    ),
    "generic.csv": (
        "time_s,input_tokens,output_tokens,session,service_s,cached_tokens\n"
        + "".join(f"{3 * i},{100 + i},{10 + i},{i % 4},1.5,20\n" for i in range(40)),
        any_csv,
    ),
    "bailian.jsonl": (
        "".join(
            json.dumps({**mooncake(i), "timestamp": 1.5 * i, "chat_id": i, "parent_chat_id": i - 3 if i > 2 else -1})
            + "\n"
            for i in range(40)
        ),
        any_jsonl,
    ),
    "vllm.json": (
        json.dumps(
            {
                "completed": 3,
                "duration": 9.5,
                "request_throughput": 0.3,
                "input_lens": [9, 8, 7],
                "output_lens": [3, 2, 1],
                "ttfts": [0.1, 0.2, 0.3],
                "itls": [[0.1, 0.1], [0.1], []],
                "errors": ["", "", ""],
                "start_times": [1.0, 2.0, 3.0],
            }
        ),
        any_json,
    ),
    "rates.csv": ("t_s,requests_per_s\n" + "".join(f"{60 * i},{1 + i % 3}\n" for i in range(40)), any_csv),
}


@pytest.mark.parametrize("name", TRACES)
def test_traces(tmp_path, name):
    content, harm = TRACES[name]
    (tmp_path / name).write_text(content)

    def read() -> None:
        analyse([tmp_path / name], Options(service_tps=50.0)).reuse_table()

    survives(tmp_path / name, harm, read, refuses=False)


# ------------------------------------------------------------------------ measurements and results


@pytest.mark.thorough
def test_own_throughput(tmp_path):
    (tmp_path / "own.csv").write_text(
        OWN["throughput"].replace("source\n", "source,techniques\n").replace("us\n", "us,\n")
    )
    survives(tmp_path / "own.csv", any_csv, lambda: Curves.read(tmp_path / "own.csv"))


def test_measured_points(tmp_path):
    lines = packaged_path("data/performance/points.csv").read_text().splitlines(keepends=True)
    (tmp_path / "points.csv").write_text("".join(lines[:30]))
    survives(tmp_path / "points.csv", any_csv, lambda: read_points(tmp_path / "points.csv"))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    plan = planned(tiny(peaks={"chat": [60, 80, 90]}), gap=0.05)
    return plan.write(tmp_path_factory.mktemp("fuzz") / "result")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plan.json", "tables/sla.csv", "tables/purchases.csv"])
def test_stored_results(result, name):
    survives(result / name, any_json if name == "plan.json" else any_csv, lambda: Plan.read(result))
