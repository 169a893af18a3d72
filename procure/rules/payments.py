"""When the price of a unit is paid."""

from __future__ import annotations

from typing import NamedTuple

from procure.schema import CostLine


class Due(NamedTuple):
    """USD of one unit, or of an order, paid with the order and on delivery."""

    on_order: float
    on_delivery: float


def due(price_usd: float, attach_usd: float, install_usd: float, order_share: float) -> Due:
    """What is paid for one unit: a share of price and attach with the order; the rest and installation on delivery."""
    hardware = price_usd + attach_usd
    return Due(order_share * hardware, (1.0 - order_share) * hardware + install_usd)


def due_by_line(price_usd: float, attach_usd: float, install_usd: float, order_share: float) -> dict[CostLine, Due]:
    """The same by cost line; the terms are linear, so that each line is due as if it stood alone."""
    return {
        CostLine.HARDWARE: due(price_usd, 0.0, 0.0, order_share),
        CostLine.ATTACH: due(0.0, attach_usd, 0.0, order_share),
        CostLine.INSTALLATION: due(0.0, 0.0, install_usd, order_share),
    }
