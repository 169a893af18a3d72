"""Waits before prefill against textbook queues."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from performance_fixtures import RULES

from procure.performance.queueing import Queue, erlang_c, wait_in_services

FULLEST, MOST = 0.95, 0.999


def wait(queue, servers):
    return wait_in_services(queue, replace(RULES.queue, replicas=servers))


def sum_of_states(servers, load):
    """Erlang's second formula by its definition, a sum over states."""
    offered = servers * load
    last = offered**servers / math.factorial(servers) / (1 - load)
    return last / (sum(offered**n / math.factorial(n) for n in range(servers)) + last)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.75, 0.95])
@pytest.mark.parametrize("servers", [1, 2, 4, 16])
def test_the_chance_to_wait_is_erlangs(servers, load):
    assert erlang_c(servers, load) == pytest.approx(sum_of_states(servers, load), rel=1e-12)


def test_one_server_at_three_quarters_by_hand():
    """P(W > t) = 0.75 exp(-2 x 0.25 t): a tenth waits longer than ln 7.5 / 0.5 = 4.03 services."""
    assert wait(Queue(0.75, 0.9), 1) == pytest.approx(math.log(7.5) / 0.5)


def test_where_fewer_wait_than_the_share_left_out_nobody_is_said_to_wait():
    assert wait(Queue(0.3, 0.5), 4) == 0.0


def test_waits_rise_with_load_and_share_and_fall_with_replicas():
    loads = [wait(Queue(load, 0.9), 4) for load in (0.5, 0.6, 0.75, 0.9)]
    shares = [wait(Queue(0.75, share), 4) for share in (0.8, 0.9, 0.99, MOST)]
    replicas = [wait(Queue(0.75, 0.9), servers) for servers in (16, 8, 4, 1)]
    assert all(sorted(each) == each and len(set(each)) == 4 for each in (loads, shares, replicas))


def test_a_wait_of_all_requests_or_at_full_load_is_that_of_the_largest_stated():
    assert wait(Queue(0.75, 1.0), 4) == wait(Queue(0.75, MOST), 4)
    assert wait(Queue(1.0, 0.9), 4) == wait(Queue(FULLEST, 0.9), 4)
