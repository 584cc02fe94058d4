"""Tables of Redis: written on the local host, and asked for keys."""

from __future__ import annotations

import datetime
import decimal
import pickle
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.changes import Changes
from headrace.common.data_types import DataTypes
from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.rel.connected_tables import origin_of, target_of
from table_runs import row_type, table, write

if TYPE_CHECKING:
    from services import RedisServer

UTC = datetime.UTC
COLUMNS = row_type(
    id=DataTypes.INT(), shop=DataTypes.STRING(), price=DataTypes.DECIMAL(10, 2),
    at=DataTypes.TIMESTAMP(3), tags=DataTypes.ARRAY(DataTypes.STRING()), data=DataTypes.BYTES(),
    ok=DataTypes.BOOLEAN(),
)  # fmt: skip
FIRST = (
    1, "a:b", decimal.Decimal("1.50"), datetime.datetime(2020, 1, 2, 3, 4, 5), ["x", None],
    b"\x00\xff", True,
)  # fmt: skip


def redis(url: str, **more: Any) -> Any:
    options = {"url": url, "key-prefix": f"{uuid.uuid4().hex}:"}
    return table("redis", COLUMNS, options=options, primary_key=("id", "shop"), **more)


def test_lines_are_hashes_and_are_found_again(redis_server: RedisServer) -> None:
    definition = redis(redis_server.url)
    assert target_of(definition).accepts(Changes.ALL) == Changes.UPSERT
    second = (2, "c", *[None] * 5)
    changes = [(*FIRST, 0), (2, "c", decimal.Decimal("9.00"), *[None] * 4, 0), (*second, 2)]
    gone = (3, "d", *[None] * 5)
    write(definition, [*changes, (*gone, 0), (*gone, 3)], changes=Changes.UPSERT)
    make = origin_of(definition).lookup
    assert make is not None
    lookup = pickle.loads(pickle.dumps(make(("shop", "id"))))
    lookup.open()
    keys = [("a:b", 1), ("c", 2), ("d", 3), (None, 1)]
    assert lookup.lookup(keys) == [[FIRST], [second], [], []]
    lookup.close()


def test_what_cannot_be_is_refused() -> None:
    definition = redis("redis://127.0.0.1:9/0")
    make = origin_of(definition).lookup
    assert make is not None
    with pytest.raises(ConfigurationError, match="joined by its primary key"):
        make(("id",))
    with pytest.raises(UnsupportedStepError, match="only be asked for keys"):
        origin_of(definition).stream(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="needs a primary key"):
        target_of(table("redis", COLUMNS, options={"url": "redis://127.0.0.1:9/0"}))
