"""Numbers for Spark's grouping key, chosen so that subtask i of a stage runs in partition i.

Spark sends a row to partition ``murmur3(key) mod n``.  With the subtask's own number as the key,
two subtasks could share a partition while another stays empty.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF


def slot_ids(slots: int) -> list[int]:
    """For each subtask the key that Spark's hash puts into the partition of that number."""
    found: dict[int, int] = {}
    candidate = 0
    while len(found) < slots:
        found.setdefault(_murmur3_int(candidate) % slots, candidate)
        candidate += 1
    return [found[slot] for slot in range(slots)]


def _rotate(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def _murmur3_int(value: int, seed: int = 42) -> int:
    """Murmur3 of a 4-byte int as Spark computes it, as a signed number."""
    mixed = _rotate((value * 0xCC9E2D51) & _MASK, 15) * 0x1B873593 & _MASK
    result = (_rotate(seed ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    result ^= 4
    result = (result ^ (result >> 16)) * 0x85EBCA6B & _MASK
    result = (result ^ (result >> 13)) * 0xC2B2AE35 & _MASK
    result ^= result >> 16
    return result - (1 << 32) if result >> 31 else result
