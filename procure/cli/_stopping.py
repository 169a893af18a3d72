"""Ctrl-C as a wish: what runs ends where it can be kept."""

from __future__ import annotations

import signal
import threading
from typing import Any

import typer


class Stopping:
    """While it lasts, the first Ctrl-C or SIGTERM is a wish that the search asks about; the second acts as ever."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, kept: str = "the best plan so far is kept.") -> None:
        self._kept = kept
        self._asked = False
        self._before: dict[signal.Signals, Any] = {}

    def asked(self) -> bool:
        """Whether to stop."""
        return self._asked

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():  # signals reach no other
            self._before = {number: signal.signal(number, self._note) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, *_: Any) -> None:
        self._asked = True
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        typer.echo(f"Stopping: {self._kept} Once more to stop at once.", err=True)
