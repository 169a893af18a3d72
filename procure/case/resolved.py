"""What a case holds once its defaults are filled in: its premises, hash and changes are worked out from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from procure.case.defaults import Filled
from procure.case.rows import Rows
from procure.case.settings import Settings
from procure.catalogue import Catalogue
from procure.quarter import Quarter
from procure.sizing import Card


@dataclass(frozen=True)
class Resolved:
    """Settings and tables, as stated and filled in.

    Attributes:
        settings: ``case.toml`` with defaults filled in.
        tables: every table as a DataFrame with all its columns, names resolved and defaults filled in; a table that
            the case leaves out is empty.
        catalogue: the packaged catalogue with the case's hardware, attach, prices and premises tables over it.
        cards: the LLMs used, by the name in ``workloads.card``.
        defaults_used: one sentence per setting, column or table that was filled in.
        filled: cells that were filled in and the premises that filled them.
    """

    settings: Settings
    tables: dict[str, pd.DataFrame] = field(repr=False)
    catalogue: Catalogue = field(repr=False)
    cards: dict[str, Card] = field(repr=False)
    defaults_used: tuple[str, ...] = field(repr=False)
    filled: Filled = field(repr=False)
    _given: dict[str, Any] = field(repr=False)
    _stated: dict[str, Rows] = field(repr=False)

    @property
    def given(self) -> dict[str, Any]:
        """Settings as stated, without defaults."""
        return dict(self._given)

    def stated_rows(self, table: str) -> Rows:
        """The rows of a table as stated, in the order of :attr:`tables`; none of a table that the case leaves out."""
        return self._stated.get(table) or Rows(f"{table}.csv")

    @cached_property
    def planned(self) -> tuple[Quarter, ...]:
        """Quarters whose orders are recommended."""
        first = Quarter(self.settings.first_quarter)
        return tuple(first + step for step in range(self.settings.planned_quarters))

    @cached_property
    def lookahead(self) -> tuple[Quarter, ...]:
        """Quarters after the planned ones."""
        return tuple(self.planned[-1] + step for step in range(1, self.settings.lookahead_quarters + 1))

    @cached_property
    def quarters(self) -> tuple[Quarter, ...]:
        """Planned and look-ahead quarters."""
        return self.planned + self.lookahead

    @cached_property
    def position(self) -> dict[str, int]:
        """Position t of each quarter by its name."""
        return {str(quarter): t for t, quarter in enumerate(self.quarters)}

    @property
    def skus_in_play(self) -> tuple[str, ...]:
        """Names of the SKUs that exist, are on order, or may be bought or rented, in order."""
        standing = {*self.tables["fleet"]["sku"], *self.tables["orders"]["sku"], *self.tables["rent"]["sku"]}
        return tuple(sorted(standing | set(self.settings.may_buy)))

    @property
    def providers(self) -> tuple[str, ...]:
        """Locations of providers, where rented units stand and no others, in order."""
        return tuple(sorted(set(self.tables["rent"]["site"]) - set(self.tables["sites"]["site"])))
