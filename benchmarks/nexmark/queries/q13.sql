SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM (SELECT *, MOD(auction, 10000) AS side FROM bid) AS B
JOIN side_input FOR SYSTEM_TIME AS OF B.`dateTime` AS S
ON B.side = S.`key`
