"""The catalogue: SKUs, prices by quarter and premises; packaged tables with a case's own rows on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from procure.catalogue.fact import Fact
from procure.catalogue.overlay import (
    Allowed,
    Rows,
    lay_attach,
    lay_hardware,
    lay_premises,
    nearest_path,
    read_prices,
)
from procure.catalogue.packaged import Packaged
from procure.catalogue.sku import Sku, build
from procure.catalogue.tables import Key, missing, sku_values
from procure.errors import Fault, InputError, nearest
from procure.quarter import Quarter
from procure.schema import Evidence, SkuKind

if TYPE_CHECKING:
    import pandas as pd

FLASH_PATH = "flash-tlc"
"""Price path of the flash share of a price."""


@dataclass(frozen=True)
class Catalogue:
    """Facts by (SKU, attribute), every other premise by its path, and the SKUs built from them.

    Attributes:
        facts: figures of SKUs, their classes and price paths.
        premises: by path, such as ``case/utilisation_cap`` or ``scenario/chat/input_p50_tokens``.
        packaged: what a case's own rows lie over, and the shapes that have no path of their own.
        prices: prices that a case states for a SKU and a delivery quarter, USD; they win over level x path.
        stated: facts that are a case's own, not the packaged ones.
    """

    facts: Mapping[Key, Fact]
    premises: Mapping[str, Fact]
    packaged: Packaged
    prices: Mapping[Key, float] = field(default_factory=dict)
    stated: frozenset[Key] = frozenset()

    @classmethod
    def read(cls, overrides: pd.DataFrame | Rows | None = None) -> Catalogue:
        """Read the packaged tables and lay hardware rows over them, see :meth:`of`.

        Raises:
            InputError: unknown SKU or attribute, another unit, a value outside its band, a missing attribute.
        """
        return cls.of(Packaged.read(), hardware=overrides)

    @classmethod
    def of(
        cls,
        packaged: Packaged,
        *,
        hardware: pd.DataFrame | Rows | None = None,
        attach: pd.DataFrame | Rows | None = None,
        prices: pd.DataFrame | Rows | None = None,
        premises: pd.DataFrame | Rows | None = None,
        allowed: Allowed = lambda path, fact: None,
    ) -> Catalogue:
        """Lay a case's rows over the packaged data.

        Args:
            packaged: see :class:`procure.catalogue.Packaged`.
            hardware: rows of a case's ``hardware`` table. A row replaces one attribute of one SKU, in the
                catalogue's unit; a new SKU has a ``kind`` row and needs every attribute of its kind.
            attach: rows of a case's ``attach`` table: sku, attach_kw, attach_positions, attach_usd, install_usd;
                an empty cell keeps the catalogue's value.
            prices: rows of a case's ``prices`` table: sku, quarter, price_usd.
            premises: rows of a case's ``premises`` table: path, value, low, high, kind, source, note; each replaces the
                packaged premise of that path, in its unit.
            allowed: what a premise that fills a cell or a setting may be.

        Raises:
            InputError: unknown SKU, attribute or path, another unit, a value outside its band or range, a missing
                attribute, a figure that two tables state.
        """
        facts, named = dict(packaged.facts), dict(packaged.premises)
        faults = lay_hardware(facts, _records(hardware), packaged.aliases)
        faults += lay_attach(facts, _records(attach), packaged.aliases)
        stated = {key for key, fact in facts.items() if fact is not packaged.facts.get(key)}
        faults += lay_premises(facts, named, _records(premises), stated, allowed)
        quoted, wrong = read_prices(facts, _records(prices), packaged.aliases)
        faults += wrong + missing(facts)
        if faults:
            raise InputError(faults)
        stated = {key for key, fact in facts.items() if fact is not packaged.facts.get(key)}
        return cls(facts, named, packaged, quoted, frozenset(stated))

    def resolve(self, name: str) -> str | None:
        """The SKU that a name or alias means, None where it is unknown or means several."""
        return self.packaged.aliases.resolve(name, self.skus)

    def hint(self, name: str) -> str:
        """What to write instead of a name that :meth:`resolve` does not find."""
        return self.packaged.aliases.hint(name, self.skus)

    @cached_property
    def skus(self) -> dict[str, Sku]:
        """Every SKU by name, in alphabetical order."""
        return {name: build(name, values) for name, values in sku_values(self.facts).items()}

    def sku(self, name: str) -> Sku:
        """The SKU of that name or alias.

        Raises:
            InputError: no SKU has that name (the nearest one is named), or several may be meant (they are listed).
        """
        known = self.resolve(name)
        if known is None:
            raise InputError([Fault("catalogue", 0, "sku", name, "A SKU of the catalogue.", self.hint(name))])
        return self.skus[known]

    def included_drives(self, host: Sku) -> Sku | None:
        """The kit whose drives those inside a GPU unit's price are like: of its kits the nearest in bytes, by name.

        None where the price holds no drives.
        """
        kits = [sku for sku in self.skus.values() if sku.kind is SkuKind.SSD_KIT and sku.host == host.name]
        near = [(abs(kit.store_bytes - host.ssd_included_bytes), kit.name) for kit in kits]
        return self.skus[min(near)[1]] if host.ssd_included_bytes > 0 and near else None

    def is_stated(self, sku: Sku, attribute: str) -> bool:
        """Whether an attribute of a SKU is the case's own figure: its own row, or its class's where it has none."""
        own = (sku.name, attribute)
        return (own if own in self.facts else (sku.depreciation_class, attribute)) in self.stated

    def places(self, host: Sku) -> float:
        """Parts that one unit holds: enclosures of a CMX rack, kits of a GPU unit; 0 for what holds none.

        A kit fills all bays of one unit; drives inside the unit's price take their share of them.
        """
        if host.kind is not SkuKind.GPU:
            return float(host.enclosures_per_rack)
        like = self.included_drives(host)
        return 1.0 if like is None else max(0.0, 1.0 - host.ssd_included_bytes / like.store_bytes)

    def fact(self, sku: str, attribute: str) -> Fact:
        """The fact behind one attribute of a SKU, a price path or a class of `data/hardware`.

        Raises:
            InputError: there is no such row.
        """
        name = self.packaged.aliases.resolve(sku, {key[0] for key in self.facts}) or sku
        if (name, attribute) in self.facts:
            return self.facts[name, attribute]
        kind = self.facts.get((name, "depreciation_class"))
        if kind is not None and (str(kind.value), attribute) in self.facts:
            return self.facts[str(kind.value), attribute]
        known = [key[1] for key in self.facts if key[0] == name]
        if not known:
            known, attribute = sorted({key[0] for key in self.facts}), name
        raise InputError(
            [Fault("data/hardware", 0, sku, attribute, "A row of the catalogue.", nearest(attribute, known))]
        )

    def premise(self, path: str) -> Fact:
        """The premise of a path, other than hardware.

        Raises:
            InputError: there is no such premise.
        """
        if path in self.premises:
            return self.premises[path]
        hint = nearest_path(path, self.premises)
        raise InputError([Fault("data/premises.csv", 0, "name", path, "The path of a premise.", hint)])

    def price_usd(self, sku: str, quarter: str | Quarter) -> float:
        """USD per unit delivered in that quarter: the case's own price if it states one, else level x path."""
        return self.price_fact(sku, quarter).number

    def price_fact(self, sku: str, quarter: str | Quarter) -> Fact:
        """The price of a delivery quarter with its band; the note says when a path's last index is held."""
        item, when = self.sku(sku), Quarter(quarter)
        quoted = self.prices.get((item.name, str(when)))
        if quoted is not None:
            return Fact(quoted, "USD", None, None, Evidence.USER, "the case's prices table", "", "")
        level = self.fact(item.name, "price_usd")
        index = [(share, *self.index(path, when)) for share, path in _price_parts(item)]
        base, low, high = (
            number * sum(share * band[i] for share, band, _ in index)
            for i, number in enumerate((level.number, _or(level.low, level.number), _or(level.high, level.number)))
        )
        notes = sorted({note for _, _, note in index if note})
        return Fact(
            base,
            "USD",
            low,
            high,
            level.kind,
            level.source,
            level.source_date,
            " ".join([level.note, *notes]),
        )

    def flash_usd(self, sku: str, quarter: str | Quarter) -> float:
        """USD of the flash in a unit delivered in that quarter; of all of it where no share is said to be flash.

        Its share of the case's own price if it states one, else of the level x the path of flash.
        """
        item, when = self.sku(sku), Quarter(quarter)
        if item.price_flash_share <= 0 or (item.name, str(when)) in self.prices:
            return (item.price_flash_share or 1.0) * self.price_usd(item.name, when)
        (index, _, _), _ = self.index(FLASH_PATH, when)
        return item.price_flash_share * item.price_usd * index

    def index(self, path: str, quarter: Quarter) -> tuple[tuple[float, float, float], str]:
        """Base, low and high of a price path in a quarter; and a note where the path does not reach it."""
        points = self.paths.get(path)
        if points is None:
            fault = Fault(
                "data/hardware",
                0,
                "price_path",
                path,
                "A path of price_paths.csv.",
                nearest(path, self.paths),
            )
            raise InputError([fault])
        first, last = min(points), max(points)
        if quarter in points:
            return points[quarter], ""
        if quarter < first:
            return points[first], f"Before the path begins in {first}: its first index is used."
        return points[last], f"Beyond the path's end in {last}: its last index is held."

    def indices(self, sku: str, quarters: Iterable[Quarter]) -> set[Key]:
        """Price path and quarter of every index behind the prices of a SKU in these quarters of delivery."""
        item = self.sku(sku)
        read = {path for _, path in _price_parts(item) if path in self.paths}
        open_quarters = [quarter for quarter in quarters if (item.name, str(quarter)) not in self.prices]
        return {
            (path, str(min(max(quarter, min(self.paths[path])), max(self.paths[path]))))
            for path in read
            for quarter in open_quarters
        }

    @cached_property
    def paths(self) -> dict[str, dict[Quarter, tuple[float, float, float]]]:
        """Price paths: index (base, low, high; 2026Q4 = 1) by delivery quarter."""
        paths: dict[str, dict[Quarter, tuple[float, float, float]]] = {}
        for (name, attribute), fact in self.facts.items():
            if fact.unit == "index":
                band = (fact.number, _or(fact.low, fact.number), _or(fact.high, fact.number))
                paths.setdefault(name, {})[Quarter(attribute)] = band
        return paths


def _price_parts(item: Sku) -> list[tuple[float, str]]:
    """Shares of a SKU's price, and the path that each follows."""
    parts = [(1 - item.price_flash_share, item.price_path), (item.price_flash_share, FLASH_PATH)]
    return [(share, path) for share, path in parts if share > 0]


def _or(value: float | str | None, other: float) -> float:
    return value if isinstance(value, float) else other


def _records(table: Any) -> Rows:
    """Rows of a pandas table or of an iterable of mappings; nothing for None."""
    if table is None:
        return []
    rows: Rows = table.to_dict("records") if hasattr(table, "to_dict") else table
    return rows
