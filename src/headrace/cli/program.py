"""Loads a user's program, a script or a function, and runs it; or only looks at what it builds.

In: ``pipeline.py`` or ``package.module:function``, and its arguments.
Out: the program's own effects (cli/run.py), or the graphs it would have executed (cli/explain.py).
"""

from __future__ import annotations

import builtins
import contextlib
import difflib
import importlib
import inspect
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.common.job_status import JobStatus
from headrace.control.executor import JobExecutor, plan_options
from headrace.control.metrics import JobMetrics
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import InvalidArgumentError
from headrace.spi.executor import while_executing_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.planner import PlanOptions
    from headrace.spi.job_spec import JobSpec


def run_program(target: str, arguments: Sequence[str]) -> None:
    """Run a program to its end; what it raises is raised here.

    Args:
        target: the path of a script, or ``module:function``. A function with one parameter gets
            an environment, which is executed afterwards if the function did not.
        arguments: what the program finds in ``sys.argv``.

    Raises:
        InvalidArgumentError: there is no such program.
    """
    path = Path(target)
    if path.suffix == ".py" or path.is_file():
        _run_script(path, arguments)
    elif ":" in target:
        _run_function(target, arguments)
    else:
        raise InvalidArgumentError(
            f"{target!r} is neither a script nor module:function",
            fix="give the path of a .py file, or a function such as my_package.jobs:main",
        )


def _run_script(path: Path, arguments: Sequence[str]) -> None:
    if not path.is_file():
        beside = [found.name for found in path.parent.glob("*.py")] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1)
        raise InvalidArgumentError(
            f"there is no script {str(path)!r}",
            fix=f"did you mean {str(path.parent / near[0])!r}?" if near else None,
        )
    try:
        code = compile(path.read_bytes(), str(path), "exec")
    except (SyntaxError, ValueError) as error:
        raise InvalidArgumentError(
            f"{path} is not a Python script: {error}", where=f"{path}:{getattr(error, 'lineno', 1)}"
        ) from None
    main = types.ModuleType("__main__")
    main.__file__, main.__dict__["__builtins__"] = str(path), builtins
    with _as_main([str(path), *arguments], path.parent.absolute(), main):
        exec(code, main.__dict__)


def _run_function(target: str, arguments: Sequence[str]) -> None:
    name, _, wanted = target.partition(":")
    with _as_main([target, *arguments], Path.cwd(), None):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module is there; something that it imports is not
            raise InvalidArgumentError(
                f"there is no module {name!r}",
                fix="modules are also searched for in this directory",
            ) from None
        function = getattr(module, wanted, None)
        if not callable(function):
            near = difflib.get_close_matches(wanted, vars(module), n=1)
            raise InvalidArgumentError(
                f"module {name!r} has no function {wanted!r}",
                where=module.__file__,
                fix=f"did you mean {near[0]!r}?" if near else None,
            )
        _call(function, target)


def _call(function: Callable[..., object], target: str) -> None:
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind not in (2, 4)]
    if len(needed) > 1:
        raise InvalidArgumentError(
            f"{target} needs {len(needed)} arguments",
            fix="take no argument and read sys.argv, or take one, the StreamExecutionEnvironment",
        )
    if not needed:
        function()
        return
    env = StreamExecutionEnvironment.get_execution_environment()
    function(env)
    if env._graph.sinks():
        env.execute(target.partition(":")[2])


@contextlib.contextmanager
def _as_main(argv: list[str], folder: Path, main: types.ModuleType | None) -> Iterator[None]:
    """Make this process look as if Python had been started with the program."""
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv = argv
    sys.path.insert(0, str(folder))
    if main is not None:
        sys.modules["__main__"] = main
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = before


# --- looking without running ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CapturedProgram:
    """What an ``execute()`` would have run."""

    name: str
    graph: StreamGraph
    spec: JobSpec

    @property
    def options(self) -> PlanOptions:
        """How it would be planned."""
        return plan_options(self.spec)


@dataclass(slots=True)
class _NotRun:
    """Stands for the job of a captured program: finished, without results."""

    name: str
    job_id: str = "0" * 32
    status: JobStatus = JobStatus.FINISHED
    error: None = None
    in_batch_mode: bool = False
    failures: tuple[()] = ()
    metrics: JobMetrics = field(default_factory=JobMetrics)

    def wait(self, timeout_s: float | None = None) -> bool:
        return True

    def cancel(self) -> None:
        pass


class CaptureExecutor(JobExecutor):
    """Remembers what would be run, and runs nothing."""

    def __init__(self) -> None:
        self.captured: list[CapturedProgram] = []

    # Any: a stand-in that has what programs ask of a job, and is none
    def execute(self, program: StreamGraph, spec: JobSpec) -> Any:
        """A job that has finished without results."""
        self.captured.append(CapturedProgram(spec.name, program, spec))
        return _NotRun(spec.name)


def capture_program(
    target: str, arguments: Sequence[str]
) -> tuple[list[CapturedProgram], Exception | None]:
    """Run a program with every ``execute()`` doing nothing but remember the graph.

    Returns:
        What it would have executed; and the error with which it ended after the first of them,
        since results that it may have waited for do not come.
    """
    capture = CaptureExecutor()
    try:
        with while_executing_with(capture):
            run_program(target, arguments)
    except SystemExit:
        return capture.captured, None
    except Exception as error:
        if not capture.captured:
            raise
        return capture.captured, error
    return capture.captured, None
