"""Lines from a TCP connection, for trying things out.  Next: source.py"""
