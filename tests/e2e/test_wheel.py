"""A wheel in a clean environment, from hashed requirements, works from any folder."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow(seconds=25)
def test_wheel_in_a_clean_environment_prepares_checks_and_sizes(tmp_path):
    def run(*words: str | Path, cwd: Path = tmp_path) -> str:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
        done = subprocess.run([str(w) for w in words], cwd=cwd, env=clean, capture_output=True, text=True, timeout=900)
        assert done.returncode in (0, 6), done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT, cwd=ROOT)
    wheel = next(tmp_path.glob("procure-*.whl"))
    venv.create(tmp_path / "clean")
    python = tmp_path / "clean" / "bin" / "python"
    # The pip that is here fills it; modules that nothing imports are not compiled.
    install = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile")
    run(*install, "--require-hashes", "-r", ROOT / "requirements.txt")
    run(*install, "--no-deps", wheel)
    elsewhere = tmp_path / "some where"
    elsewhere.mkdir()
    procure = tmp_path / "clean" / "bin" / "procure"
    run(procure, "new", "my case", cwd=elsewhere)
    assert "agentic-2027" in run(procure, "check", "my case", cwd=elsewhere)
    assert "deepseek-v3.2" in run(procure, "kv", "deepseek-v3.2", "--tokens", "8k,128Ki", "--json", cwd=elsewhere)
    where = run(python, "-c", "import procure; print(procure.__file__)", cwd=elsewhere)
    assert "clean" in where
