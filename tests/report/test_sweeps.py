"""The picture of a sweep, and what it draws as no finding."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from procure.errors import InputError
from procure.report import plot_sweep
from procure.study.sweep import ties

LEVELS = (0.0, 0.5, 1.0)


def swept(failed: tuple[float, ...] = (), others: tuple[str, ...] = ("low",), gap: float = 1e6) -> pd.DataFrame:
    """Costs of 10, 12 and 14 M USD along the growth, with one gap."""
    rows = []
    for level in LEVELS:
        for other in others:
            row = {"growth": level, "reuse": other, "status": "failed" if level in failed else "optimal"}
            if level not in failed:
                cost = (10 + 4 * level) * 1e6
                row |= {"objective_usd": cost, "bound_usd": cost - gap, "shortfall_share": 0.0, "shortfall_bound": 0.0}
                row |= {"ordered vr-nvl72": 10 * level + 1, "ordered vr-nvl72 2027Q1": 1.0, "ordered lpx": 2.0}
                row |= {f"kv_bytes {tier}": 1e12 * level for tier in ("hbm", "dram", "ssd", "cmx")}
            rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("others", [("low",), ("low", "high")])
def test_a_picture_shows_what_failed_and_what_ties(tmp_path: Path, others: tuple[str, ...]) -> None:
    varied = ["growth", "reuse"][: len(others)]
    frames = {"whole": swept((), others), "broken": swept((0.5,), others), "tied": swept((), others, gap=3e6)}
    drawn = {name: plot_sweep(frame, varied, tmp_path / f"{name}.png") for name, frame in frames.items()}
    images = {name: Image.open(png) for name, (png, _) in drawn.items()}
    assert len({image.size for image in images.values()}) == 1
    assert len({image.tobytes() for image in images.values()}) == len(images)
    texts = {name: svg.read_text(encoding="utf-8") for name, (_, svg) in drawn.items()}
    assert [name for name, text in texts.items() if "Hollow" in text] == ["tied"]
    assert [name for name, text in texts.items() if "no plan" in text] == ["broken"]
    assert "2027Q1" not in texts["whole"]


def test_points_tie_where_costs_and_shortfalls_overlap() -> None:
    varied = ["growth"]
    assert ties(swept(gap=1.9e6), varied) == [False, False, False]
    assert ties(swept(gap=2e6), varied) == [False, True, True]
    assert ties(swept((0.5,), gap=3.9e6), varied) == [False, False, False]
    assert ties(swept((0.5,), gap=4e6), varied) == [False, False, True]
    unbounded = swept().assign(bound_usd=None)
    assert ties(unbounded, varied) == [False, True, True]
    short = swept(gap=3e6).assign(shortfall_share=[0.0, 0.2, 0.2], shortfall_bound=[0.0, 0.1, 0.1])
    assert ties(short, varied) == [False, False, True]
    two = swept((), ("low", "high"), gap=3e6)
    assert ties(two, ["growth", "reuse"]) == [False, False, True, True, True, True]


@pytest.mark.parametrize("varied", [["growth", "reuse", "other"], [], ["other"]])
def test_what_a_picture_cannot_show_is_refused(tmp_path: Path, varied: list[str]) -> None:
    with pytest.raises(InputError, match="one or two names"):
        plot_sweep(swept().assign(**dict.fromkeys(varied[2:], 1)), varied, tmp_path / "no.png")


def test_a_sweep_over_words_without_any_plan_is_drawn(tmp_path: Path) -> None:
    frame = swept(LEVELS).assign(growth=["low", "base", 2.0])
    columns = [c for c in swept() if c not in frame]
    assert plot_sweep(frame.assign(**dict.fromkeys(columns)), ["growth"], tmp_path / "none.png")[0].exists()
