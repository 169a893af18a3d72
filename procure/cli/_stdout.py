"""Standard output whose reader may go away: the verb runs to its end, and its exit code stays its own."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any, TextIO

LOST = "Standard output was closed before everything was written; files and exit code are not affected."


class Guarded:
    """A stream that drops what cannot be written any more and remembers why."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write, unless an earlier write failed."""
        if self.error is None:
            try:
                return self._stream.write(text)
            except OSError as error:
                self.error = error
        return len(text)

    def flush(self) -> None:
        """Flush, unless an earlier write failed."""
        if self.error is None:
            try:
                self._stream.flush()
            except OSError as error:
                self.error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard() -> tuple[Guarded, Any]:
    """Put a guard before standard output; the guard and the stream to put back."""
    before = sys.stdout
    # Closed from the start: the next file that is opened must not take the place of standard output.
    stream = before if before is not None else Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stdout = guarded = Guarded(stream)
    return guarded, before


def verdict(guarded: Guarded, before: Any, code: int, failed: int) -> tuple[int, str]:
    """The exit code after all, and what to say of standard output.

    A reader that went away (``| head``) changes nothing. Output that could not be stored (a full disk) is lost, which
    a code of 0 must not hide: it becomes ``failed``.
    """
    guarded.flush()
    sys.stdout = before
    if guarded.error is None:
        return code, ""
    if before is sys.__stdout__ and before is not None:  # what is still buffered cannot be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), before.fileno())
    if guarded.error.errno == errno.EPIPE:
        return code, LOST
    return code or failed, f"Standard output could not be written: {guarded.error.strerror}."
