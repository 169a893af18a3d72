"""The tables of an instance say what the case says: limits over time, windows, groups, and a hash of the content."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from solved_case import built, planned
from tiny_case import fleet, rich, tiny

import procure
from procure import performance
from procure.errors import InputError
from procure.instance import TABLES, Instance, build

GB = "gb300-nvl72"


def rows(instance: Instance, name: str, **where: Any) -> pd.DataFrame:
    frame = instance[name]
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame


@pytest.mark.thorough
def test_every_table_has_the_columns_of_the_schema_and_no_gaps():
    instance = built(rich())
    for name, table in TABLES.items():
        assert list(instance[name].columns) == list(table.by_column)
        assert not instance[name].isna().any().any(), name
    with pytest.raises(ValueError, match="skus"):
        Instance({**instance.tables, "skus": instance["skus"].drop(columns="life_quarters")}, instance.settings)


@pytest.mark.thorough
def test_the_hash_is_of_the_content():
    case = rich()
    first, again = build(case), build(case.replace())
    assert first.hash == again.hash
    other = build(case.replace(settings={"utilisation_cap": 0.7}))
    assert other.hash != first.hash
    cells = first["prices"].copy()
    cells.loc[0, "price_usd"] += 1.0
    assert Instance({**first.tables, "prices": cells}, first.settings).hash != first.hash


@pytest.mark.thorough
def test_the_order_of_rows_of_the_case_does_not_reach_the_hash():
    case = rich()
    turned = case.replace(tables={n: f.iloc[::-1] for n, f in case.given_tables.items() if n != "workloads"})
    assert build(turned).hash == build(case).hash


@pytest.mark.thorough
def test_facility_power_counts_the_pue_once_and_it_power_does_not():
    it, facility = (built(tiny(sites=({"power_basis": basis, "pue": 1.3},))) for basis in ("it", "facility"))
    one = rows(it, "resource_use", sku=GB, resource="power_kw")["per_unit"].item()
    other = rows(facility, "resource_use", sku=GB, resource="power_kw")["per_unit"].item()
    sku = tiny().catalogue.sku(GB)
    assert one == pytest.approx(sku.power_kw + sku.attach_kw)
    assert other == pytest.approx(1.3 * one)
    for instance in (it, facility):  # energy is drawn through the hall whichever way the limit is stated
        idle = rows(instance, "upkeep", sku=GB)["idle_usd_per_quarter"].item()
        assert idle == pytest.approx((sku.power_idle_kw + sku.attach_kw) * 1.3 * 2_190 * 0.08)


def test_limits_hold_from_their_quarter_until_the_next_row():
    sites = (
        {"positions": 4.0},
        {"from_quarter": "2027Q2", "positions": 6.0},
        {"from_quarter": "2026Q1", "positions": 99.0},
    )
    limits = rows(built(tiny(sites=sites)), "site_limits", resource="positions")
    assert dict(zip(limits["t"], limits["limit"], strict=True)) == {0: 4.0, 1: 6.0, 2: 6.0}


@pytest.mark.parametrize(
    ("available", "last", "window"),
    [
        ("2026Q1", "2040Q4", (0, 2)),
        ("2027Q4", "2040Q4", (1, 2)),  # delivery, two quarters after the order, not before it is on sale
        ("2027Q1", "2027Q1", (0, 0)),
        ("2026Q1", "2026Q4", (0, -1)),
    ],
)
@pytest.mark.thorough
def test_orders_arrive_inside_the_horizon_between_first_delivery_and_last_order(available, last, window):
    """Lead of 1.5 quarters counts as two; five quarters in all."""
    figures = {(GB, "lead_quarters"): 1.5, (GB, "available_from"): available, (GB, "last_order"): last}
    case = tiny(lead=2, figures=figures)
    sku = rows(built(case), "skus", sku=GB).iloc[0]
    first, final = int(sku["first_order_t"]), int(sku["last_order_t"])
    assert sku["lead_quarters"] == 2
    if window[1] < window[0]:
        assert final < first
    else:
        assert (max(first, 0), final) == window


def test_units_of_one_vintage_are_one_group_at_their_mean_price():
    orders = pd.DataFrame(
        [("a", GB, 1, "2027Q2", 4e6, 0.5), ("a", GB, 3, "2027Q2", 2e6, 0.0)],
        columns=["site", "sku", "count", "delivery", "price_usd_per_unit", "paid_share"],
    )
    group = built(tiny(tables={"orders": orders}))["fixed"]
    assert len(group) == 1
    row = group.iloc[0]
    assert (row["count"], row["vintage_t"], row["due_t"], row["retirable"]) == (4, 1, 1, 0)
    assert row["paid_usd"] == pytest.approx((4e6 + 3 * 2e6) / 4 - 510_000 - 153_740)  # attach, installation
    assert row["due_usd"] == pytest.approx((0.5 * 4e6 + 3 * 2e6) / 4)


def test_a_unit_bought_ordered_or_standing_is_worth_the_same():
    """A GB300 rack of 2027Q2 at 3.99M x 1.10, with 0.51M of attach and 153,740 USD of installation beside it."""
    price = 3.99e6 * 1.10
    table = pd.DataFrame(
        [("a", GB, 1, "2027Q2", price + 510_000 + 153_740, 0.2)],
        columns=["site", "sku", "count", "delivery", "price_usd_per_unit", "paid_share"],
    )
    instance = built(tiny(tables={"orders": table, "fleet": fleet(("a", GB, 1, "2026Q4", 600_000.0))}))
    old, firm = (rows(instance, "fixed", vintage_t=t).iloc[0] for t in (-1, 1))
    bought = rows(instance, "prices", sku=GB, t=1).iloc[0]
    assert firm["paid_usd"] == pytest.approx(bought["price_usd"])
    assert firm["paid_usd"] == pytest.approx(price)
    assert firm["support_usd_per_quarter"] == pytest.approx(bought["support_usd_per_quarter"])
    assert firm["due_usd"] == pytest.approx(0.8 * (price + 663_740))
    assert old["paid_usd"] == 0.0  # less was paid than such gear costs: nothing is left to sell


@pytest.mark.slow
def test_deferrable_work_is_sized_at_its_mean():
    stated = {"mean_to_peak": 0.4}
    waits = built(tiny(workloads={"chat": {**stated, "deferrable": True}}))["rates"]
    hurries = built(tiny(workloads={"chat": {**stated, "deferrable": False}}))["rates"]
    assert waits["requests_per_s"].sum() == pytest.approx(0.4 * hurries["requests_per_s"].sum())
    assert (waits["mean_per_peak"] == 1.0).all()
    assert (hurries["mean_per_peak"] == 0.4).all()


@pytest.mark.slow
def test_a_returning_sequence_leaves_its_entries_and_writes_its_state_anew():
    """Qwen3.5-397B in FP8: 15 layers of 2 x 2 x 256 B a token, and states of 192,061,440 B that are of one length."""
    per_token, state = 15 * 2 * 2 * 256, 192_061_440
    instance = built(tiny(workloads={"chat": {"card": "qwen3.5-397b-a17b", "kv_format": "fp8"}}))
    ways = rows(instance, "prefill", store=f"dram:{GB}")
    assert not ways.empty
    assert ways["read_bytes"].to_numpy() - ways["valid_bytes"].to_numpy() == pytest.approx(state)
    parked = instance["lengths"].merge(ways, on=["t", "workload", "bucket"])
    written = parked["kv_bytes"] - parked["valid_bytes"]
    share, prefix = 0.7692, 512  # of the chat scenario: the part of a prompt that its cache holds, and what all share
    tokens = (parked["kv_bytes"] - state) / per_token
    new = (1 - share) * (tokens - 343) + 343  # the answer of 343 tokens is parked too
    long = parked["input_tokens"] > 10 * prefix
    assert (written - state)[long].to_numpy() == pytest.approx((new * per_token)[long].to_numpy(), rel=1e-6)
    alone = built(tiny())["prefill"]  # latent attention has no state: what is read stays
    assert alone["valid_bytes"].to_numpy() == pytest.approx(alone["read_bytes"].to_numpy())


@pytest.mark.slow
def test_a_rack_too_heavy_for_the_floor_cannot_stand_there():
    light = built(tiny(sites=({"floor_load_kg_per_m2": 100.0},)))
    assert rows(light, "resource_use", sku=GB).empty
    plan = planned(tiny(sites=({"floor_load_kg_per_m2": 100.0},)))
    assert plan.summary["shortfall"]["share"] == pytest.approx(1.0)


@pytest.mark.thorough
def test_drives_inside_the_price_of_a_rack_are_counted_once():
    """The GB300 rack brings 276 TB; a kit beside it fills no further bays."""
    both = built(tiny(skus=(GB, f"ssd-kit-{GB}")))
    units = rows(both, "store_units", store=f"ssd:{GB}")
    assert units["sku"].tolist() == [GB]
    assert units["bytes"].item() == pytest.approx(276e12 * 0.8)


def hall(**more: float) -> pd.DataFrame:
    row = {"site": "a", "expansion": "hall", "power_kw": 600.0, "positions": 6.0, "area_m2": 30.0, "capex_usd": 1e4,
           "lead_quarters": 0, "max_count": 1, **more}  # fmt: skip
    return pd.DataFrame([row])


@pytest.mark.slow
def test_an_expansion_without_a_stated_cooling_adds_as_much_as_its_racks_need():
    """As the premise says; a stated nothing is nothing."""
    site = {"liquid_kw": 150.0, "positions": 1.5}
    demand = {"chat": [100.0, 100.0, 100.0]}

    def counts(table: pd.DataFrame) -> int:
        plan = planned(tiny(peaks=demand, sites=(site,), tables={"expansions": table}), gap=1e-4)
        return int(plan.purchases["count"].sum())

    free, none, enough = counts(hall()), counts(hall(liquid_kw=0.0)), counts(hall(liquid_kw=1e4))
    assert free == enough > none == 1


@pytest.mark.thorough
def test_old_units_without_a_reason_to_stay_may_be_marked_to_stay():
    table = fleet(("a", "gb200-nvl72", 2, "2025Q1", 3e6)).assign(retirable=False)
    assert built(tiny(tables={"fleet": table}))["fixed"]["retirable"].tolist() == [0]


def test_what_a_site_states_once_cannot_change_silently_later():
    """PUE, prices, floor and basis are read from one row; a second row that says otherwise must be a fault."""
    for column, value in (
        ("pue", 1.5),
        ("electricity_usd_per_kwh", 0.2),
        ("space_usd_per_kw_month", 300.0),
        ("power_basis", "facility"),
    ):
        with pytest.raises(InputError, match=column):
            tiny(sites=({}, {"from_quarter": "2027Q2", column: value}))


def own_throughput(**changes: Any) -> pd.DataFrame:
    row = {
        "sku": "GB300",
        "card": "deepseek-v3.2",
        "weight_precision": "fp8",
        "isl": 8_000,
        "osl": 1_000,
        "tps_user": 20,
        "tokens_per_s_per_gpu": 1_000,
        "all_gpus": 0,
        "date": "2027-02",
        "source": "own replay",
    }
    faster = {"tps_user": 60, "tokens_per_s_per_gpu": 400}
    return pd.DataFrame([row | changes, row | faster])


@pytest.mark.slow
def test_a_cases_own_throughput_decides_what_its_racks_give():
    """Half the stated tokens/s take twice the racks at every length; at the curve's own length the evidence says user.

    343 tokens are answered.
    """
    case = tiny()
    own = case.replace(tables={"throughput": own_throughput()})
    before, after = (built(each)["serve"].drop_duplicates(["t", "bucket"]) for each in (case, own))
    ratio = after["rack_s"].to_numpy() / before["rack_s"].to_numpy()
    assert (ratio > 1.2).all()
    assert set(rows(built(own), "serve", t=0, bucket="0")["evidence"]) == {"physics"}
    half = case.replace(tables={"throughput": own_throughput(tokens_per_s_per_gpu=500)})
    slower = built(half)["serve"].drop_duplicates(["t", "bucket"])["rack_s"].to_numpy()
    assert slower == pytest.approx(2 * after["rack_s"].to_numpy())
    length = float(rows(built(case), "lengths", t=0, bucket="1")["input_tokens"].iloc[0])
    near = case.replace(tables={"throughput": own_throughput(isl=length, osl=343).iloc[:1]})
    found = rows(built(near), "serve", t=0, bucket="1").iloc[0]
    assert found["evidence"] == "user"
    assert found["rack_s"] == pytest.approx(343 / 1_000 / 72, rel=1e-6)


@pytest.mark.slow
def test_faults_of_a_cases_own_throughput_are_said():
    rising = tiny().replace(tables={"throughput": own_throughput(tokens_per_s_per_gpu=300)})
    with pytest.raises(InputError, match=r"throughput\.csv, row 3, column tokens_per_s_per_gpu"):
        built(rising)
    with pytest.raises(InputError, match="A known sku"):
        tiny().replace(tables={"throughput": own_throughput(sku="gb3000")})
    with pytest.raises(InputError, match=r"deepseek-v3\.2"):
        built(tiny().replace(tables={"throughput": own_throughput(card="deepseek-v32")}))


@pytest.mark.parametrize("name", ["NVL144", "Blackwell"])
def test_an_ambiguous_rack_in_a_case_is_refused_with_its_meanings(name):
    with pytest.raises(InputError, match="ambiguous"):
        tiny().replace(tables={"fleet": fleet(("dc", name, 1, "2026Q1", 1e6))})
    with pytest.raises(InputError, match="ambiguous"):
        tiny().replace(settings={"may_buy": [name]})


@pytest.mark.parametrize("changed", ["cmx_read_bytes_per_s", "pairs_with_lpx", "pod_slots"])
@pytest.mark.thorough
def test_reading_cmx_pairing_with_lpx_and_standing_in_a_pod_are_three_things(changed):
    """Each is turned off alone for the rack that has all three; a rack that does not pair may stand outside pods."""
    vr = "vr-nvl72"
    figures = {(vr, changed): 0} | ({(vr, "pairs_with_lpx"): 0} if changed == "pod_slots" else {})
    skus = (vr, "lpx", "cmx-rack", "cmx-enclosure")
    agent = {"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}}
    crossing = ({"cmx_crosses_pods": True},)  # else what reads CMX must stand in a pod
    made = built(tiny(skus=skus, figures=figures, peaks={"agent": [4.0] * 3}, workloads=agent, sites=crossing))
    reads = bool((made["store_readers"]["sku"] == vr).any())
    assert reads == bool((made["prefill"]["store"].str.startswith("cmx")).any()) == (changed != "cmx_read_bytes_per_s")
    assert bool((made["serve"]["deployment"] == f"{vr}+lpx").any()) == ((vr, "pairs_with_lpx") not in figures)
    assert rows(made, "skus", sku=vr)["pod_slots"].item() == (changed != "pod_slots")


@pytest.mark.slow
def test_a_second_sku_of_a_kind_adds_a_store_or_a_deployment_and_takes_none():
    """Kits, enclosures, frames, LPX of two SKUs each: what is only described changes nothing, what is sold serves."""
    vr, kit = "vr-nvl72", "ssd-kit-vr-nvl72"
    packaged = (vr, kit, "lpx", "cmx-rack", "cmx-enclosure")
    alike = {"kit-b": kit, "lpx-b": "lpx", "frame-b": "cmx-rack", "tray-b": "cmx-enclosure"}
    agent = {"agent": {"scenario": "coding-agentic", "context_cap_tokens": 131_072}}
    shape: dict[str, Any] = {"peaks": {"agent": [4.0, 4.0, 4.0]}, "workloads": agent}
    figures = {("frame-b", "enclosures_per_rack"): 8}
    alone = built(tiny(skus=packaged, **shape))
    described = built(tiny(skus=packaged, figures=figures, alike=alike, **shape))
    assert described.hash == alone.hash
    both = built(tiny(skus=(*packaged, *alike), figures=figures, alike=alike, **shape))
    added = set(both["stores"]["store"]) - set(alone["stores"]["store"])
    assert added == {"ssd:kit-b", "cmx:tray-b"} <= set(both["prefill"]["store"])
    assert set(both["serve"]["deployment"]) == {vr, f"{vr}+lpx", f"{vr}+lpx-b"}
    assert set(both["lpx_copies"]["sku"]) == {"lpx", "lpx-b"}
    places = both["skus"].set_index("sku")["places"]
    assert (places[vr], places["cmx-rack"], places["frame-b"], places["tray-b"]) == (1, 16, 8, 0)


@pytest.mark.thorough
def test_a_kit_of_half_the_bays_goes_into_the_rest_of_them():
    half = {(GB, "ssd_included_bytes"): 138.24e12}
    both = built(tiny(skus=(GB, f"ssd-kit-{GB}"), figures=half))
    assert rows(both, "skus", sku=GB)["places"].item() == pytest.approx(0.5)
    assert set(both["store_units"]["store"]) >= {f"ssd:{GB}", f"ssd:ssd-kit-{GB}"}
    with pytest.raises(InputError, match="ssd_kit whose host is gb-b"):
        tiny(alike={"gb-b": GB})


def test_kits_of_one_host_fill_its_bays_together():
    alike = {"kit-b": "ssd-kit-vr-nvl72"}

    def units(second: int) -> Any:
        standing = fleet(("a", "vr-nvl72", 2, "2026Q4", 7e6), ("a", "ssd-kit-vr-nvl72", 1, "2026Q4", 5e5),
                         ("a", "kit-b", second, "2026Q4", 5e5))  # fmt: skip
        return tiny(tables={"fleet": standing}, alike=alike)

    assert units(1).tables["fleet"]["count"].sum() == 4
    with pytest.raises(InputError, match="At most 1 per vr-nvl72; there are 3 for 2 places"):
        units(2)


@pytest.mark.thorough
def test_speed_is_promised_to_nine_of_ten_users_unless_the_case_says_otherwise(tmp_path):
    """90 by default: a median 1 / 0.85 as fast. What a case states reads as ever."""

    def decode(tps: float, percentile: str) -> np.ndarray:
        folder = tmp_path / f"{tps}{percentile}"
        tiny(workloads={"chat": {"tps_user": tps, "reuse_curve": "none"}}).write(folder)
        text = (folder / "case.toml").read_text(encoding="utf-8")
        kept = [line for line in text.splitlines() if not line.startswith("tps_percentile")]
        (folder / "case.toml").write_text("\n".join([*kept, percentile, ""]), encoding="utf-8")
        return built(procure.Case.read(folder))["serve"]["rack_s"].to_numpy()

    unsaid, median = decode(40.0, ""), decode(40.0, "tps_percentile = 50")
    assert unsaid == pytest.approx(decode(40.0, "tps_percentile = 90"), rel=1e-12)
    assert unsaid == pytest.approx(decode(40.0 / 0.85, "tps_percentile = 50"), rel=1e-9)
    assert unsaid.min() > median.min()


@pytest.mark.parametrize("pace", ["base", "none"])
@pytest.mark.thorough
def test_each_quarter_runs_on_its_own_software(pace):
    """Not on that of the first quarter of its year: nine months are 13% of every latency."""
    lengths = {f"input_{name}_tokens": 4_000.0 for name in ("mean", "p50", "p90", "p99")}
    row = {**lengths, "shared_prefix_tokens": 0.0, "reuse_curve": "none", "tps_user": 100.0, "ttft_s": 30.0}
    case = tiny(workloads={"chat": row}, planned=2, settings={"vintage": pace})
    made = built(case)
    best = made["serve"].drop_duplicates("t").set_index("t")
    late = made["prefill"].query("store == 'recompute'").set_index("t")["ttft_s"]
    pool, card = case.catalogue.sku("gb300-nvl72"), case.cards["deepseek-v3.2"]
    rules = performance.Rules.of(performance.premises_of(case.catalogue))
    for t, quarter in enumerate(case.quarters):
        output = rows(made, "lengths", t=t).iloc[0]["visible_tokens"]
        kv_format = case.tables["workloads"]["kv_format"].iloc[0]
        setup = performance.Setup("fp8", kv_format, rules.software.vintage_at(pace, str(quarter)), rules)
        asked = {"context_mean": [4_000 + output / 2], "context_upper": [4_000 + output], "tps_user": [100.0]}
        found = performance.decode_points(pool, card, setup, **asked).iloc[0]
        assert best.at[t, "rack_s"] == pytest.approx(output / found["tokens_per_s_per_gpu"] / 72, rel=1e-9)
    steps = [*np.diff(best["rack_s"].to_numpy()), *np.diff(late.to_numpy())]
    assert all(step < 0 for step in steps) if pace == "base" else not any(steps)


def test_what_reads_cmx_stands_in_a_pod_unless_reads_cross_pods():
    figures = {("gb300-nvl72", "cmx_read_bytes_per_s"): 9e11}
    with pytest.raises(InputError, match=r"pod_slots.*gb300-nvl72"):
        tiny(figures=figures)
    assert tiny(figures={**figures, ("gb300-nvl72", "pod_slots"): 1}).catalogue.sku("gb300-nvl72").pod_slots == 1
    crossing = tiny(figures=figures, sites=({"cmx_crosses_pods": True},))
    assert bool(crossing.tables["sites"]["cmx_crosses_pods"].item())
