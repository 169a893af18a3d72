"""A plan: a summary, tidy tables, and a folder that is always whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from procure.csvtext import guarded, unguarded
from procure.errors import Fault, InputError, guard_reader
from procure.files import Listed, Tell, check_folder, silent, write_files
from procure.plan.reading import ADDED_TABLES, summary_faults, table_faults, with_added

RESULT = "plan.json"
"""The listing of a result folder."""


SERVED = 2e-5
"""A workload of which no more than this share of its own demand is unserved counts as served.

The program, its decomposition, the status of a plan and its verification all use this one share. It is far below what
a forecast knows and far above what rounding leaves, so that demand which fills a fleet to the last digit needs no
further rack.
"""


def is_short(share: float) -> bool:
    """Whether a share unserved is more than counts as served."""
    return share > 1.1 * SERVED  # the stage that holds a shortfall may leave a little more


class Status(StrEnum):
    """How a run ended; each has one exit code."""

    OPTIMAL = "optimal"
    """Within the gap asked for, every SLA met."""
    SHORT = "short"
    """Within the gap asked for, but some requests cannot be served."""
    LIMIT = "limit_with_plan"
    """Stopped by a limit with a feasible plan, whose bound is known."""
    UNVERIFIED = "verification_failed"
    """The plan does not pass its own verification."""

    @property
    def exit_code(self) -> int:
        """The process exit code for this status."""
        return {Status.OPTIMAL: 0, Status.SHORT: 6, Status.LIMIT: 5, Status.UNVERIFIED: 7}[self]


TABLES: dict[str, tuple[str, ...]] = {
    "purchases": (
        "quarter", "site", "sku", "count", "span", "delivery_quarter", "unit_price_usd", "unit_attach_usd",
        "unit_install_usd", "capex_usd",
    ),
    "fleet": ("quarter", "site", "sku", "origin", "vintage", "opening", "delivered", "retired", "closing"),
    "serving": (
        "quarter", "site", "workload", "bucket", "deployment", "sku", "requests_per_s", "racks", "lpx_racks",
        "evidence", "point",
    ),
    "prefill": (
        "quarter", "site", "workload", "bucket", "deployment", "sku", "store", "requests_per_s", "racks",
    ),
    "kv_placement": (
        "quarter", "site", "workload", "store", "tier", "parked_bytes", "hits_per_s", "read_bytes_per_s",
        "write_bytes_per_s", "longest_age_s",
    ),
    "retention": (
        "quarter", "site", "workload", "store", "interval", "kept_requests_per_s",
    ),
    "lpx_copies": ("quarter", "site", "card", "sku", "copies", "racks"),
    "pods": ("quarter", "site", "pods"),
    "expansions": ("quarter", "site", "expansion", "count", "span", "capex_usd"),
    "limits": ("family", "quarter", "site", "item", "used", "limit", "slack", "unit", "binding"),
    "cash": ("quarter", "span", "line", "site", "sku", "cash_usd", "discount_factor", "npv_usd"),
    "costs": ("line", "span", "npv_usd"),
    "unit_costs": (
        "workload", "tokens", "million_tokens", "npv_usd", "usd_per_million_tokens", "market_usd_per_million_tokens",
        "cost_per_market",
    ),
    "sla": (
        "quarter", "workload", "requests_per_s", "served_share", "short_share", "cause", "ttft_target_s",
        "ttft_share", "tps_target", "task_s", "late_share", "out_of_reach_share", "ttft_share_asked", "ttft_reached_s",
    ),
    "demand": (
        "quarter", "workload", "bucket", "requests_per_s", "input_tokens", "input_upper_tokens",
        "thinking_tokens", "visible_tokens", "kv_bytes",
    ),
    "premises": ("name", "value", "unit", "low", "high", "kind", "source", "source_date", "note"),
    "checks": ("check", "holds", "detail"),
}  # fmt: skip
"""Every table of a plan with its columns, in order."""

_TEXT = {
    "quarter", "site", "sku", "span", "delivery_quarter", "vintage", "workload", "bucket", "deployment", "evidence",
    "store", "tier", "card", "expansion", "family", "item", "unit", "line", "cause", "name", "kind", "source",
    "source_date", "note", "check", "detail", "value", "tokens", "low", "high", "origin", "point",
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What to buy and what follows from it.

    ``summary`` is the content of ``plan.json``; ``tables`` maps each name in :data:`TABLES` to a DataFrame with
    those columns, in the units their names say.
    """

    summary: dict[str, Any]
    tables: dict[str, pd.DataFrame] = field(repr=False)

    @property
    def status(self) -> Status:
        """How the run ended."""
        return Status(self.summary["status"])

    @property
    def objective_usd(self) -> float:
        """Net present cost over planned and look-ahead quarters, in USD."""
        return float(self.summary["objective_usd"])

    @property
    def purchases(self) -> pd.DataFrame:
        """The recommended orders: planned quarters only."""
        bought = self.tables["purchases"]
        return bought[bought["span"] == "planned"].reset_index(drop=True)

    def with_status(self, status: Status, checks: pd.DataFrame | None = None) -> Plan:
        """The same plan with another status and, if given, other checks."""
        tables = dict(self.tables) if checks is None else {**self.tables, "checks": checks}
        return Plan({**self.summary, "status": str(status)}, tables)

    @staticmethod
    def check_target(folder: str | Path) -> None:
        """Make sure that a result may be written there, before hours are spent on it.

        Raises:
            InputError: the folder holds something that is not a result, or cannot be written to.
        """
        check_folder(folder, RESULT, _is_result, "A folder that is new or empty, or holds a result of procure.")

    def write(
        self, folder: str | Path, extras: Callable[[Plan, Path], object] | None = None, tell: Tell = silent
    ) -> Path:
        """Write ``tables/*.csv``, whatever ``extras`` adds, and ``plan.json`` to a folder, all or nothing.

        The result is made inside the folder and its files are renamed into place, so that a run that dies leaves an
        earlier result whole. ``plan.json`` lists the files with their hashes; only files that an earlier ``plan.json``
        lists, and that are as they were written, are replaced (see :mod:`procure.files`). The seconds that writing
        took go into the summary that is stored.

        Args:
            folder: new, empty, or with an earlier result.
            extras: writes further files of the result into a folder that it is given.
            tell: called with a sentence for each file that was kept aside.

        Raises:
            InputError: the folder holds something that is not a result.
            OSError: the result cannot be written there.
        """
        started = time.perf_counter()
        self.check_target(folder)

        def make(fresh: Path) -> None:
            (fresh / "tables").mkdir()
            for name, frame in self.tables.items():
                guarded(frame).to_csv(fresh / "tables" / f"{name}.csv", index=False, lineterminator="\n")
            if extras is not None:
                extras(self, fresh)

        def content() -> dict[str, Any]:
            seconds = {**self.summary.get("seconds", {}), "write": round(time.perf_counter() - started, 4)}
            return {**self.summary, "seconds": seconds}

        write_files(folder, make, listing=RESULT, is_ours=_is_result, content=content, tell=tell)
        return Path(folder)

    @staticmethod
    def add(folder: str | Path, make: Callable[[Path], object], tell: Tell = silent) -> list[Path]:
        """Add files to a stored result, in place of those of the same names; ``plan.json`` lists them from then on.

        Raises:
            OSError: they cannot be written there.
        """
        return write_files(folder, make, listing=RESULT, is_ours=_is_result, replaces=lambda name: False, tell=tell)

    @staticmethod
    def changed_files(folder: str | Path) -> list[str]:
        """Files of a stored result that are not as they were written, by the hashes that ``plan.json`` lists."""
        listed = Listed.read(Path(folder), RESULT, _is_result) or Listed()
        return [name for name in sorted(listed.files) if not listed.owns(Path(folder), name, RESULT)]

    @classmethod
    def read(cls, folder: str | Path) -> Plan:
        """Read a result folder back.

        Raises:
            InputError: ``plan.json`` or a table is missing, cannot be read, or holds what a plan does not.
        """
        folder = Path(folder)
        with guard_reader(str(folder / "plan.json"), "A result folder of procure is needed."):
            summary = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        faults = summary_faults(str(folder / "plan.json"), summary, [str(status) for status in Status])
        tables = {}
        for name, columns in TABLES.items():
            path = folder / "tables" / f"{name}.csv"
            if name in ADDED_TABLES and not path.exists():
                tables[name] = pd.DataFrame(columns=list(columns))
                continue
            try:
                frame = pd.read_csv(path, dtype={c: str for c in columns if c in _TEXT}, keep_default_na=False,
                                    na_values={c: [""] for c in columns if c not in _TEXT})  # fmt: skip
            except (OSError, ValueError, pd.errors.ParserError) as error:
                faults.append(Fault(str(path), 0, "", "", "This table of the result cannot be read.", str(error)))
                continue
            frame = with_added(unguarded(frame), name)
            faults += table_faults(str(path), frame, columns, _TEXT)
            tables[name] = frame
        if faults:
            raise InputError(faults)
        return cls(summary, tables)


def _is_result(content: dict[str, Any]) -> bool:
    """Whether the content of a ``plan.json`` is a plan's: other programs have files of that name."""
    return content.get("status") in list(Status) and isinstance(content.get("input_hash"), str)


def frame(name: str, rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """A table of the plan from rows in column order, sorted by its leading columns as they stand."""
    return pd.DataFrame(rows, columns=list(TABLES[name]))
