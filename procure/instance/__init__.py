"""The case turned into plain tables of coefficients: no files, no Pyomo, no solver below this point."""

from procure.instance.build import build
from procure.instance.instance import Instance
from procure.instance.stages import Cache
from procure.instance.tables import TABLES

__all__ = ["TABLES", "Cache", "Instance", "build"]
