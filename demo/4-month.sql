-- One month: flights are planned, some by mistake and taken back; they depart, they land.
INSERT INTO flights
SELECT id, carrier, "plannedDep", "plannedDep", NULL, "plannedArr", NULL FROM flights_known WHERE month = :month;
INSERT INTO flights
SELECT id || '-again', carrier, "plannedDep", "plannedDep", NULL, "plannedArr", NULL
FROM flights_known WHERE month = :month AND id LIKE 'UA%';
UPDATE flights f SET "actualDep" = k."actualDep", "eventTime" = k."actualDep"
FROM flights_known k WHERE k.month = :month AND k.id = f.id AND k."actualDep" IS NOT NULL;
DELETE FROM flights WHERE id LIKE '%-again';
UPDATE flights f SET "actualArr" = k."actualArr", "eventTime" = k."actualArr"
FROM flights_known k WHERE k.month = :month AND k.id = f.id AND k."actualArr" IS NOT NULL;
CALL streamhouse.wait_for_sync('flights_sync');
