CREATE VIEW bid_now AS
SELECT *, PROCTIME() AS now_time
FROM bid;
