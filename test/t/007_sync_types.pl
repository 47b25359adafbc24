
# Every type of a source column reaches the lake: by its counterpart, or as the
# text that its output function prints, in the initial copy and in changes.
# What no lake type can hold is an error, NULL or clamped, as the sync says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('types', "datestyle = 'German'\nintervalstyle = 'iso_8601'\ntimezone = 'Asia/Tokyo'\nextra_float_digits = 0\n");

# column, type, a value, another one; the text is what the session's settings below print
my @columns = (
	[ 'u', 'uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000001' ],
	[ 'j', 'json', '{"b":  1, "a": [null, "é"]}', '"text"' ],
	[ 'jb', 'jsonb', '{"b": 1, "a": [null, 1.50]}', 'null' ],
	[ 'iv', 'interval', '1 year 2 mons -3 days 04:05:06.789', '-1 microsecond' ],
	[ 'r', 'int4range', '[1,10)', 'empty' ],
	[ 'tr', 'tstzrange', '["2024-01-01 00:00:00+00",)', '(,"2024-05-01 12:00:00.000001+02"]' ],
	[ 'mr', 'nummultirange', '{[1.5,2.5),[7,8)}', '{}' ],
	[ 'mood', 'mood', 'happy', 'sad' ],
	[ 'd', 'positive', '7', '12' ],
	[ 'dt', 'label', 'a label', '' ],
	[ 'du', 'identifier', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000002' ],
	[ 'c', 'point3', '(1,2.5,"a ""b"" c")', '(,,)' ],
	[ 'm', 'money', '$1,234.56', '-$0.01' ],
	[ 'ip', 'inet', '192.168.1.5/24', '::1' ],
	[ 'net', 'cidr', '10.0.0.0/8', '2001:db8::/32' ],
	[ 'mac', 'macaddr', '08:00:2b:01:02:03', 'ff:ff:ff:ff:ff:ff' ],
	[ 'mac8', 'macaddr8', '08:00:2b:01:02:03:04:05', '00:00:00:00:00:00:00:00' ],
	[ 'b', 'bit(5)', '10101', '00000' ],
	[ 'vb', 'bit varying', '101', '' ],
	[ 'x', 'xml', '<a b="1">&lt;é</a>', '<b/>' ],
	[ 'v', 'tsvector', q{'a':1A 'fat':2 'it''s':3}, '' ],
	[ 'q', 'tsquery', q{'fat' & ( 'rat' | !'cat' )}, q{'x':*} ],
	[ 'h', 'hstore', '"a"=>"1", "b"=>NULL', '' ],
	[ 'ci', 'citext', 'MiXed', '' ],
	[ 't6', 'time', '23:59:59.123456', '24:00:00' ],
	[ 'tz', 'timetz', '10:00:00.5+05:30', '00:00:00+00' ],
	[ 'n', 'numeric', '1e30', 'NaN' ],
	[ 'n2', 'numeric', '12345678901234567890.000000000000000000010', '-Infinity' ],
	[ 'n3', 'numeric(50,3)', '12345678901234567890123456789012345678901234567.125', '0.000' ],
	[ 'n4', 'numeric(3,-2)', '12300', '-99900' ],
	[ 'ch', '"char"', 'x', '' ],
	[ 'na', 'name', 'pg_class', '' ],
	[ 'o', 'oid', '4294967295', '0' ],
	[ 'bp', 'bpchar', 'abc  ', '' ],
	[ 'rc', 'regclass', 'pg_class', 'public.numbers' ],
	[ 'p', 'point', '(1.5,0.1)', '(-0,1e+300)' ],
	[ 'l', 'pg_lsn', '16/B374D848', '0/0' ],
	[ 'f', 'float8', '0.30000000000000004', 'NaN' ],
	[ 'ts', 'timestamp(3)', '2024-02-29 12:00:00.123', '0001-01-01 00:00:00' ],
	[ 'dd', 'date', '4713-01-01 BC', '20000-01-01' ]);

$node->safe_psql('postgres', q{
	CREATE EXTENSION hstore;
	CREATE EXTENSION citext;
	CREATE TABLE numbers (n int);
	CREATE TYPE mood AS ENUM ('sad', 'happy');
	CREATE DOMAIN positive AS int CHECK (VALUE > 0);
	CREATE DOMAIN label AS varchar(20);
	CREATE DOMAIN identifier AS uuid NOT NULL;
	CREATE TYPE point3 AS (x int, y float8, label text);
	CREATE TABLE small (id uuid PRIMARY KEY, v interval);
	INSERT INTO small VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1 day');
	CREATE TABLE fine (k numeric, m mood, v int, PRIMARY KEY (k, m));
	INSERT INTO fine VALUES (1.0, 'sad', 1), (2, 'happy', 2);
	});

sub quoted
{
	my ($value) = @_;
	$value =~ s/'/''/g;
	return "'$value'";
}

my $definition = join(', ', map { "$_->[0] $_->[1]" } @columns);
my $first = join(', ', map { quoted($_->[2]) } @columns);
my $second = join(', ', map { quoted($_->[3]) } @columns);
my $nulls = join(', ', map { $_->[0] eq 'du' ? "'00000000-0000-0000-0000-000000000003'" : 'NULL' } @columns);
my $settings = "SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; SET timezone = 'UTC'; SET extra_float_digits = 1; SET search_path = pg_catalog;";

$node->safe_psql('postgres', qq{
	SET datestyle = 'ISO';
	CREATE TABLE everything (id int PRIMARY KEY, $definition);
	INSERT INTO everything VALUES (1, $first), (2, $nulls);
	CREATE PUBLICATION types FOR TABLE everything, small, fine;
	CALL streamhouse.create_sync('types', 'types', 'lake', 'types', flush_interval => '100 ms');
});
wait_for_sync($node, 'types');
$node->safe_psql('postgres', qq{
	SET datestyle = 'ISO';
	INSERT INTO everything VALUES (3, $first), (4, $second), (5, $nulls);
	UPDATE everything SET u = '00000000-0000-0000-0000-00000000000f', jb = jb WHERE id = 1;
	UPDATE small SET v = v * 2;
	INSERT INTO small VALUES ('00000000-0000-0000-0000-000000000001', NULL), ('00000000-0000-0000-0000-000000000002', '1 mon');
	DELETE FROM small WHERE v = '1 mon';
	UPDATE small SET id = '00000000-0000-0000-0000-000000000009' WHERE v IS NULL;
	UPDATE fine SET k = 1.00 WHERE k = 1;
	DELETE FROM fine WHERE m = 'happy';
	ALTER TYPE mood ADD VALUE 'new' BEFORE 'sad';
	INSERT INTO fine VALUES (1e40, 'new', 3), ('NaN', 'new', 4);
});
wait_for_sync($node, 'types');
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA types FROM SERVER lake INTO lake');
foreach my $column (@columns)
{
	my ($name, $type) = @$column;
	# what has a counterpart is compared as such, the rest with what the output function prints
	my $value = $type =~ /^(positive|label|oid|float8|timestamp\(3\)|date)$/ ? "s.$name"
	  : "CASE WHEN num_nulls(s.$name) = 0 THEN format('%s', s.$name) END";
	is($node->safe_psql('postgres', qq{
		$settings
		SELECT s.id, $value, l.$name FROM public.everything s JOIN lake.everything l USING (id)
		WHERE $value IS DISTINCT FROM l.$name}),
		'', "$type");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM lake.everything'), '5', 'all rows are there');
is($node->safe_psql('postgres', 'SELECT id, v FROM lake.small ORDER BY id'),
	"00000000-0000-0000-0000-000000000009|\na0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|2 days", 'keys of type uuid');
is($node->safe_psql('postgres', 'SELECT k, m, v FROM lake.fine ORDER BY v'), "1.00|sad|1\n1${\('0' x 40)}|new|3\nNaN|new|4",
	'keys that are kept as text');
is($node->safe_psql('postgres', q{SELECT data_type FROM information_schema.columns
	WHERE table_schema = 'lake' AND table_name = 'everything' AND column_name IN ('id', 'u', 'd', 'o', 't6') ORDER BY column_name}),
	"integer\ninteger\nbigint\ntext\ntext", 'lake types');

# large values of such types are reconstructed, and kept when they do not change
$node->safe_psql('postgres', q{
	UPDATE everything SET jb = (SELECT jsonb_object_agg(i, md5(i::text)) FROM generate_series(1, 3000) i) WHERE id = 3;
	UPDATE everything SET o = 5 WHERE id = 3;
});
wait_for_sync($node, 'types');
is($node->safe_psql('postgres', 'SELECT l.jb = s.jb::text, l.o FROM everything s JOIN lake.everything l USING (id) WHERE id = 3'),
	't|5', 'an unchanged large jsonb stays');

# arrays, of what has a counterpart and of what is kept as text
$node->safe_psql('postgres', q{
	CREATE TABLE listing (id int PRIMARY KEY, numbers int[], labels label[], ids uuid[], points point[], moods mood[]);
	INSERT INTO listing VALUES (1, '{1,NULL,3}', '{a,"b c"}', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}', '{"(1,2)",NULL}', '{sad}'), (2, NULL, NULL, NULL, NULL, NULL);
	CREATE PUBLICATION listing FOR TABLE listing;
	CALL streamhouse.create_sync('listing', 'listing', 'lake', 'types');
	CALL streamhouse.wait_for_sync('listing');
	INSERT INTO listing VALUES (3, '{}', '{}', '{}', '{}', '{}'), (4, ARRAY(SELECT generate_series(1, 5000)), NULL, NULL, NULL, NULL);
	UPDATE listing SET moods = '{happy,sad}' WHERE id IN (1, 4);
	CALL streamhouse.wait_for_sync('listing');
	IMPORT FOREIGN SCHEMA types LIMIT TO (listing) FROM SERVER lake INTO lake;
});
is($node->safe_psql('postgres', q{SELECT s.id, l FROM listing s JOIN lake.listing l USING (id) WHERE (l.numbers, l.labels::text[], l.ids, l.points, l.moods)
	IS DISTINCT FROM (s.numbers, s.labels::text[], s.ids::text[], s.points::text[], s.moods::text[])}), '', 'arrays');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lake.listing'), '4', 'all rows with arrays are there');

# what cannot be represented
$node->safe_psql('postgres', q{
	CREATE TABLE limits (id int PRIMARY KEY, d date, t timestamp, z timestamptz(3), n numeric(5,2), c time(3));
	INSERT INTO limits VALUES (1, '2024-01-01', '2024-01-01', '2024-01-01', 1, '10:00');
	CREATE PUBLICATION limits FOR TABLE limits;
	CALL streamhouse.create_sync('limits', 'limits', 'lake', 'types', flush_interval => '100 ms');
	CALL streamhouse.wait_for_sync('limits');
	INSERT INTO limits VALUES (2, 'infinity');
});
like(sync_error($node, 'limits'),
	qr/column "d" of table "public.limits" cannot hold infinity \(change of table "public.limits", row \(id\)=\(2\)\. .*alter_sync/,
	'infinity is an error that names the row and the cure');
$node->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA types LIMIT TO (limits) FROM SERVER lake INTO lake;
	CALL streamhouse.alter_sync('limits', on_unrepresentable => 'null')});
wait_for_sync($node, 'limits');
$node->safe_psql('postgres', q{INSERT INTO limits VALUES (3, '2024-01-01', '-infinity', 'infinity', 'NaN', '24:00')});
wait_for_sync($node, 'limits');
is($node->safe_psql('postgres', 'SELECT * FROM lake.limits WHERE id > 1 ORDER BY id'), "2|||||\n3|01.01.2024||||", 'NULL on request');
$node->safe_psql('postgres', q{
	CALL streamhouse.alter_sync('limits', flush_interval => '150 ms', on_unrepresentable => 'clamp');
	INSERT INTO limits VALUES (4, '-infinity', 'infinity', 'infinity', 'NaN', '24:00'), (5, '20000-01-01', '-infinity', '-infinity', 5, '23:59:59.999')});
wait_for_sync($node, 'limits');
is($node->safe_psql('postgres', q{SET datestyle = 'ISO'; SET timezone = 'UTC'; SELECT * FROM lake.limits WHERE id > 3 ORDER BY id}),
	"4|0001-01-01|9999-12-31 23:59:59.999999|9999-12-31 23:59:59.999+00||23:59:59.999\n" .
	"5|9999-12-31|0001-01-01 00:00:00|0001-01-01 00:00:00+00|5.00|23:59:59.999", 'clamped on request');
is($node->safe_psql('postgres', q{SELECT flush_interval, on_unrepresentable FROM streamhouse.sync WHERE name = 'limits'}),
	'PT0.15S|clamp', 'both are remembered');
my ($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.alter_sync('limits', on_unrepresentable => 'guess')});
like($err, qr/must be "error", "null" or "clamp"/, 'another policy is refused');

# in the initial copy, too; a key is never NULL
$node->safe_psql('postgres', q{
	CREATE TABLE days (d date PRIMARY KEY);
	INSERT INTO days VALUES ('infinity'), ('2024-01-01');
	CREATE PUBLICATION days FOR TABLE days;
	CALL streamhouse.create_sync('days', 'days', 'lake', 'types', on_unrepresentable => 'null');
});
like(copy_error($node, 'days', 'days'), qr/column "d" of table "public.days" cannot hold infinity \(initial copy of table "public.days"/,
	'a key that cannot be represented');
$node->safe_psql('postgres', q{CALL streamhouse.alter_sync('days', on_unrepresentable => 'clamp')});
wait_for_sync($node, 'days');
$node->safe_psql('postgres', q{IMPORT FOREIGN SCHEMA types LIMIT TO (days) FROM SERVER lake INTO lake});
is($node->safe_psql('postgres', 'SELECT max(d) FROM lake.days'), '31.12.9999', 'is clamped');

$node->stop;
done_testing();
