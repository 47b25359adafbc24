-- Values of every type, to the lake and back.
SET timezone TO 'UTC';
SET datestyle TO 'ISO';
CREATE SCHEMA types;
CREATE FOREIGN TABLE types.every (
	id int NOT NULL,
	bo boolean, si smallint, bi bigint, re real, dp double precision,
	d9 numeric(9,2), d18 numeric(18,4), d38 numeric(38,10), dz numeric(38,0), df numeric(38,38),
	ch character(4), vc varchar(5), tx text, by bytea,
	da date, t0 time(0), t3 time(3),
	s0 timestamp(0), s3 timestamp(3), s6 timestamp, z3 timestamptz(3), z6 timestamptz
) SERVER lake;
CREATE TEMP TABLE local AS SELECT * FROM types.every;
INSERT INTO local VALUES
	(1, true, 1, 1, 1.5, 1.5, 1.23, 1.2345, 1.0123456789, 1, 0.1,
	 'ab', 'abc', 'text', '\x0001ff', '2024-02-29', '12:34:56', '12:34:56.789',
	 '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.789+02', '2024-02-29 12:34:56.789012-08'),
	(2, false, -32768, -9223372036854775808, '-infinity', '-infinity', -9999999.99, -99999999999999.9999, -9999999999999999999999999999.9999999999, -99999999999999999999999999999999999999, -0.99999999999999999999999999999999999999,
	 '', '', '', '', '0001-01-01 BC', '00:00:00', '00:00:00',
	 '4713-01-01 00:00:00 BC', '0001-01-01 00:00:00', '1969-12-31 23:59:59.999999', '1969-12-31 23:59:59.999+00', '4713-01-01 00:00:00+00 BC'),
	(3, NULL, 32767, 9223372036854775807, 'infinity', 'infinity', 9999999.99, 99999999999999.9999, 9999999999999999999999999999.9999999999, 99999999999999999999999999999999999999, 0.99999999999999999999999999999999999999,
	 '日本 x', 'ä€😀 z', repeat('long ', 10000), decode(repeat('00ff', 5000), 'hex'), '9999-12-31', '23:59:59', '23:59:59.999',
	 '9999-12-31 23:59:59', '9999-12-31 23:59:59.999', '294246-12-31 23:59:59.999999', '9999-12-31 23:59:59.999+00', '294246-12-31 23:59:59.999999+00'),
	(4, NULL, NULL, NULL, 'NaN', 'NaN', 0, 0, 0, 0, 0,
	 NULL, NULL, E'tab\t newline\n quote'' backslash\\ \u00df', NULL, '1970-01-01', NULL, NULL, '1970-01-01', '1970-01-01', '1970-01-01', '1970-01-01+00', '1970-01-01+00'),
	(5, NULL, NULL, NULL, '-0', '-0', -0.01, 0.0001, -0.0000000001, -10000, 0.00000000000000000000000000000000000001,
	 NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(6, NULL, NULL, NULL, 1e-45, 5e-324, 100, 10000, 10000, 100000000, 0.0001, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO local (id) VALUES (7);
INSERT INTO types.every SELECT * FROM local;
SELECT id, bo, si, bi, re, dp FROM types.every ORDER BY id;
SELECT id, d9, d18, d38, dz, df FROM types.every ORDER BY id;
SELECT id, ch || '|' AS ch, octet_length(ch), vc, left(tx, 40) AS tx, length(tx), left(by::text, 20) AS by FROM types.every ORDER BY id;
SELECT id, da, t0, t3, s0, s3, s6, z3, z6 FROM types.every ORDER BY id;
-- no difference, not even in the texts
SELECT count(*) FROM (SELECT e::text FROM types.every e EXCEPT ALL SELECT l::text FROM local l) AS different;
SELECT count(*) FROM (SELECT l::text FROM local l EXCEPT ALL SELECT e::text FROM types.every e) AS different;

-- decimals of all scales and of many sizes, as they were written
CREATE FOREIGN TABLE types.decimals (n int, d0 numeric(18,0), d1 numeric(18,1), d2 numeric(18,2), d3 numeric(18,3), d4 numeric(18,4),
	d5 numeric(18,5), d18 numeric(18,18), d30 numeric(38,30)) SERVER lake;
CREATE TEMP TABLE decimals AS SELECT * FROM types.decimals;
INSERT INTO decimals SELECT n, d, d / 10, d / 100, d / 1000, d / 10000, d / 100000, d / 10^18::numeric, d / 10^11::numeric
	FROM (SELECT row_number() OVER () AS n, sign * (power + more) AS d
		FROM (SELECT 10::numeric ^ p FROM generate_series(0, 17) p) powers (power),
			unnest('{-1,0,1,1200,50000}'::numeric[]) more, unnest('{1,-1}'::numeric[]) sign
		WHERE power + more >= 0) AS decimals;
INSERT INTO types.decimals SELECT * FROM decimals;
SELECT count(*), count(*) FILTER (WHERE t::text = d::text), count(*) FILTER (WHERE numeric_send(t.d2) = numeric_send(d.d2))
	FROM types.decimals t JOIN decimals d USING (n);
-- many rows are read a slice at a time, in which columns have nulls or have none
CREATE FOREIGN TABLE types.slices (n int, a int, b text, c numeric(9,2), d date) SERVER lake;
CREATE TEMP TABLE slices AS
	SELECT n, CASE WHEN n / 300 % 2 = 0 THEN n END AS a, CASE WHEN n % 7 > 0 THEN 'text ' || n % 50 END AS b,
		CASE WHEN n > 2500 THEN n / 100.0 END::numeric(9,2) AS c, date '2024-01-01' + n AS d
	FROM generate_series(1, 5000) n;
INSERT INTO types.slices SELECT * FROM slices;
SELECT count(*), count(a), count(b), count(c) FROM (SELECT * FROM types.slices OFFSET 0) AS rows;
SELECT count(*) FROM (TABLE types.slices EXCEPT ALL TABLE slices) AS different;
SELECT count(*) FROM (SELECT * FROM types.slices WHERE n % 3 = 0 EXCEPT ALL TABLE slices) AS different;

-- what a lake column cannot hold is an error that names it
INSERT INTO types.every (id, d9) VALUES (8, 'NaN');
INSERT INTO types.every (id, d38) VALUES (8, 'infinity');
INSERT INTO types.every (id, da) VALUES (8, 'infinity');
INSERT INTO types.every (id, s6) VALUES (8, '-infinity');
INSERT INTO types.every (id, z6) VALUES (8, 'infinity');
INSERT INTO types.every (id, t3) VALUES (8, '24:00:00');
INSERT INTO types.every (id, z6) VALUES (8, '294276-12-31 23:59:59+00');
-- columns without the lake's limits: digits are rounded as in any assignment, too much is an error
CREATE FOREIGN TABLE types.limits (d9 numeric(9,2), vc varchar(3), ch character(3), s0 timestamp(0), t0 time(0)) SERVER lake;
CREATE FOREIGN TABLE types.loose (d9 numeric, vc text, ch text, s0 timestamp, t0 time) SERVER lake OPTIONS ("table" 'limits');
INSERT INTO types.loose VALUES (1.005, 'äöü', 'x', '2024-01-01 00:00:00.5', '00:00:00.5'), (-1.005, '', 'x  ', '1969-12-31 23:59:59.4', '00:00:00.49');
SELECT * FROM types.limits ORDER BY d9;
SELECT d9, vc, ch || '|' AS ch, s0, t0 FROM types.loose ORDER BY d9;
INSERT INTO types.loose (d9) VALUES (9999999.995);
INSERT INTO types.loose (d9) VALUES (1e40);
INSERT INTO types.loose (vc) VALUES ('äöüß');
INSERT INTO types.loose (ch) VALUES ('abcd');
INSERT INTO types.loose (t0) VALUES ('23:59:59.5');
