"""KV-cache bytes, arithmetic and weights of an LLM, derived from its architecture."""

from procure.sizing.card import Card, Source
from procure.sizing.cards import card_files, card_names, load_card
from procure.sizing.formats import KvFormat, kv_format
from procure.sizing.parameters import FeedForward, Moe, Params

__all__ = [
    "Card",
    "FeedForward",
    "KvFormat",
    "Moe",
    "Params",
    "Source",
    "card_files",
    "card_names",
    "kv_format",
    "load_card",
]
