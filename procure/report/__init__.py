"""A plan as people read it: workbook, page, pictures, terminal."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from procure.report.decisions import plot_tornado, plot_trigger
    from procure.report.explained import print_explanation
    from procure.report.files import write_reports
    from procure.report.page import write_page
    from procure.report.pictures import write_pictures
    from procure.report.sweeps import plot_sweep
    from procure.report.terminal import print_plan
    from procure.report.workbook import write_workbook

__all__ = [
    "plot_sweep",
    "plot_tornado",
    "plot_trigger",
    "print_explanation",
    "print_plan",
    "write_page",
    "write_pictures",
    "write_reports",
    "write_workbook",
]

_HOME = {
    "plot_sweep": "procure.report.sweeps",
    "plot_tornado": "procure.report.decisions",
    "plot_trigger": "procure.report.decisions",
    "print_explanation": "procure.report.explained",
    "print_plan": "procure.report.terminal",
    "write_page": "procure.report.page",
    "write_pictures": "procure.report.pictures",
    "write_reports": "procure.report.files",
    "write_workbook": "procure.report.workbook",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'procure.report' has no attribute {name!r}")
