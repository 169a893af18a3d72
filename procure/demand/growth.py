"""What each route of growth does to reuse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def reuse_path(
    route: str, factor: Array, reused_share: Array, returned: Array, prefix_share: Array
) -> tuple[Array, Array]:
    """What growth does to the reused share p and to the returns R.

    - ``first_prompt``: sessions open with more text. The tokens that a returning request adds stay what they
      were, so 1 − p falls as 1 / factor; R stays.
    - ``turns``: sessions go on longer at the same tokens per turn. 1 − p falls as 1 / factor. A session of
      n = 1 / (1 − R) requests whose input grows by (1 − p)·L each time has mean input L1 + (1 − p)·L·(n − 1)/2; for
      the mean to grow by the factor, n must rise by 2·(factor − 1)/(1 − p), and R rises with it to 1 − 1/n.
    - ``cap``: contexts that were cut are let grow, and what each request adds grows with them: p and R stay.

    Args:
        route: ``first_prompt``, ``turns`` or ``cap``.
        factor: mean input over the first quarter's mean input, after caps, shape (workloads, quarters).
        reused_share: p in the first quarter, shape (workloads,).
        returned: R without limit of age in the first quarter, shape (workloads,).
        prefix_share: shared prefix over the mean input, same shape as ``factor``; p never falls below it.

    Returns:
        p, and the factor on R at every age: both of the shape of ``factor``.
    """
    factor = np.where(np.abs(factor - 1.0) < 1e-12, 1.0, factor)  # no growth changes nothing, to the last digit
    p = np.broadcast_to(reused_share[:, None], factor.shape)
    scale = np.ones_like(factor)
    if route in ("first_prompt", "turns"):
        p = np.where(factor == 1.0, p, 1 - (1 - p) / factor)
    if route == "turns":
        r = returned[:, None]
        added = np.maximum(1 - reused_share[:, None], 1e-9)
        turns = np.maximum(1 / (1 - r) + 2 * (factor - 1) / added, 1.0)
        scale = np.where((r > 0) & (factor != 1.0), (1 - 1 / turns) / np.where(r > 0, r, 1.0), 1.0)
    return np.maximum(np.where(reused_share[:, None] > 0, p, 0.0), prefix_share), scale
