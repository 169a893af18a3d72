"""Units in which the program counts, so that its coefficients stay within six orders of magnitude."""

from __future__ import annotations

USD_PER_UNIT = 1e6
"""Money is in millions of USD."""
BYTES_PER_UNIT = 1e12
"""Bytes are in TB, bandwidth in TB/s."""
BASIS_POINTS = 1e4
"""Shortfall is in ten-thousandths of the weighted demand, so that the solver's tolerance is far below what matters."""
RESOURCE_PER_UNIT = {"power_kw": 1e3, "liquid_kw": 1e3, "area_m2": 1e2, "positions": 1.0, "ports": 1e3}
"""Rows of a site's resources are in MW, hundreds of square metres, positions and thousands of ports."""
