"""Measured traces without their picture, which takes longer than what is measured of a small trace."""

import sys

import pytest


@pytest.fixture
def unpictured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a trace are written without ``trace.png``; ``test_trace.py`` has it drawn by the verb."""
    write = sys.modules["procure.demand.trace.write"]  # the package has a function of that name
    monkeypatch.setattr(write, "plot", lambda trace, path, title: path)
