"""How long a parked cache occupies its store."""

from __future__ import annotations


def held_seconds(seconds: float, mean_released: float, return_share: float) -> float:
    """Seconds that a cache occupies a store in an age interval: ∫ (1 − α·ρ·R(a)) da over the interval.

    ``mean_released`` is the mean of ρ·R(a), ρ the share of its bytes that a return takes back; ``return_share`` is α,
    the chance that a return reaches the copy. A copy whose reader went elsewhere stays until it ages out.
    """
    return seconds * (1.0 - return_share * mean_released)
