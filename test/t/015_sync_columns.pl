
# Columns that rules compute, partitions by them, and conditions of rows.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('columns');

sub sql { return $node->safe_psql('postgres', @_) }

# The lake table has the rows of a query, each as often.
sub same_as
{
	my ($table, $query, $what) = @_;
	is(sql(qq{
		(SELECT 'missing', t::text FROM (($query) EXCEPT ALL TABLE lake.$table) t ORDER BY 2 LIMIT 5)
		UNION ALL
		(SELECT 'too many', t::text FROM (TABLE lake.$table EXCEPT ALL ($query)) t ORDER BY 2 LIMIT 5)
	}), '', $what);
}

# ---- refusals ----

sql(q{
	CREATE TABLE plain (id int PRIMARY KEY, created timestamptz, n int, note text, other text);
	CREATE FUNCTION mine(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1';
	CREATE PUBLICATION refusals FOR TABLE plain (id, created, n, note);
});

sub refused
{
	my ($rule, $expected, $what) = @_;
	my ($code, $out, $err) = $node->psql('postgres',
		qq{CALL streamhouse.create_sync('r', 'refusals', 'lake', 'r', tables => '[{"source": "public.plain", $rule}]')});
	like($err, $expected, $what);
}

refused('"columns": {"x": "n +"}', qr/syntax error/, 'no expression');
refused('"columns": {"x": "n, id"}', qr/is not one expression/, 'two of them');
refused('"columns": {"x": "n FROM plain"}', qr/is not an expression alone/, 'more than an expression');
refused('"columns": {"x": "n AS y"}', qr/is not an expression alone/, 'an expression with a name');
refused('"columns": {"x": "*"}', qr/cannot use all columns/, 'all columns');
refused('"columns": {"x": "m + 1"}', qr/column "m" does not exist/, 'an unknown column');
refused('"columns": {"x": "other"}', qr/column "other" does not exist/, 'a column that is not published');
refused('"columns": {"x": "n || true"}', qr/operator does not exist/, 'an unknown operator');
refused('"columns": {"x": "mine(n)"}', qr/function mine\(integer\) does not exist/, 'a function of a user');
refused('"columns": {"x": "public.mine(n)"}', qr/uses a function whose value may change.*AT TIME ZONE/s, 'the same by its schema');
refused(q{"columns": {"x": "date_trunc(''day'', created)"}}, qr/uses a function whose value may change/, 'a stable function');
refused('"columns": {"x": "now()"}', qr/uses a function whose value may change/, 'the time');
refused('"columns": {"x": "CURRENT_USER"}', qr/uses a function whose value may change/, 'the user');
refused('"columns": {"x": "random()"}', qr/uses a function whose value may change/, 'chance');
refused('"columns": {"x": "(SELECT 1)"}', qr/cannot use subquery/, 'a subquery');
refused('"columns": {"x": "sum(n)"}', qr/aggregate functions are not allowed/, 'an aggregate');
refused('"columns": {"x": "generate_series(1, n)"}', qr/set-returning functions are not allowed/, 'many values');
refused('"columns": {"n": "1"}', qr/column "n" specified more than once/, 'a name that is taken');
refused('"columns": {"x": 1}', qr/"columns" of the rule for "public.plain" must be a string/, 'an expression that is no string');
refused('"where": "n"', qr/must be type boolean/, 'a condition that is none');
refused('"where": "n > 0"', qr/table "public.plain" has not REPLICA IDENTITY FULL, although the condition "where" of its rule uses columns beside the key/,
	'a condition of other columns than the key');
refused('"partition": ["nothing"]', qr/column "nothing" of the partition does not exist/, 'a partition by nothing');
refused('"partition": ["n"]', qr/has not REPLICA IDENTITY FULL, although the partition "n" of a row is not known by its key/, 'a partition beside the key');
refused('"columns": {"x": "note || n::text"}', qr/column "x" is computed of large values, which an update may leave unchanged, and of others/,
	'large values with others');
refused('"history": true, "columns": {"x": "n + 1"}', qr/column "x" is computed of old rows, too|history needs/, 'history');
is(sql(qq{SELECT problem FROM streamhouse.check_sync('refusals', 'lake', 'r', tables => '[{"source": ".*", "where": "id / 0 = 1", "columns": {"a": "n", "b": "note"}}]')
	WHERE severity = 'error'}), '', 'what can be, can be');

# ---- values ----

my $rules = q{[
	{"source": "public.event", "where": "NOT test", "partition": ["day"], "metadata": ["table"],
	 "columns": {"day": "(created AT TIME ZONE ''UTC'')::date", "shard": "''a''", "lower_kind": "lower(kind)", "sized": "length(note) + amount"}},
	{"source": "public.doc", "where": "id > 5", "columns": {"head": "left(body, 5)", "double": "n * 2::bigint", "even": "n % 2 = 0"}},
	{"source": "public.measure", "partition": ["month"], "columns": {"month": "extract(month FROM at)::int"}}]};

sql(qq{
	CREATE TABLE event (id int PRIMARY KEY, created timestamptz NOT NULL, kind text, amount numeric(10,2), note text, test boolean);
	ALTER TABLE event REPLICA IDENTITY FULL;
	CREATE TABLE doc (id int PRIMARY KEY, body text, n int);
	CREATE TABLE journal (day date, v int);
	CREATE TABLE measure (id int, at timestamp, v int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
	CREATE TABLE measure_1 PARTITION OF measure FOR VALUES FROM (MINVALUE) TO ('2024-01-01');
	CREATE TABLE measure_2 (v int, dropped int, at timestamp NOT NULL, id int NOT NULL);
	ALTER TABLE measure_2 DROP COLUMN dropped;
	ALTER TABLE measure ATTACH PARTITION measure_2 FOR VALUES FROM ('2024-01-01') TO (MAXVALUE);
	INSERT INTO event SELECT i, '2024-03-01 12:00+00'::timestamptz + i * interval '7 hours', CASE WHEN i % 3 = 0 THEN NULL ELSE 'Kind ' || i % 5 END,
		i * 1.25, CASE WHEN i % 10 = 0 THEN repeat(i::text, 3000) ELSE 'x' END, i % 11 = 0 FROM generate_series(1, 300) i;
	ALTER TABLE doc ALTER body SET STORAGE EXTERNAL;
	INSERT INTO doc SELECT i, repeat(md5(i::text), 300), i FROM generate_series(1, 50) i;
	INSERT INTO measure SELECT i, '2023-12-20'::timestamp + i * interval '12 hours', i FROM generate_series(1, 60) i;
	INSERT INTO journal VALUES ('2024-01-01', 1), (NULL, 2);
	CREATE PUBLICATION p FOR TABLE event, doc, measure WITH (publish_via_partition_root);
	CREATE PUBLICATION inserts FOR TABLE journal WITH (publish = 'insert');
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', tables => '$rules');
	CALL streamhouse.create_sync('journal', 'inserts', 'lake', 'd', flush_interval => '100 ms', tables => '[
		{"source": ".*", "where": "v IS DISTINCT FROM 3", "partition": ["day"], "columns": {"tenfold": "v * 10"}}]');
});

my $event = q{SELECT id, created, kind, amount, note, test, (created AT TIME ZONE 'UTC')::date, 'a'::text, (length(note) + amount)::text, lower(kind), 'public.event' FROM event WHERE NOT test};
my $doc = q{SELECT id, body, n, n % 2 = 0, left(body, 5), n * 2::bigint FROM doc WHERE id > 5};
my $measure = q{SELECT id, at, v, extract(month FROM at)::int FROM measure};
my $journal = q{SELECT day, v, v * 10 FROM journal WHERE v IS DISTINCT FROM 3};

sub all_are_right
{
	my ($when) = @_;
	wait_for_sync($node, $_) for qw(s journal);
	same_as('event', $event, "event $when");
	same_as('doc', $doc, "doc $when");
	same_as('measure', $measure, "measure $when");
	same_as('journal', $journal, "journal $when");
}

wait_for_sync($node, $_) for qw(s journal);
import_lake_tables($node, 'd', $_) for qw(event doc measure journal);
all_are_right('copied');
my ($schema) = slurp_file("$lake/d.db/event/schema/schema-0") =~ /("partitionKeys".*)"options"/s;
like($schema, qr/"partitionKeys"\s*:\s*\[\s*"day"\s*\],\s*"primaryKeys"\s*:\s*\[\s*"day",\s*"id"\s*\]/, 'the key begins with the partition');
ok(-d "$lake/d.db/event/day=2024-03-05" || -d "$lake/d.db/event/day=19787", 'there are folders of partitions');

sql(q{
	INSERT INTO event SELECT i, '2024-03-01'::timestamptz + i * interval '1 hour', 'NEW', 1, NULL, false FROM generate_series(301, 400) i;
	UPDATE event SET created = created + interval '3 days' WHERE id % 4 = 0;
	UPDATE event SET kind = 'Other' WHERE id % 10 = 0;
	UPDATE event SET test = NOT test WHERE id % 7 = 0;
	UPDATE event SET id = id + 1000 WHERE id % 50 = 0;
	DELETE FROM event WHERE id % 9 = 0;
	UPDATE doc SET n = n + 1 WHERE id % 2 = 0;
	UPDATE doc SET body = 'short' WHERE id % 5 = 0;
	DELETE FROM doc WHERE id % 13 = 0;
	UPDATE measure SET at = at + interval '40 days' WHERE id % 3 = 0;
	UPDATE measure SET v = -v WHERE id % 2 = 0;
	DELETE FROM measure WHERE id % 11 = 0;
	INSERT INTO journal VALUES ('2024-01-02', 3), ('2024-01-02', 4), (NULL, NULL);
});
all_are_right('after changes');

# ---- columns change ----

sql(q{
	ALTER TABLE event RENAME created TO made;
	ALTER TABLE event ADD COLUMN extra int;
	UPDATE event SET extra = id, made = made - interval '1 day' WHERE id < 50;
	ALTER TABLE doc RENAME body TO content;
	UPDATE doc SET content = reverse(content), n = n + 1 WHERE id < 30;
});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', $_) for qw(event doc);
$event = q{SELECT id, made, kind, amount, note, test, extra, (made AT TIME ZONE 'UTC')::date, 'a'::text, (length(note) + amount)::text, lower(kind), 'public.event' FROM event WHERE NOT test};
$doc = q{SELECT id, content, n, n % 2 = 0, left(content, 5), n * 2::bigint FROM doc WHERE id > 5};
all_are_right('after columns got other names');

sql(q{ALTER TABLE doc ALTER n TYPE numeric(10,2); INSERT INTO doc VALUES (500, 'late', 5)});
like(table_error($node, 's', 'doc'), qr/Column "n", which the table's rule uses, is of type numeric now/, 'another type of a column in use');
sql(q{CALL streamhouse.resync_table('s', 'doc')});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'doc');
same_as('doc', q{SELECT id, content, n, n % 2 = 0, left(content, 5), (n * 2::bigint)::text FROM doc WHERE id > 5}, 'copied again with it') ;
sql(q{ALTER TABLE doc DROP n; INSERT INTO doc VALUES (501, 'later')});
like(table_error($node, 's', 'doc'), qr/Column "n", which the table's rule uses, was dropped.*create the sync again with other rules/, 'a column in use is gone');

# ---- old rows are not told of any more; a partition that is null ----

sql(q{ALTER TABLE event REPLICA IDENTITY DEFAULT; UPDATE event SET made = made + interval '1 day'});
like(table_error($node, 's', 'event'), qr/It has not REPLICA IDENTITY FULL, although the condition "where"/, 'the replica identity is another one');
sql(q{ALTER TABLE event REPLICA IDENTITY FULL; CALL streamhouse.resync_table('s', 'event')});
all_are_right_but_doc('again');

sub all_are_right_but_doc
{
	my ($when) = @_;
	wait_for_sync($node, $_) for qw(s journal);
	same_as('event', $event, "event $when");
	same_as('measure', $measure, "measure $when");
}

sql(q{ALTER TABLE event ALTER made DROP NOT NULL; INSERT INTO event (id, test) VALUES (5000, false)});
like(table_error($node, 's', 'event'), qr/Column "day" is part of the key in the lake, and would be null in a row/, 'no partition for a row');
sql(q{DELETE FROM event WHERE id = 5000; CALL streamhouse.resync_table('s', 'event'); TRUNCATE measure; INSERT INTO measure VALUES (1, '2024-05-01', 1)});
all_are_right_but_doc('after a TRUNCATE');
$node->restart('immediate');
sql(q{INSERT INTO measure VALUES (2, '2024-06-01', 2); UPDATE event SET made = made - interval '10 days' WHERE id % 2 = 0});
all_are_right_but_doc('after a crash');

done_testing();
