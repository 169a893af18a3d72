"""The command line: quick help, exit codes, and the verbs that prepare a case."""

import json
import subprocess
import sys

import pytest

from procure.case import Case
from procure.case.example import example_names
from procure.cli import main
from procure.cli.prepare import OFFERED


@pytest.mark.thorough
def test_help_imports_nothing_heavy():
    code = "import sys; from procure.cli import main; main(['--help']); print({'pandas', 'pyomo'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("set()")


@pytest.mark.thorough
def test_help_lists_the_verbs_and_each_verb_explains_its_arguments(capsys):
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    for verb, argument in (("new", "--from"), ("check", "--json")):
        assert f" {verb} " in listed
        assert main([verb, "--help"]) == 0
        assert argument in capsys.readouterr().out


def test_help_offers_every_packaged_case():
    assert sorted(OFFERED.split(", ")) == example_names()


@pytest.mark.parametrize("example", example_names())
def test_a_new_case_is_the_packaged_one_and_reads(example, tmp_path, capsys):
    assert main(["new", str(tmp_path / "mine"), "--from", example]) == 0
    assert "procure check" in capsys.readouterr().out
    assert Case.read(tmp_path / "mine").settings.name


def test_new_writes_nothing_into_a_folder_that_holds_something(tmp_path, capsys):
    (tmp_path / "kept.txt").write_text("mine")
    assert main(["new", str(tmp_path)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]
    assert "new or empty" in capsys.readouterr().err


def test_an_unknown_example_is_refused_with_the_known_ones(tmp_path, capsys):
    assert main(["new", str(tmp_path / "x"), "--from", "agentic-2026"]) == 2
    assert "agentic-2027" in capsys.readouterr().err


def test_a_wrong_case_exits_with_2_and_every_fault_on_stderr_without_a_traceback(tmp_path, capsys):
    main(["new", str(tmp_path / "mine")])
    capsys.readouterr()
    budget = tmp_path / "mine" / "budget.csv"
    budget.write_text(budget.read_text().replace("2027Q1,", "2027Q9,"))
    fleet = tmp_path / "mine" / "fleet.csv"
    fleet.write_text(fleet.read_text().replace("gb300-nvl72", "gb30-nvl72", 1))
    assert main(["check", str(tmp_path / "mine")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "budget.csv" in said.err
    assert "gb300-nvl72" in said.err
    assert "Traceback" not in said.err


def test_words_that_are_no_verb_exit_with_2(capsys):
    assert main(["chek"]) == 2
    assert "check" in capsys.readouterr().err


def test_debug_shows_the_traceback_wherever_it_stands(tmp_path):
    from procure.errors import InputError

    with pytest.raises(InputError):
        main(["check", str(tmp_path / "nowhere"), "--debug"])


@pytest.mark.slow(seconds=2)
def test_check_passes_a_packaged_case_and_gives_clean_json(tmp_path, capsys):
    """A small one; that the largest passes is asked where its instance is at hand (check/test_check_arithmetic.py)."""
    main(["new", str(tmp_path / "mine"), "--from", "premium-coding"])
    capsys.readouterr()
    assert main(["check", str(tmp_path / "mine"), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert {"finding", "holds", "detail"} <= set(findings[0])


@pytest.mark.slow(seconds=2)
def test_check_exits_with_6_where_demand_cannot_be_met(tmp_path, capsys):
    main(["new", str(tmp_path / "mine"), "--from", "premium-coding"])
    case = Case.read(tmp_path / "mine").with_value("forecast.fast-code.peak_requests_per_s", "x40")
    case.write(tmp_path / "big")
    assert main(["check", str(tmp_path / "big")]) == 6
    assert "FAIL" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [["new", "/proc/nothing"], ["template", "/proc/nothing.xlsx"], ["new", "/dev/null/below"]],
)
def test_a_place_that_cannot_be_written_to_is_wrong_input_and_no_bug(words, capsys):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "/dev/null" in said or "/proc/nothing" in said
    assert "bug" not in said
