CREATE TABLE side_input (
  `key` BIGINT,
  `value` STRING,
  since TIMESTAMP(3),
  WATERMARK FOR since AS since,
  PRIMARY KEY (`key`) NOT ENFORCED
) WITH (
  'connector' = 'filesystem',
  'path' = '${side}',
  'format' = 'parquet'
);
