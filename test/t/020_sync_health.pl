
# What operators see of a sync: problems before it is made, how far behind it is, its
# health, and alerts when that changes; all of it by a role that is no superuser.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('health', "streamhouse.sync_wal_limit = 48MB\n");

sub sql { return $node->safe_psql('postgres', @_) }

sql(q{
	CREATE ROLE operator LOGIN REPLICATION;
	GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA streamhouse TO operator;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA streamhouse TO operator;
	GRANT USAGE ON FOREIGN SERVER lake TO operator;
	CREATE TABLE good (id int PRIMARY KEY, v int);
	CREATE TABLE nokey (v int);
	CREATE TABLE nothing (id int PRIMARY KEY);
	ALTER TABLE nothing REPLICA IDENTITY NOTHING;
	GRANT SELECT ON good, nokey TO operator;
	GRANT INSERT, UPDATE ON good TO operator;
	CREATE PUBLICATION bad FOR TABLE nokey, nothing, good;
	CREATE PUBLICATION pub FOR TABLE good;
});

sub as_operator { return $node->safe_psql('postgres', "SET ROLE operator; $_[0]") }

# ---- before it is made
my $problems = as_operator(q{SELECT severity, "table", problem, cure IS NOT NULL FROM streamhouse.check_sync('bad', 'lake', 'd')});
like($problems, qr/^error\|public.nokey\|table "public.nokey" has no primary key .*\|t$/m, 'a table without key');
like($problems, qr/^error\|public.nothing\|table "public.nothing" has REPLICA IDENTITY NOTHING\|t$/m, 'an identity that identifies nothing');
like($problems, qr/^error\|public.nothing\|permission denied for table "public.nothing"\|t$/m, 'a table that may not be read');
like($problems, qr/^warning\|\|max_slot_wal_keep_size is not set/m, 'a warning');
unlike($problems, qr/public.good/, 'nothing about a good one');
is(as_operator(q{SELECT count(*) FILTER (WHERE severity = 'error') FROM streamhouse.check_sync('pub', 'lake', 'd')}), '0', 'no errors');
is(as_operator(q{SELECT count(*) FROM streamhouse.check_sync('none', 'none', 'd') WHERE problem ~ 'does not exist'}), '2', 'names that are wrong');
is(sql('SELECT count(*) FROM streamhouse.sync_status'), '0', 'nothing was made');

# ---- a sync of the operator
as_operator(q{CALL streamhouse.create_sync('s', 'pub', 'lake', 'd', flush_interval => '100 ms')});
as_operator(q{CALL streamhouse.wait_for_sync('s')});
as_operator(q{INSERT INTO good VALUES (1, 1)});
as_operator(q{CALL streamhouse.wait_for_sync('s')});
ok($node->poll_query_until('postgres', "SELECT health = 'ok' AND lag < '1 s' AND lag_bytes < 1000000 AND retained_bytes IS NOT NULL FROM streamhouse.sync_status"), 'it is well');

# ---- alerts
sub log_has { my $pattern = shift; return scalar(slurp_file($node->logfile) =~ $pattern) }
sub wait_log
{
	my ($pattern, $what) = @_;
	foreach (1 .. 600)
	{
		return pass($what) if log_has($pattern);
		select undef, undef, undef, 0.1;
	}
	return fail($what);
}

as_operator(q{CALL streamhouse.pause_sync('s')});
is(sql(q{SELECT health, health_reason FROM streamhouse.sync_status}), 'paused|by streamhouse.pause_sync', 'paused');
wait_log(qr/sync "s" is paused/, 'the log tells of it');
as_operator(q{CALL streamhouse.resume_sync('s')});
wait_log(qr/sync "s" is well again/, 'and that it is over');

# a snapshot that keeps the slot: an open transaction with a change, while WAL is written
my $holder = IPC::Run::start(['psql', '-XAtq', '-d', $node->connstr('postgres')], '<', \my $hold_in, '>', \my $hold_out, '2>', \my $hold_err);
$hold_in .= "BEGIN; INSERT INTO good VALUES (2, 2); SELECT 'held';\n";
$holder->pump until $hold_out =~ /held/;
sql(q{CREATE TABLE filler AS SELECT repeat(md5(i::text), 30) t FROM generate_series(1, 60000) i});
sql('SELECT pg_switch_wal()');
ok($node->poll_query_until('postgres', "SELECT health = 'late' AND health_reason ~ 'retains .* of WAL, limit is 48 MB' FROM streamhouse.sync_status"), 'a slot that retains too much is late');
wait_log(qr/WARNING:  sync "s" is late/, 'which is a warning');
$hold_in .= "COMMIT;\n\\q\n";
$holder->finish;
sql('INSERT INTO good VALUES (3, 3); CALL streamhouse.wait_for_sync(\'s\'); CHECKPOINT');
ok($node->poll_query_until('postgres', "SELECT health = 'ok' FROM streamhouse.sync_status"), 'and recovers');

# a sync that fails, and the notification of it
my ($in, $out, $err) = ("LISTEN streamhouse_health;\nSELECT 'ready';\n", '', '');
my $psql = IPC::Run::start(['psql', '-XAtq', '-d', $node->connstr('postgres')], '<', \$in, '>', \$out, '2>', \$err);
$psql->pump until $out =~ /ready/;
chmod 0500, "$lake/d.db/good/snapshot" or die;
sql(q{INSERT INTO good VALUES (4, 4)});
ok($node->poll_query_until('postgres', "SELECT health = 'failing' AND health_reason ~ 'good' FROM streamhouse.sync_status"), 'failing, and why');
wait_log(qr/sync "s" is failing/, 'in the log');
foreach (1 .. 50)
{
	$in .= "SELECT 'poll';\n";
	$psql->pump;
	last if $out =~ /streamhouse_health/;
	select undef, undef, undef, 0.1;
}
like($out, qr/notification "streamhouse_health" with payload "\{"sync" : "s", "health" : "failing", "reason" : ".*good.*"\}"/, 'those who listen are notified');
$in .= "\\q\n";
$psql->finish;
chmod 0700, "$lake/d.db/good/snapshot" or die;
as_operator(q{CALL streamhouse.resume_sync('s')});
as_operator(q{CALL streamhouse.wait_for_sync('s')});
ok($node->poll_query_until('postgres', "SELECT health = 'ok' FROM streamhouse.sync_status"), 'well again');

as_operator(q{CALL streamhouse.drop_sync('s')});
is(sql('SELECT count(*) FROM pg_replication_slots'), '0', 'dropped with its slot');
is(sql(q{CREATE ROLE nobody; SELECT has_function_privilege('nobody', 'streamhouse.check_sync(text,text,text,jsonb,boolean,jsonb,text)', 'EXECUTE')}), 'f', 'not for everybody');

done_testing();
