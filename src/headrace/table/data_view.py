"""Lists and maps of accumulators under PyFlink's path.  Next: api/table/views.py"""

from __future__ import annotations

from headrace.api.table.views import DataView, ListView, MapView

__all__ = ["DataView", "ListView", "MapView"]
