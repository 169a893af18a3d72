"""A trace file as it is read, and its lines that could not be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KEPT_LINES = 1_000
"""Bad lines that are listed one by one; all are counted."""


@dataclass
class BadLines:
    """Lines that could not be read: all counted, the first thousand kept as (file, line, what is wrong)."""

    count: int = 0
    kept: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, file: str, line: int, what: str) -> None:
        """Count a bad line."""
        self.count += 1
        if len(self.kept) < KEPT_LINES:
            self.kept.append((file, line, what))


@dataclass
class Source:
    """A file as it is read: its name, the unit that the user states, the lines that are wrong, and what was found out.

    ``parents``: root of each request that another may name as its parent; one for all files of a trace.
    """

    name: str
    bad: BadLines
    time_unit: str | None = None
    parents: dict[Any, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def say(self, sentence: str) -> None:
        """Keep a sentence, once."""
        if sentence and sentence not in self.said:
            self.said.append(sentence)
