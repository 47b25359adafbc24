#!/usr/bin/env python3
"""Write variant_files.h: Parquet files with shredded variants by pyarrow, for test_variant.

    python3 make_variant_files.py > variant_files.h
"""
import datetime
import decimal
import io

import pyarrow as pa
import pyarrow.parquet as pq


def emit(name, column):
    out = io.BytesIO()
    pq.write_table(pa.table({"v": column}), out, store_schema=False, compression="zstd" if name == "damaged_file" else "none")
    digits = out.getvalue().hex()
    print(f"\nstatic const char {name}[] =")
    print("\n".join(f'\t"{digits[i:i + 100]}"' for i in range(0, len(digits), 100)) + ";")


def group(typed, outermost=False):
    fields = [("metadata", pa.binary())] if outermost else []
    return pa.struct(fields + [("value", pa.binary()), ("typed_value", typed)])


def metadata(*names):
    offsets = [sum(map(len, names[:i])) for i in range(len(names) + 1)]
    return bytes([1, len(names), *offsets]) + "".join(names).encode()


def value(digits):
    return {"value": bytes.fromhex(digits)}


def typed(content):
    return {"typed_value": content}


NAMES = metadata("o", "x", "l", "a", "z")  # neither sorted nor only those that have columns
OBJECTS = group(pa.struct([
    ("a", group(pa.int64())),
    ("l", group(pa.list_(group(pa.string())))),
    ("o", group(pa.struct([("x", group(pa.date32()))]))),
]), True)
Z = bytes.fromhex("0201040001 04")  # {"z": true}


def objects():
    return pa.array([
        {"metadata": NAMES, "value": Z, **typed({
            "a": typed(5), "l": typed([typed("p"), value("0c01"), {}]), "o": typed({"x": typed(datetime.date(1970, 1, 2))})})},
        None,
        {"metadata": NAMES, **value("0c07")},
        {"metadata": NAMES},
        {"metadata": NAMES, **typed({"a": value("00"), "l": {}, "o": value("096869")})},
        {"metadata": NAMES, "value": Z, **typed({"a": {}, "l": {}, "o": {}})},
        {"metadata": NAMES, **typed({"a": {}, "l": typed([]), "o": typed({"x": {}})})},
        {"metadata": metadata(), **typed({"a": {}, "l": {}, "o": {}})},
    ], type=OBJECTS)


def scalars():
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1)
    fields = [
        ("bo", pa.bool_(), True), ("by", pa.binary(), b"bytes"), ("da", pa.date32(), datetime.date(1969, 12, 31)),
        ("de", pa.decimal128(9, 2), decimal.Decimal("-3.20")), ("dl", pa.decimal128(30, 3), decimal.Decimal("80.000")),
        ("do", pa.float64(), 2.5), ("fl", pa.float32(), 0.5), ("i1", pa.int8(), -1), ("i4", pa.int32(), 70000),
        ("st", pa.string(), "text"), ("tm", pa.timestamp("ms"), moment), ("tn", pa.timestamp("ns"), moment),
        ("tu", pa.timestamp("us", tz="UTC"), moment),
    ]
    type_ = group(pa.struct([(name, group(type_)) for name, type_, _ in fields]), True)
    names = metadata(*(name for name, _, _ in fields))
    return pa.array([{"metadata": names, **typed({name: typed(content) for name, _, content in fields})}], type=type_)


def lists():
    one = {"metadata": metadata(), **typed(1)}
    other = {"metadata": metadata(), **value("04")}
    return pa.array([[one, other], [], None, [None, one]], type=pa.list_(group(pa.int16(), True)))


def damaged():
    """Every tenth row is."""
    empty = {"a": {}, "l": {}, "o": {}}
    faults = [
        {"metadata": NAMES, "value": bytes.fromhex("0201030001 04"), **typed({**empty, "a": typed(1)})},  # "a" twice
        {"metadata": NAMES, **typed({**empty, "a": {**value("00"), **typed(1)}})},
        {"metadata": metadata("b"), **typed({**empty, "a": typed(1)})},
        {"metadata": b"\x02\x00\x00", **typed({**empty, "a": typed(1)})},
        {"metadata": NAMES, **value("0c01"), **typed(empty)},
        {"metadata": NAMES, **typed({**empty, "a": value("0d68")})},
        {"metadata": NAMES, **typed({**empty, "a": value("")})},
        {**typed({**empty, "a": typed(1)})},
        {"metadata": NAMES, "value": bytes.fromhex("0201090001 04"), **typed(empty)},  # a name that is not there
    ]
    return pa.array([faults[i // 10] if i % 10 == 0 else None for i in range(len(faults) * 10)], type=OBJECTS)


print("/*\n * variant_files.h\n *\t\tShredded variants written by pyarrow, made by make_variant_files.py.\n */")
emit("objects_file", objects())
emit("scalars_file", scalars())
emit("lists_file", lists())
emit("damaged_file", damaged())
emit("time_file", pa.array([{"metadata": metadata(), **typed(datetime.time(1))}], type=group(pa.time64("us"), True)))
