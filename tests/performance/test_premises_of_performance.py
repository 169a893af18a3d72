"""Rules are what they are given: every premise is read, moves what rests on it, and a wrong one is said by its path."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache

import pytest
from performance_fixtures import CATALOGUE, RULES, lpx_rack, mla_card, pool, setup
from solved_case import built
from tiny_case import tiny

from procure import demand
from procure.catalogue import packaged_path
from procure.errors import InputError
from procure.instance.service import loads, rules_of
from procure.performance import Queue, decode_points, first_token_s, served_prefill_gpu_seconds
from procure.performance.rules import GROUPS, Rules, premises_of
from procure.sizing import load_card

PREMISES = premises_of(CATALOGUE)
MOVES_NOTHING = {
    "software/latency_per_month": "of the fitted rows: only validation reads it",
    "software/early_spread_per_month": "the same",
    "physics/gather_efficiency": "of engines without an all-to-all, which plans do not take",
    "software/reference_month": "the same",
    "software/fast_latency_of_base": "of vintage fast",
    "bring_up/rubin-ultra-nvl144": "of hardware that is not asked about",
    "physics/widening_efficiency": "of weights that are widened",
    "physics/wide_kv_efficiency": "of 16-bit caches",
    "physics/index_s": "of cards with an indexer",
    "band/sparse_low": "the same",
    "band/sparse_high": "the same",
}


def changed(path, factor):
    fact = PREMISES[path]
    value = fact.value
    if isinstance(value, float):
        value = min(value * factor, 0.99) if value < 1 and "latency" not in path else value * factor
    elif fact.unit == "names":
        value = value.rpartition(" ")[0]
    else:
        value = f"2027{value[4:]}" if value[:2] == "20" else "gb200-nvl72"
    return {**PREMISES, path: replace(fact, value=value, low=None, high=None)}


def parts(rules):
    """Decode, prefill and first token of a pool measured as a sample, of one joined over NICs, and of the pair.

    One after the other: what looks for a difference asks for no more than the first.
    """
    card = mla_card()
    lengths, speeds = [8_000.0, 8_000.0, 60_000.0, 300.0], [20.0, 60.0, 150.0, 5.0]
    for name, lpx in (("vr-nvl72", None), ("vr-nvl72", lpx_rack()), ("hgx-b200", None)):
        asked = {"context_mean": lengths, "context_upper": 70_000.0, "tps_user": speeds}
        table = decode_points(pool(name), card, setup(rules=rules), **asked, months=3.0, lpx=lpx)
        numbers = table.select_dtypes("number").to_numpy()
        yield table.shape, table["source_date"].tolist(), numbers.tolist()
    for name in ("vr-nvl72", "gb200-nvl72"):
        prompt = {"new_tokens": [30_000.0], "prefix_tokens": [5_000.0]}
        seconds = served_prefill_gpu_seconds(pool(name), card, setup(rules=rules), **prompt)
        wall = first_token_s(pool(name), card, setup(rules=rules), **prompt, queue=Queue(0.8, 0.95), link_share=0.8)
        yield seconds.tolist(), wall.tolist()
    measured = decode_points(
        CATALOGUE.sku("gb300-nvl72"), load_card("deepseek-r1"), setup("nvfp4", rules=rules), context_mean=7_833.6,
        context_upper=8_000.0, tps_user=[50.0, 100.0, 150.0, 200.0, 250.0, 300.0],
    )  # fmt: skip
    yield measured["tokens_per_s_per_gpu"].tolist()


@cache
def base():
    """The parts on the packaged premises."""
    return list(parts(RULES))


def moves(rules):
    """Whether any part is another than on the packaged premises."""
    return any(mine != packaged for mine, packaged in zip(parts(rules), base(), strict=True))


PLANNED = [
    path for path in PREMISES if not path.startswith(("framework/", "curve/")) or path.startswith("curve/gb300-nvl72")
]


@pytest.mark.parametrize("path", PLANNED)
@pytest.mark.thorough
def test_every_premise_moves_what_rests_on_it(path):
    assert any(moves(Rules.of(changed(path, factor))) for factor in (0.8, 1.2)) == (path not in MOVES_NOTHING)


def test_rules_of_other_premises_live_side_by_side():
    """What is kept of one is not given to the other."""
    slow = Rules.of(changed("physics/kv_efficiency", 0.5))
    assert moves(slow)
    assert not moves(Rules.packaged())


def test_every_premise_is_told_with_a_band_or_is_a_word():
    bare = [
        path
        for path, fact in PREMISES.items()
        if (fact.low is None or fact.high is None) and not isinstance(fact.value, str)
    ]
    assert all(path.startswith("curve/vr-nvl72/") for path in bare)  # an engineering sample: high is the physics'
    assert all(fact.note and fact.source and fact.source_date for fact in PREMISES.values())


def test_every_group_of_premises_is_read_and_none_is_forgotten():
    groups = set()
    for name in ("physics", "fitted", "curves"):
        with packaged_path(f"data/premises_{name}.csv").open(encoding="utf-8", newline="") as file:
            groups |= {row["group"] for row in csv.DictReader(file)}
    assert groups == set(GROUPS)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("physics/kv_efficiency", 1.2, "at most 1"),
        ("physics/layer_latency_s", -1.0, "0 or more"),
        ("physics/prefill_chunk_tokens", 0.0, "Above 0"),
        ("queue/prefill_replicas", 0.0, "At least 1"),
        ("queue/fullest_load", 1.0, "below 1"),
        ("physics/tensor_gpus", "1 two", "Whole numbers"),
        ("software/base_month", "July", "2026-07"),
        ("lpx/vendor_multiple", 90.0, "no power"),
        ("band/long_context_to_tokens", 100.0, "band/long_context_from_tokens"),
        ("physics/usable_hbm", "most", "A number"),
        ("physics/prefill_service_factor", 1.5, "at most 1"),
    ],
)
def test_a_premise_out_of_range_is_said_by_its_path(path, value, said):
    with pytest.raises(InputError) as error:
        Rules.of({**PREMISES, path: replace(PREMISES[path], value=value)})
    assert path in str(error.value)
    assert said in str(error.value)


def test_premises_that_are_missing_are_all_named_with_the_nearest():
    kept = {path: fact for path, fact in PREMISES.items() if path not in ("physics/kv_efficiency", "lpx/layer_s")}
    with pytest.raises(InputError) as error:
        Rules.of(kept | {"physics/kv_eficiency": PREMISES["physics/kv_efficiency"]})
    text = str(error.value)
    assert "physics/kv_efficiency" in text
    assert "lpx/layer_s" in text
    assert "Did you mean 'physics/kv_eficiency'" in text


def test_a_larger_vendor_multiple_makes_the_pair_faster_in_proportion_at_the_claim():
    """1 / (decode of the pair + prefill) is the multiple times 1 / (decode alone + prefill)."""
    alone_s = 1 / RULES.lpx.alone_tokens_per_s + RULES.lpx.alone_prefill_s
    for multiple in (2.0, 3.5, 5.0):
        lpx = replace(RULES.lpx, vendor_multiple=multiple)
        assert alone_s / (lpx.paired_s / lpx.scale + lpx.alone_prefill_s) == pytest.approx(multiple, rel=1e-12)


def test_later_months_of_single_elements_are_those_of_a_later_vintage():
    asked = {"context_mean": [8_000.0, 20_000.0], "context_upper": 30_000.0, "tps_user": 60.0}
    at_once = decode_points(pool("gb200-nvl72"), mla_card(), setup(), **asked, months=[0.0, 9.0])
    for element, vintage in enumerate(("base", "base+9")):
        alone = decode_points(pool("gb200-nvl72"), mla_card(), setup(vintage=vintage), **asked)
        mine = alone["element"] == element
        for column in ("tokens_per_s_per_gpu", "free_hbm_bytes_per_gpu", "tps_user", "low", "high"):
            assert at_once.loc[at_once["element"] == element, column].tolist() == alone.loc[mine, column].tolist()
        assert set(at_once.loc[at_once["element"] == element, "source_date"]) == set(alone["source_date"])


@pytest.mark.thorough
def test_an_instance_rests_on_the_rules_of_its_case():
    case = tiny()
    assert all(load.setup.rules == RULES for load in loads(case, demand.build(case), rules_of(case)).values())
    before, after = built(case), built(case.with_value("physics/kv_efficiency", 0.4))
    least = [made["serve"].groupby(["t", "bucket"])["rack_s"].min() for made in (before, after)]
    assert (least[1] > least[0]).all()
