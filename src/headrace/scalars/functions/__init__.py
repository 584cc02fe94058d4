"""What the functions of SQL do: one entry a function.

A module of this folder has a tuple `ENTRIES`; that is all it takes for its functions to be found.
Next: scalars/functions/entry.py says what an entry is, registry.py finds them.
"""
