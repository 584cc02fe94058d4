"""What a batch writes into the state store, by size of value; without Spark.

In: nothing, or --mb and --sizes.  Out: a table.  One table of state, filled in ten batches of new
keys that are spread over all pages; then batches change keys that are there.  `written` is bytes
handed to the store over bytes of the values that are new or changed: 1.0 is the least possible.
"""

from __future__ import annotations

import argparse
import random
import time

from headrace.runtime.pages.cells import Memory
from headrace.runtime.pages.store import DictStore
from headrace.runtime.pages.table import PagedTable

SIZES = (8, 100, 1_000, 10_000, 1_000_000)
BATCHES = 10
MOST_KEYS = 500_000


class CountingStore(DictStore):
    """Also counts bytes."""

    read_bytes = written_bytes = 0

    def get(self, key: bytes) -> bytes | None:
        found = super().get(key)
        self.read_bytes += len(found or b"")
        return found

    def put(self, key: bytes, content: bytes) -> None:
        super().put(key, content)
        self.written_bytes += len(content)

    def start_counting(self) -> None:
        self.reads = self.writes = self.read_bytes = self.written_bytes = 0

    def row(self, what: str, changed: int, seconds: float) -> str:
        return (
            f"{what:<22}{self.written_bytes / changed:>9.2f}{self.read_bytes / changed:>9.2f}"
            f"{self.writes:>9,}{self.reads:>9,}{seconds:>9.2f}"
        )


def measure(size: int, keys: int, share: float) -> None:
    store, chance = CountingStore(), random.Random(size)
    table = PagedTable(store, "t", memory=Memory(64 << 20, 24 << 20))
    order = chance.sample(range(keys), keys)
    each = keys // BATCHES
    for batch in range(BATCHES):
        seconds = run(store, table, order[batch * each : (batch + 1) * each], size, chance)
        if batch in (1, BATCHES - 1):
            print(store.row(f"new, batch {batch + 1}", each * size, seconds))
    some = max(1, int(keys * share))
    for _ in range(3):
        seconds = run(store, table, chance.sample(range(keys), some), size, chance)
    print(store.row(f"changed, {some:,}", some * size, seconds))
    stored = sum(len(name) + len(content) for name, content in store.content.items())
    print(f"{'stored over values':<22}{stored / keys / size:>9.2f}")


def run(
    store: CountingStore, table: PagedTable, keys: list[int], size: int, chance: random.Random
) -> float:
    store.start_counting()
    began = time.process_time()
    table.read_ahead(keys)
    for key in keys:
        table.get(key)
        table.put(key, chance.randbytes(size))
    table.flush()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=100, help="bytes of values in the table")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--share", type=float, default=0.05, help="of the keys that change a batch")
    options = parser.parse_args()
    for size in map(int, options.sizes.split(",")):
        keys = min(MOST_KEYS, options.mb * 1_000_000 // size)
        print(f"\n{keys:,} keys of {size:,} bytes; per batch:")
        print(f"{'':<22}{'written':>9}{'read':>9}{'puts':>9}{'gets':>9}{'CPU s':>9}")
        measure(size, keys, options.share)


if __name__ == "__main__":
    main()
