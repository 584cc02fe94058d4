"""Hints behind SELECT: ``/*+ STATE_TTL('a' = '1 d'), LOOKUP('table' = 'b', ...) */``.

    STATE_TTL   how long the joins and the GROUP BY of this SELECT keep the lines of a table
    LOOKUP      whether a lookup join asks again for keys that have no lines
    BROADCAST, SHUFFLE_HASH, SHUFFLE_MERGE, NEST_LOOP, MULTI_JOIN
                how Flink joins: taken without effect, since the results are the same

In: the hints of one SELECT, and the tables behind its FROM.  Out: joins and groups that know.
Next: select.py asks for them
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption
from headrace.common.time import to_millis
from headrace.errors import ConfigurationError, InvalidArgumentError
from headrace.rel import nodes as n
from headrace.rel.resolve.problems import near, problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.opaque import OptionValue
    from headrace.sql.query_ast import QueryHint

_JOIN_STRATEGIES = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN")
_KNOWN = ("LOOKUP", "OPTIONS", "STATE_TTL", *_JOIN_STRATEGIES)
# of LOOKUP; the first ones act, the others say how Flink asks, not what it gets
_LOOKUP_OPTIONS: tuple[ConfigOption[OptionValue], ...] = (
    ConfigOption("table"),
    ConfigOption("retry-predicate", "enum", choices=("lookup_miss",)),
    ConfigOption("retry-strategy", "enum", choices=("fixed_delay",)),
    ConfigOption("fixed-delay", "duration", minimum=1),
    ConfigOption("max-attempts", "int", minimum=1),
    ConfigOption("async", "boolean"),
    ConfigOption("output-mode", "enum", choices=("ordered", "allow_unordered")),
    ConfigOption("capacity", "int", minimum=1),
    ConfigOption("timeout", "duration", minimum=1),
    ConfigOption("shuffle", "boolean"),
)
_LOOKUP = {option.key: option for option in _LOOKUP_OPTIONS}
_RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")


class SelectHints:
    """The hints of one SELECT, while it is resolved.

    Args:
        hints: as they are written.
    """

    def __init__(self, hints: Sequence[QueryHint] = ()) -> None:
        self._ttl: dict[str, int] = {}
        self._lookups: dict[str, n.LookupRetries | None] = {}
        self._nodes: dict[str, QueryHint] = {}
        self._used: set[str] = set()
        self._tables: list[tuple[str, n.Rel]] = []
        for hint in hints:
            self._read(hint)

    def _read(self, hint: QueryHint) -> None:
        if hint.name not in _KNOWN:
            raise problem(f"there is no hint {hint.name}", hint, near(hint.name, _KNOWN))
        if hint.name == "OPTIONS":
            raise problem("OPTIONS stands behind a table", hint, "FROM t /*+ OPTIONS(...) */")
        if hint.name == "STATE_TTL":
            for name, text in hint.options:
                self._ttl[name] = _time_to_live(text, hint)
                self._nodes[name] = hint
        elif hint.name == "LOOKUP":
            table, retries = _lookup(hint)
            self._lookups[table] = retries
            self._nodes[table] = hint

    # --- what FROM tells -------------------------------------------------------------------------

    def saw(self, path: tuple[str, ...], rel: n.Rel) -> None:
        """A table behind FROM, by its name or alias."""
        if self._ttl:
            self._tables.append((path[-1], _base(rel)))

    def retries_of(self, name: str) -> n.LookupRetries | None:
        """What LOOKUP says of a table that is asked."""
        if name in self._lookups:
            self._used.add(name)
        return self._lookups.get(name)

    # --- state -----------------------------------------------------------------------------------

    def with_ttl(self, rel: n.Rel) -> n.Rel:
        """The joins of FROM, each side kept as long as its table's hint says."""
        if not self._ttl:
            return rel
        if isinstance(rel, n.Calc):
            return replace(rel, input=self.with_ttl(rel.input))
        if not isinstance(rel, n.Join):
            return rel
        times = (self._time_of(rel.left), self._time_of(rel.right))
        made = replace(rel, left=self.with_ttl(rel.left), right=self.with_ttl(rel.right))
        return replace(made, ttl_ms=times) if type(rel) is n.Join else made

    def group_ttl(self, rel: n.Rel) -> n.Rel:
        """The GROUP BY of this SELECT, kept as long as the hint of its table says."""
        if not self._ttl:
            return rel
        if isinstance(rel, n.Calc):
            return replace(rel, input=self.group_ttl(rel.input))
        if isinstance(rel, n.GroupAggregate):
            below = rel.input
            while isinstance(below, n.Calc | n.Expand):
                below = below.input
            return replace(rel, ttl_ms=self._time_of(below))
        return rel

    def _time_of(self, side: n.Rel) -> int | None:
        base = _base(side)
        names = dict.fromkeys(name for name, rel in self._tables if rel is base)
        found = {self._ttl[name]: name for name in names if name in self._ttl}
        self._used |= set(found.values())
        if len(found) > 1 or (found and self._twice(base)):
            hint = self._nodes[next(iter(found.values()))]
            raise problem(
                "STATE_TTL cannot tell the two uses of a table apart that is joined with itself",
                hint,
                "set table.exec.state.ttl, or join a view of it: (SELECT DISTINCT ..)",
            )
        return next(iter(found), None)

    def _twice(self, base: n.Rel) -> bool:
        """Whether a table is there several times, and not all of its uses have a time."""
        named = [name for name, rel in self._tables if rel is base]
        uses = max(named.count(name) for name in named)
        return uses > 1 and sum(name in self._ttl for name in named) < uses

    # --- afterwards ------------------------------------------------------------------------------

    def check(self) -> None:
        """Every table that a hint names was there.

        Raises:
            SqlError: one was not.
        """
        seen = {name for name, _ in self._tables} | self._used
        for name, hint in self._nodes.items():
            if name not in seen:
                raise problem(
                    f"{hint.name} names {name}, which is no table behind FROM that it could be for",
                    hint,
                    near(name, seen) or "name a table or its alias",
                )


def _base(rel: n.Rel) -> n.Rel:
    while isinstance(rel, n.Calc):
        rel = rel.input
    return rel


def _time_to_live(text: str, hint: QueryHint) -> int:
    try:
        found = to_millis(text)
    except InvalidArgumentError:
        raise problem(f"STATE_TTL takes times, not {text!r}", hint, "such as '1 d'") from None
    if found < 0:
        raise problem(f"STATE_TTL takes times above 0, not {text!r}", hint, "such as '1 d'")
    return int(found)


def _lookup(hint: QueryHint) -> tuple[str, n.LookupRetries | None]:
    """The table of a LOOKUP, and how it is asked again."""
    given: dict[str, OptionValue] = {}
    for key, text in hint.options:
        if key not in _LOOKUP:
            raise problem(f"LOOKUP has no option {key!r}", hint, near(key, _LOOKUP))
        try:
            given[key] = _LOOKUP[key].parse(text)
        except ConfigurationError as error:
            raise problem(f"LOOKUP: {error.message}", hint, error.fix) from None
    if "table" not in given:
        raise problem("LOOKUP names its table", hint, "LOOKUP('table' = 't', ...)")
    asked = [key for key in _RETRY if key in given]
    missing = [key for key in _RETRY if key not in given]
    if asked and missing:
        raise problem(f"LOOKUP has {asked[0]!r}, and lacks {missing[0]!r}", hint, "give all four")
    retries = n.LookupRetries(given["fixed-delay"], given["max-attempts"]) if asked else None
    return str(given["table"]), retries
