"""Parts of the day cover it, never undersize an hour, and put alike hours together."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from procure.catalogue import Packaged
from procure.demand.dayparts import dayparts, parts, to_peak

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


def test_parts_are_the_best_cut_of_the_ranked_hours():
    rng = np.random.default_rng(0)
    load = rng.random((9, 1))
    got = parts(load, 3)

    def spread(labels):
        return sum(((load[labels == d] - load[labels == d].mean()) ** 2).sum() for d in set(labels))

    order = np.argsort(-load[:, 0])
    best = np.inf
    for a, b in itertools.combinations(range(1, 9), 2):
        labels = np.empty(9, dtype=int)
        labels[order[:a]], labels[order[a:b]], labels[order[b:]] = 0, 1, 2
        best = min(best, spread(labels))
    assert spread(got) == pytest.approx(best)
    assert load[got == 0].min() > load[got == 1].max() > load[got == 2].max()


def test_parts_cover_the_day_and_every_peak_is_kept(scenarios):
    table, rates = dayparts(scenarios, dict.fromkeys(scenarios["workload"], 100.0), PROFILES)
    assert table["hours_per_day"].sum() == 24
    assert sorted(int(h) for hours in table["clock_hours"] for h in hours.split()) == list(range(24))
    highest = rates.groupby("workload")["of_peak"].max()
    inside = ~scenarios.set_index("workload")["deferrable"]
    np.testing.assert_allclose(highest[inside[inside].index], 1)


def test_the_mean_of_the_day_survives_the_parts(scenarios):
    table, rates = dayparts(scenarios, dict.fromkeys(scenarios["workload"], 100.0), PROFILES)
    merged = rates.merge(table, on="daypart")
    mean = (merged["mean_of_peak"] * merged["hours_per_day"]).groupby(merged["workload"]).sum() / 24
    expected = scenarios.set_index("workload")["mean_to_peak"]
    pd.testing.assert_series_equal(mean.sort_index(), expected.sort_index(), check_names=False, atol=1e-6)


def test_deferrable_work_is_flat(scenarios):
    _, rates = dayparts(scenarios, dict.fromkeys(scenarios["workload"], 100.0), PROFILES)
    offline = rates[rates["workload"] == "offline"]
    assert offline["of_peak"].nunique() == 1
