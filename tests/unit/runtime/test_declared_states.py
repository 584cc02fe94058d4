"""Everything that operators store is declared, and 0.1's names mean the same layouts."""

from __future__ import annotations

import pytest

from golden.savepoints.every_state import CUT, END, environment, program, record
from headrace.errors import StateError
from headrace.runtime.pages.store import DictStore
from headrace.runtime.state.declared import DECLARED_KEY, DeclaredStates
from headrace.runtime.state.names_of_0_1 import spec_in_0_1
from headrace.spi.state import CLOCK, StateSpec
from headrace.testing.local_runner import LocalRunner


def test_every_page_of_every_operator_belongs_to_a_declared_state() -> None:
    found: set[tuple[str, str]] = set()
    results = program(environment(2), END, ends=True)
    with LocalRunner(results, parallelism=2, max_parallelism=16) as job:
        job.run_batch(map(record, range(CUT)))
        for store in job.stores.values():
            declared = DeclaredStates.of(store)
            for name in store.content:
                uid, _, path = name.split(b"\0", 1)[0].decode().partition("/")
                if uid == "task":
                    continue
                spec = declared.state_of(uid, path)
                assert any(
                    spec.name == known.name
                    or (known.is_family and spec.name.startswith(known.name))
                    for known in declared.of_operator(uid).values()
                ), f"{uid} keeps {path}, and does not say so"
                assert spec == spec_in_0_1(path)  # none of these is new since
                found.add((uid, spec.name))
    assert {("sliding", "panes"), ("sessions", "timers/session"), ("every", "user/map")} <= found


def test_declarations_are_written_once_and_earlier_ones_stay() -> None:
    store, declared = DictStore(), DeclaredStates()
    assert declared.declare("op", (StateSpec("a", "table"), CLOCK))
    declared.write(store)
    again = DeclaredStates.of(store)
    assert not again.declare("op", (StateSpec("a", "table"), CLOCK))
    assert again.declare("op", (StateSpec("b/", "windows"),))
    again.write(store)
    assert set(DeclaredStates.of(store).of_operator("op")) == {"a", "b/", CLOCK.name}


def test_a_later_form_of_the_list_is_refused() -> None:
    store = DictStore({DECLARED_KEY: b'{"version": 2, "states": {}}'})
    with pytest.raises(StateError, match="has version 2, which is not known"):
        DeclaredStates.of(store)
