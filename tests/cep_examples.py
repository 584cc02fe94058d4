"""The programs of examples/cep as modules, their streams, and what is expected of them."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

# by program and output
EXPECTED: dict[str, dict[str, list[Any]]] = {
    "smoke_after_heat": {
        "main": [("kitchen", 85.0, 300)],
        "calmed": ["attic was 91 degrees, and nothing followed"],
    },
    "small_then_large": {
        "main": [(1, 700.0, "small then large 1"), (2, 300.0, "small then large 1")],
    },
    "logins": {
        "main": [
            "ada logged in after 6 failures",
            "bob works without a login since the logout",
        ],
    },
    "left_carts": {"main": [("ada", "gloves"), ("cid", "scarf")]},
}


def example(repository: Path, name: str) -> ModuleType:
    """A program as a module."""
    path = repository / "examples" / "cep" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"cep_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def streams(module: ModuleType, env: StreamExecutionEnvironment | None = None) -> dict[str, Any]:
    """The outputs of a program on its own data."""
    env = env or StreamExecutionEnvironment.get_execution_environment()
    if hasattr(module, "READINGS"):
        alarms = module.build(env.from_collection(module.READINGS, module.READING))
        return {"main": alarms, "calmed": alarms.get_side_output(module.CALMED)}
    if hasattr(module, "PAYMENTS"):
        documents = env.from_collection([module.document(250.0, 1)], Types.STRING())
        payments = env.from_collection(module.PAYMENTS, module.PAYMENT)
        return {"main": module.build(payments, documents)}
    rows = getattr(module, "EVENTS", None) or module.CLICKS
    kind = getattr(module, "EVENT", None) or module.CLICK
    return {"main": module.build(env.from_collection(rows, kind))}
