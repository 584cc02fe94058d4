SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra
FROM bid AS B
JOIN (
  SELECT MAX(price) AS highest, window_end AS ends
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) AS W
ON B.price = W.highest
WHERE B.`dateTime` BETWEEN W.ends - INTERVAL '10' SECOND AND W.ends
