"""Where tables are shown: on stdout, with the texts of a user's files as they are."""

from __future__ import annotations

from rich.console import Console

WIDTH = 160
"""Columns where stdout is no terminal, nor told to be wider: none of a table's numbers are cut."""


def table_console(width: int = WIDTH) -> Console:
    """A console for tables: what looks like markup in a name is part of the name."""
    console = Console(markup=False)
    return console if console.is_terminal or console.width >= width else Console(markup=False, width=width)
