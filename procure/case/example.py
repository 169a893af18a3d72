"""Copying a packaged example case."""

from __future__ import annotations

import shutil
from pathlib import Path

from procure.catalogue import packaged_path
from procure.errors import Fault, InputError, nearest
from procure.files import fill_folder


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
    fill_folder(folder, lambda fresh: shutil.copytree(packaged_path(f"data/cases/{name}"), fresh, dirs_exist_ok=True))
    return sorted(path.name for path in folder.iterdir())
