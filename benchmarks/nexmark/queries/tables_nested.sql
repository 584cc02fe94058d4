CREATE TABLE events (
  event_type INT,
  person ROW<
    id BIGINT,
    name STRING,
    `emailAddress` STRING,
    `creditCard` STRING,
    city STRING,
    state STRING,
    `dateTime` TIMESTAMP(3),
    extra STRING>,
  auction ROW<
    id BIGINT,
    `itemName` STRING,
    description STRING,
    `initialBid` BIGINT,
    reserve BIGINT,
    `dateTime` TIMESTAMP(3),
    expires TIMESTAMP(3),
    seller BIGINT,
    category BIGINT,
    extra STRING>,
  bid ROW<
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    channel STRING,
    url STRING,
    `dateTime` TIMESTAMP(3),
    extra STRING>,
  `dateTime` TIMESTAMP(3),
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
  'connector' = 'filesystem',
  'path' = '${events}',
  'format' = 'parquet'
);

CREATE VIEW person AS
SELECT
  events.person.id,
  events.person.name,
  events.person.`emailAddress`,
  events.person.`creditCard`,
  events.person.city,
  events.person.state,
  `dateTime`,
  events.person.extra
FROM events
WHERE event_type = 0;

CREATE VIEW auction AS
SELECT
  events.auction.id,
  events.auction.`itemName`,
  events.auction.description,
  events.auction.`initialBid`,
  events.auction.reserve,
  `dateTime`,
  events.auction.expires,
  events.auction.seller,
  events.auction.category,
  events.auction.extra
FROM events
WHERE event_type = 1;

CREATE VIEW bid AS
SELECT
  events.bid.auction,
  events.bid.bidder,
  events.bid.price,
  events.bid.channel,
  events.bid.url,
  `dateTime`,
  events.bid.extra
FROM events
WHERE event_type = 2;
