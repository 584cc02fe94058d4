"""DynamicKafkaSource without a broker: refusals, and clusters that follow what a service says."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest

from golden.compare import assert_golden
from headrace.common import SimpleStringSchema
from headrace.connectors.kafka import source as kafka_source
from headrace.connectors.kafka.dynamic.clusters import merged
from headrace.datastream.connectors.dynamic_kafka import (
    ClusterMetadata,
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    KafkaStream,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaTopicPartition
from headrace.errors import ConnectorError, HeadraceError, UserFunctionError
from headrace.hosts.admission import initial_position, latest_position, ranges_between

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Set

LATEST = KafkaOffsetsInitializer.latest()


class Registry(KafkaMetadataService):
    """A service of a user's: streams and where they are, in a table that tests change."""

    def __init__(self) -> None:
        self.streams: dict[str, dict[str, set[str]]] = {}
        self.inactive: set[str] = set()
        self.broken = False
        self.closed = False

    def put(self, stream: str, **topics_by_cluster: set[str]) -> None:
        self.streams[stream] = topics_by_cluster

    def get_all_streams(self) -> Set[KafkaStream]:
        return set(self.describe_streams(self.streams).values())

    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        if self.broken:
            raise OSError("registry is down")
        return {
            stream: KafkaStream(
                stream,
                {
                    name: ClusterMetadata(topics, {"bootstrap.servers": f"{name}:9"})
                    for name, topics in self.streams[stream].items()
                },
            )
            for stream in stream_ids
            if stream in self.streams
        }

    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        return kafka_cluster_id not in self.inactive

    def close(self) -> None:
        self.closed = True


class FakePlanner:
    """Clusters in a dict: bootstrap servers -> topic -> records in each of two partitions."""

    clusters: dict[str, dict[str, int]] = {}  # noqa: RUF012 - each test has its own

    def __init__(self, settings: Any, subscription: Any) -> None:
        self.name = settings.bootstrap
        self.subscription = subscription
        self.committed: dict[Any, int] = {}

    def subscribe(self, subscription: Any) -> None:
        self.subscription = subscription

    def _topics(self) -> dict[str, int]:
        if self.name not in self.clusters:
            raise ConnectorError(f"{self.name} is away", fix="start it")
        return self.clusters[self.name]

    def partitions(self) -> list[KafkaTopicPartition]:
        there = self._topics()
        return [
            KafkaTopicPartition(t, n)
            for t in self.subscription.topics
            if t in there
            for n in (0, 1)
        ]

    def ends(self, partitions: Iterable[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        return {partition: self._topics()[partition.topic] for partition in partitions}

    def offsets(self, initializer: Any, partitions: Any) -> dict[KafkaTopicPartition, int]:
        latest = initializer.kind == "latest"
        return {p: end if latest else 0 for p, end in self.ends(partitions).items()}

    def gone(self, positions: Any) -> None:
        assert not any(map(self.subscription.takes, positions))

    def close(self) -> None:
        pass


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {"east:9": {"a": 5, "b": 7}, "west:9": {"a": 2}}
    monkeypatch.setattr(FakePlanner, "clusters", found)
    monkeypatch.setattr(kafka_source, "Planner", FakePlanner)
    return found


def builder(service: KafkaMetadataService | None = None) -> DynamicKafkaSourceBuilder:
    return (
        DynamicKafkaSource.builder()
        .set_kafka_metadata_service(service or Registry())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_property("stream-metadata-discovery-interval-ms", "1")
        .set_property("partition.discovery.interval.ms", "1")
    )


def following(registry: Registry, *streams: str, **settings: Any) -> DynamicKafkaSource:
    made = builder(registry)
    for key, value in settings.items():
        made.set_property(key.replace("_", "-"), value)
    source = made.set_stream_ids(set(streams)).build()
    source.open()
    source._settings.__dict__["discovery_s"] = 0.0  # at every question
    return source


# --- what a service says -------------------------------------------------------------------------


def test_splits_are_named_by_cluster_topic_and_partition(clusters: Any) -> None:
    registry = Registry()
    registry.put("orders", east={"a", "b"}, west={"a"})
    source = following(registry, "orders")
    start = initial_position(source)
    assert sorted(start) == [
        *("east/a-0", "east/a-1", "east/b-0", "east/b-1", "west/a-0", "west/a-1"),
    ]
    latest = latest_position(source, start)
    assert (latest["east/b-1"], latest["west/a-0"]) == (7, 2)
    source.close()
    assert registry.closed


def test_topics_and_clusters_may_come_and_go_and_come_back(clusters: Any) -> None:
    registry = Registry()
    registry.put("orders", east={"a"})
    source = following(registry, "orders")
    position = latest_position(source, initial_position(source))
    assert position == {"east/a-0": 5, "east/a-1": 5}

    registry.put("orders", east={"b"}, west={"a"})
    later = latest_position(source, position)
    assert later == {"east/b-0": 0, "east/b-1": 0, "west/a-0": 0, "west/a-1": 0}
    position = {**position, **later}
    resting = [split for split, low, _ in ranges_between(source, position, position) if low is None]
    assert resting == ["east/a-0", "east/a-1"]  # event time does not wait for them

    registry.put("orders", east={"a"})
    clusters["east:9"]["a"] = 6
    back = latest_position(source, position)
    assert back == {"east/a-0": 6, "east/a-1": 6}
    ranges = {
        split: (low, high)
        for split, low, high in ranges_between(source, position, {**position, **back})
    }
    assert ranges["east/a-0"] == (5, 6)
    assert ranges["west/a-0"] == (None, None)


def test_a_new_cluster_begins_as_the_builder_says_and_a_new_topic_at_its_first_record(
    clusters: Any,
) -> None:
    registry = Registry()
    registry.put("orders", east={"a"})
    source = builder(registry).set_stream_ids({"orders"}).set_starting_offsets(LATEST).build()
    source.open()
    source._settings.__dict__["discovery_s"] = 0.0
    position = initial_position(source)
    assert position == {"east/a-0": 5, "east/a-1": 5}
    latest_position(source, position)
    registry.put("orders", east={"a", "b"}, west={"a"})
    found = latest_position(source, position)
    assert (found["east/b-0"], found["west/a-0"]) == (0, 2)


def test_a_cluster_may_have_offsets_of_its_own(clusters: Any) -> None:
    class Own(Registry):
        def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
            place = {"bootstrap.servers": "east:9"}
            return {
                "orders": KafkaStream("orders", {"east": ClusterMetadata({"a"}, place, LATEST)})
            }

    source = builder(Own()).set_stream_ids({"orders"}).build()
    assert initial_position(source) == {"east/a-0": 5, "east/a-1": 5}


def test_other_properties_of_a_cluster_are_followed(clusters: Any) -> None:
    moved: list[str] = []

    class Moving(Registry):
        def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
            place = {"bootstrap.servers": "west:9" if moved else "east:9"}
            return {"orders": KafkaStream("orders", {"main": ClusterMetadata({"a"}, place)})}

    source = builder(Moving()).set_stream_ids({"orders"}).build()
    source.open()
    source._settings.__dict__["discovery_s"] = 0.0
    start = initial_position(source)
    assert latest_position(source, start)["main/a-0"] == 5
    moved.append("yes")
    assert latest_position(source, start)["main/a-0"] == 2


def test_a_service_may_fail_as_often_as_is_said(clusters: Any, caplog: Any) -> None:
    registry = Registry()
    registry.put("orders", west={"a"})
    source = following(registry, "orders", stream_metadata_discovery_failure_threshold="2")
    start = initial_position(source)
    registry.broken = True
    for _ in range(2):
        assert latest_position(source, start)["west/a-0"] == 2
    assert "its last answer holds" in caplog.text
    with pytest.raises(UserFunctionError, match="registry is down"):
        latest_position(source, start)


def test_a_service_that_fails_at_the_start_fails_the_job(clusters: Any) -> None:
    registry = Registry()
    registry.broken = True
    with pytest.raises(UserFunctionError, match="registry is down"):
        initial_position(following(registry, "orders"))


def test_a_cluster_that_is_away_fails_the_job_unless_it_is_not_active(clusters: Any) -> None:
    registry = Registry()
    registry.put("orders", east={"a"}, west={"a"})
    source = following(registry, "orders")
    start = initial_position(source)
    clusters.pop("west:9")
    with pytest.raises(ConnectorError, match="west:9 is away"):
        latest_position(source, start)
    registry.inactive.add("west")
    found = latest_position(source, start)
    assert (found["east/a-0"], found.get("west/a-0", 0)) == (5, 0)


def test_a_bounded_source_says_that_a_cluster_is_gone_before_its_end(clusters: Any) -> None:
    registry = Registry()
    registry.put("orders", east={"a"}, west={"a"})

    def opened() -> DynamicKafkaSource:
        source = builder(registry).set_stream_ids({"orders"}).set_bounded(LATEST).build()
        source.open()
        return source

    start = initial_position(opened())
    assert start["west/a-0"] == [0, 2]
    done = dict(latest_position(opened(), start))
    assert opened().is_exhausted(done)
    registry.put("orders", east={"a"})
    latest_position(opened(), done)
    with pytest.raises(ConnectorError, match="was not read to its end"):
        latest_position(opened(), start)


def test_a_range_of_a_cluster_that_nobody_names_cannot_be_read(clusters: Any) -> None:
    registry = Registry()
    registry.put("orders", east={"a"})
    source = builder(registry).set_stream_ids({"orders"}).build()
    worker: DynamicKafkaSource = cloudpickle.loads(cloudpickle.dumps(source))
    with pytest.raises(ConnectorError, match="does not name any more"):
        worker.read_columns("west/a-0", 0, 1)


def test_a_worker_still_reads_what_was_planned_before_a_cluster_was_taken_away(
    clusters: Any,
) -> None:
    registry = Registry()
    registry.put("orders", east={"a"}, west={"a"})
    source = following(registry, "orders")
    known = source._opened()
    before = known.source_of("west")
    registry.put("orders", east={"a"})
    known.refresh()
    assert "west" not in known.active()
    assert known.source_of("west") is before


# --- subscribers and services --------------------------------------------------------------------


def test_streams_are_chosen_by_name_by_pattern_and_by_a_rule_of_the_users() -> None:
    registry = Registry()
    for stream in ("log-a", "log-b", "catalog"):
        registry.put(stream, east={stream})

    class Longest(KafkaStreamSubscriber):
        def get_subscribed_streams(
            self, kafka_metadata_service: KafkaMetadataService
        ) -> Set[KafkaStream]:
            every = kafka_metadata_service.get_all_streams()
            return {max(every, key=lambda stream: len(stream.stream_id))}

    def names(subscriber: KafkaStreamSubscriber) -> list[str]:
        return sorted(s.stream_id for s in subscriber.get_subscribed_streams(registry))

    assert names(KafkaStreamSetSubscriber({"log-a"})) == ["log-a"]
    assert names(StreamPatternSubscriber("log")) == ["catalog", "log-a", "log-b"]
    assert names(StreamPatternSubscriber("^log-.$")) == ["log-a", "log-b"]
    assert names(Longest()) == ["catalog"]
    made = builder().set_kafka_stream_subscriber(Longest()).build()
    assert made.describe() == "DynamicKafkaSource(Longest)"
    assert builder().set_stream_pattern("^l").build().describe() == "DynamicKafkaSource(/^l/)"


def test_streams_of_one_cluster_are_read_together() -> None:
    place = {"bootstrap.servers": "east:9"}
    first = KafkaStream("1", {"east": ClusterMetadata({"a"}, place)})
    second = KafkaStream("2", {"east": ClusterMetadata({"b"}, dict(place))})
    assert merged({first, second})["east"].topics == {"a", "b"}
    other = KafkaStream("3", {"east": ClusterMetadata({"b"}, {"bootstrap.servers": "x:9"})})
    with pytest.raises(ConnectorError, match="different properties") as caught:
        merged([first, other])
    assert caught.value.fix
    with pytest.raises(ConnectorError, match="among its streams"):
        merged(["orders"])  # type: ignore[list-item]


def test_properties_of_the_service_count_more_and_secrets_stay_hidden() -> None:
    secret = {"bootstrap.servers": "b:9", "sasl.password": "geheim", "group.id": "theirs"}

    class Secured(Registry):
        def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
            return {"s": KafkaStream("s", {"c": ClusterMetadata({"t"}, secret)})}

    source = builder(Secured()).set_stream_ids({"s"}).set_group_id("mine").build()
    client = source._opened().active()["c"].settings.client
    assert client.librdkafka["group.id"] == "theirs"
    assert client.client_prefix == "headrace-c"
    assert "geheim" not in repr(ClusterMetadata({"t"}, secret))
    assert "geheim" not in repr(source._opened().active()["c"].settings)


def test_the_description_travels() -> None:
    service = SingleClusterTopicMetadataService("one", {"bootstrap.servers": "b:9"})
    source = builder(service).set_stream_ids({"b", "a"}).build()
    copied = pickle.loads(cloudpickle.dumps(source))
    assert copied.describe() == "DynamicKafkaSource(a, b)"
    assert not copied.is_bounded()
    assert copied.has_splits()
    assert service.is_cluster_active("one")
    assert not service.is_cluster_active("two")


REFUSED: dict[str, Any] = {
    "nothing to read": lambda: builder().build(),
    "no service": lambda: DynamicKafkaSource.builder().set_stream_ids({"a"}).build(),
    "no deserializer": lambda: (
        DynamicKafkaSource.builder()
        .set_stream_ids({"a"})
        .set_kafka_metadata_service(Registry())
        .build()
    ),
    "two subscriptions": lambda: builder().set_stream_ids({"a"}).set_stream_pattern("a"),
    "a text for a set": lambda: builder().set_stream_ids("clicks"),  # type: ignore[arg-type]
    "bad pattern": lambda: builder().set_stream_pattern("a("),
    "no subscriber": lambda: builder().set_kafka_stream_subscriber({"a"}),  # type: ignore[arg-type]
    "a service that is none": lambda: builder().set_kafka_metadata_service("east:9"),  # type: ignore[arg-type]
    "no record schema": lambda: builder().set_deserializer(SimpleStringSchema()),  # type: ignore[arg-type]
    "retention": lambda: (
        builder().set_stream_ids({"a"}).set_property("removed-splits-retention-ms", "1").build()
    ),
    "enumerator": lambda: (
        builder().set_stream_ids({"a"}).set_property("stream-enumerator-mode", "global").build()
    ),
    "interval": lambda: (
        builder()
        .set_stream_ids({"a"})
        .set_property("stream-metadata-discovery-interval-ms", "1 s")
        .build()
    ),
    "no topics": lambda: ClusterMetadata("clicks", {"bootstrap.servers": "b:9"}),  # type: ignore[arg-type]
    "no cluster": lambda: SingleClusterTopicMetadataService("", {"bootstrap.servers": "b:9"}),
    "no brokers": lambda: initial_position(builder(Homeless()).set_stream_ids({"a"}).build()),
}


class Homeless(Registry):
    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        return {"a": KafkaStream("a", {"east": ClusterMetadata({"a"}, {})})}


def test_refusals_say_what_to_do_as_in_the_golden_file() -> None:
    told = []
    for name, make in REFUSED.items():
        with pytest.raises(HeadraceError) as caught:
            make()
        assert caught.value.fix, name
        told.append(f"{name}:\n{caught.value}\n")
    assert_golden("errors/kafka_dynamic_source.txt", "\n".join(told))
