"""Length distributions of prompts, and the few buckets that stand for them.

A distribution is a table of points of equal meaning: lengths ``x`` with shares ``w`` (one row per distribution, the
same number of columns). Everything here works on many distributions at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]

_EDGES = np.linspace(-4.0, 4.0, 401)
_Z = (_EDGES[:-1] + _EDGES[1:]) / 2
SHARES: Array = np.diff(ndtr(_EDGES)) / (ndtr(4.0) - ndtr(-4.0))
"""Share of requests at each of the 400 points of a distribution (cells of equal width in standard deviations)."""

LOG_NORMAL = 0.005
"""Four numbers this close to those of a log-normal are one."""

SAME = 1e-9
"""Lengths that differ by a smaller share of themselves are one: well above rounding, below any that is meant."""
ROUNDED = 9
"""Decimals to which square roots of lengths over their mean are compared, in keeping with :data:`SAME`."""

Z50, Z90, Z99 = 0.0, 1.2815515655446004, 2.3263478740408408


def from_quantiles(mean: Array, p50: Array, p90: Array, p99: Array) -> Array:
    """Lengths at the points of :data:`SHARES` for a mean and three quantiles.

    The logarithm of the length is linear between the quantiles on the normal scale (a log-normal when the three lie on
    one line), goes on above p99 at half the slope of the last piece (real tails end at context limits), and falls
    below p50 at the slope that gives the mean. Mean and quantiles that all are of one log-normal give that log-normal,
    its tail included. Where no slope does, the nearest one is taken and all lengths are
    scaled, so that the mean always holds and the quantiles move; :func:`quantile` tells by how much.

    Args:
        mean: tokens, shape (distributions,).
        p50: tokens, same shape; so ``p90`` and ``p99``, which must not fall.

    Returns:
        tokens, shape (distributions, 400), rising along a row.
    """
    knots = np.log(np.stack([p50, p90, p99]).astype(float))
    mid = (knots[1] - knots[0]) / (Z90 - Z50)
    top = (knots[2] - knots[1]) / (Z99 - Z90)
    z = _Z[None, :]
    upper = knots[0][:, None] + np.where(
        z <= Z90, mid[:, None] * z, mid[:, None] * Z90 + top[:, None] * (np.minimum(z, Z99) - Z90)
    )
    one = np.abs(top - mid) < LOG_NORMAL * mid
    one &= np.abs(np.log(mean) - knots[0] - mid**2 / 2) < LOG_NORMAL
    upper += np.where(one, top, top / 2)[:, None] * np.maximum(z - Z99, 0.0)
    above = z > 0

    def lengths(slope: Array) -> Array:
        return np.exp(np.where(above, upper, knots[0][:, None] + slope[:, None] * z))

    steep, flat = np.full_like(mid, 8.0), np.zeros_like(mid)  # a steep fall gives the smaller mean
    level = lengths(flat) @ SHARES <= mean * (1 + SAME)  # no fall at all: equal quantiles stay exactly equal
    for _ in range(40):
        middle = (steep + flat) / 2
        too_small = lengths(middle) @ SHARES < mean
        steep, flat = np.where(too_small, middle, steep), np.where(too_small, flat, middle)
    x = lengths(np.where(level, 0.0, (steep + flat) / 2))
    return np.round(x * (mean / (x @ SHARES))[:, None], 6)


def widen(x: Array, spread: Array) -> Array:
    """Lengths with another spread around their median and the same mean: more long requests where it is above 1.

    Args:
        x: tokens, shape (distributions, points).
        spread: factor on the logarithm of length over median, shape (distributions, times).

    Returns:
        tokens, shape (distributions, times, points); ``x`` itself where the factor is 1.
    """
    if (spread == 1.0).all():
        return x[:, None, :]
    median = quantile(x, 0.5)[:, None, None]
    power = np.log(x[:, None, :] / median) * spread[:, :, None]
    wide = np.exp(power - power.max(axis=-1, keepdims=True))  # over the longest: no spread leaves the range of numbers
    scaled = wide * ((x @ SHARES)[:, None] / (wide @ SHARES))[:, :, None]
    return np.where(spread[:, :, None] == 1.0, x[:, None, :], scaled)


def from_histogram(up_to: Array, share: Array, mean: float) -> Array:
    """Lengths at the points of :data:`SHARES` for one histogram of requests.

    Inside a bin requests are spread evenly in the logarithm of the length; then all lengths are scaled to the mean.

    Args:
        up_to: upper ends of the bins in tokens, rising; the first bin begins at half its upper end.
        share: share of requests in each bin; they are scaled to sum to 1.
        mean: tokens.

    Returns:
        tokens, shape (400,), rising.
    """
    ends = np.concatenate([[up_to[0] / 2], up_to]).astype(float)
    cumulative = np.concatenate([[0.0], np.cumsum(share) / np.sum(share)])
    middle = np.cumsum(SHARES) - SHARES / 2
    x = np.exp(np.interp(middle, cumulative, np.log(ends)))
    return np.round(x * (mean / (x @ SHARES)), 6)


def quantile(x: Array, share: Array | float) -> Array:
    """Length below which ``share`` of the requests lie, one per row (``share`` scalar or one per row)."""
    cumulative = np.cumsum(SHARES)
    wanted = np.broadcast_to(np.asarray(share, dtype=float), (len(x),))
    column = np.minimum(np.searchsorted(cumulative, wanted - 1e-9), x.shape[1] - 1)
    return x[np.arange(len(x)), column]


@dataclass(frozen=True)
class Buckets:
    """Buckets of many distributions, each array (distributions, buckets), rising in tokens.

    Attributes:
        share: share of the requests; 0 for a bucket that is not needed.
        tokens: length that stands for the bucket.
        upper: longest length in it; of the last bucket the 99.9% quantile, or ``tokens`` where that is longer.
        node_share, node_tokens: two lengths inside each bucket with their shares of it, (distributions, buckets, 2):
            they have the first three moments of its requests, for means of functions that are not quadratic.
    """

    share: Array
    tokens: Array
    upper: Array
    node_share: Array
    node_tokens: Array


def buckets(x: Array, count: int = 4) -> Buckets:
    """The ``count`` buckets that stand for each distribution.

    Bucket i holds the next ``share`` of the requests in order of length. The ends are those of Lloyd's quantiser on
    the square root of the length: fine where requests are many, still fine where tokens are. Each bucket's length is
    the mean of its requests, then moved so that the second moment holds as well: the last bucket up, the others
    down in proportion to their spread, tokens unchanged. Hence requests, tokens, and the mean of every cost that
    is quadratic in the length (KV bytes of full attention, prefill) are those of the distribution; for costs
    with a kink (sliding windows beside full attention) the error is up to 3%, and up to 1% at the two nodes inside
    each bucket.

    Args:
        x: tokens, shape (distributions, points) as from :func:`from_quantiles`.
        count: buckets; a distribution of fewer distinct lengths leaves the rest with share 0.
    """
    label = _quantise(np.sqrt(x), count)
    member = label[:, :, None] == np.arange(count)
    share = np.einsum("p,dpb->db", SHARES, member)
    held = np.where(share > 0, share, 1.0)
    mean = np.einsum("p,dp,dpb->db", SHARES, x, member) / held
    longest = np.where(member, x[:, :, None], 0.0).max(axis=1)
    shortest = np.where(member, x[:, :, None], np.inf).min(axis=1)
    mean = np.where(share > 0, np.clip(mean, shortest, longest), mean)  # equal lengths: exactly theirs
    # moments about the mean of each bucket: as differences of raw moments, a narrow bucket's would be rounding
    off = np.where(member, x[:, :, None] - mean[:, None, :], 0.0)
    spread = np.sqrt(np.einsum("p,dpb->db", SHARES, off**2) / held)
    spread = np.where(spread > SAME * mean, spread, 0.0)
    third = np.einsum("p,dpb->db", SHARES, off**3) / held

    last = count - 1 - np.argmax(share[:, ::-1] > 0, axis=1)
    top = np.arange(count) == last[:, None]
    tokens = mean + _second_moment(share, mean, spread, top)
    upper = np.maximum(np.where(top, quantile(x, 0.999)[:, None], longest), tokens)
    return Buckets(share, tokens, upper, *_nodes(mean, spread, third))


def _second_moment(share: Array, mean: Array, spread: Array, top: NDArray[np.bool_]) -> Array:
    """Moves of the buckets' means, the last bucket up and the others down, that restore the second moment."""
    weight = np.where(top, 0.0, share * spread)
    total = weight.sum(axis=1, keepdims=True)
    move = np.where(top, 1.0, -np.sum(share * top, axis=1, keepdims=True) * spread / np.where(total > 0, total, 1.0))
    a, b = (share * move**2).sum(axis=1), 2 * (share * mean * move).sum(axis=1)
    lacking = (share * spread**2).sum(axis=1)
    below = b + np.sqrt(np.maximum(b * b + 4 * a * lacking, 0.0))
    movable = (total[:, 0] > 0) & (below > 0)
    step = np.where(movable, 2 * lacking / np.where(movable, below, 1.0), 0.0)
    return np.asarray(step[:, None] * move)


def _nodes(mean: Array, spread: Array, third: Array) -> tuple[Array, Array]:
    """Shares and values of the two points that have a mean, a standard deviation and a third central moment.

    They are the nodes of the two-point Gauss rule, so both lie inside the bucket; without spread both are its mean.
    """
    skew = np.where(spread > 0, third / np.where(spread > 0, spread, 1.0) ** 3 / 2, 0.0)
    root = np.sqrt(1 + skew**2)
    values = np.stack([mean + spread * (skew - root), mean + spread * (skew + root)], axis=-1)
    return np.stack([(1 + skew / root) / 2, (1 - skew / root) / 2], axis=-1), values


def _quantise(y: Array, count: int) -> NDArray[np.int64]:
    """Cluster of each point: ``count`` runs of each row of ``y`` with the least squared distance to their means."""
    y = np.round(y / (y @ SHARES)[:, None], ROUNDED)  # equal lengths, up to rounding, share a cluster
    mass = np.cumsum(SHARES * y, axis=1)
    label = np.minimum((mass / mass[:, -1:] * count).astype(int), count - 1)
    for _ in range(60):
        member = label[:, :, None] == np.arange(count)
        held = np.einsum("p,dpb->db", SHARES, member)
        centre = np.einsum("p,dp,dpb->db", SHARES, y, member) / np.where(held > 0, held, 1.0)
        centre = np.maximum.accumulate(np.where(held > 0, centre, 0.0), axis=1)
        ends = (centre[:, 1:] + centre[:, :-1]) / 2
        update = (y[:, :, None] > ends[:, None, :]).sum(axis=2)
        if np.array_equal(update, label):
            break
        label = update
    return label
