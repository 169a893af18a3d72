"""Each kind of hardware is the right buy in a shipped case, within the range that its README states and not beyond."""

from pathlib import Path

import pytest
from solved_case import searched

import procure
from procure.case.example import example_names
from procure.catalogue import packaged_path
from procure.plan.status import Status

VR, KIT, CMX = {"vr-nvl72"}, {"ssd-kit-vr-nvl72"}, {"cmx-rack", "cmx-enclosure"}
SPEED = "workloads/fast-code/tps_user"
PRICE, ENDURANCE = "hardware/ssd-kit-vr-nvl72/price_usd", "hardware/ssd-kit-vr-nvl72/endurance_dwpd"
ENCLOSURE = "hardware/cmx-enclosure/price_usd"

BOUGHT = [
    ("premium-coding", SPEED, 215, VR),
    ("premium-coding", SPEED, 220, VR | {"lpx"}),
    ("premium-coding", SPEED, 400, VR | {"lpx"}),
    ("premium-coding", SPEED, 650, VR | {"lpx"}),
    ("archive-rag", PRICE, "x1", VR | KIT),
    ("archive-rag", PRICE, "x1.6", VR | KIT),
    ("archive-rag", PRICE, "x2", VR | CMX),
    ("archive-rag", ENDURANCE, 0.7, VR | KIT),
    ("archive-rag", ENDURANCE, 0.3, VR | CMX),
    ("agent-pod", ENDURANCE, 1.3, VR | CMX),
    ("agent-pod", ENDURANCE, 1.5, VR | CMX | KIT),
    ("agent-pod", ENDURANCE, 2, VR | KIT),
    ("agent-pod", ENCLOSURE, "x1.8", VR | CMX),
    ("agent-pod", ENCLOSURE, "x2", VR | CMX | KIT),
]


def folder(name: str) -> Path:
    return packaged_path(f"data/cases/{name}")


def told_musd(name: str, value: object) -> str:
    """M USD that the README's tables of sweeps state of a value, as it is written there."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (folder(name) / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    dashes = [at for at, cells in enumerate(rows) if set(cells[0]) == {"-"}]
    (head,) = (at - 1 for at in dashes if str(value) in rows[at - 1][1:])
    costs = next(cells for cells in rows[head:] if cells[0] == "M USD")
    return costs[rows[head].index(str(value))]


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(("name", "path", "value", "skus"), BOUGHT)
def test_what_is_bought_on_both_sides_of_the_stated_range(name, path, value, skus):
    plan = searched(procure.Case.read(folder(name)).with_value(path, value), gap=0.0002)
    assert plan.status == Status.OPTIMAL
    assert plan.summary["gap"] <= 0.0002
    assert set(plan.tables["purchases"]["sku"]) == skus
    assert float(told_musd(name, value)) == pytest.approx(plan.objective_usd / 1e6, rel=0.003)


@pytest.mark.slow(seconds=3)
def test_beyond_650_tps_no_pool_reaches_the_speed_and_nothing_is_bought():
    plan = procure.solve(procure.Case.read(folder("premium-coding")).with_value(SPEED, 700))
    assert plan.status == Status.SHORT
    assert plan.tables["purchases"].empty


@pytest.mark.parametrize("name", sorted(set(example_names()) - {"agentic-2027"}))
def test_a_small_case_says_its_range_and_its_sources(name):
    story = (folder(name) / "README.md").read_text(encoding="utf-8")
    assert f"procure sweep data/cases/{name}" in story
    assert (folder(name) / "sources.csv").is_file()
    assert f"`{name}`" in (folder(name).parent / "README.md").read_text(encoding="utf-8")
    deciding = {path for case, path, _, _ in BOUGHT if case == name}
    assert deciding
    assert all(f"--vary {path}=" in story for path in deciding)
