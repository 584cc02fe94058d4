"""What the resolver asks of catalogs, answered: tables as nodes, functions as definitions.

    orders  ──▶  Scan ──▶ Calc (computed columns) ──▶ WatermarkAssigner
    a view  ──▶  the nodes of its query

In: names.  Out: nodes.  Next: table/declared.py makes the nodes of a table
"""

from __future__ import annotations

import importlib
import traceback
from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.io.importing import make_importable
from headrace.rel.resolve.resolver import Resolver
from headrace.scalars.aggregate_rules import is_aggregate
from headrace.scalars.functions.registry import find
from headrace.table.declared import scan_of
from headrace.table.module import CORE
from headrace.table.udf import UserDefinedFunctionWrapper, wrapped

if TYPE_CHECKING:
    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.rel.nodes import Rel
    from headrace.table.catalogs.manager import CatalogManager, FoundTable
    from headrace.table.catalogs.objects import CatalogFunction, ViewQuery
    from headrace.table.table_config import TableConfig

Path = tuple[str, ...]
_HINTS = "table.dynamic-table-options.enabled"


class CatalogLookup:
    """Answers a resolver.

    Args:
        manager: the catalogs of the session.
        place: catalog and database in which names are looked up; the current ones if None.
        config: the options of the session.
    """

    def __init__(
        self,
        manager: CatalogManager,
        place: tuple[str, str] | None = None,
        config: TableConfig | None = None,
    ) -> None:
        self.manager = manager
        self._place = place
        self._config = config

    def check_hint(self) -> None:
        """Refuses the hint OPTIONS, if the session does not want it."""
        if self._config is not None and self._config.get(_HINTS, "true").lower() == "false":
            raise InvalidArgumentError(
                f"the hint OPTIONS is used, but {_HINTS} is false",
                fix=f"SET '{_HINTS}' = 'true', or leave the hint out",
            )

    def _full(self, path: Path) -> Path:
        if self._place is None or len(path) == 3:
            return path
        return (*self._place[: 3 - len(path)], *path)

    def find_table(
        self, path: Path, options: dict[str, str] | None = None
    ) -> tuple[Path, Rel] | None:
        """The full path of a table or view, and what it gives."""
        found = self.manager.find(self._full(path))
        if found is None:
            return None
        return tuple(found.identifier.to_list()), self.rel_of(found, options)

    def rel_of(self, found: FoundTable, options: dict[str, str] | None = None) -> Rel:
        """What a table or view gives."""
        table = found.table
        if options:
            self.check_hint()
        if table._view is not None:
            if options:
                raise InvalidArgumentError(
                    f"View '{found.identifier}' cannot be enriched with new options.",
                    fix="leave the hint out, or give it to the tables in the view's query",
                )
            return self.view_rel(table._view)
        key = tuple(sorted((options or {}).items()))
        made = table._scans.get(key)
        if made is None:
            changed = table if not options else table._with(options=table._options | options)
            made = scan_of(found.identifier.as_summary_string(), changed, self)
            table._scans[key] = made
        return made

    def view_rel(self, view: ViewQuery) -> Rel:
        """What a view shows."""
        if view.rel is not None:
            return view.rel
        from headrace.sql.parser import parse_query

        node = view.node if view.node is not None else parse_query(view.text)
        place = (view.catalog, view.database) if view.catalog else self._place
        resolver = Resolver(CatalogLookup(self.manager, place, self._config))
        rel = resolver.query(node)
        return resolver.renamed(rel, view.columns) if view.columns else rel

    def table_names(self) -> list[str]:
        """The names of the current database, for messages."""
        return self.manager.table_names(*(self._place or (None, None)))

    def find_function(self, path: Path) -> UserFunctionDefinition | None:
        """A function of the user; None if there is none, or if SQL has one of that name.

        Of names without a database Flink's order holds: temporary system functions, those of
        modules (SQL's own are the module ``core``), those of the current database.
        """
        of_session = len(path) == 1 and self.manager.is_system_function(path[0])
        if len(path) == 1 and not of_session:
            for module in self.manager.modules.used:
                if module == CORE and _is_own(path[0]):
                    return None
                function = self.manager.modules.function(module, path[0])
                if function is not None:
                    return function
        found = self.manager.find_function(path if of_session else self._full(path))
        if found is None:
            return None
        if self._config is not None:
            make_importable(self._config.get("python.files", ""))
        return definition_of(found)


def _is_own(name: str) -> bool:
    entry = find(name)
    return is_aggregate(name.upper()) or (entry is not None and not entry.internal)


def definition_of(function: CatalogFunction) -> UserFunctionDefinition:
    """The function itself: an object of this program, or one that is imported by its name."""
    parts = function._parts
    if parts.definition is not None:
        return parts.definition
    if parts.language != "PYTHON":
        raise UnsupportedStepError(
            f"{parts.class_name} is a function of {parts.language.capitalize()}",
            fix="write it in Python: CREATE FUNCTION f AS 'module.name' LANGUAGE PYTHON",
        )
    return imported(parts.class_name)


def imported(name: str) -> UserFunctionDefinition:
    """A function by module and name, such as ``my_functions.add_one``."""
    module_name, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(
            f"there is no function {name!r}: {error}",
            fix="name a variable that udf made, with its module; the module must be importable: "
            "in the folder of the script, or named by python.files or add_python_file(path)",
        ) from error
    except Exception as error:  # the module's own code, which runs now
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise InvalidArgumentError(
            f"the module of the function {name!r} cannot be imported: "
            f"{type(error).__name__}: {error}",
            where=f"{last.filename}:{last.lineno} {last.line}",
            fix="correct the module: it is run when its function is created",
        ) from error
    if isinstance(found, type):
        found = found()
    if not isinstance(found, UserDefinedFunctionWrapper):
        found = wrapped(found)
    return found._definition
