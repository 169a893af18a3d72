"""The table of findings: its class of rows is its schema."""

from __future__ import annotations

from procure.schema import Row, col, row


@row("findings")
class Finding(Row):
    """What simple arithmetic says about a case; value and limit in the unit named."""

    finding: str = col("what was looked at")
    quarter: str = col("quarter", empty="of no quarter")
    item: str = col("SKU, site, workload or cell that it concerns")
    value: float = col("what was found", empty="not measured")
    limit: float = col("what is allowed", empty="no limit")
    unit: str = col("unit of the two", empty="not measured")
    holds: bool = col("whether it holds")
    detail: str = col("the same in a sentence")
    todo: str = col("what to do about it: workloads or site, quarters, amounts", empty="it holds")
