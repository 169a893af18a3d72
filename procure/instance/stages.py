"""Stages of a build, kept by what they read: a change runs again what read it, and nothing else.

The functions that make the tables know nothing of this. They are handed *views* of the case and of what earlier stages
made; a view passes parts on and notes each with a digest of its content. A stage that was run before is not run again
where everything that it read then has the same content now: whatever it would read beyond that, it reads only because
of what it read before. (Verifying traces: Mokhov, Mitchell and Peyton Jones, "Build systems à la carte", 2018.)

What a stage makes is compared by content as well. Other rates make the buckets of lengths anew, but the same, and what
read only these stays as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from procure.case import Case
from procure.case.settings import Settings
from procure.catalogue import Catalogue, Packaged, Sku
from procure.demand import Demand
from procure.instance.service import Load
from procure.quarter import Quarter
from procure.schema import Row

IN_PARTS = (Case, Settings, Catalogue, Packaged, Sku, Demand, Load)
"""What a stage reads attribute by attribute; mappings, rows and lists of these are read in parts too."""
MOST_KEPT = 8
"""Results of one stage that are kept, the last used ones: enough for a grid that varies its last value fastest."""

PLAIN = (str, int, float, bool, type(None), np.generic, Quarter)
"""Values that their spelling tells apart."""

Path = tuple[Any, ...]
"""Where something read stands: a root, then steps, each an attribute, a key or a call."""


class Attribute(NamedTuple):
    """A step to an attribute."""

    name: str


class Key(NamedTuple):
    """A step to the item of a key or a place."""

    key: Any


class Keys(NamedTuple):
    """A step to the keys of a mapping, or to the length of a list."""


class Called(NamedTuple):
    """A step to what a method gives; arguments that were views are paths."""

    name: str
    arguments: tuple[Any, ...]


class Place(NamedTuple):
    """An argument that was a view."""

    path: Path


class Cache:
    """What stages made, by what they read; for any number of builds in one process.

    Attributes:
        ran: names of the stages that the last build ran.
    """

    def __init__(self) -> None:
        self.ran: list[str] = []
        self._kept: dict[str, list[Kept]] = {}

    def of(self, stage: str) -> list[Kept]:
        """What is kept of a stage, the last used first."""
        return self._kept.setdefault(stage, [])


class Kept(NamedTuple):
    """One result of a stage, with the digests of all that it read."""

    made: Any
    reads: Mapping[Path, str]


class Build:
    """One build: the case, and by name what its stages have made so far."""

    def __init__(self, case: Case, cache: Cache | None) -> None:
        self.made: dict[str, Any] = {"case": case}
        self._cache = cache
        self._digests: dict[Path, str] = {}
        if cache is not None:
            cache.ran = []

    def stage(self, name: str, make: Callable[..., Any], *inputs: str | Path) -> Any:
        """What ``make`` gives for inputs named ``case``, as an earlier stage, or by a path into one of these.

        Without a cache nothing is noted: an input is handed over as it is.

        Raises:
            InputError: what ``make`` raises; nothing is kept then.
        """
        if self._cache is None:
            self.made[name] = make(*(self._at((given,) if isinstance(given, str) else given) for given in inputs))
            return self.made[name]
        kept = self._cache.of(name)
        at = next((i for i, known in enumerate(kept) if self._holds(known)), None)
        if at is None:
            reads: dict[Path, str] = {}
            found = Kept(
                make(*(self._seen((given,) if isinstance(given, str) else given, reads) for given in inputs)), reads
            )
            if _holds_views(found.made):
                raise TypeError(f"stage {name} gives a view of what it read; it must give content")
            self._cache.ran.append(name)
        else:
            found = kept.pop(at)
        kept.insert(0, found)
        del kept[MOST_KEPT:]
        self.made[name] = found.made
        return found.made

    def _seen(self, path: Path, reads: dict[Path, str]) -> Any:
        """An input as the stage sees it: a view of what is read in parts, all of anything else."""
        value = self._at(path)
        reads[path] = self._digest(path)
        return View(value, path, reads, self._digests) if _in_parts(value) else value

    def _holds(self, known: Kept) -> bool:
        return all(self._digest(path) == digest for path, digest in known.reads.items())

    def _digest(self, path: Path) -> str:
        if path not in self._digests:
            try:
                self._digests[path] = _noted(self._at(path))
            except Exception as error:  # what was read then is no more: no digest is like this one
                self._digests[path] = f"{type(error).__name__}: gone"
        return self._digests[path]

    def _at(self, path: Path) -> Any:
        """What stands at a path of this build."""
        value = self.made[path[0]]
        for step in path[1:]:
            match step:
                case Attribute(name):
                    value = getattr(value, name)
                case Key(key):
                    value = value[key]
                case Keys():
                    value = _keys(value)
                case Called(name, places):
                    value = getattr(value, name)(*(self._at(p.path) if isinstance(p, Place) else p for p in places))
        return value


class View:
    """Something that a stage reads: it passes on parts, each noted under its path with a digest."""

    def __init__(self, value: Any, path: Path, reads: dict[Path, str], digests: dict[Path, str]) -> None:
        self.__value, self.__path, self.__reads, self.__digests = value, path, reads, digests

    def __getattr__(self, name: str) -> Any:
        if isinstance(self.__value, Mapping):
            return lambda *arguments: self.__mapping(name, arguments)
        if callable(getattr(type(self.__value), name, None)):
            return lambda *arguments: self.__called(name, arguments)
        return self.__part(Attribute(name), lambda: getattr(self.__value, name))

    def __getitem__(self, key: Any) -> Any:
        return self.__part(Key(key), lambda: self.__value[key])

    def __iter__(self) -> Iterator[Any]:
        keys = self.__part(Keys(), lambda: _keys(self.__value))
        return iter(keys) if isinstance(self.__value, Mapping) else (self[place] for place in keys)

    def __len__(self) -> int:
        return len(self.__part(Keys(), lambda: _keys(self.__value)))

    def __bool__(self) -> bool:
        return len(self) > 0 if isinstance(self.__value, Mapping | list) else True

    def __contains__(self, item: object) -> bool:
        if not isinstance(self.__value, Mapping):
            raise TypeError("a view of records does not look for one; compare by name")
        return item in self.__part(Keys(), lambda: _keys(self.__value))

    def __eq__(self, other: object) -> bool:
        raise TypeError("views are not compared; compare what they hold")

    __hash__ = None  # type: ignore[assignment]

    def __called(self, name: str, arguments: tuple[Any, ...]) -> Any:
        places = tuple(Place(a.__path) if isinstance(a, View) else a for a in arguments)
        given = [a.__value if isinstance(a, View) else a for a in arguments]
        return self.__part(Called(name, places), lambda: getattr(self.__value, name)(*given))

    def __mapping(self, name: str, arguments: tuple[Any, ...]) -> Any:
        match name:
            case "keys":
                return list(self)
            case "values":
                return [self[key] for key in self]
            case "items":
                return [(key, self[key]) for key in self]
            case "get":
                key, *default = arguments
                return self[key] if key in self else (default or [None])[0]
        raise AttributeError(f"a view of a mapping has no {name}")

    def __part(self, step: Any, take: Callable[[], Any]) -> Any:
        path = (*self.__path, step)
        value = take()
        if path not in self.__digests:
            self.__digests[path] = _noted(value)
        self.__reads[path] = self.__digests[path]
        return View(value, path, self.__reads, self.__digests) if _in_parts(value) else value


def _keys(value: Any) -> tuple[Any, ...]:
    """Keys of a mapping, places of a list."""
    return tuple(value) if isinstance(value, Mapping) else tuple(range(len(value)))


def _in_parts(value: Any) -> bool:
    if (
        isinstance(value, Mapping)
        or type(value) in IN_PARTS
        or isinstance(value, Row)
        or (isinstance(value, tuple) and hasattr(value, "_fields"))
    ):
        return True
    return isinstance(value, list) and len(value) > 0 and all(_in_parts(item) for item in value)


def _noted(value: Any) -> str:
    """The digest of what is read whole; of what is read in parts only what it is."""
    return type(value).__name__ if _in_parts(value) else digest(value)


def _holds_views(made: Any) -> bool:
    if isinstance(made, list | tuple | dict):
        return any(_holds_views(item) for item in (made.values() if isinstance(made, dict) else made))
    if is_dataclass(made):
        return any(isinstance(getattr(made, field.name), View) for field in fields(made))
    return isinstance(made, View)


def digest(value: Any) -> str:
    """SHA-256 of the content of tables, arrays, records and plain values.

    Raises:
        TypeError: a kind of value whose content is not known here.
    """
    found = hashlib.sha256()
    _feed(value, found.update)
    return found.hexdigest()


def _feed(value: Any, put: Callable[[bytes], None]) -> None:
    put(f"{type(value).__name__}:".encode())
    if isinstance(value, PLAIN):
        put(f"{value!r};".encode())
    elif isinstance(value, pd.DataFrame):
        _feed([list(value.columns), value.index.to_numpy(), *(column.to_numpy() for _, column in value.items())], put)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        put(f"{value.dtype}{value.shape}".encode())
        put(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.ndarray | list | tuple):
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if set(map(type, items)) <= set(PLAIN):
            put(f"{items!r};".encode())
        else:
            put(f"{len(items)}:".encode())
            for item in items:
                _feed(item, put)
    elif isinstance(value, Mapping):
        _feed([(key, value[key]) for key in sorted(value, key=repr)], put)
    elif isinstance(value, set | frozenset):
        _feed(sorted(map(repr, value)), put)
    elif is_dataclass(value) and not isinstance(value, type):
        _feed([(field.name, getattr(value, field.name)) for field in fields(value)], put)
    else:
        raise TypeError(f"content of {type(value).__name__} is not known here")
