"""Queries as relational nodes, from names to steps.  Next: rel/nodes.py"""
