"""Demand: scenarios, lengths and reuse of caches, turned into requests/s by quarter, workload and length bucket."""

from procure.demand.build import Demand, build

__all__ = ["Demand", "build"]
