#!/usr/bin/env python3
"""Write avro_files.h: small Avro files by fastavro, for test_avro_data.

    python3 make_avro_files.py > avro_files.h

The schemas are as Paimon's Java library writes them; the values are formulas
of the row's number, which the test repeats.
"""
import io

import fastavro

SYNC = b"streamhouse-test"


def emit(name, fields, rows, codec="null", sync_interval=16000):
    out = io.BytesIO()
    schema = {"type": "record", "name": "record", "namespace": "org.apache.paimon.avro.generated", "fields": fields}
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec=codec, sync_interval=sync_interval, sync_marker=SYNC)
    digits = out.getvalue().hex()
    print(f"\nstatic const char {name}[] =")
    lines = [digits[i:i + 100] for i in range(0, len(digits), 100)]
    print("\n".join(f'\t"{line}"' for line in lines) + ";")


def field(name, type_):
    return {"name": name, "type": ["null", type_], "default": None}


def logical(type_, name, **more):
    return {"type": type_, "logicalType": name, **more}


def record(name, *fields):
    return {"type": "record", "name": name, "fields": list(fields)}


# Logical types that fastavro would convert are spelled so that it does not know them: their raw values are wanted.
RAW = "raw-"

FLAT = [
    field("b", "boolean"), field("i8", "int"), field("i16", "int"), {"name": "i32", "type": "int"}, field("i64", "long"),
    field("f", "float"), field("d", "double"),
    field("dec9", logical("bytes", RAW + "decimal", precision=9, scale=2)),
    field("dec38", logical("bytes", RAW + "decimal", precision=38, scale=10)),
    field("fixed", {"type": "fixed", "name": "f5", "size": 5, "logicalType": RAW + "decimal", "precision": 9, "scale": 2}),
    field("s", "string"), field("bin", "bytes"), field("date", logical("int", RAW + "date")),
    field("time", logical("int", RAW + "time-millis")), field("timeus", logical("long", RAW + "time-micros")),
    field("ts3", logical("long", RAW + "timestamp-millis")), field("ltz6", logical("long", RAW + "local-timestamp-micros")),
]


def minimal(number):
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def flat_row(i):
    row = {
        "b": i % 2 == 0, "i8": i * 50 - 128, "i16": i * 13107 - 32768, "i64": (i - 3) * 1234567890123456789,
        "f": i * 0.5 - 1, "d": i * 0.25 - 1, "dec9": minimal(i * 12345 - 30000), "dec38": minimal((i - 2) * 10**36),
        "fixed": (i * 12345 - 30000).to_bytes(5, "big", signed=True),
        "s": "s" * i, "bin": bytes([i, 255 - i, 0]), "date": i * 10000 - 20000, "time": i * 1000001, "timeus": i * 1000001,
        "ts3": (i - 2) * 1000000007, "ltz6": (i - 2) * 1000000007,
    }
    if i == 3:
        row = dict.fromkeys(row)
    row["i32"] = i * 858993459 - 2147483648
    return row


NESTED = [
    {"name": "k", "type": "int"},
    field("a", {"type": "array", "items": ["null", "int"]}),
    field("aa", {"type": "array", "items": ["null", {"type": "array", "items": ["null", "string"]}]}),
    field("m", {"type": "map", "values": ["null", "int"]}),
    field("mi", {**logical("array", "map"), "items": record("record_mi", {"name": "key", "type": ["null", "int"]}, field("value", "string"))}),
    field("r", record("record_r", field("x", "int"), field("skipped", {"type": "array", "items": "string"}), field("y", "string"))),
    field("ar", {"type": "array", "items": ["null", record("record_ar", field("v", {"type": "array", "items": ["null", "long"]}))]}),
]


def nested_row(i):
    row = {
        "a": [None if j == 2 else i * 10 + j for j in range(i)],
        "aa": [None if j == 1 else ["%d.%d" % (i, j)] * j for j in range(i)],
        "m": {"key%d" % j: None if j == 1 else i + j for j in range(i)},
        "mi": [{"key": i * j, "value": None if j == 1 else "v" * j} for j in range(i)],
        "r": {"x": i, "skipped": ["a", "b"], "y": None if i == 1 else "y%d" % i},
        "ar": [None if j == 1 else {"v": [i, None, j][:j]} for j in range(i)],
    }
    if i == 4:
        row = dict.fromkeys(row)
    row["k"] = i
    return row


def main():
    print("/*\n * avro_files.h\n *\t\tAvro files written by fastavro, made by make_avro_files.py.\n */")
    emit("flat_file", FLAT, [flat_row(i) for i in range(6)])
    emit("nested_file", NESTED, [nested_row(i) for i in range(6)])
    numbers = [{"name": "n", "type": "int"}, field("text", "string")]
    rows = [{"n": i // 100, "text": None if i % 10 == 0 else "row %d" % (i % 7)} for i in range(2500)]
    for codec in ("deflate", "snappy", "zstandard", "bzip2"):
        emit(codec + "_file", numbers, rows, codec=codec, sync_interval=1000000)
    emit("blocks_file", numbers, rows[:300], sync_interval=500)
    emit("xz_file", numbers, rows[:10], codec="xz")


if __name__ == "__main__":
    main()
