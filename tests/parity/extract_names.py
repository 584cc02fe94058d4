"""Lists PyFlink's public names and signatures, as facts to compare headrace with.

Run with PyFlink's own interpreter; the output is committed, so that the test needs no PyFlink:

    .venv-oracle/bin/python tests/parity/extract_names.py > tests/parity/pyflink_names.txt

One line a name: `module:Class`, `module:Class.method(parameters)`, `module:function(parameters)`,
`module:Class.CONSTANT`.  Only names are taken, never code or documentation.
"""

from __future__ import annotations

import enum
import importlib
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import types

MODULES = (
    "pyflink.common",
    "pyflink.common.watermark_strategy",
    "pyflink.common.serialization",
    "pyflink.common.typeinfo",
    "pyflink.datastream",
    "pyflink.datastream.async_data_stream",
    "pyflink.datastream.async_retry_predicates",
    "pyflink.datastream.async_retry_strategies",
    "pyflink.datastream.connectors",
    "pyflink.datastream.connectors.base",
    "pyflink.datastream.connectors.file_system",
    "pyflink.datastream.connectors.number_seq",
    "pyflink.datastream.connectors.cassandra",
    "pyflink.datastream.connectors.dynamic_kafka",
    "pyflink.datastream.connectors.elasticsearch",
    "pyflink.datastream.connectors.hybrid_source",
    "pyflink.datastream.connectors.jdbc",
    "pyflink.datastream.connectors.kafka",
    "pyflink.datastream.connectors.kinesis",
    "pyflink.datastream.connectors.pulsar",
    "pyflink.datastream.connectors.rabbitmq",
    "pyflink.datastream.data_stream",
    "pyflink.datastream.formats.avro",
    "pyflink.datastream.formats.csv",
    "pyflink.datastream.formats.json",
    "pyflink.datastream.formats.orc",
    "pyflink.datastream.formats.parquet",
    "pyflink.datastream.functions",
    "pyflink.datastream.output_tag",
    "pyflink.datastream.state",
    "pyflink.datastream.state_backend",
    "pyflink.datastream.checkpoint_storage",
    "pyflink.datastream.window",
    "pyflink.table",
    "pyflink.table.catalog",
    "pyflink.table.changelog_mode",
    "pyflink.table.compiled_plan",
    "pyflink.table.data_view",
    "pyflink.table.descriptors",
    "pyflink.table.environment_settings",
    "pyflink.table.explain_detail",
    "pyflink.table.expression",
    "pyflink.table.expressions",
    "pyflink.table.functions",
    "pyflink.table.model_descriptor",
    "pyflink.table.module",
    "pyflink.table.plan_reference",
    "pyflink.table.resolved_expression",
    "pyflink.table.result_kind",
    "pyflink.table.schema",
    "pyflink.table.sql_dialect",
    "pyflink.table.statement_set",
    "pyflink.table.table",
    "pyflink.table.table_config",
    "pyflink.table.table_descriptor",
    "pyflink.table.table_environment",
    "pyflink.table.table_pipeline",
    "pyflink.table.table_result",
    "pyflink.table.table_schema",
    "pyflink.table.types",
    "pyflink.table.udf",
    "pyflink.table.window",
)

# Methods that hand a PyFlink object to the JVM or take one from it: no part of a user's program.
JVM_PARTS = ("j_", "_j_", "from_j_", "to_j_", "get_java_", "get_j_", "java_", "gateway")


def is_public(name: str) -> bool:
    return not name.startswith("_") and not name.startswith(JVM_PARTS)


def public_names(module: types.ModuleType) -> list[str]:
    """The names of `__all__`, or else those that the module itself defines."""
    listed = getattr(module, "__all__", None)
    if listed:
        return sorted(set(listed))
    return sorted(
        name
        for name, value in vars(module).items()
        if is_public(name)
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    )


def parameters(function: object) -> str:
    """The parameters without annotations; defaults as they print, unless they print an address."""
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    parts, star_seen = [], False
    for name, parameter in signature.parameters.items():
        if name in ("self", "cls"):
            continue
        if name.startswith(("j_", "_j_")):
            if parameter.default is parameter.empty:
                return "(java)"  # made by PyFlink itself around a Java object
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star_seen:
            parts.append("*")
            star_seen = True
        if parameter.kind is parameter.VAR_POSITIONAL:
            star_seen = True
        stars = STARS.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={shown(parameter.default)}"
        parts.append(f"{stars}{name}{default}")
    return f"({', '.join(parts)})"


STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def shown(value: object) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float, str, list, dict, tuple)):
        return repr(value)
    return "..."


def lines_of_class(path: str, cls: type) -> list[str]:
    """The class and its public methods, those of base classes of its own package included."""
    if issubclass(cls, enum.Enum):
        return [path, *(f"{path}.{member}" for member in cls.__members__)]
    lines = [f"{path}{parameters(cls.__init__) if '__init__' in vars(cls) else ''}"]
    members: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("pyflink.") and not base.__name__.startswith("JavaObj"):
            members.update(vars(base))
    for name, value in sorted(members.items()):
        if not is_public(name):
            continue
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if inspect.isfunction(value):
            lines.append(f"{path}.{name}{parameters(value)}")
        elif isinstance(value, (property, int, str, float)):
            lines.append(f"{path}.{name}")
        elif inspect.isclass(value):
            lines += lines_of_class(f"{path}.{name}", value)
    return lines


def main() -> None:
    seen: set[int] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in public_names(module):
            value = getattr(module, name)
            path = f"{module_name}:{name}"
            if not inspect.isclass(value):
                signature = parameters(value) if inspect.isfunction(value) else ""
                print(f"{path}{signature}")
            elif id(value) in seen:
                print(path)  # a second address of a class whose methods stand elsewhere
            else:
                seen.add(id(value))
                print("\n".join(lines_of_class(path, value)))


if __name__ == "__main__":
    main()
