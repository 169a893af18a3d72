"""Full disks and readers that go away: one sentence, no traceback, and the exit code that the verb earned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tiny_case import tiny

from procure.cli import main
from procure.plan import Plan

START = [sys.executable, "-c", "import sys; from procure.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return tiny(peaks={"chat": [60, 80, 90]}).write(tmp_path_factory.mktemp("streams") / "case")


def started(words: list[str], shell: str) -> subprocess.CompletedProcess[str]:
    """A verb in a process of its own, its standard output arranged by the shell."""
    line = f'"$@" {shell}'
    return subprocess.run(["bash", "-c", line, "run", *START, *words], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "code", "said"), [
    ("| true; exit ${PIPESTATUS[0]}", 0, "closed before everything was written"),
    (">&-", 0, ""),
    ("> /dev/full", 2, "No space left on device"),
])  # fmt: skip
def test_output_that_cannot_be_written_is_one_sentence(case, shell, code, said):
    if "full" in shell and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    run = started(["check", str(case), "--json"], shell)
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    assert "Exception ignored" not in run.stderr
    assert run.stderr.strip().count("\n") == 0
    assert said in run.stderr


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_a_full_disk_leaves_the_earlier_result_and_keeps_the_plan_elsewhere(case, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    assert main(["solve", str(case), "-o", str(out), "--threads", "1"]) == 0
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    capsys.readouterr()
    from procure import files

    original = files._put

    def put(folder: Path, *rest: object) -> None:
        if folder == out:
            raise OSError(28, "No space left on device")
        original(folder, *rest)

    monkeypatch.setattr(files, "_put", put)
    assert main(["solve", str(case), "-o", str(out), "--threads", "1"]) == 2
    told = capsys.readouterr().err
    assert "stands there as before" in told
    assert f"{out}: No space left on device." in told
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    spare = Path(told.split("kept in ")[1].split(";")[0])
    assert Plan.read(spare).status == "optimal"


@pytest.mark.thorough
def test_a_workbook_that_cannot_be_made_leaves_plan_and_tables(case, tmp_path, monkeypatch, capsys):
    import procure.report.files

    def broken(*_: object) -> Path:
        raise RuntimeError("no ink")

    monkeypatch.setattr(procure.report.files, "write_workbook", broken)
    assert main(["solve", str(case), "-o", str(tmp_path / "out"), "--threads", "1"]) == 1
    told = capsys.readouterr().err
    assert "Kept: plan.json and tables" in told
    assert "no ink" in told
    assert Plan.read(tmp_path / "out").status == "optimal"


@pytest.mark.slow
def test_verify_names_a_changed_workbook_and_keeps_its_code_when_nobody_reads(case, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["solve", str(case), "-o", str(out), "--threads", "1"]) == 0
    (out / "plan.html").write_text("altered")
    run = started(["verify", str(out)], "| true; exit ${PIPESTATUS[0]}")
    assert run.returncode == 7, run.stderr
    capsys.readouterr()
    assert main(["verify", str(out)]) == 7
    assert "plan.html changed" in capsys.readouterr().out


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_solve_into_the_folder_one_works_in(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["solve", str(case), "-o", ".", "--threads", "1"]) == 0
    (tmp_path / "notes.md").write_text("mine")
    assert main(["solve", str(case), "-o", ".", "--threads", "1"]) == 0
    assert (tmp_path / "notes.md").read_text() == "mine"
    assert not [p for p in tmp_path.iterdir() if p.name.startswith((".", "kept"))]
