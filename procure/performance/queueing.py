"""How long a request waits before its prefill starts: a textbook queue, stated for the share of requests promised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from procure.performance.rules import QueueRules


@dataclass(frozen=True)
class Queue:
    """How full prefill replicas are planned, and for which share of the requests the wait is stated.

    Attributes:
        load: busy share of the replicas that capacity allows at the peak; above ``queue/fullest_load`` the wait at that
            load is taken.
        share: share of the requests that wait no longer than stated. No queue bounds the wait of all: for shares above
            ``queue/largest_share`` the wait of that share is taken.
    """

    load: float
    share: float


def erlang_c(servers: int, load: float) -> float:
    """Chance that a request finds all servers busy (Erlang's second formula).

    Args:
        servers: servers of the queue.
        load: busy share of each, from 0 to below 1.

    >>> round(erlang_c(1, 0.6), 6)
    0.6
    >>> round(erlang_c(2, 0.5), 6)
    0.333333
    """
    offered, blocked = servers * load, 1.0
    for n in range(1, servers + 1):
        blocked = offered * blocked / (n + offered * blocked)
    return blocked / (1.0 - load * (1.0 - blocked))


def wait_in_services(queue: Queue, rules: QueueRules) -> float:
    """Wait that the stated share of requests does not exceed, in units of one service, all services alike (M/D/c).

        P(W > t) = C · exp(−2 c (1 − u) t / S)

    C by Erlang's formula; the decay is that of Poisson arrivals and services of one length in heavy traffic (Kingman):
    half of the mean wait of exponential ones. 0 where fewer than the share not stated wait at all.

    Args:
        queue: load u and share.
        rules: replicas c that one queue feeds, and the largest load and share that a wait is stated for.
    """
    servers = rules.replicas
    load, beyond = min(queue.load, rules.fullest_load), 1.0 - min(queue.share, rules.largest_share)
    return max(0.0, math.log(erlang_c(servers, load) / beyond) / (2.0 * servers * (1.0 - load)))
