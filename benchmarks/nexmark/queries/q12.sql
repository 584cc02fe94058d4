SELECT bidder, COUNT(*) AS bids, window_start AS starts, window_end AS ends
FROM TABLE(TUMBLE(TABLE bid_now, DESCRIPTOR(now_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end
