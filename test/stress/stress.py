#!/usr/bin/python3
"""A random load on a cluster of its own, with kills; then every lake table must equal its source.

stress.py --folder FOLDER --seconds N --seed S [--sessions N] [--no-kills] [--python PYTHON --classpath CP]
Run as the user who may run the server; PG_CONFIG names the installation. With --python (one with the packages of
test/interop/requirements.txt) and --classpath (of test/interop/java), Paimon's Java library and pypaimon judge the lake tables too.
Prints "ok - ..." and "not ok - ..." lines. What the sessions did is in FOLDER/session-*.sql, with the errors they met.

Sessions do the same for the same seed; how they interleave, and where kills hit them, is up to the machine.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from random import Random

from tables import NEW_TYPES, SETUP, SYNCS, WIDER, value

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = subprocess.run([os.environ.get("PG_CONFIG", "pg_config"), "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
NAMES = ["a", "b", "c", "d", "e", "f", "g1", "h"]  # of columns: few, so that they come again
CONF = """
port = 5432
listen_addresses = ''
unix_socket_directories = '%s'
wal_level = logical
shared_preload_libraries = 'streamhouse'
fsync = off
max_connections = 40
max_worker_processes = 40
max_replication_slots = 24
max_prepared_transactions = 20
checkpoint_timeout = 30
timezone = 'UTC'
log_line_prefix = '%%m [%%p] %%b '
# little of everything, so that all that is limited meets its limit
logical_decoding_work_mem = '1MB'
streamhouse.sync_memory = '8MB'
streamhouse.copy_chunk_size = '64kB'
streamhouse.maintenance_interval = 1
"""
END = "-- end of answer --"


def quote(text):
    return "'%s'" % text.replace("'", "''")


class Gone(Exception):
    """The connection was lost."""


class Psql:
    """A psql that is asked text by text."""

    def __init__(self, folder, log=None):
        self.folder, self.log, self.process = folder, log, None

    def ask(self, text):
        if self.process is None:
            # out of the group, so that Ctrl-C leaves it to us
            self.process = subprocess.Popen(
                [BIN + "/psql", "-XqAt", "-v", "VERBOSITY=terse", "-h", self.folder, "-p", "5432", "-U", "postgres", "postgres"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", start_new_session=True)
        if self.log:
            self.log.write("-- %.3f\n%s\n" % (time.time(), text))
        lines = []
        try:
            self.process.stdin.write(text.rstrip().rstrip(";") + ";\n\\echo '%s'\n" % END)
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.rstrip("\n") == END:
                    break
                lines.append(line.rstrip("\n"))
            else:
                raise BrokenPipeError
        except BrokenPipeError:
            self.close()
            raise Gone("\n".join(lines))
        if self.log:
            self.log.writelines("-- > %s\n" % line for line in lines)
            self.log.flush()
        if any("server closed the connection" in line or "connection to server was lost" in line for line in lines):
            self.close()
            raise Gone("\n".join(lines))
        return lines

    def close(self):
        if self.process:
            self.process.kill()
            try:
                self.process.stdin.close()
            except BrokenPipeError:  # what was to be sent is of no use
                pass
            self.process.wait()
            self.process.stdout.close()
            self.process = None


class Cluster:
    def __init__(self, folder):
        self.folder, self.data, self.log, self.lake = folder, folder + "/data", folder + "/server.log", folder + "/lake"

    def create(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.lake)
        subprocess.run([BIN + "/initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "-N"], check=True, stdout=subprocess.DEVNULL)
        with open(self.data + "/postgresql.conf", "a") as conf:
            conf.write(CONF % self.folder)
        self.start()

    def start(self):
        for _ in range(3):  # what an immediate shutdown left may still be in the way
            if subprocess.run([BIN + "/pg_ctl", "-D", self.data, "-l", self.log, "-w", "-t", "120", "start"], stdout=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(2)
        raise RuntimeError("the server does not start")

    def stop(self, mode):
        subprocess.run([BIN + "/pg_ctl", "-D", self.data, "-w", "-m", mode, "stop"], stdout=subprocess.DEVNULL)


class Session(threading.Thread):
    """Transactions at random, one after the other."""

    def __init__(self, stress, number):
        super().__init__(daemon=True)
        self.stress, self.number = stress, number
        self.random = Random("%d/%d" % (stress.seed, number))
        self.psql = Psql(stress.cluster.folder, open("%s/session-%d.sql" % (stress.cluster.folder, number), "w"))
        self.transactions = self.errors = 0

    def run(self):
        while not self.stress.stopping:
            try:
                lines = self.psql.ask(self.transaction())
                self.transactions += 1
                self.errors += any("ERROR" in line for line in lines)
            except Gone:
                time.sleep(0.2)
        self.psql.close()

    def columns(self, table):
        """Name and type of what may be written."""
        lines = self.psql.ask("SET lock_timeout = '1s'; SET statement_timeout = '20s'; SELECT attname || '|' || format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '%s'::regclass "
                              "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = '' ORDER BY attnum" % table.name)
        return [tuple(line.split("|")) for line in lines if line.count("|") == 1]

    def transaction(self):
        r = self.random
        tables = [r.choice(self.stress.tables) for _ in range(r.choice([1, 1, 2, 4]))]
        kind = r.choices(["alone", "block", "rollback", "savepoints", "prepare", "large", "prepared"], [20, 30, 8, 20, 6, 2, 12])[0]
        if kind == "prepared":
            return self.finish_prepared()
        statements = []
        for table in tables:
            columns = self.columns(table)
            if not columns:
                continue
            for _ in range(r.randint(1, 4)):
                statements.append(self.statement(table, columns, 3000 if kind == "large" and table.span > 1000 else 30))
        if kind == "savepoints":
            statements = self.savepoints(statements)
        if kind == "alone" or not statements:
            return ";\n".join(statements[:1] or ["SELECT"])
        ends = {"rollback": "ROLLBACK", "prepare": "PREPARE TRANSACTION 's%d_%d'" % (self.number, self.transactions)}
        return ";\n".join(["BEGIN"] + statements + [ends.get(kind, "COMMIT")])

    def savepoints(self, statements):
        out, depth = [], 0
        for n, statement in enumerate(statements):
            out.append("SAVEPOINT p%d" % depth)
            depth += 1
            out.append(statement)
            if self.random.random() < 0.5:
                depth = self.random.randrange(depth)
                out.append(self.random.choice(["ROLLBACK TO p%d", "RELEASE p%d"]) % depth)
                depth += out[-1].startswith("ROLLBACK")
        return out

    def finish_prepared(self):
        """Prepared transactions, of this session or another one."""
        gids = [g for g in self.psql.ask("SELECT gid FROM pg_prepared_xacts ORDER BY prepared LIMIT 3") if g.startswith("s")]
        return ";\n".join("%s PREPARED '%s'" % (self.random.choice(["COMMIT", "COMMIT", "ROLLBACK"]), g) for g in gids) or "SELECT"

    def statement(self, table, columns, limit):
        r = self.random
        if table.ddl and r.random() < 0.12:
            return self.change_columns(table, columns)
        if r.random() < 0.02:
            return "DO $$ BEGIN FOR n IN 1..%d LOOP BEGIN EXECUTE %s; IF n %% 3 = 0 THEN RAISE 'undo'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END; END LOOP; END $$" % (
                r.choice([5, 100]), quote(self.change(table, columns, 10)))
        return self.change(table, columns, limit)

    def change(self, table, columns, limit):
        r = self.random
        weights = {"i": 40, "u": 40, "d": 12, "m": 12, "t": 0.2}
        does = r.choices(list(table.does), [weights[d] for d in table.does])[0]
        first = r.randrange(table.span)
        last = min(first + r.choice([0, 0, r.randrange(10), r.randrange(limit)]), table.span)
        if table.name == "big_rows":
            last = min(last, first + 3)
        rows = "generate_series(%d, %d) AS g(i)" % (first, last)
        where = "(%s) IN (SELECT %s FROM %s)" % (table.key_columns, table.key("g.i"), rows)
        names = [c for c, _ in columns]
        types = dict(columns)
        others = [c for c in names if c not in table.keys and c != "id"]
        if does == "t":
            return "TRUNCATE " + table.name
        if does == "d":
            return "DELETE FROM %s WHERE %s" % (table.name, where)
        if does == "m":
            return self.move(table, first)
        if does == "u":
            some = r.sample(others, r.randint(1, min(3, len(others)))) if others else []
            if some:
                key = " AND ".join("%s.%s = %s" % (table.name, k, e.format(i="g.i")) for k, e in table.keys.items())
                return "UPDATE %s SET %s FROM %s WHERE %s" % (table.name, ", ".join("%s = %s" % (c, value(c, types[c], r)) for c in some), rows, key)
        written = [c for c in names if c in table.keys or (c in others and r.random() < 0.9)]
        conflict = "" if table.kind == "append" or "id" not in names and table.name == "event" else " ON CONFLICT DO NOTHING"
        if conflict and others and r.random() < 0.5 and table.name not in ("grows_parts",):
            set_columns = [c for c in written if c not in table.keys]
            if set_columns:
                conflict = " ON CONFLICT (%s) DO UPDATE SET %s" % (", ".join(table.keys), ", ".join("%s = excluded.%s" % (c, c) for c in set_columns[:3]))
        return "INSERT INTO %s (%s) SELECT %s FROM %s%s" % (
            table.name, ", ".join(written), ", ".join(table.keys[c].format(i="g.i") if c in table.keys else value(c, types[c], r) for c in written), rows, conflict)

    def move(self, table, source):
        """Rows get another key, if it is free; sometimes there and back, or in a chain."""
        target = self.random.randrange(table.span)
        one = "UPDATE {t} SET ({k}) = ROW({b}) WHERE ({q}) = ({a}) AND NOT EXISTS (SELECT FROM {t} AS x WHERE ({k}) = ({b}))"
        fill = lambda a, b: one.format(t=table.name, k=", ".join(table.keys), q=table.key_columns, a=table.key(a), b=table.key(b))
        statements = [fill(source, target)]
        if self.random.random() < 0.3:
            statements.append(fill(target, self.random.choice([source, target + 1])))
        return ";\n".join(statements)

    def change_columns(self, table, columns):
        r = self.random
        others = [(c, t) for c, t in columns if c not in table.keys and c not in ("id", "big")]
        free = [n for n in NAMES if n not in [c for c, _ in columns]]
        kinds = ["add", "drop", "rename", "widen", "widen"] + (["default", "default", "volatile", "retype", "generated"] if table.ddl == "all" else [])
        kind = r.choice(kinds)
        alter = "ALTER TABLE %s " % table.name
        if kind in ("add", "default", "volatile", "generated") and free:
            name = r.choice(free)
            if kind == "add":
                return alter + "ADD COLUMN %s %s" % (name, r.choice(NEW_TYPES))
            if kind == "generated":
                return alter + "ADD COLUMN %s int GENERATED ALWAYS AS (id * 2) STORED" % name
            return alter + "ADD COLUMN %s %s" % (name, "double precision DEFAULT random()" if kind == "volatile" else "int DEFAULT %d" % r.randrange(100))
        if kind == "drop" and len(others) > 2:
            return alter + "DROP COLUMN " + r.choice(others)[0]
        if kind == "rename" and others and free:
            return alter + "RENAME %s TO %s" % (r.choice(others)[0], r.choice(free))
        if kind == "retype" and others:
            name, _ = r.choice(others)
            return alter + "ALTER %s DROP DEFAULT, ALTER %s TYPE text USING %s::text || '!'" % (name, name, name)
        for name, t in r.sample(others, len(others)):
            for pattern, wider in WIDER:
                if re.match(pattern, t):
                    return alter + "ALTER %s TYPE %s" % (name, wider)
        return "SELECT"


class Stress:
    def __init__(self, options):
        self.options, self.seed = options, options.seed
        self.cluster = Cluster(options.folder)
        self.tables = [t for tables, _, _ in SYNCS.values() for t in tables]
        self.random = Random(options.seed)
        self.stopping = False
        self.failed = 0
        self.psql = Psql(options.folder, None)
        self.events = {}

    def check(self, what, fault):
        self.failed += bool(fault)
        print("%s - seed %d: %s%s" % ("not ok" if fault else "ok", self.seed, what, ": " + fault if fault else ""), flush=True)

    def sql(self, text, seconds=120):
        """The answer, however often the server goes away meanwhile."""
        end = time.time() + seconds
        while True:
            try:
                return self.psql.ask(text)
            except Gone as gone:
                if time.time() > end:
                    raise RuntimeError("the server does not come back: %s" % gone)
                time.sleep(0.3)

    def setup(self):
        self.cluster.create()
        script = SETUP + "CREATE SERVER lake FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '%s'); CREATE SCHEMA lake;" % self.cluster.lake
        script += ";".join(t.create for t in self.tables)
        for sync, (tables, options, arguments) in SYNCS.items():
            script += ";CREATE PUBLICATION %s FOR TABLE %s%s" % (sync, ", ".join(
                t.name + ("(%s)" % ", ".join(t.listed) if t.listed else "") + (" WHERE " + t.where if t.where else "") for t in tables), " WITH (%s)" % options if options else "")
        self.must(script)
        for _ in range(2):
            self.fill()
        for sync, (_, _, arguments) in SYNCS.items():
            self.must("CALL streamhouse.create_sync('%s', '%s', 'lake', 'd', %s)" % (sync, sync, arguments))

    def must(self, script):
        faults = [line for line in self.sql(script) if "ERROR" in line or "FATAL" in line]
        if faults:
            raise RuntimeError("\n".join(faults))

    def fill(self):
        """Rows for the initial copy."""
        session = Session(self, 0)
        for table in self.tables:
            columns = session.columns(table)
            rows = "generate_series(0, %d) AS g(i)" % (min(table.span, 20) if table.name == "big_rows" else table.span // 2)
            names = [c for c, _ in columns if c in table.keys or c != "id"]
            self.must("INSERT INTO %s (%s) SELECT %s FROM %s%s" % (table.name, ", ".join(names), ", ".join(
                table.keys[c].format(i="g.i") if c in table.keys else value(c, t, session.random) for c, t in columns if c in names), rows,
                "" if table.kind == "append" else " ON CONFLICT DO NOTHING"))
        session.psql.close()

    # ---- what happens to the server meanwhile ----

    def event(self):
        r = self.random
        kind = r.choices(["worker", "any", "backend", "server", "terminate", "pause", "resync", "late", "rewrite", "republish", "checkpoint"], [6, 4, 3, 4, 4, 2, 3, 2, 2, 1, 2])[0]
        self.events[kind] = self.events.get(kind, 0) + 1
        note = ""
        if kind in ("worker", "any", "backend", "terminate"):
            who = {"worker": "backend_type = 'streamhouse sync'", "any": "backend_type LIKE 'streamhouse%'", "backend": "backend_type = 'client backend'",
                   "terminate": "backend_type LIKE 'streamhouse%'"}[kind]
            found = self.sql("SELECT pid || ' ' || backend_type FROM pg_stat_activity WHERE %s AND pid <> pg_backend_pid()" % who)
            found = [f for f in found if f.split(" ")[0].isdigit()]
            if found:
                note = r.choice(sorted(found))
                if kind == "terminate":
                    self.sql("SELECT pg_terminate_backend(%s)" % note.split(" ")[0])
                else:
                    try:
                        os.kill(int(note.split(" ")[0]), signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        elif kind == "server":
            self.psql.close()
            self.cluster.stop("immediate")
            time.sleep(r.random())
            self.cluster.start()
        elif kind == "pause":
            note = r.choice(sorted(SYNCS))
            self.sql("CALL streamhouse.pause_sync('%s')" % note)
            time.sleep(r.random() * 2)
            self.sql("CALL streamhouse.resume_sync('%s')" % note)
        elif kind == "resync":
            sync = r.choice(["keyed", "evolving", "filtered", "kept", "together"])
            note = r.choice(SYNCS[sync][0]).name
            note += "\n".join([""] + self.sql("SET lock_timeout = '10s'; CALL streamhouse.resync_table('%s', '%s')" % (sync, note)))
        elif kind == "late":
            note = "late_%d" % len(self.late)
            self.late.append(note)
            note += "\n".join([""] + self.sql((
                "SET lock_timeout = '10s'; CREATE TABLE IF NOT EXISTS {0} (id int PRIMARY KEY, v text);"
                "INSERT INTO {0} SELECT g, g FROM generate_series(1, 2000) g ON CONFLICT DO NOTHING; ALTER PUBLICATION keyed ADD TABLE {0};"
                "CALL streamhouse.refresh_sync('keyed'); UPDATE {0} SET v = 'x' || v WHERE id < 300").format(note)))
        elif kind == "rewrite":
            note = r.choice([t for t in self.tables if t.name not in ("sale", "grows_parts")]).name
            self.sql("SET lock_timeout = '5s'; VACUUM FULL " + note)
        elif kind == "republish":  # what happens meanwhile is not in the lake until the table is copied again
            note = r.choice(SYNCS["keyed"][0]).name
            self.sql("ALTER PUBLICATION keyed DROP TABLE %s; SELECT pg_sleep(%f); ALTER PUBLICATION keyed ADD TABLE %s" % (note, r.random(), note))
            self.copied_anew(note)
        else:
            self.sql("CHECKPOINT")
        print("# %.1f s: %s %s" % (time.time() - self.started, kind, note), flush=True)

    def copied_anew(self, table):
        """Have a table copied, however often locks and crashes keep us from it."""
        for _ in range(20):
            self.sql("SET lock_timeout = '10s'; ALTER PUBLICATION keyed ADD TABLE " + table)  # if that was interrupted before
            if not any("ERROR" in line for line in self.sql("CALL streamhouse.refresh_sync('keyed'); CALL streamhouse.resync_table('keyed', '%s')" % table)):
                return
            time.sleep(0.5)

    def run(self):
        self.late = []
        self.setup()
        self.started = time.time()
        sessions = [Session(self, n) for n in range(1, self.options.sessions + 1)]
        for session in sessions:
            session.start()
        end = self.started + self.options.seconds
        while time.time() < end:
            time.sleep(min(max(end - time.time(), 0), self.random.choice([0.2, 1, 3]) * (0.5 + self.random.random())))
            if not self.options.no_kills and time.time() < end:
                self.event()
        self.stopping = True
        for session in sessions:
            session.join(60)
        print("# %d transactions, %d with errors; %s" % (sum(s.transactions for s in sessions), sum(s.errors for s in sessions), self.events), flush=True)
        self.compare()

    # ---- afterwards ----

    def compare(self):
        for gid in self.sql("SELECT gid FROM pg_prepared_xacts"):
            self.sql("%s PREPARED '%s'" % (self.random.choice(["COMMIT", "ROLLBACK"]), gid))
        if self.late:
            self.sql("CALL streamhouse.refresh_sync('keyed')")
        for sync in SYNCS:
            answer = self.sql("CALL streamhouse.wait_for_sync('%s', timeout => '%d seconds')" % (sync, 120 + self.options.seconds))
            self.check("sync %s is through" % sync, "\n".join(answer + (self.sql("SELECT * FROM streamhouse.sync_status WHERE name = '%s'" % sync) if answer else [])))
        self.check("no table is paused", "\n".join(self.sql("SELECT \"table\", error FROM streamhouse.sync_tables WHERE state <> 'streaming'")))
        self.sql("IMPORT FOREIGN SCHEMA d FROM SERVER lake INTO lake")
        self.sql("SET timezone = 'UTC'; SET extra_float_digits = 1; SET statement_timeout = '5min'")
        for table in self.tables:
            fault = self.difference(table)
            self.check("%s, %s rows" % (table.name, self.sql("SELECT count(*) FROM " + table.name)[0]), fault and fault + self.told_of(table))
        for name in self.late:
            if self.sql("SELECT to_regclass('%s') IS NOT NULL AND EXISTS (SELECT FROM pg_publication_tables WHERE tablename = '%s')" % (name, name)) == ["t"]:
                self.check(name, "\n".join(self.sql("(TABLE {0} EXCEPT ALL TABLE lake.{0}) UNION ALL (TABLE lake.{0} EXCEPT ALL TABLE {0}) LIMIT 5".format(name))))
        with open(self.cluster.log, errors="replace") as log:
            bad = [line.strip() for line in log if re.search(r"terminated by signal (4|6|7|8|11)\b|PANIC|TRAP:", line)]
        self.check("no process crashed by itself", "\n".join(bad[:5]))
        if self.options.python:
            judged = subprocess.run([self.options.python, HERE + "/judge.py", "--dsn", "host=%s port=5432 user=postgres dbname=postgres" % self.cluster.folder, "--warehouse", self.cluster.lake,
                                     "--classpath", self.options.classpath, "--seed", str(self.seed)])
            self.failed += judged.returncode != 0

    def told_of(self, table):
        """What the server's log says of a table."""
        with open(self.cluster.log, errors="replace") as log:
            lines = [line.rstrip() for line in log if re.search(r"\b%s\b" % table.name, line) and "client backend" not in line]
        return "".join("\n# " + line[:300] for line in lines[-30:])

    def difference(self, table):
        """Rows that source and lake do not both have, each as often."""
        columns = table.listed or self.sql("SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = '%s'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum" % table.name)
        # as the output functions print it, which casts do not for every type
        short = ", ".join("CASE WHEN {0} IS NULL THEN NULL WHEN length({0}::text) > 100 THEN md5(format('%s', {0})) ELSE format('%s', {0}) END AS {0}".format(c) for c in columns)
        source = "SELECT %s FROM %s%s" % (short, table.name, " WHERE " + table.where if table.where else "")
        lake = "SELECT %s FROM lake.%s" % (short, table.lake)
        if table.kind == "history":
            lake = ("SELECT {c} FROM (SELECT {c}, sum(CASE WHEN _kind IN ('+I', '+U') THEN 1 ELSE -1 END) AS times FROM (SELECT {s}, _kind, _lsn FROM lake.{t}) AS changes "
                    "WHERE _lsn > coalesce((SELECT max(_lsn) FROM lake.{t} WHERE _kind = 'T'), 0) GROUP BY {c}) AS state, "
                    "generate_series(1, CASE WHEN times < 0 THEN 1000 + times ELSE times END)").format(c=", ".join(columns), s=short, t=table.name)
        each = "(SELECT '%s', x.* FROM (%s EXCEPT ALL %s) AS x LIMIT 5)"
        return "\n".join(self.sql(each % ("missing in the lake", source, lake) + " UNION ALL " + each % ("too many in the lake", lake, source)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1000000)
    parser.add_argument("--sessions", type=int, default=4)
    parser.add_argument("--no-kills", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave the server running")
    parser.add_argument("--python")
    parser.add_argument("--classpath")
    options = parser.parse_args()
    print("# seed %d" % options.seed, flush=True)
    stress = Stress(options)
    try:
        stress.run()
    except (RuntimeError, OSError) as fault:
        stress.check("the run", str(fault))
    finally:
        stress.stopping = True
        stress.psql.close()
        if not options.keep:
            stress.cluster.stop("immediate")
    sys.exit(1 if stress.failed else 0)


if __name__ == "__main__":
    main()
