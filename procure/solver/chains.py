"""Chains of columns that only fall, told by their steps: fewer rows, and linear programs that are done sooner.

A cohort of caches that only shrinks with age is x_0 ≥ x_1 ≥ … ≥ x_n ≥ 0, a row for every link. By what is let go after
each age, d_i = x_i − x_{i+1} ≥ 0, it is

    x_i = Σ_{j≥i} d_j,   0 ≤ d_j ≤ u,   Σ_j d_j ≤ u

for x_i ≤ u, one bound along the whole chain: a bound of every step and one row, the same services and costs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from procure.solver.compile import Compiled


class Chained(NamedTuple):
    """A program by the steps of its chains, and the way back: ``steps`` takes its columns to those of the program."""

    compiled: Compiled
    steps: sparse.csr_matrix


def chained(compiled: Compiled) -> Chained:
    """The same program with the steps of its chains for columns; names and positions of columns stay.

    A link is a row of a block with no more in it than x_i − x_{i−1} ≤ 0, both from 0 on and up to the same bound: a
    lower one of x_i would not hold for its steps together. The first link of a chain becomes the row of its first
    column's bound; the others fall away.
    """
    after, link = _links(compiled)
    width = len(compiled.columns)
    heads = np.setdiff1d(np.flatnonzero(after >= 0), after)
    rows, columns = [np.arange(width)], [np.arange(width)]
    firsts = []
    for head in heads:
        chain = [head]
        while after[chain[-1]] >= 0:
            chain.append(after[chain[-1]])
        whole, step = np.triu_indices(len(chain), 1)
        rows.append(np.array(chain)[whole])
        columns.append(np.array(chain)[step])
        firsts.append(link[head])
    place = np.concatenate(rows), np.concatenate(columns)
    steps = sparse.csr_matrix((np.ones(len(place[0])), place), shape=(width, width))
    matrix = sparse.csr_matrix(compiled.matrix @ steps)
    bound = sparse.csr_matrix((np.ones(len(heads)), (np.array(firsts, dtype=int), heads)), shape=compiled.matrix.shape)
    kept = np.ones(len(compiled.rows), dtype=bool)
    kept[link[link >= 0]] = False
    held = sparse.diags(kept.astype(float)) @ matrix + bound @ steps
    kept[firsts] = True
    upper = compiled.row_upper.copy()
    upper[firsts] = compiled.col_upper[heads]
    rest = np.flatnonzero(kept)
    matrix = sparse.csr_matrix(held)[rest]
    matrix.eliminate_zeros()
    return Chained(
        replace(
            compiled,
            matrix=matrix,
            row_lower=compiled.row_lower[rest],
            row_upper=upper[rest],
            mendable=compiled.mendable[rest],
            row_block=compiled.row_block[rest],
            rows=[compiled.rows[i] for i in rest],
            keys=[compiled.keys[i] for i in rest],
            cost=steps.T @ compiled.cost,
            shortfall=steps.T @ compiled.shortfall,
        ),
        steps,
    )


def _links(compiled: Compiled) -> tuple[np.ndarray, np.ndarray]:
    """For every column the next one of its chain and the row of that link, or -1."""
    matrix, width = compiled.matrix, len(compiled.columns)
    after, link = np.full(width, -1), np.full(width, -1)
    taken = np.zeros(width, dtype=bool)
    most = (compiled.row_upper == 0.0) & np.isneginf(compiled.row_lower) & (compiled.row_block >= 0)
    for row in np.flatnonzero(most & (np.diff(matrix.indptr) == 2) & ~compiled.mendable):
        place = slice(matrix.indptr[row], matrix.indptr[row + 1])
        pair, coefs = matrix.indices[place], matrix.data[place]
        if sorted(coefs) != [-1.0, 1.0]:
            continue
        next_one, before = int(pair[np.argmax(coefs)]), int(pair[np.argmin(coefs)])
        own = (compiled.column_block[pair] >= 0).all() and not compiled.integer[pair].any()
        within = compiled.col_upper[next_one] == compiled.col_upper[before] and not compiled.col_lower[pair].any()
        if own and within and not compiled.tolerated[pair].any() and after[before] < 0 and not taken[next_one]:
            after[before], link[before] = next_one, row
            taken[next_one] = True
    return after, link
