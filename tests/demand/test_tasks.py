"""Waiting times worked by hand."""

from __future__ import annotations

import pytest

from procure.demand.tasks import output_s, task_s


def test_a_task_is_its_requests_one_after_the_other_and_its_tools():
    turn = output_s(220, 100) + output_s(220, 50)
    assert turn == pytest.approx(2.2 + 4.4)
    assert task_s(69, 5, turn, 1_159) == pytest.approx(69 * (5 + 6.6) + 1_159)


def test_subtasks_run_side_by_side():
    assert task_s(10, 1, 1, 30, subtasks=4) == pytest.approx(3 * 2 + 7.5)
    assert task_s(10, 1, 1, 30, subtasks=1) == pytest.approx(10 * 2 + 30)


def test_no_tokens_take_no_time_whatever_the_speed():
    assert output_s(0, 0) == 0
