"""Request traces: read them as streams, and measure lengths, arrivals and reuse exactly."""

from procure.demand.trace.analyse import Options, analyse
from procure.demand.trace.trace import Trace
from procure.demand.trace.write import forecast, write

__all__ = ["Options", "Trace", "analyse", "forecast", "write"]
