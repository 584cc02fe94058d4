"""SHOW and DESCRIBE.

In: a walk over tokens (stream.py).  Out: `ShowStatement`, `DescribeStatement` (statement_ast.py).
Next: statements.py
"""

from __future__ import annotations

from typing import Literal

from headrace.sql.ast import Identifier
from headrace.sql.statement_ast import DescribeStatement, ShowPattern, ShowStatement
from headrace.sql.table_parts import TablePartParser

_Described = Literal["TABLE", "CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION", "JOB"]
_DESCRIBED: tuple[_Described, ...] = (
    "CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION", "JOB",
)  # fmt: skip

# What may stand behind each: f for FROM or IN, i for ILIKE as well as LIKE, l for LIKE only.
_SHOWN = {
    "CATALOGS": "i",
    "CURRENT CATALOG": "",
    "CURRENT DATABASE": "",
    "DATABASES": "fi",
    "TABLES": "fl",
    "VIEWS": "fl",
    "MATERIALIZED TABLES": "fl",
    "FUNCTIONS": "fi",
    "USER FUNCTIONS": "fi",
    "PROCEDURES": "fi",
    "COLUMNS": "fl",
    "MODELS": "fl",
    "CONNECTIONS": "fl",
    "MODULES": "",
    "FULL MODULES": "",
    "JARS": "",
    "JOBS": "",
}
_CREATED = (
    "TABLE",
    "VIEW",
    "CATALOG",
    "DATABASE",
    "MODEL",
    "CONNECTION",
    "MATERIALIZED TABLE",
    "OR ALTER MATERIALIZED TABLE",
)


class ShowParser(TablePartParser):
    """The part of the grammar that reads SHOW and DESCRIBE."""

    def show(self) -> ShowStatement:
        """SHOW of anything."""
        first = self.index
        self.index += 1
        if self.accept("PARTITIONS"):
            name = self.identifier("the name of a table")
            partition = self.partition_spec() if self.accept("PARTITION") else ()
            return ShowStatement(
                "PARTITIONS", name, partition=partition, position=self.since(first)
            )
        if self.accept("CREATE"):
            return self._show_create(first)
        what = self._phrase_of(tuple(_SHOWN))
        allowed = _SHOWN[what]
        owner = self._owner(what) if "f" in allowed else None
        pattern = self._pattern(ilike="i" in allowed) if allowed else None
        return ShowStatement(what, owner, pattern, position=self.since(first))

    def _show_create(self, first: int) -> ShowStatement:
        kind = self._phrase_of(_CREATED)
        name = self.identifier(f"the name of a {kind.split()[-1].lower()}")
        return ShowStatement(f"CREATE {kind}", name, position=self.since(first))

    def _phrase_of(self, phrases: tuple[str, ...]) -> str:
        """Takes one of several phrases."""
        for phrase in phrases:
            if self.accept(*phrase.split()):
                return phrase
        begun = self.expect_one(tuple(dict.fromkeys(phrase.split()[0] for phrase in phrases)))
        if begun not in phrases:
            self.fail(*(phrase.split()[1] for phrase in phrases if phrase.startswith(f"{begun} ")))
        return begun

    def _owner(self, what: str) -> Identifier | None:
        if self.accept_one(("FROM", "IN")) is not None:
            place = self.here()
            name = self.identifier("a name")
            if what == "DATABASES" and len(name.parts) > 1:
                self.refuse(
                    "a catalog has a name of one part", "leave the rest out", position=place
                )
            return name
        if what == "COLUMNS":
            self.fail("FROM", "IN")
        return None

    def _pattern(self, *, ilike: bool) -> ShowPattern | None:
        first = self.index
        negated = self.accept("NOT")
        words = ("LIKE", "ILIKE") if ilike else ("LIKE",)
        found = self.accept_one(words)
        if found is None:
            if negated:
                self.expect_one(words)
            return None
        pattern = self.string("a pattern in single quotes")
        operator: Literal["LIKE", "ILIKE"] = "LIKE" if found == "LIKE" else "ILIKE"
        return ShowPattern(pattern, operator, negated, position=self.since(first))

    def describe(self) -> DescribeStatement:
        """DESCRIBE or DESC."""
        first = self.index
        self.index += 1
        kind: _Described = "TABLE"
        for word in _DESCRIBED:
            # DATABASE and others are no reserved words: a table may have that name
            if self.key == word and (self.tokens[self.index + 1].value or word == "JOB"):
                if self.key_at(1) in {";", "."}:
                    break
                self.index += 1
                kind = word
        if kind == "JOB":
            place = self.index
            job = Identifier((self.string("the job's id in single quotes"),))
            return DescribeStatement("JOB", job, position=self.since(place - 2))
        extended = self.accept("EXTENDED")
        name = self.identifier(f"the name of a {kind.lower()}")
        return DescribeStatement(kind, name, extended, position=self.since(first))
