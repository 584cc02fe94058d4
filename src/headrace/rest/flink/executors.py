"""Spark's executors as Flink's TaskManagers.

Spark does not divide an executor's memory as Flink does: what it gives to tasks appears as task
heap, what Flink alone has is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject
    from headrace.control.views.models import ExecutorView

_MEBIBYTE = 1 << 20


def executor_id(view: ExecutorView) -> str:
    """Unique among jobs: every job has an executor named ``driver`` or ``0``."""
    return f"{view.job_id[:12]}-{view.id}"


def executor(view: ExecutorView) -> JsonObject:
    """A line of `/taskmanagers`."""
    free = max(0, view.slots - view.busy_slots)
    left = max(0, view.memory_bytes - view.memory_used_bytes)
    return {
        "id": executor_id(view),
        "path": view.address,
        "dataPort": _port(view.address),
        "jmxPort": -1,
        "timeSinceLastHeartbeat": view.seen,
        "slotsNumber": view.slots,
        "freeSlots": free,
        "assignedTasks": view.tasks,
        "totalResource": _resource(view.slots, view.memory_bytes),
        "freeResource": _resource(free, left),
        "hardware": {
            "cpuCores": view.slots,
            "physicalMemory": view.memory_bytes,
            "freeMemory": left,
            "managedMemory": 0,
        },
        "memoryConfiguration": {
            "frameworkHeap": 0,
            "taskHeap": view.memory_bytes,
            "frameworkOffHeap": 0,
            "taskOffHeap": 0,
            "networkMemory": 0,
            "managedMemory": 0,
            "jvmMetaspace": 0,
            "jvmOverhead": 0,
            "totalFlinkMemory": view.memory_bytes,
            "totalProcessMemory": view.memory_bytes,
        },
        "job-id": view.job_id,
        "logs": dict(view.logs),
    }


def executor_detail(view: ExecutorView) -> JsonObject:
    """`/taskmanagers/:id`."""
    return {
        **executor(view),
        "allocatedSlots": [
            {
                "jobId": view.job_id,
                "resource": _resource(1, view.memory_bytes // max(1, view.slots)),
                "assignedTasks": _share(view.tasks, number, view.busy_slots),
            }
            for number in range(view.busy_slots)
        ],
        "metrics": {
            "heapUsed": view.memory_used_bytes,
            "heapCommitted": view.memory_bytes,
            "heapMax": view.memory_bytes,
            "nonHeapUsed": 0,
            "nonHeapCommitted": 0,
            "nonHeapMax": 0,
            "directCount": 0,
            "directUsed": 0,
            "directMax": 0,
            "mappedCount": 0,
            "mappedUsed": 0,
            "mappedMax": 0,
            "nettyShuffleMemorySegmentsAvailable": 0,
            "nettyShuffleMemorySegmentsUsed": 0,
            "nettyShuffleMemorySegmentsTotal": 0,
            "nettyShuffleMemoryAvailable": 0,
            "nettyShuffleMemoryUsed": 0,
            "nettyShuffleMemoryTotal": 0,
            "garbageCollectors": [],
        },
    }


def executor_metrics(view: ExecutorView) -> JsonObject:
    """What is measured of an executor, under Flink's names."""
    return {
        "Status.JVM.Memory.Heap.Used": view.memory_used_bytes,
        "Status.JVM.Memory.Heap.Max": view.memory_bytes,
        "taskSlotsTotal": view.slots,
        "taskSlotsAvailable": max(0, view.slots - view.busy_slots),
    }


def _share(whole: int, number: int, parts: int) -> int:
    """One part of so many that are as equal as can be."""
    return whole * (number + 1) // parts - whole * number // parts


def _resource(cores: int, memory_bytes: int) -> JsonObject:
    return {
        "cpuCores": float(cores),
        "taskHeapMemory": memory_bytes // _MEBIBYTE,
        "taskOffHeapMemory": 0,
        "managedMemory": 0,
        "networkMemory": 0,
        "extendedResources": {},
    }


def _port(address: str) -> int:
    _, _, port = address.rpartition(":")
    return int(port) if port.isdigit() else -1
