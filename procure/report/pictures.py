"""The charts of a plan as PNG."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from procure.plan import Plan
from procure.report.charts import charts, style

DOTS_PER_INCH = 130


def write_pictures(plan: Plan, folder: str | Path) -> list[Path]:
    """Save every chart of a plan as ``<name>.png`` in a folder, made if missing; same plan, same bytes."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with style():
        for name, (title, _, draw) in charts(plan).items():
            figure = draw()
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
            paths.append(save(figure, folder / f"{name}.png"))
    return paths


def save(figure: Figure, path: Path) -> Path:
    """Save a figure as its suffix says, PNG or SVG; the same figure gives the same bytes."""
    made_by = "Software" if path.suffix == ".png" else "Date"
    figure.savefig(path, dpi=DOTS_PER_INCH, metadata={made_by: None})
    return path
