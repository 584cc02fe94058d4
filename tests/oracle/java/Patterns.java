// Flink's own CepOperator on patterns and inputs that are data; oracle/patterns.py starts it.
// One job with one operator, which plays every case of a file to a CepOperator of its own, with the
// task's real state backend and timers and a clock that the case moves.
// What comes out of an operator is written down in its order: matches, time-outs, late records.
package headrace.oracle;

import java.io.BufferedWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.functions.TimedOutPartialMatchHandler;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.aftermatch.SkipToFirstStrategy;
import org.apache.flink.cep.nfa.aftermatch.SkipToLastStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.operator.CepOperator;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamConfig;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.api.operators.StreamTaskStateInitializerImpl;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import org.apache.flink.util.clock.Clock;
import org.apache.flink.util.clock.ManualClock;

public final class Patterns {
    private static final ObjectMapper JSON = new ObjectMapper();
    // An event: number, key, name, price.
    private static final TypeInformation<Row> EVENT =
            Types.ROW(Types.LONG, Types.STRING, Types.STRING, Types.LONG);
    private static final OutputTag<Row> LATE = new OutputTag<>("late", EVENT);
    private static final OutputTag<String> TIMED_OUT = new OutputTag<>("timed-out", Types.STRING);

    private Patterns() {}

    /** Arguments: a file with a case in each line, and the file for the answers, line by line. */
    public static void main(String[] files) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        env.fromData(files[0])
                .transform("cases", Types.STRING, new Player(files[1]))
                .sinkTo(new DiscardingSink<>());
        env.execute("patterns");
    }

    /** Plays the cases of a file, each to a new CepOperator. */
    private static final class Player extends AbstractStreamOperator<String>
            implements OneInputStreamOperator<String, String> {
        private final String answers;

        Player(String answers) {
            this.answers = answers;
        }

        @Override
        public void processElement(StreamRecord<String> file) throws Exception {
            Path answersFile = Path.of(answers);
            try (BufferedWriter writer = Files.newBufferedWriter(answersFile)) {
                for (String line : Files.readAllLines(Path.of(file.getValue()))) {
                    writer.write(JSON.writeValueAsString(answer(JSON.readTree(line))));
                    writer.newLine();
                }
            }
        }

        private JsonNode answer(JsonNode input) {
            ObjectNode answer = JSON.createObjectNode();
            Pattern<Row, ?> pattern;
            NFACompiler.NFAFactory<Row> factory;
            boolean timeouts = !input.path("timeouts").isBoolean() || input.path("timeouts").asBoolean();
            try {
                pattern = PatternReader.read(input.get("pattern"));
                factory = NFACompiler.compileFactory(pattern, timeouts);
            } catch (Exception refusal) {
                return answer.put("refused", String.valueOf(refusal.getMessage()));
            }
            Log log = new Log(answer.putArray("log"));
            try {
                play(input, pattern, factory, timeouts, log);
            } catch (Exception | OutOfMemoryError failure) {
                Throwable cause = failure;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                answer.put("failed", String.valueOf(cause));
            }
            return answer;
        }

        private void play(
                JsonNode input,
                Pattern<Row, ?> pattern,
                NFACompiler.NFAFactory<Row> factory,
                boolean timeouts,
                Log log)
                throws Exception {
            boolean processingTime = input.path("time").asText("event").equals("processing");
            CepOperator<Row, String, String> operator =
                    new CepOperator<>(
                            serializer(),
                            processingTime,
                            factory,
                            null,
                            pattern.getAfterMatchSkipStrategy(),
                            timeouts ? new TextsAndTimeouts() : new Texts(),
                            LATE);
            ManualTime time = new ManualTime();
            OneInputStreamOperator<Row, String> running = started(operator, log, time);
            try {
                for (JsonNode item : input.get("input")) {
                    feed(item, running, time, log);
                }
            } finally {
                running.close();
            }
        }

        private static void feed(
                JsonNode item, OneInputStreamOperator<Row, String> running, ManualTime time, Log log)
                throws Exception {
            log.position++;
            switch (item.get(0).asText()) {
                case "e":
                    Row event =
                            Row.of(
                                    item.get(1).asLong(),
                                    item.get(2).asText(),
                                    item.get(3).asText(),
                                    item.get(4).asLong());
                    StreamRecord<Row> record = new StreamRecord<>(event, item.get(5).asLong());
                    running.setKeyContextElement(record);
                    running.processElement(record);
                    break;
                case "w":
                    running.processWatermark(new Watermark(item.get(1).asLong()));
                    break;
                case "t":
                    time.moveTo(item.get(1).asLong());
                    break;
                default:
                    throw new IllegalArgumentException("no such input: " + item);
            }
        }

        @SuppressWarnings("unchecked")
        private OneInputStreamOperator<Row, String> started(
                CepOperator<Row, String, String> operator, Log log, ManualTime time)
                throws Exception {
            StreamConfig config = new StreamConfig(new Configuration());
            config.setOperatorID(new OperatorID());
            config.setOperatorName("case");
            config.setStatePartitioner(0, (KeySelector<Row, String>) row -> (String) row.getField(1));
            config.setStateKeySerializer(Types.STRING.createSerializer(new SerializerConfigImpl()));
            config.serializeAllConfigs();
            SimpleOperatorFactory<String> factory = SimpleOperatorFactory.of(operator);
            factory.setProcessingTimeService(time);
            OneInputStreamOperator<Row, String> running =
                    (OneInputStreamOperator<Row, String>)
                            factory.createStreamOperator(
                                    new StreamOperatorParameters<>(
                                            getContainingTask(), config, log, () -> time, null, null));
            running.initializeState(
                    new StreamTaskStateInitializerImpl(
                            getContainingTask().getEnvironment(), new HashMapStateBackend()));
            running.open();
            return running;
        }

        private static TypeSerializer<Row> serializer() {
            return EVENT.createSerializer(new SerializerConfigImpl());
        }
    }

    /** Makes a pattern of its JSON, call by call. */
    private static final class PatternReader {
        static Pattern<Row, ?> read(JsonNode document) {
            return chain(document, skipStrategy(document.path("skip")));
        }

        private static Pattern<Row, Row> chain(JsonNode document, AfterMatchSkipStrategy skip) {
            Pattern<Row, Row> pattern = null;
            for (JsonNode stage : document.get("stages")) {
                pattern = stage.has("group") ? group(pattern, stage, skip) : single(pattern, stage, skip);
                for (JsonNode call : stage.get("calls")) {
                    pattern = called(pattern, call);
                }
            }
            return pattern;
        }

        private static Pattern<Row, Row> single(
                Pattern<Row, Row> before, JsonNode stage, AfterMatchSkipStrategy skip) {
            String name = stage.get("stage").asText();
            switch (stage.get("after").asText()) {
                case "begin":
                    return skip == null ? Pattern.begin(name) : Pattern.begin(name, skip);
                case "next":
                    return before.next(name);
                case "followed_by":
                    return before.followedBy(name);
                case "followed_by_any":
                    return before.followedByAny(name);
                case "not_next":
                    return before.notNext(name);
                case "not_followed_by":
                    return before.notFollowedBy(name);
                default:
                    throw new IllegalStateException("no such contiguity: " + stage);
            }
        }

        private static Pattern<Row, Row> group(
                Pattern<Row, Row> before, JsonNode stage, AfterMatchSkipStrategy skip) {
            Pattern<Row, Row> inner = chain(stage.get("group"), null);
            switch (stage.get("after").asText()) {
                case "begin":
                    return skip == null ? Pattern.begin(inner) : Pattern.begin(inner, skip);
                case "next":
                    return before.next(inner);
                case "followed_by":
                    return before.followedBy(inner);
                case "followed_by_any":
                    return before.followedByAny(inner);
                default:
                    throw new IllegalStateException("no such contiguity: " + stage);
            }
        }

        private static Pattern<Row, Row> called(Pattern<Row, Row> pattern, JsonNode call) {
            switch (call.get(0).asText()) {
                case "where":
                    return pattern.where(condition(call.get(1)));
                case "or_":
                    return pattern.or(condition(call.get(1)));
                case "until":
                    return pattern.until(condition(call.get(1)));
                case "one_or_more":
                    return pattern.oneOrMore(duration(call.get(1)));
                case "times":
                    return pattern.times(call.get(1).asInt(), duration(call.get(2)));
                case "times_range":
                    return pattern.times(
                            call.get(1).asInt(), call.get(2).asInt(), duration(call.get(3)));
                case "times_or_more":
                    return pattern.timesOrMore(call.get(1).asInt(), duration(call.get(2)));
                case "optional":
                    return pattern.optional();
                case "greedy":
                    return pattern.greedy();
                case "consecutive":
                    return pattern.consecutive();
                case "allow_combinations":
                    return pattern.allowCombinations();
                case "within":
                    return pattern.within(duration(call.get(1)));
                case "within_previous":
                    return pattern.within(duration(call.get(1)), WithinType.PREVIOUS_AND_CURRENT);
                default:
                    throw new IllegalStateException("no such call: " + call);
            }
        }

        private static Duration duration(JsonNode millis) {
            return millis == null || millis.isNull() ? null : Duration.ofMillis(millis.asLong());
        }

        private static AfterMatchSkipStrategy skipStrategy(JsonNode skip) {
            String stage = skip.path("stage").asText();
            boolean throwing = skip.path("throws").asBoolean();
            switch (skip.path("to").asText("")) {
                case "no_skip":
                    return AfterMatchSkipStrategy.noSkip();
                case "next":
                    return AfterMatchSkipStrategy.skipToNext();
                case "past_last":
                    return AfterMatchSkipStrategy.skipPastLastEvent();
                case "first":
                    SkipToFirstStrategy first = AfterMatchSkipStrategy.skipToFirst(stage);
                    return throwing ? first.throwExceptionOnMiss() : first;
                case "last":
                    SkipToLastStrategy last = AfterMatchSkipStrategy.skipToLast(stage);
                    return throwing ? last.throwExceptionOnMiss() : last;
                default:
                    return null;
            }
        }

        private static IterativeCondition<Row> condition(JsonNode text) {
            String kind = text.get(0).asText();
            String word = text.get(1).asText();
            long number = text.get(1).asLong();
            switch (kind) {
                case "name":
                    return SimpleCondition.of(row -> word.equals(row.getField(2)));
                case "price_at_least":
                    return SimpleCondition.of(row -> price(row) >= number);
                case "above_last":
                    return iterative((row, prices) -> prices.isEmpty() || price(row) > last(prices), word);
                case "above_average":
                    return iterative((row, prices) -> price(row) * prices.size() > sum(prices), word);
                case "sum_below":
                    long limit = text.get(2).asLong();
                    return iterative((row, prices) -> sum(prices) + price(row) < limit, word);
                case "fewer_than":
                    long count = text.get(2).asLong();
                    return iterative((row, prices) -> prices.size() < count, word);
                default:
                    throw new IllegalStateException("no such condition: " + text);
            }
        }

        private interface Test extends java.io.Serializable {
            boolean holds(Row row, List<Long> prices);
        }

        private static IterativeCondition<Row> iterative(Test test, String stage) {
            return new IterativeCondition<Row>() {
                @Override
                public boolean filter(Row row, Context<Row> context) throws Exception {
                    List<Long> prices = new ArrayList<>();
                    for (Row earlier : context.getEventsForPattern(stage)) {
                        prices.add(price(earlier));
                    }
                    return test.holds(row, prices);
                }
            };
        }

        private static long price(Row row) {
            return (Long) row.getField(3);
        }

        private static long last(List<Long> prices) {
            return prices.get(prices.size() - 1);
        }

        private static long sum(List<Long> prices) {
            return prices.stream().mapToLong(Long::longValue).sum();
        }
    }

    /** A match as text: the stages in their order, each with the numbers of its events. */
    private static class Texts extends PatternProcessFunction<Row, String> {
        @Override
        public void processMatch(
                Map<String, List<Row>> match, Context context, Collector<String> out)
                throws Exception {
            out.collect(text(match));
        }

        static String text(Map<String, List<Row>> match) throws Exception {
            ArrayNode stages = JSON.createArrayNode();
            for (Map.Entry<String, List<Row>> stage : match.entrySet()) {
                ArrayNode entry = stages.addArray().add(stage.getKey());
                ArrayNode numbers = entry.addArray();
                stage.getValue().forEach(row -> numbers.add((Long) row.getField(0)));
            }
            return JSON.writeValueAsString(stages);
        }
    }

    private static final class TextsAndTimeouts extends Texts
            implements TimedOutPartialMatchHandler<Row> {
        @Override
        public void processTimedOutMatch(Map<String, List<Row>> match, Context context)
                throws Exception {
            context.output(TIMED_OUT, text(match));
        }
    }

    /** What comes out: kind, position in the input (from 1), timestamp or null, and what it is. */
    private static final class Log implements Output<StreamRecord<String>> {
        private final ArrayNode entries;
        private int position;

        Log(ArrayNode entries) {
            this.entries = entries;
        }

        private ArrayNode entry(String kind, StreamRecord<?> record) {
            ArrayNode entry = entries.addArray().add(kind).add(position);
            if (record.hasTimestamp()) {
                return entry.add(record.getTimestamp());
            }
            return entry.addNull();
        }

        @Override
        public void collect(StreamRecord<String> record) {
            entry("match", record).add(parsed(record.getValue()));
        }

        @Override
        public <X> void collect(OutputTag<X> tag, StreamRecord<X> record) {
            if (tag.equals(LATE)) {
                entry("late", record).add((Long) ((Row) record.getValue()).getField(0));
            } else {
                entry("timeout", record).add(parsed((String) record.getValue()));
            }
        }

        private static JsonNode parsed(String text) {
            try {
                return JSON.readTree(text);
            } catch (Exception impossible) {
                throw new IllegalStateException(impossible);
            }
        }

        @Override
        public void emitWatermark(Watermark mark) {}

        @Override
        public void emitWatermarkStatus(WatermarkStatus status) {}

        @Override
        public void emitLatencyMarker(LatencyMarker marker) {}

        @Override
        public void emitRecordAttributes(RecordAttributes attributes) {}

        @Override
        public void emitWatermark(WatermarkEvent event) {}

        @Override
        public void close() {}
    }

    /** A clock that moves when told to, and fires its timers then. */
    private static final class ManualTime implements ProcessingTimeService {
        private final ManualClock clock = new ManualClock(0);
        private final TreeMap<Long, List<Timer>> timers = new TreeMap<>();

        void moveTo(long millis) throws Exception {
            while (!timers.isEmpty() && timers.firstKey() <= millis) {
                long due = timers.firstKey();
                set(Math.max(due, now()));
                for (Timer timer : timers.remove(due)) {
                    if (!timer.isCancelled()) {
                        timer.callback.onProcessingTime(due);
                    }
                }
            }
            set(millis);
        }

        private long now() {
            return clock.absoluteTimeMillis();
        }

        private void set(long millis) {
            clock.advanceTime(millis - now(), TimeUnit.MILLISECONDS);
        }

        @Override
        public Clock getClock() {
            return clock;
        }

        @Override
        public ScheduledFuture<?> registerTimer(long timestamp, ProcessingTimeCallback callback) {
            Timer timer = new Timer(callback);
            timers.computeIfAbsent(timestamp, any -> new ArrayList<>()).add(timer);
            return timer;
        }

        @Override
        public ScheduledFuture<?> scheduleAtFixedRate(
                ProcessingTimeCallback callback, long initialDelay, long period) {
            return new Timer(callback); // only the cache's statistics ask for it
        }

        @Override
        public ScheduledFuture<?> scheduleWithFixedDelay(
                ProcessingTimeCallback callback, long initialDelay, long period) {
            return new Timer(callback);
        }

        @Override
        public CompletableFuture<Void> quiesce() {
            return CompletableFuture.completedFuture(null);
        }
    }

    private static final class Timer extends FutureTask<Void> implements ScheduledFuture<Void> {
        private final ProcessingTimeService.ProcessingTimeCallback callback;

        Timer(ProcessingTimeService.ProcessingTimeCallback callback) {
            super(() -> null);
            this.callback = callback;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }
}
