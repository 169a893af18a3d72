"""What verbs are asked of without the workbook and the page, which take longer than the plan of a tiny case."""

import pytest


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are written without workbook and page: for tests of codes, streams and tables.

    ``test_plan_verbs.py`` has them written, ``tests/report`` looks into them.
    """
    monkeypatch.setattr("procure.report.write_reports", lambda plan, folder, *, pictures=False: [])
