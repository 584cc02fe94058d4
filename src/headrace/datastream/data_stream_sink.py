"""The end of a stream: what the user can say about a sink."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.datastream.arguments import check_positive, check_text

if TYPE_CHECKING:
    from headrace.graph.nodes import Step

log = logging.getLogger(__name__)


class DataStreamSink:
    """A sink step."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __repr__(self) -> str:
        return f"<DataStreamSink {self._step.name!r}, from {self._step.call_site}>"

    def name(self, name: str) -> DataStreamSink:
        """Name the sink, for plans, metrics and errors."""
        self._step.name = check_text("name", name)
        return self

    def uid(self, uid: str) -> DataStreamSink:
        """Give the sink an id under which its progress is kept."""
        self._step.uid = check_text("uid", uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> DataStreamSink:
        """Use a given id for the sink's progress."""
        self._step.uid = check_text("set_uid_hash", uid_hash)
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        """How many subtasks write."""
        self._step.parallelism = check_positive("set_parallelism", parallelism)
        return self

    def set_description(self, description: str) -> DataStreamSink:
        """A longer text about the sink, for plans."""
        self._step.description = description
        return self

    def disable_chaining(self) -> DataStreamSink:
        """Accepted and ignored: a stage calls its steps one after the other in any case."""
        log.info("disable_chaining has no effect: chains change nothing here but speed")
        return self

    def slot_sharing_group(self, slot_sharing_group: Any) -> DataStreamSink:
        """Accepted and ignored: Spark places tasks."""
        log.info("slot_sharing_group has no effect: Spark places tasks")
        return self
