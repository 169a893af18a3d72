"""What is paid for an order, by quarter: what it costs and what it takes of a budget."""

from __future__ import annotations

from procure.program.index import Index
from procure.rules.payments import due


def order_payments(index: Index, sku: str, order_t: int) -> dict[int, float]:
    """USD of capital per unit ordered in a quarter, by quarter of payment.

    The price is that of the delivery quarter, fixed at the order; :mod:`procure.rules.payments` says what is due when.
    """
    row = index.sku[sku]
    delivery = order_t + int(row.lead_quarters)
    paid = due(index.price[sku, delivery], row.attach_usd, row.install_usd, row)
    payments = {order_t: paid.on_order}
    payments[delivery] = payments.get(delivery, 0.0) + paid.on_delivery
    return payments
