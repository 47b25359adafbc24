
# What goes wrong must be told by name, and leave the table as it was: killed
# backends, full disks, folders that cannot be written, damaged files.

use strict;
use warnings;

use File::Find;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SyncNode;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('faults');
$node->init;
$node->append_conf('postgresql.conf', "restart_after_crash = on\nlog_min_messages = warning\n");
$node->start;

my $lake = PostgreSQL::Test::Utils::tempdir();
$node->safe_psql('postgres', qq{
	CREATE EXTENSION streamhouse;
	CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '$lake');
	CREATE SCHEMA l;
	CREATE FOREIGN TABLE l.t (id int NOT NULL, v text) SERVER lake
	  OPTIONS (database 'd', "table" 't', "primary-key" 'id', "bucket" '1');
	INSERT INTO l.t SELECT i, 'v' || i FROM generate_series(1, 1000) i;
});

# All files below a folder, by name.
sub files_below
{
	my ($folder, $pattern) = @_;
	my @found;
	find({ no_chdir => 1, wanted => sub { push @found, $_ if -f && m/$pattern/ } }, $folder);
	return sort @found;
}

sub table_is_whole
{
	my ($what) = @_;
	is($node->safe_psql('postgres', 'SELECT count(*), min(id), max(id) FROM l.t'), '1000|1|1000', $what);
}

# A backend that dies in the middle of an INSERT that has files already.
{
	my @before = files_below("$lake/d.db/t", 'snapshot-');
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->query(q{SET streamhouse.write_buffer_size = '1MB'});
	$session->query(q{BEGIN});
	$session->query(q{INSERT INTO l.t SELECT i, repeat('x', 100) FROM generate_series(2000, 60000) i});
	my @files = files_below("$lake/d.db/t", 'parquet$');
	cmp_ok(scalar(@files), '>', 1, 'the buffer was written before the commit');
	kill 'KILL', $pid;
	wait_for_server($node);
	eval { $session->quit };
	table_is_whole('nothing of a killed INSERT is visible');
	is_deeply([ files_below("$lake/d.db/t", 'snapshot-') ], \@before, 'and no snapshot was made');
	$node->safe_psql('postgres', q{INSERT INTO l.t VALUES (1, 'v1')});
	table_is_whole('the table goes on');
}

# Cancelled and failed statements leave no files behind.
{
	my @before = files_below($lake, '.');
	$node->psql('postgres', q{
		SET streamhouse.write_buffer_size = '1MB';
		INSERT INTO l.t SELECT i, CASE WHEN i < 59000 THEN repeat('x', 100) ELSE repeat('y', i / (i - 59500)) END
		FROM generate_series(2000, 60000) i});
	is_deeply([ files_below($lake, '.') ], \@before, 'a failed INSERT removes its files');
	table_is_whole('and changes nothing');
}

# A full disk: a small file system, made by whoever runs the tests as root.
SKIP:
{
	my $small = $ENV{STREAMHOUSE_SMALL_DISK};
	skip 'STREAMHOUSE_SMALL_DISK names no small file system', 4 unless $small;
	$node->safe_psql('postgres', qq{
		CREATE SERVER small FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '$small');
		CREATE FOREIGN TABLE l.small (id int, v text) SERVER small OPTIONS (database 'd', "table" 'small');
		INSERT INTO l.small VALUES (1, 'one');
	});
	my ($status, $out, $err) = $node->psql('postgres',
		q{INSERT INTO l.small SELECT i, md5(i::text) || md5((-i)::text) FROM generate_series(1, 400000) i});
	isnt($status, 0, 'an INSERT on a full disk fails');
	like($err, qr/could not (write|extend|create|fsync).*\Q$small\E.*No space left/s, 'and names the file');
	is($node->safe_psql('postgres', 'SELECT * FROM l.small'), '1|one', 'the table is as before');
	$node->safe_psql('postgres', q{INSERT INTO l.small VALUES (2, 'two')});
	is($node->safe_psql('postgres', 'SELECT count(*) FROM l.small'), '2', 'and goes on');
}

# Folders that may not be written.
{
	for my $folder ("$lake/d.db/t/bucket-0", "$lake/d.db/t/manifest", "$lake/d.db/t/snapshot")
	{
		chmod 0555, $folder;
		my ($status, $out, $err) = $node->psql('postgres', q{INSERT INTO l.t VALUES (2000, 'x')});
		like($err, qr/\Q$folder\E.*Permission denied/s, "a folder that cannot be written is named: $folder");
		chmod 0700, $folder;
		table_is_whole('and the table is as before');
	}
}

# Damage: every kind of file truncated, emptied and with single bits turned. The answer is an error with the file's
# name, or the right rows (a bit that says nothing, such as one of a statistic not looked at).
my ($snapshot) = $node->safe_psql('postgres', q{SELECT max(snapshot_id) FROM streamhouse.snapshots('l.t')});
my %kinds = (
	'snapshot' => "$lake/d.db/t/snapshot/snapshot-$snapshot",
	'schema' => "$lake/d.db/t/schema/schema-0",
	'manifest' => undef,
	'manifest list' => undef,
	'data file' => undef);
{
	my $json = slurp_file($kinds{snapshot});
	my ($list) = $json =~ /"deltaManifestList"\s*:\s*"([^"]+)"/;
	$kinds{'manifest list'} = "$lake/d.db/t/manifest/$list";
	($kinds{manifest}) = grep { !/manifest-list/ } files_below("$lake/d.db/t/manifest", '.');
	($kinds{'data file'}) = files_below("$lake/d.db/t/bucket-0", 'parquet$');
}
my $right = $node->safe_psql('postgres', 'SELECT md5(string_agg(t::text, chr(10) ORDER BY id)) FROM l.t t');

sub damage
{
	my ($path, $content) = @_;
	open my $handle, '>:raw', $path or die "$path: $!";
	print $handle $content;
	close $handle;
}

for my $kind (sort keys %kinds)
{
	my $path = $kinds{$kind};
	my $good = slurp_file($path);
	my ($name) = $path =~ m{([^/]+)$};
	my ($wrong, $unnamed, $died) = (0, 0, 0);
	my @damaged = ('', substr($good, 0, length($good) / 2), substr($good, 0, length($good) - 1));

	# the same positions in every run
	for my $n (0 .. 39)
	{
		my $copy = $good;
		my $at = int(length($good) * $n / 40);
		substr($copy, $at, 1) = chr(ord(substr($copy, $at, 1)) ^ (1 << ($n % 8)));
		push @damaged, $copy;
	}
	for my $content (@damaged)
	{
		damage($path, $content);
		my ($status, $out, $err) = $node->psql('postgres', 'SELECT md5(string_agg(t::text, chr(10) ORDER BY id)) FROM l.t t');
		if ($status == 2) { $died++; wait_for_server($node); }
		elsif ($status == 0) { $wrong++ if $out ne $right; }
		elsif ($err !~ /\Q$name\E|\Q$lake\E|d\.t\b/) { $unnamed++; diag($err); }
	}
	damage($path, $good);
	is($died, 0, "damage to a $kind never ends the backend");
	is($unnamed, 0, "errors name the $kind");
	is($wrong, 0, "a damaged $kind never gives wrong rows");
}
table_is_whole('all is well again');

# Strings that are no text: every length up to 20, with a byte that is wrong at every place.
{
	$node->safe_psql('postgres', q{
		CREATE FOREIGN TABLE l.raw (id int, good boolean, v bytea) SERVER lake OPTIONS (database 'd', "table" 'raw');
		CREATE TABLE raw AS
			SELECT (row_number() OVER ())::int AS id, part IN ('a', 'ä') AS good,
				decode(repeat('61', before) || CASE part WHEN 'zero' THEN '00' WHEN 'high' THEN 'ff' WHEN 'cut' THEN 'c3'
					ELSE encode(convert_to(part, 'UTF8'), 'hex') END || repeat('7f', behind), 'hex') AS v
			FROM generate_series(0, 20) before, generate_series(0, 20 - before) behind,
				unnest('{a,ä,zero,high,cut}'::text[]) part;
		INSERT INTO l.raw SELECT * FROM raw;
	});
	my $schema = "$lake/d.db/raw/schema/schema-0";
	my $json = slurp_file($schema);
	$json =~ s/BYTES/STRING/ or die "no column of bytes in $json";
	damage($schema, $json);
	is($node->safe_psql('postgres', q{
		CREATE FOREIGN TABLE l.raw_text (id int, good boolean, v text) SERVER lake OPTIONS (database 'd', "table" 'raw');
		CREATE FUNCTION is_text(number int) RETURNS boolean LANGUAGE plpgsql AS $$
			BEGIN
				PERFORM v FROM l.raw_text WHERE id = number;
				RETURN true;
			EXCEPTION WHEN untranslatable_character OR data_corrupted THEN
				RETURN false;
			END $$;
		SELECT count(*), count(*) FILTER (WHERE is_text(id)), bool_and(is_text(id) = good) FROM raw;
	}), '1155|462|t', 'what is not text is an error, wherever the wrong byte stands');
	is($node->safe_psql('postgres', q{
		SELECT count(*) FROM l.raw_text t JOIN raw USING (id) WHERE t.good AND convert_to(t.v, 'UTF8') = raw.v
	}), '462', 'and what is text is read as it is');
}

$node->stop;
done_testing();
