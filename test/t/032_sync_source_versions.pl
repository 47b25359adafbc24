
# Sources of older majors, whose folders are in STREAMHOUSE_SOURCES (see
# test/sources): copy, changes of all kinds, values of all types, columns that
# change, a large transaction, kills and restarts.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my @installations = split ' ', $ENV{STREAMHOUSE_SOURCES} // '';
plan skip_all => 'STREAMHOUSE_SOURCES names no servers' unless @installations;

my ($node) = sync_node('lake', "max_worker_processes = 40\nstreamhouse.copy_chunk_size = 256kB\n");

# Of the source at work on.
my ($source, $version, $sync);

sub sql { return $node->safe_psql('postgres', @_) }
sub there { return $source->safe_psql('postgres', @_) }

sub start_source
{
	my ($installation) = @_;
	local $ENV{LC_ALL} = 'C';
	$version = `$installation/bin/pg_config --version` =~ /(\d+)\./ ? $1 : die;
	$sync = "s$version";
	$source = source_node("source$version", "max_wal_senders = 10\n" . ($version >= 13 ? "logical_decoding_work_mem = 64kB\n" : ''),
		install_path => $installation);
}

# Both servers say the same to a query of a table.
sub same
{
	my ($table, $columns, $what) = @_;
	is(sql("SELECT $columns FROM $sync.$table ORDER BY id"), there("SELECT $columns FROM $table ORDER BY id"), "$version: $what");
}

sub settle { wait_for_sync($node, $sync) }

sub import_tables
{
	sql("DROP SCHEMA IF EXISTS $sync CASCADE; CREATE SCHEMA $sync; IMPORT FOREIGN SCHEMA $sync FROM SERVER lake INTO $sync");
}

my %columns_at_first = (
	item => 'id, n, md5(note), md5(big)',
	full_identity => 'id, v',
	by_index => 'id, other, v',
	parts1 => 'id, k, v',
	parts => 'id, k, v',
	types => q{id, si, i, bi, re = 0.25, dp = 0.1, n, n2, t, vc, c, b, d, tm, ts, tz AT TIME ZONE 'UTC', bo, a::text, ta::text, m::text, ms::text, p, ps::text, pair::text,} .
	  ' j::text, jb::text, u::text, iv::text, r::text, ip::text, bits::text, o');
my %columns;

sub same_all
{
	my ($what) = @_;
	same($_, $columns{$_}, "$what: $_") for qw(item full_identity by_index types), $version >= 13 ? 'parts' : 'parts1';
}

sub make_tables
{
	there(q{
		CREATE TYPE mood AS ENUM ('sad', 'happy');
		CREATE DOMAIN price AS numeric(12,2) CHECK (VALUE >= 0);
		CREATE TYPE pair AS (a int, b text);
		CREATE TABLE item (id bigint PRIMARY KEY, n int, note text, big text);
		ALTER TABLE item ALTER big SET STORAGE EXTERNAL;
		CREATE TABLE types (id int PRIMARY KEY, si smallint, i int, bi bigint, re real, dp float8, n numeric, n2 numeric(20,4), t text, vc varchar(20), c char(5), b bytea,
			d date, tm time, ts timestamp, tz timestamptz, bo boolean, a int[], ta text[], m mood, ms mood[], p price, ps price[], pair pair, j json, jb jsonb, u uuid,
			iv interval, r int4range, ip inet, bits bit varying(8), o oid);
		CREATE TABLE full_identity (id int PRIMARY KEY, v text);
		ALTER TABLE full_identity REPLICA IDENTITY FULL;
		CREATE TABLE by_index (id int NOT NULL, other int NOT NULL UNIQUE, v text);
		ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_other_key;
		CREATE TABLE parts (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
		CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1);
		CREATE TABLE parts2 (v text, k int NOT NULL, id int NOT NULL);
		ALTER TABLE parts ATTACH PARTITION parts2 FOR VALUES IN (2);
	});
	there($version >= 13 ? 'CREATE PUBLICATION p FOR TABLE item, types, full_identity, by_index, parts WITH (publish_via_partition_root)' :
		'CREATE PUBLICATION p FOR TABLE item, types, full_identity, by_index, parts1, parts2');
	there(q{
		INSERT INTO item SELECT i, i % 100, CASE WHEN i % 7 > 0 THEN E'a\tb\\\\c\nd' || i END, CASE WHEN i % 50 = 0 THEN repeat(i::text, 3000) END FROM generate_series(1, 20000) i;
		INSERT INTO types VALUES (1, -3, 70000, 5000000000, 0.25, 0.1, 1e30, 12345678.1234, E'grüße \\\\ \t', 'vc', 'ab', '\x00ff10', '2026-01-02', '03:04:05.678', '2026-01-02 03:04:05.678901',
			'2026-01-02 03:04:05.678901+02', true, '{1,NULL,3}', '{"a,b",NULL}', 'happy', '{sad,happy}', 1.5, '{1.25,2}', '(3,"x,y")', '{"a": 1}', '{"a": [1, null]}',
			'11111111-2222-3333-4444-555555555555', '1 mon 2 days 03:00', '[1,5)', '10.0.0.0/8', B'101', 16384);
		INSERT INTO types (id) VALUES (2);
		INSERT INTO full_identity SELECT i, 'v' || i FROM generate_series(1, 100) i;
		INSERT INTO by_index SELECT i, -i, 'v' || i FROM generate_series(1, 100) i;
		INSERT INTO parts SELECT i, i % 2 + 1, 'v' || i FROM generate_series(1, 1000) i;
		CREATE ROLE reader LOGIN REPLICATION;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
	});
}

sub create_sync
{
	my $connection = connection_to($source, 'reader');
	is(sql("SELECT problem FROM streamhouse.check_sync('p', 'lake', '$sync', connection => '$connection') WHERE severity = 'error'"), '', "$version: nothing is wrong");
	is(sql("SELECT problem FROM streamhouse.check_sync('p', 'lake', '$sync', connection => '$connection', tables => '[{\"messages\": \"x\", \"table\": \"y\"}]') WHERE severity = 'error'"),
		$version >= 14 ? '' : "the source has version $version of PostgreSQL, which does not send logical messages", "$version: messages");
	sql("CALL streamhouse.create_sync('$sync', 'p', 'lake', '$sync', flush_interval => '100 ms', connection => '$connection')");
}

sub change_rows
{
	there(q{
		BEGIN;
		UPDATE item SET id = id + 1000000 WHERE id BETWEEN 100 AND 400;
		UPDATE item SET note = 'kept big' WHERE id % 50 = 0;
		DELETE FROM item WHERE id BETWEEN 500 AND 600;
		SAVEPOINT a;
		DELETE FROM item;
		ROLLBACK TO a;
		UPDATE full_identity SET v = 'other', id = id + 1000 WHERE id < 10;
		DELETE FROM full_identity WHERE id BETWEEN 20 AND 30;
		UPDATE by_index SET other = other - 1000 WHERE id < 10;
		DELETE FROM by_index WHERE id BETWEEN 20 AND 30;
		UPDATE parts SET v = 'changed' WHERE id % 10 = 0;
		UPDATE parts SET k = 3 - k WHERE id % 7 = 0;
		DELETE FROM parts WHERE id % 11 = 0;
		INSERT INTO types SELECT 3, si, i, bi, re, dp, 'NaN', n2, t, vc, c, b, d, tm, ts, tz, bo, '{}', ta, 'sad', ms, p, ps, pair, j, jb, u, iv, 'empty', ip, bits, o FROM types WHERE id = 1;
		UPDATE types SET m = 'sad', ms = '{}', jb = '[]', b = '' WHERE id = 1;
		COMMIT;
	});
}

sub change_columns
{
	there(q{
		ALTER TABLE item ADD COLUMN extra text;
		UPDATE item SET extra = 'e' || id WHERE id % 3 = 0;
		ALTER TABLE item RENAME note TO remark;
		INSERT INTO item (id, remark) VALUES (2000000, 'renamed');
		ALTER TABLE item DROP COLUMN n;
		INSERT INTO item (id, remark) VALUES (2000001, 'dropped');
		ALTER TABLE full_identity ADD COLUMN d int DEFAULT 7;
		INSERT INTO full_identity VALUES (6000, 'x');
		BEGIN;
		INSERT INTO by_index VALUES (6001, 6001, 'before');
		ALTER TABLE by_index ADD COLUMN d int;
		INSERT INTO by_index VALUES (6002, 6002, 'after', 5);
		COMMIT;
	});
	$columns{item} = 'id, md5(remark), md5(big), extra';
	$columns{$_} .= ', d' for qw(full_identity by_index);
}

# Ended in each way within, more than the source may keep in memory.
sub change_many_rows
{
	there(q{
		BEGIN;
		INSERT INTO full_identity SELECT i, repeat('x', 100) FROM generate_series(10000, 60000) i;
		SAVEPOINT a;
		INSERT INTO full_identity SELECT i, repeat('y', 100) FROM generate_series(100000, 120000) i;
		ROLLBACK TO a;
		UPDATE full_identity SET v = 'z' WHERE id % 5 = 0;
		SAVEPOINT b;
		DELETE FROM full_identity WHERE id % 7 = 0;
		RELEASE b;
		COMMIT;
		BEGIN;
		DELETE FROM full_identity;
		ROLLBACK;
	});
}

foreach my $installation (@installations)
{
	%columns = %columns_at_first;
	start_source($installation);
	make_tables();
	create_sync();
	settle();
	import_tables();
	same_all('copied');
	change_rows();
	settle();
	same_all('changes');
	change_columns();
	settle();
	import_tables();
	same_all('columns');
	change_many_rows();
	settle();
	same('full_identity', $columns{full_identity}, 'a large transaction');
	ok($source->poll_query_until('postgres', 'SELECT sum(stream_count) > 0 FROM pg_stat_replication_slots'), "$version: large transactions are streamed") if $version >= 14;
	there("TRUNCATE by_index, parts; INSERT INTO by_index VALUES (1, 1, 'after'); INSERT INTO parts VALUES (1, 1, 'after')");
	settle();
	same_all('truncated');
	$source->restart;
	there("UPDATE item SET remark = 'after a restart' WHERE id % 100 = 0");
	settle();
	$source->stop('immediate');
	$source->start;
	there("UPDATE item SET remark = 'after a crash' WHERE id % 100 = 1; DELETE FROM item WHERE id % 100 = 2");
	settle();
	same_all('restarted');
	is(there("SELECT count(*) FROM pg_replication_slots WHERE slot_name LIKE '%copy%'"), '0', "$version: no slot is left of copies");
	sql("CALL streamhouse.drop_sync('$sync')");
	is(there('SELECT count(*) FROM pg_replication_slots'), '0', "$version: the slot is dropped");
	$source->stop;
}
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process crashed');
$node->stop;
done_testing();
