"""``CompiledPlan``: INSERTs as they are planned, which can be kept in a file and run later.

    COMPILE PLAN 'f.json' FOR INSERT ...    nodes after all rules ──▶ JSON
    EXECUTE PLAN 'f.json'                   JSON ──▶ the same nodes, steps with the same uids

So a job goes on from a savepoint although a new version would plan its statement otherwise.
In: inserts, or JSON.  Out: jobs.  Next: rel/plan_json.py
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.errors import InvalidArgumentError
from headrace.rel.connected_tables import target_of
from headrace.rel.plan_json import (
    PlanFunctions,
    PlanReader,
    PlanWriter,
    read_definition,
    written_definition,
)
from headrace.table.catalogs.names import ObjectIdentifier
from headrace.table.inserts import Insert
from headrace.table.plan_reference import no_smile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.table.plan_reference import PlanReference
    from headrace.table.table_environment import TableEnvironment
    from headrace.table.table_result import TableResult

__all__ = ["CompiledPlan"]

_FLINK, _FORM = "2.3", 1


class CompiledPlan:
    """INSERTs after planning.

    Args:
        inserts: their nodes have been through all rules.
        t_env: in which they run.
    """

    def __init__(self, inserts: Sequence[Insert], t_env: TableEnvironment) -> None:
        self._inserts = list(inserts)
        self._t_env = t_env
        self._text = json.dumps(_written(inserts, t_env), indent=2, ensure_ascii=False)

    def as_json_string(self) -> str:
        """The plan as text."""
        return self._text

    def as_smile_bytes(self) -> NoReturn:
        """Refused: Smile is a form of JSON that Java programs read."""
        raise no_smile()

    def write_to_file(self, file: str | Path, ignore_if_exists: bool = False) -> None:
        """Write the plan.

        Args:
            file: where to.
            ignore_if_exists: leave a file that is there as it is; else it is an error, unless
                ``table.plan.force-recompile`` is set.
        """
        path = Path(file)
        forced = self._t_env.get_config().get("table.plan.force-recompile", "false")
        if path.exists() and forced.lower() != "true":
            if ignore_if_exists:
                return
            raise InvalidArgumentError(
                f"the plan file {path} is there already",
                fix="COMPILE PLAN ... IF NOT EXISTS, another file, or "
                "SET 'table.plan.force-recompile' = 'true'",
            )
        path.write_text(self._text, encoding="utf-8")

    def get_flink_version(self) -> str:
        """The version of Flink whose plans these are like."""
        return _FLINK

    def print_json_string(self) -> None:
        """Print the plan as text."""
        print(self._text)  # noqa: T201

    def execute(self) -> TableResult:
        """Start the job."""
        return self._t_env._run_inserts(self._inserts, compiled=True)

    def explain(self, *extra_details: int) -> str:
        """How it is run."""
        ends = [(insert.rel, insert.target) for insert in self._inserts]
        return self._t_env._explain(ends, extra_details, compiled=True)

    def print_explain(self, *extra_details: int) -> None:
        """Print how it is run."""
        print(self.explain(*extra_details))  # noqa: T201

    def __str__(self) -> str:
        return self._text


def compiled_plan(inserts: Sequence[Insert], t_env: TableEnvironment) -> CompiledPlan:
    """Plan INSERTs, and keep the plan.

    Raises:
        UnsupportedStepError: something in it cannot be kept in a file.
    """
    planner = t_env._planner()
    made = [replace(insert, rel=planner.compiled(insert.rel)) for insert in inserts]
    return CompiledPlan(made, t_env)


def loaded_plan(reference: PlanReference, t_env: TableEnvironment) -> CompiledPlan:
    """A plan that was kept.

    Raises:
        InvalidArgumentError: it cannot be read, or is one of Flink's.
    """
    try:
        content = json.loads(reference._json())
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(f"{reference} cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("form") != _FORM:
        raise InvalidArgumentError(
            f"{reference} is no plan of this version",
            fix="compile it with this version; plans of Flink itself cannot be run",
        )
    reader = PlanReader(_functions(t_env))
    return CompiledPlan([_read(each, reader) for each in content["inserts"]], t_env)


def _written(inserts: Sequence[Insert], t_env: TableEnvironment) -> dict[str, Any]:
    writer = PlanWriter(_functions(t_env))
    return {
        "flinkVersion": _FLINK,
        "form": _FORM,
        "inserts": [
            {
                "name": insert.name,
                "identifier": None if insert.identifier is None else insert.identifier.to_list(),
                "target": written_definition(insert.target.definition, insert.name),
                "on-conflict": insert.target.on_conflict,
                "plan": writer.write(insert.rel),
            }
            for insert in inserts
        ],
    }


def _read(value: dict[str, Any], reader: PlanReader) -> Insert:
    target = target_of(read_definition(value["target"]))
    path = value["identifier"]
    return Insert(
        rel=reader.read(value["plan"]),
        target=replace(target, on_conflict=value["on-conflict"]),
        name=value["name"],
        identifier=None if path is None else ObjectIdentifier(*path),
    )


def _functions(t_env: TableEnvironment) -> PlanFunctions:
    find = t_env._lookup.find_function

    def name_of(function: UserFunctionDefinition) -> str | None:
        names = t_env.list_functions()
        return next((name for name in names if find((name,)) is function), None)

    return PlanFunctions(name_of, lambda name: find((name,)))
