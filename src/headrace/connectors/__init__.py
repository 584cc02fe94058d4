"""One folder for each outside system: its description for users, its worker side, its driver side.

A connector sees spi/, api/, io/, data/, formats/ and common/ only.  Next: spi/source.py,
spi/sink.py
"""
