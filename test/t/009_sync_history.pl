
# Tables that keep every change: sources without a key, each row as often as
# it occurs, old rows, filters, TRUNCATE, partitions, and crashes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('history');

sub sql { return $node->safe_psql('postgres', @_) }

sql(q{
	CREATE TABLE event (n int, text text, at timestamptz);
	CREATE TABLE keyed (id int PRIMARY KEY, v int);
	CREATE TABLE part (id int, big text) PARTITION BY LIST (id);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
	CREATE TABLE part_2 (big text, id int);
	ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES IN (2);
	ALTER TABLE part_2 ALTER big SET STORAGE EXTERNAL;
	INSERT INTO event VALUES (1, 'one', '2024-01-01'), (1, 'one', '2024-01-01'), (NULL, NULL, NULL);
	INSERT INTO keyed SELECT i, i FROM generate_series(1, 20) i;
	INSERT INTO part VALUES (1, 'a'), (2, repeat('b', 5000));
	CREATE PUBLICATION history FOR TABLE event, keyed WHERE (id <= 10), part WITH (publish_via_partition_root);
});
my ($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.create_sync('h', 'history', 'lake', 'h', history => true)});
like($err, $_, 'refused by name') foreach qr/table "public.event" has nothing to identify/, qr/table "public.part_2" has nothing to identify/;
unlike($err, qr/keyed/, 'a key without large columns will do');
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.create_sync('h', 'history', 'lake', 'h')});
like($err, qr/table "public.event" has no primary key.*let the sync keep history/s, 'history is named as a way');

sql(q{
	ALTER TABLE event REPLICA IDENTITY FULL;
	ALTER TABLE part REPLICA IDENTITY FULL;
	ALTER TABLE part_1 REPLICA IDENTITY FULL;
	ALTER TABLE part_2 REPLICA IDENTITY FULL;
	CALL streamhouse.create_sync('h', 'history', 'lake', 'h', history => true, flush_interval => '100 ms');
	CALL streamhouse.wait_for_sync('h');
	IMPORT FOREIGN SCHEMA h FROM SERVER lake INTO lake;
});
is(sql('SELECT n, text, _kind, _lsn = _commit_lsn, _commit_time IS NULL FROM lake.event ORDER BY n'),
	"1|one|+I|t|t\n1|one|+I|t|t\n||+I|t|t", 'the initial copy is inserts');

sql(q{
	INSERT INTO event VALUES (1, 'one', '2024-01-01');
	BEGIN;
	UPDATE event SET text = 'uno' WHERE n = 1;
	DELETE FROM event WHERE n IS NULL;
	COMMIT;
	BEGIN;
	INSERT INTO event VALUES (7, 'never');
	ROLLBACK;
	UPDATE keyed SET v = -v WHERE id IN (1, 11);
	UPDATE keyed SET id = id + 100 WHERE id IN (2, 12);
	UPDATE keyed SET id = 3000 WHERE id = 3;
	UPDATE keyed SET id = 3 WHERE id = 3000;
	DELETE FROM keyed WHERE id IN (4, 14);
	UPDATE part SET id = 3 - id WHERE id = 2;
	TRUNCATE event;
	INSERT INTO event VALUES (8, 'after');
	CALL streamhouse.wait_for_sync('h');
});
is(sql('SELECT _kind, n, text, count(*) FROM lake.event WHERE _commit_time IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3'),
	"+I|1|one|1\n+I|8|after|1\n+U|1|uno|3\n-D|||1\n-U|1|one|3\nT|||1", 'each change as often as it happened');
is(sql('SELECT _kind, id, v FROM lake.keyed WHERE _commit_time IS NOT NULL ORDER BY _lsn, _kind'),
	"+U|1|-1\n-D|2|\n-D|3|\n+I|3|3\n-D|4|", 'of a table with a key and a filter');
is(sql('SELECT _kind, id, length(big) FROM lake.part WHERE _commit_time IS NOT NULL ORDER BY _lsn, _kind DESC'),
	"-D|2|5000\n+I|1|5000", 'of partitions');
is(sql('SELECT count(DISTINCT _commit_lsn), bool_and(_commit_lsn > _lsn), bool_and(_commit_time BETWEEN now() - interval \'1 hour\' AND now())
	FROM lake.event WHERE _kind IN (\'-U\', \'-D\')'), '1|t|t', 'rows of a transaction share its position and time');

# the state at the end follows from the history; exactly once under crashes
foreach my $round (1 .. 6)
{
	sql(qq{
		INSERT INTO event SELECT i % 3, 'round $round' FROM generate_series(1, 50) i;
		UPDATE event SET n = n + 10 WHERE n = 1;
		DELETE FROM event WHERE n = 2 AND text = 'round $round';
	});
	if ($round % 2)
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $pid = sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'streamhouse sync'});
		sql("SELECT pg_terminate_backend($pid)") if $pid;
	}
}
wait_for_sync($node, 'h');
is(sql(q{
	WITH after AS (SELECT * FROM lake.event WHERE _lsn > (SELECT max(_lsn) FROM lake.event WHERE _kind = 'T')),
	state AS (SELECT n, text, sum(CASE WHEN _kind IN ('+I', '+U') THEN 1 ELSE -1 END) AS c FROM after GROUP BY n, text)
	SELECT count(*) FROM (SELECT n, text, c FROM state WHERE c <> 0 EXCEPT SELECT n, text, count(*) FROM event GROUP BY n, text) d}) .
	sql(q{
	WITH after AS (SELECT * FROM lake.event WHERE _lsn > (SELECT max(_lsn) FROM lake.event WHERE _kind = 'T')),
	state AS (SELECT n, text, sum(CASE WHEN _kind IN ('+I', '+U') THEN 1 ELSE -1 END) AS c FROM after GROUP BY n, text)
	SELECT count(*) FROM (SELECT n, text, count(*) FROM event GROUP BY n, text EXCEPT SELECT n, text, c FROM state WHERE c <> 0) d}),
	'00', 'the history adds up to the table');

# large values are never left out
sql(q{
	CREATE TABLE note (id int PRIMARY KEY, small int, text text);
	CREATE PUBLICATION note FOR TABLE note;
});
($code, $out, $err) = $node->psql('postgres', q{CALL streamhouse.create_sync('n', 'note', 'lake', 'h', history => true)});
like($err, qr/WAL lacks large values of table "public.note".*REPLICA IDENTITY FULL/, 'large values need REPLICA IDENTITY FULL');

$node->stop;
done_testing();
