"""What a plan rests on: shares of its money and work by kind of evidence, and by distance from what was measured."""

from __future__ import annotations

from procure.plan.summary import Summary


def evidence_lines(summary: Summary) -> list[tuple[str, str, float]]:
    """What shares of money and rack-seconds rest on which kind of evidence: (what, kind, share)."""
    names = {"money": "Money", "rack_seconds": "Rack-seconds"}
    return [
        (names.get(what, what), kind, float(part))
        for what, shares in (summary.get("evidence") or {}).items()
        for kind, part in sorted(shares.items(), key=lambda item: -item[1])
    ]


def extrapolation_lines(summary: Summary) -> list[tuple[str, float]]:
    """Shares of decode rack-seconds by distance from the nearest measurement, as plan.json lists them."""
    return [(str(name), float(part)) for name, part in summary["extrapolation"].items()]
