
# Changes of columns reach the lake in their order with the rows: names, types,
# new columns with values, values that a change computes anew; as the sync's
# policy has it.  Whatever the change: no value is lost without a word.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('evolve', "max_connections = 20\n");

sub sql { return $node->safe_psql('postgres', @_) }

# The columns that the table has now, in the lake; by name, for their order may be another one.
sub same
{
	my ($table, $what) = @_;
	import_lake_tables($node, 'd', $table);
	my $columns = sql("SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = '$table'::regclass AND attnum > 0 AND NOT attisdropped");
	my $text = join(', ', map { "$_\::text" } split(/, /, $columns));
	is(sql(qq{SET timezone = 'UTC'; SET extra_float_digits = 1; (SELECT 'missing', t::text FROM (SELECT $text FROM $table EXCEPT ALL SELECT $text FROM lake.$table) t LIMIT 5)
		UNION ALL (SELECT 'too many', t::text FROM (SELECT $text FROM lake.$table EXCEPT ALL SELECT $text FROM $table) t LIMIT 5)}), '', $what);
}

sub log_tells
{
	my ($pattern, $from, $what) = @_;
	like(substr(slurp_file($node->logfile), $from), $pattern, $what);
}

# Statements, one of them a change of the table; afterwards nothing is paused, and all is as in the source.
sub follow
{
	my ($table, $statements, $copied, $what) = @_;
	my $from = -s $node->logfile;
	sql($statements);
	wait_for_sync($node, 's');
	same($table, $what // $statements);
	is(sql("SELECT state || coalesce(error, '') FROM streamhouse.sync_tables WHERE \"table\" = '$table'"), 'streaming', 'and streams');
	my $again = substr(slurp_file($node->logfile), $from) =~ /copies table "public.$table" again/ ? 1 : 0;
	is($again, $copied, $copied ? 'copied again' : 'in place');
}

sql(q{
	CREATE TYPE mood AS ENUM ('sad', 'ok');
	CREATE TYPE pair AS (a int, b int);
	CREATE TABLE t (id int PRIMARY KEY, i int, si smallint, f real, n numeric(8,2), vc varchar(10), ts timestamp(3), tx text, u uuid, m mood, p pair, j json);
	ALTER TABLE t ALTER tx SET STORAGE EXTERNAL;
	CREATE TABLE other (id int PRIMARY KEY, v int);
	CREATE TABLE parts (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
	CREATE TABLE first (v int, id int NOT NULL);
	ALTER TABLE parts ATTACH PARTITION first FOR VALUES FROM (0) TO (100);
	CREATE TABLE second PARTITION OF parts FOR VALUES FROM (100) TO (1000000);
	INSERT INTO t SELECT i, i, i, i / 3.0, i / 7.0, 'v' || i, now(), repeat(i::text, 1000), gen_random_uuid(), 'sad', (i, i)::pair, '{"a" : 1}' FROM generate_series(1, 300) i;
	INSERT INTO other SELECT i, i FROM generate_series(1, 300) i;
	INSERT INTO parts SELECT i, i FROM generate_series(1, 300) i;
	CREATE PUBLICATION p FOR TABLE t, other, parts WITH (publish_via_partition_root);
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, 's');
same($_, "$_ copied") foreach qw(t other parts);

# in place, with rows of the same transaction before and after
follow('t', q{BEGIN; INSERT INTO t (id, i) VALUES (1001, 1); UPDATE t SET tx = tx || 'x', i = 7 WHERE id = 3; ALTER TABLE t RENAME i TO renamed;
	INSERT INTO t (id, renamed) VALUES (1002, 2); UPDATE t SET renamed = 3 WHERE id IN (1001, 5); DELETE FROM t WHERE id = 6; COMMIT}, 0, 'a column renamed inside a transaction');
follow('t', q{BEGIN; INSERT INTO t (id, renamed) VALUES (1011, 2147483647); ALTER TABLE t ALTER renamed TYPE bigint; INSERT INTO t (id, renamed) VALUES (1012, 5000000000);
	UPDATE t SET renamed = 5000000001 WHERE id = 1; COMMIT}, 0, 'an integer widened inside a transaction: 5000000000 is not 705032704');
follow('t', q{ALTER TABLE t ALTER si TYPE int; UPDATE t SET si = 100000 WHERE id < 10}, 0);
follow('t', q{ALTER TABLE t ALTER f TYPE double precision; UPDATE t SET f = 0.1 WHERE id < 10}, 0);
follow('t', q{ALTER TABLE t ALTER n TYPE numeric(30,6); UPDATE t SET n = 123456789012345678901234.123456 WHERE id < 10}, 0);
follow('t', q{ALTER TABLE t ALTER vc TYPE varchar(30); UPDATE t SET vc = repeat('z', 30) WHERE id < 10}, 0);
follow('t', q{ALTER TABLE t ALTER vc TYPE text; UPDATE t SET vc = repeat('z', 300) WHERE id < 10}, 0);
follow('t', q{ALTER TABLE t ALTER ts TYPE timestamp; UPDATE t SET ts = '2024-01-01 00:00:00.123456' WHERE id < 10}, 0);
follow('t', q{ALTER TABLE t RENAME si TO swap; ALTER TABLE t RENAME f TO si; ALTER TABLE t RENAME swap TO f; UPDATE t SET f = 8, si = 0.8 WHERE id = 20}, 0, 'names exchanged');
follow('t', q{BEGIN; ALTER TABLE t RENAME si TO swap; ALTER TABLE t RENAME f TO si; UPDATE t SET swap = 0.9 WHERE id = 21; ALTER TABLE t RENAME swap TO f; UPDATE t SET f = 0.7 WHERE id = 22; COMMIT}, 0, 'names exchanged in a transaction');
follow('t', q{ALTER TABLE t RENAME id TO key; UPDATE t SET key = key + 5000 WHERE key < 20; DELETE FROM t WHERE key = 30}, 0, 'the key renamed');
follow('t', q{ALTER TABLE t RENAME key TO id}, 0, 'and again, without a row afterwards');
sql('UPDATE t SET vc = id WHERE vc IS NULL');
follow('t', q{ALTER TABLE t ALTER vc SET NOT NULL; INSERT INTO t (id, vc) VALUES (7001, 'x'); ALTER TABLE t ALTER vc DROP NOT NULL; INSERT INTO t (id) VALUES (7002)}, 0, 'NOT NULL');
follow('t', q{BEGIN; ALTER TABLE t ADD COLUMN a int; UPDATE t SET a = 1 WHERE id = 41; ALTER TABLE t ALTER a TYPE bigint; ROLLBACK; UPDATE t SET vc = 'rolled back' WHERE id = 42}, 0, 'a change that was rolled back');
follow('t', q{ALTER TABLE t DROP COLUMN n; UPDATE t SET vc = 'dropped' WHERE id = 43}, 0, 'a column dropped');
follow('t', q{ALTER TABLE t ADD COLUMN n text; UPDATE t SET n = 'new' WHERE id = 43}, 0, 'and another of its name');
is(sql('SELECT count(n_dropped) > 200 FROM lake.t'), 't', 'the lake has the old one still');
follow('t', q{ALTER TYPE mood ADD VALUE 'fine'; UPDATE t SET m = 'fine' WHERE id = 44}, 0, 'a value of an enum added');
follow('t', q{ALTER TABLE t ALTER j TYPE jsonb; UPDATE t SET j = '{"b" : 1}' WHERE id = 44}, 1, 'text mapped types are rewritten');

# copied again: values that are not in the WAL
follow('t', q{ALTER TABLE t ADD COLUMN seven int DEFAULT 7; UPDATE t SET vc = 'seven' WHERE id = 50}, 1, 'a constant default');
follow('t', q{ALTER TABLE t ADD COLUMN eight int DEFAULT 8}, 1, 'a constant default, and no row afterwards');
follow('t', q{ALTER TABLE t ADD COLUMN r float DEFAULT random(); ALTER TABLE t ALTER r DROP DEFAULT}, 1, 'a volatile default, which is dropped at once');
follow('t', q{ALTER TABLE t ADD COLUMN s int GENERATED ALWAYS AS IDENTITY}, 1, 'an identity');
follow('t', q{ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (seven + 1) STORED; INSERT INTO t (id) VALUES (8001)}, 1, 'a generated column');
follow('t', q{ALTER TABLE t ALTER renamed TYPE bigint USING renamed * 2; UPDATE t SET renamed = 5 WHERE id = 60}, 1, 'USING with the same type');
follow('t', q{ALTER TABLE t ALTER vc TYPE text USING upper(vc)}, 1, 'USING, and no row afterwards');
follow('t', q{ALTER TABLE t DROP COLUMN g; ALTER TABLE t ALTER seven TYPE smallint; UPDATE t SET seven = 9 WHERE id = 61}, 1, 'a narrower type');
follow('t', q{ALTER TABLE t ALTER eight TYPE text; UPDATE t SET eight = 'nine' WHERE id = 61}, 1, 'another type');
follow('t', q{ALTER TABLE t ALTER u TYPE text USING left(u::text, 4)}, 1, 'text of another type');
follow('t', q{ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'}, 1, 'a value of an enum renamed');
follow('t', q{ALTER TYPE pair ADD ATTRIBUTE c int; UPDATE t SET p = (1, 2, 3)::pair WHERE id = 62}, 1, 'a composite type changed');
follow('t', q{BEGIN; INSERT INTO t (id) VALUES (9001); ALTER TABLE t ADD COLUMN late int DEFAULT 3; INSERT INTO t (id) VALUES (9002); ALTER TABLE t RENAME late TO later;
	ALTER TABLE t ALTER later TYPE text USING 'x' || later; INSERT INTO t (id) VALUES (9003); UPDATE t SET later = 'y' WHERE id = 9001; COMMIT; UPDATE t SET later = 'z' WHERE id = 9002}, 1, 'several changes in a transaction');

# partitions with their columns in another order
follow('parts', q{ALTER TABLE parts RENAME v TO w; UPDATE parts SET w = w + 1 WHERE id < 200}, 0, 'a partitioned table: name');
follow('parts', q{ALTER TABLE parts ALTER w TYPE bigint; UPDATE parts SET w = 5000000000 WHERE id < 200}, 0, 'type');
follow('parts', q{ALTER TABLE parts ALTER w TYPE bigint USING w + 1}, 1, 'values');
follow('parts', q{ALTER TABLE parts ADD COLUMN x int DEFAULT 5; UPDATE parts SET x = 6 WHERE id % 50 = 0}, 1, 'new column');

# names and schemas of tables: the sync knows them by oid
sql(q{ALTER TABLE other RENAME TO another; CREATE SCHEMA elsewhere; ALTER TABLE another SET SCHEMA elsewhere; UPDATE elsewhere.another SET v = v + 1});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'other');
is(sql('SELECT count(*) FROM (TABLE elsewhere.another EXCEPT TABLE lake.other) d'), 0, 'a table renamed and moved');
sql(q{CALL streamhouse.resync_table('s', 'elsewhere.another'); UPDATE elsewhere.another SET v = v + 1});
wait_for_sync($node, 's');
is(sql('SELECT count(*) FROM (TABLE elsewhere.another EXCEPT TABLE lake.other) d'), 0, 'and copied again, into the same lake table');
my $from = -s $node->logfile;
sql(q{INSERT INTO elsewhere.another VALUES (777, 7); DROP TABLE elsewhere.another; INSERT INTO t (id) VALUES (9100)});
wait_for_sync($node, 's');
log_tells(qr/sync "s" leaves table "elsewhere.another"|sync "s" leaves table "\d+"/, $from, 'a table dropped: the log tells');
is(sql(q{SELECT string_agg("table", ' ' ORDER BY "table") FROM streamhouse.sync_tables}), 'parts t', 'the sync has it no more');
is(sql('SELECT v FROM lake.other WHERE id = 777'), '7', 'all of it up to the drop is in the lake');
same('t', 'and the others go on');

# what cannot be followed: keys
sql(q{CREATE TABLE k (id int PRIMARY KEY, n int NOT NULL); INSERT INTO k VALUES (1, 1); ALTER PUBLICATION p ADD TABLE k; CALL streamhouse.refresh_sync('s')});
wait_for_sync($node, 's');
follow('k', q{ALTER TABLE k DROP CONSTRAINT k_pkey; ALTER TABLE k ADD PRIMARY KEY (id); INSERT INTO k VALUES (2, 2)}, 0, 'the key made again');
foreach my $case (
	[ 'ALTER TABLE k ALTER id TYPE bigint', qr/Column "id" would be BIGINT now.*part of the key, whose types cannot change/ ],
	[ 'ALTER TABLE k DROP CONSTRAINT k_pkey; ALTER TABLE k ADD PRIMARY KEY (n, id)', qr/another one: \(id, n\) now, and \(id\) in the lake, where keys cannot change/ ],
	[ 'ALTER TABLE k DROP CONSTRAINT k_pkey; ALTER TABLE k ADD PRIMARY KEY (n)', qr/another one: \(n\) now, and \(id, n\) in the lake|another one: \(n\) now, and \(n, id\) in the lake/ ],
	[ 'ALTER TABLE k REPLICA IDENTITY FULL; ALTER TABLE k DROP CONSTRAINT k_pkey', qr/another one: \(\) now, and \(n\) in the lake/ ])
{
	my ($change, $reason) = @$case;
	sql("$change; INSERT INTO k SELECT max(id) + 1, max(n) + 1 FROM k; INSERT INTO t (id) VALUES (10000 + (random() * 100000000)::int)");
	my $error = table_error($node, 's', 'k');
	like($error, $reason, "$change: why");
	like($error, qr/remove the lake table and call streamhouse.resync_table/, 'and the cure');
	wait_for_sync($node, 's');
	same('t', 'the others go on');
	last if $change =~ /FULL/;
	system('rm', '-rf', "$lake/d.db/k");
	sql(q{CALL streamhouse.resync_table('s', 'k'); UPDATE k SET n = n});
	wait_for_sync($node, 's');
	same('k', 'copied again');
}
sql('DROP TABLE k; INSERT INTO t (id) VALUES (9201)');
wait_for_sync($node, 's');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM streamhouse.sync_tables WHERE "table" = 'k'}), 'a paused table that is dropped leaves the sync');

# policies
sql(q{CALL streamhouse.drop_sync('s'); DROP PUBLICATION p;
	CREATE TABLE pol (id int PRIMARY KEY, v int, w numeric(8,2), x text); INSERT INTO pol SELECT i, i, i, i FROM generate_series(1, 100) i;
	CREATE PUBLICATION q FOR TABLE pol, t;
	CALL streamhouse.create_sync('i', 'q', 'lake', 'ignored', flush_interval => '100 ms', on_schema_change => 'ignore')});
wait_for_sync($node, 'i');
sql(q{IMPORT FOREIGN SCHEMA ignored LIMIT TO (pol) FROM SERVER lake INTO lake;
	BEGIN; INSERT INTO pol VALUES (201, 201, 201, 'before');
	ALTER TABLE pol RENAME v TO named; ALTER TABLE pol ADD COLUMN extra int DEFAULT 5; ALTER TABLE pol ALTER named TYPE bigint; ALTER TABLE pol ALTER w TYPE numeric(12,4);
	INSERT INTO pol VALUES (202, 202, 202.5, 'after', 1); COMMIT;
	ALTER TABLE pol DROP COLUMN x; INSERT INTO pol VALUES (203, 203, 203, 1); UPDATE pol SET named = -1 WHERE id = 1; DELETE FROM pol WHERE id = 2});
wait_for_sync($node, 'i');
is(sql(q{SELECT string_agg(concat_ws(',', id, v, w, coalesce(x, 'null')), ' ' ORDER BY id) FROM lake.pol WHERE id < 4 OR id > 200}),
	'1,-1,1.00,null 3,3,3.00,3 201,201,201.00,before 202,202,202.50,after 203,203,203.00,null', 'ignore: the lake keeps its columns');
is(sql(q{SELECT string_agg(state, ' ') FROM streamhouse.sync_tables}), 'streaming streaming', 'nothing is paused');
sql(q{ALTER TABLE pol ALTER named TYPE bigint USING named + 1});
wait_for_sync($node, 'i');
is(sql(q{SELECT count(*) FROM lake.pol l JOIN pol USING (id) WHERE l.v = named}), sql('SELECT count(*) FROM pol'), 'ignore: values that changed are copied');
sql(q{UPDATE pol SET named = 5000000000 WHERE id = 5});
like(table_error($node, 'i', 'pol'), qr/A value of column "v" does not fit INT, its type in the lake.*resync_table/, 'a value that does not fit pauses the table');
is(sql('SELECT v FROM lake.pol WHERE id = 5'), '6', 'and is not in the lake');
sql(q{UPDATE pol SET named = 5; CALL streamhouse.resync_table('i', 'pol')});
wait_for_sync($node, 'i');
sql(q{UPDATE pol SET w = 0.125 WHERE id = 6});
like(table_error($node, 'i', 'pol'), qr/A value of column "w" does not fit DECIMAL\(8, 2\), its type in the lake/, 'nor are digits cut');
sql(q{CALL streamhouse.alter_sync('i', on_schema_change => 'evolve'); CALL streamhouse.resync_table('i', 'pol'); UPDATE pol SET named = 5000000000 WHERE id = 7});
wait_for_sync($node, 'i');
sql(q{DROP FOREIGN TABLE lake.pol; IMPORT FOREIGN SCHEMA ignored LIMIT TO (pol) FROM SERVER lake INTO lake});
is(sql('SELECT count(*) FROM (SELECT id, named, w, extra FROM pol EXCEPT SELECT id, named, w, extra FROM lake.pol) d'), 0, 'another policy, and the lake follows');

sql(q{CALL streamhouse.alter_sync('i', on_schema_change => 'pause'); ALTER TABLE pol ADD COLUMN more int; INSERT INTO pol (id) VALUES (301); INSERT INTO t (id) VALUES (9301)});
like(table_error($node, 'i', 'pol'), qr/columns have changed: Column "more" is new. Changes from here on are not taken: call streamhouse.resync_table/, 'pause');
wait_for_sync($node, 'i');
is(sql(q{SELECT state FROM streamhouse.sync_tables WHERE "table" = 't'}), 'streaming', 'the others go on');
sql(q{CALL streamhouse.resync_table('i', 'pol'); CALL streamhouse.alter_sync('i', on_schema_change => 'stop'); ALTER TABLE pol ALTER more SET DEFAULT 3; INSERT INTO pol (id) VALUES (302)});
wait_for_sync($node, 'i');
is(sql(q{SELECT string_agg(state, ' ') FROM streamhouse.sync_tables}), 'streaming streaming', 'no change of columns');
sql(q{INSERT INTO pol (id) VALUES (303); ALTER TABLE pol RENAME more TO less; INSERT INTO pol (id) VALUES (304)});
like(sync_error($node, 'i'), qr/columns of table "public.pol" have changed.*Column "more" is called "less" now.*alter_sync with on_schema_change/, 'stop');
sql(q{CALL streamhouse.alter_sync('i', on_schema_change => 'evolve')});
wait_for_sync($node, 'i');
sql(q{DROP FOREIGN TABLE lake.pol; IMPORT FOREIGN SCHEMA ignored LIMIT TO (pol) FROM SERVER lake INTO lake});
is(sql('SELECT count(*) FROM (SELECT id, named, w, extra, less FROM pol EXCEPT SELECT id, named, w, extra, less FROM lake.pol) d'), 0, 'and goes on when it may');
my ($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.alter_sync('i', on_schema_change => 'guess')});
like($err, qr/"on_schema_change" must be "evolve", "ignore", "pause" or "stop", not "guess"/, 'no other policy');

# a lake that keeps rows which the source has deleted is not copied over
sql(q{CREATE TABLE arch (id int PRIMARY KEY, v int); INSERT INTO arch VALUES (1, 1), (2, 2); CREATE PUBLICATION a FOR TABLE arch WITH (publish = 'insert, update');
	CALL streamhouse.create_sync('a', 'a', 'lake', 'd', flush_interval => '100 ms')});
wait_for_sync($node, 'a');
sql(q{DELETE FROM arch WHERE id = 1; ALTER TABLE arch ADD COLUMN w int DEFAULT 5; INSERT INTO arch VALUES (3, 3)});
like(table_error($node, 'a', 'arch'), qr/Column "w" was added with a default.*not copied again by itself, because the publication leaves out some operations/, 'an archive is paused');
import_lake_tables($node, 'd', 'arch');
is(sql('SELECT count(*) FROM lake.arch'), 2, 'and keeps its rows');

$node->stop;
done_testing();
