"""What every operator has: an opening, a way in for records and watermarks, a way out.

An operator is made on the driver (unopened, picklable), travels inside the plan, and is opened once
per subtask in a worker.  Records come in lists; an operator hands lists to its outputs.
Next: operators/stateless.py for the simplest ones; runtime/chain.py for how they are joined.
"""

from __future__ import annotations

import operator
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headrace.data.records import MIN_TIMESTAMP, Records
from headrace.errors import HeadraceError, UserFunctionError
from headrace.io.processes import here
from headrace.runtime.watermarks import InputClocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.chain import Channel
    from headrace.runtime.key_selectors import Keying
    from headrace.runtime.metrics import OperatorMetrics
    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.state.recorded import Recorded
    from headrace.spi.state import StateSpec


# of the package itself, wherever it is: the frames of what it calls are the user's
_NOT_THE_USERS = (str(Path(__file__).parents[2]) + "/", "/pyspark/")


class Consumer(Protocol):
    """Takes what an operator emits: the next operator of the chain, or an exchange."""

    def accept(self, records: Records) -> None:
        """Take records, in order."""
        ...

    def watermark(self, timestamp: int) -> None:
        """Event time has reached `timestamp` for all that follows; who was idle no longer is."""
        ...

    def idle(self) -> None:
        """Nothing will follow for now: do not wait for it."""
        ...


class Output:
    """The main output and the side outputs of one operator."""

    def __init__(self, metrics: OperatorMetrics) -> None:
        self.main: list[Consumer] = []
        self.sides: dict[str, list[Consumer]] = {}
        self._metrics = metrics

    def emit(self, records: Records) -> None:
        """Hand records to every consumer of the main output."""
        if len(records):
            self._metrics.records_out += len(records)
            for consumer in self.main:
                consumer.accept(records)

    def emit_side(self, tag: str, records: Records) -> None:
        """Hand records to the consumers of a side output; without any they are dropped."""
        for consumer in self.sides.get(tag, ()):
            consumer.accept(records)

    def watermark(self, timestamp: int) -> None:
        """Hand a watermark to every consumer of every output."""
        for consumers in (self.main, *self.sides.values()):
            for consumer in consumers:
                consumer.watermark(timestamp)

    def idle(self) -> None:
        """Tell every consumer of every output not to wait."""
        for consumers in (self.main, *self.sides.values()):
            for consumer in consumers:
                consumer.idle()


@dataclass(slots=True)
class OperatorRuntime:
    """Everything an operator gets when it is opened in a subtask."""

    name: str
    uid: str
    where: str
    subtask: int
    parallelism: int
    max_parallelism: int
    output: Output
    store: PageStore
    metrics: OperatorMetrics
    clock: Callable[[], int]
    channel: Channel
    # before the first exchange: nothing is remembered from batch to batch
    at_source: bool = False
    # BATCH mode: the input is whole, event time is at its beginning until a key's records are in
    bounded: bool = False
    # the step whose records come in, and whether their type is only a guess
    upstream: str = ""
    upstream_where: str = ""
    lenient: bool = False
    keyings: tuple[Keying | None, ...] = ()
    attempt: str = ""
    batch_id: int = 0
    job_id: str = ""
    job_name: str = ""
    job_parameters: dict[str, str] = field(default_factory=dict)
    # whether the next epoch begins before this one is committed
    epochs_overlap: bool = False


class Operator:
    """Base of all operators.

    Subclasses override `process`, and what else they need of the rest. The fields below `open` are
    rebuilt there; what survives a restart is in the store.
    """

    inputs = 1
    # whether the operator needs event time, timers or the end of input to do its work
    uses_time = False
    # whether results come by themselves, between two calls
    asks_outside = False
    # whether watermarks may come without records
    asks_the_clock = False
    runtime: OperatorRuntime
    output: Output

    def open(self, runtime: OperatorRuntime) -> None:
        """Called once in a worker, before any record."""
        self.runtime = runtime
        self.output = runtime.output
        self.clocks = InputClocks([MIN_TIMESTAMP] * self.inputs)
        self.current_watermark = MIN_TIMESTAMP

    def with_types(self, known: Callable[[TypeInformation], TypeInformation]) -> Operator:
        """The same operator, on the driver, with types that were not known when it was made.

        Args:
            known: gives for a type the one that is known by now, most often the same.
        """
        return self

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        """Take records of an input, in order."""
        raise NotImplementedError

    def watermark(self, timestamp: int, input: int) -> None:  # noqa: A002
        """An input's clock moved, or it is no longer idle; with two inputs the slower decides."""
        was_idle = self.clocks.is_idle
        if not self._rise(self.clocks.update(input, timestamp)) and was_idle:
            self.output.watermark(self.current_watermark)  # says that there is somebody again

    def idle(self, input: int) -> None:  # noqa: A002
        """An input is idle as a whole: the other one decides (docs/semantics.md#w10)."""
        self._rise(self.clocks.set_idle(input))
        if self.clocks.is_idle:
            self.output.idle()

    def _rise(self, timestamp: int | None) -> bool:
        if timestamp is None:
            return False
        self.current_watermark = timestamp
        self.advance_watermark(timestamp)
        self.output.watermark(timestamp)
        return True

    def await_split(self) -> None:
        """In front of the first exchange: the split of the channel may have records later on."""

    def release_split(self) -> None:
        """In front of the first exchange: the channel's split is not read any more."""

    def pass_watermark(self, timestamp: int) -> None:
        """A watermark before the first exchange, where splits must not be combined."""
        self.output.watermark(timestamp)

    def advance_watermark(self, timestamp: int) -> None:
        """The operator's event time moved: fire what is due, before the watermark goes on."""

    def advance_processing_time(self, now: int) -> None:
        """The wall clock moved."""

    def next_processing_timer(self) -> int | None:
        """When this operator wants to be woken by the wall clock."""
        return None

    def next_look(self) -> int | None:
        """A time before which the wall clock changes nothing; asked after every few records."""
        return self.next_processing_timer()

    def held_inputs(self) -> frozenset[int]:
        """BATCH mode: inputs whose records wait until all are in (runtime/sorted_inputs.py)."""
        return frozenset()

    def finish_keys(self) -> None:
        """BATCH mode: the keys since the last call are complete, and none of them comes again."""

    def reload(self, clocks: InputClocks) -> None:
        """The store holds more than this process has seen: forget what was read from it."""
        self.clocks = clocks
        self.current_watermark = clocks.current

    def begin_batch(self) -> None:
        """A new batch starts; `runtime.batch_id` and `runtime.attempt` are its."""

    def emit_watermark_now(self) -> None:
        """Say how far event time has come: in a micro-batch at its end, else now and then."""

    def hand_on(self) -> None:
        """Emit what is ready without waiting for more, where epochs are long."""

    def end_of_part(self) -> None:
        """All records of the epoch are in, also those of operators in front of this one."""
        self.emit_watermark_now()

    def flush(self) -> None:
        """The batch ends: write what must survive to the store."""

    def abandon_batch(self) -> None:
        """The batch failed, here or elsewhere in the task: let go of what it has begun."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        """What the operator keeps: known before it is open, with families for names that are not.

        Everything it writes to the store below its uid is declared here: savepoints, rescaling and
        `headrace state read` follow from it.
        """
        return ()

    @property
    def keeps_state(self) -> bool:
        """Whether it remembers anything, so that it must come after an exchange."""
        return bool(self.state_specs())

    @property
    def keeps_clock(self) -> bool:
        """Whether it must go on at the event time it had: it acts by it, or joins streams."""
        return self.uses_time or self.inputs > 1

    def declared_states(self) -> dict[str, Recorded]:
        """The kinds and types of the states that are known once the operator is open, by table."""
        return {}

    def messages(self) -> Iterator[Any]:
        """What the driver has to know of this batch."""
        return iter(())

    def news(self) -> Iterator[Any]:
        """What the driver should know before a long epoch ends."""
        return iter(())

    def close(self) -> None:
        """No more records will come in this process."""

    def failed(self, error: Exception, record: Any = None) -> HeadraceError:
        """An error of user code, with what the user needs to find it."""
        return user_error(error, self.runtime, record)


def user_error(error: Exception, runtime: OperatorRuntime, record: Any) -> HeadraceError:
    """Wrap what a user's function raised; errors of headrace's own only learn where they are."""
    if isinstance(error, HeadraceError):
        if error.where is None:
            error.where = f"step {runtime.name!r} at {runtime.where}"
        if isinstance(error, UserFunctionError) and not error.step:
            error.step, error.uid = runtime.name, runtime.uid
            error.record = error.record or _preview(record)
            error.machine = here()
        return error
    wrapped = user_code_error(error, f"the function of step {runtime.name!r}", record)
    wrapped.where = runtime.where
    wrapped.step, wrapped.uid = runtime.name, runtime.uid
    wrapped.machine = here()
    return wrapped


def user_code_error(error: Exception, what: str, record: Any) -> UserFunctionError:
    """An exception of user code, with the record it was given; the caller may know the step."""
    original = f"{type(error).__name__}: {error}"
    wrapped = UserFunctionError(
        f"{what} raised {original}",
        fix="correct the line that raised"
        if record is None
        else "handle such a record in the function, or filter it out before this step",
    )
    wrapped.original = original
    wrapped.record = _preview(record)
    wrapped.user_traceback = _user_frames(error)
    wrapped.__cause__ = error
    return wrapped


def wrong_results(results: Any) -> UserFunctionError | None:
    """The error of a function whose results cannot be iterated; None if they can."""
    if hasattr(results, "__iter__") or hasattr(results, "__getitem__"):
        return None
    what = "None" if results is None else f"{_preview(results)} ({type(results).__name__})"
    return UserFunctionError(
        f"the function returned {what}, where an iterable of results is expected",
        fix="yield the results, or return a list of them: "
        + ("an empty one for no results" if results is None else "of one, if there is one"),
    )


def _preview(record: Any) -> str | None:
    if record is None:
        return None
    try:
        text = repr(record)
    except Exception as error:  # a broken __repr__ must not hide the real error
        text = f"<{type(record).__name__}, whose repr raised {type(error).__name__}>"
    return text if len(text) <= 200 else text[:200] + "..."


def _user_frames(error: BaseException) -> str:
    """The traceback without the frames of headrace, Spark and their callers."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(folder in frame.filename for folder in _NOT_THE_USERS)
    ]
    return "".join(traceback.format_list(frames))


class ListCursor:
    """Iterates a list and can tell afterwards which item was the last one handed out."""

    __slots__ = ("_iterator", "_values")

    def __init__(self, values: list[Any]) -> None:
        self._values = values
        self._iterator = iter(values)

    def __iter__(self) -> Iterator[Any]:
        return self._iterator

    @property
    def current(self) -> Any:
        """The item that was handed out last: the one a function failed on."""
        position = len(self._values) - operator.length_hint(self._iterator) - 1
        return self._values[position] if 0 <= position < len(self._values) else None
