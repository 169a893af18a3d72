"""What program and verification share, by hand: a fault here would be one of both."""

import pytest

from procure.rules.caches import held_seconds
from procure.rules.failures import availability, likely_down
from procure.rules.payments import due, due_by_line, paid_share
from procure.rules.worth import book_usd, residual_usd, sale_usd


class Unit:
    life_quarters, haircut, resale_spread = 20.0, 0.8, 0.25
    book_life_quarters = 16.0
    milestone_order = 0.3


def test_a_share_of_price_and_attach_is_paid_with_the_order_and_installation_on_delivery():
    """30% of 4.0 and 0.2 M USD; the other 70% and 0.1 M."""
    assert due(4e6, 2e5, 1e5, Unit()) == pytest.approx((1.26e6, 2.94e6 + 1e5))


def test_the_lines_of_a_payment_sum_to_it():
    lines = due_by_line(4e6, 2e5, 1e5, Unit())
    assert lines["installation"] == pytest.approx((0.0, 1e5))
    assert lines["attach"] == pytest.approx((6e4, 1.4e5))
    assert [sum(part) for part in zip(*lines.values(), strict=True)] == pytest.approx(due(4e6, 2e5, 1e5, Unit()))


def test_a_firm_order_has_paid_its_part_of_all_that_a_unit_costs():
    """30% of 4.0 and 0.2 of the 4.3 M USD; of a price that holds everything 30%."""
    assert paid_share(4e6, 2e5, 1e5, Unit()) == pytest.approx(1.26 / 4.3)
    assert paid_share(4.3e6, 0.0, 0.0, Unit()) == pytest.approx(0.3)


@pytest.mark.parametrize(("age", "worth"), [(0, 80.0), (10, 40.0), (20, 0.0), (35, 0.0), (-2, 80.0)])
def test_a_unit_is_worth_less_on_a_straight_line_and_a_sale_brings_three_quarters(age, worth):
    assert residual_usd(100.0, age, Unit()) == pytest.approx(worth)
    assert sale_usd(100.0, age, Unit()) == pytest.approx(0.75 * worth)


@pytest.mark.parametrize(("age", "books"), [(0, 100.0), (4, 75.0), (16, 0.0), (40, 0.0), (-2, 100.0)])
def test_the_books_write_a_unit_off_on_a_straight_line_to_nothing(age, books):
    assert book_usd(100.0, age, Unit()) == pytest.approx(books)


def test_no_unit_is_worth_more_than_was_paid():
    unit = Unit()
    unit.haircut = 1.2
    assert residual_usd(100.0, 0, unit) == 100.0


@pytest.mark.parametrize(("released", "reached", "seconds"), [(0.0, 0.5, 60.0), (0.5, 1.0, 30.0), (0.5, 0.5, 45.0)])
def test_a_cache_is_held_until_a_return_that_reaches_it_takes_it_back(released, reached, seconds):
    assert held_seconds(60.0, released, reached) == pytest.approx(seconds)


def test_units_that_are_down_are_those_of_the_binomial():
    """With 3% down short at most 5% of the time, as published planning tables have it; and by hand for two units."""
    racks = (4, 8, 16, 32, 64, 128)
    assert [likely_down(n, 0.97) for n in racks] == [1, 1, 2, 3, 4, 7]
    assert [likely_down(n, 0.97, 0.01) for n in racks] == [1, 2, 3, 4, 6, 9]
    assert likely_down(2, 0.9, 0.18) == 1  # 0.81 both up, 0.18 one down
    assert likely_down(2, 0.9, 0.20) == 0
    assert (likely_down(5, 1.0), likely_down(5, 0.0), likely_down(0, 0.97)) == (0, 5, 0)


def test_availability_is_time_between_failures_over_that_and_repair():
    """9 events of 12 hours and 0.3 of 120 hours a year: 144 hours of 8,760 + 144."""
    assert availability(9.3, 144 / 9.3) == pytest.approx(8_760 / 8_904)
    assert availability(0.0, 100.0) == 1.0
