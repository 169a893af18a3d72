"""Help must stay quick: what is heavy is imported by the verb that needs it."""

import subprocess
import sys

import pytest

from procure.cli import build_app

HEAVY = ("pandas", "numpy", "pyomo", "highspy", "matplotlib", "scipy", "openpyxl", "xlsxwriter", "pydantic")


@pytest.mark.thorough
def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom procure.cli import main\ncode = main(['--help'])\n"
        f"heavy = [n for n in {HEAVY!r} if n in sys.modules]\nprint('HEAVY', heavy, code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.rstrip().endswith("HEAVY [] 0")
    for command in build_app().registered_commands:
        assert f" {command.name or getattr(command.callback, '__name__', '')} " in done.stdout


@pytest.mark.thorough
def test_the_package_is_its_own_command():
    """``python -m procure`` says what the script says, with its exit codes."""
    words = [sys.executable, "-m", "procure"]
    done = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("procure ")
    wrong = subprocess.run([*words, "solv"], capture_output=True, text=True, timeout=60, check=False)
    assert wrong.returncode == 2
    assert "solv" in wrong.stderr
