#!/usr/bin/env python3
"""Interoperability: streamhouse, Paimon's Java library and pypaimon read and write the same tables.

run.py --dsn DSN --warehouse FOLDER --classpath CP [--only TESTS[/TABLES]]
--only takes regular expressions: of names of tests, and of the tables of those that take a list.
Prints "ok - ..." and "not ok - ..." lines, and at the end "N passed, N failed".
"""
import argparse
import json
import re
import sys
import threading
import traceback
from random import Random

import psycopg2

from java_tables import JavaTables
from judges import Java, Python, Sql, is_nested, plain, sorted_rows
from values import COLUMNS, PAIMON, TYPES, VALUES


class Tests(JavaTables):
    def __init__(self, options):
        self.warehouse = options.warehouse
        self.java = Java(options.classpath, options.warehouse)
        self.python = Python(options.warehouse)
        self.sql = Sql(options.dsn)
        self.only, _, self.only_table = options.only.partition("/")
        self.passed = self.failed = 0
        self.sql.run("DROP SCHEMA IF EXISTS interop CASCADE; CREATE EXTENSION IF NOT EXISTS streamhouse;"
                     "DROP SERVER IF EXISTS interop CASCADE; CREATE SCHEMA interop;")
        self.maintenance("off")  # it would commit between the steps of the others
        self.sql.run("CREATE SERVER interop FOREIGN DATA WRAPPER streamhouse OPTIONS (warehouse '%s')" % self.warehouse)

    def maintenance(self, setting):
        self.sql.run("ALTER SYSTEM SET streamhouse.maintenance TO %s" % setting)
        self.sql.run("SELECT pg_reload_conf()")

    def check(self, what, fault):
        """fault is empty when all is well."""
        if fault:
            self.failed += 1
            print("not ok - %s: %s" % (what, str(fault)[:1500]), flush=True)
        else:
            self.passed += 1
            print("ok - " + what, flush=True)

    def equal(self, what, got, want):
        if got == want:
            self.check(what, None)
            return
        extra = [r for r in got if r not in want][:2]
        missing = [r for r in want if r not in got][:2]
        self.check(what, "%d rows against %d; only in the first %r; only in the second %r" % (len(got), len(want), extra, missing))

    def agree(self, what, table, types, count=None):
        """SQL, Java and Python read the same rows, and Java finds nothing wrong in the files."""
        sql = self.sql.rows("interop.%s" % table, types)
        if count is not None:
            self.check("%s: %d rows" % (what, count), None if len(sql) == count else "there are %d" % len(sql))
        self.equal(what + ": Java reads what SQL reads", self.java.rows("lake." + table, types), sql)
        self.equal(what + ": pypaimon reads what SQL reads", self.python.rows("lake." + table, types), sql)
        self.check(what + ": files are sound", self.java.ask("check", "lake." + table))

    def foreign(self, table, columns, **options):
        text = ", ".join(["database 'lake'", "\"table\" '%s'" % table] + ["\"%s\" '%s'" % (k.replace("_", "-"), v) for k, v in options.items()])
        self.sql.run("CREATE FOREIGN TABLE interop.%s (%s) SERVER interop OPTIONS (%s)" % (table, columns, text))

    def import_table(self, table):
        self.sql.run("IMPORT FOREIGN SCHEMA lake LIMIT TO (%s) FROM SERVER interop INTO interop" % table)

    def run(self):
        for name in [n for n in dir(type(self)) if n.startswith("test_")]:
            if self.only and not re.search(self.only, name):
                continue
            try:
                getattr(self, name)()
            except Exception:
                self.check(name, traceback.format_exc())
                if self.sql.connection.closed:
                    self.sql.connection = self.sql.connect()
        self.maintenance("DEFAULT")
        self.java.close()
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed else 0

    # ---- SQL writes, the others read ----

    def insert_values(self, table):
        for i, row in enumerate(VALUES):
            self.sql.run("INSERT INTO interop.%s VALUES (%s)" % (table, ", ".join(["%s"] * len(COLUMNS))), [i] + row)

    def test_every_type_append(self):
        self.foreign("types_append", ", ".join(["id integer"] + ["%s %s" % (n, p) for n, _, p in TYPES]))
        self.insert_values("types_append")
        self.agree("append table of every type", "types_append", PAIMON, len(VALUES))
        self.sql.run("CALL streamhouse.compact('interop.types_append')")
        self.agree("append table of every type, compacted", "types_append", PAIMON, len(VALUES))

    def test_every_type_key(self):
        self.foreign("types_key", ", ".join(["id integer NOT NULL"] + ["%s %s" % (n, p) for n, _, p in TYPES]), primary_key="id", bucket="2")
        self.insert_values("types_key")
        self.sql.run("UPDATE interop.types_key SET s = s || ' again' WHERE id < 3")
        self.sql.run("DELETE FROM interop.types_key WHERE id = 5")
        self.agree("key table of every type", "types_key", PAIMON, len(VALUES) - 1)
        self.sql.run("CALL streamhouse.compact('interop.types_key')")
        self.agree("key table of every type, compacted", "types_key", PAIMON, len(VALUES) - 1)

    def test_key_of_each_type(self):
        for name, paimon, postgres in TYPES:
            if paimon in ("FLOAT", "DOUBLE", "BYTES"):  # no order of NaN; Java cannot look BYTES keys up
                continue
            table = "key_" + name
            self.foreign(table, "k %s NOT NULL, v integer" % postgres, primary_key="k", bucket="3")
            position = [n for n, _, _ in TYPES].index(name)
            keys = sorted({r[position] for r in VALUES if r[position] is not None})
            for n, key in enumerate(keys + keys[:2]):
                self.sql.run("INSERT INTO interop.%s VALUES (%%s, %%s)" % table, (key, n))
            self.agree("primary key of type " + paimon, table, [paimon, "INT"], len(keys))

    def test_partitions(self):
        self.foreign("parts", "id integer, dt date, region text, v text", partition="dt,region")
        self.sql.run("INSERT INTO interop.parts SELECT i, CASE WHEN i % 5 > 0 THEN date '2024-01-01' + i % 5 END,"
                     "(ARRAY['eu', 'a/b=c%d e', '', NULL, 'ünïcode'])[1 + i % 5], 'v' || i FROM generate_series(1, 100) i")
        self.agree("partitioned append table", "parts", ["INT", "DATE", "STRING", "STRING"], 100)
        self.foreign("parts_key", "id integer NOT NULL, dt date NOT NULL, v text", primary_key="id,dt", partition="dt", bucket="2")
        for k in range(3):
            self.sql.run("INSERT INTO interop.parts_key SELECT i, date '2024-01-01' + i %% 3, 'v%d ' || i FROM generate_series(1, 60) i" % k)
        self.sql.run("DELETE FROM interop.parts_key WHERE id % 7 = 0")
        self.agree("partitioned key table", "parts_key", ["INT", "DATE", "STRING"], 52)
        self.sql.run("CALL streamhouse.compact('interop.parts_key')")
        self.agree("partitioned key table, compacted", "parts_key", ["INT", "DATE", "STRING"], 52)

    def test_many_commits_then_expiration(self):
        self.foreign("busy", "id integer NOT NULL, v integer", primary_key="id", bucket="2")
        for k in range(40):
            self.sql.run("INSERT INTO interop.busy SELECT i, %d FROM generate_series(%d, %d) i" % (k, k * 5, k * 5 + 20))
            if k % 10 == 9:
                self.sql.run("DELETE FROM interop.busy WHERE id %% 11 = %d" % (k % 11))
                self.sql.run("CALL streamhouse.compact('interop.busy')")
        rows = self.sql.rows("interop.busy", ["INT", "INT"])
        self.agree("after 40 commits", "busy", ["INT", "INT"], len(rows))
        self.sql.run("CALL streamhouse.expire_snapshots('interop.busy', retain_max => 3, retain_min => 1, older_than => now() - interval '1 hour')")
        left = self.sql.run("SELECT count(*) FROM streamhouse.snapshots('interop.busy')")[0][0]
        self.check("three snapshots are left", None if left == 3 else "there are %d" % left)
        self.equal("expiration changes no row", self.sql.rows("interop.busy", ["INT", "INT"]), rows)
        self.agree("after expiration", "busy", ["INT", "INT"])

    def test_copy_and_large(self):
        self.foreign("large", "id bigint NOT NULL, grp integer, name text, amount numeric(12,2), at timestamp", primary_key="id", bucket="2")
        self.sql.run("SET streamhouse.write_buffer_size = '4MB'")
        self.sql.run("INSERT INTO interop.large SELECT (i * 7919) % 150001, i % 100, 'name ' || i, i / 100.0, timestamp '2024-01-01' + i * interval '1 second' FROM generate_series(1, 200000) i")
        self.sql.run("RESET streamhouse.write_buffer_size")
        self.agree("200,000 rows in several runs", "large", ["BIGINT", "INT", "STRING", "DECIMAL(12, 2)", "TIMESTAMP(6)"], 150001)

    # ---- Java writes, SQL reads ----

    def test_java_types(self):
        for table, key, options in (("java_append", (), {}), ("java_key", ("id",), {"bucket": "2"}),
                                    ("java_thin", ("id",), {"bucket": "2", "data_file.thin_mode": "true"})):
            fields = [["id", "INT NOT NULL"]] + [[n, t] for n, t, _ in TYPES]
            self.java.create("lake." + table, fields, primary_key=key, **options)
            rows = [["+I", i] + [v.replace(" ", "T") if v and t.startswith("TIMESTAMP") else v for v, (_, t, _) in zip(r, TYPES)]
                    for i, r in enumerate(VALUES)]
            self.java.ask("write", "lake." + table, rows=rows)
            if key:
                self.java.ask("write", "lake." + table, rows=[rows[1], ["-D"] + rows[2][1:]])
            self.import_table(table)
            self.equal("SQL reads what Java wrote: " + table, self.sql.rows("interop." + table, PAIMON), self.java.rows("lake." + table, PAIMON))

    def test_java_formats(self):
        for codec in ("zstd", "snappy", "gzip", "lz4", "none"):
            for version in ("PARQUET_1_0", "PARQUET_2_0"):
                table = "java_%s_%s" % (codec, version[8])
                self.java.create("lake." + table, [["a", "BIGINT"], ["s", "STRING"], ["d", "DOUBLE"]], bucket="-1",
                                 **{"file.compression": codec, "parquet.writer.version": version, "parquet.page.size": "4096"})
                self.java.ask("write", "lake." + table, rows=[["+I", str(i * i), "s%d" % (i % 300) if i % 7 else None, str(i / 3)] for i in range(5000)])
                self.import_table(table)
                types = ["BIGINT", "STRING", "DOUBLE"]
                self.equal("SQL reads Java's %s, %s" % (codec, version), self.sql.rows("interop." + table, types), self.java.rows("lake." + table, types))
                got = self.sql.rows("interop." + table, types, "WHERE a BETWEEN 1000000 AND 2000000 AND s = 's101'")
                want = [r for r in self.java.rows("lake." + table, types) if 1000000 <= int(r[0]) <= 2000000 and r[1] == "s101"]
                self.equal("filtered: %s, %s" % (codec, version), got, want)

    # what is in a table's options, and whether an absent value is excluded by "Bloom Filter" or "Index"
    SKIPPING = {
        "parquet_bloom": ("Bloom Filter", {"parquet.enable.dictionary": "false", **{"parquet.bloom.filter.enabled#" + c: "true" for c in "asdn"}}),
        "orc_bloom": ("Bloom Filter", {"file.format": "orc", "orc.bloom.filter.columns": "a,s,d", "orc.row.index.stride": "1000"}),
        "index_bloom": ("Index", {"file-index.bloom-filter.columns": "a,s"}),
        "index_bitmap": ("Index", {"file-index.bitmap.columns": "a,s"}),
        "index_bsi": ("Index", {"file-index.bsi.columns": "a", "file-index.bitmap.columns": "s"}),
        "index_range": ("Index", {"file-index.range-bitmap.columns": "a,s", "file-index.in-manifest-threshold": "1 mb"}),
    }

    def excluded(self, what, query):
        plan = self.sql.run("EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF, SUMMARY OFF) " + query)[0][0][0]["Plan"]
        return sum(v for k, v in plan.items() if k.endswith("Excluded by " + what))

    def test_java_skipping(self):
        """Bloom filters of Parquet and ORC files, and file indexes, by Java: they exclude, and never too much."""
        types = ["BIGINT", "STRING", "DOUBLE", "DECIMAL(9, 2)", "DATE"]
        for name, (kind, options) in self.SKIPPING.items():
            table = "skip_" + name
            self.java.create("lake." + table, list(map(list, zip("asdnt", types))), bucket="-1", **options)
            for part in range(2):  # even numbers, in no order, so that extremes exclude nothing
                numbers = [2 * (i * 7919 % 3000) for i in range(part, 3000, 2)]
                self.java.ask("write", "lake." + table, rows=[["+I", str(k), "row %d" % k, str(k + 0.5), "%d.25" % k, "2024-01-%02d" % (1 + k % 28)] for k in numbers])
            self.import_table(table)
            rows = self.java.rows("lake." + table, types)
            for where, keep in (("a = 1234", lambda r: r[0] == "1234"), ("s = 'row 4000'", lambda r: r[1] == "row 4000"),
                                ("d = 77.5", lambda r: float(r[2]) == 77.5), ("d = 78.5", lambda r: float(r[2]) == 78.5), ("n = 78.25", lambda r: r[3] == "78.25"),
                                ("a IN (5, 6, 7)", lambda r: r[0] == "6"), ("a = 5 OR s = 'row 8'", lambda r: r[0] == "8"),
                                ("a <> 8 AND s IN ('row 8', 'row 10')", lambda r: r[0] == "10"), ("a = 2001", lambda r: False)):
                self.equal("%s: %s" % (table, where), self.sql.rows("interop." + table, types, "WHERE " + where), [r for r in rows if keep(r)])
            for where in ("a = 2001", "s = 'row 2001'"):
                count = self.excluded(kind, "SELECT * FROM interop.%s WHERE %s" % (table, where))
                self.check("%s: %s is excluded" % (table, where), None if count > 0 else "nothing is")

    def test_java_other_formats(self):
        """Every type in ORC and Avro, in each codec."""
        for fmt, codecs in (("orc", ("zstd", "zlib", "snappy", "lz4", "none")), ("avro", ("zstd", "snappy", "deflate", "bzip2", "null"))):
            for codec in codecs:
                table = "java_%s_%s" % (fmt, codec)
                self.java.create("lake." + table, [["id", "INT NOT NULL"]] + [[n, t] for n, t, _ in TYPES], bucket="-1", **{"file.format": fmt, "file.compression": codec})
                rows = [["+I", str(i)] + [v.replace(" ", "T") if v and t.startswith("TIMESTAMP") else v for v, (_, t, _) in zip(r, TYPES)] for i, r in enumerate(VALUES * 20)]
                self.java.ask("write", "lake." + table, rows=rows)
                self.import_table(table)
                self.equal("SQL reads Java's %s, %s" % (fmt, codec), self.sql.rows("interop." + table, PAIMON), self.java.rows("lake." + table, PAIMON))

    def test_record_expiry(self):
        """Rows that are too old: a table that lets its compaction drop them is read as Java reads it."""
        types = ["INT", "TIMESTAMP(3)", "STRING"]
        self.java.create("lake.expiry", [["id", "INT NOT NULL"], ["at", types[1]], ["v", "STRING"]], primary_key=["id"], bucket="1",
                         **{"record-level.expire-time": "1 d", "record-level.time-field": "at", "num-sorted-run.compaction-trigger": "100"})
        for part in range(3):
            self.java.ask("write", "lake.expiry", rows=[["+I", str(i), "20%d0-01-01T00:00:00" % (1 if i % 2 else 9), "v%d" % part] for i in range(part, 20)])
        self.import_table("expiry")
        self.equal("rows that may expire", self.sql.rows("interop.expiry", types), self.java.rows("lake.expiry", types))
        self.java.ask("compact", "lake.expiry")
        self.equal("rows that have expired", self.sql.rows("interop.expiry", types), self.java.rows("lake.expiry", types))
        error = self.sql.error("INSERT INTO interop.expiry VALUES (1, now(), '')")
        self.check("and writing is refused", None if "record-level.expire-time" in error else "the answer was: " + error)

    def test_external_paths(self):
        """Data files elsewhere are read if the server allows it."""
        elsewhere = self.warehouse + "_elsewhere"
        types = ["INT", "STRING"]
        self.java.create("lake.elsewhere", [["id", "INT NOT NULL"], ["v", "STRING"]], primary_key=["id"], bucket="2",
                         **{"data-file.external-paths": "file://" + elsewhere, "data-file.external-paths.strategy": "round-robin"})
        for part in range(2):
            self.java.ask("write", "lake.elsewhere", rows=[["+I", str(i), "v%d" % part] for i in range(part * 10, 50)])
        self.import_table("elsewhere")
        error = self.sql.error("SELECT * FROM interop.elsewhere")
        self.check("files elsewhere are refused", None if elsewhere in error else "the answer was: " + error)
        self.sql.run("ALTER SERVER interop OPTIONS (ADD allow_external_paths 'true')")
        try:
            self.equal("files elsewhere are read if that is allowed", self.sql.rows("interop.elsewhere", types), self.java.rows("lake.elsewhere", types))
        finally:
            self.sql.run("ALTER SERVER interop OPTIONS (DROP allow_external_paths)")

    def test_blanks(self):
        """CHAR values that were stored with blanks and without equal each other."""
        self.java.create("lake.blanks", [["id", "INT NOT NULL"], ["c", "CHAR(5)"]], bucket="-1")
        values = ["a", "a ", "a    ", "ab", "abcde", "", "  ", " a", None, "ü", "ü   "]
        self.java.ask("write", "lake.blanks", rows=[["+I", str(i), v] for i, v in enumerate(values)])
        self.import_table("blanks")
        for where, keep in (("c = 'a'", lambda v: v.rstrip(" ") == "a"), ("c = 'ü  '", lambda v: v.rstrip(" ") == "ü"), ("c IN ('', 'abcde')", lambda v: v.rstrip(" ") in ("", "abcde")),
                            ("c <> 'a'", lambda v: v.rstrip(" ") != "a"), ("c NOT IN ('a', 'ab')", lambda v: v.rstrip(" ") not in ("a", "ab"))):
            got = [r[0] for r in self.sql.run("SELECT id FROM interop.blanks WHERE %s ORDER BY id" % where)]
            self.equal("blanks: " + where, got, [i for i, v in enumerate(values) if v is not None and keep(v)])

    def test_sums_beyond_precision(self):
        """Java lets sums of short decimals have too many digits; those of long ones become null."""
        self.java.create("lake.sums", [["k", "INT NOT NULL"], ["d", "DECIMAL(5, 2)"], ["w", "DECIMAL(38, 2)"], ["p", "DECIMAL(5, 2)"]], primary_key=["k"], bucket="1",
                         **{"merge-engine": "aggregation", "fields.d.aggregate-function": "sum", "fields.w.aggregate-function": "sum", "fields.p.aggregate-function": "product"})
        for _ in range(2):
            self.java.ask("write", "lake.sums", rows=[["+I", "1", "900.00", "9" * 36 + ".00", "900.00"], ["+I", "2", "-1.00", "1.00", "1.50"]])
        self.import_table("sums")
        types = ["INT", "DECIMAL(5, 2)", "DECIMAL(38, 2)", "DECIMAL(5, 2)"]
        self.equal("SQL shows sums as Java does", self.sql.rows("interop.sums", types), self.java.rows("lake.sums", types))

    def test_data_directory(self):
        """Data files in a folder of their own."""
        self.java.create("lake.directory", [["id", "INT NOT NULL"], ["v", "STRING"]], primary_key=["id"], bucket="2", **{"data-file.path-directory": "data/files"})
        for part in range(3):
            self.java.ask("write", "lake.directory", rows=[["+I", str(i), "v%d" % part] for i in range(part * 10, 100)])
        self.import_table("directory")
        self.equal("SQL reads a table with a data directory", self.sql.rows("interop.directory", ["INT", "STRING"]), self.java.rows("lake.directory", ["INT", "STRING"]))

    def test_nanoseconds(self):
        """Digits finer than microseconds: cut at the border of SQL, kept by our compaction."""
        self.java.create("lake.nanos", [["id", "INT NOT NULL"], ["t", "TIMESTAMP(9)"], ["z", "TIMESTAMP(9) WITH LOCAL TIME ZONE"], ["v", "INT"]], primary_key=["id"], bucket="1")
        times = ["2024-02-29T12:34:56.123456789", "1969-12-31T23:59:59.999999999", "1970-01-01T00:00:00.000000001", "1900-01-01T00:00:00.000000999"]
        for part in range(3):
            self.java.ask("write", "lake.nanos", rows=[["+I", str(i), t, t, str(part)] for i, t in enumerate(times)][part:])
        self.import_table("nanos")
        before = self.java.ask("dump", "lake.nanos")
        self.sql.run("CALL streamhouse.compact('interop.nanos', full => true)")
        self.equal("compaction keeps nanoseconds", sorted(self.java.ask("dump", "lake.nanos")), sorted(before))
        self.check("files are sound: nanos", self.java.ask("check", "lake.nanos"))
        got = [r[0] for r in self.sql.run("SELECT t::text FROM interop.nanos ORDER BY id")]
        self.equal("SQL cuts them off", got, ["2024-02-29 12:34:56.123456", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1900-01-01 00:00:00"])

    # columns behind k, and options
    ENGINES = {
        "sequence": ([["s", "INT"], ["v", "STRING"]], {"sequence.field": "s"}),
        "ignoring": ([["v", "STRING"]], {"ignore-delete": "true"}),
        "partial": ([["a", "INT"], ["b", "STRING"]], {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}),
        "grouped": ([["a", "INT"], ["s", "INT"], ["b", "STRING"], ["c", "BIGINT"], ["t", "INT"]],
                    {"merge-engine": "partial-update", "fields.s.sequence-group": "a,b", "fields.t.sequence-group": "c", "fields.c.aggregate-function": "sum"}),
        "aggregated": ([["n", "BIGINT"], ["d", "DECIMAL(9, 2)"], ["s", "STRING"], ["l", "INT"]],
                       {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.d.aggregate-function": "sum",
                        "fields.s.aggregate-function": "last_value"}),
    }

    def engine_rows(self, random, types, count):
        values = {"INT": lambda: str(random.randint(0, 5)), "BIGINT": lambda: str(random.randint(-99, 99)),
                  "DECIMAL(9, 2)": lambda: "%d.%02d" % (random.randint(0, 99), random.randint(0, 99)), "STRING": lambda: "v%d" % random.randint(0, 9)}
        return [[str(random.randint(0, 19))] + [values[t]() if random.random() < 0.7 else None for t in types] for _ in range(count)]

    def test_merge_engines(self):
        random = Random(7)
        for engine, (columns, options) in self.ENGINES.items():
            types = ["INT"] + [t for _, t in columns]
            for table in ("java_" + engine, "both_" + engine):
                self.java.create("lake." + table, [["k", "INT NOT NULL"]] + columns, primary_key=["k"], bucket="1", **dict(options, **{"write-only": "true"}))
                self.import_table(table)
            for step in range(6):
                rows = self.engine_rows(random, types[1:], 30)
                kinds = [random.choice(["+I", "+I", "+I", "-D"]) for _ in rows]
                self.java.ask("write", "lake.java_" + engine, rows=[[k] + r for k, r in zip(kinds, rows)])
                if step % 2:
                    self.java.ask("write", "lake.both_" + engine, rows=[["+I"] + r for r in rows])
                else:
                    self.sql.run("INSERT INTO interop.both_%s VALUES %s" % (engine, ", ".join("(%s)" % ", ".join("NULL" if v is None else "'%s'" % v for v in r) for r in rows)))
                if step == 3:
                    self.sql.run("CALL streamhouse.compact('interop.both_%s')" % engine)
            for table in ("java_" + engine, "both_" + engine):
                self.equal("SQL reads what Java reads: " + table, self.sql.rows("interop." + table, types), self.java.rows("lake." + table, types))
            self.check("files are sound: both_" + engine, self.java.ask("check", "lake.both_" + engine))

    def test_refusals(self):
        table = "java_dv"
        self.java.create("lake." + table, [["id", "INT NOT NULL"], ["v", "INT"]], primary_key=["id"], bucket="1", **{"deletion_vectors.enabled": "true"})
        self.java.ask("write", "lake." + table, rows=[["+I", str(i), "1"] for i in range(100)])
        self.java.ask("write", "lake." + table, rows=[["+I", str(i), "2"] for i in range(50, 150, 3)] + [["-D", "7", "1"]])
        self.import_table(table)
        self.equal("a table with deletion vectors is read", self.sql.rows("interop." + table, ["INT", "INT"]), self.java.rows("lake." + table, ["INT", "INT"]))
        error = self.sql.error("INSERT INTO interop.%s VALUES (2, 2)" % table)
        self.check("and refused for writing", None if "deletion-vectors.enabled" in error else "the answer was: " + error)
        for fmt in ("orc", "avro"):
            table = "refuse_" + fmt
            self.java.create("lake." + table, [["id", "INT"]], bucket="-1", **{"file.format": fmt})
            self.java.ask("write", "lake." + table, rows=[["+I", "1"]])
            self.import_table(table)
            self.equal("%s files are read" % fmt, self.sql.rows("interop." + table, ["INT"]), [["1"]])
            error = self.sql.error("INSERT INTO interop.%s VALUES (2)" % table)
            self.check("and refused for writing", None if fmt in error else "the answer was: " + error)
        self.java.create("lake.refuse_producer", [["id", "INT NOT NULL"], ["v", "INT"]], primary_key=["id"], bucket="1", changelog_producer="lookup")
        self.java.ask("write", "lake.refuse_producer", rows=[["+I", "1", "1"]])
        self.import_table("refuse_producer")
        self.equal("a table with a changelog producer is read", self.sql.rows("interop.refuse_producer", ["INT", "INT"]), [["1", "1"]])
        error = self.sql.error("INSERT INTO interop.refuse_producer VALUES (2, 2)")
        self.check("and refused for writing", None if "changelog-producer" in error else "the answer was: " + error)

    # ---- nested types ----

    NESTED = {
        "ai": {"type": "ARRAY", "element": "INT"}, "ann": {"type": "ARRAY", "element": "BIGINT NOT NULL"},
        "astr": {"type": "ARRAY", "element": "STRING"}, "ad": {"type": "ARRAY", "element": "DECIMAL(20, 2)"},
        "at": {"type": "ARRAY", "element": "TIMESTAMP(6)"}, "aby": {"type": "ARRAY", "element": "BYTES"}, "ada": {"type": "ARRAY", "element": "DATE"},
        "aa": {"type": "ARRAY", "element": {"type": "ARRAY", "element": "BOOLEAN"}},
        "m": {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}, "mi": {"type": "MAP", "key": "INT NOT NULL", "value": "DECIMAL(10, 2)"},
        "mm": {"type": "MAP", "key": "STRING NOT NULL", "value": {"type": "MAP", "key": "BIGINT NOT NULL", "value": "DOUBLE"}},
        "r": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}, {"name": "y", "type": "VARCHAR(20)"}, {"name": "z", "type": "FLOAT"}]},
        "ra": {"type": "ROW", "fields": [{"name": "tags", "type": {"type": "ARRAY", "element": "STRING"}},
                                         {"name": "inner", "type": {"type": "ROW", "fields": [{"name": "d", "type": "DATE"}]}},
                                         {"name": "props", "type": {"type": "MAP", "key": "STRING NOT NULL", "value": "STRING"}}]},
        "ar": {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"name": "k", "type": "STRING"}, {"name": "v", "type": {"type": "ARRAY", "element": "SMALLINT"}}]}},
        "mr": {"type": "MAP", "key": "STRING NOT NULL", "value": {"type": "ROW", "fields": [{"name": "p", "type": "TIME(3)"}, {"name": "q", "type": "TIMESTAMP(3)"}]}},
        "ms": {"type": "MULTISET", "element": "STRING NOT NULL"}, "v": "VARIANT",
    }

    def random_value(self, random, kind, nullable=True):
        """As Java takes it: atoms are strings, maps pairs, rows lists; JSON of VARIANT in a string."""
        word = (kind["type"] if isinstance(kind, dict) else kind)
        if nullable and "NOT NULL" not in word and random.random() < 0.15:
            return None
        word = word.split("(")[0].split()[0]
        size = random.choice([0, 1, 2, 3, 30])
        if word == "ARRAY":
            return [self.random_value(random, kind["element"]) for _ in range(size)]
        if word == "ROW":
            return [self.random_value(random, f["type"]) for f in kind["fields"]]
        if word in ("MAP", "MULTISET"):
            key, value = (kind["key"], kind["value"]) if word == "MAP" else (kind["element"], "INT NOT NULL")
            return [[k, self.random_value(random, value)] for k in sorted({self.random_value(random, key) for _ in range(size)})]
        if word == "VARIANT":
            return json.dumps(self.random_json(random, 3))
        return random.choice({
            "BOOLEAN": ["true", "false"], "SMALLINT": ["0", "-32768", "7"], "INT": ["0", "1", "-5", "2147483647"],
            "BIGINT": ["0", "-1", "9223372036854775807", "12"], "FLOAT": ["1.5", "-0.25", "3.4e38"], "DOUBLE": ["1e300", "0.1", "-7.0"],
            "DECIMAL": ["1.25", "0.00", "-99999999.99"], "STRING": ["", "a", "text", "null", "ü€😀", '"quoted, {}"', "x" * 50],
            "VARCHAR": ["", "b", "ünïcode"], "BYTES": ["", "00ff", "61"], "DATE": ["2024-02-29", "1969-12-31", "0001-01-01"],
            "TIME": ["00:00:00.001", "23:59:59.999"], "TIMESTAMP": ["1969-12-31T23:59:59.999", "2024-02-29T12:34:56.123"]}[word])

    def random_json(self, random, depth):
        kind = random.randrange(7 if depth else 5)
        if kind == 5:
            return [self.random_json(random, depth - 1) for _ in range(random.choice([0, 1, 3, 300 if depth == 1 else 2]))]
        if kind == 6:
            return {random.choice("abcdefgh") * random.randint(1, 70): self.random_json(random, depth - 1) for _ in range(random.randint(0, 5))}
        return [None, True, random.choice([0, 1, -129, 70000, 2 ** 40, 1.5, -0.001, 123456789012.25]), random.choice(["", "x", "ü" * 40]), False][kind]

    def sql_json(self, value, kind):
        """What SQL takes as jsonb: rows are objects."""
        if value is None:
            return None
        if kind == "VARIANT":
            return json.loads(value)
        if not isinstance(kind, dict):
            return "\\x" + value if kind.startswith("BYTES") else value == "true" if kind.startswith("BOOLEAN") else value
        if kind["type"] == "ARRAY":
            return [self.sql_json(v, kind["element"]) for v in value]
        if kind["type"] == "ROW":
            return {f["name"]: self.sql_json(v, f["type"]) for v, f in zip(value, kind["fields"])}
        key, element = (kind["key"], kind["value"]) if kind["type"] == "MAP" else (kind["element"], "INT")
        return [[self.sql_json(k, key), self.sql_json(v, element)] for k, v in value]

    def nested_rows(self, random, names, first, count):
        return [[str(first + i)] + [self.random_value(random, self.NESTED[n]) for n in names] for i in range(count)]

    def insert_nested(self, table, names, rows):
        """Once through arrays and composite types, then through jsonb."""
        objects = [dict({"id": int(row[0])}, **{n: self.sql_json(v, self.NESTED[n]) for n, v in zip(names, row[1:])}) for row in rows]
        half = len(rows) // 2
        self.sql.run("INSERT INTO interop.%s SELECT * FROM jsonb_populate_recordset(NULL::interop.%s, %%s)" % (table, table), [json.dumps(objects[:half])])
        self.sql.run("INSERT INTO interop.%s_json SELECT * FROM jsonb_populate_recordset(NULL::interop.%s_json, %%s)" % (table, table), [json.dumps(objects[half:])])

    def nested_table(self, table, names, key, **options):
        fields = [["id", "INT NOT NULL"]] + [[n, self.NESTED[n]] for n in names]
        self.java.create("lake." + table, fields, primary_key=["id"] if key else [], bucket="2" if key else "-1", **options)
        self.import_table(table)
        self.sql.run("CREATE FOREIGN TABLE interop.%s_json (id integer NOT NULL, %s) SERVER interop OPTIONS (database 'lake', \"table\" '%s')"
                     % (table, ", ".join('"%s" jsonb' % n for n in names), table))
        return ["INT"] + [self.NESTED[n] for n in names]

    def test_nested(self):
        random = Random(11)
        everything = list(self.NESTED)
        for table, key, names in (("nested_append", False, everything), ("nested_key", True, everything),
                                  ("nested_python", True, [n for n in everything if n not in ("ms", "v", "mr")])):
            types = self.nested_table(table, names, key)
            written = self.nested_rows(random, names, 0, 60)
            self.insert_nested(table, names, written)
            self.java.ask("write", "lake." + table, rows=[["+I"] + r for r in self.nested_rows(random, names, 50 if key else 100, 60)])
            if key:
                self.insert_nested(table, names, self.nested_rows(random, names, 20, 20))
                self.sql.run("UPDATE interop.%s SET ai = ai || 5, r.x = 17 WHERE id %% 3 = 0" % table)
                self.sql.run("DELETE FROM interop.%s WHERE id %% 10 = 7" % table)
            for compacted in (False, True):
                if compacted:
                    self.sql.run("CALL streamhouse.compact('interop.%s')" % table)
                what = table + (", compacted" if compacted else "")
                rows = self.java.rows("lake." + table, types)
                if not key:
                    expected = sorted_rows([[plain(v if v is None or not is_nested(t) else v if t == "VARIANT" else json.dumps(v), t)
                                             for v, t in zip(row, types)] for row in written])
                    self.equal(what + ": Java reads what was written", [r for r in rows if int(r[0]) < 100], expected)
                self.equal(what + ": SQL reads what Java reads", self.sql.rows("interop." + table, types), rows)
                self.equal(what + ": and as jsonb", self.sql.rows("interop.%s_json" % table, types), rows)
                if table == "nested_python":
                    self.equal(what + ": pypaimon reads what Java reads", self.python.rows("lake." + table, types), rows)
                self.check(what + ": files are sound", self.java.ask("check", "lake." + table))

    def test_nested_formats(self):
        random = Random(13)
        for fmt in ("orc", "avro"):
            names = [n for n in self.NESTED if n != "v" and not (fmt == "avro" and n == "ms")]
            types = self.nested_table("nested_" + fmt, names, True, **{"file.format": fmt})
            self.java.ask("write", "lake.nested_" + fmt, rows=[["+I"] + r for r in self.nested_rows(random, names, 0, 300)])
            self.java.ask("write", "lake.nested_" + fmt, rows=[["+I"] + r for r in self.nested_rows(random, names, 100, 50)])
            self.equal("SQL reads Java's nested %s" % fmt, self.sql.rows("interop.nested_" + fmt, types), self.java.rows("lake.nested_" + fmt, types))

    def test_shredded_variants(self):
        """Java puts expected values of a VARIANT into columns of their own."""
        random = Random(17)
        shape = {"type": "ROW", "fields": [{"id": i, "name": n, "type": t} for i, (n, t) in enumerate([
            ("n", "BIGINT"), ("s", "STRING"), ("d", "DECIMAL(9, 2)"), ("b", "BOOLEAN"), ("l", {"type": "ARRAY", "element": "INT"}),
            ("o", {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}, {"id": 1, "name": "y", "type": "STRING"}]})])]}
        for table, expected in (("shredded_object", shape), ("shredded_list", {"type": "ARRAY", "element": "STRING"}), ("shredded_number", "BIGINT")):
            schema = json.dumps({"type": "ROW", "fields": [{"id": 0, "name": "v", "type": expected}]})
            types = self.nested_table(table, ["v"], False, **{"parquet.variant.shreddingSchema": schema})
            values = [json.dumps(self.shredded_json(random)) if random.random() < 0.9 else None for _ in range(300)]
            self.java.ask("write", "lake." + table, rows=[["+I", str(i), v] for i, v in enumerate(values)])
            rows = self.java.rows("lake." + table, types)
            self.equal(table + ": SQL reads what Java reads", self.sql.rows("interop." + table, types), rows)
            self.equal(table + ": filtered", self.sql.rows("interop." + table, types, "WHERE id % 7 = 3"), [r for r in rows if int(r[0]) % 7 == 3])

    def shredded_json(self, random):
        """Mostly of the types that are expected."""
        kind = random.random()
        if kind < 0.2:
            return self.random_json(random, 2)
        if kind < 0.4:
            return [random.choice(["a", "bc", None, 5, ""]) for _ in range(random.randint(0, 6))]
        values = {"n": random.choice([1, 2 ** 40, None, "no number"]), "s": random.choice(["", "text", 7]), "d": random.choice([1.25, 3, True]),
                  "b": random.choice([True, False, None]), "l": random.choice([[], [1, 2, 3], [1, "x", None], "none"]),
                  "o": random.choice([{}, {"x": 1}, {"x": 1, "y": "z", "w": [0]}, None]), "more": self.random_json(random, 1)}
        return {k: v for k, v in values.items() if random.random() < 0.7}

    # ---- both write ----

    def test_taking_turns(self):
        self.foreign("turns", "id integer NOT NULL, who text", primary_key="id", bucket="2")
        for k in range(20):
            self.java.ask("write", "lake.turns", rows=[["+I", str(i), "java %d" % k] for i in range(k, k + 10)])
            self.sql.run("INSERT INTO interop.turns SELECT i, 'sql %d' FROM generate_series(%d, %d) i" % (k, k + 5, k + 14))
            if k == 10:
                self.java.ask("compact", "lake.turns")
                self.sql.run("CALL streamhouse.compact('interop.turns')")
        self.agree("Java and SQL in turn", "turns", ["INT", "STRING"], 34)
        want = sorted([str(i), self.last_writer(i)] for i in range(34))
        self.equal("the later writer wins", sorted(self.sql.rows("interop.turns", ["INT", "STRING"])), want)

    @staticmethod
    def last_writer(i):
        """Round k writes k..k+9 by Java, then k+5..k+14 by SQL."""
        last = None
        for k in range(20):
            if k <= i <= k + 9:
                last = "java %d" % k
            if k + 5 <= i <= k + 14:
                last = "sql %d" % k
        return last

    def test_four_sessions(self):
        self.foreign("four", "id integer NOT NULL, who integer, n integer", primary_key="id", bucket="2")
        faults = []

        def session(who):
            try:
                connection = psycopg2.connect(self.sql.dsn)
                connection.autocommit = True
                with connection.cursor() as cursor:
                    for n in range(50):
                        cursor.execute("INSERT INTO interop.four VALUES (%s, %s, %s), (0, %s, %s)", (1 + who * 50 + n, who, n, who, n))
                connection.close()
            except psycopg2.Error as failure:
                faults.append("session %d: %s" % (who, failure))

        threads = [threading.Thread(target=session, args=(who,)) for who in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.check("four sessions, 50 commits each", faults)
        self.agree("four sessions at once", "four", ["INT", "INT", "INT"], 201)
        appended = self.sql.run("SELECT count(*) FROM streamhouse.snapshots('interop.four') WHERE commit_kind = 'APPEND'")[0][0]
        self.check("no snapshot is lost", None if appended == 200 else "%d snapshots" % appended)

    # ---- the sync ----

    def test_sync(self):
        self.sql.run("DROP TABLE IF EXISTS public.synced; CREATE TABLE public.synced (id integer PRIMARY KEY, %s)"
                     % ", ".join("%s %s" % (n, p) for n, _, p in TYPES))
        for i, row in enumerate(VALUES):
            self.sql.run("INSERT INTO public.synced VALUES (%s)" % ", ".join(["%s"] * len(COLUMNS)), [i] + row)
        self.sql.run("DROP PUBLICATION IF EXISTS interop_pub; CREATE PUBLICATION interop_pub FOR TABLE public.synced")
        self.sql.run("CALL streamhouse.create_sync('interop_sync', publication => 'interop_pub', server => 'interop', database => 'lake')")
        try:
            self.sql.run("CALL streamhouse.wait_for_sync('interop_sync')")
            self.sql.run("INSERT INTO public.synced (id, i, s) SELECT n, n, repeat('x', n % 50) FROM generate_series(100, 1100) n")
            self.sql.run("UPDATE public.synced SET s = 'updated', d9 = 1.25 WHERE id BETWEEN 200 AND 299")
            self.sql.run("DELETE FROM public.synced WHERE id BETWEEN 300 AND 399")
            self.sql.run("UPDATE public.synced SET id = id + 10000 WHERE id BETWEEN 400 AND 449")
            self.sql.run("CALL streamhouse.wait_for_sync('interop_sync')")
            types = ["INT"] + [t for _, t, _ in TYPES]
            source = self.sql.rows("public.synced", types)
            self.equal("Java reads what was synced", self.java.rows("lake.synced", types), source)
            self.import_table("synced")
            self.agree("synced table", "synced", types, len(source))
        finally:
            self.sql.run("CALL streamhouse.drop_sync('interop_sync')")

    def test_sync_rules(self):
        """Computed columns, a partition by one of them, a condition, and metadata; rows that change their partition."""
        self.sql.run("DROP TABLE IF EXISTS public.visit; CREATE TABLE public.visit (id integer PRIMARY KEY, at timestamptz, page text, test boolean);"
                     "ALTER TABLE public.visit REPLICA IDENTITY FULL;"
                     "INSERT INTO public.visit SELECT i, '2024-03-01 00:30+00'::timestamptz + i * interval '5 hours', 'Page ' || i % 7, i % 9 = 0"
                     " FROM generate_series(1, 200) i;"
                     "DROP PUBLICATION IF EXISTS interop_rules; CREATE PUBLICATION interop_rules FOR TABLE public.visit")
        self.sql.run("CALL streamhouse.create_sync('interop_rules', 'interop_rules', 'interop', 'lake', tables => %s)", [json.dumps([
            {"source": r"public\.(.*)", "table": r"ods_\1", "where": "NOT test", "partition": ["day"], "metadata": ["table", "kind"],
             "columns": {"day": "(at AT TIME ZONE 'UTC')::date", "lower": "lower(page)"}, "options": {"bucket": "2"}}])])
        try:
            self.sql.run("CALL streamhouse.wait_for_sync('interop_rules')")
            self.sql.run("UPDATE public.visit SET at = at + interval '30 hours' WHERE id % 4 = 0")
            self.sql.run("UPDATE public.visit SET test = NOT test WHERE id % 5 = 0")
            self.sql.run("DELETE FROM public.visit WHERE id % 11 = 0")
            self.sql.run("CALL streamhouse.wait_for_sync('interop_rules')")
            self.sql.run("CREATE OR REPLACE VIEW public.visit_wanted AS SELECT id, at, page, test, (at AT TIME ZONE 'UTC')::date AS day, lower(page),"
                         " 'public.visit'::text AS source, NULL::text AS kind FROM public.visit WHERE NOT test")
            types = ["INT", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "STRING", "BOOLEAN", "DATE", "STRING", "STRING", "STRING"]
            source = [row[:7] for row in self.sql.rows("public.visit_wanted", types)]
            self.equal("Java reads what rules made", [row[:7] for row in self.java.rows("lake.ods_visit", types)], source)
            self.import_table("ods_visit")
            self.agree("table made by rules", "ods_visit", types, len(source))
        finally:
            self.sql.run("CALL streamhouse.drop_sync('interop_rules')")

    def test_sync_shared(self):
        """Two sources in one lake table, whose deleted rows stay: deletes, changes of keys, a TRUNCATE, another copy of one."""
        for schema in ("north", "south"):
            self.sql.run("DROP SCHEMA IF EXISTS %(s)s CASCADE; CREATE SCHEMA %(s)s; CREATE TABLE %(s)s.sale (id integer PRIMARY KEY, v bigint, note text);"
                         "ALTER TABLE %(s)s.sale ALTER note SET STORAGE EXTERNAL;"
                         "INSERT INTO %(s)s.sale SELECT i, i, CASE WHEN i %% 4 = 0 THEN repeat('%(s)s ' || i, 500) ELSE '%(s)s' END FROM generate_series(1, 150) i" % {"s": schema})
        self.sql.run("DROP PUBLICATION IF EXISTS interop_shared; CREATE PUBLICATION interop_shared FOR TABLE north.sale, south.sale")
        self.sql.run("CALL streamhouse.create_sync('interop_shared', 'interop_shared', 'interop', 'lake', tables => %s)", [json.dumps([
            {"source": r"(.*)\.sale", "table": "sales_of_all", "shard": {"region": r"\1"}, "soft_delete": "deleted", "options": {"bucket": "2"}}])])
        try:
            self.sql.run("CALL streamhouse.wait_for_sync('interop_shared')")
            self.sql.run("DELETE FROM north.sale WHERE id % 3 = 0")
            self.sql.run("UPDATE south.sale SET id = id + 1000, v = 0 WHERE id % 5 = 0")
            self.sql.run("CALL streamhouse.resync_table('interop_shared', 'south.sale')")
            self.sql.run("UPDATE north.sale SET v = v + 1 WHERE id % 2 = 0")
            self.sql.run("INSERT INTO north.sale VALUES (3, 3, 'back')")
            self.sql.run("CALL streamhouse.wait_for_sync('interop_shared')")
            self.sql.run("TRUNCATE south.sale")
            self.sql.run("INSERT INTO south.sale VALUES (1, 1, 'after')")
            self.sql.run("CALL streamhouse.wait_for_sync('interop_shared')")
            types = ["INT", "BIGINT", "STRING", "STRING", "BOOLEAN"]
            self.sql.run("CREATE OR REPLACE VIEW public.sales_there AS SELECT id, v, note, 'north'::text AS region, false AS deleted FROM north.sale"
                         " UNION ALL SELECT id, v, note, 'south', false FROM south.sale")
            there = [row for row in self.java.rows("lake.sales_of_all", types) if row[4] == self.sql.rows("public.sales_there", types)[0][4]]
            self.equal("Java reads what is there of two sources", sorted(there), sorted(self.sql.rows("public.sales_there", types)))
            self.import_table("sales_of_all")
            self.agree("lake table of two sources", "sales_of_all", types, 150 + 150)
        finally:
            self.sql.run("CALL streamhouse.drop_sync('interop_shared')")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--warehouse", required=True)
    parser.add_argument("--classpath", required=True)
    parser.add_argument("--only", default="")
    sys.exit(Tests(parser.parse_args()).run())
