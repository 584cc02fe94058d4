"""The program as a graph: what feeds what, and the line of the user's program behind each step."""

from __future__ import annotations

from typing import Any

from headrace.common.call_site import CallSite, call_site
from headrace.datastream import StreamExecutionEnvironment
from headrace.testing.programs import graph_of


def _env() -> Any:
    return StreamExecutionEnvironment.get_execution_environment()


def test_every_step_knows_the_users_line() -> None:
    env = _env()
    stream = env.from_collection([1])
    stream.map(lambda x: x + 1)  # the line to find
    site = graph_of(env).steps[-1].call_site
    assert site.file == "test_stream_graph.py"
    assert site.text == "stream.map(lambda x: x + 1)  # the line to find"
    assert str(site) == f"test_stream_graph.py:{site.line} {site.text}"


def test_steps_made_deep_inside_headrace_still_name_the_users_line() -> None:
    env = _env()
    env.from_collection([(1, 2)]).key_by(lambda r: r[0]).sum(1)
    assert {step.call_site.file for step in graph_of(env).steps} == {"test_stream_graph.py"}


def test_a_call_site_without_source_text_is_still_a_place() -> None:
    assert str(CallSite("<stdin>", 3)) == "<stdin>:3"
    assert call_site().file == "test_stream_graph.py"


def test_reachable_from_keeps_only_what_feeds_the_ends_in_order() -> None:
    env = _env()
    source = env.from_collection([1])
    used = source.map(str)
    source.map(int)
    other = env.from_collection([2])
    used.union(other).print()
    env.from_collection([3]).print()
    first, second = graph_of(env).sinks()
    kinds = [step.kind for step in graph_of(env).reachable_from([first]).steps]
    assert kinds == ["source", "map", "source", "sink"]
    assert len(graph_of(env).reachable_from([second]).steps) == 2
    assert len(graph_of(env).reachable_from([first, second]).steps) == 6


def test_outputs_of_a_step_are_all_its_consumers() -> None:
    env = _env()
    source = env.from_collection([1])
    source.map(str)
    source.union(source).map(str)
    consumers = [step.id for step, _ in graph_of(env).outputs_of(graph_of(env).steps[0])]
    assert consumers == [2, 3, 3]


def test_ids_are_never_reused_within_an_environment() -> None:
    env = _env()
    env.from_collection([1]).print()
    graph_of(env).cut_off(graph_of(env).sinks())  # as execute() does
    env.from_collection([2]).print()
    ids = [step.id for step in graph_of(env).steps]
    assert ids == [1, 3, 4]


def test_a_uid_names_the_state_and_else_the_place_in_the_program() -> None:
    env = _env()
    env.from_collection([1]).map(str).uid("mine")
    assert [step.stable_id for step in graph_of(env).steps] == ["step-1", "mine"]
