"""Where state lives while a job runs: in Spark's state store.

Kept for programs that name Flink's backends: HashMap means Spark's in-memory provider, RocksDB its
RocksDB one. Its option is ``state.backend.type``.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar
from urllib.parse import urlsplit

from headrace.errors import InvalidArgumentError, UnsupportedStepError

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


class StateBackend:
    """Base of the backends. ``option_value`` is the value of ``state.backend.type``."""

    option_value: ClassVar[str]

    def __str__(self) -> str:
        return type(self).__name__


class HashMapStateBackend(StateBackend):
    """State in memory, written out in full from time to time."""

    option_value = "hashmap"


class PredefinedOptions(Enum):
    """Flink's presets for RocksDB. Kept without effect: see spark.sql.streaming.stateStore.*."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """State in RocksDB on the executor's disk; the default."""

    option_value = "rocksdb"

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = bool(enable_incremental_checkpointing)
        self._paths: list[str] = []
        self._predefined = PredefinedOptions.DEFAULT
        self._options: str | None = None
        self._transfer_threads = 4

    def set_db_storage_paths(self, *paths: str) -> None:
        """Accepted: Spark puts RocksDB under spark.local.dir."""
        self._paths = [_local_folder(path) for path in paths]

    def get_db_storage_paths(self) -> list[str]:
        """What was set, as folders of a machine."""
        return self._paths

    def is_incremental_checkpoints_enabled(self) -> bool:
        """What was set: Spark always writes changes only."""
        return self._incremental

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Accepted: see spark.sql.streaming.stateStore.rocksdb.*."""
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """What was set."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Accepted without effect: there are no Java classes."""
        self._options = options_factory_class_name

    def get_options(self) -> str | None:
        """What was set."""
        return self._options

    def get_number_of_transfer_threads(self) -> int:
        """What was set."""
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Accepted: Spark moves files."""
        self._transfer_threads = number_of_transfering_threads


class CustomStateBackend(StateBackend):
    """A Java class of the user; headrace has none."""

    def __init__(self, j_custom_state_backend: object = None) -> None:
        raise UnsupportedStepError(
            "a state backend in Java cannot run in headrace",
            fix="set spark.sql.streaming.stateStore.providerClass to a provider of Spark's",
        )


def _local_folder(path: str) -> str:
    parts = urlsplit(path)
    if parts.scheme not in ("", "file") or not parts.path.startswith("/"):
        raise InvalidArgumentError(
            f"{path!r} is not a folder of the local machine", fix="pass a path that begins with /"
        )
    return parts.path.rstrip("/") or "/"
