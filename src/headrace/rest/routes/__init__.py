"""Flink's paths, a module a family; each has a `router` that rest/app.py includes.

In: HTTP requests, checked by FastAPI.  Out: JSON made by rest/flink/.
"""

from __future__ import annotations
