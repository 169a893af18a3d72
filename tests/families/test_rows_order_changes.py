"""Rows of `order_changes` against numbers worked by hand from its mathematics; bounds, units and signs included."""

from __future__ import annotations

import pytest
from hand_rows import Rows, check, of, order_terms, purse, row

ROWS: Rows = {
    "changes_within_order": [
        (of(order_terms), "order-0", {"cancel[order-0]": 1, "defer[order-0,1]": 1}, None, 3),
    ],
}


@pytest.mark.thorough
def test_the_rows_have_the_numbers_of_their_mathematics():
    check(ROWS, "order_changes")


@pytest.mark.parametrize(
    ("basis", "moved"),
    [
        ("payment", {0: (0.2, 0.05), 1: (-0.6, -0.6), 2: (0, 0.6)}),
        ("commitment", {0: (0.2, 0.05), 1: (0, 0), 2: (0, 0)}),
    ],
)
def test_changed_orders_move_what_is_due_and_fees_are_charged_at_once(basis, moved):
    model = of(purse, order_terms, budget_basis=basis)()
    for t, (cancelled, deferred) in moved.items():
        found, _, _ = row(model, "budget_limit", t)
        assert found.get("cancel[order-0]", 0) == pytest.approx(cancelled)
        assert found.get("defer[order-0,1]", 0) == pytest.approx(deferred)
