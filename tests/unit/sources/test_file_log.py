"""Positions of files move between Spark's log and Python."""

from __future__ import annotations

import json

import pytest

from headrace.connectors.files.file_log import (
    SparkFileLog,
    position_for_spark,
    position_from_spark,
)
from headrace.connectors.files.python_reader import DONE
from headrace.connectors.files.source import FileSource
from headrace.errors import StateError
from headrace.formats.file_format import StreamFormat
from headrace.spi.source import Obstacle


def source_of(*paths: str) -> FileSource:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *paths).build()


def entry(uri: str, batch: int) -> str:
    return json.dumps({"path": uri, "timestamp": 1794967200717, "batchId": batch})


def log(*batches: list[str]) -> dict[str, bytes]:
    return {str(n): "\n".join(["v1", *entries]).encode() for n, entries in enumerate(batches)}


def test_committed_entries_are_files_that_are_done() -> None:
    files = log(
        [entry("file:///in/a%20b%250+é.txt", 0), entry("file:///in/b.txt", 0)],
        [entry("file:///in/c.txt", 1)],
        [entry("file:///in/never.txt", 2)],
    )
    files[".1.crc"] = b"x"
    other = log([entry("s3a://bucket/in/x%20y.txt", 0)])
    logs = [SparkFileLog('{"logOffset":1}', files), SparkFileLog('{"logOffset":0}', other)]
    assert position_from_spark([*logs, SparkFileLog()]) == {
        "/in/a b%0+é.txt": DONE,
        "/in/b.txt": DONE,
        "/in/c.txt": DONE,
        "s3a://bucket/in/x y.txt": DONE,
    }


def test_a_compacted_log_has_the_batches_before_it() -> None:
    lines = [entry(f"file:///in/{n}.txt", n) for n in range(10)]
    files = {"9.compact": "\n".join(["v1", *lines]).encode(), **log([], [])}
    files["10"] = f"v1\n{entry('file:///in/10.txt', 10)}".encode()
    found = position_from_spark([SparkFileLog('{"logOffset":10}', files)])
    assert sorted(found) == sorted(f"/in/{n}.txt" for n in range(11))


def test_a_log_of_another_form_is_refused() -> None:
    with pytest.raises(StateError, match="'v2'"):
        position_from_spark([SparkFileLog('{"logOffset":0}', {"0": b"v2\n{}"})])


def test_files_go_to_the_log_of_their_path() -> None:
    source = source_of("/in", "s3a://bucket/day-*", "file:///other")
    position = {
        "/in/a b%[1].txt": DONE,
        "/in/deep/é.txt": DONE,
        "/inside.txt": DONE,  # of none of the paths
        "/in/new.txt": 0,
        "s3a://bucket/day-1/x.txt": DONE,
        "s3a://bucket/week-1/x.txt": DONE,
    }
    logs = position_for_spark(source, position, {"/in/deep/é.txt": 77})
    assert not isinstance(logs, Obstacle)
    assert [found.offset for found in logs] == ['{"logOffset":0}', '{"logOffset":0}', None]
    assert logs[0].files["0"].decode().split("\n") == [
        "v1",
        '{"path":"file:///in/a%20b%25%5B1%5D.txt","timestamp":0,"batchId":0}',
        '{"path":"file:///in/deep/é.txt","timestamp":77,"batchId":0}',
    ]
    assert position_from_spark(logs) == {
        "/in/a b%[1].txt": DONE,
        "/in/deep/é.txt": DONE,
        "s3a://bucket/day-1/x.txt": DONE,
    }


def test_a_file_that_is_half_read_stands_in_the_way() -> None:
    found = position_for_spark(source_of("/in"), {"/in/a": 10, "/in/b": DONE, "/in/c": 5})
    assert isinstance(found, Obstacle)
    assert "/in/a and of 1 other files" in found.what
    assert found.fix
