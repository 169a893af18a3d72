"""Nothing that the user had is lost: only files that a listing names, as it wrote them, are ever replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from procure.errors import InputError
from procure.files import LISTING, check_folder, write_files


def one(**files: str):
    """A maker of files; ``__`` in a name stands for a folder."""

    def make(fresh: Path) -> None:
        for name, text in files.items():
            path = fresh / (name.replace("__", "/") + ".txt")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    return make


def content(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}


def without_listing(folder: Path) -> dict[str, str]:
    return {name: text for name, text in content(folder).items() if name != LISTING}


def test_listed_files_are_replaced_and_those_not_made_again_go(tmp_path):
    write_files(tmp_path, one(a="1", b="1", deep__c="1"))
    write_files(tmp_path, one(a="2"))
    assert without_listing(tmp_path) == {"a.txt": "2"}
    assert {p.name for p in tmp_path.iterdir()} == {"a.txt", LISTING}


def test_what_is_not_listed_stays(tmp_path):
    write_files(tmp_path, one(a="1", deep__c="1"))
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "deep" / "notes.md").write_text("mine too")
    write_files(tmp_path, one(a="2"))
    assert without_listing(tmp_path) == {"a.txt": "2", "notes.md": "mine", "deep/notes.md": "mine too"}


def test_a_listed_file_that_was_changed_is_kept_aside_and_said(tmp_path):
    write_files(tmp_path, one(a="1", b="1"))
    (tmp_path / "a.txt").write_text("my remarks")
    (tmp_path / "b.txt").write_text("mine as well")
    told: list[str] = []
    write_files(tmp_path, one(a="2"), tell=told.append)
    assert without_listing(tmp_path) == {"a.txt": "2", "kept-1/a.txt": "my remarks", "kept-1/b.txt": "mine as well"}
    assert len(told) == 2
    assert all("kept-1" in sentence for sentence in told)
    (tmp_path / "a.txt").write_text("more remarks")
    write_files(tmp_path, one(a="3"))
    assert (tmp_path / "kept-2" / "a.txt").read_text() == "more remarks"
    assert (tmp_path / "kept-1" / "a.txt").read_text() == "my remarks"


def test_a_listing_that_was_changed_is_kept_aside(tmp_path):
    write_files(tmp_path, one(a="1"))
    listing = json.loads((tmp_path / LISTING).read_text())
    (tmp_path / LISTING).write_text(json.dumps({**listing, "remark": "mine"}))
    write_files(tmp_path, one(a="2"), content=lambda: {"x": 1})
    assert json.loads((tmp_path / "kept-1" / LISTING).read_text())["remark"] == "mine"


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_stands_in_the_way_is_kept_aside(tmp_path, kind):
    folder = tmp_path / "out"
    write_files(folder, one(a="1"))
    (tmp_path / "elsewhere.txt").write_text("mine")
    if kind == "file":
        (folder / "deep").write_text("mine")  # where a folder must be
    elif kind == "folder":
        (folder / "deep" / "c.txt").mkdir(parents=True)
        (folder / "deep" / "c.txt" / "x").write_text("mine")
    else:
        (folder / "deep").mkdir()
        (folder / "deep" / "c.txt").symlink_to(tmp_path / "elsewhere.txt")
    write_files(folder, one(deep__c="2"))
    assert (folder / "deep" / "c.txt").read_text() == "2"
    assert (tmp_path / "elsewhere.txt").read_text() == "mine"
    kept = folder / "kept-1" / ("deep" if kind == "file" else "deep/c.txt")
    assert (kept / "x" if kind == "folder" else kept).read_text() == "mine"


def test_a_listing_cannot_point_outside_its_folder(tmp_path):
    folder = tmp_path / "out"
    write_files(folder, one(a="1"))
    (tmp_path / "a.txt").write_text("1")
    listing = json.loads((folder / LISTING).read_text())
    same = listing["files"]["a.txt"]
    listing["files"] |= {"../a.txt": same, str(tmp_path / "a.txt"): same}
    (folder / LISTING).write_text(json.dumps(listing))
    write_files(folder, one(b="2"))
    assert (tmp_path / "a.txt").read_text() == "1"


@pytest.mark.parametrize("moment", range(1, 7))
def test_a_move_that_fails_puts_everything_back(tmp_path, monkeypatch, moment):
    folder = tmp_path / "out"
    write_files(folder, one(a="1", deep__c="1"))
    (folder / "a.txt").write_text("changed")
    before = content(folder)
    moves = [0]
    original = Path.rename

    def rename(self: Path, target: Path) -> Path:
        moves[0] += 1
        if moves[0] == moment:
            raise OSError(28, "No space left on device")
        return original(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="No space left") as failed:
        write_files(folder, one(a="2", deep__c="2", new__d="2"))
    assert failed.value.filename == str(folder)
    assert content(folder) == before
    assert {p.name for p in folder.iterdir()} == {"a.txt", "deep", LISTING}


def test_a_new_folder_that_nothing_came_into_is_gone_again(tmp_path):
    def full(fresh: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_files(tmp_path / "new" / "out", full)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_one_works_in_can_be_written_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_folder(".")
    write_files(".", one(a="1"))
    check_folder(".")
    write_files(".", one(a="2"))
    assert without_listing(tmp_path) == {"a.txt": "2"}


def test_only_what_is_new_empty_or_ours_is_taken(tmp_path):
    check_folder(tmp_path)
    check_folder(tmp_path / "new" / "deep")
    (tmp_path / "lost+found").mkdir()  # the root of a mount point
    check_folder(tmp_path)
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="Holds other files"):
        check_folder(tmp_path)
    with pytest.raises(InputError, match="This is a file"):
        check_folder(tmp_path / "thesis.tex")
    assert {p.name for p in tmp_path.iterdir()} == {"lost+found", "thesis.tex"}


def test_a_folder_that_takes_no_files_is_refused_by_trying():
    with pytest.raises(InputError, match="Cannot be written to"):
        check_folder("/proc/new")
