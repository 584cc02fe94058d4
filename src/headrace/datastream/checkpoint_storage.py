"""Where checkpoints go. Its option is ``execution.checkpointing.dir``."""

from __future__ import annotations

from typing import ClassVar

from headrace.errors import InvalidArgumentError, UnsupportedStepError

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]


class CheckpointStorage:
    """Base of the storages."""

    def get_checkpoint_path(self) -> str | None:
        """Where checkpoints go; None for a temporary place."""
        return None

    def get_savepoint_path(self) -> str | None:
        """Where savepoints go by default; None if not set here."""
        return None

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.get_checkpoint_path()!r})"


class JobManagerCheckpointStorage(CheckpointStorage):
    """A temporary place on the driver's machine, unless a path is given."""

    DEFAULT_MAX_STATE_SIZE: ClassVar[int] = 5 * 1024 * 1024

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        self._checkpoint_path = checkpoint_path
        self._max_state_size = max_state_size or self.DEFAULT_MAX_STATE_SIZE

    def get_checkpoint_path(self) -> str | None:
        """Where checkpoints go; None for a temporary place."""
        return self._checkpoint_path

    def get_max_state_size(self) -> int:
        """What was set: headrace has no such limit."""
        return self._max_state_size


class FileSystemCheckpointStorage(CheckpointStorage):
    """A directory that all machines see."""

    MAX_FILE_STATE_THRESHOLD: ClassVar[int] = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if not checkpoint_path:
            raise InvalidArgumentError("FileSystemCheckpointStorage needs a directory")
        self._checkpoint_path = checkpoint_path
        self._threshold = (
            20 * 1024 if file_state_size_threshold is None else file_state_size_threshold
        )
        self._write_buffer_size = write_buffer_size

    def get_checkpoint_path(self) -> str:
        """Where checkpoints go, without a slash at the end."""
        return self._checkpoint_path.rstrip("/") or "/"

    def get_min_file_size_threshold(self) -> int:
        """What was set: Spark decides on files."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """What was set: Spark decides on buffers."""
        return 4096 if self._write_buffer_size < 0 else self._write_buffer_size


class CustomCheckpointStorage(CheckpointStorage):
    """A Java class of the user; headrace has none."""

    def __init__(self, j_custom_checkpoint_storage: object = None) -> None:
        raise UnsupportedStepError(
            "a checkpoint storage in Java cannot run in headrace",
            fix="use FileSystemCheckpointStorage(path)",
        )
