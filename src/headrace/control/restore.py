"""Starts a job from a savepoint: finds out what fits, then makes the checkpoint it begins with.

In: a savepoint and a planned program.  Out: a checkpoint in the job's directory, and a list of what
was kept, dropped and new.  Nothing is changed if the savepoint does not fit.
Next: spi/host.py (a host makes the checkpoint)
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cloudpickle

from headrace.control.savepoints import verify
from headrace.errors import SavepointError, StateError
from headrace.runtime.pages.store import DictStore
from headrace.runtime.savepoint.entries import WATERMARK
from headrace.runtime.savepoint.files import Claim, SavepointLoader
from headrace.runtime.state.evolution import changed_type
from headrace.runtime.state.layouts import ProgramLayouts
from headrace.runtime.state.recorded import Recorded
from headrace.runtime.task import Task
from headrace.spi.host import Beginning, SourcePosition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.opaque import JsonObject
    from headrace.control.fingerprint import Fingerprint, KeptStep
    from headrace.control.savepoints import SavedOperator, SavedSource, StoredSavepoint
    from headrace.plan.physical import PhysicalPlan
    from headrace.runtime.stage import StagePlan
    from headrace.spi.host import Checkpoints


@dataclass(frozen=True, slots=True)
class Match:
    """What becomes of one operator or source of the savepoint or of the program.

    Attributes:
        uid: of the operator, in the program where it has one there.
        fate: kept, converted, new, dropped, or wrong (which keeps the job from starting).
        note: in words.
    """

    uid: str
    fate: str
    note: str
    stored_uid: str | None = None

    @property
    def is_restored(self) -> bool:
        """Whether it continues with what the savepoint holds."""
        return self.fate in ("kept", "converted")


def compare(
    savepoint: StoredSavepoint,
    program: Fingerprint,
    renamed: Mapping[str, str] | None = None,
    declared: Mapping[str, Mapping[str, Recorded]] | None = None,
) -> list[Match]:
    """Operator by operator and source by source: what a start from the savepoint would do.

    Args:
        savepoint: the savepoint.
        program: the program that would start.
        renamed: uids of the program for old uids.
        declared: the types of the program's states, as far as they are known (`declared_types`);
            the others are compared when the job opens its functions.
    """
    types = declared or {}
    names = dict(renamed or {})
    stored = {names.get(operator.uid, operator.uid): operator for operator in savepoint.operators}
    steps = {step.uid: step for step in program.steps if step.kind != "sink"}
    found = [
        _typed(_operator(uid, stored.get(uid), step), stored.get(uid), types.get(uid, {}))
        for uid, step in steps.items()
    ]
    for uid, operator in stored.items():
        if uid not in steps:
            found.append(_gone(uid, operator))
    old_sources = {names.get(source.uid, source.uid): source for source in savepoint.sources}
    for uid, kind in program.sources:
        found.append(_source(uid, kind, old_sources.get(uid)))
    present = {uid for uid, _ in program.sources}
    for uid, source in old_sources.items():
        if uid not in present:
            note = f"source {source.kind} is gone, and so is its position"
            found.append(Match(uid, "dropped", note, source.uid))
    for old, new in names.items():
        known = {o.uid for o in savepoint.operators} | {s.uid for s in savepoint.sources}
        if old not in known:
            found.append(Match(new, "wrong", f"the savepoint has no operator {old!r} to rename"))
    return found


def _operator(uid: str, old: SavedOperator | None, step: KeptStep) -> Match:
    if old is None:
        return Match(uid, "new", f"{step.name!r} starts with empty state")
    # an operator without a kind was written by hand (headrace/state.py)
    if old.kind not in ("", step.kind) and old.entries:
        note = f"is a {step.kind} now and was a {old.kind}, whose state it cannot read"
        return Match(uid, "wrong", note, old.uid)
    if old.max_parallelism != step.max_parallelism and old.entries:
        note = (
            f"max parallelism {step.max_parallelism} instead of {old.max_parallelism}: keys "
            f"would be looked up in the wrong place; set_max_parallelism({old.max_parallelism})"
        )
        return Match(uid, "wrong", note, old.uid)
    scaled = "" if old.parallelism == step.parallelism else (
        f", parallelism {step.parallelism} instead of {old.parallelism}"
    )  # fmt: skip
    return Match(uid, "kept", f"{old.entries:,} entries{scaled}", old.uid)


def _typed(match: Match, old: SavedOperator | None, declared: Mapping[str, Recorded]) -> Match:
    """A match, with what becomes of states whose declared type is another one."""
    if old is None or match.fate != "kept":
        return match
    notes = []
    stored = {state.name for state in old.states}
    new = sorted(name for name in declared if name not in stored)
    for state in old.states:
        if state.name not in declared or not state.type:
            continue
        before, after = Recorded(**state.type), declared[state.name]
        try:
            changed_type(match.uid, state.name, before, after)
        except StateError as error:
            return Match(match.uid, "wrong", error.message, old.uid)
        if after.type not in (before.type, "pickled"):
            notes.append(f"{state.name} from {before} to {after}")
    parts = [match.note, *notes, *(f"new state {name} starts empty" for name in new)]
    return Match(match.uid, "converted" if notes else "kept", "; ".join(parts), old.uid)


def declared_types(
    physical: PhysicalPlan, *, open_functions: bool = False
) -> dict[str, dict[str, Recorded]]:
    """The types of a program's states, by operator and name.

    Args:
        physical: the planned program.
        open_functions: call the open() of its functions here, which shows the types of all states;
            without it those of states whose operators declare their types are known.
    """
    if open_functions:
        return {
            uid: states for stage in physical.stages for uid, states in _types_opened(stage).items()
        }
    return {
        plan.uid: {
            spec.name: Recorded.of(spec.descriptor, spec.kind)
            for spec in plan.operator.state_specs()
            if spec.kind is not None and spec.descriptor is not None
        }
        for stage in physical.stages
        for plan in stage.operators
    }


def _types_opened(stage: StagePlan) -> dict[str, dict[str, Recorded]]:
    # a copy, as a worker gets it: the functions of the program itself stay closed
    task = Task(pickle.loads(cloudpickle.dumps(stage)), 0, DictStore())
    try:
        return {
            uid: {
                table.removeprefix(f"{uid}/"): recorded
                for table, recorded in operator.declared_states().items()
            }
            for uid, operator in task.operators.items()
        }
    finally:
        task.close()


def restored_states(
    savepoint: StoredSavepoint, matches: list[Match]
) -> dict[str, dict[str, JsonObject]]:
    """What a job that continues from a savepoint has stored, by the uids of its program."""
    states = {
        operator.uid: {s.name: s.type for s in operator.states if s.name != WATERMARK}
        for operator in savepoint.operators
    }
    return {
        match.uid: states[match.stored_uid]
        for match in matches
        if match.is_restored and match.stored_uid in states
    }


def _gone(uid: str, operator: SavedOperator) -> Match:
    if not operator.entries:
        return Match(uid, "kept", "is gone, and had no state", operator.uid)
    note = f"{operator.name!r} is gone, with {operator.entries:,} entries"
    return Match(uid, "dropped", note, operator.uid)


def _source(uid: str, kind: str, old: SavedSource | None) -> Match:
    if old is None:
        return Match(uid, "new", f"source {kind} starts at its beginning")
    if old.kind != kind:
        note = f"source is a {kind} now and was a {old.kind}, whose position it cannot use"
        return Match(uid, "wrong", note, old.uid)
    return Match(uid, "kept", f"source {kind} continues where it was", old.uid)


def check(savepoint: StoredSavepoint, matches: list[Match], *, allow_dropped: bool) -> None:
    """Refuse a start that would go wrong or lose state unasked."""
    wrong = [m for m in matches if m.fate == "wrong"]
    if wrong:
        raise SavepointError(
            "the savepoint does not match the program: "
            + "; ".join(f"{m.uid!r}: {m.note}" for m in wrong),
            where=savepoint.location,
            fix="`headrace savepoints diff` shows what would happen, operator by operator",
        )
    dropped = [m for m in matches if m.fate == "dropped"]
    if dropped and not allow_dropped:
        raise SavepointError(
            "the savepoint holds state that no step of the program claims: "
            + "; ".join(f"{m.uid!r}: {m.note}" for m in dropped),
            where=savepoint.location,
            fix="give the steps their old uid() again, map old uids to new ones with "
            "execution.state-recovery.uid-mapping, or drop the state with "
            "--allow-non-restored-state (execution.state-recovery.ignore-unclaimed-state)",
        )


def restore(
    checkpoints: Checkpoints, savepoint: StoredSavepoint, program: Fingerprint, matches: list[Match]
) -> None:
    """Make the checkpoint. What an earlier try left behind is removed.

    Args:
        checkpoints: of the job that starts.
        savepoint: where the job comes from.
        program: what it looks like.
        matches: what `compare` found and `check` let pass.
    """
    verify(savepoint)
    loader = SavepointLoader(
        savepoint.location,
        tuple(savepoint.state_files()),
        _claims(program, matches),
        layouts=ProgramLayouts.of_driver(),
    )
    positions = _positions(savepoint, program, matches)
    checkpoints.begin_with(Beginning(loader, positions, savepoint.location, savepoint.job_dir))


def _positions(
    savepoint: StoredSavepoint, program: Fingerprint, matches: list[Match]
) -> list[SourcePosition | None]:
    """Where every source of the program was, if it is kept."""
    stored = {source.uid: source for source in savepoint.sources}
    kept = {m.uid: stored.get(m.stored_uid or "") for m in matches if m.is_restored}
    return [
        None
        if (source := kept.get(uid)) is None
        else SourcePosition(source.offsets, source.numbers, f"{uid!r} ({kind})")
        for uid, kind in program.sources
    ]


def _claims(program: Fingerprint, matches: list[Match]) -> tuple[tuple[Claim, ...], ...]:
    kept = {m.uid: m.stored_uid for m in matches if m.is_restored}
    stages: list[list[Claim]] = [[] for _ in range(program.stages)]
    for step in program.steps:
        stored = kept.get(step.uid)
        if stored is not None and step.kind != "sink":
            claim = Claim(step.uid, stored, step.parallelism, step.max_parallelism)
            stages[step.level - 1].append(claim)
    return tuple(map(tuple, stages))
