"""What a checkpoint says about the program that wrote it, and whether a program still fits.

In: a graph and its plan.  Out: plain data for job.json; a list of differences in words.
Only what the checkpoint depends on is compared: sources by their place, the number of stages, and
the steps that keep something.  Names, lines, functions and stateless steps may change freely, and
new steps start empty.  Next: control/job_dir.py stores it, control/executor.py asks
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.opaque import JsonObject
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.physical import PhysicalPlan
    from headrace.runtime.stage import OperatorPlan


@dataclass(frozen=True, slots=True)
class KeptStep:
    """A step that keeps something in the checkpoint: state, timers, or what a sink committed."""

    uid: str
    kind: str
    name: str
    level: int
    parallelism: int
    max_parallelism: int


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The parts of a plan that a checkpoint depends on."""

    sources: tuple[tuple[str, str], ...]  # (uid, kind) in the order of Spark's offsets
    stages: int
    slots: int
    commands: bool  # whether ticks and the end of input are one more source
    steps: tuple[KeptStep, ...]

    def to_json(self) -> JsonObject:
        """As plain data."""
        return asdict(self)

    @staticmethod
    def from_json(content: JsonObject) -> Fingerprint:
        """From plain data; keys of later versions are left aside."""
        names = KeptStep.__slots__
        return Fingerprint(
            sources=tuple((uid, kind) for uid, kind in content["sources"]),
            stages=content["stages"],
            slots=content["slots"],
            commands=content["commands"],
            steps=tuple(KeptStep(**{n: step[n] for n in names}) for step in content["steps"]),
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that does not fit. `dropped`: state without a step, which a user may drop."""

    what: str
    dropped: bool = False


def fingerprint(graph: StreamGraph, physical: PhysicalPlan) -> Fingerprint:
    """The fingerprint of a planned program."""
    stages = [*(plan.stage for plan in physical.sources), *physical.stages]
    plans = {plan.uid: plan for stage in stages for plan in stage.operators}
    kept = [_kept(step, plans.get(step.stable_id)) for step in graph.steps]
    return Fingerprint(
        sources=tuple((plan.step.stable_id, plan.source.kind_name()) for plan in physical.sources),
        stages=len(physical.stages),
        slots=physical.slots if physical.stages else 1,
        commands=physical.uses_time,
        steps=tuple(sorted((step for step in kept if step), key=lambda step: step.uid)),
    )


def _kept(step: Step, plan: OperatorPlan | None) -> KeptStep | None:
    if step.kind == "sink":
        # its committer is on the driver, and knows neither levels nor subtasks
        return KeptStep(step.stable_id, step.kind, step.name, 0, 1, 1)
    if plan is None or not _has_state(plan):
        return None
    return KeptStep(
        plan.uid, step.kind, plan.name, plan.level, plan.parallelism, plan.max_parallelism
    )


def _has_state(plan: OperatorPlan) -> bool:
    # In front of the first exchange nothing is kept. Behind it, a step keeps what it declares, and
    # one that joins streams or acts by time its clock.
    operator = plan.operator
    return plan.level > 0 and (operator.keeps_state or operator.keeps_clock)


def differences(stored: Fingerprint, now: Fingerprint) -> list[Difference]:
    """What keeps a program from continuing with a checkpoint; empty if it fits."""
    return [
        *_sources(stored, now),
        *_shape(stored, now),
        *_steps(stored, now),
    ]


def _sources(stored: Fingerprint, now: Fingerprint) -> Iterator[Difference]:
    if len(stored.sources) != len(now.sources):
        yield Difference(f"{len(now.sources)} sources instead of {len(stored.sources)}")
    for number, (old, new) in enumerate(zip(stored.sources, now.sources, strict=False), 1):
        if old != new:
            yield Difference(f"source {number} is {_named(*new)} instead of {_named(*old)}")


def _named(uid: str, kind: str) -> str:
    return f"{kind} {uid!r}"


def _shape(stored: Fingerprint, now: Fingerprint) -> Iterator[Difference]:
    if stored.stages != now.stages:
        yield Difference(f"{now.stages} stages after an exchange instead of {stored.stages}")
    elif stored.slots != now.slots:
        yield Difference(f"parallelism {now.slots} instead of {stored.slots}")
    if stored.commands != now.commands:
        verb = "needs" if now.commands else "no longer needs"
        yield Difference(f"the program {verb} timers or watermarks")


def _steps(stored: Fingerprint, now: Fingerprint) -> Iterator[Difference]:
    present = {step.uid: step for step in now.steps}
    for old in stored.steps:
        new = present.get(old.uid)
        if new is None:
            what = (
                f"step {old.name!r} (uid {old.uid!r}, {old.kind}) is gone, but its state is stored"
            )
            yield Difference(what, dropped=True)
            continue
        for field in ("kind", "level", "parallelism", "max_parallelism"):
            before, after = getattr(old, field), getattr(new, field)
            if before != after:
                label = field.replace("_", " ")
                yield Difference(f"step {new.uid!r} has {label} {after} instead of {before}")
                break  # the rest follows from it
