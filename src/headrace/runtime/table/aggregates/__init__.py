"""Flink's aggregates, and those of users.  Next: runtime/table/aggregates/registry.py"""
