"""Every report of a plan in one folder."""

from __future__ import annotations

from pathlib import Path

from procure.plan import Plan
from procure.report.page import write_page
from procure.report.pictures import write_pictures
from procure.report.workbook import write_workbook
from procure.why import Explanation


def write_reports(
    plan: Plan, folder: str | Path, why: Explanation | None = None, *, pictures: bool = False
) -> list[Path]:
    """Write ``plan.xlsx`` and ``plan.html`` (and ``pictures/*.png``) into a folder, which is made if missing.

    With what was asked why of the plan, if anything was. Files of these names are written over: a folder that may hold
    a user's own is filled by :meth:`procure.plan.Plan.write`, :meth:`procure.plan.Plan.add` or
    :func:`procure.files.write_files`.

    Raises:
        InputError: the plan's tables contradict each other.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = [write_workbook(plan, folder / "plan.xlsx", why), write_page(plan, folder / "plan.html", why)]
    if pictures:
        made += write_pictures(plan, folder / "pictures")
    return made
