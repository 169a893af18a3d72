"""Every report of a plan in one folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

from procure.plan import Plan
from procure.report.page import write_page
from procure.report.pictures import write_pictures
from procure.report.workbook import write_workbook


def write_reports(plan: Plan, folder: str | Path, *, pictures: bool = False) -> list[Path]:
    """Write ``plan.xlsx`` and ``plan.html`` (and ``pictures/*.png``) into a folder, which is made if missing.

    All files are made beside the folder's own and renamed at the end, so a run that dies leaves the earlier ones.

    Raises:
        InputError: the plan's tables contradict each other.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".report-", dir=folder) as name:
        fresh = Path(name)
        made = [write_workbook(plan, fresh / "plan.xlsx"), write_page(plan, fresh / "plan.html")]
        if pictures:
            made += write_pictures(plan, fresh / "pictures")
            (folder / "pictures").mkdir(exist_ok=True)
        return [path.replace(folder / path.relative_to(fresh)) for path in made]
