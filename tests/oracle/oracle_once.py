"""What is worked out once: plans by the thousand ask the service and each other the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def once(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, worked out once for each object and its arguments."""

    @wraps(method)
    def kept(self: Any, *given: Any) -> Any:
        key = (method.__name__, *given)
        if key not in self._kept:
            self._kept[key] = method(self, *given)
        return self._kept[key]

    return kept
