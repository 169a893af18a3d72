"""A wheel in an environment that holds what `requirements.txt` locks and nothing else works from any folder."""

import os
import re
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def locked(name: str) -> set[str]:
    """Requirements of a file, each with its version, marker and hashes."""
    lines = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return {re.sub(r"\s+", " ", line).strip() for line in lines if line.strip() and not line.lstrip().startswith("#")}


def test_what_a_wheel_needs_is_locked_as_in_the_environment_of_the_tests():
    """`make env` installs these with their hashes from nothing; so does whoever takes the shorter file."""
    needed = locked("requirements.txt")
    assert len(needed) > 30
    assert all("--hash=sha256:" in line for line in needed)
    assert needed <= locked("requirements-dev.txt")


def lend(packages: Path) -> None:
    """Put what `requirements.txt` locks for this machine into an environment: links to the files that are here."""
    for line in locked("requirements.txt"):
        requirement = Requirement(line.split(" --hash=")[0])
        if requirement.marker and not requirement.marker.evaluate():
            continue
        found = distribution(requirement.name)
        assert found.version in requirement.specifier, f"{line.split(' --hash=')[0]}, here is {found.version}"
        for top in {file.parts[0] for file in found.files or ()} - {".."}:
            (packages / top).exists() or (packages / top).symlink_to(found.locate_file(top))


@pytest.mark.slow(seconds=12)
def test_wheel_beside_locked_requirements_alone_prepares_checks_and_sizes(tmp_path):
    def run(*words: str | Path, cwd: Path = tmp_path) -> str:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
        done = subprocess.run([str(w) for w in words], cwd=cwd, env=clean, capture_output=True, text=True, timeout=900)
        assert done.returncode in (0, 6), done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT, cwd=ROOT)
    wheel = next(tmp_path.glob("procure-*.whl"))
    venv.create(tmp_path / "clean")
    python = tmp_path / "clean" / "bin" / "python"
    lend(Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()))
    # The pip that is here fills it; modules that nothing imports are not compiled.
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile", "--no-index", wheel)
    elsewhere = tmp_path / "some where"
    elsewhere.mkdir()
    procure = tmp_path / "clean" / "bin" / "procure"
    run(procure, "new", "my example", cwd=elsewhere)
    assert "agentic-2027" in (elsewhere / "my example" / "case.toml").read_text(encoding="utf-8")
    run(procure, "new", "my case", "--from", "premium-coding", cwd=elsewhere)
    assert "premium-coding" in run(procure, "check", "my case", cwd=elsewhere)
    assert "deepseek-v3.2" in run(procure, "kv", "deepseek-v3.2", "--tokens", "8k,128Ki", "--json", cwd=elsewhere)
    where = run(python, "-c", "import procure; print(procure.__file__)", cwd=elsewhere)
    assert "clean" in where
    assert "pytest" not in run(python, "-c", "import pkgutil; print([m.name for m in pkgutil.iter_modules()])")
