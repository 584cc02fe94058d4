-- Joins, table functions, windows and patterns over invented tables.
SELECT * FROM a JOIN b ON a.id = b.id LEFT JOIN c USING (id) FULL OUTER JOIN d ON d.id = a.id;
SELECT * FROM a, b AS x (id, v) CROSS JOIN c NATURAL JOIN d;
SELECT * FROM a JOIN b ON a.id = b.id AND a.ts BETWEEN b.ts - INTERVAL '4' HOUR AND b.ts;
SELECT o.id, r.rate FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.order_time AS r ON o.currency = r.currency;
SELECT /*+ LOOKUP('table' = 'c', 'retry-predicate' = 'lookup_miss', 'max-attempts' = '3') */ o.id, c.name FROM orders AS o LEFT JOIN customers FOR SYSTEM_TIME AS OF o.proc_time AS c ON o.customer = c.id;
SELECT id, word FROM lines, LATERAL TABLE(split_words(line)) AS w (word);
SELECT id, word FROM lines LEFT JOIN LATERAL TABLE(split_words(line)) AS w (word) ON TRUE;
SELECT id, tag, pos FROM items CROSS JOIN UNNEST(tags) WITH ORDINALITY AS u (tag, pos);
SELECT * FROM orders WHERE customer IN (SELECT id FROM customers) AND NOT EXISTS (SELECT 1 FROM blocked WHERE blocked.id = orders.customer);
SELECT window_start, window_end, SUM(price) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end;
SELECT window_start, COUNT(*) FROM TABLE(HOP(DATA => TABLE orders, TIMECOL => DESCRIPTOR(order_time), SLIDE => INTERVAL '5' MINUTE, SIZE => INTERVAL '10' MINUTE)) GROUP BY window_start, window_end, window_time;
SELECT * FROM CUMULATE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '2' MINUTE, INTERVAL '10' MINUTE, INTERVAL '1' MINUTE);
SELECT * FROM TABLE(SESSION(TABLE orders PARTITION BY (customer, shop), DESCRIPTOR(order_time), INTERVAL '5' MINUTE));
SELECT TUMBLE_START(ts, INTERVAL '1' DAY) AS d, customer, SUM(price) FROM orders GROUP BY TUMBLE(ts, INTERVAL '1' DAY), customer;
SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY total DESC) AS n FROM per_window) WHERE n <= 3;
SELECT l.id, r.id FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(ts), INTERVAL '5' MINUTE))) AS l FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '5' MINUTE))) AS r ON l.id = r.id AND l.window_start = r.window_start AND l.window_end = r.window_end;
SELECT * FROM watch(events => TABLE clicks PARTITION BY visitor ORDER BY ts DESC, on_time => DESCRIPTOR(ts), uid => 'watch-1');
SELECT * FROM ML_PREDICT(TABLE reviews, MODEL mood, DESCRIPTOR(body));
SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES FIRST(DOWN.ts) AS began, LAST(UP.price, 1) AS high, AVG(DOWN.price) AS middle, MATCH_ROWTIME() AS at_time
  ONE ROW PER MATCH AFTER MATCH SKIP TO LAST UP
  PATTERN (BEGINNING DOWN{2,} (FLAT | UP)+? END_ROW*) WITHIN INTERVAL '1' HOUR
  DEFINE DOWN AS LAST(DOWN.price, 1) IS NULL OR DOWN.price < LAST(DOWN.price, 1), UP AS UP.price > DOWN.price
) AS m WHERE m.high > 10;
