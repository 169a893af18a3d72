"""The case turned into plain tables of coefficients: no files, no Pyomo, no solver below this point."""

from procure.instance.build import build
from procure.instance.instance import RESOURCES, SCHEMA, Instance

__all__ = ["RESOURCES", "SCHEMA", "Instance", "build"]
