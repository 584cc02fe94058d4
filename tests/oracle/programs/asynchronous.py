"""AsyncDataStream: order, watermarks, timestamps, timeouts, repeated requests."""

from __future__ import annotations

from oracle.catalogue import program


def all_in_one_order(record):
    """For `order_by`: the order of all records counts."""
    return 0


@program(inputs="small_ints", parallelism=1, order_by=all_in_one_order)
def async_ordered(api, env, source):
    """The larger a record, the sooner it is answered; results come in the order of records."""
    import asyncio

    class Answer(api.AsyncFunction):
        async def async_invoke(self, value):
            await asyncio.sleep((10 - value) / 1000)
            return [value] * (value % 3)

    return api.AsyncDataStream.ordered_wait(
        source.stream(), Answer(), api.Time.seconds(20), 4
    ).set_parallelism(1)


@program(inputs="ints")
def async_unordered(api, env, source):
    import asyncio

    class Answer(api.AsyncFunction):
        async def async_invoke(self, value):
            await asyncio.sleep((value % 7) / 1000)
            return [value * 2]

    return api.AsyncDataStream.unordered_wait(
        source.stream(api.Types.INT()), Answer(), api.Time.seconds(20), 3, api.Types.LONG()
    )


@program(inputs="events", parallelism=1, order_by=all_in_one_order, per_record_watermarks=True)
def async_unordered_between_watermarks(api, env, source):
    """Where event time rises after every record, nobody overtakes, however slow the answers."""
    import asyncio

    class Answer(api.AsyncFunction):
        async def async_invoke(self, value):
            await asyncio.sleep(0.002 * (9 - value[1]))
            return [value]

    times = sorted(source.data, key=lambda event: event[2])
    rising = [event for n, event in enumerate(times) if not n or event[2] > times[n - 1][2]]
    stream = source.watermark_per_record(env.from_collection(rising))
    return api.AsyncDataStream.unordered_wait(stream, Answer(), api.Time.seconds(20), 5)


@program(inputs="events", parallelism=1)
def async_results_have_the_time_of_their_record(api, env, source):
    """Results go into the windows of their records."""
    import asyncio

    class Answer(api.AsyncFunction):
        async def async_invoke(self, value):
            await asyncio.sleep((9 - value[1]) / 1000)
            return [(value[0], value[1]), (value[0], 1)]

    stream = source.event_time(source.stream())
    answers = api.AsyncDataStream.unordered_wait(stream, Answer(), api.Time.seconds(20), 5)
    size = api.Time.milliseconds(20)
    return (
        answers.key_by(lambda pair: pair[0])
        .window(api.TumblingEventTimeWindows.of(size))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


@program(inputs="small_ints", parallelism=1, order_by=all_in_one_order)
def async_repeated_after_exceptions(api, env, source):
    """The result tells how often the function was asked."""

    class Flaky(api.AsyncFunction):
        def open(self, runtime_context):
            self.asked = {}

        async def async_invoke(self, value):
            number, record = value
            self.asked[number] = self.asked.get(number, 0) + 1
            if self.asked[number] <= abs(record) % 4:
                raise ValueError("not yet")
            return [(record, self.asked[number])]

    retries = api.AsyncRetryStrategy.fixed_delay(3, 5, None, lambda error: "not yet" in str(error))
    return api.AsyncDataStream.ordered_wait_with_retry(
        env.from_collection(list(enumerate(source.data))), Flaky(), api.Time.seconds(30), retries
    )


@program(inputs="small_ints", parallelism=1)
def async_repeated_for_results(api, env, source):
    """Results that are too small are asked for again; the last one counts, small or not."""

    class Growing(api.AsyncFunction):
        def open(self, runtime_context):
            self.asked = {}

        async def async_invoke(self, value):
            number, record = value
            self.asked[number] = self.asked.get(number, 0) + 1
            return [record + self.asked[number]]

    retries = api.AsyncRetryStrategy.exponential_backoff(
        2, 2, 8, 2.0, lambda results: results[0] < 3, None
    )
    return api.AsyncDataStream.unordered_wait_with_retry(
        env.from_collection(list(enumerate(source.data))),
        Growing(),
        api.Time.seconds(30),
        retries,
        2,
    )


@program(inputs="small_ints", parallelism=1, order_by=all_in_one_order)
def async_timeouts(api, env, source):
    """Negative records are never answered."""
    import asyncio

    class Slow(api.AsyncFunction):
        async def async_invoke(self, value):
            await asyncio.sleep(0 if value >= 0 else 60)
            return [value]

        def timeout(self, value):
            return ["late", value]

    return api.AsyncDataStream.ordered_wait(source.stream(), Slow(), api.Time.milliseconds(500), 50)


@program(inputs="small_ints", batch=True, parallelism=1)
def batch_async(api, env, source):
    import asyncio

    class Answer(api.AsyncFunction):
        async def async_invoke(self, value):
            await asyncio.sleep(0.001)
            return [value + 1]

    return api.AsyncDataStream.unordered_wait(source.stream(), Answer(), api.Time.seconds(20), 4)


@program(inputs="small_ints", fails=True, generated=False, examples={"many": list(range(20))})
def fails_async_returning_none(api, env, source):
    """One at a time: PyFlink looks at failures when the next record comes (README.md)."""

    class Nothing(api.AsyncFunction):
        async def async_invoke(self, value):
            return None

    return api.AsyncDataStream.ordered_wait(source.stream(), Nothing(), api.Time.seconds(5), 1)


@program(inputs="small_ints", fails=True, generated=False, examples={"one": [1]})
def fails_async_without_answer_in_time(api, env, source):
    import asyncio

    class Slow(api.AsyncFunction):
        async def async_invoke(self, value):
            await asyncio.sleep(60)
            return [value]

    return api.AsyncDataStream.ordered_wait(source.stream(), Slow(), api.Time.milliseconds(50))


@program(inputs="small_ints", fails=True, generated=False, examples={"one": [1]})
def fails_async_of_a_plain_method(api, env, source):
    class Plain(api.AsyncFunction):
        def async_invoke(self, value):
            return [value]

    return api.AsyncDataStream.ordered_wait(source.stream(), Plain(), api.Time.seconds(5))


@program(inputs="small_ints", fails=True, generated=False, examples={"one": [1]})
def fails_async_repeating_without_timeout(api, env, source):
    class Answer(api.AsyncFunction):
        async def async_invoke(self, value):
            return [value]

    retries = api.AsyncRetryStrategy.fixed_delay(3, 5, None, lambda error: True)
    return api.AsyncDataStream.ordered_wait_with_retry(
        source.stream(), Answer(), api.Time.seconds(0), retries
    )
