"""What tests of several folders share."""

import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tools import need

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")  # no test may fail because the machine is busy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first: a long one that starts last keeps one process busy while the others have nothing to do.

    ``slow`` may say about how many seconds a test takes; ten else. Tests of a module stay together, so that what they
    share by its fixtures is made once in a process; modules follow in the order of their longest test.
    """

    def seconds(item: pytest.Item) -> float:
        marker = item.get_closest_marker("slow")
        return 0.0 if marker is None else float(marker.kwargs.get("seconds", 10.0))

    longest: dict[Path, float] = defaultdict(float)
    for item in items:
        longest[item.path] = max(longest[item.path], seconds(item))
    items.sort(key=lambda item: (-longest[item.path], item.path, -seconds(item)))


PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item>
</oor:items>
"""


@pytest.fixture(scope="session")
def recalculate(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """A copy of a workbook with every formula worked out afresh by LibreOffice, in a profile of its own."""
    need("soffice")
    profile = tmp_path_factory.mktemp("profile")
    (profile / "user").mkdir()
    (profile / "user" / "registrymodifications.xcu").write_text(PROFILE)

    def run(path: Path) -> Path:
        out = tmp_path_factory.mktemp("recalculated")
        subprocess.run(
            ["soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", "xlsx", "--outdir",
             str(out), str(path)], check=True, capture_output=True, timeout=240,
        )  # fmt: skip
        return out / path.name

    return run
