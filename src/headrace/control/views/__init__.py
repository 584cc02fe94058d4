"""Read models of jobs: everything that Flink's REST API says of a job, as plain frozen data.

    driver (control/history.py) ─▶ files in the registry ─▶ JobViews (reader.py) ─▶ who shows it

Nobody who shows a job reaches into a running one: REST, the dashboard, `headrace status`,
Prometheus and OpenTelemetry read these.  They know nothing of HTTP.  Next: control/views/models.py
"""

from __future__ import annotations
