"""Nexmark: the events, the queries, and one table of what was measured."""
