"""Whole SQL queries on PyFlink and on headrace: their changelogs and tables must be equal."""
