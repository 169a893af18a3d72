"""Reading a user's CSV: what stops pandas is said in words."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from procure.errors import Fault, InputError, nearest


def read_csv(path: str | Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A CSV file as text, with at least these columns.

    Raises:
        InputError: the file cannot be read or is no CSV, a column is missing, or there is no row.
    """
    file = Path(path)
    try:
        raw = pd.read_csv(file, dtype=str, keep_default_na=False)
    except OSError as error:
        raise _fault(str(path), 0, f"The file cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise _fault(file.name, 0, "The file is not text in UTF-8; save it as CSV (UTF-8).") from error
    except pd.errors.EmptyDataError as error:
        raise _fault(file.name, 0, f"The file is empty. It needs the columns {', '.join(columns)}.") from error
    except pd.errors.ParserError as error:
        raise _fault(file.name, 0, f"This is no valid CSV: {error}.") from error
    lacking = [name for name in columns if name not in raw]
    if len(lacking) == len(columns):
        raise _fault(file.name, 1, f"None of its columns is known. It needs {', '.join(columns)}.")
    if lacking:
        expected = "This column is needed."
        raise InputError([Fault(file.name, 1, name, "", expected, nearest(name, raw.columns)) for name in lacking])
    if raw.empty:
        raise _fault(file.name, 1, "The file has no row under its header.")
    return raw


def _fault(file: str, row: int, expected: str) -> InputError:
    return InputError([Fault(file, row, "", "", expected)])
