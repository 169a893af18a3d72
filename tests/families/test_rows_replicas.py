"""Rows of `replicas` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

from typing import Any

import pytest
from hand_instance import CARD, SITE, W, instances
from hand_rows import Rows, check, made, of, old_racks, reserved, row, saving, two_roles


def prefill_only(tables: Any) -> None:
    instances(tables, "prefill")


ROWS: Rows = {
    "work_within_instances": [
        # 100·0.01 and 50·0.02/0.8 racks, 0.25 an instance
        (
            of(two_roles),
            (SITE, "g", CARD, "decode", 1),
            {"serve[p0,a]": 4.0, "serve[p1,a]": 5.0, "instances[a,g,llm,decode,1]": -1},
            None,
            0,
        ),
        (
            of(two_roles),
            (SITE, "g", CARD, "prefill", 1),
            {"prefill[o0,a]": 8.0, "prefill[o1,a]": 8.0, "instances[a,g,llm,prefill,1]": -1},
            None,
            0,
        ),
    ],
    "instance_linking": [
        # one instance decodes a fifth of the bucket: 0.25 of 1.25 racks
        (
            of(two_roles),
            (SITE, "g", CARD, "decode", 1, W, 1, "decode"),
            {"serve[p1,a]": 1, "instances[a,g,llm,decode,1]": -0.2},
            None,
            0,
        )
    ],
    "instances_take_units": [
        (
            of(two_roles),
            (SITE, "g", 1),
            {
                "instances[a,g,llm,decode,1]": 0.5,
                "instances[a,g,llm,prefill,1]": 0.5,
                "instance_units[a,g,1]": -1,
            },
            None,
            0,
        )
    ],
    "work_beside_instances": [
        # decode is fluid: 1 and 1 racks of work, 0.5 of a rack busy
        (
            of(prefill_only, reserved, old_racks),
            (SITE, "g", 1),
            {"serve[p0,a]": 2.0, "serve[p1,a]": 2.0, "own[a,g,1]": -1, "instance_units[a,g,1]": 1},
            None,
            -2,
        )
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "replicas")


def test_instances_and_work_beside_them_have_the_units_that_are_not_reserved_and_at_full_power():
    model = made(two_roles, reserved, old_racks)
    taken = {"instance_units[a,g,1]": 1, "own[a,g,1]": -1}
    assert row(model, "instances_within_units", (SITE, "g", 1)) == (taken, None, -2)
    model = made(two_roles, reserved, old_racks, saving)
    assert row(model, "instances_within_units", (SITE, "g", 1)) == ({**taken, "maxq[a,g,1]": 1}, None, -2)
    model = made(prefill_only, reserved, old_racks, saving)
    beside = row(model, "work_beside_instances", (SITE, "g", 1))[0]
    assert beside["maxq[a,g,1]"] == pytest.approx(0.1)
