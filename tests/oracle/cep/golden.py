"""Flink's answers for some cases, kept in golden.jsonl with the cases they belong to.

python -m oracle.cep.golden        # from tests/: asks Flink for all of them, and writes the file
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from oracle.cep import flink
from oracle.cep.cases import cases

if TYPE_CHECKING:
    from oracle.cep.cases import Case, Json

FILE = Path(__file__).resolve().parent / "golden.jsonl"
ASKED = 1500
# what is kept of each sort: cases without a result say least
KEPT = {"failed": 8, "refused": 20, "empty": 20, "results": 330}


def read() -> list[tuple[Case, Json]]:
    """The stored cases with Flink's answers."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [(entry["case"], entry["flink"]) for entry in map(json.loads, lines)]


def main() -> None:
    """Ask, choose and write."""
    asked = cases(0, ASKED)
    room = dict(KEPT)
    lines = []
    for case, found in zip(asked, flink.ask(asked), strict=True):
        kind = next((k for k in ("failed", "refused") if k in found), None)
        if kind is None:
            kind = "results" if any(entry[0] != "late" for entry in found["log"]) else "empty"
        if room[kind] > 0 and len(json.dumps(found)) < 3000:
            room[kind] -= 1
            lines.append(json.dumps({"case": case, "flink": found}, separators=(",", ":")))
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {len(lines)} cases")


if __name__ == "__main__":
    main()
