"""Fit, split and validation: planted truths are found again, no run is on both sides, no row is lost."""

from __future__ import annotations

import csv
import io
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from performance_fixtures import RULES

from procure.catalogue import packaged_path
from procure.catalogue.fact import parse
from procure.errors import InputError
from procure.performance.fit import decode_runs, fit, parts, prefill_rows, run_key
from procure.performance.fitted_premises import to_csv
from procure.performance.observations import COLUMNS, observe, read_points
from procure.performance.physics import UNCHANGED, VINTAGES, Months, Software
from procure.performance.predict import Bench, Runs, months_after, predict_runs
from procure.performance.refit import errors, refit, to_toml
from procure.performance.rules import premises_of
from procure.performance.validate import validate

POINTS = packaged_path("data") / "performance" / "points.csv"
BENCH = Bench.packaged()
PREMISES = premises_of(BENCH.catalogue)


@pytest.fixture(scope="module")
def seen():
    table = observe(read_points(POINTS))
    split = pd.read_csv(packaged_path("data") / "performance" / "split.csv")
    return table.assign(part=parts(table, split))


def rows(**changes):
    row = {
        "hardware": "B200",
        "model": "DeepSeek-R1",
        "precision": "fp8",
        "isl": 1_024,
        "osl": 1_024,
        "phase": "e2e",
        "batch_or_concurrency": 64,
        "tps_user": 50,
        "tps_per_gpu": 400,
        "gpus": 8,
        "disaggregated": 0,
        "software": "trt mtp=0 G=8 tp=8 ep=1 dpa=0",
        "date": "2026-02-01",
        "source": "run 123456",
    } | changes
    return pd.DataFrame([row])


def seen_of(**changes):
    return observe(rows(**changes)).iloc[0]


def test_running_streams_follow_from_littles_law():
    one = seen_of()
    assert one["streams"] == pytest.approx(400 * 8 / 50)
    assert (one["sku"], one["card"], one["weight_precision"], one["kv_format"]) == (
        "hgx-b200",
        "deepseek-r1",
        "fp8",
        "fp8",
    )
    assert one["aggregated"]


def test_an_end_to_end_row_of_a_disaggregated_run_counts_decode_gpus_only():
    one = seen_of(software="dynamo-trt mtp=1 P=4 D=8 W=1 tp=8 ep=8 dpa=1", disaggregated=1, gpus=12)
    assert one["decode_tps_per_gpu"] == pytest.approx(400 * 12 / 8)
    assert one["streams"] == pytest.approx(400 * 12 / 50)
    assert one["data_parallel"]
    assert one["speculation"]
    assert not one["aggregated"]


def test_a_stated_cache_format_and_lengths_that_were_not_drawn_are_taken_as_they_are():
    assert seen_of(kv_format="bf16")["kv_format"] == "bf16"
    assert seen_of()["length_drawn"] == 1.0
    assert seen_of(source="SemiAnalysis InferenceX run 1")["length_drawn"] == 0.9


def test_records_that_leave_the_layout_open_are_read_by_their_worker():
    small = seen_of(
        software="dynamo-sglang mtp=0 P=4 D=16 W=4 tp=1 ep=1 dpa=1", disaggregated=1, phase="decode", gpus=16
    )
    large = seen_of(
        software="dynamo-sglang mtp=0 P=4 D=32 W=1 tp=1 ep=1 dpa=1", disaggregated=1, phase="decode", gpus=32
    )
    assert (small["gpus_per_replica"], small["data_parallel"]) == (4, False)
    assert (large["gpus_per_replica"], large["data_parallel"]) == (32, True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hardware": "MI355X"}, "not a GPU SKU"),
        ({"model": "Nobody-7B"}, "no card"),
        ({"tps_per_gpu": np.nan}, "no throughput"),
        ({"tps_user": np.nan}, "no TPS/User"),
        ({"software": "vllm", "disaggregated": 1, "gpus": np.nan}, "no number of decode GPUs"),
        ({"software": "x P=4", "phase": "prefill"}, "lower bound"),
        ({"software": "vllm 4 x TP1 under load", "phase": "prefill"}, "lower bound"),
        ({"software": "sglang PP8 one request over a pipeline", "phase": "prefill"}, "not work"),
    ],
)
def test_a_row_that_cannot_be_predicted_says_why(changes, reason):
    assert reason in seen_of(**changes)["reason"]


@pytest.mark.parametrize(
    ("hardware", "software", "gathers"),
    [
        ("B200", "dynamo-sglang mtp=0 P=4 D=8 W=1 tp=8 ep=8 dpa=1", True),  # no all-to-all unless one is chosen
        ("GB200-NVL72", "dynamo-sglang mtp=0 P=4 D=8 W=1 tp=8 ep=8 dpa=1", False),
        ("B200", "dynamo-trt mtp=0 P=4 D=8 W=1 tp=8 ep=8 dpa=1", False),
        ("B200", "dynamo-trt mtp=0 P=4 D=8 W=1 tp=8 ep=1 dpa=1", True),  # sliced experts need every token
        ("B200", "dynamo-sglang mtp=0 P=4 D=8 W=1 tp=8 ep=8 dpa=0", False),
    ],
)
def test_which_runs_give_every_gpu_all_tokens(hardware, software, gathers):
    assert seen_of(hardware=hardware, software=software, disaggregated=1, phase="decode", gpus=8)["gathers"] == gathers


def test_a_points_file_with_faults_names_each_of_them(tmp_path):
    path = tmp_path / "points.csv"
    rows(phase="training", tps_user="many", gpus=-1).to_csv(path, index=False)
    with pytest.raises(InputError) as error:
        read_points(path)
    text = str(error.value)
    for part in ("row 2, column phase", "row 2, column tps_user", "row 2, column gpus"):
        assert part in text
    path.write_text("hardware\nB200\n")
    with pytest.raises(InputError, match="column model"):
        read_points(path)


def test_dates_without_a_month_count_as_the_middle_of_their_year():
    found = months_after(pd.Series(["2026-03-18", "2025-12", "2025"]), "2026-02")
    assert found == pytest.approx([1, -2, -7.5])


def test_no_run_is_both_in_the_fit_and_in_the_test(seen):
    decode = seen[seen["phase"] != "prefill"]  # prefill rows are all fitted: their sources are left out in turn
    sides = decode.assign(run=run_key(decode)).groupby("run")["part"].nunique()
    assert sides.max() == 1
    usable = decode_runs(seen)
    assert 0.15 < (usable["part"] == "test").mean() < 0.45


def test_a_disaggregated_run_enters_the_fit_once(seen):
    usable = decode_runs(seen)
    both = usable[usable["source"].str.contains("run") & ~usable["aggregated"]]
    twins = both.duplicated(["source", "software", "isl", "osl", "tps_user"], keep=False)
    assert not (twins & (both["phase"] == "e2e")).any()


@pytest.mark.slow
def test_planted_parameters_are_found_again(seen):
    """Measured speeds replaced by those of a known physics: the fit must return it, up to its weak prior."""
    runs = decode_runs(seen).iloc[::2].copy()
    truth = replace(RULES.reference, weight_efficiency=0.7, gemm_efficiency=0.35, layer_latency_s=60e-6, acceptance=0.7)
    kinds = {
        "trt": Software(1.0, 0.7, 1.0),
        "sglang": Software(1.3, 0.4, 2.0),
        "vllm": Software(1.1, 0.7, 1.5),
    }
    planted = Runs(runs, BENCH).tps_user(truth, lambda name: kinds.get(name, kinds["trt"]), Months(0.98, 1.1))
    found = fit(runs.assign(tps_user=planted), prefill_rows(seen).iloc[:0], BENCH)
    for name in ("weight_efficiency", "gemm_efficiency", "layer_latency_s", "latent_latency_s", "acceptance"):
        assert getattr(found.physics, name) == pytest.approx(getattr(truth, name), rel=0.12), name
    assert found.frameworks["sglang"].latency == pytest.approx(1.3, rel=0.05)
    assert found.months.latency == pytest.approx(0.98, rel=0.01)
    assert found.months.early_spread == pytest.approx(1.1, rel=0.02)
    again = Runs(runs, BENCH).tps_user(found.physics, found.software, found.months)
    assert np.median(np.abs(again / planted - 1)) < 0.02


@pytest.mark.slow
def test_the_shipped_numbers_are_what_the_fit_gives_on_the_fit_part(seen):
    runs, prefill = decode_runs(seen), prefill_rows(seen)
    learned = prefill[(prefill["part"] == "fit") & ~prefill["software"].str.contains("derived")]
    found = fit(runs[runs["part"] == "fit"], learned, BENCH)
    for name, value in vars(RULES.reference).items():
        assert getattr(found.physics, name) == pytest.approx(value, rel=0.01), name
    shipped = tomllib.loads((packaged_path("data") / "performance" / "errors.toml").read_text(encoding="utf-8"))
    assert errors(found, runs[runs["part"] == "test"], BENCH) == shipped["test"]


def test_speed_at_a_known_batch_meets_the_aims_on_runs_kept_out_of_the_fit(seen):
    kept = decode_runs(seen)
    kept = kept[kept["part"] == "test"]
    off = np.abs(predict_runs(kept, BENCH) / kept["tps_user"].to_numpy(float) - 1)
    drafted = kept["speculation"].to_numpy(bool)
    assert off[~drafted].mean() <= 0.11
    assert off[drafted].mean() <= 0.12


def test_validation_loses_no_row_and_adds_up(tmp_path):
    path = tmp_path / "mine.csv"
    several = pd.concat([rows(), rows(hardware="MI300X"), rows(tps_user=np.nan), rows(tps_user=25)], ignore_index=True)
    several.to_csv(path, index=False)
    report = validate(path)
    assert report["rows"] == {"all": 4, "predicted": 2, "unpredicted": 2}
    assert [row["line"] for row in report["unpredicted"]] == [3, 4]
    assert report["overall"]["n"] == 2
    assert report["groups"]["hardware: B200"]["n"] == 2
    assert {"n", "mape", "median_ape", "bias"} <= set(report["overall"])


@pytest.mark.thorough
def test_a_planted_error_shows_in_validation(tmp_path, seen):
    usable = decode_runs(seen)
    exact = usable[usable["aggregated"]].head(30).copy()
    speed = predict_runs(exact, BENCH)
    exact["tps_per_gpu"] *= speed / exact["tps_user"]  # keeps the running streams
    exact["tps_user"] = speed
    path = tmp_path / "exact.csv"
    exact[list(COLUMNS)].to_csv(path, index=False)
    assert validate(path)["overall"]["mape"] < 1e-3
    wrong = exact.assign(tps_user=speed * 0.8, tps_per_gpu=exact["tps_per_gpu"] * 0.8)
    wrong[list(COLUMNS)].to_csv(path, index=False)
    report = validate(path)["overall"]
    assert report["mape"] == pytest.approx(0.25, rel=0.01)
    assert report["bias"] == pytest.approx(0.25, rel=0.01)


@pytest.mark.slow
def test_the_packaged_points_are_predicted_or_explained():
    report = validate(POINTS)
    assert report["rows"]["all"] == len(pd.read_csv(POINTS))
    assert report["rows"]["predicted"] + report["rows"]["unpredicted"] == report["rows"]["all"]
    assert all(row["reason"] for row in report["unpredicted"])
    frontier = report["groups"]["frontier throughput: VR-NVL72"]
    assert frontier["mape"] < 0.1
    assert report["curves"]["overall"]["n"] > 300


def test_vintages_go_from_slow_to_fast():
    latencies = [RULES.software.factors(name).latency for name in VINTAGES]
    assert latencies == sorted(latencies, reverse=True)
    assert RULES.software.factors("none") == UNCHANGED
    with pytest.raises(InputError, match="base"):
        RULES.software.factors("bases")


def test_a_path_goes_on_from_its_vintage_quarter_by_quarter():
    path = RULES.software
    assert path.vintage_at("none", "2028Q4") == "none"
    assert path.vintage_at("base", "2026Q3") == "base+0"
    assert path.vintage_at("fast", "2027Q3") == "fast+12"
    later, sooner = (path.factors(path.vintage_at("base", quarter)) for quarter in ("2028Q1", "2027Q1"))
    assert later.latency < sooner.latency < path.factors("base").latency
    assert path.factors("base+0") == path.factors("base")
    assert path.date("base+12") == "2027-07"
    with pytest.raises(InputError, match="months"):
        path.factors("base+soon")


@pytest.mark.slow
def test_a_file_without_frontier_points_keeps_the_shipped_vintage(tmp_path, seen):
    some = decode_runs(seen)
    some = some[some["sku"] == "hgx-h200"].iloc[::3]
    path = tmp_path / "h200.csv"
    some[list(COLUMNS)].to_csv(path, index=False)
    found = refit(path)
    kept = [name for name in found.premises if name.startswith(("software/base_", "bring_up/", "lpx/"))]
    assert len(kept) == 10
    assert all(found.premises[name].value == PREMISES[name].value for name in kept)
    assert found.errors["rows"]["fit"] + found.errors["rows"]["test"] == len(some)
    assert set(found.split["part"]) == {"fit", "test"}
    assert tomllib.loads(to_toml(found.errors)) == found.errors


def test_a_file_without_a_usable_row_is_refused(tmp_path):
    path = tmp_path / "amd.csv"
    rows(hardware="MI300X").to_csv(path, index=False)
    with pytest.raises(InputError, match="none of use"):
        refit(path)


def test_frameworks_that_were_not_fitted_count_as_the_reference():
    assert RULES.framework("dynamo-sglang") == RULES.framework("sglang")
    assert RULES.framework("atom") == RULES.framework("trt")


def test_fitted_premises_survive_being_written():
    """Read back as the packaged table is, value, band and note are the same."""
    rows = {name: fact for name, fact in PREMISES.items() if name.startswith(("physics/", "framework/", "lpx/"))}
    for line, row in enumerate(csv.DictReader(io.StringIO(to_csv(rows))), start=2):
        fact, faults = parse(row, "premises_fitted.csv", line)
        assert not faults
        assert fact == rows[f"{row['group']}/{row['name']}"]
