"""PostgreSQL, exactly once.

sink.py (description), writer.py and rows.py (staging in the workers), committer.py and changes.py
(the transaction of a batch).
"""
