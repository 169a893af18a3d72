"""Copying a packaged example case."""

from __future__ import annotations

import shutil
from pathlib import Path

from procure.catalogue import packaged_path
from procure.errors import Fault, InputError, nearest


def example_names() -> list[str]:
    """Names of the packaged cases."""
    return sorted(path.name for path in packaged_path("data/cases").iterdir() if (path / "case.toml").is_file())


def copy_example(name: str, folder: Path) -> list[str]:
    """Copy a packaged case into a folder that is new or empty; returns the names of the files.

    Raises:
        InputError: no such example, or the folder holds something.
    """
    if name not in example_names():
        raise InputError([Fault("--from", 0, "", name, "A packaged case.", nearest(name, example_names()))])
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError([Fault(str(folder), 0, "", "", "A folder that is new or empty.", "Nothing was written.")])
    shutil.copytree(packaged_path(f"data/cases/{name}"), folder, dirs_exist_ok=True)
    return sorted(path.name for path in folder.iterdir())
