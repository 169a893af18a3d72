"""Rows that ``procure kv`` prints: one per card and length, every quantity with its unit in its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from procure.catalogue.sku import Sku
from procure.errors import InputError
from procure.sizing.card import Card
from procure.sizing.cards import load_card
from procure.sizing.fits import NOTHING, UNLIMITED, longest_tokens, most_sequences, state_below_share_tokens
from procure.sizing.reserve import Engine, replication, reserved_bytes


@dataclass(frozen=True)
class Question:
    """What is asked of every card.

    Attributes:
        tokens: lengths.
        kv_format: format, as in :meth:`Card.stored_bytes`.
        convention: what is kept beside the formula.
        engine: how caches are reserved.
        tps_user: tokens per second of one stream, for the read rate; None leaves it out.
        sku: hardware whose HBM is filled; None leaves it out.
        weight_precision: of the weights that HBM holds first.
        copies: copies of the weights per unit of the SKU.
        hbm_share: share of HBM that weights and caches may take.
    """

    tokens: Sequence[int]
    kv_format: str = "fp8"
    convention: str = "formula"
    engine: Engine = field(default_factory=Engine)
    tps_user: float | None = None
    sku: Sku | None = None
    weight_precision: str = "native"
    copies: int = 1
    hbm_share: float = 1.0


def rows(cards: Iterable[Card], question: Question) -> list[dict[str, Any]]:
    """One row per card and length, in the order given."""
    return [row(card, tokens, question) for card in cards for tokens in question.tokens]


def row(card: Card, tokens: int, question: Question) -> dict[str, Any]:
    """All quantities of one sequence of that length.

    Raises:
        InputError: a format, convention or precision is not known, or a field that is asked for is missing.
    """
    fmt, rule = question.kv_format, question.convention
    stored, loaded = card.stored_bytes(tokens, fmt, rule), card.loaded_bytes(tokens, fmt, rule)
    flops = card.decode_attention_flops(tokens)
    reserved = reserved_bytes(card, tokens, fmt, question.engine)
    result = {
        "model": card.name,
        "attention": card.description,
        "kv_format": fmt,
        "convention": rule,
        "tokens": tokens,
        "stored_bytes": stored,
        "loaded_bytes": loaded,
        "transferred_bytes": card.transferred_bytes(tokens, fmt, rule),
        "state_bytes": card.state_bytes(fmt, rule),
        "bytes_per_token": card.bytes_per_token(tokens, fmt, rule),
        "reserved_bytes": reserved,
        "engine_convention": question.engine.convention,
        "replication": replication(card, question.engine, fmt, max(tokens, 1)),
        "decode_attention_flops": flops,
        "flops_per_loaded_byte": flops / loaded if loaded else None,
        "state_below_10_percent_tokens": state_below_share_tokens(card, fmt, rule),
        "max_context_tokens": card.known("max_position_embeddings"),
        "stored_components_bytes": card.components(tokens, fmt, rule),
        "loaded_components_bytes": card.components(tokens, fmt, rule, "loaded"),
        "notes": list(card.notes),
    }
    if question.tps_user is not None:
        result |= {"tps_user": question.tps_user, "loaded_bytes_per_s": loaded * question.tps_user}
    if question.sku is not None:
        result |= _per_unit(card, tokens, question, question.sku, reserved)
    return result


def _per_unit(card: Card, tokens: int, question: Question, sku: Sku, reserved: float) -> dict[str, Any]:
    """Sequences that one unit's HBM holds beside the weights: by formula, and by what is reserved (for limits)."""
    hbm = sku.gpus * sku.hbm_bytes_per_gpu * question.hbm_share
    weights = card.weight_bytes(question.weight_precision) * question.copies
    free = max(hbm - weights, 0.0)
    formats = question.kv_format, question.convention
    outside = card.stored_bytes(tokens, *formats) - card.hbm_bytes(tokens, *formats)
    each, reserved = card.hbm_bytes(tokens, *formats), reserved - outside
    return {
        "sku": sku.name,
        "hbm_bytes": hbm,
        "weight_precision": card.native_precision
        if question.weight_precision == "native"
        else question.weight_precision,
        "weight_bytes": weights,
        "free_hbm_bytes": free,
        "sequences_formula": int(free // each) if each else None,
        "sequences_reserved": int(free // reserved) if reserved else None,
    }


def fits_rows(cards: Iterable[Card], budget_bytes: int, question: Question) -> list[dict[str, Any]]:
    """The longest sequence, and the most sequences of every length asked, that a byte budget holds."""
    result = []
    for card in cards:
        longest = longest_tokens(card, budget_bytes, question.kv_format, question.convention)
        common = {
            "model": card.name,
            "kv_format": question.kv_format,
            "convention": question.convention,
            "budget_bytes": budget_bytes,
            "longest_tokens": None if longest in (NOTHING, UNLIMITED) else longest,
            "longest": {NOTHING: "the fixed state alone does not fit", UNLIMITED: "unlimited"}.get(longest, "exact"),
            "max_context_tokens": card.known("max_position_embeddings"),
        }
        for tokens in question.tokens:
            count = _finite(most_sequences(card, budget_bytes, tokens, question.kv_format, question.convention))
            reserved = reserved_bytes(card, tokens, question.kv_format, question.engine)
            result.append(
                common
                | {
                    "tokens": tokens,
                    "sequences_formula": count,
                    "sequences_reserved": int(budget_bytes // reserved) if reserved else None,
                }
            )
    return result


def _finite(count: int) -> int | None:
    """A count, or None where nothing limits it."""
    return None if count == UNLIMITED else count


def load_cards(names: Iterable[str]) -> list[Card]:
    """Cards by name or path; all that cannot be read are named at once.

    Raises:
        InputError: as :func:`procure.sizing.load_card`, gathered.
    """
    cards, faults = [], []
    for name in names:
        try:
            cards.append(load_card(name))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(faults)
    return cards
