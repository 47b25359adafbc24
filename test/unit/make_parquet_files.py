#!/usr/bin/env python3
"""Write parquet_files.h: small Parquet files by pyarrow, for test_parquet_read.

    python3 make_parquet_files.py > parquet_files.h

The values are formulas of the row's number, which the test repeats.
"""
import decimal
import io

import pyarrow as pa
import pyarrow.parquet as pq


def emit(name, table, **options):
    out = io.BytesIO()
    options.setdefault("compression", "none")
    options.setdefault("use_dictionary", False)
    pq.write_table(table, out, store_schema=False, **options)
    emit_bytes(name, out.getvalue())


def emit_bytes(name, content):
    digits = content.hex()
    print(f"\nstatic const char {name}[] =")
    lines = [digits[i:i + 100] for i in range(0, len(digits), 100)]
    print("\n".join(f'\t"{line}"' for line in lines) + ";")


def column(values, type_, nulls=()):
    return pa.array([None if i in nulls else v for i, v in enumerate(values)], type=type_)


def types_table():
    n = range(6)
    nulls = {3}
    columns = {
        "b": (n, pa.bool_(), lambda i: i % 2 == 0),
        "i8": (n, pa.int8(), lambda i: i * 50 - 128),
        "i16": (n, pa.int16(), lambda i: i * 13107 - 32768),
        "i32": (n, pa.int32(), lambda i: i * 858993459 - 2147483648),
        "i64": (n, pa.int64(), lambda i: (i - 3) * 1234567890123456789),
        "u32": (n, pa.uint32(), lambda i: i * 858993459),
        "f": (n, pa.float32(), lambda i: i * 0.5 - 1),
        "d": (n, pa.float64(), lambda i: i * 0.25 - 1),
        "dec9": (n, pa.decimal128(9, 2), lambda i: decimal.Decimal(i * 12345 - 30000).scaleb(-2)),
        "dec38": (n, pa.decimal128(38, 10), lambda i: decimal.Decimal((i - 2) * 10**36).scaleb(-10)),
        "date": (n, pa.date32(), lambda i: i * 10000 - 20000),
        "time": (n, pa.time32("ms"), lambda i: i * 1000001),
        "timeus": (n, pa.time64("us"), lambda i: i * 1000001),
        "ts3": (n, pa.timestamp("ms"), lambda i: (i - 2) * 1000000007),
        "ts6": (n, pa.timestamp("us"), lambda i: (i - 2) * 1000000007),
        "ts9": (n, pa.timestamp("ns"), lambda i: (i - 2) * 1000000007),
        "s": (n, pa.string(), lambda i: "s" * i),
        "bin": (n, pa.binary(3), lambda i: bytes([i, 255 - i, 0])),
    }
    return pa.table({name: column([f(i) for i in r], t, nulls) for name, (r, t, f) in columns.items()})


def delta_table():
    n = range(300)
    return pa.table({
        "i32": column([i * i * 1000003 % 2**31 for i in n], pa.int32()),
        "i64": column([i * 7 - 1000 for i in n], pa.int64(), {i for i in n if i % 5 == 0}),
        "lengths": column(["x" * (i % 4) + str(i) for i in n], pa.string()),
        "prefixes": column([f"key{i // 10:04d}-{i % 10}" for i in n], pa.string(), {i for i in n if i % 7 == 0}),
        "b": column([i // 20 % 2 == 0 for i in n], pa.bool_(), {17}),
        "d": column([i / 8 for i in n], pa.float64()),
        "bin": column([bytes([i % 256, 7]) for i in n], pa.binary(2)),
    })


DELTA_ENCODINGS = {
    "i32": "DELTA_BINARY_PACKED",
    "i64": "DELTA_BINARY_PACKED",
    "lengths": "DELTA_LENGTH_BYTE_ARRAY",
    "prefixes": "DELTA_BYTE_ARRAY",
    "b": "RLE",
    "d": "BYTE_STREAM_SPLIT",
    "bin": "BYTE_STREAM_SPLIT",
}


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def thrift(fields):
    """A compact struct: {number: int (i32), ("i64", int), bool, str, list or dict}."""
    out, last = b"", 0
    for number, value in fields.items():
        kind = (5 if type(value) is int else 6 if type(value) is tuple else 2 - value if type(value) is bool
                else 8 if type(value) is str else 9 if type(value) is list else 12)
        out += bytes([number - last << 4 | (1 if value is True else 2 if value is False else kind)])
        last = number
        out += thrift_value(value)
    return out + b"\0"


def thrift_value(value):
    if type(value) is tuple:
        value = value[1]
    if type(value) is bool:
        return b""
    if type(value) is int:
        return varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if type(value) is str:
        return varint(len(value)) + value.encode()
    if type(value) is list:
        kind = 5 if type(value[0]) is int else 8 if type(value[0]) is str else 12
        return bytes([len(value) << 4 | kind]) + b"".join(map(thrift_value, value))
    return thrift(value)


def by_hand(name, rows, codec, header, body, values=None):
    """A file of one optional INT32 column "i" and one page, which no writer at hand makes; pyarrow reads values."""
    page = thrift(header) + body
    chunk = {1: 1, 2: [0], 3: ["i"], 4: codec, 5: ("i64", rows), 6: ("i64", len(page)), 7: ("i64", len(page)),
             9: ("i64", 4)}
    footer = thrift({
        1: 1,
        2: [{4: "schema", 5: 1}, {1: 1, 3: 1, 4: "i"}],
        3: ("i64", rows),
        4: [{1: [{2: ("i64", 4), 3: chunk}], 2: ("i64", len(page)), 3: ("i64", rows)}],
    })
    content = b"PAR1" + page + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    assert values is None or pq.read_table(io.BytesIO(content)).column(0).to_pylist() == values
    emit_bytes(name, content)


def emit_by_hand():
    values = [None if i % 4 == 1 else i for i in range(20)]
    plain = b"".join(i.to_bytes(4, "little") for i in values if i is not None)
    levels = "".join("0" if i is None else "1" for i in values).ljust(24, "0")
    body = bytes(int(levels[i:i + 8], 2) for i in range(0, 24, 8)) + plain
    # not checked by pyarrow, which takes the bits from the low end, against the format's specification
    by_hand("bit_packed_levels_file", 20, 0, {1: 0, 2: len(body), 3: len(body), 5: {1: 20, 2: 0, 3: 4, 4: 4}}, body)
    runs = bytes([3 << 1 | 1]) + bytes(int(levels[i:i + 8][::-1], 2) for i in range(0, 24, 8))
    body = runs + plain
    by_hand("uncompressed_v2_file", 20, 6,
            {1: 3, 2: len(body), 3: len(body), 8: {1: 20, 2: 5, 3: 20, 4: 0, 5: len(runs), 6: 0, 7: False}}, body, values)


def main():
    print("/*\n * parquet_files.h\n *\t\tParquet files written by pyarrow, made by make_parquet_files.py.\n */")
    emit("types_file", types_table(), use_deprecated_int96_timestamps=False)
    emit("int96_file", pa.table({"t": column([(i - 2) * 10**15 + i for i in range(5)], pa.timestamp("ns"))}),
         use_deprecated_int96_timestamps=True)
    emit("delta_file", delta_table(), column_encoding=DELTA_ENCODINGS, data_page_version="2.0", compression="zstd")

    # the dictionary is given up in the middle of the column chunk
    n = range(4000)
    emit("dictionary_file",
         pa.table({"s": column([f"value {i % 10 if i < 3000 else i}" for i in n], pa.string(), {i for i in n if i % 3 == 0}),
                   "i": column([i % 100 for i in n], pa.int64())}),
         use_dictionary=True, dictionary_pagesize_limit=1000, write_batch_size=500, data_page_size=500, compression="zstd")

    # two row groups with pages of 250 rows, and a page index
    n = range(3000)
    emit("pages_file",
         pa.table({"i": column(n, pa.int32()),
                   "d": column([float("nan") if i == 10 else i * 1.0 for i in n], pa.float64()),
                   "s": column([f"{i:06d}" for i in n], pa.string(), {i for i in n if 500 <= i < 1000})}),
         row_group_size=2000, write_batch_size=250, data_page_size=1, write_page_index=True, compression="zstd")
    small = pa.table({"i": column([i * 3 for i in range(40)], pa.int32(), {5, 6})})
    for codec in ("snappy", "gzip", "lz4", "zstd", "brotli"):
        emit(f"{codec}_file", small, compression=codec, data_page_version="2.0" if codec == "gzip" else "1.0")
    emit("checksum_file", small, write_page_checksum=True)
    emit("nested_file", pa.table({"l": [[1, 2], [], None], "i": column([1, 2, 3], pa.int32())}))
    emit_by_hand()


main()
