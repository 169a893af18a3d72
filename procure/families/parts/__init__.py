"""Kits and enclosures stand inside hosts, and serve where these are not held for others."""
