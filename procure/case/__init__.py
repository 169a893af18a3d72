"""What a planner writes: a folder of one TOML file and CSV tables, read, checked and completed."""

from procure.case.case import Case
from procure.case.schema import TABLES
from procure.case.settings import Settings
from procure.schema import Column, Table

__all__ = ["TABLES", "Case", "Column", "Settings", "Table"]
