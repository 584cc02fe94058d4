"""What a script wants of Java: jars, classes, and what is told of them.

In: a statement.  Out: the same with Python twins in place of Java's classes, and the reason why it
is not judged.  A function that has a twin is created, so that what follows can be judged.
Next: functions.py
"""

from __future__ import annotations

import re

_CLASS = re.compile(
    r"\bas\s+'(?:[\w.$]*[.$])?(LowerUDF|UpperUDF|TestScalaFunction)'"
    r"(?:\s+LANGUAGE\s+JAVA)?(?:\s+using\s+jar\s+'[^']*')?",
    re.IGNORECASE,
)
_TWIN = r"AS 'flink_scripts.functions.\1' LANGUAGE PYTHON"

# what a statement or its expected text looks like, and why headrace is not asked
REASONS = (
    (r"^(ADD|REMOVE)\s+JAR\b", "takes the jar with Flink's Java functions"),
    (r"^SHOW\s+JARS\b", "lists the jar with Flink's Java functions"),
    (r"^CREATE\b.*\bFUNCTION\b", "creates a function of a Java class; a Python twin takes part"),
    (r"^ALTER\s+FUNCTION\b", "names a Java class; a Python twin takes part"),
    (r"^DESC.*\bclass name\b", "tells the Java class and the jar of a function"),
    (r"\btest_procedure_catalog\b|^CALL\b|^SHOW\s+PROCEDURES\b|^CREATE DATABASE `system`",
     "procedures are Java methods of a Java catalog; headrace has none"),
    (r"^SELECT\b.*\bvalues source\b", "runs a Java source of tests"),
)  # fmt: skip


def with_twins(statement: str) -> str:
    """The statement with Python's twins of Java's classes."""
    return _CLASS.sub(_TWIN, statement)


def reason(statement: str, expected: str) -> str | None:
    """Why a statement needs the JVM; None if it does not."""
    text = f"{statement}\n{expected}"
    for pattern, why in REASONS:
        if re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return why
    return None


def is_about_jars(statement: str) -> bool:
    """Whether there is nothing to execute: there is no jar."""
    return re.match(r"(ADD|REMOVE|SHOW)\s+JARS?\b", statement, re.IGNORECASE) is not None
