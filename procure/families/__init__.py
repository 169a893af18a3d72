"""Constraint families, each with its whole story: a folder with its program, its check and its words.

``program.py`` (with Pyomo) and ``check.py`` (without) never import each other: what a family demands is told twice on
purpose, and a fault of one is found by the other. What both may share is in :mod:`procure.rules`.
"""
