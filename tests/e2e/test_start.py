"""Help must stay quick: what is heavy is imported by the verb that needs it."""

import subprocess
import sys

HEAVY = ("pandas", "numpy", "pyomo", "highspy", "matplotlib", "scipy", "openpyxl", "xlsxwriter", "pydantic")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom procure.cli import main\ncode = main(['--help'])\n"
        f"heavy = [n for n in {HEAVY!r} if n in sys.modules]\nprint('HEAVY', heavy, code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.rstrip().endswith("HEAVY [] 0")
    for verb in ("new", "check", "trace", "roll", "kv", "perf", "solve", "sweep", "verify", "report"):
        assert f" {verb} " in done.stdout
