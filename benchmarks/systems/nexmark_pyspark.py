"""Nexmark's queries that Spark's own streaming can run, written by hand; noop sink.

The forms are those that run best: one shuffle partition a core, RocksDB with changelog
checkpoints for state, nothing in Python.  What Spark does not accept in one streaming query (q4,
q9, q12, q13 as of a time, q15, q16, q18, q19) is not here.  Aggregates without windows (q17) run in
update mode: one row a key and batch.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measure import arguments, measure_query, spark_session
from pyspark.sql import functions as F

from nexmark.events import AUCTION, AUCTION_FIELDS, BID, BID_FIELDS, PERSON, PERSON_FIELDS
from nexmark.queries import query_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame, SparkSession

WATERMARK = "4 seconds"
TYPES = {"int64": "bigint", "string": "string", "timestamp[ms]": "timestamp_ntz"}
KINDS = {
    "person": (PERSON, PERSON_FIELDS),
    "auction": (AUCTION, AUCTION_FIELDS),
    "bid": (BID, BID_FIELDS),
}


class Events:
    """The stream of events; each question for a kind of them is a reader of its own."""

    def __init__(self, spark: SparkSession, folder: Path, files_per_batch: int) -> None:
        self._spark, self._folder, self._files = spark, folder, files_per_batch

    def of(self, kind: str) -> DataFrame:
        """People, auctions or bids, by their own names."""
        number, fields = KINDS[kind]
        named = [(name, "dateTime" if name == "dateTime" else f"{kind}_{name}", str(type_))
                 for name, type_ in fields]  # fmt: skip
        schema = ", ".join(f"`{column}` {TYPES[type_]}" for _, column, type_ in named)
        reader = self._spark.readStream.schema(f"event_type int, {schema}")
        rows = reader.option("maxFilesPerTrigger", self._files).parquet(str(self._folder))
        rows = rows.filter(F.col("event_type") == number)
        return rows.select(*(_timed(column, type_).alias(name) for name, column, type_ in named))

    def timed(self, kind: str) -> DataFrame:
        """The same with a watermark."""
        return self.of(kind).withWatermark("dateTime", WATERMARK)


def _timed(column: str, kind: str) -> Column:
    """Watermarks need Spark's own timestamps; the session's zone is UTC, so this costs nothing."""
    found = F.col(column)
    return found.cast("timestamp") if kind == "timestamp[ms]" else found


def in_euros() -> Column:
    return F.lit("0.908").cast("decimal(3,3)") * F.col("price")


def q0(events: Events) -> DataFrame:
    return events.of("bid").select("auction", "bidder", "price", "dateTime", "extra")


def q1(events: Events) -> DataFrame:
    euros = in_euros().alias("price")
    return events.of("bid").select("auction", "bidder", euros, "dateTime", "extra")


def q2(events: Events) -> DataFrame:
    return events.of("bid").filter(F.col("auction") % 123 == 0).select("auction", "price")


def q3(events: Events) -> DataFrame:
    auctions = events.of("auction").filter("category = 10").select("id", "seller")
    people = events.of("person").filter("state IN ('OR', 'ID', 'CA')")
    people = people.select(F.col("id").alias("person"), "name", "city", "state")
    joined = auctions.join(people, F.col("seller") == F.col("person"))
    return joined.select("name", "city", "state", "id")


def q5(events: Events) -> DataFrame:
    sliding = F.window("dateTime", "10 seconds", "2 seconds")
    counts = events.timed("bid").groupBy(sliding, "auction").agg(F.count("*").alias("num"))
    # the largest of a window and whoever has it, in one aggregate instead of a join
    largest = counts.groupBy("window").agg(F.collect_list(F.struct("auction", "num")).alias("all"))
    most = F.array_max(F.transform("all", lambda one: one["num"]))
    ties = F.filter("all", lambda one: one["num"] >= F.col("most"))
    found = largest.withColumn("most", most).select(F.explode(ties).alias("one"))
    return found.select("one.auction", "one.num")


def q7(events: Events) -> DataFrame:
    tumbling = F.window("dateTime", "10 seconds")
    highest = events.timed("bid").groupBy(tumbling).agg(F.max("price").alias("highest"))
    highest = highest.select("highest", F.window_time("window").alias("ends"))
    bids = events.timed("bid").select("auction", "price", "bidder", "dateTime", "extra")
    condition = F.expr(
        "price = highest AND dateTime >= ends - INTERVAL 10 SECONDS AND dateTime <= ends"
    )
    return bids.join(highest, condition).drop("highest", "ends")


def q8(events: Events) -> DataFrame:
    tumbling = F.window("dateTime", "10 seconds")
    people = events.timed("person").groupBy(tumbling, "id", "name").agg(F.count("*").alias("n"))
    sellers = events.timed("auction").groupBy(tumbling, "seller").agg(F.count("*").alias("m"))
    sellers = sellers.withColumnRenamed("window", "window_of_seller")
    condition = F.expr("id = seller AND window = window_of_seller")
    return people.join(sellers, condition).select("id", "name", "window.start")


def q11(events: Events) -> DataFrame:
    session = F.session_window("dateTime", "10 seconds").alias("session")
    counts = events.timed("bid").groupBy("bidder", session).agg(F.count("*").alias("bids"))
    return counts.select("bidder", "bids", "session.start", "session.end")


def q14(events: Events) -> DataFrame:
    euros, hour = in_euros(), F.hour("dateTime")
    time_of_day = (
        F.when((hour >= 8) & (hour <= 18), "dayTime")
        .when((hour <= 6) | (hour >= 20), "nightTime")
        .otherwise("otherTime")
    )
    without = F.replace("extra", F.lit("c"), F.lit(""))
    bids = events.of("bid").filter((euros > 1_000_000) & (euros < 50_000_000))
    return bids.select(
        "auction", "bidder", euros.alias("price"), time_of_day.alias("time_of_day"), "dateTime",
        "extra", (F.char_length("extra") - F.char_length(without)).alias("c_count"),
    )  # fmt: skip


def q17(events: Events) -> DataFrame:
    price, one = F.col("price"), F.lit(1)
    day = F.date_format("dateTime", "yyyy-MM-dd").alias("day")
    middle = (price >= 10_000) & (price < 1_000_000)
    return events.of("bid").groupBy("auction", day).agg(
        F.count("*").alias("total_bids"),
        F.count(F.when(price < 10_000, one)).alias("rank1_bids"),
        F.count(F.when(middle, one)).alias("rank2_bids"),
        F.count(F.when(price >= 1_000_000, one)).alias("rank3_bids"),
        F.min(price).alias("min_price"), F.max(price).alias("max_price"),
        F.avg(price).cast("bigint").alias("avg_price"), F.sum(price).alias("sum_price"),
    )  # fmt: skip


def q20(events: Events) -> DataFrame:
    auctions = events.of("auction").filter("category = 10")
    auctions = auctions.withColumnsRenamed({"dateTime": "auction_time", "extra": "auction_extra"})
    return events.of("bid").join(auctions, F.col("auction") == F.col("id")).drop("id")


def q21(events: Events) -> DataFrame:
    found = F.regexp_extract("url", "(&|^)channel_id=([^&]*)", 2)
    in_url = F.when(found != "", found)  # Spark gives '' where there is no match
    channel = F.lower("channel")
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    number = F.when(channel == "apple", known["apple"])
    for name in ("google", "facebook", "baidu"):
        number = number.when(channel == name, known[name])
    bids = events.of("bid").filter(in_url.isNotNull() | channel.isin(*known))
    return bids.select(
        "auction", "bidder", "price", "channel", number.otherwise(in_url).alias("channel_id")
    )


def q22(events: Events) -> DataFrame:
    folders = [F.split("url", "/")[place].alias(f"dir{place - 2}") for place in (3, 4, 5)]
    return events.of("bid").select("auction", "bidder", "price", "channel", *folders)


QUERIES: dict[str, Callable[[Events], DataFrame]] = {
    made.__name__: made for made in (q0, q1, q2, q3, q5, q7, q8, q11, q14, q17, q20, q21, q22)
}


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    # of two inputs with a watermark each the slower one counts, as in Flink: Spark's own default
    query = query_of(options.job)
    files = max(1, options.batch // options.rows_per_file)
    frame = QUERIES[query](Events(spark, options.data / "events", files))

    def run() -> None:
        writer = frame.writeStream.format("noop").trigger(availableNow=True)
        writer = writer.outputMode("update" if query == "q17" else "append")
        writer.option(
            "checkpointLocation", str(options.scratch / "checkpoint")
        ).start().awaitTermination()

    measure_query(options, run, system="nexmark_pyspark", every_batch=True)
    spark.stop()


if __name__ == "__main__":
    main()
