"""The dashboard for Grafana is the one that its script would write."""

from __future__ import annotations

import json

from grafana_dashboard import TARGET, dashboard
from source_files import place, tell


def test_the_file_is_up_to_date() -> None:
    if json.loads(TARGET.read_text(encoding="utf-8")) != dashboard():
        tell([f"{place(TARGET, 1)} is not up to date (run `make golden`)"])
