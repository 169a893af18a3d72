"""Parts of the day cover it, never undersize an hour, and put alike hours together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tiny_case import tiny

from procure.catalogue import Packaged
from procure.demand import build
from procure.demand.dayparts import dayparts, hours_named, parts, to_peak
from procure.errors import InputError

PACKAGED = Packaged.read()
PROFILES = PACKAGED.profiles


@pytest.fixture
def scenarios():
    fields = ("mean_to_peak", "deferrable")
    rows = [
        (name, name, *(PACKAGED.premises[f"scenario/{name}/{field}"].number for field in fields))
        for name in PACKAGED.scenarios
    ]
    return pd.DataFrame(rows, columns=["scenario", "workload", *fields]).astype({"deferrable": bool})


def test_every_scenario_has_a_day_of_mean_one():
    assert set(PROFILES) == set(PACKAGED.scenarios)
    profiles = np.array(list(PROFILES.values()))
    assert profiles.shape[1] == 24
    np.testing.assert_allclose(profiles.mean(axis=1), 1, atol=0.001)


def test_profiles_reach_one_at_their_peak_and_the_mean_that_is_asked(scenarios):
    profile = np.array([PROFILES[name] for name in scenarios["scenario"]])
    for asked in (0.3, 0.55, 0.9, 1.0):
        if asked < 1 and (profile == profile[:, :1]).all(axis=1).any():
            profile = profile[~(profile == profile[:, :1]).all(axis=1)]  # a flat day has one mean only
        share = to_peak(profile, np.full(len(profile), asked))
        np.testing.assert_allclose(share.max(axis=1), 1)
        np.testing.assert_allclose(share.mean(axis=1), asked, atol=1e-6)
        assert (share >= 0).all()


def day(scenarios):
    mean = scenarios["mean_to_peak"].to_numpy(dtype=float)
    days = to_peak(np.array([PROFILES[name] for name in scenarios["scenario"]]), mean)
    return np.where(scenarios["deferrable"].to_numpy()[:, None], mean[:, None], days)


def parts_of(scenarios, count=6):
    return dayparts(scenarios, day(scenarios), dict.fromkeys(scenarios["workload"], 100.0), count)


def test_hours_of_the_same_load_are_one_part_and_the_busiest_comes_first():
    load = np.array([0.25] * 8 + [1.0] * 8 + [0.5] * 8)[:, None]
    assert parts(load, 24).tolist() == [2] * 8 + [0] * 8 + [1] * 8
    assert parts(load, 1).tolist() == [0] * 24
    # 0.25 and 0.5 together are 8 hours at 0.25 too much; with the peak either is 8 at 0.5 or more
    assert parts(load, 2).tolist() == [1] * 8 + [0] * 8 + [1] * 8


def test_peaks_at_different_hours_stay_apart_though_their_sums_are_alike():
    load = np.zeros((24, 2))
    load[:12, 0], load[12:, 1] = 1.0, 1.0
    assert len(set(parts(load, 2)[:12])) == len(set(parts(load, 2)[12:])) == 1
    assert parts(load, 2)[0] != parts(load, 2)[23]


def test_a_part_is_named_by_its_hours():
    named = {"00-24": range(24), "09-17": range(9, 17), "22-02": (22, 23, 0, 1), "08-10 17-19": (8, 9, 17, 18)}
    assert {name: hours_named(list(hours)) for name, hours in named.items()} == {name: name for name in named}
    assert hours_named([20, 21, 22, 23]) == "20-24"


def test_parts_cover_the_day_and_every_peak_is_kept(scenarios):
    table, rates = parts_of(scenarios)
    assert table["hours_per_day"].sum() == 24
    assert sorted(int(h) for hours in table["clock_hours"] for h in hours.split()) == list(range(24))
    highest = rates.groupby("workload")["of_peak"].max()
    inside = ~scenarios.set_index("workload")["deferrable"]
    np.testing.assert_allclose(highest[inside[inside].index], 1)


def test_the_mean_of_the_day_survives_the_parts(scenarios):
    table, rates = parts_of(scenarios)
    merged = rates.merge(table, on="daypart")
    mean = (merged["mean_of_peak"] * merged["hours_per_day"]).groupby(merged["workload"]).sum() / 24
    expected = scenarios.set_index("workload")["mean_to_peak"]
    pd.testing.assert_series_equal(mean.sort_index(), expected.sort_index(), check_names=False, atol=1e-6)


def test_deferrable_work_is_flat(scenarios):
    _, rates = parts_of(scenarios)
    offline = rates[rates["workload"] == "offline"]
    assert offline["of_peak"].nunique() == 1


OFFICE = pd.DataFrame(
    [("office", 9, 17, 40.0), ("office", 17, 9, 10.0)], columns=["shape", "from_hour", "to_hour", "load"]
)


def own(**stated):
    peaks = {"day": [6.0] * 3, "far": [6.0] * 3}
    workloads = {"day": {"day_shape": "office", **stated}, "far": {"day_shape": "office", "clock_shift_hours": 10}}
    return tiny(peaks=peaks, workloads=workloads, tables={"day_shapes": OFFICE})


def test_a_day_of_the_cases_own_is_taken_as_it_is_and_runs_later_by_its_shift():
    case = own()
    assert case.tables["workloads"]["mean_to_peak"].tolist() == pytest.approx([0.5, 0.5])  # 8 h at 1, 16 h at 0.25
    demand = build(case)
    table = demand.daypart_rates.pivot(index="daypart", columns="workload", values="of_peak")
    assert table.loc["09-17"].to_dict() == {"day": 1.0, "far": 0.25}
    assert table.loc["19-03"].to_dict() == {"day": 0.25, "far": 1.0}
    assert table.loc["03-09 17-19"].to_dict() == {"day": 0.25, "far": 0.25}
    assert dict(zip(demand.dayparts["daypart"], demand.dayparts["hours_per_day"], strict=True)) == {
        "09-17": 8, "19-03": 8, "03-09 17-19": 8
    }  # fmt: skip


def test_a_mean_that_is_not_that_of_the_own_day_is_refused():
    own(mean_to_peak=0.5)
    with pytest.raises(InputError, match="the mean over peak of office"):
        own(mean_to_peak=0.6)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("o", 0, 12, 1.0)], "none of its rows covers 12, 13"),
        ([("o", 0, 12, 1.0), ("o", 11, 0, 1.0)], "11 to 12 is also in row 2"),
        ([("o", 0, 24, 0.0)], "A load above 0 in some hour of o"),
        ([("o", 0, 12, 1.0), ("o", 12, 12, 1.0)], "0 and 24 are the whole day"),
        ([("chat", 0, 24, 1.0)], "this is the day of a packaged scenario"),
    ],
)
def test_a_day_states_each_hour_once(rows, said):
    table = pd.DataFrame(rows, columns=list(OFFICE.columns))
    with pytest.raises(InputError, match=said):
        tiny(tables={"day_shapes": table})


def test_requests_of_a_day_are_spread_over_its_mean():
    asked = [(f"2027Q{q}", "chat", 86_400.0) for q in (1, 2, 3)]
    forecast = pd.DataFrame(asked, columns=["quarter", "workload", "requests_per_day"])
    case = tiny(workloads={"chat": {"mean_to_peak": 0.5}}, tables={"forecast": forecast})
    assert case.tables["forecast"]["peak_requests_per_s"].tolist() == pytest.approx([2.0] * 3)
