"""The long-running process that takes programs and looks after their jobs.  No HTTP here.

A program's way: dispatcher.py (submit) ─▶ job_store.py (on disk) ─▶ drivers.py (a process of its
own) ─▶ supervision.py (what to do when that process ends) ─▶ history.  Several dispatchers:
leadership.py.  The web server on top is rest/.
"""
