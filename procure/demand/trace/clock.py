"""The unit of a trace's times: stated by the user, or proven by the file, and else asked for.

A wrong unit is a factor of a thousand in every rate and age, and nothing downstream looks odd. What proves a unit: a
column that names it, an ISO date, the size of an epoch time, or a published form of traces that documents it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from procure.errors import Fault, InputError

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds per unit."""

_EPOCH = (1e9, 4e9)
"""Seconds since 1970 from 2001 to 2096: no trace lasts that long, so that such times are dates."""


@dataclass(frozen=True)
class Form:
    """A published form of traces: keys by which it is known, the unit that its documentation states, and its name.

    ``exactly``: other keys make it another form. ``whole``: its times are whole numbers.
    """

    name: str
    keys: frozenset[str]
    unit: str
    exactly: bool = False
    whole: bool = False

    def fits(self, keys: Iterable[str]) -> bool:
        """Whether a record with these keys, in lower case, has this form."""
        found = set(keys)
        return found == self.keys if self.exactly else self.keys <= found


BURSTGPT = Form(
    "BurstGPT", frozenset({"timestamp", "model", "request tokens", "response tokens", "total tokens", "log type"}), "s"
)
MOONCAKE = Form(
    "Mooncake",
    frozenset({"timestamp", "input_length", "output_length", "hash_ids"}),
    "ms",
    exactly=True,
    whole=True,
)
BAILIAN = Form(
    "Qwen-Bailian", frozenset({"chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"}), "s"
)
FORMS = (MOONCAKE, BAILIAN, BURSTGPT)
"""Mooncake: its README, "in milliseconds"; Qwen-Bailian usage traces: "seconds since the start"; BurstGPT: seconds."""


def form_of(keys: Iterable[str]) -> Form | None:
    """The published form that a record has, None for any other."""
    lower = {str(key).strip().lower() for key in keys}
    return next((form for form in FORMS if form.fits(lower)), None)


@dataclass
class Clock:
    """Reads the times of one file; the first that is a number settles its unit.

    Attributes:
        file: for faults.
        column: name of the column or key.
        form: the published form of the file.
        stated: the unit that the user states.
        tell: called with a sentence once the unit is settled.
        unit: the unit once it is settled; "date" where times are dates.
    """

    file: str
    column: str
    form: Form | None = None
    stated: str | None = None
    tell: Callable[[str], object] = str
    unit: str = ""
    _factor: float = 0.0

    def seconds(self, value: Any) -> float:
        """A time in seconds; of a date those since 1970, in UTC where it states no offset. NaN for anything else.

        Raises:
            InputError: nothing proves the unit.
        """
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            return self._date(value)
        except OverflowError:
            return math.nan
        if not math.isfinite(number):
            return math.nan
        if not self._factor:
            self._settle(number)
        return number * self._factor

    def _date(self, value: Any) -> float:
        try:
            moment = datetime.fromisoformat(str(value).strip())
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return math.nan
        if not self.unit:
            self.unit = "date"
            self.tell("Times are dates.")
        return seconds

    def _settle(self, number: float) -> None:
        name = self.column.lower()
        ending = next((unit for unit in UNITS if name.endswith(f"_{unit}")), "")
        epoch = next((unit for unit, size in UNITS.items() if _EPOCH[0] <= abs(number) * size <= _EPOCH[1]), "")
        if self.stated:
            found, why = self.stated, "as stated with --time-unit"
        elif ending:
            found, why = ending, f"the column {self.column} names it"
        elif self.form is not None and (number.is_integer() or not self.form.whole):
            found, why = self.form.unit, f"the file has the form of {self.form.name} traces, which document it"
        elif epoch:
            found, why = epoch, "their size is that of times since 1970"
        else:
            expected = "Times whose unit the file proves: nothing tells seconds from milliseconds here."
            hint = f"State it: --time-unit {', '.join(UNITS)}."
            raise InputError([Fault(self.file, 0, self.column, f"{number:g}", expected, hint)])
        self.unit, self._factor = found, UNITS[found]
        self.tell(f"Times are in {found}: {why}.")
