"""Rows as dict keys, and copies that do not share their values."""

from __future__ import annotations

import copy

from headrace.common import Row


def test_rows_that_are_equal_in_another_field_order_hash_alike() -> None:
    first, second = Row(a=1, b="x"), Row(b="x", a=1)
    assert first == second
    assert {first: 1}[second] == 1


def test_a_copy_does_not_share_its_values() -> None:
    row = Row(a=1)
    copied = copy.copy(row)
    copied["a"] = 2
    assert row["a"] == 1
