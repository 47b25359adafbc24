-- Minutes each airline was late in total, early ones not counted against them; read from the lake alone.
SELECT a.name AS airline, count(*) AS flights,
       sum(greatest(extract(epoch FROM f."actualDep" - f."plannedDep") / 60, 0))::bigint AS "departureDelay",
       sum(greatest(extract(epoch FROM f."actualArr" - f."plannedArr") / 60, 0))::bigint AS "arrivalDelay"
FROM lake.flights f JOIN lake.airlines a USING (carrier)
GROUP BY a.name ORDER BY "departureDelay" DESC;
