"""What tests of several folders share."""

import gc
import os
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tools import need

EXAMPLES = int(os.environ.get("PROCURE_FUZZ", "25"))
"""Of each property that hypothesis tries: few in every run of the suite, as many as are asked for by one command."""
settings.register_profile(
    "untimed", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
)  # no test may fail because the machine is busy
settings.load_profile("untimed")


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


def pytest_collection_finish() -> None:
    """Looking for cyclic garbage takes less: what modules and fixtures keep for others is not looked through each time.

    Else one test in a hundred takes a second more, for all the plans and programs that those before it keep.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture
def unplotted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their charts, which take nearly all of the time of a page: for tests of sentences and tables."""
    monkeypatch.setattr("procure.report.page.drawn", lambda plan: [])


PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item>
</oor:items>
"""


@pytest.fixture(scope="session")
def recalculate(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A copy of a workbook with every formula worked out afresh by LibreOffice, in a profile of its own.

    More workbooks are worked out by the same start, and stand beside the first under their own names.
    """
    need("soffice")
    profile = tmp_path_factory.mktemp("profile")
    (profile / "user").mkdir()
    (profile / "user" / "registrymodifications.xcu").write_text(PROFILE)

    def run(path: Path, *more: Path) -> Path:
        out = tmp_path_factory.mktemp("recalculated")
        subprocess.run(
            ["soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", "xlsx", "--outdir",
             str(out), *map(str, (path, *more))], check=True, capture_output=True, timeout=240,
        )  # fmt: skip
        return out / path.name

    return run
