"""The connector kit: test suites for a sink or a source of your own, run by your own pytest.

`SinkContract` and `SourceContract` have a test for every promise a connector makes: a batch that
comes twice, processes killed before, in and after a commit, leftovers, another number of writers,
bad input, pickling.  `SinkDriver` plays the engine for tests of your own.
How to: docs/how-to/write-a-connector.md
"""

from __future__ import annotations

from headrace.testing.sink_contract import SinkContract
from headrace.testing.sink_driver import SinkDriver
from headrace.testing.source_contract import SourceContract

__all__ = ["SinkContract", "SinkDriver", "SourceContract"]
