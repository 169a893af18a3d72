"""Why: what each order is for, what binds and what more of it is worth, what would serve what is short."""

from __future__ import annotations

import math
import textwrap

from procure.report.cells import Sheet
from procure.report.explained import HOW, effect, left, resolution
from procure.why import Explanation, Kind, Verdict
from procure.why.effect import SAME_SHARE

_COLUMNS = (
    ("Question", 11, "What is asked about.", "wrapped"),
    ("About", 38, "The order line, limit, SKU or workload.", "wrapped"),
    ("Quarters", 20, "Those of the order, or in which the limit leaves no room.", "wrapped"),
    ("Changed", 34, "What is changed in the case, which is then solved again.", "wrapped"),
    ("What comes of it", 76, "What came of it.", "wrapped"),
    ("Least, USD", 15, "The least that it saves or costs, by the bounds of both plans; present value.", "figure:usd"),
    ("Most, USD", 15, "The most that it saves or costs; empty where no bound is known.", "figure:usd"),
    (
        "Least share",
        11,
        "Of the planned demand, weighted by priority: served more or less at the least.",
        "figure:rate",
    ),
    ("Most share", 11, "The same at the most.", "figure:rate"),
)
_KINDS = {Kind.SERVE: 0, Kind.ORDER: 1, Kind.LIMIT: 2, Kind.WHY_NOT: 3}
HEAD = 5
"""Row of the header, as on every sheet."""


def why_sheet(why: Explanation | None) -> Sheet:
    """A row for each answer (solver output); where nothing was asked yet, how to ask."""
    sheet = Sheet("Why")
    sheet.put(0, 0, "Why this plan", "title")
    sheet.put(1, 0, HOW if why is None else "Every answer is a plan of the changed case, solved anew.", "note")
    sheet.widths = {column: float(width) for column, (_, width, *_) in enumerate(_COLUMNS)}
    for column, (title, _, meaning, style) in enumerate(_COLUMNS):
        head = "header" if style == "wrapped" else "quarter"
        sheet.put(HEAD, column, title, head, comment=meaning)
    sheet.freeze = (HEAD + 1, 2)
    if why is None:
        return sheet
    row = HEAD + 1
    known = [one for one in why.answers if one.verdict is not Verdict.NOT_ASKED]
    for one in sorted(known, key=lambda a: (_KINDS[a.question.kind], a.question.about)):
        asked = one.question
        said = str(one.verdict) if asked.kind is Kind.SERVE else effect(one, why)
        texts = (str(asked.kind), asked.about, asked.quarters, asked.what, said)
        shares = (one.least_share, one.most_share) if one.most_share > SAME_SHARE else ()
        numbers = (one.least_usd, one.most_usd, *shares)
        for column, text in enumerate(texts):
            sheet.put(row, column, text, _COLUMNS[column][-1])
        for column, number in enumerate(numbers, len(texts)):
            if math.isfinite(number):
                sheet.put(row, column, number, _COLUMNS[column][-1])
        sheet.lines[row] = max(len(textwrap.wrap(t, w)) or 1 for t, (_, w, *_) in zip(texts, _COLUMNS, strict=False))
        row += 1
    sheet.filter = (HEAD, 0, max(row - 1, HEAD + 1), len(_COLUMNS) - 1)
    for note in (*resolution(why), *left(why)):
        row += 1
        sheet.put(row, 0, note, "note")
    return sheet
