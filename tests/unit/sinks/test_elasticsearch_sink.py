"""What the Elasticsearch sink writes, on OpenSearch, Elasticsearch and a server in memory."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import os
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bulk_server import BulkServer
from flaky_proxy import FlakyProxy
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind
from headrace.datastream.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
    RejectedDocument,
)
from headrace.errors import ConnectorError, TypeMismatchError
from headrace.testing.connectors import SinkContract, SinkDriver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.spi.sink import Sink
    from search_servers import SearchServer

# The first test on a machine brings the servers.
pytestmark = pytest.mark.timeout(1500)

# With the process: a server of the user's own remembers earlier runs.
_indices = (f"headrace-test-{os.getpid()}-{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def memory() -> Iterator[BulkServer]:
    with BulkServer() as server:
        yield server


@pytest.fixture(params=["memory", "opensearch", "elasticsearch"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def index() -> str:
    return next(_indices)


def builder(url: str, emitter: ElasticsearchEmitter) -> Elasticsearch7SinkBuilder:
    return Elasticsearch7SinkBuilder().set_hosts(url).set_emitter(emitter)


def keyed(url: str, index: str) -> Sink:
    return builder(url, ElasticsearchEmitter.static_index(index, key_field="id")).build()


class _ById(SinkContract):
    """The promises of ids: a batch that is repeated, by whomever, is there once."""

    # Workers write while the batch runs; there is nothing left to commit.
    test_a_batch_is_visible_as_a_whole_and_not_before_its_commit = None  # type: ignore[assignment]
    # A batch id decides nothing, ids of documents do; a repeated batch is made of the same records.
    test_a_batch_that_comes_twice_changes_nothing = None  # type: ignore[assignment]
    test_batches_without_records = None  # type: ignore[assignment]
    test_a_batch_older_than_the_newest_is_refused = None  # type: ignore[assignment]
    # What came before the bad record is there, and is written again.
    test_bad_records_are_told_and_nothing_is_lost = None  # type: ignore[assignment]

    @pytest.fixture(autouse=True)
    def target(self, server: Any, index: str) -> None:
        self.server = server
        self.index = index

    def make_sink(self) -> Sink:
        return keyed(self.server.url, self.index)

    def record(self, n: int) -> Any:
        return {"id": n, "n": n}

    def stored(self) -> list[int]:
        return [document["n"] for document in self.server.documents(self.index).values()]

    def test_the_same_batch_again_changes_nothing(self) -> None:
        job = self._job()
        job.run(0, self._records(0, 3))
        for _ in range(2):
            job.run(1, self._records(3, 6), self._records(6, 7))
            job.restart()
        self._expect(range(7), "the same records again")


class TestById(_ById):
    pass


class TestCreatedById(_ById):
    """Documents that are never changed: what is there already is no error."""

    def make_sink(self) -> Sink:
        index = self.index
        emitter = ElasticsearchEmitter.actions(
            lambda r: {"_op_type": "create", "_index": index, "_id": r["id"], "_source": r}
        )
        return builder(self.server.url, emitter).build()


class Order(NamedTuple):
    id: int
    amount: float


def test_a_key_merges_fields_into_the_document(server: Any, index: str) -> None:
    job = SinkDriver(keyed(server.url, index))
    job.run(0, [{"id": "1", "a": 1, "b": 1}, {"id": "x/ü", "a": 2}, {"id": "1", "b": 2}])
    job.run(1, [{"id": "1", "c": 3}])
    assert server.documents(index) == {
        "1": {"id": "1", "a": 1, "b": 2, "c": 3},
        "x/ü": {"id": "x/ü", "a": 2},
    }


def test_without_a_key_the_server_makes_ids(server: Any, index: str) -> None:
    job = SinkDriver(builder(server.url, ElasticsearchEmitter.static_index(index)).build())
    job.run(0, [{"n": 1}, {"n": 2}])
    job.run(0, [{"n": 1}, {"n": 2}])  # a repeated batch: at least once, and no better
    assert sorted(d["n"] for d in server.documents(index).values()) == [1, 1, 2, 2]


def test_each_record_names_its_index(server: Any, index: str) -> None:
    emitter = ElasticsearchEmitter.dynamic_index("to", key_field="id")
    job = SinkDriver(builder(server.url, emitter).build())
    job.run(0, [{"to": f"{index}-a", "id": 1}, {"to": f"{index}-b", "id": 1, "x": 5}])
    assert server.documents(f"{index}-a") == {"1": {"to": f"{index}-a", "id": 1}}
    assert server.documents(f"{index}-b") == {"1": {"to": f"{index}-b", "id": 1, "x": 5}}


def test_a_changelog_is_followed_by_key(server: Any, index: str) -> None:
    insert, before, after, delete = RowKind
    job = SinkDriver(keyed(server.url, index))
    job.run(0, [Row(id=1, n="a"), Row(id=2, n="b"), Row(id=3, n="c")])
    changes = [
        Row.of_kind(before, id=1, n="a"),
        Row.of_kind(after, id=1, n="A"),
        Row.of_kind(delete, id=2, n="b"),
        Row.of_kind(delete, id=77, n="never there"),
        Row.of_kind(insert, id=4, n="d"),
    ]
    for _ in range(2):
        job.run(1, changes)
        found = server.documents(index)
        assert {key: found[key]["n"] for key in sorted(found)} == {"1": "A", "3": "c", "4": "d"}


def test_rows_tuples_and_named_tuples_have_fields(server: Any, index: str) -> None:
    typed = Types.ROW_NAMED(["id", "amount"], [Types.LONG(), Types.DOUBLE()])
    job = SinkDriver(keyed(server.url, index))
    job.run(0, [Order(1, 2.5)])
    job.run(1, [Row(2, 3.5), (3, 4.5)], type_info=typed)
    found = server.documents(index)
    assert {key: found[key]["amount"] for key in sorted(found)} == {"1": 2.5, "2": 3.5, "3": 4.5}


def test_values_that_json_does_not_know(server: Any, index: str) -> None:
    one = uuid.uuid4()
    values = {
        "at": dt.datetime(2026, 1, 2, 3, 4, 5),
        "price": decimal.Decimal("1.10"),
        "data": b"\x00",
        "who": one,
        "tags": ("a", "b"),
    }
    SinkDriver(keyed(server.url, index)).run(0, [{"id": one, **values}])
    assert server.documents(index) == {
        str(one): {
            "id": str(one),
            "at": "2026-01-02T03:04:05",
            "price": 1.1,
            "data": "AA==",
            "who": str(one),
            "tags": ["a", "b"],
        }
    }


def test_a_function_makes_any_actions(server: Any, index: str) -> None:
    def actions(record: tuple[str, int]) -> Any:
        what, n = record
        place = {"_index": index, "_id": n}
        return {
            "put": {**place, "_source": {"n": n}},
            "change": {"_op_type": "update", **place, "doc": {"m": -n}},
            "drop": [{"_op_type": "delete", **place}],
            "nothing": None,
        }[what]

    job = SinkDriver(builder(server.url, ElasticsearchEmitter.actions(actions)).build())
    records = [("put", 1), ("put", 2), ("nothing", 9), ("change", 1), ("drop", 2), ("put", 3)]
    for _ in range(2):
        job.run(0, records)
        assert server.documents(index) == {"1": {"n": 1, "m": -1}, "3": {"n": 3}}


def test_an_older_version_does_not_replace_a_newer_one(server: Any, index: str) -> None:
    emitter = ElasticsearchEmitter.actions(
        lambda r: {
            "_index": index,
            "_id": "one",
            "_source": {"n": r},
            "version": r,
            "version_type": "external",
        }
    )
    job = SinkDriver(builder(server.url, emitter).build())
    for batch in ([3], [5], [3], [5], [4]):
        job.run(0, batch)
    assert server.documents(index) == {"one": {"n": 5}}


# what the server refuses


def test_a_document_that_does_not_fit_its_mapping_fails_the_batch(server: Any, index: str) -> None:
    job = SinkDriver(keyed(server.url, index))
    job.run(0, [{"id": "1", "n": 1}])
    with pytest.raises(ConnectorError) as caught:
        job.run(1, [{"id": "2", "n": 2}, {"id": "bad", "n": "four"}, {"id": "3", "n": 3}])
    told = str(caught.value)
    for part in (repr(index), "document 'bad'", "status 400", "mapper_parsing_exception"):
        assert part in told
    assert "failed to parse field [n]" in told
    assert "{'id': 'bad', 'n': 'four'}" in told
    assert server.url in str(caught.value.where)
    assert "set_rejected_document_handler" in str(caught.value.fix)
    # The program was mended: the batch comes again.
    job.restart()
    job.run(1, [{"id": "2", "n": 2}, {"id": "3", "n": 3}])
    assert sorted(server.documents(index)) == ["1", "2", "3"]


def test_refused_documents_go_to_the_handler(server: Any, index: str) -> None:
    dead = f"{index}-dead"

    def to_dead_letters(refused: RejectedDocument) -> Any:
        if refused.document["n"] == "nobody wants it":
            return None
        words = {"why": refused.error_type, "status": refused.status, "index": refused.index}
        return {"_index": dead, "_id": refused.id, "_source": words}

    emitter = ElasticsearchEmitter.static_index(index, key_field="id")
    sink = builder(server.url, emitter).set_rejected_document_handler(to_dead_letters).build()
    job = SinkDriver(sink)
    job.run(0, [{"id": "1", "n": 1}])
    for _ in range(2):
        wrong = [{"id": "x", "n": "four"}, {"id": "y", "n": "nobody wants it"}]
        job.run(1, [*wrong, {"id": "2", "n": 2}])
        assert sorted(server.documents(index)) == ["1", "2"]
        letter = {"why": "mapper_parsing_exception", "status": 400, "index": index}
        assert server.documents(dead) == {"x": letter}


def test_what_is_written_instead_may_be_refused_too(server: Any, index: str) -> None:
    def back_to_the_same(refused: RejectedDocument) -> Any:
        return {"_index": index, "_id": "again", "_source": refused.document}

    emitter = ElasticsearchEmitter.static_index(index, key_field="id")
    sink = builder(server.url, emitter).set_rejected_document_handler(back_to_the_same).build()
    job = SinkDriver(sink)
    job.run(0, [{"id": "1", "n": 1}])
    with pytest.raises(ConnectorError, match="document 'again'"):
        job.run(1, [{"id": "2", "n": "two"}])


def test_an_update_of_what_is_not_there_is_refused(server: Any, index: str) -> None:
    emitter = ElasticsearchEmitter.actions(
        lambda r: {"_op_type": "update", "_index": index, "_id": r, "doc": {"n": 1}}
    )
    SinkDriver(keyed(server.url, index)).run(0, [{"id": "there"}])
    with pytest.raises(ConnectorError, match="document_missing_exception"):
        SinkDriver(builder(server.url, emitter).build()).run(0, ["there", "not there"])


# connections


@pytest.mark.parametrize("deliver", [False, True], ids=["lost", "answer lost"])
def test_a_connection_that_breaks_at_any_moment(
    opensearch: SearchServer, index: str, deliver: bool
) -> None:
    with FlakyProxy(opensearch.port) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        emitter = ElasticsearchEmitter.static_index(index, key_field="id")
        sink = builder(url, emitter).set_bulk_flush_max_actions(2)
        sink.set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 4, 10)
        job = SinkDriver(sink.build())
        for moment in range(10):  # five requests a batch
            proxy.cut_at(moment, deliver=deliver)
            job.run(moment, [{"id": 9 * moment + n, "batch": moment} for n in range(9)])
            proxy.heal()
        found = opensearch.documents(index)
    assert sorted(d["id"] for d in found.values()) == list(range(90))
    assert all(d["batch"] == d["id"] // 9 for d in found.values())
    assert proxy.cuts >= 5


# records


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (5, "the record 5 has no fields"),
        ({"idd": 1}, "has no field 'id'; did you mean 'idd'?"),
        ({"n": 1}, "has no field 'id'"),
        ({"id": None}, "field 'id' of the record {'id': None} is None"),
        ({"id": 1, "x": object()}, "has no JSON form"),
        ({"id": 1, "x": float("nan")}, "has no JSON form"),
        ({"id": 1, "x": "\ud800"}, "has no JSON form"),
    ],
)
def test_what_is_no_document_is_told(memory: BulkServer, record: Any, message: str) -> None:
    job = SinkDriver(keyed(memory.url, "never"))
    with pytest.raises(TypeMismatchError) as caught:
        job.run(0, [record])
    assert message in str(caught.value)
    assert caught.value.where
    assert caught.value.fix
    assert memory.documents("never") == {}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (5, "it is of type int, not dict"),
        ("text", "it is of type str, not dict"),
        ({"_source": {}}, "its _index is None"),
        ({"_index": "i"}, "its _source is None, not a dict"),
        ({"_index": "i", "_source": [1]}, "its _source is [1], not a dict"),
        ({"_index": "i", "_source": {}, "_id": None}, "its _id is None"),
        ({"_index": "i", "_source": {}, "_idd": 1}, "index has no '_idd'; did you mean '_id'?"),
        ({"_index": "i", "_source": {}, "doc": {}}, "index has no 'doc'"),
        ({"_op_type": "upsert", "_index": "i"}, "'upsert' is none of index, create"),
        ({"_op_type": ["index"], "_index": "i"}, "is none of index, create"),
        ({"_op_type": "update", "_index": "i", "doc": {}}, "update needs an _id"),
        ({"_op_type": "update", "_index": "i", "_id": 1}, "update needs doc or script"),
        ({"_op_type": "delete", "_index": "i"}, "delete needs an _id"),
    ],
)
def test_what_is_no_action_is_told(memory: BulkServer, action: Any, message: str) -> None:
    job = SinkDriver(builder(memory.url, ElasticsearchEmitter.actions(lambda r: action)).build())
    with pytest.raises(TypeMismatchError) as caught:
        job.run(0, ["record"])
    assert message in str(caught.value)
    assert "_op_type" in str(caught.value.fix)


def test_rows_that_take_back_need_a_key(memory: BulkServer) -> None:
    job = SinkDriver(builder(memory.url, ElasticsearchEmitter.static_index("never")).build())
    with pytest.raises(TypeMismatchError, match="kind -D, but without a key"):
        job.run(0, [Row.of_kind(RowKind.DELETE, id=1)])
