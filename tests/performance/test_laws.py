"""Laws that any operating point must obey, whatever the fitted numbers."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from performance_fixtures import RULES, HandCard, dense_card, lpx_rack, mla_card, pool, setup

from procure.catalogue import Catalogue
from procure.performance import Queue, decode_points, prefill_gpu_seconds, prefill_latency_s
from procure.performance.step import Layout, Streams, decode_terms, step_seconds
from procure.performance.work import work_of
from procure.sizing import load_card

CARDS = {"mla": mla_card(), "mla without speculation": mla_card(0), "dense": dense_card()}
POOLS = ("hgx-h200", "hgx-b200", "gb200-nvl72", "vr-nvl72")


def points(hardware, card, context, tps_user, vintage="base", **more):
    context, tps_user = np.broadcast_arrays(np.atleast_1d(context), np.atleast_1d(tps_user))
    given = {"context_mean": context, "context_upper": context * 1.2, "tps_user": tps_user}
    return decode_points(hardware, card, setup(vintage=vintage), **given, **more)


def best(table, count):
    """Best throughput of each element, 0 where there is none."""
    rates = np.zeros(count)
    rows = table.drop_duplicates("element")
    rates[rows["element"]] = rows["tokens_per_s_per_gpu"]
    return rates


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("lpx", [None, lpx_rack()])
def test_higher_tps_user_never_gives_more_throughput(card, name, lpx):
    speeds = np.linspace(5, 500, 100)
    rates = best(points(pool(name), CARDS[card], 8_000.0, speeds, lpx=lpx), 100)
    assert np.all(np.diff(rates) <= 1e-9 * rates[:-1])
    assert rates[0] > 0


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("tps_user", [10.0, 40.0, 100.0])
def test_longer_context_never_gives_more_throughput(card, name, tps_user):
    contexts = np.geomspace(500, 400_000, 80)
    rates = best(points(pool(name), CARDS[card], contexts, tps_user), 80)
    assert np.all(np.diff(rates) <= 1e-9 * rates[:-1])


@pytest.mark.parametrize("name", POOLS)
def test_longer_context_never_lets_a_layout_hold_more_streams(name):
    contexts = np.geomspace(500, 400_000, 60)
    table = points(pool(name), CARDS["mla"], contexts, 40.0)
    table = table.drop_duplicates("element").sort_values("element")
    for _, streams in table.groupby("parallelism")["streams_per_gpu"]:
        assert np.all(np.diff(streams) <= 1e-6)


@given(
    field=st.sampled_from(
        [
            "hbm_bytes_per_s_per_gpu",
            "hbm_bytes_per_gpu",
            "fp8_flops_per_gpu",
            "bf16_flops_per_gpu",
            "scale_up_bytes_per_s_per_gpu",
            "scale_out_bytes_per_s_per_gpu",
        ]
    ),
    factor=st.floats(1.0, 4.0),
    name=st.sampled_from(POOLS),
    card=st.sampled_from(sorted(CARDS)),
    context=st.floats(500, 200_000),
    tps_user=st.floats(5, 300),
)
@pytest.mark.thorough
def test_more_of_any_hardware_never_gives_less_throughput(field, factor, name, card, context, tps_user):
    plain = pool(name)
    better = pool(name, **{field: getattr(plain, field) * factor})
    before = best(points(plain, CARDS[card], context, tps_user), 1)[0]
    after = best(points(better, CARDS[card], context, tps_user), 1)[0]
    assert after >= before * (1 - 1e-5)


@given(
    name=st.sampled_from(POOLS),
    card=st.sampled_from(sorted(CARDS)),
    context=st.floats(500, 200_000),
    tps_user=st.floats(5, 300),
    vintage=st.sampled_from(["none", "base", "fast"]),
)
@pytest.mark.thorough
def test_every_point_meets_its_speed_fits_and_adds_up(name, card, context, tps_user, vintage):
    hardware = pool(name)
    table = points(hardware, CARDS[card], context, tps_user, vintage=vintage)
    assert np.all(table["tps_user"] >= tps_user * (1 - 1e-6))
    assert np.all(table["free_hbm_bytes_per_gpu"] >= 0)
    assert np.all(table["free_hbm_bytes_per_gpu"] < hardware.hbm_bytes_per_gpu)
    assert np.allclose(table["streams_per_gpu"] * table["tps_user"], table["tokens_per_s_per_gpu"])
    assert np.allclose(table["batch_per_replica"] / table["gpus_per_replica"], table["streams_per_gpu"])
    assert table["tokens_per_s_per_gpu"].is_monotonic_decreasing
    assert table["free_hbm_bytes_per_gpu"].is_monotonic_increasing
    assert len(table) <= 4
    assert np.all(table["low"] <= 1 + 1e-9)
    assert np.all(table["high"] >= 1 - 1e-9)


def test_newer_software_never_gives_less_throughput():
    speeds = np.linspace(10, 300, 30)
    older, base, fast = (
        best(points(pool("gb200-nvl72"), mla_card(), 8_000.0, speeds, vintage=v), 30) for v in ("none", "base", "fast")
    )
    assert np.all(base >= older)
    assert np.all(fast >= base)


def test_a_card_that_does_not_fit_has_no_points():
    small = pool("hgx-h200", hbm_bytes_per_gpu=1e9)
    assert points(small, mla_card(), 1_000.0, 10.0).empty


def test_a_sequence_that_does_not_fit_alone_has_no_points():
    room = pool("hgx-h200")
    dense = dense_card()
    longest = room.hbm_bytes_per_gpu * 8 / float(dense.stored_bytes(1.0, "fp8"))
    assert points(room, dense, longest, 1.0).empty


def test_equal_elements_get_equal_points_in_any_order():
    contexts = np.array([9_000.0, 2_000.0, 9_000.0, 50_000.0])
    table = points(pool("gb200-nvl72"), mla_card(), contexts, 50.0)
    first, third = (table[table["element"] == e].drop(columns="element").reset_index(drop=True) for e in (0, 2))
    assert first.equals(third)
    alone = points(pool("gb200-nvl72"), mla_card(), contexts[3], 50.0).drop(columns="element")
    together = table[table["element"] == 3].drop(columns="element").reset_index(drop=True)
    assert np.allclose(alone.select_dtypes("number"), together.select_dtypes("number"))


def test_lengths_that_are_not_positive_are_refused():
    with pytest.raises(ValueError, match="positive"):
        points(pool("hgx-h200"), mla_card(), 0.0, 10.0)


@given(new=st.floats(1, 100_000), prefix=st.floats(0, 400_000), more=st.floats(1, 100_000), name=st.sampled_from(POOLS))
def test_reuse_saves_prefill_and_more_tokens_cost_more(new, prefix, more, name):
    for law in (prefill_gpu_seconds, partial(prefill_latency_s, queue=Queue(0.75, 0.9))):

        def seconds(fresh, reused, law=law):
            return float(law(pool(name), mla_card(), setup(), new_tokens=fresh, prefix_tokens=reused))

        assert seconds(new + more, prefix) > seconds(new, prefix)
        assert seconds(new, prefix + more) >= seconds(new, prefix)
        assert seconds(new, prefix) <= seconds(new + prefix, 0.0) * (1 + 1e-9)


def test_prefill_in_two_parts_costs_no_less_arithmetic_than_at_once():
    served = pool("gb200-nvl72"), mla_card(), setup()
    whole = prefill_gpu_seconds(*served, new_tokens=[30_000.0], prefix_tokens=[0.0])
    parts = prefill_gpu_seconds(*served, new_tokens=[20_000.0, 10_000.0], prefix_tokens=[0.0, 20_000.0])
    assert parts.sum() == pytest.approx(whole[0], rel=0.02)
    assert parts.sum() >= whole[0]


class IndexedCard(HandCard):
    """A card whose layers choose what they attend to by an index."""

    indexed_layers = 61


def test_sparse_decode_is_banded_wider_than_other_decode_and_its_base_is_the_same():
    cards = mla_card(), IndexedCard(**vars(mla_card()))
    plain, sparse = (points(pool("gb300-nvl72"), card, 60_000.0, [20.0, 50.0]) for card in cards)
    assert sparse["tokens_per_s_per_gpu"].tolist() == plain["tokens_per_s_per_gpu"].tolist()
    assert (sparse["low"] < plain["low"]).all()
    assert (sparse["high"] > plain["high"]).all()


@pytest.mark.parametrize(
    ("sku", "name", "kv_format", "printed_s"),
    [
        ("hgx-h100", "llama-3.1-8b", "bf16", 43.7e-9),
        ("hgx-h100", "llama-3.1-8b", "fp8", 23.7e-9),
        ("hgx-b200", "llama-3.1-8b", "bf16", 131_072 / (0.91 * 8e12)),
        ("hgx-b200", "llama-3.1-8b", "fp8", 65_536 / (0.84 * 8e12)),
    ],
)
def test_a_token_of_context_costs_a_step_what_was_printed(sku, name, kv_format, printed_s):
    """Slopes of time per token over context at batch 1, 32Ki to 128Ki: the vLLM post on FP8 caches, April 2026."""
    card, hardware = load_card(name), Catalogue.read().sku(sku)
    contexts = np.array([32_768.0, 131_072.0])
    streams = Streams(
        kv_format, np.zeros(1), card.loaded_bytes(contexts, kv_format), card.decode_attention_flops(contexts)
    )
    alone = Layout.best(np.ones(1), np.zeros(1, dtype=bool))
    terms = decode_terms(hardware, RULES.reference, work_of(card, "bf16"), alone, streams, np.ones(1))
    slope = np.diff(step_seconds(terms)) / np.diff(contexts)
    assert slope.item() == pytest.approx(printed_s, rel=0.1)
