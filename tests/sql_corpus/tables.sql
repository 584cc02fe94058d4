-- Tables, views, catalogs and functions of an invented parcel service.
CREATE CATALOG depot COMMENT 'all we have' WITH ('type' = 'generic_in_memory', 'default-database' = 'main');
USE CATALOG depot;
CREATE DATABASE IF NOT EXISTS depot.night COMMENT 'late shift' WITH ('owner' = 'ops');
USE depot.night;
CREATE TABLE scans (
  parcel_id   BIGINT NOT NULL,
  station     STRING COMMENT 'where it was seen',
  weight_kg   DECIMAL(9, 3),
  tags        ARRAY<STRING NOT NULL>,
  extras      MAP<STRING, ROW<unit STRING, amount DOUBLE>>,
  route       ROW<origin STRING 'from', target STRING NOT NULL 'to', hops INT ARRAY>,
  photo       BYTES,
  seen_at     TIMESTAMP(3) METADATA FROM 'timestamp',
  part        INT METADATA VIRTUAL,
  weight_lb   AS weight_kg * 2.20462 COMMENT 'for the other side',
  handled_at  AS PROCTIME(),
  WATERMARK FOR seen_at AS seen_at - INTERVAL '5' SECOND,
  CONSTRAINT parcel_key PRIMARY KEY (parcel_id) NOT ENFORCED
) COMMENT 'what the gates tell us'
DISTRIBUTED BY HASH (parcel_id) INTO 6 BUCKETS
PARTITIONED BY (station)
WITH (
  'connector' = 'kafka',
  'topic' = 'gate-scans',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json',
  'json.ignore-parse-errors' = 'true'
);
CREATE TEMPORARY TABLE prices (
  zone      CHAR(2) PRIMARY KEY NOT ENFORCED,
  price     DECIMAL(10, 2) NOT NULL,
  valid_at  TIMESTAMP_LTZ(3),
  stamp     TIMESTAMP(6) WITH LOCAL TIME ZONE,
  raw_blob  RAW('java.lang.Object', 'AAAB'),
  bag       MULTISET<VARCHAR(20)>,
  WATERMARK FOR valid_at AS valid_at
) WITH ('connector' = 'upsert-kafka', 'key.format' = 'csv', 'value.format' = 'csv');
CREATE TABLE IF NOT EXISTS scans_copy WITH ('connector' = 'print') LIKE scans (EXCLUDING ALL INCLUDING GENERATED OVERWRITING WATERMARKS EXCLUDING PARTITIONS);
CREATE TABLE heavy (parcel_id, kilos) WITH ('connector' = 'blackhole') AS SELECT parcel_id, weight_kg FROM scans WHERE weight_kg > 30;
CREATE OR REPLACE TABLE heavy WITH ('connector' = 'blackhole') AS SELECT * FROM scans;
REPLACE TABLE heavy WITH ('connector' = 'blackhole') AS SELECT 1 AS only_one;
CREATE TABLE pairs (a INT, b INT, PRIMARY KEY (a, b) NOT ENFORCED) DISTRIBUTED INTO 2 BUCKETS WITH ();
CREATE TEMPORARY VIEW IF NOT EXISTS lost (parcel_id, last_seen) COMMENT 'not seen today' AS
  SELECT parcel_id, MAX(seen_at) FROM scans GROUP BY parcel_id HAVING MAX(seen_at) < CURRENT_TIMESTAMP - INTERVAL '1' DAY;
CREATE FUNCTION IF NOT EXISTS zone_of AS 'parcels.zones.zone_of' LANGUAGE PYTHON;
CREATE TEMPORARY SYSTEM FUNCTION shout AS 'com.parcels.Shout' LANGUAGE JAVA USING JAR '/opt/shout.jar', JAR 'hdfs:///lib/more.jar';
ALTER FUNCTION zone_of AS 'parcels.zones.zone_of_v2' LANGUAGE PYTHON;
CREATE MATERIALIZED TABLE per_day
  PARTITIONED BY (ds) WITH ('format' = 'parquet') FRESHNESS = INTERVAL '30' SECOND REFRESH_MODE = CONTINUOUS
  AS SELECT DATE_FORMAT(seen_at, 'yyyy-MM-dd') AS ds, COUNT(*) AS n FROM scans GROUP BY DATE_FORMAT(seen_at, 'yyyy-MM-dd');
ALTER MATERIALIZED TABLE per_day SUSPEND;
ALTER MATERIALIZED TABLE per_day RESUME WITH ('parallelism' = '2');
ALTER MATERIALIZED TABLE per_day REFRESH PARTITION (ds = '2024-05-01');
ALTER TABLE scans RENAME TO gate_scans;
ALTER TABLE scans RENAME station TO gate;
ALTER TABLE scans ADD driver STRING COMMENT 'who' AFTER station;
ALTER TABLE scans ADD (driver STRING FIRST, truck AS UPPER(driver), fuel DOUBLE METADATA VIRTUAL AFTER part, UNIQUE (driver) NOT ENFORCED);
ALTER TABLE scans MODIFY (weight_kg DOUBLE NOT NULL, WATERMARK FOR seen_at AS seen_at - INTERVAL '1' MINUTE);
ALTER TABLE scans DROP (tags, extras);
ALTER TABLE scans DROP PRIMARY KEY;
ALTER TABLE scans DROP WATERMARK;
ALTER TABLE scans SET ('format' = 'avro', 'scan.parallelism' = '4');
ALTER TABLE scans RESET ('scan.parallelism');
ALTER TABLE scans ADD PARTITION (station = 'north') WITH ('cold' = 'true') PARTITION (station = 'south');
ALTER TABLE scans DROP IF EXISTS PARTITION (station = 'north'), PARTITION (station = 'south');
ALTER VIEW lost AS SELECT parcel_id FROM scans;
ALTER CATALOG depot SET ('default-database' = 'night');
DROP TEMPORARY VIEW IF EXISTS lost;
DROP TABLE IF EXISTS depot.night.scans;
DROP TEMPORARY SYSTEM FUNCTION IF EXISTS shout;
DROP DATABASE IF EXISTS night CASCADE;
DROP CATALOG depot;
