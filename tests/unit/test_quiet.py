"""What does not reach the user's terminal, and what does."""

from __future__ import annotations

import logging
import socketserver

import pytest

from headrace.hosts.spark.quiet import (
    ToldElsewhere,
    _worth_telling,
    quiet_accumulators,
    quiet_callbacks,
)

START = b"""\
WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties

"""
CUT_OFF = b"""\
Traceback (most recent call last):
  File "/x/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
  File "/x/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
OF_THE_USER = b"""\
Traceback (most recent call last):
  File "/x/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
  File "pipeline.py", line 3, in map
BrokenPipeError: [Errno 32] Broken pipe

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "pipeline.py", line 5, in map
ValueError: of mine
"""


END_OF_FILE = b"""\
Traceback (most recent call last):
  File "/x/lib/pyspark.zip/pyspark/worker.py", line 1800, in main
    eval_type = read_int(infile)
  File "/x/site-packages/pyspark/serializers.py", line 597, in read_int
    raise EOFError
EOFError
"""
IN_A_STAGE = b"""\
Traceback (most recent call last):
  File "/x/site-packages/pyspark/worker.py", line 1800, in main
  File "/x/site-packages/headrace/hosts/spark/microbatch/worker.py", line 80, in run
  File "/x/site-packages/headrace/runtime/stage.py", line 120, in process
  File "/x/site-packages/pyspark/serializers.py", line 597, in read_int
EOFError
"""
WHILE_FLUSHING = (
    b"""\
PySpark daemon failed to flush the output to the worker process:
"""
    + CUT_OFF
    + b"""
During handling of the above exception, another exception occurred:

"""
    + END_OF_FILE.replace(b"EOFError\n", b"ConnectionResetError: [Errno 104] reset by peer\n")
)
TOO_LATE = b"""\
Traceback (most recent call last):
  File "/x/site-packages/pyspark/util.py", line 822, in local_connect_and_auth
    sock.connect(sock_path)
FileNotFoundError: [Errno 2] No such file or directory

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/x/site-packages/pyspark/sql/streaming/python_streaming_source_runner.py", line 313, in m
    with get_sock_file_to_executor(timeout=None) as sock_file:
  File "/root/.pyenv/versions/3.11.7/lib/python3.11/contextlib.py", line 137, in __enter__
    return next(self.gen)
  File "/x/site-packages/pyspark/util.py", line 828, in local_connect_and_auth
    raise PySparkRuntimeError(
pyspark.errors.exceptions.base.PySparkRuntimeError: [CANNOT_OPEN_SOCKET] Can not open socket: ...
"""


def told(text: bytes) -> bytes:
    return b"".join(_worth_telling(text.splitlines(keepends=True)))


def test_chatter_and_cut_off_workers_are_dropped_and_the_rest_is_passed_on() -> None:
    assert told(START + b"hello\n\n" + CUT_OFF + b"world\n" + CUT_OFF) == b"hello\n\nworld\n"
    assert told(OF_THE_USER) == OF_THE_USER
    unfinished = CUT_OFF.rpartition(b"BrokenPipe")[0]
    assert told(unfinished) == unfinished


@pytest.mark.parametrize("text", [END_OF_FILE, IN_A_STAGE, WHILE_FLUSHING])
def test_every_way_in_which_a_cut_off_worker_ends_is_dropped(text: bytes) -> None:
    assert told(text + b"world\n") == b"world\n"
    of_users = text.replace(b"/pyspark/serializers.py", b"/mine/serializers.py")
    assert b"mine/serializers.py" in told(of_users)
    assert told(END_OF_FILE.replace(b"EOFError\n", b"ValueError: mine\n")).endswith(b"mine\n")


def test_a_process_of_a_source_whose_query_was_stopped_before_it_came_is_dropped() -> None:
    assert told(TOO_LATE + b"world\n") == b"world\n"


def test_workers_that_are_cut_off_together_mix_what_they_write() -> None:
    first, second = (text.splitlines(keepends=True) for text in (END_OF_FILE, IN_A_STAGE))
    mixed = [*first[:2], *second[:2], *first[2:], *second[2:]]
    assert told(b"".join([*mixed, b"world\n"])) == b"world\n"
    of_users = b"".join(mixed).replace(b"headrace/runtime/", b"mine/")
    assert b"mine/stage.py" in told(of_users)


def test_py4j_says_nothing_of_its_connections_unless_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    py4j = logging.getLogger("py4j")
    caplog.set_level(logging.INFO)  # as logging.basicConfig(level=INFO)
    monkeypatch.setattr(py4j, "level", logging.NOTSET)
    quiet_callbacks()
    logging.getLogger("py4j.clientserver").info("Python Server ready to receive messages")
    assert caplog.text == ""
    py4j.setLevel(logging.DEBUG)
    quiet_callbacks()
    logging.getLogger("py4j.clientserver").info("Python Server ready to receive messages")
    assert "ready" in caplog.text


@pytest.mark.parametrize("name", ["py4j.clientserver", "py4j.java_gateway"])
def test_py4j_logs_only_what_nobody_else_tells(name: str, caplog: pytest.LogCaptureFixture) -> None:
    quiet_callbacks()
    quiet_callbacks()
    for error in (ToldElsewhere("of a batch"), ValueError("of somebody else's callback")):
        try:
            raise error
        except Exception:
            logging.getLogger(name).exception("There was an exception while executing the proxy")
    assert "somebody else's" in caplog.text
    assert "of a batch" not in caplog.text
    assert len(caplog.records) == 1


def test_ctrl_c_in_a_call_of_py4j_is_told_by_the_statement_that_ended_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quiet_callbacks()
    call = (
        "try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt:\n    logging.exception(text)"
    )
    for file, text in (("/x/py4j/java_gateway.py", "of py4j"), ("/x/pipeline.py", "of a user")):
        exec(compile(call, file, "exec"), {"logging": logging, "text": text})
    assert [record.message for record in caplog.records] == ["of a user"]


def test_accumulators_whose_connection_is_cut_off_are_no_news(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socketserver.TCPServer(
        ("127.0.0.1", 0), socketserver.BaseRequestHandler, bind_and_activate=False
    ) as server:
        quiet_accumulators(server)
        for error in (EOFError(), ConnectionResetError(), ValueError("of Spark")):
            try:
                raise error
            except Exception:
                server.handle_error(server.socket, ("127.0.0.1", 1))
    told = capsys.readouterr().err
    assert told.count("Traceback") == 1
    assert "of Spark" in told
