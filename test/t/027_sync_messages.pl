
# Logical messages kept in lake tables: of transactions and by themselves, by
# prefix, once each across crashes, at positions, beside rows.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('messages');

sub sql { return $node->safe_psql('postgres', @_) }

sub refused
{
	my ($tables, $pattern, $what) = @_;
	my ($code, $out, $err) = $node->psql('postgres', "CALL streamhouse.create_sync('s', 'p', 'lake', 'd', tables => '$tables')");
	like($err, $pattern, $what);
}

sql(q{
	CREATE TABLE item (id int PRIMARY KEY, v int);
	INSERT INTO item VALUES (1, 1);
	CREATE PUBLICATION p FOR TABLE item;
	CREATE FOREIGN TABLE taken (a int) SERVER lake OPTIONS (database 'd', "table" 'taken');
});
refused('[{"messages": "outbox"}]', qr/"table" of the rule for "outbox" is missing/, 'a rule without a table');
refused('[{"messages": "outbox", "source": "x", "table": "o"}]', qr/"messages" of the rule for "x" excludes "source"/, 'a rule for tables and messages');
refused('[{"messages": "outbox", "table": "o", "history": true}]', qr/goes with "table" and "options" alone/, 'a rule with more');
refused('[{"messages": "outbox", "table": "item"}]', qr/would both be lake table "item"/, 'the name of another table');
refused('[{"messages": "a", "table": "o"}, {"messages": "b", "table": "o"}]', qr/would both be lake table "o"/, 'a name twice');
refused('[{"messages": "outbox", "table": "taken"}]', qr/lake table "d.taken" exists and does not fit logical messages/, 'a table of somebody else');

sql(q{
	SELECT pg_logical_emit_message(true, 'outbox.order', 'before');
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', tables => '[
		{"messages": "outbox[.](.*)", "table": "outbox", "options": {"snapshot.num-retained.max": "50"}}, {"messages": "log", "table": "log"}]');
	CALL streamhouse.wait_for_sync('s');
	IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake;
});
is(sql('SELECT count(*) FROM lake.outbox'), '0', 'messages of before are not there');

sql(q{
	BEGIN;
	SELECT pg_logical_emit_message(true, 'outbox.order', 'one');
	UPDATE item SET v = 2;
	SELECT pg_logical_emit_message(true, 'outbox.order', '\x00ff'::bytea);
	SAVEPOINT s;
	SELECT pg_logical_emit_message(true, 'outbox.order', 'undone');
	ROLLBACK TO s;
	SELECT pg_logical_emit_message(true, 'other', 'nobody wants this');
	COMMIT;
	BEGIN;
	SELECT pg_logical_emit_message(true, 'outbox.order', 'never');
	SELECT pg_logical_emit_message(false, 'log', 'at once');
	ROLLBACK;
	SELECT pg_logical_emit_message(true, 'outbox.käse', repeat('x', 100000));
	CALL streamhouse.wait_for_sync('s');
});
is(sql(q{SELECT prefix, left(encode(content, 'escape'), 8), length(content), transactional, _xid IS NOT NULL, _commit_time > now() - interval '1 hour' FROM lake.outbox ORDER BY _lsn}),
	"outbox.order|one|3|t|t|t\noutbox.order|\\000\\377|2|t|t|t\noutbox.käse|xxxxxxxx|100000|t|t|t", 'messages of transactions that committed');
is(sql(q{SELECT prefix, convert_from(content, 'UTF8'), transactional, _xid, _commit_time FROM lake.log}), 'log|at once|f||', 'one by itself');
same_rows($node, 'item', 'rows beside');

# once each, across crashes; also by themselves, between what is not yet committed
my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set n random(1, 1000000000)
BEGIN;
SELECT pg_logical_emit_message(true, 'outbox.n', :n::text);
INSERT INTO sent VALUES (:n, true);
INSERT INTO item VALUES (:n, 0) ON CONFLICT DO NOTHING;
SELECT pg_logical_emit_message(false, 'log', :n::text);
COMMIT;
});
sql('CREATE TABLE sent (n int, kept boolean)');
for my $round (1 .. 3)
{
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '3', '-T', '3', '-f', $script, '-p', $node->port, '-h', $node->host, 'postgres' ], '>', \my $out, '2>', \my $err);
	sleep 1;
	if ($round == 2)
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $signal = $round == 1 ? 'TERM' : 'KILL';
		kill $signal, sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'streamhouse sync'});
		sleep 1;
	}
	eval { $load->finish };
	wait_for_server($node);
}
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM streamhouse.sync_status WHERE state = 'streaming'}) or die;
wait_for_sync($node, 's');
cmp_ok(sql('SELECT count(*) FROM sent'), '>', 100, 'messages were sent');
is(sql(q{
	WITH lake AS (SELECT convert_from(content, 'UTF8')::int AS n FROM lake.outbox WHERE prefix = 'outbox.n')
	SELECT (SELECT count(*) FROM (SELECT n FROM sent EXCEPT ALL TABLE lake) x), (SELECT count(*) FROM (TABLE lake EXCEPT ALL SELECT n FROM sent) x)
}), '0|0', 'those of transactions are there once each');
is(sql(q{
	WITH lake AS (SELECT convert_from(content, 'UTF8')::int AS n FROM lake.log WHERE content <> 'at once')
	SELECT (SELECT count(*) FROM (SELECT n FROM sent EXCEPT ALL TABLE lake) x), (SELECT count(*) - count(DISTINCT _lsn) FROM lake.log)
}), '0|0', 'and the others, none twice');
same_rows($node, 'item', 'rows beside, after crashes');

# positions
my $before = sql('SELECT pg_current_wal_insert_lsn()');
sql(q{SELECT pg_logical_emit_message(true, 'outbox.last', 'last'); CALL streamhouse.wait_for_sync('s')});
is(sql("SET streamhouse.as_of = 'lsn $before'; SELECT count(*) FROM lake.outbox WHERE prefix = 'outbox.last'"), '0', 'as of a position before');
is(sql(q{SET streamhouse.fresh_reads = on; SELECT pg_logical_emit_message(true, 'outbox.last', 'fresh') \g /dev/null
	SELECT count(*) FROM lake.outbox WHERE prefix = 'outbox.last'}), '2', 'a fresh read waits for messages');

$node->stop;
done_testing();
