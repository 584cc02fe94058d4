SELECT
  id, `itemName`, description, `initialBid`, reserve, `dateTime`, expires, seller, category, extra,
  auction, bidder, price, bid_time, bid_extra
FROM (
  SELECT
    A.*, B.auction, B.bidder, B.price, B.`dateTime` AS bid_time, B.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC) AS place
  FROM auction AS A, bid AS B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
)
WHERE place <= 1
