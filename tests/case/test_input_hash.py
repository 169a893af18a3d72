"""What the input hash covers: every packaged number that a plan of the case reads, and nothing else."""

from __future__ import annotations

import csv
import functools
import gc
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tiny_case import tiny

from procure.catalogue import packaged_path, paths
from procure.instance import build

GB = "gb300-nvl72"
Row = dict[str, str]


class Packaged(NamedTuple):
    """A copy of the packaged data that the code reads instead of its own, and what a case answers on it unchanged."""

    data: Path
    before: tuple[str, str]


def caches() -> list[Any]:
    """Every cache of the package: what they hold of packaged data is to be forgotten.

    Those too that the collector was told to leave alone (``conftest``): it does not list them.
    """
    gc.unfreeze()
    return [
        found
        for found in gc.get_objects()
        if isinstance(found, functools._lru_cache_wrapper) and found.__module__.startswith("procure")
    ]


def answers() -> tuple[str, str]:
    """Input hash and instance hash of one case, built afresh on the data as they are."""
    formats = {"kv_format": "fp8+rope=bf16", "weight_precision": "fp8"}
    case = tiny(workloads={"chat": formats}, settings={"tps_percentile": 90})
    return case.input_hash, build(case).hash


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The copy as it is, with a way to forget what was read of it."""
    folder = tmp_path_factory.mktemp("packaged")
    for name in ("data", "models"):
        shutil.copytree(packaged_path(name), folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "__file__", str(folder / "procure" / "catalogue" / "paths.py"))
        known = caches()

        def forget() -> None:
            for found in known:
                found.cache_clear()

        forget()
        before = answers()
        known = caches()  # with those of modules that were imported only now
        yield Packaged(folder / "data", before), forget
    forget()


@pytest.fixture
def changed(copied):
    """What the case answers once an edit has changed the copy, which is put right again afterwards."""
    packaged, forget = copied
    whole = {path: path.read_bytes() for path in packaged.data.parent.rglob("*") if path.is_file()}

    def after(edit: Callable[[Path], None]) -> tuple[str, str]:
        edit(packaged.data)
        forget()
        return answers()

    yield packaged.before, after
    for path in [path for path in packaged.data.parent.rglob("*") if path.is_file()]:
        if path not in whole:
            path.unlink()
        elif path.read_bytes() != whole[path]:
            path.write_bytes(whole[path])


def rewrite(path: Path, change: Callable[[Row], Row]) -> int:
    """Change rows of a table; how many changed."""
    text = path.read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    made = [change(dict(row)) for row in rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
    return sum(a != b for a, b in zip(rows, made, strict=True))


def scaled(columns: str, mine: Callable[[Row], bool], factor: float = 1.25) -> Callable[[Row], Row]:
    """Numbers in some columns times a factor, in the rows that are not ``mine``."""

    def change(row: Row) -> Row:
        for column in columns.split():
            if not mine(row) and row[column] not in ("", "inf") and row[column].replace(".", "", 1).isdigit():
                row[column] = f"{float(row[column]) * factor:g}"
        return row

    return change


PRICED = ("price_usd", "power_kw", "hbm_bytes_per_gpu", "attach_usd", "store_bytes", "weight_kg", "life_years")


def everything_else(data: Path) -> None:
    """Change what the case does not name: other SKUs, scenarios, curves, formats, cards, benchmarks, premises."""
    used = {GB, f"ssd-kit-{GB}"}
    for path in sorted((data / "hardware").glob("*.csv")):
        if path.stem in ("aliases", "classes", "price_paths"):
            continue
        rewrite(path, scaled("value low high", lambda r: r["sku"] in used or r["attribute"] not in PRICED))
    shutil.copy(data / "hardware" / "rubin-ultra-nvl144.csv", data / "hardware" / "new.csv")
    rewrite(data / "hardware" / "new.csv", lambda r: {**r, "sku": r["sku"].replace("rubin-ultra-nvl144", "newer")})
    chat = functools.partial(lambda column, r: r[column] == "chat")
    moved = [
        rewrite(data / "scenarios" / "scenarios.csv", scaled("low base high", lambda r: r["scenario"] == "chat")),
        rewrite(data / "scenarios" / "sla.csv", scaled("value", lambda r: r["scenario"] == "chat")),
        rewrite(data / "scenarios" / "profiles.csv", scaled("of_mean", lambda r: r["scenario"] == "chat")),
        rewrite(data / "reuse" / "curves.csv", scaled("return_base", lambda r: chat("curve", r), 0.5)),
        rewrite(data / "reuse" / "sources.csv", scaled("base", lambda r: chat("curve", r), 0.5)),
        rewrite(data / "reuse" / "pools.csv", scaled("hit_rate", lambda r: False)),
        rewrite(data / "premises_curves.csv", scaled("value high", lambda r: r["name"].startswith(GB))),
        rewrite(data / "premises_fitted.csv", scaled("value high", lambda r: r["group"] != "framework")),
        rewrite(data / "performance" / "points.csv", scaled("tps_per_gpu", lambda r: False)),
        rewrite(
            data / "kv_formats" / "formats.csv", lambda r: r if r["format"] == "fp8" else {**r, "encoding": "fp32"}
        ),
        rewrite(data / "kv_formats" / "weights.csv", lambda r: r if r["precision"] == "fp8" else {**r, "ffn": "fp32"}),
        rewrite(data / "premises_performance.csv", scaled("value", lambda r: "p90" in r["name"], 0.99)),
        rewrite(data / "premises.csv", scaled("value low high", lambda r: r["group"] != "site")),
    ]
    assert all(moved)
    card = data.parent / "models" / "gpt-oss-120b.json"
    card.write_text(card.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    (data / "README.md").write_text("other words", encoding="utf-8")


@pytest.mark.thorough
def test_what_the_case_does_not_use_moves_neither_its_hash_nor_any_coefficient(changed):
    before, after = changed
    assert after(everything_else) == before


def one(name: str, columns: str, mine: Callable[[Row], bool], factor: float = 1.01) -> Callable[[Path], None]:
    """An edit of the rows of one table that are ``mine``."""

    def edit(data: Path) -> None:
        assert rewrite(data / name, scaled(columns, lambda r: not mine(r), factor))

    return edit


def card(data: Path) -> None:
    path = data.parent / "models" / "deepseek-v3.2.json"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")


USED: dict[str, Callable[[Path], None]] = {
    "a figure of a SKU": one(f"hardware/{GB}.csv", "value high", lambda r: r["attribute"] == "power_kw"),
    "the drives in it": one("hardware/ssd.csv", "value high", lambda r: r["sku"] == f"ssd-kit-{GB}"),
    "its class": one("hardware/classes.csv", "value high", lambda r: r["attribute"] == "life_years"),
    "its price path": one("hardware/price_paths.csv", "value high", lambda r: True),
    "its scenario": one("scenarios/scenarios.csv", "base high", lambda r: r["scenario"] == "chat"),
    "its SLA": one("scenarios/sla.csv", "value", lambda r: r["scenario"] == "chat"),
    "its day": one("scenarios/profiles.csv", "of_mean", lambda r: r["scenario"] == "chat" and r["hour"] == "3"),
    "its reuse": one("reuse/curves.csv", "return_base", lambda r: r["curve"] == "chat", 0.99),
    "its KV format": one("kv_formats/encodings.csv", "bits_per_element", lambda r: r["encoding"] == "fp8", 2),
    "a role of its KV format": one(
        "kv_formats/encodings.csv", "bits_per_element", lambda r: r["encoding"] == "bf16", 2
    ),
    "a premise of a default": one("premises.csv", "value", lambda r: r["name"] == "utilisation_cap", 0.99),
    "the speed of the slow streams": one("premises_performance.csv", "value", lambda r: "p90" in r["name"], 0.99),
    "the physics that is fitted": one("premises_fitted.csv", "value", lambda r: r["name"] == "kv_efficiency", 0.99),
    "the physics that is chosen": one("premises_physics.csv", "value", lambda r: r["name"] == "usable_hbm", 0.99),
    "its card": card,
}


@pytest.mark.parametrize("edit", USED.values(), ids=USED)
@pytest.mark.thorough
def test_what_the_case_uses_changes_its_hash(changed, edit):
    before, after = changed
    inputs, coefficients = after(edit)
    assert inputs != before[0]
    if edit is not card:  # words that nothing reads
        assert coefficients != before[1]


@pytest.mark.thorough
def test_the_copy_put_right_answers_as_before(changed):
    """So that each edit above is told apart from all others."""
    before, after = changed
    assert after(lambda data: None) == before
