"""State as DataFrames: entries become rows in columns of their types, and rows become entries.

In: the files of a savepoint, or a checkpoint; or a DataFrame of keys and values.
Out: a DataFrame; or Parquet files of a savepoint.  Next: state.py,
runtime/savepoint/table_rows.py (which columns there are)
"""

from __future__ import annotations

import pickle
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.data.codec import codec_for
from headrace.data.pickling import UserCode
from headrace.hosts.spark.state.checkpoint_files import stateful_operators
from headrace.hosts.spark.state.export import ENTRIES, entries_frame, pages_frame
from headrace.hosts.spark.types import type_info_of
from headrace.runtime.savepoint.entries import DECLARED, EVERYWHERE, RECORDED
from headrace.runtime.savepoint.files import to_batches, to_entries
from headrace.runtime.savepoint.portable import decode
from headrace.runtime.savepoint.table_rows import TableColumns
from headrace.runtime.savepoint.value_types import UNKNOWN, merged
from headrace.runtime.state.declared import DECLARED_KEY, DeclaredStates, spec_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.common.opaque import JsonObject
    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.savepoint.new_entries import NewState
    from headrace.runtime.savepoint.table_rows import StateTable
    from headrace.spi.state import StateSpec

    Batches = Iterator[pa.RecordBatch]

_ROWS_AT_ONCE = 10_000


# --- out -----------------------------------------------------------------------------------------


def saved_entries(
    spark: SparkSession, location: str, files: Sequence[str], uid: str, state: str
) -> DataFrame:
    """The entries of one state of a savepoint, as its files hold them."""
    frame = spark.read.schema(ENTRIES).parquet(*(f"{location}/{name}" for name in files))
    return _of_state(frame, uid, state)


def checkpoint_entries(
    spark: SparkSession, checkpoint: str, batch_id: int, uid: str, width: int, state: str
) -> DataFrame:
    """The entries of one state of a checkpoint, in the same form."""
    frame = entries_frame(spark, checkpoint, batch_id, {uid: width}, state=state)
    assert frame is not None  # there is such a state
    return _of_state(frame, uid, state)


def _of_state(frame: DataFrame, uid: str, state: str) -> DataFrame:
    return frame.where((F.col("operator") == uid) & (F.col("state") == state))


def checkpoint_states(spark: SparkSession, checkpoint: str, batch_id: int, uid: str) -> list[str]:
    """The names of the states that an operator has in a checkpoint."""
    found: set[str] = set()
    for operator in stateful_operators(checkpoint):
        pages = pages_frame(spark, checkpoint, operator, batch_id)
        # only the names travel: what stands before the first zero byte is operator and state
        name = F.substring_index(F.col("name").cast("string"), "\0", 1)
        mine = pages.select(name.alias("name")).where(F.col("name").startswith(f"{uid}/"))
        paths = [row["name"].removeprefix(f"{uid}/") for row in mine.distinct().collect()]
        if paths:
            declared = _declared_states(pages)
            specs = [declared.state_of(uid, path) for path in paths]
            found.update(spec.name for spec in specs if spec.scope != "subtask")
    return sorted(found)


def _declared_states(pages: DataFrame) -> DeclaredStates:
    """What the operators of a stage declare; each of its subtasks tells the same."""
    row = pages.where(F.col("name") == F.lit(bytearray(DECLARED_KEY))).select("content").first()
    return DeclaredStates(None if row is None else bytes(row["content"]))


def recorded_type(entries: DataFrame) -> JsonObject:
    """What a state says of itself; empty if it was written by an early version."""
    row = entries.where(F.col("key_group") == RECORDED).select("value").first()
    return {} if row is None else dict(decode(bytes(row["value"])))


def declared_spec(entries: DataFrame, state: str) -> StateSpec | None:
    """The declaration of a state; None if it was stored before there were any."""
    row = entries.where(F.col("key_group") == DECLARED).select("value").first()
    return None if row is None else spec_from_json(state, decode(bytes(row["value"])))


def state_frame(
    entries: DataFrame, table: StateTable, types: Sequence[TypeInformation | None]
) -> DataFrame:
    """Entries as rows of a table.

    Args:
        entries: of one state.
        table: how they become rows.
        types: of the columns; where one is None, the values are looked at first.
    """
    mine = entries.where(F.col("key_group") >= EVERYWHERE)
    if table.spec.scope == "broadcast":  # every subtask has the same
        mine = mine.dropDuplicates(["key"])
    known = list(types)
    if None in known:
        seen = _types_of_values(mine, table)
        known = [seen[n] if declared is None else declared for n, declared in enumerate(known)]
    columns = TableColumns.of(table.columns, known)  # type: ignore[arg-type]
    schema = from_arrow_schema(columns.schema(), prefer_timestamp_ntz=True)
    return mine.mapInArrow(_with_user_code(_to_rows(table, columns)), schema)


def _to_rows(table: StateTable, columns: TableColumns) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        rows = (row for batch in batches for e in to_entries(batch) for row in table.rows(e))
        while part := list(islice(rows, _ROWS_AT_ONCE)):
            yield columns.batch(part)

    return run


def _types_of_values(entries: DataFrame, table: StateTable) -> list[TypeInformation]:
    """The types that all values fit, each partition looking at its own."""

    def run(batches: Batches) -> Batches:
        import pyarrow as pa

        found = table.type_of(entry for batch in batches for entry in to_entries(batch))
        yield pa.record_batch({"types": pa.array([pickle.dumps(found)], pa.binary())})

    parts = entries.mapInArrow(_with_user_code(run), "types binary").collect()
    found = [pickle.loads(bytes(row["types"])) for row in parts]
    unknown: list[TypeInformation] = [UNKNOWN] * len(table.columns)
    return reduce(lambda one, other: list(map(merged, one, other)), found, unknown)


def _with_user_code(run: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Run in a worker that finds the classes of the user's script."""
    user_code = UserCode.of_driver()

    def wrapped(batches: Batches) -> Batches:
        user_code.adopt()
        yield from run(batches)

    return wrapped


# --- back ----------------------------------------------------------------------------------------


def column_types(frame: DataFrame) -> list[TypeInformation]:
    """The types of headrace for the columns of a DataFrame."""
    return type_info_of(frame.schema).get_field_types()


def keyed_frame(
    frame: DataFrame, *, key: Sequence[str], value: Sequence[str], kind: str, order: str | None
) -> DataFrame:
    """A DataFrame of two columns, key and value, with one row for each key.

    Args:
        frame: rows of values; for a list one an item, for a map one an entry.
        key: the key's column; several make a tuple.
        value: the value's column; several make a row. For a map, the map key's column is first.
        kind: value, list or map.
        order: for a list, the column that tells the order of items.
    """
    key_column = _packed(key).alias("key")
    if kind == "value":
        return frame.select(key_column, _packed(value).alias("value"))
    if kind == "map":
        pair = F.struct(F.col(value[0]).alias("k"), _packed(value[1:]).alias("v"))
        found = F.map_from_entries(F.collect_list(pair))
    else:
        place = F.lit(0) if order is None else F.col(order)
        item = F.struct(place.alias("place"), _packed(value).alias("item"))
        listed = F.collect_list(item)
        found = F.transform(
            listed if order is None else F.sort_array(listed), lambda each: each["item"]
        )
    return frame.groupBy(key_column).agg(found.alias("value"))


def _packed(columns: Sequence[str]) -> Column:
    return F.col(columns[0]) if len(columns) == 1 else F.struct(*columns)


def write_entries(frame: DataFrame, location: str, state: NewState, *, tuple_key: bool) -> None:
    """Write a `keyed_frame` as entries of one state into the folder of a savepoint.

    Args:
        frame: key and value.
        location: the folder of the Parquet files.
        state: what they are the entries of.
        tuple_key: whether keys are tuples.
    """
    codec = codec_for(type_info_of(frame.schema))

    def run(batches: Batches) -> Batches:
        pairs = (
            (tuple(row[0]) if tuple_key else row[0], row[1])
            for batch in batches
            for row in codec.decode(batch)
        )
        yield from to_batches(state.entries(pairs))

    frame.mapInArrow(_with_user_code(run), ENTRIES).write.mode("append").parquet(location)
