"""When the price of a unit is paid."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from procure.schema import CostLine


class Terms(Protocol):
    """What of a SKU says when it is paid."""

    @property
    def milestone_order(self) -> float:
        """Share of price and attach that is due with the order."""


class Due(NamedTuple):
    """USD of one unit, or of an order, paid with the order and on delivery."""

    on_order: float
    on_delivery: float


def due(price_usd: float, attach_usd: float, install_usd: float, terms: Terms) -> Due:
    """What is paid for one unit: a share of price and attach with the order; the rest and installation on delivery."""
    hardware, share = price_usd + attach_usd, terms.milestone_order
    return Due(share * hardware, (1.0 - share) * hardware + install_usd)


def due_by_line(price_usd: float, attach_usd: float, install_usd: float, terms: Terms) -> dict[CostLine, Due]:
    """The same by cost line; the terms are linear, so that each line is due as if it stood alone."""
    return {
        CostLine.HARDWARE: due(price_usd, 0.0, 0.0, terms),
        CostLine.ATTACH: due(0.0, attach_usd, 0.0, terms),
        CostLine.INSTALLATION: due(0.0, 0.0, install_usd, terms),
    }


def paid_share(price_usd: float, attach_usd: float, install_usd: float, terms: Terms) -> float:
    """Share of all that a unit costs that is paid while its order is on the way.

    Of a price that is known as a whole, as that of a firm order, the share is that of the price. What costs nothing has
    nothing paid.
    """
    unit = due(price_usd, attach_usd, install_usd, terms)
    whole = sum(unit)
    return unit.on_order / whole if whole else 0.0
