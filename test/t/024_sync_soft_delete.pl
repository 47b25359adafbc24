
# Rules with "soft_delete": deleted rows stay in the lake, marked. What must be
# there is kept by triggers, in tables of the schema "kept".

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep);

my ($node, $lake) = sync_node('soft_delete', "logical_decoding_work_mem = '64kB'\nstreamhouse.sync_memory = '16MB'\n");

sub sql { return $node->safe_psql('postgres', @_) }

# ---- refusals ----

sql(q{
	CREATE TABLE keyless (id int, v int);
	CREATE TABLE keyed (id int PRIMARY KEY, v int);
	CREATE PUBLICATION keyless FOR TABLE keyless WITH (publish = 'insert');
	CREATE PUBLICATION keyed FOR TABLE keyed;
});

sub refused
{
	my ($publication, $rule, $expected, $what) = @_;
	my ($code, $out, $err) = $node->psql('postgres',
		qq{CALL streamhouse.create_sync('r', '$publication', 'lake', 'r', tables => '[{"source": ".*", $rule}]')});
	like($err, $expected, $what);
}

refused('keyless', '"soft_delete": "deleted"', qr/deleted rows of table "public.keyless" cannot be marked.*Give the table a primary key/s, 'no key');
refused('keyed', '"soft_delete": "deleted", "history": true', qr/cannot be marked by "soft_delete", since its lake table has no key/, 'history');
refused('keyed', '"soft_delete": true', qr/"soft_delete" of the rule for ".\*" must be a string/, 'no name');
refused('keyed', '"soft_delete": "v"', qr/column "v" specified more than once/, 'a name that is taken');
refused('keyed', '"metadata": ["deleted"]', qr/has "deleted", which is not one of/, 'no metadata by that name');

# ---- all that deletes ----

my @tables = qw(plain whole large parted);

sql(q{
	CREATE SCHEMA kept;
	CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE
		t name := regexp_replace(TG_TABLE_NAME, '_\d$', '');
	BEGIN
		IF TG_OP = 'TRUNCATE' THEN
			EXECUTE format('UPDATE kept.%I SET deleted = true', t);
			RETURN NULL;
		END IF;
		IF TG_OP <> 'INSERT' THEN
			EXECUTE format('UPDATE kept.%I SET deleted = true WHERE id = $1', t) USING OLD.id;
		END IF;
		IF TG_OP <> 'DELETE' THEN
			EXECUTE format('INSERT INTO kept.%I VALUES ($1, $2, $3, false) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v, note = EXCLUDED.note, deleted = false', t)
				USING NEW.id, NEW.v, NEW.note;
		END IF;
		RETURN NULL;
	END $$;
	CREATE TABLE plain (id int PRIMARY KEY, v int, note text);
	CREATE TABLE whole (LIKE plain INCLUDING ALL);
	ALTER TABLE whole REPLICA IDENTITY FULL;
	CREATE TABLE large (LIKE plain INCLUDING ALL);
	ALTER TABLE large ALTER note SET STORAGE EXTERNAL;
	CREATE TABLE parted (id int PRIMARY KEY, v int, note text) PARTITION BY RANGE (id);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (500);
	CREATE TABLE parted_2 PARTITION OF parted DEFAULT;
	CREATE PUBLICATION p FOR TABLE plain, whole, large, parted WITH (publish_via_partition_root);
});
foreach my $table (@tables)
{
	sql(qq{
		INSERT INTO $table SELECT i, i, CASE WHEN i % 3 = 0 THEN repeat(md5(i::text), 100) ELSE 'note ' || i END FROM generate_series(1, 1000) i;
		CREATE TABLE kept.$table AS SELECT *, false AS deleted FROM $table;
		ALTER TABLE kept.$table ADD PRIMARY KEY (id);
		CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON $table FOR EACH ROW EXECUTE FUNCTION keep();
		CREATE TRIGGER keep_all AFTER TRUNCATE ON $table EXECUTE FUNCTION keep();
	});
}
sql(q{CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', options => '{"bucket": "2"}', tables => '[
	{"source": "public.large", "soft_delete": "gone", "partition": ["tenth"], "columns": {"tenth": "id % 10"}},
	{"source": ".*", "soft_delete": "deleted"}]')});
wait_for_sync($node, 's');
sql("IMPORT FOREIGN SCHEMA d LIMIT TO (plain, whole, large, parted) FROM SERVER lake INTO lake");

sub same_as_kept
{
	my ($table, $what) = @_;
	my $mine = $table eq 'large' ? 'SELECT id, v, note, gone FROM lake.large WHERE tenth = id % 10' : "SELECT id, v, note, deleted FROM lake.$table";
	is(sql(qq{
		(SELECT 'missing', left(t::text, 50) FROM (TABLE kept.$table EXCEPT ALL ($mine)) t ORDER BY 2 LIMIT 5)
		UNION ALL
		(SELECT 'too many', left(t::text, 50) FROM (($mine) EXCEPT ALL TABLE kept.$table) t ORDER BY 2 LIMIT 5)
	}), '', "$table $what");
}

sub all_as_kept
{
	my ($what) = @_;
	wait_for_sync($node, 's');
	same_as_kept($_, $what) for @tables;
}

all_as_kept('copied');

foreach my $table (@tables)
{
	sql(qq{
		DELETE FROM $table WHERE id <= 100;
		BEGIN;
		UPDATE $table SET v = v + 1 WHERE id BETWEEN 90 AND 200;
		INSERT INTO $table VALUES (5000, 1, 'short-lived');
		UPDATE $table SET note = 'then changed' WHERE id = 5000;
		DELETE FROM $table WHERE id = 5000 OR id BETWEEN 150 AND 160;
		INSERT INTO $table VALUES (150, 0, 'back at once');
		UPDATE $table SET id = id + 10000 WHERE id BETWEEN 201 AND 250;
		UPDATE $table SET id = id + 10000, v = 0 WHERE id BETWEEN 10201 AND 10210;
		COMMIT;
		INSERT INTO $table SELECT i, -i, 'back' FROM generate_series(50, 60) i;
		UPDATE $table SET id = 201 WHERE id = 300;
		DELETE FROM $table WHERE id IN (51, 201);
		BEGIN;
		DELETE FROM $table WHERE id < 400;
		ROLLBACK;
		BEGIN;
		SAVEPOINT s;
		DELETE FROM $table WHERE id = 400;
		ROLLBACK TO s;
		DELETE FROM $table WHERE id = 401;
		COMMIT;
	});
}
all_as_kept('after deletes');
is(sql(q{SELECT count(*) > 100 AND bool_and(note IS NOT NULL) FROM lake.plain WHERE deleted}), 't', 'deleted rows keep their values');

# more at once than what waits in memory; a transaction that would be streamed
foreach my $table (@tables)
{
	sql("INSERT INTO $table SELECT i, i, 'many' FROM generate_series(100001, 125000) i");
	sql("DELETE FROM $table WHERE id > 100000");
}
all_as_kept('after many deletes');

# TRUNCATE, between changes of its own transaction
foreach my $table (@tables)
{
	sql(qq{
		BEGIN;
		UPDATE $table SET v = 77 WHERE id = 500;
		DELETE FROM $table WHERE id = 501;
		INSERT INTO $table VALUES (777777, 1, 'truncated at once');
		TRUNCATE $table;
		INSERT INTO $table VALUES (500, 500, 'after'), (1, 1, 'after');
		UPDATE $table SET v = 2 WHERE id = 1;
		COMMIT;
		INSERT INTO $table SELECT i, i, repeat(md5(i::text), 90) FROM generate_series(2, 400) i;
	});
}
all_as_kept('after TRUNCATE');

# columns, compaction, and a policy that would lose deleted rows
sql(q{
	DELETE FROM plain WHERE id % 2 = 0;
	ALTER TABLE plain ADD COLUMN extra int;
	UPDATE plain SET extra = id WHERE id < 10;
	DELETE FROM plain WHERE id = 3;
});
wait_for_sync($node, 's');
sql("DROP FOREIGN TABLE lake.plain; IMPORT FOREIGN SCHEMA d LIMIT TO (plain) FROM SERVER lake INTO lake");
same_as_kept('plain', 'with a new column');
is(sql('SELECT extra, deleted FROM lake.plain WHERE id IN (1, 3) ORDER BY id'), "1|f\n3|t", 'whose value a deleted row keeps');
sql(qq{CALL streamhouse.compact('lake.$_', full => true)}) for @tables;
all_as_kept('compacted');
sql('ALTER TABLE plain ADD COLUMN filled int DEFAULT 5');
like(table_error($node, 's', 'plain'), qr/the lake keeps deleted rows, which the source has not.*resync_table/, 'deleted rows are not lost without being asked');
sql(q{CALL streamhouse.resync_table('s', 'plain')});
wait_for_sync($node, 's');
is(sql('SELECT count(*) FILTER (WHERE deleted), count(*) = (SELECT count(*) FROM plain) FROM lake.plain'), '0|t', 'when one asks they are');
sql('DELETE FROM kept.plain WHERE deleted; DELETE FROM plain WHERE id < 20');
all_as_kept('copied again');

# ---- rows that leave a condition; metadata ----

sql(q{
	CREATE TABLE wanted (id int PRIMARY KEY, v int);
	ALTER TABLE wanted REPLICA IDENTITY FULL;
	INSERT INTO wanted SELECT i, i FROM generate_series(-2, 5) i;
	CREATE PUBLICATION w FOR TABLE wanted;
	CALL streamhouse.create_sync('w', 'w', 'lake', 'd', flush_interval => '100 ms', tables => '[
		{"source": ".*", "where": "v > 0", "soft_delete": "deleted", "metadata": ["kind", "commit_time"]}]');
});
wait_for_sync($node, 'w');
sql('UPDATE wanted SET v = -v WHERE id IN (1, -1); DELETE FROM wanted WHERE id IN (2, -2); UPDATE wanted SET id = 30 WHERE id = 3; UPDATE wanted SET v = 4 WHERE id = 4');
wait_for_sync($node, 'w');
sql("IMPORT FOREIGN SCHEMA d LIMIT TO (wanted) FROM SERVER lake INTO lake");
is(sql(q{SELECT string_agg(id || ' ' || v || ' ' || _kind || ' ' || deleted || ' ' || (_commit_time IS NULL), ', ' ORDER BY id) FROM lake.wanted}),
	'-1 1 +I false false, 1 1 -D true false, 2 2 -D true false, 3 3 -D true false, 4 4 +U false false, 5 5 +I false true, 30 3 +U false false',
	'rows that leave the condition, and metadata of deleted rows');
sql(q{CALL streamhouse.drop_sync('w')});

# ---- deletes while the table is copied, and kills ----

sql(q{
	CREATE TABLE busy (id int PRIMARY KEY, v int, note text);
	INSERT INTO busy SELECT i, i, repeat(md5(i::text), 5 + 100 * (i % 50 = 0)::int) FROM generate_series(1, 60000) i;
	CREATE TABLE kept.busy AS SELECT *, false AS deleted FROM busy;
	ALTER TABLE kept.busy ADD PRIMARY KEY (id);
	CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON busy FOR EACH ROW EXECUTE FUNCTION keep();
	CREATE TRIGGER keep_all AFTER TRUNCATE ON busy EXECUTE FUNCTION keep();
	ALTER SYSTEM SET streamhouse.copy_chunk_size = '1MB';
	SELECT pg_reload_conf();
	CREATE PUBLICATION b FOR TABLE busy;
	CALL streamhouse.create_sync('b', 'b', 'lake', 'd', flush_interval => '100 ms', tables => '[{"source": ".*", "soft_delete": "deleted"}]');
});
foreach my $i (1 .. 40)
{
	sql("DELETE FROM busy WHERE id % 1000 = $i; INSERT INTO busy VALUES ($i * 1000 + 1, 0, 'back') ON CONFLICT DO NOTHING");
}
wait_for_sync($node, 'b');
sql("IMPORT FOREIGN SCHEMA d LIMIT TO (busy) FROM SERVER lake INTO lake");
# rows that were deleted before the copy's snapshot are not there
is(sql(q{SELECT count(*) FROM ((SELECT * FROM kept.busy WHERE NOT deleted EXCEPT SELECT * FROM lake.busy WHERE NOT deleted)
	UNION ALL (SELECT * FROM lake.busy EXCEPT SELECT * FROM kept.busy)) t}), '0', 'deletes beside the copy');
sql('DELETE FROM kept.busy k WHERE deleted AND NOT EXISTS (SELECT FROM lake.busy l WHERE l.id = k.id)');

my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set id random(1, 3000)
\set what random(1, 100)
BEGIN;
\if :what < 30
DELETE FROM busy WHERE id = :id;
\elif :what < 60
INSERT INTO busy VALUES (:id, :what, 'back') ON CONFLICT (id) DO UPDATE SET v = busy.v + 1;
\elif :what < 70
UPDATE busy SET id = 100000 + :id WHERE id = :id AND NOT EXISTS (SELECT FROM busy WHERE id = 100000 + :id);
\elif :what < 80
DELETE FROM busy WHERE id BETWEEN :id AND :id + 20;
\elif :what < 99
UPDATE busy SET v = v + 1 WHERE id = :id;
\else
TRUNCATE busy;
INSERT INTO busy SELECT i, i, repeat(md5(i::text), 1 + 100 * (i % 50 = 0)::int) FROM generate_series(1, 3000) i;
\endif
COMMIT;
});

foreach my $round (1 .. 6)
{
	my ($out, $err) = ('', '');
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '60', '--max-tries', '20', '-f', $script, '-p', $node->port, '-h', $node->host, 'postgres' ],
		'>', \$out, '2>', \$err);
	usleep(500_000 + int(rand(1_500_000)));
	if ($round % 2)
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $pid = sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'streamhouse sync' AND application_name LIKE '% b'});
		kill 'KILL', $pid if $pid;
		wait_for_server($node);
	}
	eval { $load->kill_kill };
}
wait_for_sync($node, 'b');
same_as_kept('busy', 'after crashes');
cmp_ok(sql('SELECT count(*) FROM kept.busy WHERE deleted'), '>', 100, 'there were deletes');

$node->stop;
done_testing();
