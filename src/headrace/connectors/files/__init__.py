"""Files in and out.

In: source.py.  Out: sink.py, writer.py (staged in the workers), committer.py (made visible on the
driver).
"""
