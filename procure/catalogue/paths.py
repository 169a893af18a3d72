"""Where packaged data lies: beside the package in a clone, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path


def packaged_path(name: str) -> Path:
    """The file or folder ``name`` of the packaged data, for example ``data/hardware``.

    Raises:
        FileNotFoundError: neither a clone nor an installed wheel holds it.
    """
    package = Path(__file__).resolve().parent.parent
    for root in (package / "packaged", package.parent):
        if (root / name).exists():
            return root / name
    raise FileNotFoundError(f"packaged data {name!r} is missing from {package}; install procure again")
