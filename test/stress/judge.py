"""The lake tables of a stress test, as SQL, Paimon's Java library and pypaimon read them.

judge.py --dsn DSN --warehouse FOLDER --classpath CP --seed S
SQL has been found equal to the source before; here the others must read what SQL reads.
"""
import argparse
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))

from judges import Java, Python, Sql  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("dsn", "warehouse", "classpath", "seed"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    sql, java, python = Sql(options.dsn), Java(options.classpath, options.warehouse), Python(options.warehouse)
    failed = 0
    for folder in sorted(glob.glob(options.warehouse + "/d.db/*")):
        table = os.path.basename(folder)
        newest = max(glob.glob(folder + "/schema/schema-*"), key=lambda p: int(p.rsplit("-", 1)[1]))
        with open(newest) as schema:
            types = [f["type"] for f in json.load(schema)["fields"]]
        want = sql.rows('lake."%s"' % table, types)
        faults = java.ask("check", "d." + table)
        for name, judge in (("Java", java), ("pypaimon", python)):
            try:
                got = judge.rows("d." + table, types)
            except Exception as error:
                got = [["%s: %s" % (type(error).__name__, error)]]
            if got != want:
                extra, missing = [r for r in got if r not in want][:2], [r for r in want if r not in got][:2]
                faults = "%s\n%s: %d rows against %d; only there %r; only in SQL %r" % (faults or "", name, len(got), len(want), extra, missing)
        failed += bool(faults)
        print("%s - seed %s: %s by Java and pypaimon, %d rows%s" % ("not ok" if faults else "ok", options.seed, table, len(want), ": " + str(faults)[:2000] if faults else ""), flush=True)
    java.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
