"""State as tables: read the state of checkpoints and savepoints, change it, write new savepoints.

    read("/data/orders", "count", "total")                 a checkpoint, at its newest batch
    Savepoint.load(old).with_state("count", "total", table).write(new)
    Savepoint.new().with_state("count", "total", table).write(first)      to begin a job with

In: locations and DataFrames.  Out: DataFrames and savepoints; existing ones are never changed.
Next: control/savepoints.py (the format), hosts/spark/state/tables.py (how entries become rows)
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.common.clock import wall_clock
from headrace.common.type_json import from_json, to_json
from headrace.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation
from headrace.control import savepoints as stored_form
from headrace.control.job_dir import JobDir
from headrace.control.snapshot import SnapshotJob, take_savepoint
from headrace.errors import InvalidArgumentError, SavepointError, StateError
from headrace.hosts.continuous.checkpoints import SegmentCheckpoints
from headrace.io.storage import Storage, absolute_target
from headrace.runtime.savepoint.entries import check_state_name
from headrace.runtime.savepoint.files import copy_rows, entries_of, write_rows
from headrace.runtime.savepoint.new_entries import NewState
from headrace.runtime.savepoint.table_rows import StateTable, TableColumns
from headrace.runtime.savepoint.value_types import settled, type_of_all
from headrace.runtime.state.recorded import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.opaque import HostFrame, JsonObject, StateValue
    from headrace.control.job_dir import Identity
    from headrace.control.savepoints import SavedOperator
    from headrace.control.state_names import States
    from headrace.spi.state import StateSpec

__all__ = ["Savepoint", "read"]

_KINDS = ("value", "list", "map", "reducing", "aggregating", "broadcast")
_MAX_PARALLELISM = 128


# --- reading -------------------------------------------------------------------------------------


def read(
    checkpoint_or_savepoint: str,
    operator_uid: str,
    state_name: str,
    spark: SparkSession | None = None,
) -> DataFrame:
    """A state as a DataFrame, with its keys and values in their types.

    The columns are ``key`` and ``value``; lists have one row for each item with its ``position``,
    maps one for each entry with its ``map_key``; state of windows has a column ``window``; timers
    (``timers/event``, ``timers/processing``) have ``key``, ``timestamp`` and ``namespace``.
    Values of a class are structs; what has no columns is pickled.

    Args:
        checkpoint_or_savepoint: a job's ``execution.checkpointing.dir``, or a savepoint. A running
            job is read at its newest committed batch, and is not disturbed.
        operator_uid: the ``uid()`` of the operator.
        state_name: the name in the state's descriptor.
        spark: the session to use; a local one is started if there is none.

    Raises:
        SavepointError: there is neither a checkpoint nor a savepoint.
        StateError: there is no such operator or state; the error lists those that exist.
    """
    from headrace.hosts.spark.state.tables import (
        checkpoint_entries,
        checkpoint_states,
        declared_spec,
        recorded_type,
        saved_entries,
        state_frame,
    )

    place = _open(absolute_target(checkpoint_or_savepoint))
    operator = place.operator(operator_uid)
    known = place.states(operator_uid)
    path = "" if known is None else check_state_name(operator_uid, known, state_name)
    session = spark or _session()  # last: a name that is wrong is told at once
    if isinstance(place, _SavedPlace):
        saved = place.savepoint
        entries = saved_entries(session, saved.location, saved.state_files(), operator.uid, path)
    else:
        at = (session, place.checkpoint, place.batch_id, operator_uid)
        path = check_state_name(operator_uid, checkpoint_states(*at), state_name)
        entries = checkpoint_entries(*at, operator.max_parallelism, path)
    recorded = recorded_type(entries)
    table = _table(path, recorded, declared_spec(entries, path))
    return state_frame(entries, table, _column_types(table, recorded))


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows of a state, and whether there are more."""

    columns: tuple[str, ...]
    rows: list[dict[str, StateValue]]
    more: bool


def first_rows(location: str, operator_uid: str, state_name: str, limit: int) -> FirstRows | None:
    """The first rows of what `read` gives, without Spark: for a look.

    Returns:
        The rows; None for a checkpoint, which only Spark can read.

    Raises:
        SavepointError: there is neither a checkpoint nor a savepoint.
        StateError: there is no such operator or state. A checkpoint of an early version does
            not list the names of its states.
    """
    place = _open(location)
    operator = place.operator(operator_uid)
    known = place.states(operator_uid)
    path = "" if known is None else check_state_name(operator_uid, known, state_name)
    if known is None or isinstance(place, _CheckpointPlace):
        return None
    recorded = known[path]
    table = _table(path, recorded, place.spec(operator_uid, path))
    saved = place.savepoint
    entries = entries_of(saved.location, saved.state_files(), operator.uid, table.spec)
    rows = list(islice((row for entry in entries for row in table.rows(entry)), limit + 1))
    types = [
        type_of_all(cells) if declared is None else declared
        for declared, cells in zip(
            _column_types(table, recorded), zip(*rows, strict=True), strict=False
        )
    ]
    found = TableColumns.of(table.columns, types).batch(rows[:limit]).to_pylist() if rows else []
    return FirstRows(table.columns, found, len(rows) > limit)


def _table(path: str, recorded: JsonObject, spec: StateSpec | None) -> StateTable:
    return StateTable(path, recorded.get("kind"), bool(recorded.get("ttl")), spec)


@dataclass(frozen=True, slots=True)
class StateSummary:
    """One state of an operator, as `headrace state list` shows it."""

    operator: str
    state: str
    type: str  # its kind and type for people; empty for what headrace keeps for itself
    entries: int | None  # how many there are, where that is known


def states_in(location: str) -> list[StateSummary]:
    """All states of a checkpoint or a savepoint; without Spark, except for early checkpoints.

    Raises:
        SavepointError: there is neither a checkpoint nor a savepoint.
    """
    place = _open(location)
    if isinstance(place, _SavedPlace):
        return [
            StateSummary(operator.uid, state.name, state.type_text, state.entries)
            for operator in place.savepoint.operators
            for state in operator.states
        ]
    found = []
    for uid in sorted(step.uid for step in place.steps if step.kind != "sink"):
        known = place.states(uid)
        if known is None:
            from headrace.hosts.spark.state.tables import checkpoint_states

            names = checkpoint_states(_session(), place.checkpoint, place.batch_id, uid)
            known = {name: {} for name in names}
        for name, said in sorted(known.items()):
            found.append(StateSummary(uid, name, str(Recorded(**said)) if said else "", None))
    return found


@dataclass(frozen=True, slots=True)
class _SavedPlace:
    """State in a savepoint."""

    savepoint: stored_form.StoredSavepoint

    def operator(self, uid: str) -> Any:
        return _find(uid, self.savepoint.operators, self.savepoint.location)

    def states(self, uid: str) -> dict[str, JsonObject] | None:
        """The states of an operator, with what they say of themselves."""
        return {state.name: state.type for state in self.operator(uid).states}

    def spec(self, uid: str, path: str) -> StateSpec | None:
        """The layout of a state."""
        return next(state.spec for state in self.operator(uid).states if state.name == path)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _CheckpointPlace:
    """State in the checkpoint of a job, after a committed batch."""

    location: str
    steps: tuple[Any, ...]
    names: States | None

    @property
    def checkpoint(self) -> str:
        return f"{self.location}/query"

    @property
    def batch_id(self) -> int:
        """The newest batch by now: a running job clears away what older ones need."""
        from headrace.hosts.spark.state.checkpoint_files import last_batch

        found = last_batch(self.checkpoint)
        if found is None:
            raise StateError("the job has not committed a batch yet", where=self.location)
        return found

    def operator(self, uid: str) -> Any:
        return _find(uid, self.steps, self.location)

    def states(self, uid: str) -> dict[str, JsonObject] | None:
        """As for a savepoint; None if only Spark can tell."""
        return None if self.names is None else self.names.get(uid, {})


def _find(uid: str, operators: Iterable[Any], location: str) -> Any:
    known = {operator.uid: operator for operator in operators if operator.kind != "sink"}
    if uid not in known:
        near = difflib.get_close_matches(uid, known, n=1)
        raise StateError(
            f"there is no operator {uid!r} with state",
            where=location,
            fix=(f"did you mean {near[0]!r}? " if near else "")
            + f"its operators are {', '.join(sorted(known)) or 'none'}",
        )
    return known[uid]


def _open(location: str) -> _SavedPlace | _CheckpointPlace:
    if Storage.open(location).exists(stored_form.METADATA):
        return _SavedPlace(stored_form.read_savepoint(location))
    job_dir = JobDir.open(location)
    identity = job_dir.read_identity()
    if identity is None or identity.fingerprint is None:
        raise SavepointError(
            "there is neither a savepoint nor a job's checkpoint here",
            where=location,
            fix="give an execution.checkpointing.dir, or what `headrace savepoint` printed",
        )
    continuous = SegmentCheckpoints(None, location)
    if continuous.last_epoch() is not None:
        return _SavedPlace(_saved_for_a_look(location, identity, continuous))
    place = _CheckpointPlace(location, identity.fingerprint.steps, job_dir.states.read())
    _ = place.batch_id  # where there is none, that is told at once
    return place


def _saved_for_a_look(
    location: str, identity: Identity, checkpoints: SegmentCheckpoints
) -> stored_form.StoredSavepoint:
    """A savepoint of a continuous job's newest epoch, for as long as this process lives."""
    assert identity.fingerprint is not None
    folder = tempfile.mkdtemp(prefix="headrace-state-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    job = SnapshotJob(
        identity.job_id, identity.name or "", location, identity.fingerprint, checkpoints
    )
    return take_savepoint(job, folder)


def _session() -> SparkSession:
    from headrace.hosts.spark.session import base_session

    return base_session({}, "local[2]")


def _column_types(table: StateTable, recorded: JsonObject) -> list[TypeInformation | None]:
    """The types of a table's columns, where they were recorded."""
    known: dict[str, TypeInformation] = {}
    if recorded.get("type") is not None:
        whole = from_json(recorded["type"])
        if isinstance(whole, MapTypeInfo) and table.kind in ("map", "broadcast"):
            known = {"map_key": whole.key_type, "value": whole.value_type}
        elif isinstance(whole, ListTypeInfo) and table.kind == "list":
            known = {"value": whole.element_type}
        else:
            known = {"value": whole}
    if recorded.get("key_type") is not None:
        known["key"] = from_json(recorded["key_type"])
    return [known.get(name) for name in table.columns]


# --- changing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    """A state to write."""

    state: NewState
    name: str
    # writes its entries below a location, as files that begin with a prefix
    write: Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A savepoint to read and to make others from. Methods return new ones; none changes this one.

    Example:
        >>> from headrace.state import Savepoint
        >>> made = Savepoint.new().with_state("count", "total", [("ann", 3), ("bob", 5)])
        >>> made.operators[0].uid
        'count'
    """

    _base: stored_form.StoredSavepoint | None
    _max_parallelism: int
    _changes: dict[tuple[str, str], _Change] = field(default_factory=dict)
    _removed: frozenset[str] = frozenset()

    @staticmethod
    def load(path: str) -> Savepoint:
        """The savepoint at a location.

        Raises:
            SavepointError: there is none, or it is broken.
        """
        found = stored_form.read_savepoint(absolute_target(path))
        widths = [operator.max_parallelism for operator in found.operators]
        return Savepoint(found, max(widths, default=_MAX_PARALLELISM))

    @staticmethod
    def new(max_parallelism: int = _MAX_PARALLELISM) -> Savepoint:
        """An empty one, to start a job from: its sources start at their beginning.

        Args:
            max_parallelism: of its operators; jobs that start from it use it, too.
        """
        if not 1 <= max_parallelism <= 1 << 15:
            raise InvalidArgumentError(f"max_parallelism is {max_parallelism}, not 1 to 32768")
        return Savepoint(None, max_parallelism)

    @property
    def operators(self) -> tuple[SavedOperator, ...]:
        """The operators with their states; states that were added have no number of entries."""
        states: dict[str, dict[str, stored_form.SavedState]] = {}
        found = {}
        for operator in () if self._base is None else self._base.operators:
            if operator.uid not in self._removed:
                found[operator.uid] = operator
                states[operator.uid] = {state.name: state for state in operator.states}
        for (uid, path), change in self._changes.items():
            if uid not in found:
                found[uid] = stored_form.SavedOperator(uid, uid, "", 1, change.state.width)
            recorded = change.state.description().value
            states.setdefault(uid, {})[path] = stored_form.SavedState(path, recorded, 0)
        return tuple(
            replace(operator, states=tuple(states[uid].values())) for uid, operator in found.items()
        )

    def read(
        self, operator_uid: str, state_name: str, spark: SparkSession | None = None
    ) -> DataFrame:
        """A state of the savepoint that was loaded, as `headrace.state.read` gives it."""
        if self._base is None:
            raise StateError("a new savepoint has to be written before its state can be read")
        return read(self._base.location, operator_uid, state_name, spark)

    def with_state(
        self,
        operator_uid: str,
        state_name: str,
        data: DataFrame | Iterable[Any],
        *,
        key: str | list[str] | Callable[[Any], Any] = "key",
        value: str | list[str] | Callable[[Any], Any] = "value",
        map_key: str = "map_key",
        position: str | None = None,
        kind: str | None = None,
        type_info: TypeInformation | None = None,
    ) -> Savepoint:
        """Replace a state, or add one.

        Args:
            operator_uid: the ``uid()`` of the operator that will have it.
            state_name: the name in its descriptor.
            data: a DataFrame, or Python values: pairs of key and value, where the value of a list
                state is a list and that of a map state a dict.
            key: the column of the key (several make a tuple), or a function of an item of ``data``.
                For broadcast state this is the key within its map.
            value: the column of the value (several make a row), or a function.
            map_key: for map states, the column of the key within the map.
            position: for list states, the column to order items by.
            kind: value, list, map, reducing, aggregating or broadcast; that of the state that is
                replaced, or value.
            type_info: as in the descriptor; that of the state that is replaced, or inferred
                from the data.

        Raises:
            StateError: the state is one of windows or timers, which cannot be rewritten; values
                that do not fit are found by `write`.
        """
        old = self._recorded(operator_uid, state_name)
        kind = kind or (old.kind if old is not None else "value")
        if kind not in _KINDS:
            raise InvalidArgumentError(f"kind is {kind!r}", fix=f"use one of {', '.join(_KINDS)}")
        make: Any = _frame_change if hasattr(data, "sparkSession") else _values_change
        folder = "broadcast" if kind == "broadcast" else "user"
        request = _Request(
            uid=operator_uid,
            path=f"{folder}/{state_name}",
            width=self._width(operator_uid),
            kind=kind,
            old=old,
            type_info=type_info,
            key=key,
            value=value,
            map_key=map_key,
            position=position,
        )
        state, write = make(data, request)
        change = _Change(state, state_name, write)
        return replace(self, _changes={**self._changes, (operator_uid, state.path): change})

    def without_operator(self, operator_uid: str) -> Savepoint:
        """Remove an operator with its state, or a source with its position."""
        changes = {at: change for at, change in self._changes.items() if at[0] != operator_uid}
        base = self._base
        known = {at[0] for at in self._changes}
        if base is not None:
            known |= {o.uid for o in base.operators} | {s.uid for s in base.sources}
        if operator_uid not in known:
            raise StateError(
                f"there is no operator {operator_uid!r}", fix=f"there are {sorted(known)}"
            )
        return replace(self, _changes=changes, _removed=self._removed | {operator_uid})

    def _width(self, uid: str) -> int:
        widths = {operator.uid: operator.max_parallelism for operator in self.operators}
        return widths.get(uid, self._max_parallelism)

    def _recorded(self, uid: str, name: str) -> Recorded | None:
        """What is known of a state that is replaced."""
        operator = next((o for o in self.operators if o.uid == uid), None)
        for state in () if operator is None else operator.states:
            if state.name in (f"user/{name}", f"broadcast/{name}") and state.type:
                return Recorded(**state.type)
            if state.name == name:
                raise StateError(
                    f"{name!r} of operator {uid!r} is not a state that a function declared, so it "
                    "cannot be rewritten",
                    fix="remove the operator, or change states that functions declare",
                )
        return None

    # --- writing -----------------------------------------------------------------------------

    def write(self, path: str) -> str:
        """Write a new savepoint, with checksums; returns its location.

        Args:
            path: a directory that does not exist, or is empty.

        Raises:
            SavepointError: there is something at the path.
            StateError: a value does not fit its state; nothing is left behind.
        """
        location = absolute_target(path)
        storage = Storage.open(location)
        if storage.list("") or storage.folders(""):
            raise SavepointError(
                "there is already something here, and savepoints are never changed",
                where=location,
                fix="write to a new directory",
            )
        if self._base is not None:
            stored_form.verify(self._base)
        try:
            self._write_files(location)
            stored_form.write_metadata(self._described(location))
        except BaseException:
            with contextlib.suppress(Exception):
                storage.delete_folder("")
            raise
        return location

    def _write_files(self, location: str) -> None:
        base = self._base
        if base is not None:
            replaced = set(self._changes)
            copy_rows(
                base.location,
                base.state_files(),
                location,
                keep=lambda uid, state: uid not in self._removed and (uid, state) not in replaced,
            )
            before, after = Storage.open(base.location), Storage.open(location)
            for name in base.files:
                if name.startswith(f"{stored_form.SOURCES_FOLDER}/"):
                    after.write_atomic(name, before.read(name))
        for number, change in enumerate(self._changes.values()):
            change.write(location, f"new-{number}")

    def _described(self, location: str) -> stored_form.StoredSavepoint:
        files = stored_form.written_files(location)
        saved = stored_form.saved_states(location, files)
        operators = tuple(replace(o, states=saved.get(o.uid, ())) for o in self.operators)
        base = self._base
        sources = () if base is None else base.sources
        return stored_form.StoredSavepoint(
            location=location,
            job_id="0" * 32 if base is None else base.job_id,
            job_name="" if base is None else base.job_name,
            job_dir="" if base is None else base.job_dir,
            batch_id=0 if base is None else base.batch_id,
            created_ms=wall_clock(),
            drained=base is not None and base.drained,
            operators=operators,
            sources=tuple(source for source in sources if source.uid not in self._removed),
            files=stored_form.checksums(location, files),
        )


# --- where entries come from ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Request:
    """What `with_state` was asked for."""

    uid: str
    path: str
    width: int
    kind: str
    old: Recorded | None
    type_info: TypeInformation | None
    key: Any
    value: Any
    map_key: str
    position: str | None

    def state(self, seen: Callable[[], TypeInformation]) -> NewState:
        """The state; `seen` tells the type of the values where no one declared it."""
        old = self.old if self.old is not None and self.old.kind == self.kind else None
        if self.type_info is not None:
            form = to_json(self._whole(self.type_info))
        else:
            form = old.type if old is not None else to_json(settled(seen()))
        ttl = old is not None and old.ttl
        recorded = Recorded(self.kind, form, ttl, None if old is None else old.key_type)
        return NewState(self.uid, self.path, self.width, recorded, wall_clock())

    def _whole(self, declared: TypeInformation) -> TypeInformation:
        """Descriptors of lists are given the type of an item."""
        is_item = self.kind == "list" and not isinstance(declared, ListTypeInfo)
        return ListTypeInfo(declared) if is_item else declared


def _values_change(
    data: Iterable[Any], request: _Request
) -> tuple[NewState, Callable[[str, str], None]]:
    key = request.key if callable(request.key) else lambda item: item[0]
    value = request.value if callable(request.value) else lambda item: item[1]
    pairs = [(key(item), value(item)) for item in data]

    def seen() -> TypeInformation:
        if request.kind == "broadcast":
            return type_of_all([dict(pairs)])
        return type_of_all(found for _, found in pairs)

    state = request.state(seen)

    def write(location: str, prefix: str) -> None:
        write_rows(location, f"part-{prefix}", [*state.descriptions(), *state.entries(pairs)])

    return state, write


def _frame_change(data: Any, request: _Request) -> tuple[NewState, Callable[[str, str], None]]:
    from headrace.hosts.spark.state.tables import column_types, keyed_frame, write_entries

    keys, values = _columns(request.key, "key"), _columns(request.value, "value")
    kind = {"list": "list", "map": "map"}.get(request.kind, "value")
    order = request.position
    if kind == "map":
        values = [request.map_key, *values]
    elif kind == "list" and order is None and "position" in data.columns:
        order = "position"  # as `read` gives it
    if request.kind == "broadcast" and request.key == "key" and "key" not in data.columns:
        keys = [request.map_key]
    _check_columns(data, [*keys, *values, *([order] if order else [])])
    frame = keyed_frame(data, key=keys, value=values, kind=kind, order=order)

    def seen() -> TypeInformation:
        key, value = column_types(frame)
        return MapTypeInfo(key, value) if request.kind == "broadcast" else value

    state = request.state(seen)

    def write(location: str, prefix: str) -> None:
        write_rows(location, f"part-{prefix}", state.descriptions())
        folder = f"{location}/{stored_form.STATE_FOLDER}"
        write_entries(frame, folder, state, tuple_key=len(keys) > 1)

    return state, write


def _columns(wanted: Any, argument: str) -> list[str]:
    if callable(wanted):
        raise InvalidArgumentError(f"{argument} is a function, but the data is a DataFrame")
    return [wanted] if isinstance(wanted, str) else list(wanted)


def _check_columns(frame: HostFrame, wanted: list[str]) -> None:
    for name in wanted:
        if name not in frame.columns:
            raise InvalidArgumentError(
                f"the DataFrame has no column {name!r}", fix=f"it has {', '.join(frame.columns)}"
            )
