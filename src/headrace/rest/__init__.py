"""Flink's REST API over a dispatcher, and the dashboard at `/`.

    HTTP ─▶ guard.py (host, size, token) ─▶ routes/ ─▶ Dispatcher, JobViews ─▶ flink/ (JSON) ─▶ HTTP

Nothing here reaches into a job: reading goes through control/views, acting through dispatcher/.
Next: rest/app.py
"""

from __future__ import annotations
