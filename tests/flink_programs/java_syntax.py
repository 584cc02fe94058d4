"""Reads as much Java as test programs are written in.

In: the text of a class.  Out: its static fields and methods as trees of tuples, the first item of
each its kind.  Next: java_values.py computes them
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:\\.|[^"\\])*")
    |(?P<char>'(?:\\.|[^'\\])')
    |(?P<number>(?:0x[0-9a-fA-F]+|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)[lLdDfF]?)
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<mark>->|::|==|!=|<=|>=|&&|\|\||\+\+|--|\+=|[-+*/%<>=!?:;,.(){}\[\]@&|])""",
    re.VERBOSE | re.DOTALL,
)
LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "'": "'", "\\": "\\"}
Tree = tuple[Any, ...]


class NotRead(Exception):
    """Java that this reader does not know."""


@dataclass
class JavaMethod:
    """A static method: names of parameters, whether the last takes the rest, statements."""

    parameters: list[str]
    variadic: bool
    body: list[Tree] | None


@dataclass
class JavaClass:
    """What a class has that programs use."""

    name: str
    fields: dict[str, Tree] = field(default_factory=dict)
    methods: dict[str, list[JavaMethod]] = field(default_factory=dict)
    static_imports: dict[str, str] = field(default_factory=dict)


def tokens_of(text: str) -> list[tuple[str, str]]:
    """The tokens of a text: kind and text."""
    found, place = [], 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise NotRead(f"a token: {text[place : place + 20]!r}")
        place = match.end()
        if match.lastgroup != "skip":
            found.append((str(match.lastgroup), match.group()))
    return [*found, ("end", "")]


def read_class(text: str) -> JavaClass:
    """The first class of a file."""
    return _Reader(tokens_of(text)).java_class()


def read_expression(text: str) -> Tree:
    """One expression."""
    return _Reader(tokens_of(text)).expression()


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        kind, text = self.tokens[place] if place < len(self.tokens) else ("end", "")
        return "" if kind == "text" else text

    def take(self, wanted: str | None = None) -> str:
        kind, text = self.tokens[self.at]
        if wanted is not None and (text != wanted or kind == "text"):
            raise NotRead(f"{text!r} where {wanted!r} was expected")
        self.at += 1
        return text

    def accept(self, wanted: str) -> bool:
        if self.peek() == wanted:
            self.at += 1
            return True
        return False

    # --- classes --------------------------------------------------------------------------------

    def java_class(self) -> JavaClass:
        imports: dict[str, str] = {}
        while self.peek() not in ("class", "interface", "enum", ""):
            if self.accept("import") and self.accept("static"):
                path = []
                while not self.accept(";"):
                    path.append(self.take())
                names = [part for part in path if part != "."]
                imports[names[-1]] = names[-2]
            elif self.peek() == "@":
                self.annotation()
            else:
                self.at += 1
        self.at += 1
        found = JavaClass(self.take(), static_imports=imports)
        while not self.accept("{"):
            self.at += 1
        while not self.accept("}"):
            self.member(found)
        return found

    def annotation(self) -> None:
        self.take("@")
        self.at += 1
        while self.accept("."):
            self.at += 1
        if self.peek() == "(":
            self.skip_group("(", ")")

    def skip_group(self, opening: str, closing: str) -> None:
        depth = 0
        while True:
            depth += {opening: 1, closing: -1}.get(self.peek(), 0)
            if self.tokens[self.at][0] == "end":
                raise NotRead(f"{closing} is missing")
            self.at += 1
            if depth == 0:
                return

    def member(self, found: JavaClass) -> None:
        if self.accept(";"):
            return
        words: list[str] = []
        while self.peek() not in ("=", "(", "{", ";"):
            if self.peek() == "@":
                self.annotation()
                continue
            words.append(self.take())
        if words == ["static"] and self.peek() == "{":
            found.fields.update({each[1]: each[2] for each in self.block() if each[0] == "set"})
        elif self.peek() == "{" or {"class", "enum", "interface"} & set(words):
            while self.peek() != "{":
                self.at += 1
            self.skip_group("{", "}")
        elif self.accept("="):
            found.fields[words[-1]] = self.initial()
            self.take(";")
        elif self.peek() == "(":
            found.methods.setdefault(words[-1], []).append(self.method())
        else:
            self.take(";")

    def method(self) -> JavaMethod:
        start = self.at
        self.skip_group("(", ")")
        inside = self.tokens[start + 1 : self.at - 1]
        parameters, variadic, depth = [], False, 0
        for place, (_, text) in enumerate(inside):
            depth += {"<": 1, ">": -1}.get(text, 0)
            following = inside[place + 1][1] if place + 1 < len(inside) else ","
            if following == "," and depth == 0:
                parameters.append(text)
                variadic = inside[place - 1][1] == "."
        while self.peek() not in ("{", ";"):
            self.at += 1
        if self.accept(";"):
            return JavaMethod(parameters, variadic, None)
        body_at = self.at
        try:
            body = self.block()
        except NotRead:
            self.at = body_at
            self.skip_group("{", "}")
            return JavaMethod(parameters, variadic, None)
        return JavaMethod(parameters, variadic, body)

    # --- statements -----------------------------------------------------------------------------

    def block(self) -> list[Tree]:
        self.take("{")
        found = []
        while not self.accept("}"):
            found.append(self.statement())
        return found

    def statement(self) -> Tree:
        if self.peek() == "{":
            return ("block", self.block())
        if self.accept("return"):
            return self.ended(("return", None if self.peek() == ";" else self.expression()))
        if self.accept("throw"):
            return self.ended(("throw", self.expression()))
        if self.accept("if"):
            self.take("(")
            condition = self.expression()
            self.take(")")
            then = self.statement()
            return ("if", condition, then, self.statement() if self.accept("else") else None)
        declared = self.declaration()
        if declared is not None:
            return declared
        target = self.expression()
        if self.accept("="):
            return self.ended(("set", target[1], self.initial()))
        return self.ended(("do", target))

    def ended(self, tree: Tree) -> Tree:
        self.take(";")
        return tree

    def declaration(self) -> Tree | None:
        start = self.at
        self.accept("final")
        if self.type_name() and self.tokens[self.at][0] == "name":
            name = self.take()
            if self.accept(";"):
                return ("set", name, ("null",))
            if self.accept("="):
                return self.ended(("set", name, self.initial()))
        self.at = start
        return None

    def type_name(self) -> bool:
        if self.tokens[self.at][0] != "name":
            return False
        self.at += 1
        while self.peek() == "." and self.tokens[self.at + 1][0] == "name":
            self.at += 2
        if self.peek() == "<" and not self.type_arguments():
            return False
        while self.peek() == "[" and self.peek(1) == "]":
            self.at += 2
        return True

    def type_arguments(self) -> bool:
        depth = 0
        while True:
            text = self.peek()
            if self.tokens[self.at][0] != "name" and text not in tuple("<>,.?[]&"):
                return False
            depth += {"<": 1, ">": -1}.get(text, 0)
            self.at += 1
            if depth == 0:
                return True

    # --- expressions ----------------------------------------------------------------------------

    def initial(self) -> Tree:
        return self.array() if self.peek() == "{" else self.expression()

    def array(self) -> Tree:
        self.take("{")
        items = []
        while not self.accept("}"):
            items.append(self.initial())
            self.accept(",")
        return ("array", items)

    def expression(self) -> Tree:
        made = self.lambda_()
        if made is not None:
            return made
        condition = self.binary(0)
        if self.accept("?"):
            first = self.expression()
            self.take(":")
            return ("choose", condition, first, self.expression())
        return condition

    def lambda_(self) -> Tree | None:
        start = self.at
        names = []
        if self.tokens[self.at][0] == "name" and self.peek(1) == "->":
            names = [self.take()]
        elif self.peek() == "(":
            self.at += 1
            while self.tokens[self.at][0] == "name":
                names.append(self.take())
                self.accept(",")
            if not (self.accept(")") and self.peek() == "->"):
                self.at = start
                return None
        else:
            return None
        self.take("->")
        body = self.block() if self.peek() == "{" else [("return", self.expression())]
        return ("lambda", names, body)

    def binary(self, level: int) -> Tree:
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.tokens[self.at][0] == "mark" and self.peek() in LEVELS[level]:
            left = ("binary", self.take(), left, self.binary(level + 1))
        return left

    def unary(self) -> Tree:
        if self.peek() in ("-", "!"):
            return ("unary", self.take(), self.unary())
        cast = self.cast()
        return cast if cast is not None else self.postfix(self.primary())

    def cast(self) -> Tree | None:
        start = self.at
        if self.accept("("):
            word = self.peek()
            if self.type_name() and self.accept(")"):
                kind, text = self.tokens[self.at]
                if kind in ("name", "text", "number", "char") or text == "(":
                    return ("cast", word, self.unary())
        self.at = start
        return None

    def primary(self) -> Tree:
        kind, text = self.tokens[self.at]
        if kind in ("text", "char"):
            self.at += 1
            return ("value", re.sub(r"\\(u[0-9a-fA-F]{4}|.)", _escape, text[1:-1]))
        if kind == "number":
            self.at += 1
            return ("number", text)
        if self.accept("("):
            inner = self.expression()
            self.take(")")
            return inner
        if self.accept("new"):
            return self.created()
        if kind == "name":
            return ("name", self.take())
        raise NotRead(f"{text!r} where a value was expected")

    def created(self) -> Tree:
        words = [self.take()]
        while self.accept("."):
            words.append(self.take())
        if self.peek() == "<":
            self.type_arguments()
        if self.peek() == "[":
            while self.accept("["):
                if self.peek() != "]":
                    self.expression()
                self.take("]")
            items = self.array() if self.peek() == "{" else ("array", [])
            return ("bytes", items[1]) if words == ["byte"] else items
        made = ("new", words[-1], self.arguments())
        if self.peek() == "{":
            body = self.at
            self.skip_group("{", "}")
            return ("anonymous", made, self.tokens[body : self.at])
        return made

    def arguments(self) -> list[Tree]:
        self.take("(")
        found = []
        while not self.accept(")"):
            found.append(self.expression())
            self.accept(",")
        return found

    def postfix(self, left: Tree) -> Tree:
        while True:
            if self.accept("."):
                if self.peek() == "<":
                    self.type_arguments()
                name = self.take()
                if self.peek() == "(":
                    left = ("call", left, name, self.arguments())
                else:
                    left = ("member", left, name)
            elif self.peek() == "(" and left[0] == "name":
                left = ("call", None, left[1], self.arguments())
            elif self.peek() == "[" and self.peek(1) == "]":
                self.at += 2
            elif self.accept("::"):
                left = ("reference", left, self.take())
            elif self.accept("["):
                left = ("item", left, self.expression())
                self.take("]")
            else:
                return left


def _escape(match: re.Match[str]) -> str:
    text = match.group(1)
    return chr(int(text[1:], 16)) if len(text) > 1 else ESCAPES.get(text, text)
