
# The publication decides: row filters with rows that move in and out, column
# lists, what is published, tables that are taken out, partitions as their root
# or as themselves.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my ($node, $lake) = sync_node('publication');

sub sql { return $node->safe_psql('postgres', @_) }

sub refused
{
	my ($call, $pattern) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $call);
	like($err, $pattern, "refused: $call");
}

# rows of the publication's filter, as a table to compare with
sub same_as
{
	my ($query, $table, $what) = @_;
	is(sql(qq{
		(SELECT 'missing', t::text FROM ($query EXCEPT ALL TABLE lake.$table) t LIMIT 5)
		UNION ALL
		(SELECT 'too many', t::text FROM (TABLE lake.$table EXCEPT ALL $query) t LIMIT 5)}), '', $what);
}

# ---- row filters and column lists
sql(q{
	CREATE TABLE item (id int, region text, v int, note text, secret text, PRIMARY KEY (id, region));
	ALTER TABLE item ALTER note SET STORAGE EXTERNAL;
	CREATE TABLE whole (id int PRIMARY KEY, open boolean, big text);
	ALTER TABLE whole ALTER big SET STORAGE EXTERNAL;
	ALTER TABLE whole REPLICA IDENTITY FULL;
	CREATE TABLE log (n int, at timestamp, keep boolean, text text);
	INSERT INTO item SELECT i, (ARRAY['north', 'south', 'west'])[1 + i % 3], i, 'note ' || i, 'secret' FROM generate_series(1, 300) i;
	INSERT INTO whole SELECT i, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, CASE WHEN i % 5 = 0 THEN repeat(i::text, 5000) END
	  FROM generate_series(1, 60) i;
	INSERT INTO log VALUES (1, now(), true, 'a'), (2, now(), false, 'b');
	CREATE PUBLICATION filtered FOR TABLE item (id, region, v, note) WHERE (region <> 'west' AND id > 0), whole WHERE (open);
	CREATE PUBLICATION inserts FOR TABLE log (n, text) WHERE (keep) WITH (publish = 'insert');
	CALL streamhouse.create_sync('filtered', 'filtered', 'lake', 'd', flush_interval => '100 ms');
	CALL streamhouse.create_sync('inserts', 'inserts', 'lake', 'd', flush_interval => '100 ms');
});
wait_for_sync($node, $_) for qw(filtered inserts);
sql('IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake');

my $items = q{SELECT id, region, v, note FROM item WHERE region <> 'west' AND id > 0};
my $whole = q{SELECT * FROM whole WHERE open};
same_as($items, 'item', 'filter and column list in the initial copy');
same_as($whole, 'whole', 'a filter that may be null in the initial copy');
same_as('SELECT n, text FROM log WHERE keep', 'log', 'of a table without key');
is(sql(q{SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'lake.item'::regclass AND attnum > 0}),
	'id region v note', 'only the listed columns are there');

sql(q{
	INSERT INTO item VALUES (1001, 'north', 1, 'in', 's'), (1002, 'west', 1, 'out', 's'), (-1, 'north', 1, 'out', 's');
	UPDATE item SET v = v + 1000 WHERE id <= 100;
	UPDATE item SET region = 'west' WHERE id BETWEEN 10 AND 30;
	UPDATE item SET region = 'east', note = 'back' WHERE id BETWEEN 20 AND 40;
	UPDATE item SET id = -id WHERE id BETWEEN 50 AND 60;
	UPDATE item SET id = -id, v = 0 WHERE id BETWEEN -55 AND -50;
	UPDATE item SET secret = 'changed' WHERE id > 200;
	DELETE FROM item WHERE id BETWEEN 70 AND 80;
	UPDATE whole SET open = NOT open WHERE id <= 30;
	UPDATE whole SET open = true WHERE open IS NULL AND id % 2 = 0;
	UPDATE whole SET big = repeat('y', 6000) WHERE id % 10 = 0;
	DELETE FROM whole WHERE id > 50;
	INSERT INTO log VALUES (3, now(), true, 'c'), (4, now(), NULL, 'd');
	UPDATE log SET text = 'never' WHERE n = 1;
});
wait_for_sync($node, $_) for qw(filtered inserts);
same_as($items, 'item', 'rows move in and out of the filter');
same_as($whole, 'whole', 'also by a column that is not of the key, with large values that do not change');
is(sql('SELECT n, text FROM lake.log ORDER BY n'), "1|a\n3|c", 'only inserts of the filter');

# columns that are not listed may come and go
sql(q{ALTER TABLE item DROP secret; ALTER TABLE item ADD more int; UPDATE item SET v = 7, more = 8 WHERE id = 1});
wait_for_sync($node, 'filtered');
same_as($items, 'item', 'columns that are not listed do not matter');

# what is published, changed in the middle: as of each change
sql(q{
	ALTER PUBLICATION filtered SET (publish = 'insert, update');
	DELETE FROM item WHERE id BETWEEN 100 AND 110;
	TRUNCATE whole;
	ALTER PUBLICATION filtered SET (publish = 'insert, update, delete, truncate');
	DELETE FROM item WHERE id BETWEEN 111 AND 120;
});
wait_for_sync($node, 'filtered');
is(sql(q{SELECT count(*) FILTER (WHERE id BETWEEN 100 AND 110) > 0, count(*) FILTER (WHERE id BETWEEN 111 AND 120) FROM lake.item}), 't|0',
	'deletes are left out when they are not published');
isnt(sql('SELECT count(*) FROM lake.whole'), '0', 'so is TRUNCATE');
sql('TRUNCATE whole');
wait_for_sync($node, 'filtered');
is(sql('SELECT count(*) FROM lake.whole'), '0', 'TRUNCATE of a filtered table');

# another filter holds for what comes after it; after a restart, too
sql(q{
	INSERT INTO whole VALUES (1, false), (2, true);
	ALTER PUBLICATION filtered SET TABLE item (id, region, v, note) WHERE (region <> 'west' AND id > 0), whole;
	INSERT INTO whole VALUES (3, false), (4, true);
});
wait_for_sync($node, 'filtered');
is(sql('SELECT string_agg(id::text, \' \' ORDER BY id) FROM lake.whole'), '2 3 4', 'a filter that was taken away');

# a table that was taken out gets no more changes, and the others go on
sql(q{
	ALTER PUBLICATION filtered DROP TABLE whole;
	INSERT INTO whole VALUES (5, true);
	INSERT INTO item VALUES (3000, 'north', 1, 'n');
});
wait_for_sync($node, 'filtered');
is(sql('SELECT count(*) FROM lake.whole'), '3', 'a table that is not published any more');
is(sql('SELECT note FROM lake.item WHERE id = 3000'), 'n', 'the others go on');

# another column list is a change of columns
sql(q{
	ALTER PUBLICATION filtered SET TABLE item (id, region, v) WHERE (region <> 'west' AND id > 0);
	INSERT INTO item VALUES (3001, 'north', 1, 'n');
});
like(table_error($node, 'filtered', 'item'), qr/columns have changed: Column "note" is not published any more/,
	'another column list');
sql(q{CALL streamhouse.drop_sync('filtered')});

refused(q{CREATE TABLE keyed (id int PRIMARY KEY, v int); CREATE PUBLICATION keyless FOR TABLE keyed (v);
	CALL streamhouse.create_sync('keyless', 'keyless', 'lake', 'd')}, qr/column list of table "public.keyed" lacks column "id" of its key/);
sql(q{
	INSERT INTO keyed VALUES (1, 1), (2, 1);
	ALTER PUBLICATION keyless SET (publish = 'insert');
	CALL streamhouse.create_sync('keyless', 'keyless', 'lake', 'd');
	CALL streamhouse.wait_for_sync('keyless');
	IMPORT FOREIGN SCHEMA d LIMIT TO (keyed) FROM SERVER lake INTO lake;
	INSERT INTO keyed VALUES (3, 1);
	CALL streamhouse.wait_for_sync('keyless');
});
is(sql('SELECT v, count(*) FROM lake.keyed GROUP BY v'), '1|3', 'without its key a table is an append table');

# ---- partitions
sql(q{
	CREATE TABLE sale (id int, region text, amount numeric(10,2), note text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
	CREATE TABLE sale_n PARTITION OF sale FOR VALUES IN ('north');
	CREATE TABLE sale_s (note text, gone int, region text NOT NULL, amount numeric(10,2), id int NOT NULL, PRIMARY KEY (id, region));
	ALTER TABLE sale_s DROP gone;
	ALTER TABLE sale ATTACH PARTITION sale_s FOR VALUES IN ('south');
	CREATE TABLE sale_other PARTITION OF sale DEFAULT PARTITION BY RANGE (id);
	CREATE TABLE sale_other_1 PARTITION OF sale_other FOR VALUES FROM (0) TO (1000);
	CREATE TABLE sale_other_2 PARTITION OF sale_other FOR VALUES FROM (1000) TO (MAXVALUE);
	ALTER TABLE sale_n ALTER note SET STORAGE EXTERNAL;
	ALTER TABLE sale_s ALTER note SET STORAGE EXTERNAL;
	INSERT INTO sale SELECT i, (ARRAY['north', 'south', 'east'])[1 + i % 3], i, CASE WHEN i % 10 < 3 THEN repeat(i::text, 3000) END
	  FROM generate_series(1, 1500) i;
	CREATE PUBLICATION roots FOR TABLE sale WITH (publish_via_partition_root);
	CREATE PUBLICATION leaves FOR TABLE sale;
	CREATE PUBLICATION large FOR TABLE sale (region, id, amount) WHERE (id > 100) WITH (publish_via_partition_root);
	CALL streamhouse.create_sync('roots', 'roots', 'lake', 'roots', flush_interval => '100 ms');
	CALL streamhouse.create_sync('leaves', 'leaves', 'lake', 'leaves', flush_interval => '100 ms');
	CALL streamhouse.create_sync('large', 'large', 'lake', 'large', flush_interval => '100 ms');
});
wait_for_sync($node, $_) for qw(roots leaves large);
sql(q{
	CREATE SCHEMA leaves;
	CREATE SCHEMA large;
	IMPORT FOREIGN SCHEMA roots FROM SERVER lake INTO lake;
	IMPORT FOREIGN SCHEMA leaves FROM SERVER lake INTO leaves;
	IMPORT FOREIGN SCHEMA large FROM SERVER lake INTO large;
});
my $leaves = sql(q{SELECT string_agg("table", ' ' ORDER BY "table") FROM streamhouse.sync_tables WHERE name = 'leaves'});
is($leaves, 'sale_n sale_other_1 sale_other_2 sale_s', 'each partition is a table of its own');

sub partitions_are_equal
{
	my ($what) = @_;
	same_as('TABLE sale', 'sale', "$what, as the root");
	foreach my $leaf (split / /, $leaves)
	{
		is(sql("SELECT count(*) FROM (TABLE $leaf EXCEPT ALL TABLE leaves.$leaf) t") . sql("SELECT count(*) FROM (TABLE leaves.$leaf EXCEPT ALL TABLE $leaf) t"),
			'00', "$what, $leaf by itself");
	}
	is(sql(q{SELECT count(*) FROM ((SELECT id, region, amount FROM sale WHERE id > 100) EXCEPT ALL SELECT id, region, amount FROM large.sale) t}) .
		sql(q{SELECT count(*) FROM (SELECT id, region, amount FROM large.sale EXCEPT ALL (SELECT id, region, amount FROM sale WHERE id > 100)) t}),
		'00', "$what, as the root, filtered");
}

partitions_are_equal('initial copy');
sql(q{
	INSERT INTO sale SELECT i, (ARRAY['north', 'south', 'east', 'west'])[1 + i % 4], i FROM generate_series(2001, 2100) i;
	UPDATE sale SET amount = amount + 1 WHERE id % 7 = 0;
	UPDATE sale SET region = 'south' WHERE region = 'north' AND id % 5 = 0;
	UPDATE sale SET id = id + 5000 WHERE id BETWEEN 90 AND 110;
	UPDATE sale SET id = id - 5000 WHERE id BETWEEN 5105 AND 5110;
	DELETE FROM sale WHERE id % 11 = 0;
	INSERT INTO sale_s (id, region, amount, note) VALUES (9001, 'south', 5, 'direct');
});
wait_for_sync($node, $_) for qw(roots leaves large);
partitions_are_equal('changes');

# partitions that come and go while it streams
sql(q{
	CREATE TABLE sale_w (amount numeric(10,2), region text NOT NULL, note text, id int NOT NULL, PRIMARY KEY (id, region));
	BEGIN;
	DELETE FROM sale WHERE region = 'west';
	ALTER TABLE sale ATTACH PARTITION sale_w FOR VALUES IN ('west');
	INSERT INTO sale VALUES (7001, 'west', 1, 'new partition');
	UPDATE sale SET amount = 2 WHERE id = 7001;
	COMMIT;
	INSERT INTO sale VALUES (7002, 'west', 1, 'new partition');
});
wait_for_sync($node, $_) for qw(roots large);
same_as('TABLE sale', 'sale', 'a partition that was attached');
sql(q{ALTER TABLE sale DETACH PARTITION sale_w; INSERT INTO sale_w VALUES (1, 'west', 'detached', 7003)});
wait_for_sync($node, 'roots');
is(sql(q{SELECT count(*) FROM lake.sale WHERE region = 'west'}), '2', 'a detached one leaves its rows, and its changes are none of the root');

my $position = -s $node->logfile;
sql(q{TRUNCATE sale_other_2});
wait_for_sync($node, $_) for qw(roots leaves);
is(sql('SELECT count(*) FROM leaves.sale_other_2'), '0', 'TRUNCATE of a partition by itself');
cmp_ok(sql(q{SELECT count(*) FROM lake.sale WHERE region = 'east' AND id >= 1000}), '>', 0, 'but not as the root');
like(PostgreSQL::Test::Utils::slurp_file($node->logfile, $position), qr/rows of partition "sale_other_2" stay in lake table "roots.sale"/, 'which the log tells');
sql(q{TRUNCATE sale});
wait_for_sync($node, $_) for qw(roots leaves large);
partitions_are_equal('TRUNCATE');

# partitions must be such that changes name rows of the root
refused(q{
	ALTER TABLE sale_n REPLICA IDENTITY NOTHING;
	CREATE UNIQUE INDEX sale_s_other ON sale_s (id);
	ALTER TABLE sale_s REPLICA IDENTITY USING INDEX sale_s_other;
	CALL streamhouse.create_sync('again', 'roots', 'lake', 'again')},
	qr/table "public.sale_n" has REPLICA IDENTITY NOTHING.*partition "sale_s" of table "public.sale" has another replica identity/s);

$node->stop;
done_testing();
