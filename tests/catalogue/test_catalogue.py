"""The catalogue against the figures it is drawn from, and against wrong overrides."""

import csv
import os
from pathlib import Path

import pytest

from procure.catalogue import KINDS, Catalogue, Packaged, packaged_path
from procure.catalogue.fact import packaged_rows
from procure.errors import InputError
from procure.quarter import Quarter


@pytest.fixture(scope="module")
def catalogue():
    return Catalogue.read()


def test_every_row_names_its_source_kind_and_date():
    for path in packaged_path("data/hardware").glob("*.csv"):
        if path.name == "aliases.csv":
            continue
        for row in csv.DictReader(path.open(encoding="utf-8")):
            assert row["source"], (path.name, row["sku"], row["attribute"])
            assert row["kind"] in KINDS
            assert row["source_date"][:2] == "20"


def test_a_full_pod_draws_the_vendors_3_9_megawatts(catalogue):
    rack, frame, enclosure = (catalogue.sku(n) for n in ("vr-nvl72", "cmx-rack", "cmx-enclosure"))
    pod = 16 * (rack.power_kw + rack.attach_kw)
    pod += 2 * (frame.power_typical_kw + 16 * enclosure.power_typical_kw + frame.attach_kw)
    assert pod == pytest.approx(3928, abs=0.5)


def test_a_full_cmx_rack_adds_up_to_its_published_totals(catalogue):
    frame, enclosure = catalogue.sku("cmx-rack"), catalogue.sku("cmx-enclosure")
    assert frame.power_kw + 16 * enclosure.power_kw == 24
    assert frame.weight_kg + 16 * enclosure.weight_kg == 1050
    assert 16 * enclosure.store_bytes == 9.6e15
    assert 16 * enclosure.store_read_bytes_per_s == 5.4e12
    assert 16 * enclosure.ports == 64


def test_one_pod_costs_what_its_build_up_says_less_cdus(catalogue):
    rack, frame, enclosure = (catalogue.sku(n) for n in ("vr-nvl72", "cmx-rack", "cmx-enclosure"))
    pod = 16 * (rack.price_usd + rack.attach_usd + rack.install_usd)
    pod += 2 * (frame.price_usd + frame.attach_usd + frame.install_usd)
    pod += 32 * (enclosure.price_usd + enclosure.install_usd)
    assert pod == pytest.approx(166.6e6 - 1.75e6, rel=0.005)


def test_rack_totals_follow_from_gpu_figures(catalogue):
    rubin = catalogue.sku("vr-nvl72")
    assert rubin.gpus * rubin.hbm_bytes_per_gpu == pytest.approx(20.7e12, rel=0.01)
    assert rubin.gpus * rubin.hbm_bytes_per_s_per_gpu == pytest.approx(1580e12, rel=0.01)
    assert rubin.gpus * rubin.fp4_flops_per_gpu == 2520e15
    assert 2 * rubin.gpus * rubin.scale_up_bytes_per_s_per_gpu == pytest.approx(260e12, rel=0.01)
    assert rubin.dram_kv_bytes == 40.5e12
    assert catalogue.sku("gb300").gpus * catalogue.sku("gb300").fp4_flops_per_gpu == 1080e15


def test_a_price_is_the_level_times_the_path_of_its_delivery_quarter(catalogue):
    assert catalogue.price_usd("vr-nvl72", "2026Q4") == 7.8e6
    assert catalogue.price_usd("vr-nvl72", "2027Q1") == pytest.approx(7.8e6 * 1.15)
    enclosure = 60e3 * 1.05 + 600 * 900 * 1.08
    assert catalogue.price_usd("cmx-enclosure", Quarter("2027Q1")) == pytest.approx(enclosure)
    assert catalogue.price_usd("ssd-kit-vr-nvl72", "2027Q1") == pytest.approx(572e3 * 1.08)


def test_flash_in_an_enclosure_follows_the_path_of_flash_and_not_that_of_the_whole():
    enclosure = "cmx-enclosure"
    quoted = [{"sku": enclosure, "quarter": "2027Q2", "price_usd": 500e3}]
    catalogue = Catalogue.of(Packaged.read(), prices=quoted)
    assert catalogue.flash_usd(enclosure, "2027Q1") == pytest.approx(540e3 * 1.08)
    assert catalogue.flash_usd(enclosure, "2027Q2") == pytest.approx(0.9 * 500e3)
    assert catalogue.flash_usd(enclosure, "2029Q4") == pytest.approx(540e3 * 0.56)
    assert catalogue.flash_usd("ssd-kit-vr-nvl72", "2027Q1") == pytest.approx(572e3 * 1.08)
    assert catalogue.flash_usd("vr-nvl72", "2026Q4") == 7.8e6  # no share of it is said to be flash


def test_beyond_the_end_of_a_path_the_last_index_is_held_and_said(catalogue):
    held = catalogue.price_fact("vr-nvl72", "2031Q2")
    assert held.value == catalogue.price_usd("vr-nvl72", "2029Q4")
    assert "2029Q4" in held.note
    assert "held" not in catalogue.price_fact("vr-nvl72", "2029Q4").note
    assert catalogue.price_usd("vr-nvl72", "2026Q1") == catalogue.sku("vr-nvl72").price_usd


def test_price_bands_hold_the_base_in_every_quarter(catalogue):
    for name in catalogue.skus:
        for step in range(16):
            fact = catalogue.price_fact(name, Quarter("2026Q4") + step)
            assert fact.low <= fact.value <= fact.high


@pytest.mark.parametrize("name", ["VR_NVL72", "Vera Rubin NVL72", "gb300", "H200", "lpx", "CMX"])
def test_a_sku_is_found_by_the_names_people_use(catalogue, name):
    assert catalogue.sku(name).name in catalogue.skus


def test_an_unknown_sku_is_refused_with_the_nearest_name(catalogue):
    with pytest.raises(InputError, match="gb300-nvl72"):
        catalogue.sku("gb30-nvl72")


def test_every_ssd_kit_goes_into_a_gpu_unit_and_fits_what_is_already_included(catalogue):
    for sku in catalogue.skus.values():
        if sku.kind == "ssd_kit":
            host = catalogue.sku(sku.host)
            assert host.kind == "gpu"
            assert host.ssd_included_bytes <= sku.store_bytes * 1.001


@pytest.mark.parametrize("name", ["vr-nvl72", "hgx-h100"])
def test_the_residual_line_is_inside_what_used_h100_bring_and_low_after_four_years(catalogue, name):
    """0.65, 0.50, 0.34, 0.19 and 0.04 after 1 to 5 years; bands of the market from index sites of 2026."""
    sku = catalogue.sku(name)
    line = [(1 - years / sku.life_years) * sku.haircut for years in range(1, 6)]
    assert line == pytest.approx([0.648, 0.495, 0.343, 0.190, 0.038], abs=0.001)
    bands = [(0.60, 0.75), (0.40, 0.55), (0.25, 0.40), (0.15, 0.20), (0.10, 0.15)]
    for years, (low, high) in enumerate(bands, 1):
        fact = catalogue.fact("gpu_rack", f"market_value_age_{4 * years:02d}q")
        assert (fact.low, fact.high) == (low, high)
        assert line[years - 1] <= high
        assert line[years - 1] >= low or years == 5


def override(**row):
    return [
        {"sku": "vr-nvl72", "attribute": "price_usd", "value": "8e6", "unit": "USD", "low": "", "high": ""}
        | {"kind": "user", "source": "quote", "source_date": "2026-12", "note": ""}
        | row
    ]


def test_an_override_replaces_one_attribute_and_nothing_else(catalogue):
    changed = Catalogue.read(override())
    assert changed.price_usd("vr-nvl72", "2027Q1") == pytest.approx(8e6 * 1.15)
    assert changed.fact("vr-nvl72", "price_usd").source == "quote"
    assert changed.sku("vr-nvl72").power_kw == catalogue.sku("vr-nvl72").power_kw
    assert changed.skus["lpx"] == catalogue.skus["lpx"]


def test_an_override_of_a_class_reaches_its_skus():
    changed = Catalogue.read(override(sku="gpu_rack", attribute="life_years", value="5", unit="years"))
    assert changed.sku("gb200-nvl72").life_years == 5
    assert changed.sku("lpx").life_years == 5


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"sku": "vr-nvl27"}, "vr-nvl72"),
        ({"attribute": "prize_usd"}, "price_usd"),
        ({"unit": "MUSD"}, "stated in USD"),
        ({"value": "7,800,000"}, "thousands separators"),
        ({"value": "nan"}, "not-a-number"),
        ({"value": "-1"}, "0 or more"),
        ({"value": "inf"}, "finite"),
        ({"low": "9e6"}, "low <= value <= high"),
        ({"attribute": "dram_kv_bytes", "unit": "B"}, "dram_bytes"),
        ({"kind": "guess"}, "assumption"),
        ({"attribute": "haircut", "value": "1.5", "unit": "fraction"}, "0 to 1"),
        ({"attribute": "available_from", "value": "2027-Q1", "unit": "quarter"}, "2027Q1"),
        ({"attribute": "milestone_order", "value": "0.5", "unit": "fraction"}, "sum to 1"),
        ({"attribute": "pairs_with_lpx", "value": "0.5", "unit": "flag"}, "1 for yes"),
        ({"attribute": "min_order", "value": "1.5", "unit": "count"}, "whole number"),
        ({"attribute": "gpus", "value": "71.6", "unit": "count"}, "whole number"),
        ({"attribute": "pod_slots", "value": "0", "unit": "count"}, "its own pod"),
    ],
)
def test_a_wrong_override_is_refused_in_words(row, said):
    with pytest.raises(InputError, match=said):
        Catalogue.read(override(**row))


def test_a_new_sku_must_state_every_attribute():
    with pytest.raises(InputError) as refused:
        Catalogue.read(override(sku="kyber", attribute="kind", value="gpu", unit="text"))
    assert {"hbm_bytes_per_gpu", "pod_slots", "pairs_with_lpx"} <= {fault.column for fault in refused.value.faults}


def test_a_quoted_price_wins_in_its_quarter_only(catalogue):
    quoted = Catalogue.of(Packaged.read(), prices=[{"sku": "VR_NVL72", "quarter": "2027Q3", "price_usd": 9e6}])
    assert quoted.price_usd("vr-nvl72", "2027Q3") == 9e6
    assert quoted.price_usd("vr-nvl72", "2027Q4") == catalogue.price_usd("vr-nvl72", "2027Q4")


def test_an_attach_row_replaces_only_the_cells_it_fills(catalogue):
    changed = Catalogue.of(Packaged.read(), attach=[{"sku": "vr-nvl72", "attach_kw": 8.0, "attach_usd": float("nan")}])
    assert changed.sku("vr-nvl72").attach_kw == 8
    assert changed.sku("vr-nvl72").attach_usd == catalogue.sku("vr-nvl72").attach_usd


def test_nvl144_counted_in_dies_is_the_rack_of_72_packages_and_stx_is_cmx(catalogue):
    for name in ("VR NVL144", "vera_rubin_nvl144", "Rubin-NVL144"):
        assert catalogue.sku(name).name == "vr-nvl72"
    for name in ("STX", "CMX", "stx-rack"):
        assert catalogue.sku(name).name == "cmx-rack"
    for name in ("Rubin Ultra", "Ultra Rubin NVL144", "kyber"):
        assert catalogue.sku(name).name == "rubin-ultra-nvl144"


@pytest.mark.parametrize(
    ("name", "meanings"),
    [
        ("NVL144", ("vr-nvl72", "rubin-ultra-nvl144", "vr-nvl144-cpx")),
        ("nvl72", ("gb200-nvl72", "gb300-nvl72", "vr-nvl72")),
        ("NVL576", ("rubin-ultra-nvl144", "several racks")),
        ("Rubin", ("vr-nvl72", "rubin-ultra-nvl144")),
        ("Blackwell", ("gb200-nvl72", "hgx-b300")),
    ],
)
def test_an_ambiguous_name_is_refused_with_its_meanings(catalogue, name, meanings):
    with pytest.raises(InputError, match="ambiguous") as error:
        catalogue.sku(name)
    assert all(meaning in str(error.value) for meaning in meanings)
    row = {"sku": name, "attribute": "power_kw", "value": "100", "unit": "kW"}
    with pytest.raises(InputError, match="ambiguous"):
        Catalogue.read([row])


def test_every_alias_means_hardware_that_has_rows(catalogue):
    for row in csv.DictReader(packaged_path("data/hardware/aliases.csv").open(encoding="utf-8")):
        assert row["sku"] in {sku for sku, _ in catalogue.facts} or not row["sku"]
        assert row["alias"] not in catalogue.skus


def test_rubin_ultra_is_a_dated_projection_whose_rack_adds_up_to_the_announced_one(catalogue):
    ultra = catalogue.sku("rubin-ultra-nvl144")
    assert ultra.projection
    assert not catalogue.sku("vr-nvl72").projection
    assert Quarter(ultra.available_from) >= Quarter("2027Q3")
    assert 144 * ultra.hbm_bytes_per_s_per_gpu == pytest.approx(4.6e15, rel=0.01)
    assert 144 * ultra.fp8_flops_per_gpu == pytest.approx(5e18, rel=0.01)
    assert 2 * 144 * ultra.scale_up_bytes_per_s_per_gpu == pytest.approx(1.5e15, rel=0.01)


def test_rubin_cpx_is_data_that_only_rows_of_a_case_make_a_sku(catalogue):
    assert catalogue.fact("vr-nvl144-cpx", "cpx_memory_bytes_per_gpu").number == 128e9
    assert "vr-nvl144-cpx" not in catalogue.skus
    with pytest.raises(InputError, match="dropped from the roadmap"):
        catalogue.sku("Rubin CPX")
    text = {"quarter": "2028Q1"}
    rows = [
        {"sku": "vr-nvl144-cpx", "attribute": attribute, "value": text.get(fact.unit, fact.value), "unit": fact.unit}
        for (sku, attribute), fact in catalogue.facts.items()
        if sku == "rubin-ultra-nvl144"
        and attribute not in ("power_kw", "gpus", "projection", "dram_kv_bytes", "cdu_usd")
    ]
    enabled = Catalogue.read(rows)
    assert enabled.sku("Rubin CPX").power_kw == 380


def test_a_packaged_table_is_read_again_once_its_file_changed_and_nobody_shares_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("procure.catalogue.fact.packaged_path", lambda name: tmp_path / Path(name).name)
    file = tmp_path / "table.csv"
    file.write_text("name,value\na,1\n", encoding="utf-8")
    packaged_rows("table")[0]["value"] = "changed by a reader"
    assert packaged_rows("table") == [{"name": "a", "value": "1"}]
    file.write_text("name,value\na,2\n", encoding="utf-8")
    os.utime(file, ns=(1, 1))
    assert packaged_rows("table") == [{"name": "a", "value": "2"}]


def test_what_is_packaged_is_parsed_once_for_the_same_files():
    assert Packaged.read() is Packaged.read()
