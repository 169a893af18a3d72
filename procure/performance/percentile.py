"""TPS/User of slower streams over that of the median one, which measured curves and physics state."""

from __future__ import annotations

from procure.catalogue import Catalogue

MEDIAN = 50.0


def tps_over_median(catalogue: Catalogue, percentile: float) -> float:
    """TPS/User that ``percentile`` of 100 streams reach, over the median stream's (ratio, 1 at the median).

    Curves are 1 / median time per output token; the other percentiles are premises
    (``performance/tps_p90_over_median``), since no public curve gives tails.

    Raises:
        InputError: a percentile of which no premise states a factor.
    """
    if percentile == MEDIAN:
        return 1.0
    return catalogue.premise(f"performance/tps_p{percentile:g}_over_median").number
