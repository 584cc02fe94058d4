"""Makes parts of nodes: constants are computed once, bodies are chosen by types.

In: nodes (scalars/nodes.py) and the session.  Out: parts (scalars/parts.py).
Next: scalars/evaluate.py runs them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from headrace.errors import HeadraceError, InternalError
from headrace.scalars.casts import cast_body, cast_kernel
from headrace.scalars.functions.entry import NO_LITERAL, BoundCall, Clock
from headrace.scalars.functions.registry import lookup
from headrace.scalars.lazy_parts import CasePart, CoalescePart, LogicPart
from headrace.scalars.nodes import (
    Call,
    Case,
    Cast,
    Literal,
    Outer,
    Ref,
    UserCall,
    children,
    rewrite,
    walk,
)
from headrace.scalars.parts import CallPart, ConstantPart, OncePart, Part, RefPart, SharedPart
from headrace.scalars.user_parts import UserPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.scalars.functions.entry import FunctionEntry
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession


class Compiler:
    """Makes the parts of a projection; equal parts are computed once.

    Args:
        session: of the query.
        nodes: all expressions of the projection.
    """

    def __init__(self, session: ScalarSession, nodes: Iterable[Scalar] = ()) -> None:
        self._session = session
        self._shared: dict[Scalar, Part] = {}
        self._repeated = _repeated(nodes)
        self.user_parts: list[UserPart] = []

    def part(self, node: Scalar) -> Part:
        """The part of a node."""
        if not _hashable(node) or node not in self._repeated:
            return self._made(node)
        if node not in self._shared:
            self._shared[node] = SharedPart(self._made(node))
        return self._shared[node]

    def _made(self, node: Scalar) -> Part:
        match node:
            case Ref():
                return RefPart(node.index, node.type)
            case Literal():
                return ConstantPart(node.value, node.type)
            case Cast():
                return self._cast(node)
            case Case():
                branches = [(self.part(c), self.part(v)) for c, v in node.branches]
                return CasePart(branches, self.part(node.otherwise), node.type)
            case Call():
                return self._call(node)
            case UserCall():
                arguments = [self.part(argument) for argument in node.arguments]
                made = UserPart(node.function, arguments, node.type, self._session)
                self.user_parts.append(made)
                return made
            case Outer():
                message = f"column {node.index} of the query around it is still in an expression"
                raise InternalError(message)
        assert_never(node)

    def _cast(self, node: Cast) -> Part:
        source = node.argument.type
        body = cast_body(source, node.type, self._session, lenient=node.lenient)
        kernel = cast_kernel(source, node.type, self._session)
        title = f"{'TRY_' if node.lenient else ''}CAST AS {node.type.nullable()}"
        arguments = [self.part(node.argument)]
        return CallPart(title, arguments, node.type, body=body, kernel=kernel, strict=True)

    def _call(self, node: Call) -> Part:
        arguments = [self.part(argument) for argument in node.arguments]
        match node.function:
            case "AND" | "OR":
                decides = node.function == "OR"
                found = arguments[0]
                for right in arguments[1:]:
                    found = LogicPart(found, right, node.type, decides=decides)
                return found
            case "IF":
                return CasePart([(arguments[0], arguments[1])], arguments[2], node.type)
            case "COALESCE" | "IFNULL":
                return CoalescePart(arguments, node.type)
        entry = lookup(node.function)
        bound = bound_call(node, self._session)
        made = CallPart(
            entry.name,
            arguments,
            node.type,
            body=entry.row_body(bound),
            kernel=entry.arrow_body(bound),
            strict=entry.strict,
            deterministic=entry.deterministic and entry.clock is Clock.NONE,
        )
        # the lines of a batch are processed together: its moment is that of each of them
        return OncePart(made) if entry.clock is not Clock.NONE and not arguments else made


def bound_call(node: Call, session: ScalarSession) -> BoundCall:
    """What the bodies of a call may know."""
    types = tuple(argument.type for argument in node.arguments)
    literals = tuple(a.value if isinstance(a, Literal) else NO_LITERAL for a in node.arguments)
    return BoundCall(types, node.type, literals, session)


def _repeated(nodes: Iterable[Scalar]) -> set[Scalar]:
    """Calls that stand in several places and give the same everywhere."""
    seen: set[Scalar] = set()
    again: set[Scalar] = set()
    for node in (part for root in nodes for part in walk(root)):
        if isinstance(node, Call | Cast | Case | UserCall) and _hashable(node):
            (again if node in seen else seen).add(node)
    return {node for node in again if is_deterministic(node)}


def _hashable(node: Scalar) -> bool:
    try:
        hash(node)
    except TypeError:  # a literal that is a list or a dict
        return False
    return True


def is_deterministic(node: Scalar) -> bool:
    """Whether it gives the same for the same columns, whenever it is asked."""
    for part in walk(node):
        if isinstance(part, Call) and not _is_pure(lookup(part.function), part):
            return False
        if isinstance(part, UserCall) and not getattr(part.function, "deterministic", True):
            return False
    return True


def _is_pure(entry: FunctionEntry, node: Call) -> bool:
    """Whether a call gives the same always; with arguments none of ours looks at the clock."""
    looks = entry.clock is not Clock.NONE
    return bool(node.arguments) if looks else entry.deterministic


def fold_constants(node: Scalar, session: ScalarSession) -> Scalar:
    """The same with everything computed that reads no column.

    What has no result stays as it is: it may be in a branch that is never taken.
    """
    return rewrite(node, lambda part: _folded(part, session))


def _folded(node: Scalar, session: ScalarSession) -> Scalar | None:
    """The literal that a part is; the part with folded parts; None to look deeper."""
    if isinstance(node, Ref | Literal | Outer):
        return node
    if not _is_constant(node):
        return None
    try:
        value = Compiler(session).part(node).row()(())
    except HeadraceError:
        return None
    return Literal(value, node.type)


def _is_constant(node: Scalar) -> bool:
    if any(isinstance(part, Ref | UserCall | Outer) for part in walk(node)):
        return False
    return bool(children(node)) or isinstance(node, Call) if is_deterministic(node) else False
