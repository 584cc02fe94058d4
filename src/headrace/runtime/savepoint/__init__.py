"""State entry by entry, on its way into a savepoint, out of one, or into a table.

Next: entries.py
"""
