"""What a search leaves for those of cases that are alike: what its cuts follow from, and its fleet, by name.

Any multipliers of a block's rows bound its cost from below, at whatever coefficients (:meth:`Block.cut`): what was
learnt at one price, limit or growth is worked out again at another. It is never wrong there, only less tight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from procure.instance import Instance
from procure.program import Program
from procure.program import build as build_program
from procure.solver.blocks import Cut, Proof
from procure.solver.compile import Compiled, compile_program
from procure.solver.highs import AT_LOWER, BASIC, Basis
from procure.solver.split import Split
from procure.timekey import TimeKey

MOST_KEPT = 16
"""Cuts of a kind that are kept of a block: more make the master slower than they make it sharper."""


@dataclass(frozen=True)
class _Names:
    """Names of the columns and rows of a block."""

    columns: list[str]
    rows: list[str]


@dataclass
class Memory:
    """What is known of cases like one: empty at first, read by a search as it begins and renewed as it ends.

    A case counts as alike where its blocks have most of their columns and rows in common by name, whatever their
    coefficients; of one that is not alike nothing is used. The plan is one of the same gap, though where several are
    within it perhaps another one than without a memory.
    """

    proofs: dict[TimeKey, list[tuple[bool, Proof]]] = field(default_factory=dict)
    """By block: whether it is of a feasibility cut, and what it follows from, the latest last."""
    names: dict[TimeKey, _Names] = field(default_factory=dict)
    fleet: dict[str, float] = field(default_factory=dict)
    """The first-stage columns of the best plan."""
    built: tuple[str, Program, Compiled] | None = None
    """The last program, and the hash of its instance: where only orders are held otherwise it is the same."""

    def program_of(self, instance: Instance) -> tuple[Program, Compiled]:
        """The program of an instance; the last one where that was of the same instance."""
        content = instance.hash
        if self.built is None or self.built[0] != content:
            program = build_program(instance)
            self.built = content, program, compile_program(program)
        return self.built[1:]

    def renew(self, split: Split, fleet: np.ndarray) -> None:
        """Hold what a search knows at its end."""
        compiled = split.compiled
        self.proofs, self.names = {}, {}
        for block in split.blocks:
            self.names[block.at] = _Names(_of(compiled.columns, block.columns), _of(compiled.rows, block.rows))
            self.proofs[block.at] = []
        for cut in _closest(split.cuts, fleet):
            self.proofs[split.blocks[cut.block].at].append((cut.feasibility, cut.proof))
        self.fleet = dict(zip(_of(compiled.columns, split.columns), fleet.tolist(), strict=True))

    def cuts(self, split: Split) -> list[Cut]:
        """The cuts that the proofs give at the coefficients of another case."""
        compiled, found = split.compiled, []
        for block in split.blocks:
            known = self.names.get(block.at)
            if known is None:
                continue
            now = _Names(_of(compiled.columns, block.columns), _of(compiled.rows, block.rows))
            places = None if now == known else (_places(known.columns, now.columns), _places(known.rows, now.rows))
            for feasibility, proof in self.proofs[block.at]:
                cut = block.recall(proof if places is None else _moved(proof, *places), feasibility)
                if cut is not None:
                    found.append(cut)
        return found

    def point(self, split: Split) -> np.ndarray | None:
        """The fleet of the last plan, within the bounds that columns have now; None before there was one."""
        if not self.fleet:
            return None
        compiled = split.compiled
        lower, upper = compiled.col_lower[split.columns], compiled.col_upper[split.columns]
        names = _of(compiled.columns, split.columns)
        return np.clip(np.array([self.fleet.get(name, 0.0) for name in names]), lower, upper)


def _closest(cuts: list[Cut], fleet: np.ndarray) -> list[Cut]:
    """Of each block the cuts of each kind that ask most of a fleet, in the order in which they were found."""
    kinds = defaultdict(list)
    for place, cut in enumerate(cuts):
        kinds[cut.block, cut.feasibility].append((cut.value(fleet) / cut.scale, place))
    kept = [place for kind in kinds.values() for _, place in sorted(kind)[-MOST_KEPT:]]
    return [cuts[place] for place in sorted(kept)]


def _of(names: Sequence[str], positions: np.ndarray) -> list[str]:
    return [names[i] for i in positions]


def _places(known: list[str], now: list[str]) -> np.ndarray:
    """Where each of the present names was, or -1."""
    was = {name: i for i, name in enumerate(known)}
    return np.array([was.get(name, -1) for name in now], dtype=int)


def _moved(proof: Proof, columns: np.ndarray, rows: np.ndarray) -> Proof:
    """A proof in the present order of columns and rows; what it does not know has no price and no say."""
    if not isinstance(proof, Basis):
        return np.where(rows >= 0, proof[rows], 0.0)
    last = proof.columns[-1]  # excess, a column that every block has
    at = np.where(columns >= 0, proof.columns[columns], AT_LOWER)
    return Basis(np.append(at, last).astype(np.int8), np.where(rows >= 0, proof.rows[rows], BASIC).astype(np.int8))
