"""What a differential program is, and the list of all of them.

In: programs/*.py, which register themselves with `@program`.  Out: `load()`.  Next: engine.py runs
them.

A program is one function `(api, env, source) -> DataStream | dict[str, DataStream]`, written once
against PyFlink's documented API. It must be self-contained: functions and classes that workers need
are defined inside it, because both engines pickle those by value, while module-level ones would
have to be importable in a worker. This module and the programs are imported by both virtualenvs:
standard library only.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Build = Callable[[Any, Any, Any], Any]
OrderKey = Callable[[Any], Any]


@dataclass(frozen=True)
class Program:
    """One program and how its results are compared."""

    name: str
    group: str
    build: Build
    # Name of an input strategy (strategies.py), or one name per named part of the input.
    inputs: str | Mapping[str, str]
    # Records with equal key arrive in the same order on both sides; None compares as a multiset.
    order_by: OrderKey | None
    parallelism: int
    # Both engines must fail; the text of the failure is not compared.
    fails: bool
    # The program changes the whole environment, so it cannot share a job with others.
    alone: bool
    # Uses source.watermark_per_record: PyFlink then ticks every millisecond, which is set for a
    # whole job.
    per_record_watermarks: bool
    # Runs in RuntimeExecutionMode.BATCH, which is set for a whole job.
    batch: bool
    # PyFlink's python.execution-mode: "process" or "thread" (README.md says why it matters).
    mode: str
    # Hand-written inputs, run besides the generated ones: (label, input).
    examples: tuple[tuple[str, Any], ...]
    # Whether inputs are also generated from the strategy (golden and fresh ones).
    generated: bool
    # Reduces or aggregates sessions: PyFlink loses records when one bridges two sessions, so that
    # fresh inputs come in the order of time, where none does.
    merges: bool


PROGRAMS: dict[str, Program] = {}


def program(
    *,
    inputs: str | Mapping[str, str] = "ints",
    order_by: OrderKey | None = None,
    parallelism: int = 2,
    fails: bool = False,
    alone: bool = False,
    per_record_watermarks: bool = False,
    batch: bool = False,
    mode: str = "process",
    examples: Mapping[str, Any] | None = None,
    generated: bool = True,
    merges: bool = False,
) -> Callable[[Build], Build]:
    """Registers a function as a program; its group is the first word of its module, if known."""

    def register(build: Build) -> Build:
        prefix = build.__module__.rpartition(".")[2].partition("_")[0]
        group = prefix if prefix in ("state", "window") else "core"
        name = build.__name__
        if name in PROGRAMS:
            raise ValueError(f"two programs are called {name!r}")
        PROGRAMS[name] = Program(
            name=name,
            group=group,
            build=build,
            inputs=inputs,
            order_by=order_by,
            parallelism=parallelism,
            fails=fails,
            alone=alone or fails,
            per_record_watermarks=per_record_watermarks,
            batch=batch,
            mode=mode,
            examples=tuple((examples or {}).items()),
            generated=generated,
            merges=merges,
        )
        return build

    return register


def load() -> dict[str, Program]:
    """All programs, by name; imports every module of the programs package."""
    package = importlib.import_module("oracle.programs")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(PROGRAMS.items()))


@dataclass(frozen=True)
class Case:
    """One program with one input."""

    program: str
    label: str
    data: Any
    parallelism: int

    @property
    def id(self) -> str:
        """Name of the case in test reports and golden files."""
        return f"{self.program}-{self.label}"
