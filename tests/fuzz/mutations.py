"""Small harm to valid files, from a seed: bytes and lines anywhere, values of JSON, cells of CSV, parts of a zip."""

from __future__ import annotations

import copy
import csv
import io
import json
import random
import zipfile
from typing import Any

DEEP = 100_000
"""Brackets in sequence, far beyond what a recursive parser survives."""

TOKENS = (
    b"NaN", b"-Infinity", b"1e999", b"-1", b"0", b"null", b"true", b"[]", b"{}", b'""', b'"', b"'", b",", b";", b"\n",
    b"\r", b"\x00", b"\xff\xfe", b"\xc3\x28", b"=1+1", b"9" * 5_000, b"\xef\xbb\xbf", b"<", b"&", b"#", b"]]>", b"=",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2**30, 2**31, 2**63, 2**70, 10**400, 0.5, 1e308, float("nan"), float("inf"), "",
    "x", "1", "NaN", "\x00", "2027Q1", [], [1], [None], ["x"], [[1]], {}, {"a": 1}, {"a": {"b": []}},
)  # fmt: skip
"""What stands in JSON where something else belongs."""

CELLS = (
    "", " ", "x", "NaN", "inf", "-1", "0", "1e308", "1e-320", "1e999", "99999999999", "3.000", "5%", "1,5", "2027Q1",
    "2027Q5", "0000Q1", "9999Q4", "true", "=1+1", "\x00", "a" * 300, "../..", "/", ".", "\u0661", "\u2028", '"',
    "deepseek-v3.2", "h100",
)  # fmt: skip
"""What stands in a cell where something else belongs."""


def harm_bytes(content: bytes, rng: random.Random) -> bytes:
    """One to three changes anywhere."""
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(content) + 1)
        end = min(place + rng.choice((0, 1, 2, 8, 200)), len(content))
        kind = rng.randrange(5)
        if kind == 0:
            content = content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
        elif kind == 1:
            content = content[:place] + content[end:]
        elif kind == 2:
            content = content[:place] + rng.choice(TOKENS) + content[end:]
        elif kind == 3:
            content = content[:place] + content[place:end] * 3 + content[end:]
        else:
            content = content[:place]
    return content


def harm_lines(content: bytes, rng: random.Random) -> bytes:
    """Lines left out, doubled, swapped, or replaced by deep brackets."""
    lines = content.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        del lines[first]
    elif kind == 1:
        lines.insert(second, lines[first])
    elif kind == 2:
        lines[first], lines[second] = lines[second], lines[first]
    elif kind == 3:
        first = 0 if rng.random() < 0.3 else first  # where nothing before it is wrong
        lines[first] = rng.choice((b"[", b'{"a":', b"x = [")) * DEEP
    else:
        lines[first] = rng.choice(TOKENS)
    return b"\n".join(lines)


def harm_json(content: Any, rng: random.Random) -> Any:
    """One value replaced, left out or wrapped, at any depth."""
    content = copy.deepcopy(content)
    for _ in range(rng.choice((1, 1, 2))):
        holder, key = _place(content, rng)
        if holder is None:
            return rng.choice(VALUES)
        kind = rng.randrange(4)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            holder[key] = [holder[key]]
        else:
            holder[key] = rng.choice(VALUES)
    return content


def _place(content: Any, rng: random.Random) -> tuple[Any, Any]:
    """A container and a key of it, picked while walking down."""
    holder, key, here = None, None, content
    while isinstance(here, dict | list) and here and (holder is None or rng.random() < 0.7):
        holder, key = here, rng.choice(list(here) if isinstance(here, dict) else range(len(here)))
        here = here[key]
    return holder, key


def harm_cells(content: bytes, rng: random.Random) -> bytes:
    """One or two cells of a CSV file replaced, headings too."""
    rows = list(csv.reader(io.StringIO(content.decode())))
    for _ in range(rng.choice((1, 1, 2))):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice(CELLS)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def harm_zip(content: bytes, rng: random.Random) -> bytes:
    """One part of a zip harmed or left out."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    name = rng.choice([name for name in parts if name.endswith((".xml", ".rels"))])
    if rng.random() < 0.1:
        del parts[name]
    else:
        parts[name] = harm_bytes(parts[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for part, data in parts.items():
            packed.writestr(part, data)
    return out.getvalue()


def any_text(content: bytes, rng: random.Random) -> bytes:
    """Harm to a text file."""
    return rng.choice((harm_bytes, harm_lines))(content, rng)


def any_csv(content: bytes, rng: random.Random) -> bytes:
    """Harm to a CSV file."""
    return rng.choice((harm_bytes, harm_lines, harm_cells, harm_cells))(content, rng)


def any_json(content: bytes, rng: random.Random) -> bytes:
    """Harm to a file that is one JSON value."""
    if rng.random() < 0.3:
        return any_text(content, rng)
    return json.dumps(harm_json(json.loads(content), rng)).encode()


def any_jsonl(content: bytes, rng: random.Random) -> bytes:
    """Harm to a file of one JSON value a line."""
    if rng.random() < 0.4:
        return any_text(content, rng)
    lines = content.splitlines()
    for _ in range(rng.choice((1, 3))):
        place = rng.randrange(len(lines))
        try:
            lines[place] = json.dumps(harm_json(json.loads(lines[place]), rng)).encode()
        except ValueError:
            lines[place] = b"{"  # harmed before
    return b"\n".join(lines) + b"\n"


def any_book(content: bytes, rng: random.Random) -> bytes:
    """Harm to a workbook."""
    return harm_bytes(content, rng) if rng.random() < 0.3 else harm_zip(content, rng)
