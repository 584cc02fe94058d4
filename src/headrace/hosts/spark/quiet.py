"""Keeps out of the user's terminal what says nothing to a user.

What the JVM and the Python workers write to standard error passes through a thread here, which
drops the chatter of their start and what workers of stopped jobs say; everything else, a user's own
prints included, is passed on.
py4j logs its connections, and what a callback raises, where logging is configured: errors that
headrace itself tells, or that end a batch of a job that was stopped, are not logged as well.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from socketserver import BaseServer

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_CHATTER = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|Using Spark's default log4j profile"
    rb"|Setting default log level to"
    rb"|To adjust logging level use"
    rb"|Unable to load native-hadoop library"
    rb"|Streaming TransformWithStateInPandas Python worker"
    rb"|org\.apache\.spark\.deploy\.SparkSubmit"
    rb"|PySpark daemon failed to flush the output to the worker process"
)

# How a worker ends whose job was stopped: the JVM closed the connection.
_CUT_OFF = (b"BrokenPipeError", b"EOFError", b"ConnectionResetError")
# ... or before it was there: a source's process is still starting when its query is stopped.
_CAME_TOO_LATE = b" in local_connect_and_auth\n"
_NOT_USERS = re.compile(
    rb'[/"](pyspark|py4j|headrace/(hosts|runtime))/|<frozen |/lib/python3\.\d+/[^/]+\.py"'
)
_JOINTS = (
    b"During handling of the above exception",
    b"The above exception was the direct cause",
)


@contextlib.contextmanager
def filtered_output() -> Iterator[int]:
    """A descriptor for the standard error of processes that are started while this is open."""
    reader, writer = os.pipe()
    _filter_in_background(reader)
    try:
        yield writer
    finally:
        os.close(writer)


class Kept:
    """What the JVM says while it starts: told when it has started, taken when it has not."""

    def __init__(self) -> None:
        self._lines: list[bytes] | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Keep what is said from now on."""
        with self._lock:
            self._lines = []

    def keep(self, line: bytes) -> bool:
        """Keep a line; False if it is to be told."""
        with self._lock:
            if self._lines is not None:
                self._lines.append(line)
            return self._lines is not None

    def taken(self) -> list[str]:
        """The lines so far; what is said behind them is told."""
        with self._lock:
            lines, self._lines = self._lines or [], None
        return [line.decode(errors="replace") for line in lines]


_kept = Kept()


@contextlib.contextmanager
def held_back() -> Iterator[Kept]:
    """While this is open, what the JVM says is kept; what nobody has taken is told at the end."""
    _kept.begin()
    try:
        yield _kept
    finally:
        for line in _kept.taken():
            _tell(line)


def quiet_running(session: SparkSession) -> None:
    """The same for a Spark that the user started: what processes it starts from now on say.

    Spark copies their output to Java's standard error, which becomes a pipe to the filter here.
    """
    context = session.sparkContext
    if context in _filtered:
        return
    _filtered.add(context)
    quiet_accumulators(context._accumulatorServer)
    jvm = context._jvm
    assert jvm is not None
    with tempfile.TemporaryDirectory(prefix="headrace-output-") as folder:
        pipe = Path(folder, "stderr")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # or it would wait for the writer
        writer = jvm.java.io.PrintStream(jvm.java.io.FileOutputStream(str(pipe)), True)  # noqa: FBT003
        os.set_blocking(reader, True)
    jvm.java.lang.System.setErr(writer)
    _filter_in_background(reader)


def quiet_accumulators(server: BaseServer) -> None:
    """Let the server that takes Spark's accumulators be silent when its connection is cut off.

    The JVM closes it when a batch is interrupted while it is used, and opens another one.
    """
    tell = server.handle_error

    def handle_error(request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            tell(request, client_address)  # type: ignore[arg-type]

    server.handle_error = handle_error  # type: ignore[method-assign]


_filtered: WeakSet[SparkContext] = WeakSet()


def _filter_in_background(reader: int) -> None:
    threading.Thread(
        target=_pass_on, args=(reader,), name="headrace-jvm-output", daemon=True
    ).start()


def _pass_on(reader: int) -> None:
    with os.fdopen(reader, "rb") as lines:
        for line in _worth_telling(lines):
            if not _kept.keep(line):
                _tell(line.decode(errors="replace"))


def _tell(line: str) -> None:
    with contextlib.suppress(ValueError, OSError):  # the terminal is gone
        sys.__stderr__.write(line)  # type: ignore[union-attr]
        sys.__stderr__.flush()  # type: ignore[union-attr]


def _worth_telling(lines: Iterable[bytes]) -> Iterator[bytes]:
    after_chatter = False
    previous = b""
    traceback: list[bytes] = []  # held back until its last line tells what it is about
    for line in lines:
        if traceback or line.startswith(b"Traceback (most recent call last)"):
            traceback.append(line)
            if not line.startswith((b" ", b"Traceback")):
                after_chatter = _is_of_cut_off_worker(traceback)
                yield from () if after_chatter else traceback
                traceback = []
            continue
        chatter = _CHATTER.search(line) is not None
        after_chatter = chatter or (after_chatter and _is_rest(line, previous))
        previous = line
        if not after_chatter:
            yield line
    yield from traceback


def _is_rest(line: bytes, previous: bytes) -> bool:
    """Whether a line behind a dropped traceback belongs to it, or to one that was mixed with it.

    Workers that are cut off together write at the same time.
    """
    joins = not line.strip() or line.startswith((*_JOINTS, *_CUT_OFF))
    code = line.startswith(b"    ") and _is_frame(previous)
    return joins or code or (_is_frame(line) and _NOT_USERS.search(line) is not None)


def _is_frame(line: bytes) -> bool:
    return line.lstrip().startswith(b'File "')


def _is_of_cut_off_worker(traceback: list[bytes]) -> bool:
    """Whether a worker only found that nobody waits for its results: its job was stopped."""
    files = [line for line in traceback if _is_frame(line)]
    if files and files[-1].endswith(_CAME_TOO_LATE):
        return True
    return traceback[-1].startswith(_CUT_OFF) and all(_NOT_USERS.search(line) for line in files)


@contextlib.contextmanager
def silent_logger(name: str) -> Iterator[None]:
    """While this is open, a logger of pyspark's says nothing: headrace tells the error itself."""
    from pyspark.logger import PySparkLogger  # its loggers must be made by it

    logger = PySparkLogger.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


class ToldElsewhere(Exception):
    """Ends a callback of Spark's with a short text; headrace has the error itself."""


def quiet_callbacks() -> None:
    """Keep `ToldElsewhere` and Ctrl-C out of py4j's log; errors of callbacks stay in it.

    What it says of its connections, at level INFO, is shown to those who ask py4j's log for it.
    """
    py4j = logging.getLogger("py4j")
    if py4j.level == logging.NOTSET:
        py4j.setLevel(logging.WARNING)
    # py4j gives the traceback of Ctrl-C to the log that all others pass their own on to
    for name in ("py4j.clientserver", "py4j.java_gateway", None):
        logging.getLogger(name).addFilter(_is_news)  # the same filter twice is one


def _is_news(record: logging.LogRecord) -> bool:
    if not record.exc_info:
        return True
    is_py4js = f"{os.sep}py4j{os.sep}" in record.pathname
    is_ctrl_c = is_py4js and isinstance(record.exc_info[1], KeyboardInterrupt)
    return not (is_ctrl_c or isinstance(record.exc_info[1], ToldElsewhere))
