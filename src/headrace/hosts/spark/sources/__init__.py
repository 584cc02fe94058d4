"""How Spark reads each kind of source.  Next: opening.py"""
