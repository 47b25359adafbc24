
# Other rules for a sync that is there: alter_sync with tables.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('rules');

sub sql { return $node->safe_psql('postgres', @_) }

# The rules of the sync in the order given.
sub alter
{
	my ($rules, $more) = @_;
	$rules =~ s/\\/\\\\/g;
	return "CALL streamhouse.alter_sync('s', tables => '[$rules]'" . ($more // '') . ')';
}

sub refused
{
	my ($rules, $expected, $what, $more) = @_;
	my ($code, $out, $err) = $node->psql('postgres', alter($rules, $more));
	like($err, $expected, $what);
}

sub sequence_of
{
	my ($table) = @_;
	return sql(qq{SELECT base || ' ' || copy_id FROM streamhouse.sync_table WHERE source = '$table'::regclass});
}

sql(q{
	CREATE TABLE plain (id int PRIMARY KEY, v int);
	CREATE TABLE part (id int PRIMARY KEY, v int);
	CREATE TABLE kept (id int PRIMARY KEY, v int);
	ALTER TABLE part REPLICA IDENTITY FULL;
	INSERT INTO plain SELECT i, i FROM generate_series(1, 100) i;
	INSERT INTO part TABLE plain;
	INSERT INTO kept TABLE plain;
	CREATE PUBLICATION p FOR TABLE plain, part, kept;
});
my $part = '{"source": "public.part", "where": "v > 10", "metadata": ["table"]}';
my $kept = '{"source": "public.kept", "soft_delete": "deleted", "columns": {"twice": "v * 2"}}';
my $rules = "$part, $kept";
sql("CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms', auto_refresh => false, tables => '[$rules]')");
wait_for_sync($node, 's');
import_lake_tables($node, 'd', $_) for qw(plain part kept);

# ---- refusals: nothing changes ----

refused('{"source": "("}', qr/invalid regular expression/, 'an invalid pattern');
refused('{"source": "public.part", "colour": 1}', qr/"colour" of (the|a) rule for .* is not known/, 'an unknown key');
refused("{\"source\": \"public.part\", \"where\": \"v > 10\"}, $kept",
	qr/tables of sync "s" cannot follow these rules.*- table "public.part": "metadata" of its rule would be another one, which lake table "part" cannot follow.*Give them other lake tables with "table"/s, 'other metadata');
refused('{"source": "public.part", "where": "v > 10", "metadata": ["table"]}, {"source": "public.kept", "soft_delete": "gone", "columns": {"twice": "v * 2"}}',
	qr/- table "public.kept": "soft_delete" of its rule would be another one/, 'another marker', ', copy => true');
refused('', qr/- table "public.part": "metadata".*- table "public.kept": "columns"/s, 'no rules');
refused($rules =~ s/v > 10/v > 20/r,
	qr/tables of sync "s" would have to be copied again.*- table "public.part": its condition "where" is another one.*copy => true/s, 'another condition');
refused("{\"source\": \"(.*).plain\", \"table\": \"other\"}, $rules",
	qr/- table "public.plain": it would go to lake table "other" instead of "plain"/, 'another lake table');
refused("{\"source\": \"(.*).plain\", \"table\": \"kept\"}, $rules", qr/would both be lake table "kept"/, 'one that is taken', ', copy => true');
refused("{\"source\": \"(.*).plain\", \"options\": {\"bucket\": \"7\"}}, $rules", qr/option "bucket" of lake table "plain" cannot be changed/, 'an option that cannot change');
refused($rules =~ s/v > 10/w > 10/r, qr/column "w" does not exist/, 'a condition of nothing', ', copy => true');
refused($rules =~ s/"public.part"/"public.part", "options": {"snapshot.num-retained.max": "no"}/r, qr/snapshot.num-retained.max/, 'an option that makes no sense');
sql('INSERT INTO plain VALUES (1000, 1); INSERT INTO part VALUES (1000, 1000); DELETE FROM kept WHERE id = 1');
wait_for_sync($node, 's');
same_rows($node, 'plain', 'the sync goes on as before');
is(sql(q{SELECT count(*) FROM lake.part}), '91', 'with its condition');
is(sql(q{SELECT tables->1->>'soft_delete' FROM streamhouse.sync}), 'deleted', 'and its rules');

# ---- rules that change nothing: in another order, and one more for nothing that is there ----

my %before = map { $_ => sequence_of($_) } qw(plain part kept);
sql(alter("{\"source\": \"none.*\", \"table\": \"x\"}, $kept, $part, {\"source\": \"public.new\", \"table\": \"brand_new\"}"));
sql('UPDATE plain SET v = v + 1; UPDATE part SET v = v + 1; DELETE FROM kept WHERE id = 2; INSERT INTO part VALUES (2000, 1)');
wait_for_sync($node, 's');
is(sequence_of($_), $before{$_}, "$_ is not copied again") for qw(plain part kept);
same_rows($node, 'plain', 'plain goes on');
is(sql(q{SELECT count(*) || ' ' || min(v) || ' ' || min(_table) FROM lake.part}), '92 11 public.part', 'part keeps its rule');
is(sql(q{SELECT count(*) || ' ' || count(*) FILTER (WHERE deleted) || ' ' || bool_and(twice = v * 2) FROM lake.kept}), '100 2 true', 'kept keeps its own');

# a new table joins by a new rule
sql(q{CREATE TABLE new (id int PRIMARY KEY); INSERT INTO new VALUES (1); ALTER PUBLICATION p ADD TABLE new});
sql(alter("$rules, {\"source\": \"public.(new)\", \"table\": \"brand_\\1\", \"metadata\": [\"kind\"]}"));
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'brand_new');
is(sql('SELECT id, _kind FROM lake.brand_new'), '1|+I', 'a table that joins by a new rule');
$rules .= ', {"source": "public.(new)", "table": "brand_\1", "metadata": ["kind"]}';

# ---- with copies ----

%before = map { $_ => sequence_of($_) } qw(plain part kept);
sql(alter($rules =~ s/v > 10/v > 50/r, ', copy => true'));
sql('UPDATE part SET v = 0 WHERE id = 90; UPDATE part SET v = 99 WHERE id = 1; UPDATE plain SET v = v + 1');
wait_for_sync($node, 's');
is(sql(q{SELECT count(*) = (SELECT count(*) FROM part WHERE v > 50) AND min(v) > 50 AND bool_and(_table = 'public.part') FROM lake.part}), 't', 'another condition');
isnt(sequence_of('part'), $before{part}, 'the table was copied again');
is(sequence_of($_), $before{$_}, "$_ was not") for qw(plain kept);
$rules =~ s/v > 10/v > 50/;

# another lake table, where anything may be another one
sql(alter("{\"source\": \"public.part\", \"table\": \"part2\", \"partition\": [\"even\"], \"columns\": {\"even\": \"v % 2 = 0\"}}, " . ($rules =~ s/^\{.*?\}, //r), ', copy => true'));
sql('INSERT INTO part VALUES (3000, 3000); DELETE FROM part WHERE id = 3');
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'part2');
is(sql(q{SELECT count(*) FROM (SELECT id, v, v % 2 = 0 FROM part EXCEPT SELECT * FROM lake.part2) t}) . sql(q{SELECT count(*) = (SELECT count(*) FROM part) FROM lake.part2}), '0t', 'another lake table');
is(sql(q{SELECT count(*) FROM lake.part WHERE id = 3000}), '0', 'the former one stays as it was');
is(sql(q{SELECT string_agg("table", ' ' ORDER BY "table") FROM streamhouse.sync_tables}), 'brand_new kept part2 plain', 'names');

# ---- options, in place ----

my $last = "{\"source\": \"public.part\", \"table\": \"part2\", \"partition\": [\"even\"], \"columns\": {\"even\": \"v % 2 = 0\"}}";
%before = map { $_ => sequence_of($_) } qw(plain part kept);
sql(alter("$last, $kept, {\"source\": \"public.plain\", \"options\": {\"snapshot.num-retained.max\": \"20\", \"file.compression\": \"lz4\"}}"
	. ', {"source": "public.(new)", "table": "brand_\1", "metadata": ["kind"]}'));
sql('UPDATE plain SET v = v + 1');
wait_for_sync($node, 's');
is(sequence_of($_), $before{$_}, "$_ is not copied for options") for qw(plain part kept);
same_rows($node, 'plain', 'written with other options');
my @schemas = sort glob("$lake/d.db/plain/schema/schema-*");
like(slurp_file($schemas[-1]), qr/"file.compression"\s*:\s*"lz4"/, 'which the lake table has');
sql(alter("$last, $kept, {\"source\": \"public.(new)\", \"table\": \"brand_\\1\", \"metadata\": [\"kind\"]}"));
wait_for_sync($node, 's');
@schemas = sort glob("$lake/d.db/plain/schema/schema-*");
unlike(slurp_file($schemas[-1]), qr/file.compression/, 'and has no more');

# a rule for what shares a lake table
sql(q{CREATE SCHEMA x; CREATE SCHEMA y; CREATE TABLE x.t (id int PRIMARY KEY); CREATE TABLE y.t (id int PRIMARY KEY);
	INSERT INTO x.t VALUES (1); INSERT INTO y.t VALUES (1); ALTER PUBLICATION p ADD TABLE x.t, y.t});
my $shared = '{"source": "(.)[.]t", "table": "xy", "shard": {"s": "\1"}}';
sql(alter("$last, $kept, $shared, {\"source\": \"public.(new)\", \"table\": \"brand_\\1\", \"metadata\": [\"kind\"]}"));
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'xy');
is(sql(q{SELECT string_agg(s || id, ' ' ORDER BY s) FROM lake.xy}), 'x1 y1', 'two join one lake table');
refused("$last, $kept, {\"source\": \"(.).t\", \"table\": \"xy\", \"shard\": {\"s\": \"other \\1\"}}, {\"source\": \"public.(new)\", \"table\": \"brand_\\1\", \"metadata\": [\"kind\"]}",
	qr/- table "x.t": "shard" of its rule would be another one/, 'a shard stays', ', copy => true');

# rules for messages come and go
$last .= ", $kept, $shared, {\"source\": \"public.(new)\", \"table\": \"brand_\\1\", \"metadata\": [\"kind\"]}";
refused("$last, {\"messages\": \"m.*\", \"table\": \"kept\"}", qr/would both be lake table "kept"/, 'messages in a lake table that is taken');
sql(alter("$last, {\"messages\": \"m.*\", \"table\": \"messages\"}"));
sql(q{SELECT pg_logical_emit_message(true, 'm1', 'one'), pg_logical_emit_message(true, 'n', 'none')});
wait_for_sync($node, 's');
import_lake_tables($node, 'd', 'messages');
is(sql(q{SELECT string_agg(prefix, ' ') FROM lake.messages}), 'm1', 'messages by a new rule');
sql(alter("{\"messages\": \"n.*\", \"table\": \"messages\"}, $last"));
sql(q{SELECT pg_logical_emit_message(true, 'm2', 'two'), pg_logical_emit_message(true, 'n', 'other')});
wait_for_sync($node, 's');
is(sql(q{SELECT string_agg(prefix, ' ' ORDER BY _lsn) FROM lake.messages}), 'm1 n', 'others into the same lake table');
sql(q{CREATE TABLE messages (id int PRIMARY KEY); ALTER PUBLICATION p ADD TABLE messages});
($_, undef, my $err) = $node->psql('postgres', q{CALL streamhouse.refresh_sync('s')});
like($err, qr/would both be lake table "messages"/, 'a table does not join where messages go');

$node->stop;
done_testing();
