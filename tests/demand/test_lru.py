"""What keeping the best caches is worth over dropping the least recently used: next to nothing from 10 s on."""

from __future__ import annotations

import numpy as np
import pytest

from procure.catalogue import Catalogue
from procure.demand.reuse import Curve, intervals, packaged_curve


def hits_of_plan_and_lru(curve: Curve) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Input found with the same bytes: seconds held, the most of a plan, and of a store that drops what was used last.

    Under LRU every cache stays until one age, whatever its worth (many sessions: a large pool). A plan may hold any
    share of the caches to any end of an interval.
    """
    table, p = intervals(curve), curve.reused_share
    seconds = (table["age_to_s"] - table["age_from_s"]) * (1.0 - p * table["mean_return_before"])
    ends = [np.concatenate([[0.0], x]) for x in (np.cumsum(seconds), p * table["return_cumulative"])]
    ages = np.concatenate([np.linspace(0.1, 10.0, 100), np.geomspace(10.0, float(table["age_to_s"].iloc[-1]), 100)])
    held = np.array([age * (1.0 - p * curve.mean(0.0, age)) for age in ages])
    return held / ends[0][1], np.interp(held, *ends), p * curve.at(ages)


def test_a_plan_that_keeps_all_caches_for_a_while_finds_no_more_than_lru_does():
    catalogue = Catalogue.read()
    for name in catalogue.packaged.returns:
        held, plan, lru = hits_of_plan_and_lru(packaged_curve(name, catalogue))
        beyond = held >= 1.0
        assert beyond.any(), name
        assert (plan - lru)[beyond].max() < 0.005, name


def test_a_plan_that_keeps_a_part_for_its_first_interval_finds_up_to_an_eighth_more():
    """Nobody returns within seconds, so that a small store under LRU forgets before anyone does."""
    held, plan, lru = hits_of_plan_and_lru(packaged_curve("agentic-coding", Catalogue.read()))
    assert (plan - lru)[held < 1.0].max() == pytest.approx(0.115, abs=0.01)
