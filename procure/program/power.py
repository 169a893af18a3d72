"""What the power of work costs: all of it is paid for, and what is tolerated must not save any."""

from __future__ import annotations

from collections.abc import Iterator

from procure.program.index import Index, Option, Point, lookup


def serve_usd(index: Index) -> Iterator[tuple[Point, str, float]]:
    """USD of a quarter for the power of decoding the whole bucket at a point, with its site."""
    load = lookup(index.instance["upkeep"], ["site", "sku"], "decode_usd_per_quarter")
    for p, site in index.serve:
        usd = p.rack_s * load[site, p.sku]
        if p.lpx_sku:
            usd += p.lpx_rack_s * load[site, p.lpx_sku]
        yield p, site, usd * p.rate * p.mean_per_peak


def prefill_usd(index: Index) -> Iterator[tuple[Option, str, float]]:
    """USD of a quarter for the power of prefilling the whole bucket in one way, with its site."""
    load = lookup(index.instance["upkeep"], ["site", "sku"], "prefill_usd_per_quarter")
    for o, site in index.prefill:
        usd = o.rack_s * load[site, o.sku]
        yield o, site, usd * o.rate * o.mean_per_peak
