"""Files written so that nothing that the user had is lost.

A folder that ``procure`` writes into holds a JSON file, its *listing*, whose ``files`` map each path to the SHA-256 of
what was written there. Only what a listing names is ever replaced. What stands in the way and is not named, or was
changed since, moves to ``kept-1``, ``kept-2``, … of the same folder, and that is said.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from procure.errors import Fault, InputError

LISTING = "procure-files.json"
"""The listing of a folder that is no result; a result's is its ``plan.json``."""
FILES = "files"
_WORK = ".procure-"
_NOBODYS = {"lost+found"}
"""What a file system puts into the root of a mount point by itself."""

Tell = Callable[[str], object]


def silent(_: str) -> None:
    """Tell nobody."""


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def listing_digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of a listing's own content, ``files`` apart: what a listing states of itself."""
    rest = {key: value for key, value in content.items() if key != FILES}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Listed:
    """What a folder's listing says: its content, or none; the files it names with their hashes."""

    content: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, listing: str, is_ours: Callable[[dict[str, Any]], bool]) -> Listed | None:
        """The listing of a folder; None if there is none, or one that ``procure`` did not write."""
        try:
            content = json.loads((folder / listing).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(content, dict) or not is_ours(content):
            return None
        files = content.get(FILES)
        named = files if isinstance(files, dict) else {}
        return cls(content, {k: v for k, v in named.items() if isinstance(v, str) and _is_inside(k)})

    def owns(self, folder: Path, name: str, listing: str) -> bool:
        """Whether a file is named and is still as it was written."""
        path = folder / name
        if name not in self.files or path.is_symlink() or not path.is_file():
            return False
        stands = listing_digest(self.content) if name == listing else digest(path)
        return stands == self.files[name]


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name and name not in ("", ".")


def has_files(content: Mapping[str, Any]) -> bool:
    """Whether a listing names files; what tells the listing of a folder that is no result."""
    return isinstance(content.get(FILES), dict)


def check_folder(
    folder: str | Path,
    listing: str = LISTING,
    is_ours: Callable[[dict[str, Any]], bool] = has_files,
    expected: str = "A folder that is new or empty, or holds earlier files of this command.",
) -> None:
    """Make sure that files can be written into a folder, by writing and renaming one, before work is spent.

    Raises:
        InputError: a file stands there, or something that is not ours, or nothing can be written.
    """
    folder = Path(folder)
    wrong = ""
    try:
        if folder.exists() and not folder.is_dir():
            wrong = f"This is a file. {expected}"
        elif _holds_others(folder, listing) and Listed.read(folder, listing, is_ours) is None:
            wrong = f"Holds other files. {expected}"
        else:
            _try(folder)
    except OSError as error:
        wrong = f"Cannot be written to: {error.strerror}."
    if wrong:
        raise InputError([Fault(str(folder), 0, "", "", wrong, "Nothing was written. Name another folder.")])


def _holds_others(folder: Path, listing: str) -> bool:
    if not folder.exists():
        return False
    names = {path.name for path in folder.iterdir()}
    return bool({name for name in names - _NOBODYS if not name.startswith(_WORK)})


def _try(folder: Path) -> None:
    """Write, rename and remove a file in a folder, or make and remove the folder where it does not exist yet."""
    place = folder.absolute()
    home = next(above for above in (place, *place.parents) if above.exists())
    with tempfile.TemporaryDirectory(prefix=_WORK, dir=home) as name:
        inside = Path(name).joinpath(*place.relative_to(home).parts)
        inside.mkdir(parents=True, exist_ok=True)  # a name may not be allowed there
        trial = inside / "trial"
        trial.write_text("trial\n", encoding="utf-8")
        trial.rename(inside / "renamed")


def write_files(
    folder: str | Path,
    make: Callable[[Path], object],
    *,
    listing: str = LISTING,
    is_ours: Callable[[dict[str, Any]], bool] = has_files,
    content: Callable[[], Mapping[str, Any]] = dict,
    replaces: Callable[[str], bool] = lambda name: True,
    tell: Tell = silent,
) -> list[Path]:
    """Make files beside their place and put them there together with the listing, all or nothing.

    Args:
        folder: made if it is missing; the files are renamed inside it, so it may be a mount point or the folder that
            one works in.
        make: writes the files into a folder that it is given.
        listing: name of the JSON file that lists them.
        is_ours: tells a listing that ``procure`` wrote.
        content: what the listing holds beside ``files``, asked for when all else is made; an earlier listing's by
            default.
        replaces: which of the files named by an earlier listing these stand for: such a file that is not made again
            is removed, the others stay.
        tell: called with one sentence for each file that was kept aside.

    Returns:
        the files, without the listing.

    Raises:
        OSError: the files cannot be made or put there; what stood in the folder stands there as before.
    """
    folder = Path(folder)
    with _said_of(folder), _work_folder(folder) as work:
        fresh = work / "new"
        fresh.mkdir()
        make(fresh)
        names = sorted(path.relative_to(fresh).as_posix() for path in fresh.rglob("*") if not path.is_dir())
        earlier = Listed.read(folder, listing, is_ours) or Listed()
        stay = {name: stands for name, stands in earlier.files.items() if not replaces(name) and name != listing}
        head = dict(content()) or {k: v for k, v in earlier.content.items() if k != FILES}
        files = {**stay, **{name: digest(fresh / name) for name in names}, listing: listing_digest(head)}
        text = json.dumps({**head, FILES: dict(sorted(files.items()))}, indent=1, allow_nan=False)
        (fresh / listing).write_text(text + "\n", encoding="utf-8")
        gone = [name for name in earlier.files if name not in files]
        _put(folder, work, [*names, listing], gone, earlier, listing, tell)
    return [folder / name for name in names]


def fill_folder(folder: str | Path, make: Callable[[Path], object]) -> None:
    """Make files beside their place and put them into a folder that is new or empty, all or nothing; no listing.

    Args:
        folder: made if it is missing.
        make: writes the files into a folder that it is given.

    Raises:
        InputError: the folder holds something, or cannot be written to.
        OSError: the files cannot be made or put there; the folder is as it was before.
    """
    folder = Path(folder)
    check_folder(folder, is_ours=lambda _: False, expected="A folder that is new or empty.")
    with _said_of(folder), _work_folder(folder) as work:
        fresh = work / "new"
        fresh.mkdir()
        make(fresh)
        names = sorted(path.relative_to(fresh).as_posix() for path in fresh.rglob("*") if not path.is_dir())
        _put(folder, work, names, [], Listed(), LISTING, silent)


def place_of(error: BaseException) -> OSError | None:
    """What the system said of a file that could not be read or written; libraries may have wrapped it."""
    inner = error if isinstance(error, OSError) else next(iter(error.args), None)
    return inner if isinstance(inner, OSError) and inner.strerror else None


@contextmanager
def _said_of(folder: Path) -> Iterator[None]:
    """Faults of the system name the folder that the user named, not what is being made inside it."""
    try:
        yield
    except Exception as error:
        inner = place_of(error)
        if inner is None:
            raise
        raise OSError(inner.errno, inner.strerror, str(folder)) from error


@contextmanager
def _work_folder(folder: Path) -> Iterator[Path]:
    """A folder inside the target for what is being made; it is gone in the end, and so is a target made for nothing."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=_WORK, dir=folder))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        for place in made:
            _remove_if_empty(place)


def _put(
    folder: Path, work: Path, names: list[str], gone: Iterable[str], earlier: Listed, listing: str, tell: Tell
) -> None:
    """Move new files into their places, and what stands there out of the way; everything back if a move fails."""
    moves: list[tuple[Path, Path]] = []
    kept: list[str] = []
    aside = next(folder / f"kept-{n}" for n in range(1, 10**9) if not os.path.lexists(folder / f"kept-{n}"))

    def move(source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
        moves.append((source, target))

    def clear(name: str) -> None:
        if not os.path.lexists(folder / name):
            return
        ours = earlier.owns(folder, name, listing)
        if not ours:
            kept.append(name)
        move(folder / name, (work / "old" if ours else aside) / name)

    try:
        for name in gone:
            clear(name)
        for name in names:
            for above in reversed(PurePosixPath(name).parents[:-1]):
                if not (folder / above).is_dir():
                    clear(str(above))
            clear(name)
        for name in names:
            move(work / "new" / name, folder / name)
    except BaseException:
        for source, target in reversed(moves):
            source.parent.mkdir(parents=True, exist_ok=True)
            target.rename(source)
        _prune(aside)
        for name in names:
            _prune((folder / name).parent, stop=folder)
        raise
    for name in gone:
        _prune((folder / name).parent, stop=folder)
    for name in kept:
        tell(f"{folder / name} was not as it had been written: kept as {aside / name}.")


def _prune(folder: Path, stop: Path | None = None) -> None:
    """Remove a folder that holds nothing but empty folders, and those above it below ``stop``."""
    if folder.is_dir():
        for inner in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
            _remove_if_empty(inner)
    while folder != stop:
        _remove_if_empty(folder)
        if stop is None:
            return
        folder = folder.parent


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
