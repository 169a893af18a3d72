"""Cells of a case that may have been meant otherwise, said on stderr by every verb that goes on with them."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from procure.errors import Fault

MOST = 12
"""Doubts that are shown one by one; the plan lists all."""


def tell(doubts: Sequence[Fault]) -> None:
    """Say what was understood, and what to write if something else was meant."""
    if not doubts:
        return
    typer.echo(f"{len(doubts)} in doubt, read as said here:", err=True)
    for number, doubt in enumerate(doubts[:MOST], start=1):
        typer.echo(f"  {number}. {doubt}", err=True)
    if len(doubts) > MOST:
        typer.echo(f"  and {len(doubts) - MOST} more; `procure check --json` and plan.json list all.", err=True)
