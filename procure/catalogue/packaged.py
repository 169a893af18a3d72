"""The packaged data, read once for a case and handed down: hardware, premises by path, shapes of reuse and of days."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from procure.catalogue.aliases import Aliases
from procure.catalogue.fact import Fact, packaged_rows, parse, read_rows
from procure.catalogue.paths import packaged_path
from procure.catalogue.sku import INFORMATIVE
from procure.catalogue.tables import Key
from procure.errors import Fault, InputError
from procure.schema import Evidence

LEVELS = ("low", "base", "high")
"""The packaged shapes of a reuse curve, and the ends of a band between them."""


GUIDANCE = ("site/", "growth/")
"""Premises that help a planner to fill in a case and that no plan reads."""


@dataclass(frozen=True)
class Returns:
    """The shapes of a packaged reuse curve.

    Attributes:
        age_s: idle time in seconds, rising.
        returned: by each of :data:`LEVELS` the share of requests, weighted by tokens, that return within that age.
    """

    age_s: tuple[float, ...]
    returned: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Packaged:
    """Everything under ``data/`` that a case rests on but formats and measured curves.

    Attributes:
        facts: ``data/hardware`` by (SKU, class or price path; attribute).
        premises: every other premise by its path: ``case/utilisation_cap``, ``column/workloads.kv_format``,
            ``scenario/chat/input_p50_tokens``, ``sla/chat/good/ttft_s``, ``reuse/chat/h_max``.
        returns: shapes of the reuse curves by plain name.
        profiles: requests by clock hour over their mean, 24 of each scenario.
        pools: hit rates of measured pools: requests/s, seconds of traffic that fit, hit rate.
        aliases: other names of SKUs.
    """

    facts: Mapping[Key, Fact]
    premises: Mapping[str, Fact]
    returns: Mapping[str, Returns]
    profiles: Mapping[str, tuple[float, ...]]
    pools: tuple[tuple[float, float, float], ...]
    aliases: Aliases

    @classmethod
    def read(cls) -> Packaged:
        """The packaged tables, parsed once in a process for the files as they are now.

        What a case states otherwise is laid over them, see :meth:`procure.catalogue.Catalogue.of`.

        Raises:
            InputError: a row that is wrong: the package is damaged.
        """
        data = packaged_path("data")
        files = sorted(path for part in _PARTS for path in data.glob(part))
        return _parsed(tuple((str(path), (seen := path.stat()).st_mtime_ns, seen.st_size) for path in files))

    @classmethod
    def parsed(cls) -> Packaged:
        """Read and parse the packaged tables, as :meth:`read`."""
        hardware = [path for path in sorted(packaged_path("data/hardware").glob("*.csv")) if path.name != "aliases.csv"]
        facts: dict[Key, Fact] = {}
        for path, fact in _facts([f"hardware/{file.name}" for file in hardware], ("sku", "attribute"), "").items():
            sku, _, attribute = path.partition("/")
            facts[sku, attribute] = fact
        general = [path.name for path in sorted(packaged_path("data").glob("premises*.csv"))]
        returns = _returns()
        premises = {
            **_facts(general, ("group", "name"), ""),
            **_facts(["scenarios/scenarios.csv"], ("scenario", "field"), "scenario/", base="base"),
            **_facts(["scenarios/sla.csv"], ("scenario", "tier", "quantity"), "sla/"),
            **_reuse(returns),
        }
        pools = [
            (float(row["requests_per_s"]), float(row["kept_seconds"]), float(row["hit_rate"]))
            for row in packaged_rows("reuse/pools")
        ]
        return cls(facts, premises, returns, _profiles(), tuple(pools), Aliases.read())

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of everything packaged that a case may state otherwise, hardware of packaged SKUs included."""
        hardware = (f"hardware/{sku}/{name}" for (sku, name) in self.facts if name not in INFORMATIVE)
        return (*(path for path in self.premises if not path.startswith(GUIDANCE)), *hardware)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios, in the order of the library."""
        return tuple(dict.fromkeys(path.split("/")[1] for path in self.premises if path.startswith("scenario/")))

    @property
    def curves(self) -> tuple[str, ...]:
        """Names of reuse curves that a case may use: plain ones, with ``:low``, ``:base`` or ``:high``, and none."""
        return ("none", *sorted(f"{name}{end}" for name in self.returns for end in ("", *_ENDS)))


_PARTS = ("premises*.csv", "hardware/*.csv", "scenarios/*.csv", "reuse/*.csv")
"""Files under ``data`` that are read here."""


@lru_cache(maxsize=1)
def _parsed(files: tuple[tuple[str, int, int], ...]) -> Packaged:
    """The packaged data for files by path, time of their last change and size."""
    del files
    return Packaged.parsed()


_ENDS = tuple(f":{level}" for level in LEVELS)


def _facts(files: Iterable[str], keys: tuple[str, ...], prefix: str, base: str = "value") -> dict[str, Fact]:
    """Facts of tables under ``data`` by prefix and keys; ``base`` names the column of the value."""
    facts: dict[str, Fact] = {}
    faults: list[Fault] = []
    for file in files:
        for line, row in read_rows(packaged_path(f"data/{file}")):
            fact, wrong = parse({**row, "value": row[base]}, file, line)
            faults += wrong
            path = prefix + "/".join(row[key] for key in keys)
            if path in facts:
                faults.append(Fault(file, line, ", ".join(keys), path, "One row each."))
            if fact is not None:
                facts[path] = fact
    if faults:
        raise InputError(faults)
    return facts


def _returns() -> dict[str, Returns]:
    rows = packaged_rows("reuse/curves")
    return {
        name: Returns(
            tuple(float(row["age_s"]) for row in points),
            {level: tuple(float(row[f"return_{level}"]) for row in points) for level in LEVELS},
        )
        for name, points in ((name, list(part)) for name, part in groupby(rows, key=lambda row: row["curve"]))
    }


def _reuse(returns: Mapping[str, Returns]) -> dict[str, Fact]:
    """Premises of every curve under every name that a case may call it by.

    ``reused_share`` p is what a return reuses; ``returns`` which packaged shape R has; ``h_max`` = p·R of the last age
    the share of input that a cache without limits finds.
    """
    sources = {(row["curve"], row["quantity"]): row for row in packaged_rows("reuse/sources")}
    made: dict[str, Fact] = {}
    for name, shape in returns.items():
        share, source = sources[name, "reused_share"], sources[name, "return_share"]
        p = {level: float(share[level]) for level in LEVELS}
        hits = {level: p[level] * shape.returned[level][-1] for level in LEVELS}
        told = [(Evidence(row["kind"]), row["source"], "", row["note"]) for row in (share, source)]
        for end in ("", *_ENDS):
            level = end[1:] or "base"
            path = f"reuse/{name}{end}"
            made[f"{path}/reused_share"] = Fact(p[level], share["unit"], p["low"], p["high"], *told[0])
            made[f"{path}/returns"] = Fact(level, "text", "low", "high", *told[1])
            made[f"{path}/h_max"] = Fact(hits[level], share["unit"], hits["low"], hits["high"], *told[1])
    return made


def _profiles() -> dict[str, tuple[float, ...]]:
    hours: dict[str, dict[int, float]] = {}
    for row in packaged_rows("scenarios/profiles"):
        hours.setdefault(row["scenario"], {})[int(row["hour"])] = float(row["of_mean"])
    return {name: tuple(of_mean[hour] for hour in range(24)) for name, of_mean in hours.items()}
