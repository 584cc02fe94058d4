"""Requests to outside services, many under way at a time.

event_loop.py (the thread they run in), requests.py (which run, and how long they may), attempts.py
(asking again), order.py (in which order results leave).  Next: runtime/operators/asynchronous.py
"""
