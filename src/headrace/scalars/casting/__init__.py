"""How a value of one type becomes one of another.  Next: scalars/casts.py is the way in."""
