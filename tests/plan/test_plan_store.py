"""A result folder is whole or not there: atomic, refusing what is not its own, and read back as it was written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from solved_case import solved_rich
from tiny_case import rich

from procure.errors import InputError
from procure.plan import Plan, Status
from procure.plan.summary import read_summary
from procure.plan.tables import TABLES


@pytest.fixture(scope="module")
def plan():
    return solved_rich().plan


@pytest.fixture(scope="module")
def written(plan, tmp_path_factory):
    """The plan as it is stored; nobody changes it."""
    return plan.write(tmp_path_factory.mktemp("written") / "out")


@pytest.fixture
def out(written, tmp_path):
    """A copy of the stored plan, to be spoilt."""
    return shutil.copytree(written, tmp_path / "out")


def listing(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


@pytest.mark.thorough
def test_a_plan_reads_back_as_it_was_written(plan, written):
    back = Plan.read(written)
    for name in TABLES:
        pd.testing.assert_frame_equal(plan.tables[name], back.tables[name], check_dtype=False, rtol=1e-14)
    summary = {k: v for k, v in plan.summary.items() if k != "seconds"}
    assert {k: v for k, v in back.summary.items() if k not in ("seconds", "files")} == json.loads(json.dumps(summary))
    assert back.status is plan.status
    assert back.objective_usd == plan.objective_usd
    pd.testing.assert_frame_equal(back.purchases, plan.purchases, check_dtype=False)


@pytest.mark.slow
def test_a_stored_plan_verifies_like_the_one_in_memory(written):
    from procure.plan.verify import verify

    assert verify(Plan.read(written), rich(), solved_rich().instance)["holds"].all()


def test_plan_json_holds_what_it_promises(written):
    stated = json.loads((written / "plan.json").read_text())
    assert {"status", "objective_usd", "bound_usd", "gap", "shortfall", "seconds", "versions", "input_hash"} <= set(
        stated
    )
    assert set(stated["seconds"]) >= {"load", "size", "build", "solve", "verify", "write"}
    assert stated["seconds"]["write"] > 0
    assert all(set(p) == {"quarter", "site", "sku", "count"} for p in stated["purchases"])
    assert stated["evidence"]["money"]
    assert sum(stated["evidence"]["rack_seconds"].values()) == pytest.approx(1.0)


def test_a_crash_while_reports_are_made_leaves_the_earlier_result_whole(plan, tmp_path):
    out = plan.write(tmp_path / "out", lambda plan, folder: (folder / "plan.xlsx").write_text("first"))
    before = listing(out)

    def crash(plan: Plan, folder: Path) -> None:
        (folder / "plan.xlsx").write_text("second")
        raise RuntimeError("out of ink")

    with pytest.raises(RuntimeError, match="out of ink"):
        plan.write(out, crash)
    assert listing(out) == before
    assert (out / "plan.xlsx").read_text() == "first"
    assert listing(tmp_path) == {"out"} | {f"out/{name}" for name in before}


def test_a_failed_rename_puts_the_earlier_result_back(plan, out, monkeypatch):
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    original = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if target == out / "plan.json" and self.parent.name == "new":
            raise OSError(28, "disk full")
        return original(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="disk full"):
        Plan({**plan.summary, "case": "another"}, plan.tables).write(out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_an_earlier_result_is_replaced_as_a_whole(plan, tmp_path):
    out = plan.write(tmp_path / "out", lambda plan, folder: (folder / "old.txt").write_text("x"))
    plan.write(out)
    assert not (out / "old.txt").exists()
    assert (out / "plan.json").exists()


def test_a_folder_with_other_files_is_refused_and_left_alone(plan, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds a result"):
        plan.write(tmp_path)
    assert listing(tmp_path) == {"thesis.tex"}


def test_a_file_in_the_place_of_the_folder_is_refused(plan, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="file"):
        plan.write(tmp_path / "out")


@pytest.mark.parametrize("lost", ["plan.json", "tables/fleet.csv"])
def test_a_result_with_a_part_missing_says_which(out, lost):
    (out / lost).unlink()
    with pytest.raises(InputError, match=lost.split("/")[-1]):
        Plan.read(out)


def test_a_table_without_a_column_says_which(out):
    table = pd.read_csv(out / "tables" / "cash.csv")
    table.drop(columns="npv_usd").to_csv(out / "tables" / "cash.csv", index=False)
    with pytest.raises(InputError, match="npv_usd"):
        Plan.read(out)


def test_every_status_has_the_exit_code_of_the_contract():
    assert {s: s.exit_code for s in Status} == {
        Status.OPTIMAL: 0,
        Status.LIMIT: 5,
        Status.SHORT: 6,
        Status.UNVERIFIED: 7,
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [("status", "great"), ("objective_usd", "cheap"), ("objective_usd", float("nan")), ("gap", "small"),
     ("shortfall", None), ("planned_quarters", []), ("lookahead_quarters", ["soon"]), ("purchases", "none"),
     ("input_hash", 5)],
)  # fmt: skip
def test_a_summary_that_is_none_is_refused_by_its_key(plan, tmp_path, key, value):
    (tmp_path / "plan.json").write_text(json.dumps({**plan.summary, key: value}))
    with pytest.raises(InputError) as refused:
        read_summary(tmp_path / "plan.json")
    assert [fault.column for fault in refused.value.faults] == [key]


def test_a_plan_json_that_is_no_object_is_refused(out):
    (out / "plan.json").write_text("[]")
    with pytest.raises(InputError, match="summary"):
        Plan.read(out)


SPOILT = [
    ("purchases", "count", "many"), ("purchases", "quarter", "soon"), ("cash", "cash_usd", "abc"),
    ("limits", "used", "-"), ("fleet", "closing", ""), ("fleet", "vintage", "old"),
    ("kv_placement", "parked_bytes", "x"), ("checks", "holds", "perhaps"), ("demand", "kv_bytes", "x"),
]  # fmt: skip


def test_cells_that_are_none_are_refused_together_with_file_row_and_column(out):
    for table, column, cell in SPOILT:
        path = out / "tables" / f"{table}.csv"
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        frame.loc[1, column] = cell
        frame.to_csv(path, index=False)
    with pytest.raises(InputError) as refused:
        Plan.read(out)
    found = {(fault.file, fault.row, fault.column) for fault in refused.value.faults}
    assert found == {(str(out / "tables" / f"{table}.csv"), 3, column) for table, column, _ in SPOILT}


@pytest.mark.parametrize("place", ["/dev/null", "/proc/nothing", "n" * 300])
def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(tmp_path, place):
    with pytest.raises(InputError):
        Plan.check_target(tmp_path / place)
    assert not list(tmp_path.iterdir())


def test_a_plan_json_of_another_program_is_no_result(plan, tmp_path):
    (tmp_path / "plan.json").write_text('{"format_version": "1.2", "planned_values": {}}')
    (tmp_path / "main.tf").write_text("source")
    with pytest.raises(InputError, match="other files"):
        plan.write(tmp_path)
    assert listing(tmp_path) == {"plan.json", "main.tf"}


def test_notes_beside_a_result_stay_and_a_changed_workbook_is_kept_aside(plan, tmp_path):
    out = plan.write(tmp_path / "out", lambda plan, folder: (folder / "plan.xlsx").write_text("first"))
    (out / "notes.md").write_text("mine")
    (out / "tables" / "mine.csv").write_text("mine")
    (out / "plan.xlsx").write_text("with remarks")
    told: list[str] = []
    plan.write(out, lambda plan, folder: (folder / "plan.xlsx").write_text("second"), told.append)
    assert (out / "notes.md").read_text() == (out / "tables" / "mine.csv").read_text() == "mine"
    assert (out / "kept-1" / "plan.xlsx").read_text() == "with remarks"
    assert (out / "plan.xlsx").read_text() == "second"
    assert len(told) == 1


def test_a_result_of_an_earlier_version_lists_nothing_so_all_of_it_is_kept_aside(plan, out):
    stored = json.loads((out / "plan.json").read_text())
    del stored["files"]
    (out / "plan.json").write_text(json.dumps(stored))
    before = listing(out)
    plan.write(out)
    assert {str(p.relative_to(out / "kept-1")) for p in (out / "kept-1").rglob("*")} == before
    assert Plan.changed_files(out) == []


def test_files_added_to_a_result_are_listed_and_the_others_stay(out):
    Plan.add(out, lambda folder: (folder / "plan.html").write_text("page"))
    assert Plan.changed_files(out) == []
    assert json.loads((out / "plan.json").read_text())["files"]["plan.html"]
    Plan.read(out)
    (out / "plan.html").write_text("altered")
    (out / "tables" / "sla.csv").write_text("altered")
    assert Plan.changed_files(out) == ["plan.html", "tables/sla.csv"]


def test_names_that_a_spreadsheet_would_run_are_stored_as_texts(plan, tmp_path):
    hostile = "=HYPERLINK(1)"
    tables = {**plan.tables, "sla": plan.tables["sla"].assign(workload=hostile)}
    out = Plan(plan.summary, tables).write(tmp_path / "out")
    assert ",'=HYPERLINK" in (out / "tables" / "sla.csv").read_text()
    assert set(Plan.read(out).tables["sla"]["workload"]) == {hostile}


def test_a_folder_that_is_no_result_is_told_once(tmp_path):
    with pytest.raises(InputError, match="A result folder of procure is needed") as told:
        Plan.read(tmp_path)
    assert [fault.file for fault in told.value.faults] == [str(tmp_path / "plan.json")]
