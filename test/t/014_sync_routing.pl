
# Which tables a sync has, and what its lake tables are like: tables join by
# themselves.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('routing');

sub sql { return $node->safe_psql('postgres', @_) }

sub import_table
{
	my ($table) = @_;
	sql("DROP FOREIGN TABLE IF EXISTS lake.$table; IMPORT FOREIGN SCHEMA d LIMIT TO ($table) FROM SERVER lake INTO lake");
}

sub wait_for_state
{
	my ($table, $state) = @_;
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM streamhouse.sync_tables WHERE source::text = '$table' AND state = '$state'")
	  or die "table $table does not become $state";
}

# ---- tables that are added to the publication join by themselves ----

sql(q{
	CREATE ROLE keeper REPLICATION LOGIN;
	GRANT USAGE ON FOREIGN SERVER lake TO keeper;
	GRANT USAGE ON SCHEMA streamhouse TO keeper;
	GRANT EXECUTE ON PROCEDURE streamhouse.create_sync TO keeper;
	GRANT EXECUTE ON PROCEDURE streamhouse.refresh_sync TO keeper;
	CREATE TABLE one (id int PRIMARY KEY, v text);
	GRANT SELECT ON one TO keeper;
	INSERT INTO one VALUES (1, 'a');
	CREATE PUBLICATION p FOR TABLE one;
	SET ROLE keeper;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, 's');
sql(q{
	CREATE TABLE two (id int PRIMARY KEY, v text);
	GRANT SELECT ON two TO keeper;
	INSERT INTO two SELECT i, i::text FROM generate_series(1, 100) i;
	ALTER PUBLICATION p ADD TABLE two;
	UPDATE two SET v = 'new' WHERE id < 10;
});
wait_for_state('two', 'streaming');
sql(q{INSERT INTO two VALUES (1000, 'later')});
wait_for_sync($node, 's');
import_table('two');
same_rows($node, 'two', 'a table joined by itself');

# the owner must be able to read it, it needs a key, and its name may be taken
sql(q{
	CREATE TABLE secret (id int PRIMARY KEY);
	CREATE TABLE keyless (a int);
	GRANT SELECT ON keyless TO keeper;
	CREATE SCHEMA other;
	GRANT USAGE ON SCHEMA other TO keeper;
	CREATE TABLE other.one (id int PRIMARY KEY);
	GRANT SELECT ON other.one TO keeper;
	ALTER PUBLICATION p ADD TABLE secret, keyless, other.one;
	INSERT INTO secret VALUES (1);
	INSERT INTO keyless VALUES (1);
});
wait_for_state($_, 'refused') for qw(secret keyless other.one);
like(sql(q{SELECT error FROM streamhouse.sync_tables WHERE source = 'secret'::regclass}),
	qr/^permission denied for table "public.secret": grant SELECT on it$/, 'a table that the owner cannot read');
like(sql(q{SELECT error FROM streamhouse.sync_tables WHERE source = 'keyless'::regclass}), qr/no primary key/, 'a table without key');
like(sql(q{SELECT error FROM streamhouse.sync_tables WHERE source = 'other.one'::regclass}),
	qr/would both be lake table "one"/, 'a table whose name is taken');
sql(q{INSERT INTO one VALUES (2, 'b')});
wait_for_sync($node, 's');
import_table('one');
same_rows($node, 'one', 'the others go on');
is(sql(q{SELECT state || ' ' || health FROM streamhouse.sync_status}), 'streaming ok', 'the sync is well');
my ($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.resync_table('s', 'secret')});
like($err, qr/sync "s" does not have that table/, 'there is nothing to copy again');
($code, $out, $err) = $node->psql('postgres', q{SET ROLE keeper; CALL streamhouse.refresh_sync('s')});
like($err, qr/sync "s" cannot take up tables.*permission denied for table "public.secret"/s, 'on request it is an error');

# what was in the way is gone
sql(q{
	GRANT SELECT ON secret TO keeper;
	ALTER PUBLICATION p DROP TABLE keyless, other.one;
	SET ROLE keeper;
	CALL streamhouse.refresh_sync('s');
});
wait_for_sync($node, 's');
import_table('secret');
same_rows($node, 'secret', 'a table that was refused joined');
is(sql(q{SELECT string_agg(source::text || ' ' || state, ', ' ORDER BY source::text) FROM streamhouse.sync_tables}),
	'one streaming, secret streaming, two streaming', 'others are forgotten');

# not by themselves
sql(q{
	CALL streamhouse.alter_sync('s', auto_refresh => false);
	CREATE TABLE three (id int PRIMARY KEY);
	ALTER PUBLICATION p ADD TABLE three;
});
sleep(3);
is(sql(q{SELECT count(*) FROM streamhouse.sync_tables}), '3', 'tables join on request only');
sql(q{CALL streamhouse.drop_sync('s')});

done_testing();
