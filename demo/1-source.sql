-- The raw files as they are, and the two operational tables.
CREATE TABLE airlines_csv (carrier text, name text);
CREATE TABLE flights_raw (
  year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int,
  arr_time int, sched_arr_time int, arr_delay int, carrier text, flight int, tailnum text,
  origin text, dest text, air_time int, distance int, hour int, minute int, time_hour timestamptz);

CREATE TABLE airlines (carrier varchar(2) PRIMARY KEY, name text, "eventTime" timestamp(3));
CREATE TABLE flights (
  id varchar(64) PRIMARY KEY, carrier varchar(2), "eventTime" timestamp(3),
  "plannedDep" timestamp(3), "actualDep" timestamp(3), "plannedArr" timestamp(3), "actualArr" timestamp(3));

-- What became of each flight. Clock times are local (hhmm); only differences count.
CREATE VIEW flights_known AS
SELECT month, carrier || flight || '-' || to_char(day, 'YYYYMMDD') || '-' || origin AS id, carrier,
       planned_dep AS "plannedDep", planned_dep + make_interval(mins => dep_delay) AS "actualDep",
       planned_arr AS "plannedArr", planned_arr + make_interval(mins => arr_delay) AS "actualArr"
FROM (SELECT r.month, r.carrier, r.flight, r.origin, r.dep_delay, r.arr_delay, d.day,
             d.day + make_interval(hours => sched_dep_time / 100, mins => sched_dep_time % 100) AS planned_dep,
             d.day + make_interval(days => (sched_arr_time < sched_dep_time)::int,
                                   hours => sched_arr_time / 100, mins => sched_arr_time % 100) AS planned_arr
      FROM flights_raw r, LATERAL (SELECT make_date(r.year, r.month, r.day)::timestamp AS day) d) f;
