#!/usr/bin/env python3
"""bench.py --dsn DSN --warehouse FOLDER --rows N: times the same queries on the heap, on the lake through streamhouse,
and by DuckDB on the lake's Parquet files; then inserts and the sync. One run each, warm, one thread; CPU seconds of the
process that does the work."""
import argparse
import glob
import os
import time

import duckdb
import psycopg2

import parallel

# {t}: the table of facts, {c}: that of carriers
QUERIES = [
    ("count", "SELECT count(*) FROM {t}"),
    ("sums and extremes", "SELECT sum(amount), avg(delay), min(delay), max(delay), min(placed), max(placed) FROM {t}"),
    ("sum of a CASE by carrier", "SELECT carrier, sum(CASE WHEN delay > 0 THEN delay ELSE 0 END), count(*) FROM {t} GROUP BY carrier"),
    ("two keys, first 10", "SELECT origin, dest, count(*) AS n, avg(delay) FROM {t} GROUP BY origin, dest ORDER BY n DESC, origin, dest LIMIT 10"),
    ("rows of a week", "SELECT placed, carrier, amount FROM {t} WHERE placed >= timestamp '2024-01-10' AND placed < timestamp '2024-01-11'"),
    ("rows with a note", "SELECT id, origin, dest FROM {t} WHERE note = 'note 77'"),
    ("filter a string", "SELECT count(*), sum(amount) FROM {t} WHERE carrier = 'c7' AND delay > 100"),
    ("join and group", "SELECT c.name, count(*), sum(f.amount), avg(f.delay) FROM {t} f JOIN {c} c ON f.carrier = c.carrier "
     "WHERE c.country <> 'US' GROUP BY c.name"),
    ("distinct origins", "SELECT count(DISTINCT origin) FROM {t}"),
    ("first 100 of an order", "SELECT * FROM {t} ORDER BY placed DESC, id LIMIT 100"),
]
COPIED_ROWS = 1000000
LOOKUPS = 1000
COLUMNS = ("id bigint NOT NULL, carrier text, origin text, dest text, delay integer, amount numeric(12,2), placed timestamp, "
           "note text")
ROWS = ("SELECT i, 'c' || i % 20, 'A' || i * 7919 % 300, 'A' || i * 104729 / 3 % 300, (i * 7919 % 500)::int - 100, "
        "(i * 31 % 1000000) / 100.0, timestamp '2024-01-01' + i * interval '1 second', 'note ' || i % 10000 "
        "FROM (SELECT generate_series(1::bigint, {n}) AS i) s")
CARRIERS = "SELECT 'c' || i AS carrier, 'carrier ' || i AS name, CASE WHEN i % 4 = 0 THEN 'US' ELSE 'X' || i % 3 END AS country FROM generate_series(0, 19) i"


def backend_cpu(connection):
    """CPU seconds that the server process of a connection has used."""
    with open("/proc/%d/stat" % connection.get_backend_pid()) as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak(pid):
    with open("/proc/%d/status" % pid) as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) // 1024
    return 0


MEMORY_LIMIT = 256  # MB that a backend may have at its peak


def check_memory(options):
    """Each query in a fresh backend, since a peak stays."""
    print("### Peak memory of a backend, MB\n\n| query | append | key |\n|---|---|---|")
    for name, query in QUERIES:
        peaks = []
        for table in ("lake.facts", "lake.keyed"):
            connection = psycopg2.connect(options.dsn)
            with connection.cursor() as cursor:
                cursor.execute("SET max_parallel_workers_per_gather = 0")
                cursor.execute(query.format(t=table, c="lake.carriers"))
                cursor.fetchall()
            peaks.append(peak(connection.get_backend_pid()))
            connection.close()
        print("| %s | %d | %d |" % (name, *peaks))
        assert max(peaks) < MEMORY_LIMIT, "a backend took %d MB for: %s" % (max(peaks), name)


def timed_sql(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        if cursor.description:
            cursor.fetchall()
        before, clock = backend_cpu(connection), time.time()
        cursor.execute(statement)
        rows = cursor.fetchall() if cursor.description else None
        return backend_cpu(connection) - before, time.time() - clock, rows


class Sink:
    """Where a COPY goes."""

    def write(self, data):
        return len(data)


def copy_cpu(connection, table):
    statement = "COPY (SELECT * FROM %s LIMIT %d) TO STDOUT (FORMAT binary)" % (table, COPIED_ROWS)
    with connection.cursor() as cursor:
        cursor.copy_expert(statement, Sink())
        before = backend_cpu(connection)
        cursor.copy_expert(statement, Sink())
        return backend_cpu(connection) - before


def lookup_milliseconds(connection, table, rows):
    """Median of single rows by random keys."""
    times = []
    keys = [1 + k * 7919 * 104729 % rows for k in range(LOOKUPS)]
    with connection.cursor() as cursor:
        for key in keys:
            clock = time.time()
            cursor.execute("SELECT * FROM %s WHERE id = %d" % (table, key))
            assert len(cursor.fetchall()) == 1, key
            times.append(time.time() - clock)
    return sorted(times)[len(times) // 2] * 1000


def timed_duckdb(duck, statement):
    duck.execute(statement).fetchall()
    before, clock = time.process_time(), time.time()
    duck.execute(statement).fetchall()
    return time.process_time() - before, time.time() - clock


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--warehouse", required=True)
    parser.add_argument("--rows", type=int, default=5000000)
    options = parser.parse_args()
    connection = psycopg2.connect(options.dsn)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("SET max_parallel_workers_per_gather = 0; SET work_mem = '256MB'; CREATE EXTENSION streamhouse")
    cursor.execute("CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '%s')" % options.warehouse)
    cursor.execute("CREATE SCHEMA lake; CREATE TABLE heap (%s, PRIMARY KEY (id))" % COLUMNS)
    cursor.execute("CREATE TABLE carriers AS " + CARRIERS)
    cursor.execute("CREATE FOREIGN TABLE lake.carriers (carrier text, name text, country text) SERVER lake OPTIONS (database 'bench')")
    cursor.execute("INSERT INTO lake.carriers TABLE carriers")
    cursor.execute("CREATE FOREIGN TABLE lake.facts (%s) SERVER lake OPTIONS (database 'bench', \"table\" 'facts')" % COLUMNS)
    cursor.execute("CREATE FOREIGN TABLE lake.keyed (%s) SERVER lake OPTIONS (database 'bench', \"table\" 'keyed', \"primary-key\" 'id', \"bucket\" '1')" % COLUMNS)
    million = options.rows / 1e6

    def load(what, statement):
        before, clock = backend_cpu(connection), time.time()
        cursor.execute(statement)
        cpu, wall = backend_cpu(connection) - before, time.time() - clock
        print("| %s | %.1f | %.1f | %d |" % (what, wall, cpu / million, options.rows / wall))

    print("### Loading %d rows\n\n| into | seconds | CPU s a million | rows a second |\n|---|---|---|---|" % options.rows)
    load("heap with primary key", "INSERT INTO heap " + ROWS.format(n=options.rows))
    load("lake, append table", "INSERT INTO lake.facts " + ROWS.format(n=options.rows))
    load("lake, primary key, 1 bucket", "INSERT INTO lake.keyed " + ROWS.format(n=options.rows))
    cursor.execute("CALL streamhouse.compact('lake.facts'); CALL streamhouse.compact('lake.keyed')")
    cursor.execute("VACUUM ANALYZE heap")
    print("\nPeak memory of the loading backend: %d MB\n" % peak(connection.get_backend_pid()))

    duck = duckdb.connect()
    duck.execute("SET threads = 1")
    duck.execute("CREATE TABLE carriers AS " + CARRIERS.replace("generate_series(0, 19) i", "range(20) r(i)"))
    files = glob.glob(options.warehouse + "/bench.db/facts/bucket-0/*.parquet")
    cursor.execute("SELECT file_path FROM streamhouse.files('lake.facts')")
    live = [r[0] for r in cursor.fetchall()]
    names = [f for f in files if any(f.endswith(os.path.basename(p)) for p in live)]
    print("### Queries, CPU seconds (one thread, warm)\n\n| query | heap | lake, append | lake, key | DuckDB, same files | append to heap | append to DuckDB |\n|---|---|---|---|---|---|---|")
    for name, query in QUERIES:
        heap = timed_sql(connection, query.format(t="heap", c="carriers"))
        facts = timed_sql(connection, query.format(t="lake.facts", c="lake.carriers"))
        keyed = timed_sql(connection, query.format(t="lake.keyed", c="lake.carriers"))
        assert sorted(map(str, heap[2])) == sorted(map(str, facts[2])) == sorted(map(str, keyed[2])), name
        other = timed_duckdb(duck, query.format(t="read_parquet(%r)" % names, c="carriers"))
        print("| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f |" % (
            name, heap[0], facts[0], keyed[0], other[0], facts[0] / max(heap[0], 0.01), facts[0] / max(other[0], 0.01)))
    copied = [copy_cpu(connection, table) for table in ("heap", "lake.facts", "lake.keyed")]
    print("| COPY %d rows, binary | %.2f | %.2f | %.2f | | %.2f | |" % (COPIED_ROWS, *copied, copied[1] / max(copied[0], 0.01)))
    print("\nOne row by a random key, median of %d: heap %.2f ms, lake %.2f ms\n" % (
        LOOKUPS, lookup_milliseconds(connection, "heap", options.rows), lookup_milliseconds(connection, "lake.keyed", options.rows)))
    check_memory(options)
    print("\n### Parallel workers, append table\n")
    parallel.compare_all(connection, [(name, query.format(t="lake.facts", c="lake.carriers")) for name, query in QUERIES])
    cursor.execute("RESET max_parallel_workers_per_gather; RESET parallel_leader_participation")
    print()

    sync(connection, cursor, options)


def sync(connection, cursor, options):
    print("### The sync\n\n| part | rows | seconds | rows a second |\n|---|---|---|---|")
    cursor.execute("CREATE PUBLICATION bench_pub FOR TABLE heap")
    clock = time.time()
    cursor.execute("CALL streamhouse.create_sync('bench', publication => 'bench_pub', server => 'lake', database => 'synced')")
    cursor.execute("CALL streamhouse.wait_for_sync('bench', timeout => '1 hour')")
    wall = time.time() - clock
    print("| initial copy | %d | %.1f | %d |" % (options.rows, wall, options.rows / wall))
    changes = options.rows // 10
    clock = time.time()
    for k in range(20):
        cursor.execute("UPDATE heap SET delay = delay + 1 WHERE id %% 200 = %d" % k)
    cursor.execute("CALL streamhouse.wait_for_sync('bench', timeout => '1 hour')")
    wall = time.time() - clock
    print("| stream, updates in 20 transactions, source included | %d | %.1f | %d |" % (changes, wall, changes / wall))
    cursor.execute("SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'streamhouse%'")
    pids = [r[0] for r in cursor.fetchall()]
    print("\nPeak memory of the sync's processes: %s MB" % ", ".join(str(peak(p)) for p in pids))
    cursor.execute("IMPORT FOREIGN SCHEMA synced FROM SERVER lake INTO lake")
    cursor.execute("SELECT (SELECT sum(delay) FROM heap) = (SELECT sum(delay) FROM lake.heap)")
    assert cursor.fetchone()[0], "source and lake differ"
    cursor.execute("CALL streamhouse.drop_sync('bench')")


if __name__ == "__main__":
    main()
