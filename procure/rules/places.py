"""Where units stand: parts in hosts, racks in pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from procure.schema import SkuKind

POD_PLACES = {"nvl72_per_pod": "NVL72", "lpx_per_pod": "LPX", "cmx_racks_per_pod": "CMX"}
"""Kinds of places of a pod, by the column that says how many a pod has, with what stands in them."""


class Stands(Protocol):
    """A SKU as far as where it stands goes."""

    @property
    def kind(self) -> SkuKind: ...  # noqa: D102
    @property
    def host(self) -> str: ...  # noqa: D102
    @property
    def pod_slots(self) -> float: ...  # noqa: D102
    @property
    def places(self) -> float: ...  # noqa: D102


def pod_places(sku: Stands) -> dict[str, float]:
    """Places that one unit takes in a pod, by kind of place (:data:`POD_PLACES`); of each kind perhaps none."""
    return {
        "nvl72_per_pod": sku.pod_slots,
        "lpx_per_pod": float(sku.kind == SkuKind.LPX),
        "cmx_racks_per_pod": float(sku.kind == SkuKind.CMX_RACK),
    }


def hosts_of(name: str, skus: Mapping[str, Stands]) -> dict[str, float]:
    """SKUs that a part stands in, with the places of one of them; none for what stands alone.

    A kit goes into its host, an enclosure into any CMX rack. A host that no plan can have is left out.
    """
    sku = skus[name]
    if sku.kind == SkuKind.SSD_KIT:
        return {sku.host: skus[sku.host].places} if sku.host in skus else {}
    if sku.kind == SkuKind.CMX_ENCLOSURE:
        return {rack: row.places for rack, row in skus.items() if row.kind == SkuKind.CMX_RACK}
    return {}
