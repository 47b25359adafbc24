
# Unchanged TOAST values are not in the WAL: the lake must show them all the same.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('toast');

# Three ways to know an old row: its key, the whole row, a chosen index.
$node->safe_psql('postgres', q{
	CREATE TABLE by_key (id int, sub text, n int, big text, bytes bytea, PRIMARY KEY (id, sub));
	CREATE TABLE by_row (LIKE by_key INCLUDING ALL);
	CREATE TABLE by_index (id int, sub text NOT NULL, n int, big text, bytes bytea);
	CREATE UNIQUE INDEX by_index_sub ON by_index (sub);
	ALTER TABLE by_row REPLICA IDENTITY FULL;
	ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_sub;
});
my @tables = qw(by_key by_row by_index);
foreach my $table (@tables)
{
	$node->safe_psql('postgres', qq{
		ALTER TABLE $table ALTER big SET STORAGE EXTERNAL, ALTER bytes SET STORAGE EXTERNAL, ALTER sub SET STORAGE EXTERNAL;
		INSERT INTO $table SELECT i, 's' || i, 0, repeat(md5(i::text), 200), convert_to(repeat(md5((-i)::text), 150), 'UTF8')
		  FROM generate_series(1, 200) i;
	});
}
$node->safe_psql('postgres', q{
	CREATE PUBLICATION p FOR TABLE by_key, by_row, by_index;
	CALL streamhouse.create_sync('s', 'p', 'lake', 'd', flush_interval => '1 minute');
});
wait_for_sync($node, 's');
$node->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake');

# Run statements on all tables, in one transaction or one each, and compare.
sub all_tables
{
	my ($what, $statements) = @_;
	foreach my $table (@tables)
	{
		(my $text = $statements) =~ s/TABLE/$table/g;
		$node->safe_psql('postgres', $text);
	}
	wait_for_sync($node, 's');
	same_rows($node, $_, "$what, $_") foreach @tables;
}

all_tables('value from the lake', q{UPDATE TABLE SET n = n + 1});
all_tables('one of two values changed', q{
	UPDATE TABLE SET big = repeat(md5(random()::text), 180) WHERE id % 3 = 0;
	UPDATE TABLE SET bytes = NULL WHERE id % 5 = 0});
all_tables('value from a row of the same flush', q{
	INSERT INTO TABLE VALUES (1001, 's1001', 0, repeat('abc', 3000), 'short');
	UPDATE TABLE SET n = 7 WHERE id = 1001;
	UPDATE TABLE SET n = 8 WHERE id = 1001});
all_tables('value from a row of the same transaction', q{
	BEGIN;
	INSERT INTO TABLE VALUES (1002, 's1002', 0, repeat('xyz', 3000), 'short');
	UPDATE TABLE SET n = 7 WHERE id = 1002;
	UPDATE TABLE SET big = repeat('new', 3000) WHERE id = 1002;
	UPDATE TABLE SET n = 9 WHERE id = 1002;
	COMMIT});
all_tables('the key changes, the value does not', q{
	BEGIN;
	UPDATE TABLE SET sub = sub || 'x', id = id + 5000 WHERE id BETWEEN 10 AND 20;
	UPDATE TABLE SET n = -1 WHERE id BETWEEN 5010 AND 5015;
	COMMIT;
	UPDATE TABLE SET sub = sub || 'y' WHERE id BETWEEN 5012 AND 5018});
all_tables('keys are swapped', q{
	BEGIN;
	UPDATE TABLE SET sub = 'swap' , id = 30000 WHERE id = 31;
	UPDATE TABLE SET sub = 's31', id = 31 WHERE id = 32;
	UPDATE TABLE SET sub = 's32', id = 32 WHERE id = 30000;
	COMMIT});
all_tables('rows go and come again', q{
	UPDATE TABLE SET n = 1 WHERE id = 40;
	DELETE FROM TABLE WHERE id = 40;
	INSERT INTO TABLE VALUES (40, 's40', 2, repeat('again', 2000), NULL);
	UPDATE TABLE SET n = 3 WHERE id = 40;
	UPDATE TABLE SET n = 4 WHERE id = 41;
	DELETE FROM TABLE WHERE id = 41});
all_tables('TRUNCATE forgets rows that wait', q{
	UPDATE TABLE SET n = n + 1;
	TRUNCATE TABLE;
	INSERT INTO TABLE SELECT i, 's' || i, 0, repeat(md5(i::text), 200), NULL FROM generate_series(1, 50) i;
	UPDATE TABLE SET n = 5});

# more rows than wait at once
$node->safe_psql('postgres', q{
	INSERT INTO by_key SELECT i, 'many', 0, repeat(md5(i::text), 70), NULL FROM generate_series(10001, 25000) i;
	UPDATE by_key SET n = n + 1 WHERE sub = 'many';
});
wait_for_sync($node, 's');
same_rows($node, 'by_key', 'many rows with values out of line');

# and after a crash between the update and the flush
$node->safe_psql('postgres', q{UPDATE by_key SET n = n + 10});
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', q{UPDATE by_key SET n = n + 100 WHERE id < 100});
wait_for_sync($node, 's');
same_rows($node, 'by_key', 'values after a crash');

$node->stop;
done_testing();
