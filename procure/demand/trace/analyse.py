"""Measure a trace from end to end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from procure.demand.trace.batch import Batch
from procure.demand.trace.rates import rates
from procure.demand.trace.readers import Progress, batches
from procure.demand.trace.reuse import ReuseMeter, infer_block_tokens, infer_shared_blocks
from procure.demand.trace.trace import Trace
from procure.errors import Fault, InputError


@dataclass
class Options:
    """How to read.

    Attributes:
        session_clock: whether each session counts time from its own start. None: yes where every session of the
            first batch begins at the same time 0.
        block_tokens: tokens per block; None: the power of two that fits the first prompts.
        service_ttft_s: assumed time to first token where the trace does not say when requests complete.
        service_tps: assumed output speed in tokens/s for the same; None leaves the clock at the start of requests.
        time_unit: unit of the times, one of :data:`procure.demand.trace.clock.UNITS`; None: what each file proves.
    """

    session_clock: bool | None = None
    block_tokens: int | None = None
    service_ttft_s: float = 1.0
    service_tps: float | None = None
    time_unit: str | None = None


def analyse(paths: list[Path], options: Options | None = None, progress: Progress | None = None) -> Trace:
    """Measure the requests of some files as one trace.

    Lengths and arrivals are counted exactly. Reuse is exact as well: every block reference against the previous one to
    the same block, in time and in LRU stack distance. Memory grows with distinct blocks and
    sessions, not with the files.

    Args:
        paths: files in order of time; see :func:`procure.demand.trace.readers.batches`.
        options: how to read them.
        progress: called now and then.

    Raises:
        InputError: files that cannot be read, or that hold no request.
    """
    options = options or Options()
    trace = Trace()
    if rates(paths, trace):
        return trace
    meter: ReuseMeter | None = None
    latest = -np.inf
    shared: list[np.ndarray] = []
    for batch in batches(paths, trace.bad, progress, options.time_unit, trace.sentences):
        if meter is None:
            meter = _start(trace, batch, options)
        if bool(np.isnan(batch.time_s).any()) == trace.timed:
            expected = "Requests that all state when they came, or none of which does."
            raise InputError([Fault(str(paths[-1]), 0, "time", "", expected, "Measure such files apart.")])
        trace.inputs.add(batch.input_tokens)
        trace.outputs.add(batch.output_tokens)
        shared.append(batch.shared_tokens[~np.isnan(batch.shared_tokens)])
        trace.sessions = max(trace.sessions, int(batch.session.max(initial=-1)) + 1)
        if trace.has_arrivals:
            try:
                trace.arrivals.add(batch.time_s)
            except ValueError as error:
                hint = f"{' '.join(trace.sentences)} State another unit with --time-unit, or look at --clock session."
                raise InputError([Fault(str(paths[-1]), 0, "time", "", f"{error}.".capitalize(), hint)]) from error
            highest = np.maximum.accumulate(np.concatenate([[latest], batch.time_s]))
            trace.out_of_order += int((batch.time_s < highest[:-1]).sum())
            latest = highest[-1]
        start = trace.arrivals.start_s if trace.has_arrivals else 0.0
        meter.add(batch, batch.time_s - start, _ends(batch, options))
    if meter is None:
        raise InputError([Fault(str(p), 0, "", "", "No request could be read.") for p in paths])
    stated = np.concatenate(shared)
    if len(stated):
        trace.shared_prefix_tokens = float(np.median(stated))
    if meter.measured.references or trace.sessions:
        trace.reuse = meter.measured
    _describe(trace, options)
    return trace


def _start(trace: Trace, batch: Batch, options: Options) -> ReuseMeter:
    """Settle from the first batch what the options leave open."""
    trace.timed = not np.isnan(batch.time_s).all()
    trace.session_clock = _own_clocks(batch) if options.session_clock is None else options.session_clock
    trace.block_tokens = options.block_tokens or infer_block_tokens(batch)
    common = infer_shared_blocks(batch) if len(batch.blocks) and not trace.session_clock else 0
    # A block may be filled in part: what is shared stays below the prompt itself.
    common = min(common, max(int((batch.input_tokens.mean() - 1) // trace.block_tokens), 0))
    trace.common_tokens = trace.shared_prefix_tokens = float(common * trace.block_tokens)
    known = np.isfinite(batch.service_s).any() or options.service_tps is not None
    trace.clock = "idle" if known else "start"
    return ReuseMeter(batch, session_clock=trace.session_clock, block_tokens=trace.block_tokens, shared_blocks=common)


def _own_clocks(batch: Batch) -> bool:
    """Whether every session begins at time 0 (a single session at 0 counts: its clock is its own)."""
    sessions, first = np.unique(batch.session, return_index=True)
    return bool(sessions[0] >= 0 and (batch.time_s[first] == 0).all())


def _ends(batch: Batch, options: Options) -> np.ndarray:
    service = batch.service_s
    if options.service_tps is not None:
        assumed = options.service_ttft_s + batch.output_tokens / options.service_tps
        service = np.where(np.isnan(service), assumed, service)
    return batch.time_s + np.nan_to_num(service, nan=0.0)


def _describe(trace: Trace, options: Options) -> None:
    say = trace.sentences.append
    if not trace.timed:
        say("The files do not state when requests came: lengths alone follow from them.")
    elif trace.session_clock:
        say("Each session counts time from its own start: no arrival shape and no LRU curve follow from this trace.")
    if trace.reuse is not None and trace.reuse.references:
        say(f"{trace.block_tokens} tokens per block, {trace.reuse.references:,} block references.")
    elif trace.reuse is not None:
        say("No block hashes: reuse is what the trace states, else the whole context of the session's last request.")
    if trace.clock == "start" and trace.timed:
        say("Completions are not stated: ages run from the start of a request, longer than idle times.")
    elif options.service_tps is not None:
        say(
            f"Completions assumed where not stated: {options.service_ttft_s:g} s + output / "
            f"({options.service_tps:g} tokens/s) after the arrival."
        )
    if trace.out_of_order:
        say(f"{trace.out_of_order:,} requests are out of order of time; their gaps count as 0 where they are negative.")
    if trace.bad.count:
        say(f"{trace.bad.count:,} lines could not be read and are left out.")
