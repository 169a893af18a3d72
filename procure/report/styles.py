"""How cells look: a role (what kind of number it is) and a number format, named together as ``role:format``."""

from __future__ import annotations

from typing import Any

INPUT = "#0000FF"
SOLVER = "#006100"

ROLES: dict[str, dict[str, Any]] = {
    "title": {"bold": True, "font_size": 16},
    "heading": {"bold": True, "font_size": 12, "font_color": "#1F3864", "bottom": 2, "bottom_color": "#1F3864"},
    "header": {"bold": True, "bg_color": "#1F3864", "font_color": "#FFFFFF", "text_wrap": True, "valign": "vcenter"},
    "quarter": {"bold": True, "bg_color": "#1F3864", "font_color": "#FFFFFF", "align": "right", "valign": "vcenter"},
    "later": {"bold": True, "bg_color": "#7F7F7F", "font_color": "#FFFFFF", "align": "right", "valign": "vcenter"},
    "text": {},
    "wrapped": {"text_wrap": True, "align": "left", "valign": "top", "indent": 1},
    "figure": {"valign": "top"},
    "premise": {"font_color": INPUT, "bg_color": "#FFF9DB", "text_wrap": True, "valign": "top"},
    "number": {"align": "left"},
    "note": {"italic": True, "font_color": "#595959"},
    "input": {"font_color": INPUT, "bg_color": "#FFF9DB"},
    "solver": {"font_color": SOLVER, "bg_color": "#EAF4E4"},
    "calc": {},
    "sum": {"bold": True, "top": 1},
    "verdict": {"bold": True, "align": "center", "border": 1},
}
"""Look of each role. Inputs are blue on yellow, solver output green on green, formulas black; sums are bold.

``wrapped``, ``figure`` and ``premise`` are text, number and input in rows of several lines."""

FORMATS: dict[str, str] = {
    "": "General",
    "count": '#,##0;-#,##0;"–"',
    "usd": '#,##0;-#,##0;"–"',
    "number": '#,##0.00;-#,##0.00;"–"',
    "fine": '#,##0.0000;-#,##0.0000;"–"',
    "share": "0.0%",
    "rate": "0.00%",
    "factor": "0.0000",
    "tiny": "0.0E+00",
}
"""Number formats by name; they round for display only."""


def properties(style: str) -> dict[str, Any]:
    """XlsxWriter format properties of a style name ``role`` or ``role:format``."""
    role, _, shape = style.partition(":")
    return {"font_name": "Calibri", "font_size": 10, "num_format": FORMATS[shape], **ROLES[role]}
