"""What Flink's end-to-end test of TPC-DS says: tables and queries, read when asked for.

In: a `Checkout`.  Out: columns with Flink's types, and texts by their names.  Next: data.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flink_programs.checkout import Checkout

_TEST = "flink-end-to-end-tests/flink-tpcds-test"
_JAVA = f"{_TEST}/src/main/java/org/apache/flink/table/tpcds"
_NAMES = re.compile(r"TPCDS_QUERIES\s*=\s*Arrays\.asList\((.*?)\);", re.S)
_TABLE = re.compile(r'schemaMap\.put\(\s*"(\w+)"')
_COLUMN = re.compile(r'new Column\(\s*"(\w+)",\s*DataTypes\.(\w+)\(([^)]*)\)')

Schemas = dict[str, dict[str, str]]


def schemas(checkout: Checkout) -> Schemas:
    """The SQL type of each column of each table."""
    _, *parts = _TABLE.split(checkout.text(f"{_JAVA}/schema/TpcdsSchemaProvider.java"))
    return {
        table: {
            column: f"{kind}({arguments})" if arguments else kind
            for column, kind, arguments in _COLUMN.findall(text)
        }
        for table, text in zip(parts[::2], parts[1::2], strict=True)
    }


def queries(checkout: Checkout) -> dict[str, str]:
    """The texts, in the order in which Flink's test runs them."""
    found = _NAMES.search(checkout.text(f"{_JAVA}/TpcdsTestProgram.java"))
    assert found is not None, "Flink's test does not list its queries any more"
    return {
        name: checkout.text(f"{_TEST}/tpcds-tool/query/query{name}.sql")
        for name in re.findall(r'"(\w+)"', found.group(1))
    }
