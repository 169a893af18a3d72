"""Other names of SKUs: case, spaces and underscores do not matter, and what planners call a SKU is understood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from procure.catalogue.fact import packaged_rows
from procure.errors import nearest


@dataclass(frozen=True)
class Aliases:
    """Other names, in lower case with hyphens: the SKUs that each may mean, with a word on every meaning."""

    meanings: Mapping[str, tuple[tuple[str, str], ...]]

    @classmethod
    def read(cls) -> Aliases:
        """Those of ``data/hardware/aliases.csv``."""
        found: dict[str, list[tuple[str, str]]] = {}
        for row in packaged_rows("hardware/aliases"):
            found.setdefault(row["alias"], []).append((row["sku"], row["meaning"]))
        return cls({alias: tuple(meanings) for alias, meanings in found.items()})

    def resolve(self, name: str, known: Iterable[str]) -> str | None:
        """The known name that is meant; aliases are understood.

        None for an unknown name, and for an alias with several meanings: :meth:`hint` says which.
        """
        names, meanings = set(known), self.meanings.get(_plain(name), ())
        alias = meanings[0][0] if len(meanings) == 1 else None
        for candidate in (str(name).strip(), _plain(name), alias):
            if candidate in names:
                return candidate
        return None

    def hint(self, name: str, known: Iterable[str]) -> str:
        """What to do about a name that :meth:`resolve` does not find: its meanings, or the nearest known name."""
        meanings = self.meanings.get(_plain(name), ())
        if len(meanings) > 1:
            listed = "; ".join(f"{sku!r} ({words})" if sku else words for sku, words in meanings)
            return f"The name is ambiguous. It may mean {listed}. Write the SKU's own name."
        if meanings:
            return f"{meanings[0][0]}: {meanings[0][1]}."
        return nearest(name, known)


def _plain(name: str) -> str:
    return "-".join(str(name).strip().lower().replace("_", "-").split())
