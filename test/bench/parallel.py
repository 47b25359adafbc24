#!/usr/bin/env python3
"""parallel.py --dsn DSN [--times N] [--set NAME=VALUE]... FILE.sql...: times each query in one process and with two
parallel workers, whose leader helps or does not. {NAME} in a query becomes VALUE. Runs on the server's own machine,
as a user that may look at its processes. Prints for each query the best wall clock times, the CPU seconds of all
processes, and how even the work was: the CPU time of the busiest process, 1.00 when all that read had the same."""
import argparse
import os
import threading
import time

import psycopg2

ALONE = "max_parallel_workers_per_gather = 0"
WITH_LEADER = "max_parallel_workers_per_gather = 2; SET parallel_leader_participation = on"
WITHOUT_LEADER = "max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off"


def cpu_seconds(pid):
    """CPU seconds that a process has used, 0 if it is gone."""
    try:
        with open("/proc/%d/schedstat" % pid) as stat:
            return int(stat.read().split()[0]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return set(map(int, file.read().split()))
    except OSError:
        return set()


class Watch(threading.Thread):
    """Looks at the processes that the server starts meanwhile, since nobody knows of them when they are gone."""

    def __init__(self, postmaster):
        super().__init__(daemon=True)
        self.postmaster = postmaster
        self.before = children(postmaster)
        self.cpu = {}
        self.ended = False

    def run(self):
        while not self.ended:
            for pid in children(self.postmaster) - self.before:
                self.cpu[pid] = max(cpu_seconds(pid), self.cpu.get(pid, 0))
            time.sleep(0.002)


def parent(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[1])


def run(connection, statement):
    """Wall clock and rows."""
    with connection.cursor() as cursor:
        clock = time.time()
        cursor.execute(statement)
        rows = cursor.fetchall()
        return time.time() - clock, rows


def watched_run(connection, statement):
    """CPU seconds of each process that read; the watch itself takes time of a core."""
    backend = connection.get_backend_pid()
    watch = Watch(parent(backend))
    watch.start()
    before = cpu_seconds(backend)
    run(connection, statement)
    cpu = cpu_seconds(backend) - before
    watch.ended = True
    watch.join()
    return [cpu] + list(watch.cpu.values())


def best(connection, settings, statement, times):
    """The least wall clock and the least CPU seconds, of different runs, and the rows."""
    with connection.cursor() as cursor:
        cursor.execute("SET " + settings)
    wall, rows = min([run(connection, statement) for _ in range(times + 1)][1:], key=lambda r: r[0])
    return wall, min([watched_run(connection, statement) for _ in range(times)], key=sum), rows


def evenness(cpu, leader_helps):
    readers = cpu if leader_helps else cpu[1:]
    return max(readers) * len(readers) / max(sum(readers), 1e-9) if len(cpu) > 1 else 0


def compare(connection, name, statement, times):
    alone = best(connection, ALONE, statement, times)
    cells = [name, "%.3f" % alone[0], "%.3f" % sum(alone[1])]
    for settings in (WITH_LEADER, WITHOUT_LEADER):
        shared = best(connection, settings, statement, times)
        if sorted(map(str, alone[2])) != sorted(map(str, shared[2])) and " limit " not in statement.lower():
            raise SystemExit("%s has another answer with parallel workers" % name)
        cells += ["%.3f" % shared[0], "%.2f" % (alone[0] / shared[0]), "%.3f" % sum(shared[1]),
                  "%.2f" % evenness(shared[1], settings == WITH_LEADER) if len(shared[1]) > 1 else "no workers"]
    print("| " + " | ".join(cells) + " |", flush=True)


def compare_all(connection, queries, times=3):
    print("| query | one process, wall s | CPU s | two workers, leader helps, wall s | times faster | CPU s | evenness "
          "| two workers alone, wall s | times faster | CPU s | evenness |\n|---|---|---|---|---|---|---|---|---|---|---|")
    for name, statement in queries:
        compare(connection, name, statement, times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    connection = psycopg2.connect(options.dsn)
    connection.autocommit = True
    queries = []
    for path in options.files:
        with open(path) as file:
            statement = file.read().strip().rstrip(";")
        for pair in options.set:
            statement = statement.replace("{%s}" % pair.split("=")[0], pair.split("=", 1)[1])
        queries.append((os.path.splitext(os.path.basename(path))[0], statement))
    compare_all(connection, queries, options.times)


if __name__ == "__main__":
    main()
