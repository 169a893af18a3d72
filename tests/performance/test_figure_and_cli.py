"""The figure, the claims and the command: units, bases, verdicts, JSON, faults."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from performance_fixtures import CATALOGUE, setup

from procure.catalogue import Catalogue
from procure.catalogue.sku import INFORMATIVE
from procure.cli import main
from procure.errors import InputError
from procure.performance.accuracy import FIT, KEPT, PREFILL, spreads
from procure.performance.claims import NOT_SUPPORTED, SUPPORTED, VENDOR, claims, cmx_multiple
from procure.performance.decode import Deployment
from procure.performance.explain import explain_decode, explain_prefill
from procure.performance.figure import Load, Pool, figure, unit_kw
from procure.performance.observations import COLUMNS as POINT_COLUMNS
from procure.performance.points import prefill_gpus_per_replica, prefill_latency_s
from procure.performance.queueing import Queue
from procure.sizing import load_card

POINT_FIELDS = (
    "tps_user",
    "tokens_per_s_per_gpu",
    "tokens_per_s_per_mw",
    "streams_per_gpu",
    "gpus_per_replica",
    "binding",
    "source",
    "low",
    "high",
)


@pytest.fixture(scope="module")
def load():
    return Load(load_card("deepseek-r1"), "best", "fp8", 8_000.0, 1_000.0)


def test_throughput_per_mw_is_throughput_over_facility_power(load):
    line = figure(["gb200-nvl72"], load, setup(), speeds=(50.0, 100.0))
    sku = CATALOGUE.sku("gb200-nvl72")
    kw = unit_kw(sku, 1.15) / 72
    assert kw == pytest.approx((sku.power_kw + sku.attach_kw) * 1.15 / 72)
    assert line["tokens_per_s_per_mw"].to_numpy() == pytest.approx(line["tokens_per_s_per_gpu"].to_numpy() / kw * 1000)
    assert np.all(line["tokens_per_s_per_gpu"] < line["decode_tokens_per_s_per_gpu"])


@pytest.mark.thorough
def test_the_ninetieth_percentile_stands_beside_the_median(load, capsys):
    line = figure(["gb200-nvl72"], load, setup(), speeds=(50.0, 100.0))
    assert line["tps_user_p90"].to_numpy() == pytest.approx(line["tps_user"].to_numpy() * 0.85)
    assert main(["perf", "deepseek-r1", "--pools", "gb200-nvl72", "--tps", "40"]) == 0
    shown = capsys.readouterr().out
    assert "p90" in shown
    assert " 34 " in shown


def test_reuse_saves_prefill_and_never_decode(load):
    again = Load(load.card, load.weight_precision, load.kv_format, load.input_tokens, load.output_tokens, 0.9)
    fresh, reused = (figure(["vr-nvl72"], each, setup(), speeds=(50.0,)) for each in (load, again))
    assert reused["tokens_per_s_per_gpu"].iloc[0] > 1.2 * fresh["tokens_per_s_per_gpu"].iloc[0]
    assert reused["decode_tokens_per_s_per_gpu"].iloc[0] == fresh["decode_tokens_per_s_per_gpu"].iloc[0]


def test_max_q_gives_less_per_gpu_and_more_per_mw(load):
    lines = figure(["vr-nvl72", "vr-nvl72-max-q"], load, setup(), speeds=(50.0,)).set_index("pool")
    factor = float(CATALOGUE.fact("vr-nvl72", "maxq_throughput_factor").value)
    full, saving = lines.loc["vr-nvl72"], lines.loc["vr-nvl72-max-q"]
    assert saving["tokens_per_s_per_gpu"] == pytest.approx(factor * full["tokens_per_s_per_gpu"])
    assert saving["tokens_per_s_per_mw"] > full["tokens_per_s_per_mw"]
    assert saving["streams_per_gpu"] == pytest.approx(factor * full["streams_per_gpu"])
    assert "premise" in saving["source"]
    assert (full["evidence"], saving["evidence"]) == ("measured", "physics")


def test_max_p_is_full_power_and_other_racks_have_no_power_modes(load):
    catalogue = CATALOGUE
    assert Pool.named("VR NVL72 Max-P", catalogue).sku == catalogue.sku("vr-nvl72")
    with pytest.raises(InputError, match="power modes of VR NVL72"):
        Pool.named("gb300-nvl72-max-q", catalogue)


def test_a_case_runs_racks_at_max_q_by_two_hardware_rows(load):
    rows = [
        {"sku": "vr-nvl72", "attribute": "power_kw", "value": "187", "unit": "kW"},
        {"sku": "vr-nvl72", "attribute": "throughput_factor", "value": "0.9", "unit": "fraction"},
    ]
    own = figure(["vr-nvl72"], load, setup(), speeds=(50.0,), catalogue=Catalogue.read(rows))
    mode = figure(["vr-nvl72-max-q"], load, setup(), speeds=(50.0,))
    assert own["tokens_per_s_per_mw"].iloc[0] == pytest.approx(mode["tokens_per_s_per_mw"].iloc[0])


def test_announced_hardware_gives_projections_and_says_of_when(load):
    lines = figure(["rubin-ultra", "vr-nvl72"], load, setup(), speeds=(50.0, 100.0)).set_index("pool")
    ultra = lines.loc["rubin-ultra"]
    assert set(ultra["evidence"]) == {"projection"}
    assert ultra["source"].str.contains("rubin-ultra-nvl144 is a projection of 2026-07").all()
    assert np.all(ultra["tokens_per_s_per_gpu"].to_numpy() > lines.loc["vr-nvl72", "tokens_per_s_per_gpu"].to_numpy())
    assert np.all(ultra["low"].to_numpy() < 0.9)


def test_hardware_that_cannot_be_meant_is_refused():
    for name in ("lpx", "gb200-nvl72+ssd-kit-vr-nvl72", "hgx-h2000"):
        with pytest.raises(InputError):
            Pool.named(name, CATALOGUE)


def test_the_articles_claims_are_judged_on_measured_curves(load):
    by_text = {claim.claim: claim for claim in claims(load, setup())}
    verdicts = [claim.verdict for claim in by_text.values()]
    assert len(by_text) == 7
    ten = next(claim for text, claim in by_text.items() if "10 times" in text)
    assert ten.verdict == NOT_SUPPORTED
    assert "measured" in ten.numbers
    assert next(claim for text, claim in by_text.items() if "falls faster" in text).verdict == SUPPORTED
    assert verdicts.count(VENDOR) == 3


def test_the_hit_rate_behind_a_cmx_multiple_gives_that_multiple():
    """Worked back: at the printed hit rate GPU-seconds per request fall to a fifth."""
    load = Load(load_card("deepseek-v3.2"), "best", "fp8", 8_000.0, 1_000.0)
    words = cmx_multiple(load, setup(), CATALOGUE).numbers
    decode, full, short = (
        float(words.split(name)[1].split(",")[0].split(")")[0]) for name in (" decode ", " in full ", " on a hit ")
    )
    hit = float(words.split("a hit rate of ")[1].split("%")[0]) / 100
    assert (decode + full) / (decode + (1 - hit) * full + hit * short) == pytest.approx(5, rel=0.08)


def test_an_explained_step_adds_up_and_matches_the_point():
    deployment = Deployment(CATALOGUE.sku("gb300-nvl72"), load_card("deepseek-v3.2"), setup("nvfp4"))
    found = explain_decode(deployment, 100_220.0, 50.0)
    step = sum(term.seconds for term in found["terms"])
    assert step == pytest.approx(found["point"]["step_s"])
    assert found["tokens_per_step"] / step == pytest.approx(found["point"]["tps_user"])
    for term in found["terms"]:
        assert term.amount / term.rate == pytest.approx(term.seconds)
    weights = next(term for term in found["terms"] if term.name == "weights")
    assert weights.amount < 386e9 / 8
    prefill = explain_prefill(deployment, 5_000.0, 95_000.0)
    assert sum(term["gpu_s"] for term in prefill["terms"]) > sum(term["at_peak_gpu_s"] for term in prefill["terms"])


def test_an_explained_pair_holds_the_lpx_term():
    catalogue = CATALOGUE
    deployment = Deployment(catalogue.sku("vr-nvl72"), load_card("deepseek-r1"), setup("nvfp4"), catalogue.sku("lpx"))
    found = explain_decode(deployment, 8_000.0, 200.0)
    assert "lpx" in {term.name for term in found["terms"]}
    assert sum(term.seconds for term in found["terms"]) == pytest.approx(found["point"]["step_s"])


def run(capsys, *words):
    code = main(["perf", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.slow
def test_json_holds_every_field_of_every_point(capsys, tmp_path):
    picture = tmp_path / "perf.svg"
    words = [
        "deepseek-r1",
        "--isl",
        "8k",
        "--osl",
        "1k",
        "--tps",
        "50,100",
        "--json",
        "--plot",
        str(picture),
        "--explain",
    ]
    code, out, _ = run(capsys, *words, "--plot", str(picture))
    answer = json.loads(out)
    assert code == 0
    for name in POINT_FIELDS:
        assert all(point[name] is not None for point in answer["points"]), name
    assert {point["pool"] for point in answer["points"]} == {"gb200-nvl72", "gb300-nvl72", "vr-nvl72", "vr-nvl72+lpx"}
    assert answer["claims"]
    assert answer["explain"][0]["decode"]["terms"]
    assert "<svg" in picture.read_text()


def test_tables_name_units_sources_and_verdicts(capsys):
    code, out, _ = run(capsys, "deepseek-r1", "--tps", "50", "--pools", "gb200-nvl72")
    assert code == 0
    for part in ("TPS/User", "k tok/s/MW", "USD/M tok", "source:", "not supported"):
        assert part in out


def test_hardware_comes_in_by_data_alone(capsys, tmp_path):
    """A rack that is VR NVL72 with twice the HBM bandwidth: no code knows its name."""
    path = tmp_path / "hardware.csv"
    facts = CATALOGUE.facts
    rows = ["sku,attribute,value,unit,low,high,kind,source,source_date,note"]
    for (sku, attribute), fact in facts.items():
        if sku == "vr-nvl72" and attribute not in INFORMATIVE:
            value = 2 * float(fact.value) if attribute == "hbm_bytes_per_s_per_gpu" else fact.value
            rows.append(f"next-nvl72,{attribute},{value},{fact.unit},,,user,our guess,2026-11,")
    path.write_text("\n".join(rows))
    words = ["llama-3.1-405b", "--pools", "vr-nvl72,next-nvl72", "--tps", "50", "--json"]
    code, out, _ = run(capsys, *words, "--hardware", str(path))
    found = {point["pool"]: point["tokens_per_s_per_gpu"] for point in json.loads(out)["points"]}
    assert code == 0
    assert found["next-nvl72"] > found["vr-nvl72"]


@pytest.mark.slow
def test_validation_prints_aims_and_reasons(capsys):
    from procure.catalogue import packaged_path

    path = str(packaged_path("data") / "performance" / "points.csv")
    code, out, _ = run(capsys, "--validate", path, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["overall"]["mape"] < 0.15
    code, out, _ = run(capsys, "--validate", path)
    assert code == 0
    assert "not predicted" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["deepseek-r1", "--pools", "gb200-nvl27"], "gb200-nvl72"),
        (["deepseek-r1", "--vintage", "newest"], "fast"),
        (["deepseek-r1", "--tps", "0,x"], "--tps"),
        (["deepseek-r1", "--isl", "10M"], "163,840"),
        (["deepseek-r1", "--tps", "inf"], "--tps"),
        (["deepseek-r1", "--isl", "8k,16k"], "--isl"),
        (["deepseek-r1", "--isl", "0"], "--isl"),
        (["deepseek-r1", "--osl", "0"], "--osl"),
        (["deepseek-r1", "--pools", ","], "--pools"),
        (["deepseek-r1", "--pools", "NVL144"], "counted in dies"),
        (["deepseek-r1", "--plot", "perf.gif"], ".png"),
        (["deepseek-r1", "--plot", "no-such-folder/perf.png"], "folder that exists"),
        ([], "CARD"),
        (["--validate", "nothing.csv"], "nothing.csv"),
    ],
)
def test_wrong_input_is_said_and_ends_with_2(capsys, words, said):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert said in err


@pytest.mark.parametrize("option", ["--validate", "--fit", "--table", "--hardware"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "None of its columns"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b'a,b\n1,2,3\n"', "no valid CSV"),
    ],
)
def test_a_file_that_is_no_table_is_said_and_ends_with_2(capsys, tmp_path, option, content, said):
    path = tmp_path / "points.csv"
    path.write_bytes(content)
    words = [] if option in ("--validate", "--fit") else ["deepseek-r1"]
    code, _, err = run(capsys, *words, option, str(path))
    assert code == 2
    assert said in err


@pytest.mark.parametrize("option", ["--validate", "--fit"])
def test_a_points_file_with_a_header_alone_is_said(capsys, tmp_path, option):
    path = tmp_path / "points.csv"
    path.write_text(",".join(POINT_COLUMNS) + "\n")
    code, _, err = run(capsys, option, str(path))
    assert code == 2
    assert "no row under its header" in err


@pytest.mark.thorough
def test_low_and_high_of_json_are_throughput_around_the_base(capsys):
    code, out, _ = run(capsys, "deepseek-r1", "--tps", "50,200", "--json")
    assert code == 0
    for point in json.loads(out)["points"]:
        assert point["low"] <= point["tokens_per_s_per_gpu"] <= point["high"]
        assert point["low"] == pytest.approx(point["tokens_per_s_per_gpu"] * point["low_factor"])
        high = point["tokens_per_s_per_mw"] * point["high_factor"]
        assert point["tokens_per_s_per_mw_high"] == pytest.approx(high)


def test_speeds_that_are_not_reached_are_said_and_listed(capsys):
    code, out, err = run(capsys, "deepseek-r1", "--tps", "50,5000", "--pools", "gb200-nvl72", "--json")
    assert code == 0
    assert json.loads(out)["not_reached"] == [{"pool": "gb200-nvl72", "tps_user": 5000.0}]
    assert "does not reach 5000" in err


def test_the_first_token_waits_for_prefill_and_the_hand_over(load):
    """DeepSeek-R1, 8,000 tokens: 61 x 576 B each over the NICs of 4 GPUs at 0.8, behind prefill's own wall time."""
    pool = CATALOGUE.sku("gb200-nvl72")
    line = figure(["gb200-nvl72"], load, setup(), speeds=(50.0,))
    asked = {"new_tokens": [load.input_tokens], "prefix_tokens": [0.0], "queue": Queue(0.75, 0.9)}
    wall = prefill_latency_s(pool, load.card, setup("nvfp4"), **asked)[0]
    gpus = prefill_gpus_per_replica(pool, load.card, setup("nvfp4"))
    moved = load.input_tokens * 61 * 576 / (gpus * pool.scale_out_bytes_per_s_per_gpu * 0.8)
    assert line["ttft_s"].iloc[0] == pytest.approx(wall + moved)


def test_the_picture_claims_measured_dots_only_where_there_are_some(load):
    from procure.performance.figure import measured_points
    from procure.performance.picture import _legend

    pools = ["vr-nvl72", "vr-nvl72+lpx", "rubin-ultra"]
    lines = figure(pools, load, setup(), speeds=(50.0,))
    title = _legend(lines, measured_points(pools, load, setup()))
    assert title == "Dots: measured at 8,192/1,024 tokens. Dashed: vendor claim. Dotted: projection. Bands: low to high"
    assert "Nothing measured" in _legend(lines[lines["pool"] == "vr-nvl72"], [])


@pytest.mark.thorough
def test_validation_takes_the_users_own_card_and_hardware(capsys, tmp_path):
    """A packaged card and a packaged server under other names: the same errors as under their own."""
    from procure.catalogue import packaged_path

    card = json.loads((packaged_path("models") / "llama-3.1-8b.json").read_text(encoding="utf-8"))
    (tmp_path / "ours.json").write_text(json.dumps({**card, "name": "ours"}))
    rows = ["sku,attribute,value,unit,low,high,kind,source,source_date,note"]
    for (sku, attribute), fact in CATALOGUE.facts.items():
        if sku == "hgx-h100" and attribute not in INFORMATIVE:
            value = 0 if attribute == "ssd_included_bytes" else fact.value
            rows.append(f"our-server,{attribute},{value},{fact.unit},,,user,ours,2026-11,")
    (tmp_path / "hardware.csv").write_text("\n".join(rows))
    line = "{},{},bf16,1024,1024,e2e,8,90,700,1,0,vllm mtp=0 G=1 tp=1 ep=1 dpa=0,2026-02,run 1"
    answers = []
    for sku, name in (("H100", "Llama-3.1-8B"), ("our-server", "ours")):
        (tmp_path / "points.csv").write_text("\n".join([",".join(POINT_COLUMNS), line.format(sku, name)]))
        words = [str(tmp_path / "ours.json"), "--hardware", str(tmp_path / "hardware.csv")] if name == "ours" else []
        code, out, _ = run(capsys, *words, "--validate", str(tmp_path / "points.csv"), "--json")
        assert code == 0
        answers.append(json.loads(out))
    assert answers[0]["rows"]["predicted"] == answers[1]["rows"]["predicted"] == 1
    assert answers[0]["overall"] == answers[1]["overall"]


RUN = "{},{},{},{},1024,{},8,{},700,1,0,vllm mtp=0 G=1 tp=1 ep=1 dpa=0,2026-02,{}"


@pytest.mark.thorough
def test_validation_draws_what_it_compared_and_writes_the_rows_behind_it(capsys, tmp_path):
    points, folder = tmp_path / "points.csv", tmp_path / "figures"
    lines = [
        RUN.format("H100", "Llama-3.1-8B", "bf16", 1_024, "e2e", 90, "SemiAnalysis InferenceX run 1 (a fixture)"),
        RUN.format("H100", "Llama-3.1-8B", "bf16", 65_536, "e2e", 45, "SemiAnalysis InferenceX run 2 (a fixture)"),
        RUN.format("H100", "Llama-3.1-8B", "bf16", 8_192, "prefill", "", "A blog https://example.org"),
        RUN.format("nothing", "Llama-3.1-8B", "bf16", 8_192, "e2e", 45, "A blog https://example.org"),
    ]
    points.write_text("\n".join([",".join(POINT_COLUMNS), *lines]))
    code, out, err = run(capsys, "--validate", str(points), "--figures", str(folder), "--json")
    assert code == 0
    assert "ratio-by-context.png" in err
    for name in ("predicted-against-measured", "ratio-by-context", "ratio-by-kind"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    rows = pd.read_csv(folder / "compared-rows.csv")
    assert list(rows["line"]) == [2, 3, 4]  # what cannot be predicted is not drawn; the report names it
    assert json.loads(out)["rows"]["unpredicted"] == 1
    assert rows["ratio"].to_numpy() == pytest.approx((rows["predicted"] / rows["measured"]).to_numpy(), rel=1e-4)
    assert list(rows["unit"]) == ["TPS/User", "TPS/User", "input tokens/s per GPU"]
    drawn = 0.9  # lengths of InferenceX are drawn; a prompt's prefill has no answer in it
    assert rows["context_tokens"].to_numpy() == pytest.approx([drawn * 1_536, drawn * 66_048, 8_192], rel=1e-4)
    assert list(rows["source"]) == ["SemiAnalysis InferenceX"] * 2 + ["A blog"]


def test_spreads_leave_out_decode_that_the_fit_saw_and_groups_too_small_to_say_anything():
    rows = [("latent", "GB200", KEPT, ratio) for ratio in (0.5, 1.0, 1.0, 1.0, 2.0)]
    rows += [("latent", "GB200", FIT, 9.0)] * 5 + [("dense", "H100", PREFILL, 1.1)] * 2
    found = spreads(pd.DataFrame(rows, columns=["attention", "hardware", "kind", "ratio"]))
    assert list(found["name"]) == ["latent", "GB200"]
    assert list(found["n"]) == [5, 5]
    assert found["ratio_median"].to_numpy() == pytest.approx(1.0)
    assert found["ratio_p10"].to_numpy() == pytest.approx(0.7)
    assert found["ratio_p90"].to_numpy() == pytest.approx(1.6)


def test_figures_without_points_to_compare_are_refused(capsys, tmp_path):
    code, _, err = run(capsys, "deepseek-r1", "--figures", str(tmp_path / "figures"))
    assert code == 2
    assert "--validate" in err
    points = tmp_path / "points.csv"
    line = RUN.format("nothing", "Llama-3.1-8B", "bf16", 8_192, "e2e", 45, "A blog")
    points.write_text("\n".join([",".join(POINT_COLUMNS), line]))
    code, _, err = run(capsys, "--validate", str(points), "--figures", str(tmp_path / "figures"))
    assert code == 2
    assert "can be predicted" in err
    assert not (tmp_path / "figures").exists()
