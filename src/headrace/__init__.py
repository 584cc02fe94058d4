"""headrace: Apache Flink's programming model in Python, executed by Apache Spark.

Start with ``from headrace.datastream import StreamExecutionEnvironment``.  Importing this package
loads neither pyspark nor pyarrow.  Next: datastream/stream_execution_environment.py; missing.py for
the names of PyFlink's that are not here.
"""

from __future__ import annotations

from headrace.missing import find_missing_modules

__all__ = ["__version__"]

__version__ = "0.1.0"

find_missing_modules()
