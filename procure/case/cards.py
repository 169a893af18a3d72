"""A case's own cards, copied with it: wherever they lay, the new case holds them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from procure.catalogue import packaged_path
from procure.sizing import card_files

PLACE = "cards"
"""Folder of a written case for cards that lay outside the case it was written from."""


def copy_cards(names: Mapping[str, str], home: Path | None, target: Path) -> dict[str, str]:
    """Copy the files of cards into a case's folder.

    A card inside the folder ``home`` keeps its place; one from elsewhere goes to ``cards``, with the base that it
    changes beside it as it lay.

    Args:
        names: card as the case states it → as :func:`procure.sizing.load_card` reads it.
        home: folder of the case that states them.
        target: folder of the case that is written.

    Returns:
        card as stated → as the written case states it.
    """
    written: dict[str, str] = {}
    places: dict[Path, Path] = {}
    for stated, read in names.items():
        packaged = packaged_path("models").resolve()
        files = [path.resolve() for path in card_files(read) if not path.resolve().is_relative_to(packaged)]
        if not files:
            written[stated] = read
            continue
        inside = home is not None and all(path.is_relative_to(home.resolve()) for path in files)
        if home is not None and inside:
            root, place = home.resolve(), Path()
        else:
            root = Path(os.path.commonpath([path.parent for path in files]))
            root = root.parent if files[0].name == "config.json" and root == files[0].parent else root
            place = places.setdefault(root, Path(PLACE) if not places else Path(PLACE) / str(len(places) + 1))
        for path in files:
            copy = target / place / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        card = place / files[0].relative_to(root)
        written[stated] = (card.parent if card.name == "config.json" else card).as_posix()
    return written
