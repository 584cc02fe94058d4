"""Every option has a reader in the code, or says why it has none."""

from __future__ import annotations

import ast

from headrace.common.config_options import Effect
from headrace.common.option_families import FAMILIES
from headrace.common.options import OPTIONS
from source_files import PACKAGE, place, source_files, tell

AT = place(PACKAGE / "common" / "options.py", 1)
# They declare options, or remember them under PyFlink's names: neither does anything with them.
NO_READERS = {
    PACKAGE / "common" / "options.py",
    PACKAGE / "common" / "cluster_options.py",
    PACKAGE / "common" / "security_options.py",
    PACKAGE / "common" / "option_families.py",
    PACKAGE / "common" / "table_options.py",
    PACKAGE / "common" / "execution_config.py",
    PACKAGE / "datastream" / "checkpoint_config.py",
}
# Calls that only write a setting.
WRITES = {"_set", "_append", "set_string"}


def _text(node: ast.AST, names: dict[str, str]) -> str | None:
    """The text that an expression of literals, constants of the module and `+` stands for."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _text(node.left, names), _text(node.right, names)
        return None if None in parts else f"{parts[0]}{parts[1]}"
    return None


def _constants(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = (
                zip(target.elts, node.value.elts, strict=True)
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [(target, node.value)]
            )
            for name, value in pairs:
                text = _text(value, found)
                if isinstance(name, ast.Name) and text is not None:
                    found[name.id] = text
    return found


def _read_in(tree: ast.Module) -> set[str]:
    names = _constants(tree)
    written = {
        id(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.args
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITES
    }
    texts = {_text(node, names) for node in ast.walk(tree) if id(node) not in written}
    return {text for text in texts if text in OPTIONS}


def test_an_option_that_acts_has_a_reader() -> None:
    files = [file for file in source_files() if file.path not in NO_READERS]
    read = {key for file in files for key in _read_in(file.tree)}
    tell(
        f"{AT} {option.key} acts, and nobody reads it (read it, or say why it has no effect)"
        for option in OPTIONS.values()
        if option.effect is Effect.ACTS and option.key not in read
    )


def test_a_call_that_writes_a_setting_is_no_reader() -> None:
    assert _read_in(ast.parse('self._set("pipeline.jars", 1)')) == set()
    assert _read_in(ast.parse('P = "pipeline."\nget(P + "jars")')) == {"pipeline.jars"}


def test_what_does_not_act_says_why() -> None:
    tell(
        f"{AT} {option.key} is {option.effect.name} (give it a why unless it acts, and an instead"
        " only if it is refused)"
        for option in (*OPTIONS.values(), *FAMILIES)
        if bool(option.why) != (option.effect is not Effect.ACTS)
        or bool(option.instead) != (option.effect is Effect.REFUSED)
    )
