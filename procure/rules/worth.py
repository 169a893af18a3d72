"""What a unit is worth as it ages, what a sale of it brings, and what the books still show of it."""

from __future__ import annotations

from typing import Protocol


class Depreciates(Protocol):
    """What loses its worth with age: a life in quarters, ``haircut`` as a share."""

    @property
    def life_quarters(self) -> float: ...  # noqa: D102
    @property
    def haircut(self) -> float: ...  # noqa: D102


class Ages(Depreciates, Protocol):
    """A SKU as its worth depends on it: also in the books, and with ``resale_spread`` as a share."""

    @property
    def book_life_quarters(self) -> float: ...  # noqa: D102
    @property
    def resale_spread(self) -> float: ...  # noqa: D102


def residual_usd(paid_usd: float, age_quarters: float, sku: Depreciates) -> float:
    """What a unit is worth: paid · max(0, 1 − age/life) · haircut, never above paid."""
    return paid_usd * max(0.0, 1.0 - max(age_quarters, 0.0) / sku.life_quarters) * min(sku.haircut, 1.0)


def sale_usd(paid_usd: float, age_quarters: float, sku: Ages) -> float:
    """What a sale brings: the residual value less the spread between owner and buyer."""
    return residual_usd(paid_usd, age_quarters, sku) * (1.0 - sku.resale_spread)


def book_usd(paid_usd: float, age_quarters: float, sku: Ages) -> float:
    """What the books show of a unit: written off on a straight line to nothing, paid · max(0, 1 − age/book life)."""
    return paid_usd * max(0.0, 1.0 - max(age_quarters, 0.0) / sku.book_life_quarters)
