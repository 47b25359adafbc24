-- January to June have already happened.
INSERT INTO airlines SELECT carrier, name, '2013-01-01' FROM airlines_csv;
INSERT INTO flights
SELECT id, carrier, coalesce("actualArr", "actualDep", "plannedDep"), "plannedDep", "actualDep", "plannedArr", "actualArr"
FROM flights_known WHERE month <= 6;
SELECT count(*) AS "flights at the source" FROM flights;
