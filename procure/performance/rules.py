"""What performance rests on beside hardware and cards: every number a premise, read into one frozen record.

Premises are facts by path, ``group/name``: those of the groups ``physics``, ``queue``, ``software``, ``framework``,
``bring_up``, ``band``, ``lpx`` and ``curve`` (``data/premises_*.csv``; ``premises_fitted.csv`` and
``premises_curves.csv`` are written or measured, not chosen). Whoever changes one of them gets other rules: nothing here
or below reads a packaged premise; where decode was measured is read anew for every :class:`Rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from procure.catalogue import Catalogue
from procure.errors import Fault, InputError, nearest
from procure.performance.distance import Measured
from procure.performance.measured import Curves
from procure.performance.physics import (
    REFERENCE_SOFTWARE,
    UNCHANGED,
    Factors,
    Months,
    Physics,
    Software,
    SoftwarePath,
    vintage_parts,
)

if TYPE_CHECKING:
    from procure.catalogue import Fact
    from procure.sizing import Card

GROUPS = ("physics", "queue", "software", "framework", "bring_up", "band", "lpx", "curve")
"""Groups of premises that :meth:`Rules.of` reads."""


@dataclass(frozen=True)
class Layouts:
    """Which layouts and drafts are tried, and how full HBM is filled.

    Attributes:
        tensor_gpus: GPUs per replica with tensor parallelism.
        expert_gpus: GPUs per replica with attention data parallel and experts spread.
        joined_servers_gpus: most GPUs of a replica of joined servers.
        draft_lengths: tokens drafted per stream and step, beside none.
        usable_hbm: share of HBM for weights and caches.
        most_streams_per_gpu: cap that engines put on running sequences.
    """

    tensor_gpus: tuple[int, ...]
    expert_gpus: tuple[int, ...]
    joined_servers_gpus: float
    draft_lengths: tuple[int, ...]
    usable_hbm: float
    most_streams_per_gpu: float


@dataclass(frozen=True)
class PrefillRules:
    """How prompts are prefilled.

    Attributes:
        chunk_tokens: tokens prefilled together, over which one read of the weights is spread.
        group_factor: GPUs of a prefill replica over the fewest that hold the weights.
        group_efficiency: share of a group's GPUs that one request alone keeps busy.
        service_factor: of a benchmark's prefill rate, what a pool reaches while it serves.
        service_band: low and high of that.
        start_s: seconds of scheduling and first launch.
    """

    chunk_tokens: float
    group_factor: float
    group_efficiency: float
    service_factor: float
    start_s: float
    service_band: tuple[float, float]


@dataclass(frozen=True)
class QueueRules:
    """The queue before prefill: replicas that feed from one, and the largest load and share that it is stated for."""

    replicas: int
    fullest_load: float
    largest_share: float


@dataclass(frozen=True)
class Band:
    """True over computed TPS/User at a given batch: 10th and 90th percentile of rows kept out of the fit.

    Each of ``plain`` and ``drafted`` (without and with speculation) is (low, high). Contexts longer than
    ``from_tokens`` widen it, up to the further factors ``long_context`` at ``to_tokens``; cards that choose what they
    attend to by an index (DSA) widen it by the further factors ``sparse`` at any context.
    """

    plain: tuple[float, float]
    drafted: tuple[float, float]
    from_tokens: float
    to_tokens: float
    long_context: tuple[float, float]
    sparse: tuple[float, float]


@dataclass(frozen=True)
class LpxRules:
    """VR NVL72 with LPX: a guessed step, and what brings its throughput to the vendor's multiple.

    ``paired_s``, ``alone_tokens_per_s`` and ``alone_prefill_s`` are of the claim's own load at the fitted physics: the
    pair's GPU-seconds behind one decoded token by physics (LPX power counted in GPUs), VR NVL72's decoded tokens/s per
    GPU, its prefill GPU-seconds behind one token.
    """

    racks_fill: float
    vendor_multiple: float
    gpu_latency_share: float
    transfer_s: float
    layer_s: float
    flops_efficiency: float
    busy_share: float
    link_efficiency: float
    paired_s: float
    alone_tokens_per_s: float
    alone_prefill_s: float
    source: str
    date: str

    @property
    def scale(self) -> float:
        """Factor on the pair's physical throughput that brings it to the vendor's multiple m of tokens/s per MW.

        ``paired_s / scale + alone_prefill_s = (1 / alone_tokens_per_s + alone_prefill_s) / m``.
        """
        alone_s = 1.0 / self.alone_tokens_per_s + self.alone_prefill_s
        return self.paired_s / (alone_s / self.vendor_multiple - self.alone_prefill_s)

    @property
    def largest_multiple(self) -> float:
        """The multiple at which decode would have to take no power at all."""
        return (1.0 / self.alone_tokens_per_s + self.alone_prefill_s) / self.alone_prefill_s


@dataclass(frozen=True)
class Rules:
    """Everything that performance takes as given; equal rules give equal figures.

    Attributes:
        reference: fitted physics at the software of the fitted rows.
        software: how software moves it over time.
        frameworks: fitted factors by framework; plans do not use them.
        bring_up: factors by pool that was measured as an engineering sample.
        follows: pool whose bring-up factors announced hardware takes, by pool.
        layouts: layouts tried.
        prefill: how prompts are prefilled.
        queue: the wait before it.
        band: how far off a decode point may be.
        lpx: VR NVL72 with LPX.
        curves: packaged measured curves.
        measured: settings at which decode was measured.
        source: what the fitted numbers rest on, in words.
    """

    reference: Physics
    software: SoftwarePath
    frameworks: tuple[tuple[str, Software], ...]
    bring_up: tuple[tuple[str, Factors], ...]
    follows: tuple[tuple[str, str], ...]
    layouts: Layouts
    prefill: PrefillRules
    queue: QueueRules
    band: Band
    lpx: LpxRules
    source: str
    curves: Curves = field(compare=False)
    """Left out of comparison: what is kept by rules is physics alone."""
    measured: Measured = field(compare=False)

    @classmethod
    def of(cls, premises: Mapping[str, Fact]) -> Rules:
        """Rules from premises by path; those of other groups are not looked at.

        Raises:
            InputError: premises that are missing or out of range, all at once.
        """
        read = _Reader(premises)
        software = SoftwarePath(
            reference_month=read.month("software/reference_month"),
            fitted=Months(**{each.name: read.number(f"software/{each.name}_per_month") for each in fields(Months)}),
            base_month=read.month("software/base_month"),
            base=read.factors("software/base_"),
            fast_latency_of_base=read.number("software/fast_latency_of_base"),
            path_latency_per_month=read.number("software/path_latency_per_month"),
        )
        frameworks = {path.split("/")[1]: None for path in premises if path.startswith("framework/")}
        pools = [path.split("/") for path in premises if path.startswith("bring_up/")]
        made = cls(
            reference=Physics(**{each.name: read.number(f"physics/{each.name}") for each in fields(Physics)}),
            software=software,
            frameworks=tuple((name, read.framework(name)) for name in frameworks),
            bring_up=tuple(
                (name, read.factors(f"bring_up/{name}/")) for name in dict.fromkeys(p[1] for p in pools if len(p) > 2)
            ),
            follows=tuple((name, read.text(f"bring_up/{name}")) for name in (p[1] for p in pools if len(p) == 2)),
            layouts=read.layouts(),
            prefill=PrefillRules(
                **{
                    each.name: read.number(f"physics/prefill_{each.name}")
                    for each in fields(PrefillRules)
                    if each.name != "service_band"
                },
                service_band=read.band_of("physics/prefill_service_factor"),
            ),
            queue=QueueRules(
                replicas=round(read.number("queue/prefill_replicas", least=1.0)),
                fullest_load=read.number("queue/fullest_load", below=1.0),
                largest_share=read.number("queue/largest_share", below=1.0),
            ),
            band=read.band(),
            lpx=read.lpx(),
            source=read.source("physics/weight_efficiency"),
            curves=Curves.of_premises(premises),
            measured=Measured.packaged(),
        )
        read.close(made)
        return made

    @classmethod
    def packaged(cls) -> Rules:
        """Rules of the packaged premises."""
        return cls.of(premises_of(Catalogue.read()))

    def physics(self, vintage: str, pool: str = "", months: Iterable[int] | None = None) -> Physics:
        """Fitted parameters at a software vintage and, where it was calibrated apart, for one pool.

        Args:
            vintage: such as ``base`` or ``base+12``.
            pool: SKU name; pools that were measured as samples get their bring-up factors on top.
            months: further months of software for each element; latencies are then arrays of shape (elements, 1, 1).

        Raises:
            InputError: no such vintage.
        """
        own = self.bring_up_of(pool) or UNCHANGED
        if months is None:
            return self.reference.scaled(**vars(self.software.factors(vintage) * own))
        level, plus = vintage_parts(vintage)
        by_month = {m: self.software.factors(f"{level}+{plus + m}") * own for m in dict.fromkeys(months)}
        first = next(iter(by_month.values()), UNCHANGED)
        latency = np.array([by_month[m].latency for m in months], dtype=float).reshape(-1, 1, 1)
        return self.reference.scaled(latency=latency, efficiency=first.efficiency, prefill=first.prefill)

    def physics_of_month(self, months: float, pool: str = "") -> Physics:
        """Fitted parameters for software of ``months`` after the reference month; a pool's bring-up applies in full."""
        factors = self.software.factors_of_month(months) * (self.bring_up_of(pool) or UNCHANGED)
        return self.reference.scaled(**vars(factors))

    def bring_up_of(self, pool: str) -> Factors | None:
        """Bring-up factors of a pool, of its predecessor's where it is only announced; None where it has none."""
        return dict(self.bring_up).get(dict(self.follows).get(pool, pool))

    def framework(self, name: str) -> Software:
        """Fitted factors of a framework; those of the reference for one that was not fitted."""
        known = dict(self.frameworks)
        return known.get(name.removeprefix("dynamo-"), known[REFERENCE_SOFTWARE])


@dataclass(frozen=True)
class Setup:
    """How a card is served: what every figure of performance depends on beside hardware, card and lengths.

    Attributes:
        weight_precision: format of the weights; ``native`` is the card's released one.
        kv_format: format of the caches.
        vintage: software, such as ``base`` or ``base+12``.
        rules: the premises behind every number.
        curves: a user's own measurements; None without.
    """

    weight_precision: str
    kv_format: str
    vintage: str
    rules: Rules
    curves: Curves | None = field(default=None, compare=False)

    def weights(self, card: Card) -> str:
        """Weight precision of a card, ``native`` resolved."""
        return card.native_precision if self.weight_precision == "native" else self.weight_precision


def premises_of(catalogue: Catalogue) -> dict[str, Fact]:
    """Premises of a catalogue that performance rests on, by path: those of a case stand in it before packaged ones."""
    return {path: fact for path, fact in catalogue.premises.items() if path.split("/")[0] in GROUPS}


class _Reader:
    """Numbers and texts of premises; faults are collected."""

    def __init__(self, premises: Mapping[str, Fact]) -> None:
        self.premises = premises
        self.faults: list[Fault] = []

    def number(self, path: str, least: float = 0.0, below: float = np.inf) -> float:
        """A number: for efficiencies and shares above 0 and at most 1, else at least ``least`` and below ``below``."""
        fact = self._fact(path)
        if fact is None:
            return 1.0
        if isinstance(fact.value, str):
            return self._wrong(path, fact.value, "A number.")
        group, _, name = path.partition("/")
        share = name.endswith(("_efficiency", "_share", "_fill", "_service_factor", "acceptance", "usable_hbm"))
        if share and group in ("physics", "lpx", "framework"):
            if not 0.0 < fact.value <= (0.99 if name.endswith("acceptance") else 1.0):
                return self._wrong(path, fact.value, "Above 0 and at most 1 (an acceptance: 0.99).")
        elif not least <= fact.value < below or (least == 0.0 and fact.value == 0.0 and not name.endswith("_s")):
            expected = f"At least {least:g}" if least else "Above 0 (seconds: 0 or more)"
            return self._wrong(path, fact.value, expected + (f", below {below:g}." if np.isfinite(below) else "."))
        return fact.value

    def band_of(self, path: str) -> tuple[float, float]:
        """Low and high of a number, the number itself where it has none."""
        value, fact = self.number(path), self.premises.get(path)
        low, high = (None, None) if fact is None else (fact.low, fact.high)
        return low if isinstance(low, float) else value, high if isinstance(high, float) else value

    def text(self, path: str) -> str:
        fact = self._fact(path)
        return "" if fact is None else str(fact.value)

    def source(self, path: str) -> str:
        fact = self._fact(path)
        return "" if fact is None else fact.source

    def month(self, path: str) -> str:
        text = self.text(path)
        if text and not (len(text) == 7 and text[4] == "-" and text[:4].isdigit() and text[5:].isdigit()):
            self._wrong(path, text, "A month such as 2026-07.")
            return "2026-01"
        return text or "2026-01"

    def counts(self, path: str) -> tuple[int, ...]:
        text = self.text(path)
        if not all(part.isdigit() and int(part) > 0 for part in text.split()):
            self._wrong(path, text, "Whole numbers above 0, separated by blanks.")
            return ()
        return tuple(int(part) for part in text.split())

    def factors(self, prefix: str) -> Factors:
        return Factors(*(self.number(f"{prefix}{each.name}") for each in fields(Factors)))

    def framework(self, name: str) -> Software:
        return Software(**{each.name: self.number(f"framework/{name}/{each.name}") for each in fields(Software)})

    def layouts(self) -> Layouts:
        read: dict[str, Callable[[str], Any]] = dict.fromkeys(
            ("tensor_gpus", "expert_gpus", "draft_lengths"), self.counts
        )
        return Layouts(
            **{each.name: read.get(each.name, self.number)(f"physics/{each.name}") for each in fields(Layouts)}
        )

    def band(self) -> Band:
        def ends(name: str) -> tuple[float, float]:
            return self.number(f"band/{name}_low"), self.number(f"band/{name}_high")

        return Band(
            plain=ends("without_speculation"),
            drafted=ends("with_speculation"),
            from_tokens=self.number("band/long_context_from_tokens"),
            to_tokens=self.number("band/long_context_to_tokens"),
            long_context=ends("long_context"),
            sparse=ends("sparse"),
        )

    def lpx(self) -> LpxRules:
        claim = self._fact("lpx/vendor_multiple")
        told: dict[str, Any] = {"source": claim.source if claim else "", "date": claim.source_date if claim else ""}
        names = [each.name for each in fields(LpxRules) if each.name not in told]
        made = LpxRules(**told | {name: self.number(f"lpx/{name}") for name in names})
        if not made.vendor_multiple < made.largest_multiple:
            self._wrong("lpx/vendor_multiple", made.vendor_multiple, f"Below {made.largest_multiple:.3g}, at which "
                        "decode would take no power beside prefill.")  # fmt: skip
            return replace(made, vendor_multiple=1.0)
        return made

    def close(self, made: Rules) -> None:
        """Raise what was found."""
        if not self.faults and REFERENCE_SOFTWARE not in dict(made.frameworks):
            self._fact(f"framework/{REFERENCE_SOFTWARE}/latency")
        if not self.faults and made.band.from_tokens >= made.band.to_tokens:
            self._wrong("band/long_context_to_tokens", made.band.to_tokens, "More than band/long_context_from_tokens.")
        if self.faults:
            raise InputError(self.faults)

    def _fact(self, path: str) -> Fact | None:
        if path not in self.premises:
            expected = "A premise of this path."
            self.faults.append(Fault("premises", 0, "name", path, expected, nearest(path, self.premises)))
        return self.premises.get(path)

    def _wrong(self, path: str, found: float | str, expected: str) -> float:
        text = found if isinstance(found, str) else f"{found:g}"
        self.faults.append(Fault("premises", 0, path, text, expected))
        return 1.0
