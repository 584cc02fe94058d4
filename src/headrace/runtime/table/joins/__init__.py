"""Joins of streams of lines.  Next: runtime/table/joins/regular.py"""
