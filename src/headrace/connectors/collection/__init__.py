"""A list of the program as a source.  Next: source.py"""
