"""Tools that some tests need and a plain Python environment does not have."""

import os
import shutil
from importlib.util import find_spec

import pytest


def need(tool: str) -> None:
    """Go on where a program or module is there; else skip, or fail where ``PROCURE_TEST_TOOLS=all`` says it must be."""
    if shutil.which(tool) or find_spec(tool):
        return
    if os.environ.get("PROCURE_TEST_TOOLS") == "all":
        pytest.fail(f"{tool} is not installed, and PROCURE_TEST_TOOLS=all says that it is")
    pytest.skip(f"{tool} is not installed")
