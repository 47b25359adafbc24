
# Columns of replicated tables change: those that are added arrive in the lake,
# those that are dropped become null there, and what cannot be followed pauses
# the one table, until it is copied again.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep);

my ($node, $lake) = sync_node('schema', "max_connections = 20\n");

sub sql { return $node->safe_psql('postgres', @_) }

# The columns that the table has now, in the lake, which may have more.
sub same_columns
{
	my ($table, $what) = @_;
	my $columns = sql("SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum > 0 AND NOT attisdropped");
	is(sql("(SELECT $columns FROM $table EXCEPT ALL SELECT $columns FROM lake.$table) UNION ALL (SELECT $columns FROM lake.$table EXCEPT ALL SELECT $columns FROM $table)"), '', $what);
}

sub resync
{
	my ($table) = @_;
	my ($cure) = @_ > 1 ? $_[1] =~ /remove the lake table/ : ();
	system('rm', '-rf', "$lake/d.db/$table") if $cure;
	sql("CALL streamhouse.resync_table('s', '$table')");
	wait_for_sync($node, 's');
	import_lake_tables($node, 'd', $table);
}

sql(q{
	CREATE TABLE busy (id int PRIMARY KEY, v int, big text);
	ALTER TABLE busy ALTER big SET STORAGE EXTERNAL;
	CREATE TABLE steady (id int PRIMARY KEY, v int);
	CREATE TABLE changing (id int PRIMARY KEY, v int, w text);
	INSERT INTO busy SELECT i, 0, CASE WHEN i % 10 = 0 THEN repeat(i::text, 2000) END FROM generate_series(1, 1000) i;
	INSERT INTO changing SELECT i, i, 'w' || i FROM generate_series(1, 100) i;
	CREATE TABLE kept (id int, v int);
	ALTER TABLE kept REPLICA IDENTITY FULL;
	CREATE PUBLICATION p FOR TABLE busy, steady, changing;
	CREATE PUBLICATION k FOR TABLE kept;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms');
	CALL streamhouse.create_sync('h', 'k', 'lake', 'd', flush_interval => '100 ms', history => true);
});
wait_for_sync($node, $_) foreach qw(s h);

# columns are added and dropped under a load, with restarts in between
my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set id random(1, 1500)
BEGIN;
UPDATE busy SET v = v + 1 WHERE id = :id;
INSERT INTO busy (id, v, big) VALUES (:id, 1, repeat('n', 4000)) ON CONFLICT (id) DO UPDATE SET v = busy.v + 1;
DELETE FROM busy WHERE id = :id / 2;
INSERT INTO steady VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET v = steady.v + 1;
COMMIT;
});
my ($out, $err) = ('', '');
foreach my $round (1 .. 3)
{
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '600', '-f', $script, '-p', $node->port, '-h', $node->host, 'postgres' ],
		'>', \$out, '2>', \$err);
	usleep(300_000);
	sql("ALTER TABLE busy ADD COLUMN extra$round text");
	sql("BEGIN; LOCK TABLE busy; UPDATE busy SET extra$round = 'x' || id WHERE id % 3 = 0; COMMIT");
	usleep(int(rand(400_000)));
	if ($round % 2)
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $pid = sql(q{SELECT pid FROM streamhouse.sync_status WHERE name = 's'});
		sql("SELECT pg_terminate_backend($pid)") if $pid;
	}
	eval { $load->kill_kill };
	sql("ALTER TABLE busy ADD COLUMN a$round int, ADD COLUMN b$round int[]; UPDATE busy SET a$round = $round, b$round = ARRAY[id] WHERE id < 50");
	wait_for_sync($node, 's');
	import_lake_tables($node, 'd', 'busy', 'steady');
	same_rows($node, $_, "$_ after columns were added, round $round") foreach qw(busy steady);
}
is(sql(q{SELECT count(*) FROM streamhouse.sync_tables WHERE state <> 'streaming'}), '0', 'nothing is paused');
cmp_ok(sql('SELECT sum(v) FROM steady'), '>', 50, 'there was a load');

# in one transaction with rows before and after, and rolled back
sql(q{
	BEGIN;
	INSERT INTO changing VALUES (1001, 1, 'before');
	ALTER TABLE changing ADD COLUMN x numeric(10,2);
	INSERT INTO changing VALUES (1002, 2, 'after', 2.5);
	SAVEPOINT s; ALTER TABLE changing ADD COLUMN y int; INSERT INTO changing VALUES (1003, 3, 'undone', 3, 3); ROLLBACK TO s;
	UPDATE changing SET x = 1 WHERE id = 1;
	COMMIT;
	BEGIN; ALTER TABLE changing ADD COLUMN z int; INSERT INTO changing VALUES (1004, 4, 'undone', 4, 4); ROLLBACK;
	INSERT INTO changing VALUES (1005, 5, 'five', 5);
});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'changing');
same_rows($node, 'changing', 'a column added inside a transaction');

# the lake has the new column already, as after a crash between lake and catalog
sql(q{CALL streamhouse.pause_sync('s'); ALTER TABLE changing ADD COLUMN late bigint; UPDATE changing SET late = id WHERE id < 10});
{
	my ($newest) = sort { $b <=> $a } map { /schema-(\d+)$/ } glob("$lake/d.db/changing/schema/schema-*");
	my $schema = slurp_file("$lake/d.db/changing/schema/schema-$newest");
	my ($highest) = $schema =~ /"highestFieldId"\s*:\s*(\d+)/;
	my ($next, $field) = ($newest + 1, $highest + 1);
	$schema =~ s/("id"\s*:\s*)$newest/$1$next/;
	$schema =~ s/("highestFieldId"\s*:\s*)$highest/$1$field/;
	$schema =~ s/\}\s*\](\s*,\s*"highestFieldId")/},{"id":$field,"name":"late","type":"BIGINT"}]$1/;
	append_to_file("$lake/d.db/changing/schema/schema-$next", $schema);
	sql(q{CALL streamhouse.resume_sync('s')});
	wait_for_sync($node, 's');
	import_lake_tables($node, 'd', 'changing');
	same_rows($node, 'changing', 'a column that the lake had already');
	ok(!-e "$lake/d.db/changing/schema/schema-" . ($next + 1), 'is not added twice');
}

# dropped columns
sql(q{ALTER TABLE changing DROP COLUMN w; INSERT INTO changing VALUES (2001, 1, 1, 1); UPDATE changing SET v = -1 WHERE id = 2; DELETE FROM changing WHERE id = 3});
wait_for_sync($node, 's');
is(sql(q{(SELECT id, v, x, late FROM changing EXCEPT ALL SELECT id, v, x, late FROM lake.changing) UNION ALL
	(SELECT id, v, x, late FROM lake.changing EXCEPT ALL SELECT id, v, x, late FROM changing)}), '', 'a column was dropped');
is(sql(q{SELECT string_agg(coalesce(w, 'null'), ' ' ORDER BY id) FROM lake.changing WHERE id IN (1, 2, 4, 2001)}), 'w1 null w4 null',
	'the lake has it still, null where rows are written');

# what is not to be followed pauses the table alone
sql(q{CALL streamhouse.alter_sync('s', on_schema_change => 'pause')});
wait_for_sync($node, 's');
my $steady = 5000;
foreach my $case (
	[ 'ALTER TABLE changing ALTER v TYPE bigint', qr/Column "v" would be BIGINT now, but is INT in the lake/ ],
	[ 'ALTER TABLE changing RENAME v TO renamed', qr/Column "v" is called "renamed" now/ ],
	[ 'ALTER TABLE changing ADD COLUMN w7 int DEFAULT 7', qr/Column "w7" was added with a default/ ],
	[ 'ALTER TABLE changing DROP COLUMN w7; ALTER TABLE changing ADD COLUMN w7 text', qr/Column "w7" was dropped/ ],
	[ 'ALTER TABLE changing ADD COLUMN n serial', qr/Column "n" was added with a default/ ],
	[ 'ALTER TABLE changing DROP CONSTRAINT changing_pkey; ALTER TABLE changing ADD PRIMARY KEY (id, n)', qr/Its key, or its replica identity, is another one/ ])
{
	my ($change, $reason) = @$case;
	my $sync = sql(q{SELECT pid FROM streamhouse.sync_status WHERE name = 'h'});
	my $before = sql(q{SELECT count(*) FROM lake.changing});
	$steady++;
	sql(qq{INSERT INTO changing (id) VALUES ($steady); BEGIN; INSERT INTO changing (id) VALUES ($steady + 1000); $change;
		INSERT INTO changing (id) VALUES ($steady + 2000); INSERT INTO steady VALUES ($steady, 0); COMMIT;
		INSERT INTO steady VALUES ($steady + 1000, 0)});
	my $error = table_error($node, 's', 'changing');
	like($error, $reason, "$change: why");
	like($error, qr/Changes from here on are not taken: (remove the lake table and )?call streamhouse.resync_table/, 'and the cure');
	wait_for_sync($node, 's');
	same_rows($node, 'steady', 'the other table goes on');
	is(sql(q{SELECT count(*) FROM lake.changing}), $before + 1, 'all before the transaction is in the lake, and nothing of it');
	is(sql(q{SELECT state, error FROM streamhouse.sync_status WHERE name = 's'}), 'streaming|', 'the sync is well');
	ok(sql(q{SELECT confirmed_flush_lsn >= paused_at FROM pg_replication_slots, streamhouse.sync_tables t, streamhouse.sync_status s
		WHERE t.name = 's' AND s.name = 's' AND slot_name = slot AND t."table" = 'changing'}) eq 't', 'the slot moves on');
	resync('changing', $error);
	same_columns('changing', 'copied again');
	sql(q{UPDATE changing SET id = id + 100000 WHERE id = (SELECT max(id) FROM changing)});
	wait_for_sync($node, 's');
	same_columns('changing', 'and it goes on');
}

# a pause outlives a restart
sql(q{ALTER TABLE changing ALTER n TYPE text; UPDATE changing SET n = 'n'});
table_error($node, 's', 'changing');
$node->restart;
sql(q{INSERT INTO steady VALUES (9000, 0)});
wait_for_sync($node, 's');
same_rows($node, 'steady', 'after a restart');
is(sql(q{SELECT string_agg("table" || ' ' || state, ', ' ORDER BY "table") FROM streamhouse.sync_tables WHERE name = 's'}),
	'busy streaming, changing paused, steady streaming', 'the table is still paused');

# history goes on with a new column, before those that describe the change
sql(q{INSERT INTO kept VALUES (1, 1); ALTER TABLE kept ADD COLUMN w text; UPDATE kept SET w = 'w'; TRUNCATE kept});
wait_for_sync($node, 'h');
import_lake_tables($node, 'd', 'kept');
is(sql(q{SELECT string_agg(concat_ws(',', _kind, id, v, coalesce(w, 'null')), ' ' ORDER BY _lsn, _kind DESC) FROM lake.kept}),
	'+I,1,1,null -U,1,1,null +U,1,1,w T,null', 'history with a new column');

$node->stop;
done_testing();
