"""The tutorial is what a reader will type: every block runs, in order."""

import re
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


@pytest.mark.slow(seconds=25)
def test_every_block_of_the_tutorial_runs():
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"tutorial.md block {number}", "exec"), names)
    assert names["plan"].tables["checks"]["holds"].all()
