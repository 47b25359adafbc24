
# Logical messages of another server kept in lake tables: of transactions and by
# themselves, once each across kills and crashes, beside rows.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('lake', "wal_level = replica\n");
my $source = source_node('source', "logical_decoding_work_mem = 64kB\n");
my $connection = connection_to($source);

sub sql { return $node->safe_psql('postgres', @_) }
sub there { return $source->safe_psql('postgres', @_) }

there(q{
	CREATE TABLE item (id int PRIMARY KEY, v int);
	INSERT INTO item VALUES (1, 1);
	CREATE TABLE sent (n int);
	CREATE PUBLICATION p FOR TABLE item;
	SELECT pg_logical_emit_message(true, 'outbox.order', 'before');
});
sql("CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', connection => '$connection', tables => '[
	{\"messages\": \"outbox[.](.*)\", \"table\": \"outbox\"}]')");
wait_for_sync($node, 's');
sql(q{CALL streamhouse.alter_sync('s', tables => '[{"messages": "outbox[.](.*)", "table": "outbox"}, {"messages": ".*", "table": "log"}]')});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', qw(item outbox log));
is(sql('SELECT count(*) FROM lake.outbox'), '0', 'messages of before are not there');

there(q{
	BEGIN;
	SELECT pg_logical_emit_message(true, 'outbox.order', 'one');
	UPDATE item SET v = 2;
	SELECT pg_logical_emit_message(true, 'outbox.order', '\x00ff'::bytea);
	SAVEPOINT s;
	SELECT pg_logical_emit_message(true, 'outbox.order', 'undone');
	ROLLBACK TO s;
	SELECT pg_logical_emit_message(true, 'streamhouse.table', 'dropped 1');
	COMMIT;
	BEGIN;
	SELECT pg_logical_emit_message(true, 'outbox.order', 'never');
	SELECT pg_logical_emit_message(false, 'log', 'at once');
	ROLLBACK;
	SELECT pg_logical_emit_message(true, 'outbox.käse', repeat('x', 100000));
});
wait_for_sync($node, 's');
is(sql(q{SELECT prefix, left(encode(content, 'escape'), 8), length(content), transactional, _xid IS NOT NULL, _commit_time > now() - interval '1 hour' FROM lake.outbox ORDER BY _lsn}),
	"outbox.order|one|3|t|t|t\noutbox.order|\\000\\377|2|t|t|t\noutbox.käse|xxxxxxxx|100000|t|t|t", 'messages of transactions that committed');
is(sql(q{SELECT prefix, convert_from(content, 'UTF8'), transactional, _xid, _commit_time FROM lake.log}), 'log|at once|f||', 'one by itself');
is(sql('SELECT v FROM lake.item'), '2', 'rows beside');

# a commit right behind one, which goes to the lake by itself as ever after a failure
chmod 0, "$lake/d.db/log";
there("SELECT pg_logical_emit_message(true, 'log', 'in vain')");
$node->poll_query_until('postgres', q{SELECT state = 'failing' FROM streamhouse.sync_status}) or die;
there(q{
	BEGIN;
	SELECT pg_logical_emit_message(true, 'log', 'of the transaction');
	SELECT pg_logical_emit_message(false, 'log', 'and then the commit');
	COMMIT;
});
chmod 0755, "$lake/d.db/log";
wait_for_sync($node, 's');
is(sql(q{SELECT string_agg(convert_from(content, 'UTF8'), ', ' ORDER BY _lsn) FROM lake.log}), 'at once, in vain, of the transaction, and then the commit', 'a commit right behind a message');

# a large transaction
there(q{
	BEGIN;
	SELECT pg_logical_emit_message(true, 'outbox.large', 'first');
	INSERT INTO item SELECT i, 3 FROM generate_series(100000, 110000) i;
	SELECT pg_logical_emit_message(true, 'outbox.large', 'last');
	COMMIT;
});
wait_for_sync($node, 's');
is(sql(q{SELECT string_agg(convert_from(content, 'UTF8'), ',' ORDER BY _lsn), (SELECT count(*) FROM lake.item WHERE v = 3) FROM lake.outbox WHERE prefix = 'outbox.large'}),
	'first,last|10001', 'messages of a large transaction');

# once each, also those between what is not yet committed
my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file($script, q{
\set n random(1, 1000000000)
BEGIN;
SELECT pg_logical_emit_message(true, 'outbox.n', :n::text);
INSERT INTO sent VALUES (:n);
INSERT INTO item VALUES (:n, 0) ON CONFLICT DO NOTHING;
SELECT pg_logical_emit_message(false, 'log', :n::text);
COMMIT;
});
foreach my $end ('connection', 'worker', 'source')
{
	my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '3', '-T', '3', '-f', $script, '-p', $source->port, '-h', $source->host, 'postgres' ], '>', \my $out, '2>', \my $err);
	sleep 1;
	there('SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active') if $end eq 'connection';
	sql(q{SELECT pg_terminate_backend(pid) FROM streamhouse.sync_status}) if $end eq 'worker';
	if ($end eq 'source')
	{
		$source->stop('immediate');
		$source->start;
	}
	eval { $load->finish };
}
$node->poll_query_until('postgres', q{SELECT state = 'streaming' FROM streamhouse.sync_status}) or die;
there(q{INSERT INTO item VALUES (2, 2)});
wait_for_sync($node, 's');
cmp_ok(there('SELECT count(*) FROM sent'), '>', 100, 'messages were sent');

# What both servers have, in order.
sub same_messages
{
	my ($lake, $sent, $what) = @_;
	my ($ours) = sql($lake);
	my ($theirs) = there($sent);
	ok($ours eq $theirs, $what);
}
same_messages(q{SELECT convert_from(content, 'UTF8')::int FROM lake.outbox WHERE prefix = 'outbox.n' ORDER BY 1}, 'SELECT n FROM sent ORDER BY n', 'those of transactions are there once each');
is(sql(q{SELECT count(*) - count(DISTINCT _lsn) FROM lake.log}), '0', 'and of the others none twice');
my %alone = map { $_ => 1 } split /\n/, sql(q{SELECT convert_from(content, 'UTF8') FROM lake.log});
is(scalar(grep { !$alone{$_} } split /\n/, there('SELECT n FROM sent')), 0, 'and none is missing');
is(sql('SELECT count(*), sum(v) FROM lake.item'), there('SELECT count(*), sum(v) FROM item'), 'rows beside, after crashes');

sql("CALL streamhouse.drop_sync('s')");
unlike(slurp_file($node->logfile), qr/was terminated by signal/, 'no process crashed');
$node->stop;
$source->stop;
done_testing();
