"""Units in which the program counts, so that its coefficients stay within six orders of magnitude."""

from __future__ import annotations

USD_PER_UNIT = 1e6
"""Money is in millions of USD."""
BYTES_PER_UNIT = 1e12
"""Bytes are in TB, bandwidth in TB/s."""
BASIS_POINTS = 1e4
"""Shortfall is in ten-thousandths of the weighted demand, so that the solver's tolerance is far below what matters."""
