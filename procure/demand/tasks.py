"""How long users wait for a whole task of many requests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def output_s(tokens: ArrayLike, tps: ArrayLike) -> Array:
    """Seconds in which ``tokens`` come at ``tps`` tokens/s; 0 for no tokens, infinite where a speed is 0."""
    count, speed = np.broadcast_arrays(np.asarray(tokens, dtype=float), np.asarray(tps, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, count / speed, 0.0)


def task_s(
    calls_per_task: ArrayLike,
    ttft_s: ArrayLike,
    request_output_s: ArrayLike,
    tool_s: ArrayLike,
    subtasks: ArrayLike = 1,
) -> Array:
    """Seconds of a task: its requests one after the other, and its tools.

        task_s = ⌈calls / subtasks⌉ · (TTFT + output time) + tool time / subtasks

    A task split into subtasks runs them side by side, each with its share of the requests and of the tools' time.
    Splitting does not change the requests per second, only how many sessions are open and how long they last.

    Args:
        calls_per_task: requests of the whole task.
        ttft_s: time to first token of a request.
        request_output_s: time of the output of a request, all phases; see :func:`output_s`.
        tool_s: time of the tools of the whole task.
        subtasks: parallel sessions.
    """
    calls, parts = np.asarray(calls_per_task, dtype=float), np.asarray(subtasks, dtype=float)
    turn = np.asarray(ttft_s, dtype=float) + np.asarray(request_output_s, dtype=float)
    return np.ceil(calls / parts) * turn + np.asarray(tool_s, dtype=float) / parts
