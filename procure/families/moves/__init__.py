"""Caches that move down between stores: young ones lie where reads are quick, old ones where bytes are cheap."""

SETTINGS = ("cache_moves",)
