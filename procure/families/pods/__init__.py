"""Racks stand in the places of pods, and a pod once opened stays."""
