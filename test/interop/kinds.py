"""What Java writes in java_tables.py: kinds of tables and merge engines, each as columns, key, options and steps.

A step is a word and its arguments: write [rows], kinds (rows of all kinds), delete (keys of rows), compact, or a request to
the Java judge. Values are random, but the same in each run.
"""
from random import Random

NESTED_ROW = {"type": "ROW", "fields": [{"name": "x", "type": "INT"}, {"name": "y", "type": "STRING"}]}
ITEMS = {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"name": "id", "type": "INT"}, {"name": "v", "type": "STRING"}, {"name": "w", "type": "INT"}]}}

SYSTEM = ["snapshots", "schemas", "options", "audit_log", "binlog", "files", "manifests", "tags", "branches", "consumers", "partitions", "buckets",
          "statistics", "aggregation_fields", "ro", "table_indexes", "row_tracking", "file_key_ranges"]


def columns(text):
    """Of "k INT NOT NULL; v STRING"; columns of nested types are added as pairs."""
    return [tuple(c.strip().split(" ", 1)) for c in text.split(";")]


class Kind:
    def __init__(self, text, steps, key=(), partition=(), nested=(), rows=30, keys=24, **options):
        self.columns = columns(text) + list(nested)
        self.steps, self.key, self.partition, self.rows, self.keys = steps, list(key), list(partition), rows, keys
        self.options = {"bucket": "1" if key else "-1", **options}


KV = "k INT NOT NULL; v STRING; n BIGINT"
KP = "k INT NOT NULL; p STRING NOT NULL; v INT; d DECIMAL(12, 2)"
VECTORS = {"deletion-vectors.enabled": "true"}
TRACKED = {"row-tracking.enabled": "true"}
EVOLVING = {**TRACKED, "data-evolution.enabled": "true"}
DELETE = ("delete", {"column": "k", "values": ["1", "3", "7", "8", "20"]})
DELETE_MORE = ("delete", {"column": "v", "values": ["0", "a", "text"]})
KINDS = {
    "append": Kind(KV, ["write"] * 5 + ["compact", "write"], **{"compaction.min.file-num": "3"}),
    "append_bucketed": Kind(KV, ["write"] * 3 + ["compact", "write"], **{"bucket": "4", "bucket-key": "v,k", "write-only": "true"}),
    "append_overwritten": Kind(KP, ["write", "write", ("write", {"overwrite": {"p": "a"}}), "write"], partition=["p"]),
    "key": Kind(KV, ["write", "kinds", "compact", "write", "deletes"], key=["k"], bucket="3"),
    "key_levels": Kind(KV, ["write", "kinds"] * 6, key=["k"], **{"num-sorted-run.compaction-trigger": "3"}),
    "key_partitioned": Kind(KP, ["write", "write", "deletes", "compact", "write"], key=["p", "k"], partition=["p"], bucket="2"),
    "key_only": Kind("k INT NOT NULL; p STRING NOT NULL", ["write", "deletes", "write"], key=["k", "p"]),
    "vectors_append": Kind(KV, ["write", "write", DELETE, DELETE_MORE, "write"], **VECTORS),
    "vectors_append64": Kind(KV, ["write", "write", DELETE, DELETE_MORE], **VECTORS, **{"deletion-vectors.bitmap64": "true"}),
    "vectors_append_bucketed": Kind(KV, ["write", DELETE, "write", DELETE_MORE], **VECTORS, **{"bucket": "2", "bucket-key": "k"}),
    "vectors_append_partitioned": Kind(KP, ["write", DELETE, "write", DELETE_MORE], partition=["p"], **VECTORS),
    "vectors_key": Kind(KV, ["write", "kinds", "deletes", "write"], key=["k"], **VECTORS, **{"bucket": "2"}),
    "vectors_key64": Kind(KV, ["write", "kinds", "deletes", "compact", "write"], key=["k"], **VECTORS, **{"deletion-vectors.bitmap64": "true"}),
    "vectors_key_orc": Kind(KV, ["write", "kinds", "write"], key=["k"], **VECTORS, **{"file.format": "orc"}),
    "vectors_key_avro": Kind(KV, ["write", "kinds", "write"], key=["k"], **VECTORS, **{"file.format": "avro"}),
    "vectors_key_partitioned": Kind(KP, ["write", "kinds", "deletes", "write"], key=["p", "k"], partition=["p"], **VECTORS, **{"bucket": "2"}),
    "vectors_key_level0": Kind(KV, ["write", "compact", "kinds", "write"], key=["k"], **VECTORS, **{"write-only": "true"}),
    "vectors_key_lookup": Kind(KV, ["write", "kinds", "deletes"], key=["k"], **VECTORS, **{"changelog-producer": "lookup"}),
    "vectors_key_partial": Kind(KV, ["write", "write", "write"], key=["k"], **VECTORS, **{"merge-engine": "partial-update"}),
    "dynamic": Kind(KV, ["write", "kinds", "write", "compact", "write"], key=["k"], keys=60, bucket="-1", **{"dynamic-bucket.target-row-num": "10"}),
    "dynamic_partitioned": Kind(KP, ["write", "deletes", "write"], key=["k", "p"], partition=["p"], bucket="-1", **{"dynamic-bucket.target-row-num": "5"}),
    "across_partitions": Kind(KP, ["write", "write", "compact", "write"], key=["k"], partition=["p"], bucket="-1", **{"dynamic-bucket.target-row-num": "10"}),
    "across_partitions_partial": Kind(KP, ["write", "write", "write"], key=["k"], partition=["p"], bucket="-1", **{"merge-engine": "partial-update"}),
    "postpone": Kind(KV, ["write", "kinds", "compact", "write", "compact", "deletes", "write"], key=["k"], bucket="-2"),
    "postpone_partitioned": Kind(KP, ["write", ("compact", {"buckets": 1}), "write", ("compact", {"buckets": 3}), "write"], key=["k", "p"], partition=["p"], bucket="-2"),
    "tracking": Kind(KV, ["write", "write", "write"], **TRACKED),
    "tracking_compacted": Kind(KV, ["write"] * 4 + ["compact", "write"], **TRACKED, **{"compaction.min.file-num": "2"}),
    "evolution": Kind("k INT; v STRING; n INT; f DOUBLE", [
        ("write", {"columns": ["k", "v"]}), ("write", {"columns": ["n"], "first_row_id": 0}), ("write", {"columns": ["v", "f"], "first_row_id": 0}), "write",
        ("alter", {"changes": [["add", "z", "BIGINT"]]}), ("write", {"columns": ["z"], "first_row_id": 30}), "write",
        ("write", {"columns": ["n", "v"], "first_row_id": 60, "constant": "7"})], **EVOLVING),
    "blob": Kind("k INT; v STRING; b BLOB", ["write", "write"], **EVOLVING),
    "formats": Kind(KV, ["write"] + [step for fmt in ("orc", "avro", "parquet") for step in (("alter", {"changes": [["set", "file.format", fmt]]}), "write")]
                    + [("alter", {"changes": [["set", "file.compression", "snappy"]]}), "write"]),
    "formats_levels": Kind(KV, ["write"] * 5, key=["k"], **{"file.format.per.level": "0:avro,5:orc", "file.compression.per.level": "0:snappy,5:zlib", "num-sorted-run.compaction-trigger": "3"}),
    "rescaled": Kind(KP, ["write", ("alter", {"changes": [["set", "bucket", "5"]]}), ("write", {"overwrite": {"p": "a"}, "only": "a"}), ("write", {"only": "a"})],
                     partition=["p"], **{"bucket": "2", "bucket-key": "k"}),
    "manifests": Kind(KP, ["write", "deletes"] * 5, key=["k", "p"], partition=["p"], **{"manifest.merge-min-count": "3", "manifest.format": "orc"}),
    "statistics": Kind(KP, ["write", ("analyze", {}), "write"], key=["k", "p"], partition=["p"]),
    "expired": Kind(KV, ["write"] * 6 + [("expire", {"keep": 2}), "write"], key=["k"]),
    "rolled_back": Kind(KV, ["write"] * 4 + [("rollback", {"snapshot": 2}), "write"], key=["k"]),
    "consumed": Kind(KV, ["write", ("consumer", {"name": "reader", "snapshot": 2}), ("consumer", {"name": "other", "snapshot": 1})]),
}
for producer in ("input", "lookup", "full-compaction"):
    KINDS["changes_" + producer.replace("-", "_")] = Kind(KV, ["write", "kinds", "deletes", "write"], key=["k"], **{"changelog-producer": producer, "full-compaction.delta-commits": "1"})


def functions(text):
    """The options of "a sum, b max": functions of columns."""
    return {"fields.%s.aggregate-function" % pair.split()[0]: pair.split()[1] for pair in text.split(", ")}


AGGREGATION = {"merge-engine": "aggregation"}
PARTIAL = {"merge-engine": "partial-update"}
NUMBERS = "k INT NOT NULL; a TINYINT; b SMALLINT; c INT; d BIGINT; e FLOAT; f DOUBLE; g DECIMAL(12, 2); h DECIMAL(30, 4)"
ORDERED = "k INT NOT NULL; s STRING; c CHAR(3); d DATE; t TIME(3); m TIMESTAMP(6); z TIMESTAMP(3) WITH LOCAL TIME ZONE; b BOOLEAN; n DECIMAL(20, 3)"
WRITES = ["write", "write", "compact", "write", "write"]
RETRACTS = WRITES + ["deletes", "kinds"]
GROUPS = "k INT NOT NULL; a INT; b STRING; g INT; c INT; d STRING; h INT; e STRING"
ENGINES = {
    "ignore_delete": Kind(KV, RETRACTS, key=["k"], **{"ignore-delete": "true"}),
    "sequence": Kind("k INT NOT NULL; s INT; v STRING", RETRACTS, key=["k"], **{"sequence.field": "s"}),
    "sequence_two": Kind("k INT NOT NULL; s INT; t TIMESTAMP(3); v STRING", RETRACTS, key=["k"], **{"sequence.field": "s,t"}),
    "sequence_descending": Kind("k INT NOT NULL; s INT; t TIMESTAMP(3); v STRING", RETRACTS, key=["k"], **{"sequence.field": "s,t", "sequence.field.sort-order": "descending"}),
    "rowkind": Kind("k INT NOT NULL; v STRING; o STRING", WRITES, key=["k"], **{"rowkind.field": "o"}),
    "first_row": Kind(KV, WRITES, key=["k"], **{"merge-engine": "first-row", "changelog-producer": "lookup"}),
    "first_row_level0": Kind(KV, ["write", "compact", "write", "deletes"], key=["k"], **{"merge-engine": "first-row", "ignore-delete": "true", "write-only": "true"}),
    "partial": Kind("k INT NOT NULL; a INT; b STRING; c DOUBLE", WRITES, key=["k"], nested=[("l", {"type": "ARRAY", "element": "INT"}), ("r", NESTED_ROW)], **PARTIAL),
    "partial_ignore": Kind(KV, RETRACTS, key=["k"], **PARTIAL, **{"ignore-delete": "true"}),
    "partial_remove": Kind(KV, RETRACTS, key=["k"], **PARTIAL, **{"partial-update.remove-record-on-delete": "true"}),
    "partial_sequence": Kind("k INT NOT NULL; s INT; a INT; b STRING", WRITES, key=["k"], **PARTIAL, **{"sequence.field": "s"}),
    "groups": Kind(GROUPS, RETRACTS, key=["k"], **PARTIAL, **{"fields.g.sequence-group": "a,b", "fields.h.sequence-group": "c,d"}),
    "groups_of_two": Kind(GROUPS, RETRACTS, key=["k"], **PARTIAL, **{"fields.g,h.sequence-group": "a,b,c,d"}),
    "groups_remove": Kind(GROUPS, RETRACTS, key=["k"], **PARTIAL, **{"fields.g.sequence-group": "a,b", "fields.h.sequence-group": "c,d", "partial-update.remove-record-on-sequence-group": "h"}),
    "groups_aggregates": Kind(GROUPS, RETRACTS, key=["k"], **PARTIAL, **functions("a sum, b last_value, c max, d first_value, e last_non_null_value"),
                              **{"fields.g.sequence-group": "a,b", "fields.h.sequence-group": "c,d", "fields.c.ignore-retract": "true", "fields.d.ignore-retract": "true"}),
    "sum": Kind(NUMBERS, RETRACTS, key=["k"], **AGGREGATION, **functions("a sum, b sum, c sum, d sum, e sum, f sum, g sum, h sum")),
    "product": Kind("k INT NOT NULL; q INT; q2 BIGINT; q3 DOUBLE; q4 DECIMAL(12, 2)", RETRACTS, key=["k"], **AGGREGATION, **functions("q product, q2 product, q3 product, q4 product")),
    "max": Kind(NUMBERS, WRITES, key=["k"], **AGGREGATION, **functions("a max, b max, c max, d max, e max, f max, g max, h max")),
    "min": Kind(NUMBERS, WRITES, key=["k"], **AGGREGATION, **functions("a min, b min, c min, d min, e min, f min, g min, h min")),
    "max_ordered": Kind(ORDERED, WRITES, key=["k"], **AGGREGATION, **functions("s max, c max, d max, t max, m max, z max, b bool_or, n max")),
    "min_ordered": Kind(ORDERED, WRITES, key=["k"], **AGGREGATION, **functions("s min, c min, d min, t min, m min, z min, b bool_and, n min")),
    "values": Kind("k INT NOT NULL; a STRING; b STRING; c STRING; d STRING", WRITES, key=["k"], **AGGREGATION,
                   **functions("a last_value, b last_non_null_value, c first_value, d first_non_null_value")),
    "values_retracted": Kind("k INT NOT NULL; a STRING; b STRING", RETRACTS, key=["k"], **AGGREGATION, **functions("a last_value, b last_non_null_value")),
    "default_function": Kind("k INT NOT NULL; a STRING; b INT; c INT", RETRACTS, key=["k"], **AGGREGATION, **functions("c sum"), **{
        "fields.default-aggregate-function": "last_non_null_value", "fields.a.ignore-retract": "true", "fields.c.ignore-retract": "true"}),
    "remove_record": Kind("k INT NOT NULL; a INT", RETRACTS, key=["k"], **AGGREGATION, **functions("a sum"), **{"aggregation.remove-record-on-delete": "true"}),
    "late": Kind("k INT NOT NULL; s INT; a STRING; b STRING; c INT", WRITES, key=["k"], **AGGREGATION, **functions("a last_value, b first_value, c sum"), **{"sequence.field": "s"}),
    "listagg": Kind("k INT NOT NULL; a STRING; b STRING; c STRING", WRITES, key=["k"], **AGGREGATION, **functions("a listagg, b listagg, c listagg"), **{
        "fields.b.list-agg-delimiter": "; ", "fields.c.distinct": "true"}),
    "collect": Kind("k INT NOT NULL", RETRACTS, key=["k"], nested=[("a", {"type": "ARRAY", "element": "STRING"}), ("b", {"type": "ARRAY", "element": "INT"})],
                    **AGGREGATION, **functions("a collect, b collect"), **{"fields.b.distinct": "true"}),
    "merge_map": Kind("k INT NOT NULL", RETRACTS, key=["k"], nested=[("a", {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}), ("b", {"type": "MAP", "key": "INT NOT NULL", "value": "STRING"})],
                      **AGGREGATION, **functions("a merge_map, b merge_map")),
    "nested_update": Kind("k INT NOT NULL", RETRACTS, key=["k"], nested=[("a", ITEMS), ("b", ITEMS)], **AGGREGATION, **functions("a nested_update, b nested_update"), **{
        "fields.a.nested-key": "id", "fields.a.count-limit": "3"}),
    "nested_partial_update": Kind("k INT NOT NULL", WRITES, key=["k"], nested=[("a", ITEMS)], **AGGREGATION, **functions("a nested_partial_update"), **{"fields.a.nested-key": "id"}),
}
# Without ignore-retract these cannot take a value back: reading must fail, in Java and in SQL
for function, kind in (("max", "INT"), ("min", "INT"), ("first_value", "STRING"), ("first_non_null_value", "STRING"), ("bool_and", "BOOLEAN"), ("bool_or", "BOOLEAN"), ("listagg", "STRING")):
    ENGINES["no_retract_" + function] = Kind("k INT NOT NULL; a " + kind, ["write", "deletes"], key=["k"], rows=1, keys=1, **AGGREGATION, **functions("a " + function), **{"write-only": "true"})


class Rows:
    """Random rows of a kind. Columns called q... can be divided by."""

    ITEM = {"x": ["1", "2", None], "y": ["why", None], "id": ["1", "2", "3"], "v": ["va", "vb", None], "w": ["5", None]}
    VALUES = {"BOOLEAN": ["true", "false"], "TINYINT": ["0", "1", "-3"], "SMALLINT": ["0", "7", "-9"], "INT": ["0", "1", "2", "3", "-5"], "BIGINT": ["0", "-1", "12", "3"],
              "FLOAT": ["1.5", "-0.25", "8.0"], "DOUBLE": ["0.5", "2.0", "-7.0"], "DECIMAL": ["1.25", "0.50", "-3.00", "2.00"], "STRING": ["a", "text", "ü€😀", "b"],
              "CHAR": ["a", "abc"], "DATE": ["2024-02-29", "1969-12-31"], "TIME": ["00:00:00.001", "23:59:59.999"], "TIMESTAMP": ["1969-12-31T23:59:59.999", "2024-02-29T12:34:56.123"],
              "BLOB": ["00ff", "61" * 200, ""]}

    FACTORS = {"INT": ["1", "2"], "BIGINT": ["-1", "4"], "DOUBLE": ["0.5", "2.0"], "DECIMAL": ["0.50", "2.00"]}

    def __init__(self, seed):
        self.random = Random(seed)

    def value(self, name, kind):
        if isinstance(kind, dict):
            if kind["type"] == "ROW":
                return [self.random.choice(self.ITEM[f["name"]]) for f in kind["fields"]]
            size = self.random.randint(0, 3)
            if kind["type"] == "ARRAY":
                return [self.value(name, kind["element"]) for _ in range(size)]
            return [[k, self.value(name, kind["value"])] for k in sorted({self.value(name, kind["key"]) for _ in range(size)})]
        if name == "o":
            return self.random.choice(["+I", "+U", "-D", "-U"])
        if name == "p":
            return self.random.choice(["a", "b:c=d", "ü %"])
        word = kind.split("(")[0].split()[0]
        return self.random.choice((self.FACTORS if name[0] == "q" else self.VALUES)[word])

    def rows(self, kind, columns, kinds=("+I",), only=None, constant=None):
        """k is drawn from the kind's keys; p from partitions, or is the only one; a constant is the value of all."""
        result = []
        for i in range(kind.rows):
            row = [self.random.choice(kinds)]
            for name, t in columns:
                null = "NOT NULL" not in t if isinstance(t, str) else True
                row.append(constant if constant else str(self.random.randrange(kind.keys)) if name == "k" else only if name == "p" and only
                           else None if null and name not in ("o", "p") and self.random.random() < 0.25 else self.value(name, t))
            result.append(row)
        return result
