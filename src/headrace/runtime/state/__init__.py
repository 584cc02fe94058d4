"""Keyed state: backends keep bytes, pages group keys, states give Flink's interface on top.

Down from the user: states.py, ttl.py, large.py, pages.py, hot.py, packed.py, backend.py.
"""
