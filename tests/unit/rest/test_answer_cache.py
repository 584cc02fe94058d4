"""An answer is kept for a moment, and never beyond an act."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.rest.access import Role, TokenFile
from headrace.rest.settings import RestSettings
from rest_fakes import JOB, FakeDispatcher
from rest_serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from rest_serving import Serving


def _count(rest: Serving, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    calls: list[None] = []
    views = rest.dispatcher.views
    overview = views.overview

    def counted() -> object:
        calls.append(None)
        return overview()

    monkeypatch.setattr(views, "overview", counted)
    return calls


def test_the_same_question_is_answered_once(
    acting: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _count(acting, monkeypatch)
    answers = [acting.get("/jobs") for _ in range(5)]
    assert len({answer.text for answer in answers}) == 1
    assert len(calls) <= 2  # more only if this took longer than half a second
    assert acting.get("/jobs?x=1").status_code == 200
    assert answers[-1].headers["cache-control"] == "no-store"  # browsers keep nothing


def test_after_an_act_the_answer_is_new(acting: Serving) -> None:
    assert "RUNNING" in acting.get(f"/jobs/{JOB}").text
    acting.client.patch(f"/jobs/{JOB}")
    assert acting.get(f"/jobs/{JOB}").json()["state"] == "CANCELED"


def test_states_are_never_old(acting: Serving) -> None:
    views = acting.dispatcher.views
    assert acting.get(f"/jobs/{JOB}/status").json() == {"status": "RUNNING"}
    views.jobs[JOB] = replace(views.jobs[JOB], state="FINISHED")
    assert acting.get(f"/jobs/{JOB}/status").json() == {"status": "FINISHED"}


def test_what_is_kept_is_not_for_strangers(dispatcher: FakeDispatcher, tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    read = {"Authorization": f"Bearer {tokens.create('me', Role.READ)}"}
    with serving(dispatcher, RestSettings(port=0, tokens=tokens.path)) as rest:
        assert rest.get("/jobs", headers=read).status_code == 200
        assert rest.get("/jobs").status_code == 401
