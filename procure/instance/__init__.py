"""The case turned into plain tables of coefficients: no files, no Pyomo, no solver below this point."""

from procure.instance.build import build
from procure.instance.instance import RESOURCES, SCHEMA, Instance
from procure.instance.stages import Cache

__all__ = ["RESOURCES", "SCHEMA", "Cache", "Instance", "build"]
