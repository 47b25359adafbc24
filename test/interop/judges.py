"""The judges of the interoperability tests: Paimon's Java library and pypaimon, and SQL beside them.

All three give a table as a list of rows, each value in one plain text form, so that they can be compared.
"""
import json
import struct
import subprocess
from datetime import date, datetime, time
from decimal import Decimal

import psycopg2
from pypaimon import CatalogFactory


class Java:
    """One process of the Java program in java/, asked line by line."""

    def __init__(self, classpath, warehouse):
        self.warehouse = warehouse
        self.process = subprocess.Popen(
            ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx3g", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8",
             "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
             "-cp", classpath, "streamhouse.interop.Judge"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, do, table, **more):
        request = {"do": do, "warehouse": self.warehouse, "table": table, **more}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the Java judge ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError("java %s %s: %s" % (do, table, answer["error"]))
        return answer["ok"]

    def create(self, table, fields, primary_key=(), partition=(), **options):
        self.ask("create", table, fields=fields, primary_key=list(primary_key), partition=list(partition),
                 table_options={k.replace("_", "-"): v for k, v in options.items()})

    def rows(self, table, types):
        return sorted_rows([[plain(v, t) for v, t in zip(row, types)] for row in self.ask("dump", table)])

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Python:
    def __init__(self, warehouse):
        self.catalog = CatalogFactory.create({"warehouse": "file://" + warehouse})

    def rows(self, table, types):
        builder = self.catalog.get_table(table).new_read_builder()
        arrow = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        columns = [column.to_pylist() for column in arrow.columns] if arrow is not None else []
        return sorted_rows([[nested(v, t) if is_nested(t) else plain(text(v), t) for v, t in zip(row, types)] for row in zip(*columns)])


def text(value):
    """A value as pypaimon gives it, as text."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (date, time)):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


class Sql:
    def __init__(self, dsn):
        self.dsn = dsn
        self.connection = self.connect()

    def connect(self):
        connection = psycopg2.connect(self.dsn)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("SET timezone TO 'UTC'; SET bytea_output TO hex; SET datestyle TO iso; SET extra_float_digits TO 1")
        return connection

    def run(self, statement, parameters=None):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else None

    def error(self, statement):
        """The message of a statement that must fail; the empty string if it does not."""
        try:
            self.run(statement)
        except psycopg2.Error as failure:
            return str(failure)
        return ""

    def columns(self, relation):
        return [r[0] for r in self.run(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum", (relation,))]

    def rows(self, relation, types, where="", names=None):
        columns = [c for c in self.columns(relation) if names is None or c in names]
        select = ", ".join(('to_jsonb("%s")::text' if is_nested(t) else '"%s"::text') % c.replace('"', '""') for c, t in zip(columns, types))
        rows = self.run("SELECT %s FROM %s %s" % (select, relation, where))
        return sorted_rows([[plain(v, t) for v, t in zip(row, types)] for row in rows])


def is_nested(kind):
    """Types are given as schema files have them: nested ones as objects, VARIANT apart."""
    return isinstance(kind, dict) or kind == "VARIANT"


def plain(value, kind):
    """One text form a type, whoever printed the value; kind is the first word of the Paimon type."""
    if value is None:
        return None
    if is_nested(kind):
        return nested(json.loads(value, parse_int=str, parse_float=str), kind)
    kind = kind.split("(")[0].split()[0]
    if kind == "BOOLEAN":
        return value.lower()
    if kind in ("FLOAT", "DOUBLE"):
        number = float(value)
        if kind == "FLOAT":
            number = struct.unpack("f", struct.pack("f", number))[0]
        return "0.0" if number == 0 else repr(number)
    if kind == "DECIMAL":
        return format(Decimal(value), "f")
    if kind == "CHAR":
        return value.rstrip(" ")
    if kind in ("BINARY", "VARBINARY", "BYTES", "BLOB"):
        return value[2:] if value.startswith("\\x") else value
    if kind == "TIME":
        head, _, fraction = value.partition(".")
        return head + "." + fraction.ljust(3, "0")[:3]
    if kind in ("VARCHAR", "STRING"):
        return value.removeprefix("file:")  # of locations: Java knows them as URIs
    if kind.startswith("TIMESTAMP"):
        value = value.replace("T", " ").removesuffix("+00").removesuffix("+00:00")
        head, _, fraction = value.partition(".")
        return head + "." + fraction.ljust(6, "0")[:6]
    return value


def nested(value, kind):
    """The same for a nested value, of JSON or of Python: lists of elements, of pairs by their keys, of a row's fields."""
    if value is None:
        return None
    if kind == "VARIANT":
        return variant(value)
    if not isinstance(kind, dict):
        return plain(text(value), kind)
    word = kind["type"].split()[0]
    if word == "ARRAY":
        return [nested(v, kind["element"]) for v in value]
    if word == "ROW":
        fields = kind["fields"]
        values = [value[f["name"]] for f in fields] if isinstance(value, dict) else value
        return [nested(v, f["type"]) for v, f in zip(values, fields)]
    key, element = (kind["key"], kind["value"]) if word == "MAP" else (kind["element"], "INT")
    pairs = value.items() if isinstance(value, dict) else value
    return sorted_rows([[nested(k, key), nested(v, element)] for k, v in pairs])


def variant(value):
    """Numbers are equal that JSON has as equal."""
    if isinstance(value, dict):
        return {k: variant(v) for k, v in value.items()}
    if isinstance(value, list):
        return [variant(v) for v in value]
    try:
        return str(Decimal(value).normalize())
    except (ArithmeticError, TypeError, ValueError):
        return value


def sorted_rows(rows):
    return sorted(rows, key=lambda row: json.dumps(row, ensure_ascii=False))
