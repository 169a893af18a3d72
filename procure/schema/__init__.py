"""How every table is described: columns with kind, unit, key and meaning; typed rows; the words that tables share."""

from procure.schema.column import MOST, Column, Table
from procure.schema.row import Row, col, row
from procure.schema.vocabulary import (
    BYTES_PER_GBIT,
    RECOMPUTE,
    CacheLoss,
    CostLine,
    Evidence,
    Instrument,
    Lost,
    OrderChange,
    Origin,
    Outcome,
    ResilienceKind,
    Resource,
    Role,
    SkuKind,
    Span,
    Tier,
    Unit,
)

__all__ = [
    "BYTES_PER_GBIT",
    "MOST",
    "RECOMPUTE",
    "CacheLoss",
    "Column",
    "CostLine",
    "Evidence",
    "Instrument",
    "Lost",
    "OrderChange",
    "Origin",
    "Outcome",
    "ResilienceKind",
    "Resource",
    "Role",
    "Row",
    "SkuKind",
    "Span",
    "Table",
    "Tier",
    "Unit",
    "col",
    "row",
]
