"""The rules of the planner, one file each, in the order of RULES (plan/planner.py).

A rule takes a PlanGraph and returns another one with one more thing decided.  Next:
rules/resolve_types.py is the first.
"""
