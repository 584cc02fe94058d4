"""Test your functions and programs without a cluster.

`harness` feeds one function with records, watermarks and time; `LocalRunner` runs a whole program
in this process, batch by batch.  Suites for connectors: connectors.py
"""

from __future__ import annotations

from headrace.testing.harness import Harness, KeyedHarness, TwoInputHarness
from headrace.testing.local_runner import LocalRunner, collect_locally

__all__ = ["Harness", "KeyedHarness", "LocalRunner", "TwoInputHarness", "collect_locally"]
