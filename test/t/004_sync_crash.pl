
# Exactly once: workers and servers are killed at random under a load of
# inserts, updates and deletes; afterwards lake and source are equal, also for
# a table without key, where a row too many would show.
#
# STREAMHOUSE_CRASHES sets the number of crashes, STREAMHOUSE_SEED the seed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;
use Time::HiRes qw(usleep);

my $crashes = $ENV{STREAMHOUSE_CRASHES} // 6;
my $seed = $ENV{STREAMHOUSE_SEED} // int(rand(1000000));
srand($seed);
note "seed $seed";

my ($node, $lake) = sync_node('crash', "max_connections = 20\n");

$node->safe_psql('postgres', q{
	CREATE TABLE account (id int, part int, v int, note text, big text, PRIMARY KEY (id, part));
	ALTER TABLE account ALTER big SET STORAGE EXTERNAL;
	CREATE TABLE movement (id bigserial PRIMARY KEY, account int, delta int, at timestamptz DEFAULT clock_timestamp());
	CREATE TABLE journal (text text, n bigint, at timestamp DEFAULT clock_timestamp());
	CREATE SEQUENCE journal_n;
	CREATE TABLE sale (id int, half int, v int, open boolean, PRIMARY KEY (id, half)) PARTITION BY LIST (half);
	CREATE TABLE sale_0 PARTITION OF sale FOR VALUES IN (0);
	CREATE TABLE sale_1 (open boolean, v int, half int NOT NULL, id int NOT NULL);
	ALTER TABLE sale ATTACH PARTITION sale_1 FOR VALUES IN (1);
	ALTER TABLE sale_0 REPLICA IDENTITY FULL;
	ALTER TABLE sale_1 REPLICA IDENTITY FULL;
	ALTER TABLE sale REPLICA IDENTITY FULL;
	INSERT INTO sale SELECT i, i % 2, 0, i % 3 = 0 FROM generate_series(1, 1000) i;
	INSERT INTO account SELECT i, i % 3, 0, 'n' || i, CASE WHEN i % 5 = 0 THEN repeat(md5(i::text), 100) END
	  FROM generate_series(1, 2000) i;
	CREATE PUBLICATION keys FOR TABLE account, movement;
	CREATE PUBLICATION journal FOR TABLE journal WITH (publish = 'insert');
	CREATE PUBLICATION sale FOR TABLE sale WHERE (open) WITH (publish_via_partition_root);
	CALL streamhouse.create_sync('sale', 'sale', 'lake', 'd', flush_interval => '120 ms');
	CALL streamhouse.create_sync('keys', 'keys', 'lake', 'd', flush_interval => '150 ms', options => '{"bucket": "2"}');
	CALL streamhouse.create_sync('journal', 'journal', 'lake', 'd', flush_interval => '100 ms');
});

my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set id random(1, 3000)
\set other random(1, 3000)
\set what random(1, 15)
\set n random(1, 5)
BEGIN;
\if :what < 6
UPDATE account SET v = v + :n WHERE id = :id;
INSERT INTO movement (account, delta) VALUES (:id, :n);
\elif :what < 8
INSERT INTO account SELECT :id, :id % 3, 1, 'inserted', CASE WHEN :n = 1 THEN repeat(md5(random()::text), 120) END
  ON CONFLICT (id, part) DO UPDATE SET note = account.note || 'x';
\elif :what < 9
DELETE FROM account WHERE id = :id;
\elif :what < 10
UPDATE account SET part = part + 10 WHERE id = :id AND part < 10;
SAVEPOINT s;
DELETE FROM account WHERE id = :other;
ROLLBACK TO s;
\elif :what < 11
UPDATE account SET big = repeat(md5(random()::text), 90), v = v - 1 WHERE id = :id;
UPDATE account SET v = v + 1 WHERE id = :id;
\elif :what < 13
UPDATE sale SET half = 1 - half, v = v + 1 WHERE id = :id / 3;
\elif :what < 14
UPDATE sale SET open = NOT open WHERE id BETWEEN :id / 3 AND :id / 3 + :n;
\elif :what < 15
INSERT INTO sale VALUES (:other + 10000, :n % 2, 1, true) ON CONFLICT DO NOTHING;
DELETE FROM sale WHERE id = :other / 3;
\else
INSERT INTO journal SELECT 'line', nextval('journal_n') FROM generate_series(1, :n);
\endif
COMMIT;
});

# The load is started anew after each crash.
sub start_load
{
	my ($out, $err) = ('', '');
	return IPC::Run::start([ 'pgbench', '-n', '-c', '3', '-T', '600', '-f', $script, '-p', $node->port, '-h', $node->host, 'postgres' ],
		'>', \$out, '2>', \$err);
}

foreach my $round (1 .. $crashes)
{
	my $load = start_load();
	usleep(300_000 + int(rand(2_000_000)));
	if ($round % 2)
	{
		note "round $round: immediate shutdown";
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $pid = $node->safe_psql('postgres',
			q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'streamhouse sync' ORDER BY random() LIMIT 1});
		note "round $round: SIGKILL of worker $pid";
		kill 'KILL', $pid if $pid;
		wait_for_server($node);
	}
	eval { $load->kill_kill };
}

wait_for_sync($node, $_) for qw(keys journal sale);
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake');
same_rows($node, $_, "$_ after $crashes crashes") for qw(account movement journal);
$node->safe_psql('postgres', 'DELETE FROM sale WHERE open IS NOT TRUE');
wait_for_sync($node, 'sale');
same_rows($node, 'sale', "sale, filtered and partitioned, after $crashes crashes");
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM movement'), '>', 50, 'there was a load');

# the initial copy is made again when it is interrupted
$node->safe_psql('postgres', q{
	CREATE TABLE large (id int PRIMARY KEY, text text);
	INSERT INTO large SELECT i, repeat('x', i % 300) FROM generate_series(1, 300000) i;
	CREATE TABLE larger (LIKE large INCLUDING ALL);
	INSERT INTO larger TABLE large;
	CREATE PUBLICATION large FOR TABLE large, larger;
	CALL streamhouse.create_sync('large', 'large', 'lake', 'd');
});
ok($node->poll_query_until('postgres', q{SELECT state = 'copying' AND rows > 350000 FROM streamhouse.sync_status WHERE name = 'large'}),
	'the copy is under way');
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', 'DELETE FROM large WHERE id % 10 = 0');
wait_for_sync($node, 'large');
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA d LIMIT TO (large, larger) FROM SERVER lake INTO lake');
same_rows($node, $_, "initial copy of $_, interrupted") for qw(large larger);

$node->stop;
done_testing();
