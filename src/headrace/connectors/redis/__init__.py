"""Redis, exactly once.

sink.py (description), writer.py and commands.py (staging in the workers), committer.py and
script.py (a batch in one script).
"""
