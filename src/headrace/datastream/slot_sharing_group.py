"""Which steps share resources; Spark places tasks, so this is kept and shown, without effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import total_ordering
from typing import Any

from headrace.common.config_options import parse_value
from headrace.errors import InvalidArgumentError

__all__ = ["MemorySize", "SlotSharingGroup"]


@total_ordering
class MemorySize:
    """An amount of memory.

    Args:
        bytes_size: the number of bytes.
    """

    __slots__ = ("_bytes",)

    def __init__(self, bytes_size: int | None = None) -> None:
        if bytes_size is None or bytes_size < 0:
            raise InvalidArgumentError(f"an amount of memory cannot be {bytes_size} bytes")
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """That many mebibytes."""
        return MemorySize(mebi_bytes << 20)

    @staticmethod
    def parse(text: str) -> MemorySize:
        """The amount that a text such as ``"64 mb"`` describes. Ours, from Java."""
        try:
            return MemorySize(parse_value(text, "memory"))
        except ValueError as expected:
            raise InvalidArgumentError(f"{text!r} is not {expected}") from None

    def get_bytes(self) -> int:
        """Bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Whole kibibytes."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Whole mebibytes."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Whole gibibytes."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Whole tebibytes."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __lt__(self, other: MemorySize) -> bool:
        return self._bytes < other._bytes

    def __hash__(self) -> int:
        return hash((MemorySize, self._bytes))

    def __str__(self) -> str:
        for shift, unit in ((40, "tb"), (30, "gb"), (20, "mb"), (10, "kb")):
            if self._bytes and self._bytes % (1 << shift) == 0:
                return f"{self._bytes >> shift} {unit}"
        return f"{self._bytes} bytes"

    def __repr__(self) -> str:
        return f"MemorySize({self._bytes})"


@dataclass(frozen=True)
class SlotSharingGroup:
    """A named group of steps and the resources it asks for."""

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: dict[str, float] = field(default_factory=dict, hash=False)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Start a group with its name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """The name."""
        return self.name

    def get_cpu_cores(self) -> float | None:
        """Cores asked for."""
        return self.cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Heap memory asked for."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Memory off the heap asked for."""
        return self.task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Managed memory asked for."""
        return self.managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Other resources asked for, by name."""
        return dict(self.external_resources)

    class Builder:
        """Collects the parts of a group."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._parts: dict[str, Any] = {}
            self._resources: dict[str, float] = {}

        def _with(self, part: str, value: Any) -> SlotSharingGroup.Builder:
            self._parts[part] = value
            return self

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Cores to ask for."""
            if cpu_cores <= 0:
                raise InvalidArgumentError(f"cpu_cores must be positive, not {cpu_cores}")
            return self._with("cpu_cores", cpu_cores)

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Heap memory to ask for."""
            if task_heap_memory.get_bytes() == 0:
                raise InvalidArgumentError("the heap memory of a group must not be 0 bytes")
            return self._with("task_heap_memory", task_heap_memory)

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Heap memory to ask for, in mebibytes."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            """Memory off the heap to ask for."""
            return self._with("task_off_heap_memory", task_off_heap_memory)

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Memory off the heap to ask for, in mebibytes."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Managed memory to ask for."""
            return self._with("managed_memory", managed_memory)

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Managed memory to ask for, in mebibytes."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Another resource to ask for."""
            self._resources[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """The group."""
            missing = {"cpu_cores", "task_heap_memory"} - self._parts.keys()
            if missing and (self._parts or self._resources):
                raise InvalidArgumentError(
                    f"a group with resources needs {' and '.join(sorted(missing))}",
                    fix="set both CPU cores and heap memory, or neither",
                )
            return SlotSharingGroup(
                self._name, external_resources=dict(self._resources), **self._parts
            )
