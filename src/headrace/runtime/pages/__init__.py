"""Key-value tables in pages, over any store of bytes; knows nothing of Flink's states.

Next: table.py, then store.py (what is below), large.py (lists and maps of any size)
"""
