"""A file system that dies at a chosen operation, as a process would: nothing after it happens."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import fs as pafs


class Crash(OSError):
    """The process died here."""


# pyarrow has no types
class CrashingHandler(pafs.FileSystemHandler):  # type: ignore[misc]
    """Passes operations on to a local file system until it dies.

    Args:
        crash_at: number of the operation that dies, from 0; None never dies.
        before: die before the operation has an effect; else right after.
        copy_moves: move by copy and delete, as object stores do, which can die in between.
    """

    def __init__(
        self, *, crash_at: int | None = None, before: bool = True, copy_moves: bool = False
    ) -> None:
        self._local = pafs.LocalFileSystem()
        self._crash_at = crash_at
        self._before = before
        self._copy_moves = copy_moves
        self._dead = False
        self.operations = 0

    def filesystem(self) -> pafs.PyFileSystem:
        return pafs.PyFileSystem(self)

    def step(self, operation: Any) -> Any:
        if self._dead:
            raise Crash("dead")
        number = self.operations
        self.operations += 1
        if number == self._crash_at:
            self._dead = True
            if not self._before:
                operation()
            raise Crash(f"died at operation {number}")
        return operation()

    def get_type_name(self) -> str:
        return "crashing"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self.step(lambda: self._local.get_file_info(paths))

    def get_file_info_selector(self, selector: pafs.FileSelector) -> Any:
        return self.step(lambda: self._local.get_file_info(selector))

    def create_dir(self, path: str, recursive: bool) -> None:
        self.step(lambda: self._local.create_dir(path, recursive=recursive))

    def delete_file(self, path: str) -> None:
        self.step(lambda: self._local.delete_file(path))

    def move(self, src: str, dest: str) -> None:
        if self._copy_moves:
            self.step(lambda: self._local.copy_file(src, dest))
            self.step(lambda: self._local.delete_file(src))
        else:
            self.step(lambda: self._local.move(src, dest))

    def open_input_stream(self, path: str) -> Any:
        return self.step(lambda: self._local.open_input_stream(path))

    def open_input_file(self, path: str) -> Any:
        return self.step(lambda: self._local.open_input_file(path))

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        stream = self.step(lambda: self._local.open_output_stream(path, buffer_size=0))
        return pa.PythonFile(_Stream(self, stream), mode="w")

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError

    def delete_dir(self, path: str) -> None:
        raise NotImplementedError

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError


class _Stream:
    """An output whose writes and close are operations; a dying write leaves half of its bytes."""

    def __init__(self, handler: CrashingHandler, stream: pa.NativeFile) -> None:
        self._handler = handler
        self._stream = stream
        self.closed = False

    def write(self, data: bytes) -> int:
        data = bytes(data)
        if self._handler._dead:  # a buffer that pyarrow flushes while it forgets the file
            return len(data)
        half = len(data) // 2
        self._handler.step(lambda: self._stream.write(data[:half]))
        self._handler.step(lambda: self._stream.write(data[half:]))
        return len(data)

    def flush(self) -> None:
        pass

    def tell(self) -> int:
        return int(self._stream.tell())

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if self._handler._dead:
                self._stream.close()
            else:
                self._handler.step(self._stream.close)
