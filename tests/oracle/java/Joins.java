// Flink's own DataStream joins, which PyFlink does not expose, over rows (key, number, time).
// oracle/joins.py compiles this file and calls it; headrace runs the same joins by its Python API.
// Every result is a row (key, numbers as text, timestamp of the result).
package headrace.oracle;

import java.time.Duration;
import org.apache.flink.api.common.functions.CoGroupFunction;
import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.api.common.functions.JoinFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

public final class Joins {
    private static final TypeInformation<Row> EVENT =
            Types.ROW(Types.STRING, Types.LONG, Types.LONG);
    private static final TypeInformation<Row> RESULT = Types.ROW(Types.STRING, Types.STRING);
    private static final TypeInformation<Row> STAMPED =
            Types.ROW(Types.STRING, Types.STRING, Types.LONG);

    private Joins() {}

    /** The records with an even (0) or odd (1) number. */
    public static DataStream<Row> half(DataStream<Row> stream, int rest) {
        return stream.filter(
                (FilterFunction<Row>) row -> Math.floorMod((Long) row.getField(1), 2) == rest);
    }

    /** Pairs by window: size below 0 is the gap of sessions, slide 0 means tumbling. */
    public static DataStream<Row> join(
            DataStream<Row> first, DataStream<Row> second, long size, long slide, long lateness) {
        var windowed =
                first.join(second)
                        .where(key(), Types.STRING)
                        .equalTo(key(), Types.STRING)
                        .window(assigner(size, slide));
        var late = lateness > 0 ? windowed.allowedLateness(Duration.ofMillis(lateness)) : windowed;
        JoinFunction<Row, Row, Row> pair =
                (a, b) -> Row.of(a.getField(0), a.getField(1) + "|" + b.getField(1));
        return stamped(late.apply(pair, RESULT));
    }

    /** Both groups by window, in the order of arrival. */
    public static DataStream<Row> coGroup(
            DataStream<Row> first, DataStream<Row> second, long size, long slide, long lateness) {
        var windowed =
                first.coGroup(second)
                        .where(key(), Types.STRING)
                        .equalTo(key(), Types.STRING)
                        .window(assigner(size, slide));
        var late = lateness > 0 ? windowed.allowedLateness(Duration.ofMillis(lateness)) : windowed;
        return stamped(late.apply(new Groups(), RESULT));
    }

    /** Pairs by distance in time; the late records of both sides are side outputs. */
    public static SingleOutputStreamOperator<Row> intervalJoin(
            DataStream<Row> left,
            DataStream<Row> right,
            long lower,
            long upper,
            boolean exclusive) {
        var joined =
                left.keyBy(key(), Types.STRING)
                        .intervalJoin(right.keyBy(key(), Types.STRING))
                        .between(Duration.ofMillis(lower), Duration.ofMillis(upper))
                        .sideOutputLeftLateData(tag("late-left"))
                        .sideOutputRightLateData(tag("late-right"));
        var bounded = exclusive ? joined.lowerBoundExclusive().upperBoundExclusive() : joined;
        return bounded.process(new Times(), RESULT);
    }

    /** One of the late outputs of an interval join. */
    public static DataStream<Row> late(SingleOutputStreamOperator<Row> joined, String side) {
        return joined.getSideOutput(tag(side));
    }

    /** The rows with their timestamps. */
    public static DataStream<Row> stamped(DataStream<Row> rows) {
        return rows.process(new Stamp(), STAMPED);
    }

    private static OutputTag<Row> tag(String name) {
        return new OutputTag<>(name, EVENT);
    }

    private static KeySelector<Row, String> key() {
        return row -> (String) row.getField(0);
    }

    private static WindowAssigner<Object, TimeWindow> assigner(long size, long slide) {
        if (size < 0) {
            return EventTimeSessionWindows.withGap(Duration.ofMillis(-size));
        }
        return slide == 0
                ? TumblingEventTimeWindows.of(Duration.ofMillis(size))
                : SlidingEventTimeWindows.of(Duration.ofMillis(size), Duration.ofMillis(slide));
    }

    private static final class Groups implements CoGroupFunction<Row, Row, Row> {
        @Override
        public void coGroup(Iterable<Row> first, Iterable<Row> second, Collector<Row> out) {
            StringBuilder text = new StringBuilder();
            Object key = null;
            for (Row row : first) {
                key = row.getField(0);
                text.append(row.getField(1)).append(' ');
            }
            text.append('|');
            for (Row row : second) {
                key = row.getField(0);
                text.append(' ').append(row.getField(1));
            }
            out.collect(Row.of(key, text.toString()));
        }
    }

    private static final class Times extends ProcessJoinFunction<Row, Row, Row> {
        @Override
        public void processElement(Row left, Row right, Context ctx, Collector<Row> out) {
            String times = ctx.getLeftTimestamp() + "," + ctx.getRightTimestamp();
            out.collect(
                    Row.of(
                            left.getField(0),
                            left.getField(1) + "|" + right.getField(1) + " at " + times));
        }
    }

    private static final class Stamp extends ProcessFunction<Row, Row> {
        @Override
        public void processElement(Row row, Context ctx, Collector<Row> out) {
            out.collect(
                    Row.of(row.getField(0), String.valueOf(row.getField(1)), ctx.timestamp()));
        }
    }
}
