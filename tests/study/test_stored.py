"""Stored plans and studies are found again, whatever else lies beside them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from solved_case import planned
from tiny_case import tiny

from procure.cli import main
from procure.errors import InputError
from procure.plan import Plan
from procure.plan.provenance import provenance, telemetry
from procure.plan.summary import EARLIER, read_summary
from procure.study import sweep
from procure.study.stored import stored

REUSE = [("ours", 60.0, 0.2, 0.5), ("ours", 600.0, 0.4, 0.5)]


def case() -> Any:
    return tiny(peaks={"chat": [60, 80, 90]})


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan, a study of three points of which one fails, another program's plan.json, and a damaged plan."""
    folder = tmp_path_factory.mktemp("shelf")
    planned(case(), gap=0.01).write(folder / "a plan")
    vary = {"utilisation_cap": [0.6, 0.75, 7.0]}
    sweep(case(), vary, out=folder / "studies" / "caps", gap=0.01, threads=1)
    for name, content in (("others", {"plan": "of a house"}), ("damaged", {"objective_usd": "much"})):
        (folder / name).mkdir()
        (folder / name / "plan.json").write_text(json.dumps(content))
    return folder


@pytest.mark.thorough
def test_plans_and_studies_are_listed_and_points_are_not(shelf: Path) -> None:
    found, unread = stored(shelf)
    rows = {row["place"]: row for row in found.to_dict("records")}
    assert set(rows) == {"a plan", "studies/caps"}
    plan = Plan.read(shelf / "a plan")
    one, other = rows["a plan"], rows["studies/caps"]
    assert (one["what"], one["status"], one["objective_usd"]) == ("plan", "optimal", plan.objective_usd)
    assert one["made"] == plan.summary["provenance"]["made"]
    assert (other["what"], other["status"]) == ("sweep", "2 with a plan, 1 failed")
    assert other["input_hash"] == one["input_hash"] == case().input_hash
    assert other["objective_usd"] <= one["objective_usd"] * 1.02
    assert any("damaged" in sentence for sentence in unread)
    assert not any("others" in sentence for sentence in unread)


def test_a_study_that_was_not_finished_says_what_is_left(shelf: Path, tmp_path: Path) -> None:
    for name in ("study.json", "outcomes.jsonl"):
        lines = (shelf / "studies" / "caps" / name).read_text().splitlines(keepends=True)
        (tmp_path / name).write_text("".join(lines if name == "study.json" else lines[:1]))
    (row,) = stored(tmp_path)[0].to_dict("records")
    assert (row["place"], row["status"]) == (".", "1 with a plan, 2 left")


def test_a_plan_of_an_earlier_release_is_listed_by_the_date_of_its_file(shelf: Path, tmp_path: Path) -> None:
    content = json.loads((shelf / "a plan" / "plan.json").read_text())
    kept = {key: value for key, value in content.items() if key not in EARLIER or key == "case"}
    (tmp_path / "plan.json").write_text(json.dumps(kept))
    os.utime(tmp_path / "plan.json", (1_700_000_000, 1_700_000_000))
    (row,) = stored(tmp_path)[0].to_dict("records")
    assert row["made"] == "2023-11-14T22:13:20+00:00"
    assert read_summary(tmp_path / "plan.json")["doubts"] == []


@pytest.mark.parametrize(
    ("name", "edit", "said"),
    [
        ("study.json", {"changes": None}, "column changes: read 'None'. A list."),
        ("study.json", {"case": 5}, "column case: read '5'. A text."),
        ("study.json", {"provenance": {}}, "column provenance.made"),
        ("study.json", {"provenance": None}, "column provenance: read 'None'. An object."),
        ("outcomes.jsonl", {"facts": {}}, "Lines written by a study are needed. ('gap')"),
    ],
)
def test_a_study_that_was_changed_is_not_listed_and_why_is_said(
    shelf: Path, tmp_path: Path, name: str, edit: dict[str, Any], said: str
) -> None:
    for file in ("study.json", "outcomes.jsonl"):
        text = (shelf / "studies" / "caps" / file).read_text()
        first = json.loads(text if file == "study.json" else text.splitlines()[0])
        (tmp_path / file).write_text(json.dumps(first | edit if file == name else first) + "\n")
    found, unread = stored(tmp_path)
    assert found.empty
    assert any(said in sentence for sentence in unread), unread


@pytest.mark.parametrize("content", [b'{"objective_usd": 1, ', b"", b'{"objective_usd": "\xff"}'])
def test_a_damaged_plan_is_said_not_passed_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    found, (sentence,) = stored(tmp_path)
    assert found.empty
    assert "plan.json: A plan of procure is needed." in sentence


def test_the_verb_shows_them_and_json_is_alone_on_stdout(shelf: Path, capsys: Any) -> None:
    assert main(["list", str(shelf)]) == 0
    told = capsys.readouterr()
    assert "studies/caps" in told.out
    assert "Not listed" in told.err
    assert main(["list", str(shelf), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["what"] for row in rows] == ["sweep", "plan"]  # the latest first
    assert main(["list", str(shelf / "nowhere")]) == 2


def test_a_folder_without_any_says_so(tmp_path: Path, capsys: Any) -> None:
    assert main(["list", str(tmp_path)]) == 0
    assert "No plan or study" in capsys.readouterr().out
    with pytest.raises(InputError):
        stored(tmp_path / "none")


@pytest.mark.thorough
def test_a_plan_says_what_it_rests_on() -> None:
    reuse = pd.DataFrame(REUSE, columns=["curve", "age_s", "return_share", "reused_share"])
    said = pd.DataFrame([("reuse", "return_share", "measured", "trace of March")],
                        columns=["table", "column", "kind", "source"])  # fmt: skip
    own = tiny(peaks={"chat": [60, 80, 90]}, workloads={"chat": {"reuse_curve": "ours"}},
               tables={"reuse": reuse, "sources": said})  # fmt: skip
    plan = planned(own, gap=0.01)
    stated = plan.summary["provenance"]
    (measured,) = stated["telemetry"]
    assert (measured["table"], measured["rows"], measured["sources"]) == ("reuse", 2, ["trace of March"])
    assert measured["hash"] == stated["hashes"]["tables/reuse"]
    assert stated["hashes"]["inputs"] == plan.summary["input_hash"] == own.input_hash
    premises = plan.tables["premises"]
    assert plan.summary["premises"]["count"] == len(premises) == sum(plan.summary["premises"]["by_kind"].values())
    assert 0 < plan.summary["premises"]["with_band"] < len(premises)
    turned = own.replace(tables={"reuse": reuse.iloc[::-1]})
    assert provenance(turned)["hashes"] == stated["hashes"]
    other = own.replace(tables={"reuse": reuse.assign(return_share=[0.2, 0.5])})
    assert telemetry(other)[0]["hash"] != measured["hash"]
