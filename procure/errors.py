"""What is wrong with an input, said so that a planner can mend it: where, what was read, what is allowed."""

from __future__ import annotations

import csv
import difflib
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_SHOWN = 200
"""Characters of a value that a sentence shows."""


@dataclass(frozen=True, order=True)
class Fault:
    """One thing wrong with an input.

    ``row`` is the line of the file (the header is line 1), or 0 where a whole file or column is meant.
    """

    file: str
    row: int
    column: str
    value: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        row, column = f"row {self.row}" if self.row else "", f"column {self.column}" if self.column else ""
        where = ", ".join(part for part in (self.file, row, column) if part)
        value = str(self.value)  # plain text of a member of a vocabulary too, as a file spells it
        shown = value if len(value) <= MOST_SHOWN else f"{value[:MOST_SHOWN]}..."
        read = f" read {shown!r}." if self.value else ""
        hint = f" {self.hint}" if self.hint else ""
        return f"{where}:{read} {self.expected}{hint}"


class InputError(Exception):
    """Raised once, with every fault found in the inputs."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = sorted(set(faults))
        count = len(self.faults)
        head = "1 fault in the input" if count == 1 else f"{count} faults in the input"
        super().__init__("\n".join([head + ":", *(f"  {fault}" for fault in self.faults)]))


BROKEN = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    NotImplementedError,
    EOFError,
    OSError,
    SyntaxError,
    RuntimeError,
    csv.Error,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What parsers raise on files that are damaged, nested too deeply, encrypted, or hold other types than expected."""


@contextmanager
def guard_reader(file: str, expected: str, hint: str = "") -> Iterator[None]:
    """Take a user's file apart: whatever a parser raises on it is a fault of that file.

    Each reader stands inside one such guard, and nothing else does: checks that know more than "cannot be read" come
    first and raise their own faults.

    Raises:
        InputError: what was raised inside, in words.
    """
    try:
        yield
    except InputError:
        raise
    except BROKEN as error:
        why = (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0]
        what = "nested too deeply" if isinstance(error, RecursionError) else why[:120]
        raise InputError([Fault(file, 0, "", "", f"{expected} ({what})", hint)]) from error


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence naming the nearest known name, or listing the known ones when nothing is near."""
    names = sorted(map(str, known))  # as a file spells them
    match = difflib.get_close_matches(str(name).lower(), [n.lower() for n in names], n=1)
    if match:
        return f"Did you mean {next(n for n in names if n.lower() == match[0])!r}?"
    return f"Known: {', '.join(names)}." if names else ""
