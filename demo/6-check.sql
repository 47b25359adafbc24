-- Lake and source must agree row by row, and with the totals known from the raw file.
DO $$
DECLARE
  differing bigint;
  departure bigint;
  arrival bigint;
BEGIN
  SELECT count(*) INTO differing
  FROM ((TABLE flights EXCEPT ALL TABLE lake.flights) UNION ALL (TABLE lake.flights EXCEPT ALL TABLE flights)) d;
  IF differing > 0 THEN
    RAISE EXCEPTION '% rows of flights differ between lake and source', differing;
  END IF;
  SELECT count(*) INTO differing
  FROM ((TABLE airlines EXCEPT ALL TABLE lake.airlines) UNION ALL (TABLE lake.airlines EXCEPT ALL TABLE airlines)) d;
  IF differing > 0 THEN
    RAISE EXCEPTION '% rows of airlines differ between lake and source', differing;
  END IF;
  SELECT sum(greatest(extract(epoch FROM "actualDep" - "plannedDep") / 60, 0)),
         sum(greatest(extract(epoch FROM "actualArr" - "plannedArr") / 60, 0))
  INTO departure, arrival FROM lake.flights;
  IF (departure, arrival) IS DISTINCT FROM (5056783::bigint, 5365714::bigint) THEN
    RAISE EXCEPTION 'total delays are % and %, not 5056783 and 5365714', departure, arrival;
  END IF;
END $$;
SELECT count(*) AS "rows that agree", '5,056,783 and 5,365,714 minutes' AS "delays, as in the raw file" FROM lake.flights;
