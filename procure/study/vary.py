"""What a sweep varies: ranges and lists, and the grid or the pairs they make."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from procure.case.change import path_of
from procure.errors import Fault, InputError

MOST_POINTS = 10_000
"""A range of more points than this is a slip of the pen."""


def parse_vary(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Read ``name=start:stop:step`` (the stop belongs to it) or ``name=a,b,c``; numbers where they are numbers.

    Raises:
        InputError: no name, no values, or a step that does not lead from start to stop.
    """
    faults: list[Fault] = []
    varied: dict[str, list[Any]] = {}
    for text in texts:
        name, values = named(text)
        if not name or not values.strip():
            faults.append(_fault(text, "Write name=start:stop:step or name=a,b,c."))
        elif path_of(name) in map(path_of, varied):
            faults.append(_fault(text, f"{name} is varied twice; give all its values at once."))
        else:
            try:
                varied[name] = _range(values) if ":" in values else [_value(v) for v in values.split(",")]
            except ValueError as error:
                faults.append(_fault(text, str(error)))
    if not texts:
        faults.append(_fault("", "Say what to vary: --vary isl_growth_per_year=0:1.5:0.125."))
    if faults:
        raise InputError(faults)
    return varied


def named(text: str) -> tuple[str, str]:
    """Name and values of ``name=values``, no values where there is no ``=``.

    The name of a workload may hold ``=`` too (``workloads/=x/ttft_s=1,2``), and so may values
    (``kv_format=fp8+rope=bf16``): the first one after the last ``/`` is meant, or the first of all where values hold a
    ``/``.
    """
    first, slash, rest = text.rpartition("/")
    name, equals, values = rest.partition("=")
    if not equals:
        first, slash, (name, _, values) = "", "", text.partition("=")
    return f"{first}{slash}{name}".strip(), values


def grid(varied: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the values, the last name varying fastest."""
    return [dict(zip(varied, values, strict=True)) for values in itertools.product(*varied.values())]


def pairs(varied: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The first values of all names together, then the second ones, and so on.

    Raises:
        InputError: names with different numbers of values.
    """
    counts = {name: len(values) for name, values in varied.items()}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise InputError([Fault("--paired", 0, "", found, "Pairs take equally many values of every name.")])
    return [dict(zip(varied, values, strict=True)) for values in zip(*varied.values(), strict=True)]


def _range(text: str) -> list[float]:
    """Decimal steps, so that 0:0.3:0.1 ends at 0.3."""
    parts = text.split(":")
    try:
        start, stop, step = (Decimal(part.strip()) for part in parts)
    except (InvalidOperation, ValueError) as error:
        raise ValueError("A range is start:stop:step, three numbers.") from error
    if not all(number.is_finite() for number in (start, stop, step)) or step == 0 or (stop - start) / step < 0:
        raise ValueError("The step must lead from start to stop.")
    count = int((stop - start) / step) + 1
    if count > MOST_POINTS:
        raise ValueError(f"This range has {count} points; at most {MOST_POINTS} are taken.")
    return [float(start + step * i) for i in range(count)]


def _value(text: str) -> Any:
    text = text.strip()
    if not text:
        raise ValueError("A value of the list is empty.")
    try:
        return float(text)
    except ValueError:
        return {"true": True, "false": False}.get(text.lower(), text)


def _fault(text: str, expected: str) -> Fault:
    return Fault("--vary", 0, "", text, expected)
