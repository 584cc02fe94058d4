"""The names of SQL's own functions, for lists.  Next: scalars/functions/registry.py"""

from __future__ import annotations


def built_in_functions() -> list[str]:
    """All names that users can write in a call."""
    from headrace.scalars.aggregate_rules import aggregate_names
    from headrace.scalars.functions.registry import all_entries

    found = {
        name.lower()
        for name, entry in all_entries().items()
        if not entry.internal and name[0].isalpha() and " " not in name
    }
    return sorted(found | {name.lower() for name in aggregate_names()})
