#!/usr/bin/env python3
"""Write orc_files.h: small ORC files by pyarrow, for test_orc.

    python3 make_orc_files.py > orc_files.h

The values are formulas of the row's number, which the test repeats.
"""
import decimal
import io

import pyarrow as pa
import pyarrow.orc as orc

GROUP_ROWS = 3000
SMALL_ROWS = 300
NESTED_ROWS = 40
BLOOM_ROWS = 300


def emit(name, table, **options):
    out = io.BytesIO()
    orc.write_table(table, out, **options)
    digits = out.getvalue().hex()
    print(f"\nstatic const char {name}[] =")
    lines = [digits[i:i + 100] for i in range(0, len(digits), 100)]
    print("\n".join(f'\t"{line}"' for line in lines) + ";")


def column(values, type_, nulls=()):
    return pa.array([None if i in nulls else v for i, v in enumerate(values)], type=type_)


def types_table():
    n = range(6)
    columns = {
        "b": (pa.bool_(), lambda i: i % 2 == 0),
        "i8": (pa.int8(), lambda i: i * 50 - 128),
        "i16": (pa.int16(), lambda i: i * 13107 - 32768),
        "i32": (pa.int32(), lambda i: i * 858993459 - 2147483648),
        "i64": (pa.int64(), lambda i: (i - 3) * 1234567890123456789),
        "f": (pa.float32(), lambda i: i * 0.5 - 1),
        "d": (pa.float64(), lambda i: i * 0.25 - 1),
        "dec9": (pa.decimal128(9, 2), lambda i: decimal.Decimal(i * 12345 - 30000).scaleb(-2)),
        "dec38": (pa.decimal128(38, 10), lambda i: decimal.Decimal((i - 2) * 10**36).scaleb(-10)),
        "date": (pa.date32(), lambda i: i * 10000 - 20000),
        "ts": (pa.timestamp("ns"), lambda i: (i - 2) * 1000000007),
        "tz": (pa.timestamp("ns", "UTC"), lambda i: (i - 2) * 1000000007),
        "s": (pa.string(), lambda i: "s" * i),
        "bin": (pa.binary(), lambda i: bytes([i, 255 - i, 0])),
    }
    return pa.table({name: column([f(i) for i in n], t, {3}) for name, (t, f) in columns.items()})


def groups_table():
    n = range(GROUP_ROWS)
    return pa.table({
        "id": pa.array(n, pa.int64()),
        "mixed": pa.array([None if i % 7 == 0 else i * i % 1000 for i in n], pa.int32()),
        "word": pa.array([None if i % 11 == 0 else "word%d" % (i % 13) for i in n], pa.string()),
        "text": pa.array([None if i % 5 == 0 else "row %d" % i for i in n], pa.string()),
        "half": pa.array([i / 2 for i in n], pa.float64()),
        "flag": pa.array([i >= 1500 for i in n], pa.bool_()),
        "amount": pa.array([decimal.Decimal(i * 37 - 50000).scaleb(-2) for i in n], pa.decimal128(12, 2)),
        "at": pa.array([i * 60000000007 for i in n], pa.timestamp("ns")),
        "list": pa.array([None if i % 9 == 0 else [i] * (i % 4) for i in n], pa.list_(pa.int32())),
    })


def small_table():
    n = range(SMALL_ROWS)
    return pa.table({
        "id": pa.array([i * (i % 3 - 1) for i in n], pa.int64()),
        "word": pa.array(["word%d" % (i % 13) for i in n], pa.string()),
    })


def bloom_table():
    """Values that are everywhere between the extremes, in each group of rows; only even ones are there."""
    k = [2 * (i * 77 % BLOOM_ROWS) for i in range(BLOOM_ROWS)]
    return pa.table({
        "i16": pa.array(k, pa.int16()),
        "i64": pa.array(k, pa.int64()),
        "f": pa.array([v + 0.5 for v in k], pa.float32()),
        "d": pa.array([v + 0.5 for v in k], pa.float64()),
        "day": pa.array(k, pa.date32()),
        "s": pa.array(["row number %d" % v for v in k], pa.string()),
        "bin": pa.array([v.to_bytes(2, "big") for v in k], pa.binary()),
    })


def nested_table():
    n = range(NESTED_ROWS)
    row = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])
    return pa.table({
        "list": pa.array([None if i % 5 == 4 else [None if k == 2 else i * 10 + k for k in range(i % 4)] for i in n],
                         pa.list_(pa.int32())),
        "map": pa.array([None if i % 7 == 6 else [("k%d" % k, i - k) for k in range(i % 3)] for i in n],
                        pa.map_(pa.string(), pa.int64())),
        "row": pa.array([None if i % 3 == 2 else {"x": None if i % 4 == 3 else i, "y": ["y%d" % i] * (i % 3)} for i in n],
                        row),
    })


print("/*\n * orc_files.h\n *\t\tORC files written by pyarrow, made by make_orc_files.py.\n */")
emit("types_file", types_table())
emit("groups_file", groups_table(), compression="zstd", row_index_stride=1000, dictionary_key_size_threshold=0.5,
     compression_block_size=4096)
emit("nested_file", nested_table(), compression="zlib", dictionary_key_size_threshold=1.0)
for codec in ("snappy", "zlib", "lz4", "zstd"):
    emit(codec + "_file", small_table(), compression=codec, dictionary_key_size_threshold=1.0)
emit("old_file", small_table(), compression="zlib", file_version="0.11", dictionary_key_size_threshold=1.0)
emit("empty_file", small_table().slice(0, 0), compression="zlib")
emit("bloom_file", bloom_table(), compression="zstd", row_index_stride=100, bloom_filter_fpp=0.01,
     bloom_filter_columns=list(range(1, 8)))
