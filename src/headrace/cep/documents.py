"""Patterns as data: a JSON document becomes a pattern, and a pattern a document.

    {"id": "smoke after heat", "version": 2, "within": "10 min",
     "pattern": [
       {"name": "heat", "where": "degrees > 80"},
       {"name": "smoke", "after": "followed_by", "where": "kind = 'smoke'", "times": [1, null]}]}

In: texts or what `json.loads` makes of them.  Out: `PatternDocument`; what is wrong is told with
its path in the document.  Next: cep/condition_texts.py reads the conditions
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.cep.compiler import compile_pattern
from headrace.cep.condition_texts import condition_from_text, text_from_condition
from headrace.cep.pattern import Contiguity, GroupPattern, Pattern, Repetition, WithinType
from headrace.cep.skip_strategy import AfterMatchSkipStrategy
from headrace.common.time import to_millis
from headrace.errors import HeadraceError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["PatternDocument"]

DOCUMENT_FIELDS = ("id", "version", "pattern", "skip", "within", "removed")
EITHER_FIELDS = ("after", "times", "times_within", "optional", "consecutive", "allow_combinations",
                 "until", "within", "within_previous")  # fmt: skip
STAGE_FIELDS = ("name", "where", "greedy", *EITHER_FIELDS)
GROUP_FIELDS = ("group", *EITHER_FIELDS)
SWITCHES = ("optional", "greedy", "consecutive", "allow_combinations")
PLAIN_SKIPS: dict[str, Callable[[], AfterMatchSkipStrategy]] = {
    "no_skip": AfterMatchSkipStrategy.no_skip,
    "to_next": AfterMatchSkipStrategy.skip_to_next,
    "past_last": AfterMatchSkipStrategy.skip_past_last_event,
}
NAMED_SKIPS: dict[str, Callable[[str], AfterMatchSkipStrategy]] = {
    "to_first": AfterMatchSkipStrategy.skip_to_first,
    "to_last": AfterMatchSkipStrategy.skip_to_last,
}


@dataclass(frozen=True, slots=True)
class PatternDocument:
    """A pattern with the name and the version by which others speak of it.

    Attributes:
        id: which pattern it is; a document with the same id takes its place.
        version: a whole number that rises.
        pattern: None if the document says that the pattern is no longer looked for.
    """

    id: str
    version: int
    pattern: Pattern | None

    @staticmethod
    def read(
        document: str | bytes | Mapping[str, Any], columns: Collection[str] | None = None
    ) -> PatternDocument:
        """The pattern that a document describes.

        Args:
            document: JSON, or what it means.
            columns: the names of the events' columns; if given, conditions may use no others.

        Raises:
            InvalidArgumentError: with the path of what is wrong and what was expected.
        """
        return _DocumentReader(_parsed(document), columns).read()

    @staticmethod
    def of(pattern: Pattern, id: str, version: int = 1) -> PatternDocument:
        """The document of a pattern; its conditions must be column expressions.

        Raises:
            InvalidArgumentError: a condition is a Python function.
        """
        document = PatternDocument(id, version, pattern)
        document.to_dict()
        return document

    def to_dict(self) -> dict[str, Any]:
        """What the document says, ready for `json.dumps`."""
        found: dict[str, Any] = {"id": self.id, "version": self.version}
        if self.pattern is None:
            return found | {"removed": True}
        skip = self.pattern.skip_strategy
        if skip.is_skip_strategy():
            found["skip"] = _skip_document(skip)
        return found | {"pattern": _chain_document(self.pattern)}

    def to_json(self) -> str:
        """The document as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


# --- reading -------------------------------------------------------------------------------------


def _parsed(document: str | bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(document, str | bytes):
        text = document
        try:
            document = json.loads(text)
        except ValueError as error:
            raise InvalidArgumentError(
                f"the pattern document is not JSON: {error}",
                where=f"pattern document {text[:60]!r}",
                fix='write {"id": "...", "version": 1, "pattern": [{"name": "..."}]}',
            ) from None
    if not isinstance(document, Mapping):
        raise InvalidArgumentError(
            f"a pattern document is an object, not {_shown(document)}",
            where="pattern document",
            fix='write {"id": "...", "version": 1, "pattern": [{"name": "..."}]}',
        )
    return document


class _DocumentReader:
    """Reads one document; paths are those of JSONPath."""

    def __init__(self, document: Mapping[str, Any], columns: Collection[str] | None) -> None:
        self._document = document
        self._columns = columns
        self._title = f"pattern document {str(document.get('id', '?'))!r}"
        self._stages: list[str] = []

    def read(self) -> PatternDocument:
        """The whole document."""
        self._refuse_unknown(self._document, DOCUMENT_FIELDS, "$")
        name = self._wanted(self._document, "id", "$", str, "a text")
        version = self._wanted(self._document, "version", "$", int, "a whole number")
        if self._document.get("removed") is True:
            if "pattern" in self._document:
                self._fail("$.removed", "a document has a pattern or removes one, not both")
            return PatternDocument(name, version, None)
        chain = self._wanted(self._document, "pattern", "$", list, "a list of stages")
        self._collect(chain)
        pattern = self._chain(chain, "$.pattern", self._skip())
        self._within(pattern, self._document, "within", "$")
        try:
            compile_pattern(pattern)
        except HeadraceError as error:
            self._fail("$.pattern", error.message, error.fix)
        return PatternDocument(name, version, pattern)

    def _collect(self, chain: object) -> None:
        """The names of all stages: conditions may speak of them."""
        for stage in chain if isinstance(chain, list) else ():
            if isinstance(stage, Mapping):
                if isinstance(stage.get("name"), str):
                    self._stages.append(stage["name"])
                self._collect(stage.get("group"))

    def _skip(self) -> AfterMatchSkipStrategy:
        skip = self._document.get("skip", "no_skip")
        expected = f"one of {', '.join(PLAIN_SKIPS)}, or an object such as {{'to_first': 'name'}}"
        if isinstance(skip, str):
            if skip not in PLAIN_SKIPS:
                self._expected("$.skip", expected, skip, _near(skip, PLAIN_SKIPS))
            return PLAIN_SKIPS[skip]()
        if not isinstance(skip, Mapping) or len(kinds := [k for k in skip if k != "or_fail"]) != 1:
            self._expected("$.skip", expected, skip)
        (kind,) = kinds
        if kind not in NAMED_SKIPS:
            self._expected("$.skip", expected, kind, _near(kind, NAMED_SKIPS))
        name = self._wanted(skip, kind, "$.skip", str, "the name of a stage")
        found = NAMED_SKIPS[kind](name)
        return found.throw_exception_on_miss() if skip.get("or_fail") is True else found

    def _chain(self, chain: Any, path: str, skip: AfterMatchSkipStrategy | None) -> Pattern:
        if not isinstance(chain, list) or not chain:
            self._expected(path, "a list with at least one stage", chain)
        pattern: Pattern | None = None
        for place, stage in enumerate(chain):
            here = f"{path}[{place}]"
            if not isinstance(stage, Mapping):
                self._expected(here, "an object with the name of a stage", stage)
            self._refuse_unknown(stage, GROUP_FIELDS if "group" in stage else STAGE_FIELDS, here)
            pattern = self._stage(stage, here, pattern, skip)
            self._conditions(pattern, stage, here)
        assert pattern is not None
        return pattern

    def _stage(
        self,
        stage: Mapping[str, Any],
        path: str,
        before: Pattern | None,
        skip: AfterMatchSkipStrategy | None,
    ) -> Pattern:
        if "group" in stage:
            what: Any = self._chain(stage["group"], f"{path}.group", None)
        else:
            what = self._wanted(stage, "name", path, str, "a text")
        if before is None:
            if "after" in stage:
                self._fail(f"{path}.after", "the first stage comes after nothing", "leave it out")
            first: Pattern = self._called(path, Pattern.begin, what, skip)
            return first
        kinds = [kind.value for kind in Contiguity]
        after = stage.get("after")
        if after not in kinds:
            near = _near(after, kinds) if isinstance(after, str) else None
            self._expected(f"{path}.after", f"one of {', '.join(kinds)}", after, near)
        if "group" in stage and Contiguity(after).is_negative:
            self._expected(f"{path}.after", "next, followed_by or followed_by_any: a group", after)
        made: Pattern = self._called(path, getattr(before, after), what)
        return made

    def _conditions(self, pattern: Pattern, stage: Mapping[str, Any], path: str) -> None:
        """What is said of a stage, in the order in which a program would say it."""
        if "where" in stage:
            self._called(f"{path}.where", pattern.where, self._condition(stage, "where", path))
        self._times(pattern, stage, path)
        for name in SWITCHES:
            if name in stage and self._wanted(stage, name, path, bool, "true or false"):
                self._called(f"{path}.{name}", getattr(pattern, name))
        if "until" in stage:
            self._called(f"{path}.until", pattern.until, self._condition(stage, "until", path))
        self._within(pattern, stage, "within", path)
        self._within(pattern, stage, "within_previous", path, WithinType.PREVIOUS_AND_CURRENT)

    def _times(self, pattern: Pattern, stage: Mapping[str, Any], path: str) -> None:
        window = self._millis(stage, "times_within", path)
        if "times" not in stage:
            if window is not None:
                self._fail(f"{path}.times_within", "it is about a stage with times", "add times")
            return
        times, here = stage["times"], f"{path}.times"
        match times:
            case int() if not isinstance(times, bool):
                self._called(here, pattern.times, times, None, window)
            case [int() as least, None]:
                self._called(here, pattern.times_or_more, least, window)
            case [int() as least, int() as most]:
                self._called(here, pattern.times, least, most, window)
            case _:
                self._expected(here, "2, [2, 4], or [2, null] for two or more", times)

    def _within(
        self,
        pattern: Pattern,
        holder: Mapping[str, Any],
        name: str,
        path: str,
        kind: WithinType = WithinType.FIRST_AND_LAST,
    ) -> None:
        window = self._millis(holder, name, path)
        if window is not None:
            self._called(f"{path}.{name}", pattern.within, window, kind)

    def _millis(self, holder: Mapping[str, Any], name: str, path: str) -> int | None:
        given = holder.get(name)
        if given is None:
            return None
        if not isinstance(given, str | int) or isinstance(given, bool):
            self._expected(f"{path}.{name}", "milliseconds, or a text such as '10 min'", given)
        found: int = self._called(f"{path}.{name}", to_millis, given)
        return found

    def _condition(self, stage: Mapping[str, Any], name: str, path: str) -> Any:
        text = self._wanted(stage, name, path, str, "an expression of SQL")
        return self._called(
            f"{path}.{name}", condition_from_text, text, self._stages, self._columns
        )

    # --- what is wrong ---------------------------------------------------------------------------

    def _called(self, path: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """A call whose refusal is told at a place of the document."""
        try:
            return call(*arguments)
        except HeadraceError as error:
            self._fail(path, error.message, error.fix)

    def _wanted(
        self, holder: Mapping[str, Any], name: str, path: str, kind: type, expected: str
    ) -> Any:
        value = holder.get(name)
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits or value == "":
            self._expected(f"{path}.{name}", expected, value)
        return value

    def _refuse_unknown(self, holder: Mapping[str, Any], known: Collection[str], path: str) -> None:
        for name in holder:
            if name not in known:
                near = _near(str(name), known)
                self._fail(
                    f"{path}.{name}",
                    f"there is no field {name!r} here",
                    near or f"known are {', '.join(known)}",
                )

    def _expected(self, path: str, what: str, found: object, near: str | None = None) -> NoReturn:
        said = "nothing" if found is None else _shown(found)
        self._fail(path, f"{what} is expected, not {said}", near)

    def _fail(self, path: str, message: str, fix: str | None = None) -> NoReturn:
        raise InvalidArgumentError(message, where=f"{self._title}, {path}", fix=fix) from None


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _near(name: str, known: Collection[str]) -> str | None:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else None


# --- writing -------------------------------------------------------------------------------------


def _chain_document(pattern: Pattern) -> list[dict[str, Any]]:
    return [_stage_document(stage) for stage in reversed(list(pattern.stages()))]


def _stage_document(stage: Pattern) -> dict[str, Any]:
    is_group = isinstance(stage, GroupPattern)
    found: dict[str, Any] = {} if is_group else {"name": stage.name}
    if isinstance(stage, GroupPattern):
        found["group"] = _chain_document(stage.group)
    if stage.previous is not None:
        found["after"] = stage.contiguity.value
    where = text_from_condition(stage.take_condition())
    if where is not None:
        found["where"] = where
    found |= _times_document(stage)
    if stage.until_condition is not None:
        found["until"] = text_from_condition(stage.until_condition)
    for kind, name in _WITHIN.items():
        if kind in stage.windows_ms:
            found[name] = stage.windows_ms[kind]
    return found


_WITHIN = {
    WithinType.FIRST_AND_LAST: "within",
    WithinType.PREVIOUS_AND_CURRENT: "within_previous",
}


def _times_document(stage: Pattern) -> dict[str, Any]:
    found: dict[str, Any] = {}
    times = stage.times_range
    if times is not None:
        loops = stage.repetition is Repetition.LOOP
        found["times"] = [times.least, None if loops else times.most]
        if times.within_ms is not None:
            found["times_within"] = times.within_ms
    if stage.is_optional:
        found["optional"] = True
    if stage.is_greedy:
        found["greedy"] = True
    if times is not None and stage.inner_contiguity is Contiguity.STRICT:
        found["consecutive"] = True
    if stage.inner_contiguity is Contiguity.ANY:
        found["allow_combinations"] = True
    return found


def _skip_document(skip: AfterMatchSkipStrategy) -> str | dict[str, Any]:
    if skip.pattern_name is None:
        return skip.kind
    named: dict[str, Any] = {skip.kind: skip.pattern_name}
    return named | ({"or_fail": True} if skip.throws_on_miss else {})
