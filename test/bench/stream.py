#!/usr/bin/env python3
"""stream.py --dsn DSN --warehouse FOLDER --bin FOLDER --part cost|fresh [--seconds N] [--transactions N]

cost: pgbench on the source alone, with pg_recvlogical reading a slot of test_decoding, and with a sync: transactions a second, and CPU of the
whole server a transaction, until all is decoded. Each three times, in turn.
fresh: time from a commit to the snapshot that has it, CPU and memory of the sync's processes, at several rates and intervals.
Prints tables in Markdown. Runs as root, for it looks into the server's processes."""
import argparse
import glob
import json
import os
import subprocess
import time

import psycopg2

TICK = os.sysconf("SC_CLK_TCK")


def stat(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rsplit(")", 1)[1].split()


def server_cpu(postmaster):
    """CPU seconds of the server: of the processes that are there, and of those that the postmaster has waited for."""
    mine = stat(postmaster)
    total = sum(int(mine[n]) for n in (11, 12, 13, 14))
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = stat(int(path.split("/")[2]))
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == postmaster:
            total += int(fields[11]) + int(fields[12])
    return total / TICK


def sync_processes(cursor):
    cursor.execute("SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'streamhouse%'")
    return [r[0] for r in cursor.fetchall()]


def cpu(pids):
    return sum(int(stat(p)[11]) + int(stat(p)[12]) for p in pids) / TICK


def memory(pids):
    """MB, shared memory divided among those that share it."""
    total = 0
    for pid in pids:
        with open("/proc/%d/smaps_rollup" % pid) as rollup:
            total += sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    return total / 1024


class Bench:
    def __init__(self, options):
        self.options = options
        self.connection = psycopg2.connect(options.dsn)
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        with open(self.one("SHOW data_directory") + "/postmaster.pid") as file:
            self.postmaster = int(file.readline())
        self.run("CREATE EXTENSION IF NOT EXISTS streamhouse; CREATE SCHEMA IF NOT EXISTS lake")
        if not self.one("SELECT count(*) FROM pg_foreign_server WHERE srvname = 'lake'"):
            self.run("CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '%s')" % options.warehouse)

    def run(self, statement):
        self.cursor.execute(statement)

    def one(self, statement):
        self.cursor.execute(statement)
        return self.cursor.fetchone()[0]

    def pgbench(self, *arguments):
        out = subprocess.run([self.options.bin + "/pgbench", "-n"] + list(arguments) + [self.options.dsn], capture_output=True, text=True, check=True,
                             env=dict(os.environ, PGOPTIONS="-c synchronous_commit=off")).stdout
        return float([line for line in out.splitlines() if line.startswith("tps")][0].split()[2])

    # ---- what a sync costs the source ----

    def cost(self):
        subprocess.run([self.options.bin + "/pgbench", "-i", "-q", "-s", "10", self.options.dsn], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.run("ALTER TABLE pgbench_history ADD COLUMN id bigserial PRIMARY KEY; CREATE PUBLICATION cost FOR TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history")
        results = {}
        for _ in range(3):
            for kind in ("alone", "test_decoding", "sync"):
                results.setdefault(kind, []).append(getattr(self, "cost_" + kind)())
        print("### What a sync costs the source\n\n| pgbench, 4 clients, %d transactions | transactions a second | CPU ms a transaction, of the server | beyond decoding |\n|---|---|---|---|" % self.options.transactions)
        best = {kind: (max(r[0] for r in runs), min(r[1] for r in runs)) for kind, runs in results.items()}
        for kind, what in (("alone", "alone"), ("test_decoding", "with pg_recvlogical and test_decoding"), ("sync", "with a sync")):
            tps, seconds = best[kind]
            each = seconds * 1000 / self.options.transactions
            decoding = best["test_decoding"]
            beyond = "" if kind != "sync" else "throughput %+.1f %%, CPU %+.1f %%" % (100 * (tps / decoding[0] - 1), 100 * (seconds / decoding[1] - 1))
            print("| %s | %.0f | %.3f | %s |" % (what, tps, each, beyond))

    def load(self, wait):
        self.run("CHECKPOINT")
        before = server_cpu(self.postmaster)
        tps = self.pgbench("-c", "4", "-t", str(self.options.transactions // 4))
        wait()
        return tps, server_cpu(self.postmaster) - before

    def cost_alone(self):
        return self.load(lambda: None)

    def cost_test_decoding(self):
        self.run("SELECT pg_create_logical_replication_slot('cost', 'test_decoding')")
        reader = subprocess.Popen([self.options.bin + "/pg_recvlogical", "-d", self.options.dsn, "-S", "cost", "--start", "-f", "/dev/null", "--status-interval=1"], stderr=subprocess.DEVNULL)

        def wait():
            end = self.one("SELECT pg_current_wal_insert_lsn()")
            while not self.one("SELECT confirmed_flush_lsn >= '%s' FROM pg_replication_slots WHERE slot_name = 'cost'" % end):
                time.sleep(0.1)
        try:
            return self.load(wait)
        finally:
            reader.terminate()
            reader.wait()
            while self.one("SELECT active FROM pg_replication_slots WHERE slot_name = 'cost'"):
                time.sleep(0.1)
            self.run("SELECT pg_drop_replication_slot('cost')")

    def cost_sync(self):
        database = "cost_%d" % time.time()
        self.run("CALL streamhouse.create_sync('cost', 'cost', 'lake', '%s')" % database)
        self.run("CALL streamhouse.wait_for_sync('cost', timeout => '10 minutes')")
        try:
            return self.load(lambda: self.run("CALL streamhouse.wait_for_sync('cost', timeout => '10 minutes')"))
        finally:
            self.run("CALL streamhouse.drop_sync('cost')")

    # ---- how old what one sees is ----

    def fresh(self):
        print("### From commit to visible\n\n| interval | rows a second | p50 | p95 | p99 | CPU, % of a core | memory, MB |\n|---|---|---|---|---|---|---|")
        for interval in ("1 second", "100 ms"):
            for rate in (10, 100, 1000):
                self.fresh_at(interval, rate)

    def fresh_at(self, interval, rate):
        name = "fresh_%d_%s" % (rate, interval.replace(" ", ""))
        self.run("DROP PUBLICATION IF EXISTS {0}; DROP TABLE IF EXISTS {0}; CREATE TABLE {0} (id bigint PRIMARY KEY, at timestamptz, note text); CREATE PUBLICATION {0} FOR TABLE {0}".format(name))
        self.run("CALL streamhouse.create_sync('{0}', '{0}', 'lake', 'fresh', flush_interval => '{1}')".format(name, interval))
        self.run("CALL streamhouse.wait_for_sync('%s')" % name)
        pids = sync_processes(self.cursor)
        before, start, commits, most = cpu(pids), time.time(), [], 0
        number = 0
        while time.time() - start < self.options.seconds:
            # bursts where a row a turn would be too fast for one session
            rows = max(rate // 200, 1)
            # a position before the commit, and after those before it
            position = self.one("WITH new AS (INSERT INTO %s SELECT i, clock_timestamp(), 'note ' || i FROM generate_series(%d, %d) i RETURNING 1) "
                                "SELECT pg_current_wal_insert_lsn() - '0/0' FROM new LIMIT 1" % (name, number, number + rows - 1))
            commits.append((time.time(), position))
            number += rows
            if len(commits) % max(rate, 100) == 0:
                most = max(most, memory(pids))
            time.sleep(max(start + number / rate - time.time(), 0))
        used, most = (cpu(pids) - before) / (time.time() - start), max(most, memory(pids))
        self.run("CALL streamhouse.wait_for_sync('%s')" % name)
        ages = self.ages(name, commits)
        print("| %s | %d | %.2f s | %.2f s | %.2f s | %.1f | %.0f |" % (interval, rate, *(ages[int(len(ages) * p)] for p in (0.5, 0.95, 0.99)), used * 100, most), flush=True)
        self.run("CALL streamhouse.drop_sync('%s')" % name)

    def ages(self, table, commits):
        """When the first snapshot that has a commit appeared: its file was linked then. Snapshots name the end of a commit, and nobody else commits here."""
        snapshots = []
        for path in glob.glob("%s/fresh.db/%s/snapshot/snapshot-*" % (self.options.warehouse, table)):
            with open(path) as file:
                snapshot = json.load(file)
            if snapshot["commitKind"] == "APPEND":
                snapshots.append((int(snapshot["commitIdentifier"]), os.stat(path).st_ctime))
        snapshots.sort()
        ages, n = [], 0
        for done, position in commits:
            while n < len(snapshots) and snapshots[n][0] <= position:
                n += 1
            if n < len(snapshots):
                ages.append(max(snapshots[n][1] - done, 0))
        return sorted(ages)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("dsn", "warehouse", "bin", "part"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--transactions", type=int, default=40000)
    options = parser.parse_args()
    getattr(Bench(options), options.part)()


if __name__ == "__main__":
    main()
