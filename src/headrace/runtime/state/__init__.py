"""Flink's keyed states on top of pages/: states.py, ttl.py, made by provider.py."""
