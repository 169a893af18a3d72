"""Do returns find their copy? What a router keeps of them, from the requests in flight per home and how full it is.

A *home* is the smallest unit whose store a request can read: a tray, a rack whose trays share one, a pod, a site.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaincc

HOMES = (2, 5, 10, 20)
"""Homes that a router which heeds load only was replayed with: premises ``plain_routing/kept_of_2_homes`` and so on."""
MANY = 1_000
"""Servers above which the closed form stands for the recursion, which would take a step for each of them."""


def erlang_b(offered: float, servers: int) -> float:
    """Chance that a request finds all servers busy and is sent away (Erlang's first formula).

    Args:
        offered: mean requests in flight if none were sent away, above 0.
        servers: requests that fit, at least 0.

    >>> round(erlang_b(1.0, 1), 6)
    0.5
    >>> round(erlang_b(2.0, 2), 6)
    0.4
    """
    if servers <= MANY:
        blocked = 1.0
        for n in range(1, servers + 1):
            blocked = offered * blocked / (n + offered * blocked)
        return blocked
    exactly = math.exp(servers * math.log(offered) - offered - math.lgamma(servers + 1))  # Poisson: n, and at most n
    at_most = float(gammaincc(servers + 1, offered))
    return exactly / at_most if at_most > 0 else 1.0 - servers / offered  # most are sent away: what fits stays


def kept_by_affinity(in_flight: float, load: float) -> float:
    """Share of returns that stay at home with a router which follows sessions or caches.

        1 − ErlangB(m, ⌈m/ρ⌉)

    Sessions stay home; a return that finds home full goes to the least loaded home and lives there from then on. Within
    0.07 of a replay of 710 coding sessions on 2 to 16 homes (mean difference 0.005); low by up to 0.06 from 32 requests
    in flight on, since new sessions go to the emptiest home.

    Args:
        in_flight: requests in flight per home, m, above 0.
        load: ρ, the load of a home over the load at which the router lets a session go, above 0. Above 1 homes are
            full on average, and what does not fit leaves.
    """
    return 1.0 - erlang_b(in_flight, math.ceil(round(in_flight / load, 9)))


def kept_by_chance(homes: float, kept: Sequence[float]) -> float:
    """Share of returns that a router brings home which heeds load only.

    A replayed hour of chat, linear in the logarithms between its points; beyond the last it falls as 1/homes, as with
    placement at random. More than 1/homes returns come home: sessions are short, and busy homes stay busy.

    Args:
        homes: of one LLM, at least 1.
        kept: shares with each number of :data:`HOMES`, above 0; one home is found always.
    """
    at = math.log(homes)
    beyond = max(at - math.log(HOMES[-1]), 0.0)
    return math.exp(float(np.interp(at, np.log((1, *HOMES)), np.log((1.0, *kept)))) - beyond)
