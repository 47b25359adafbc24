"""Tables of the stress test, of every kind that a sync follows, and random values for their columns.

Rows come from generate_series as g(i): keys and values are expressions of g.i, so one row and thousands are made alike.
"""
import re

SETUP = """
CREATE EXTENSION streamhouse;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE DOMAIN short AS varchar(12);
"""

BIG = "big text, other text"


class Table:
    """name; columns of CREATE TABLE; keys: columns that find a row and their expressions; does: i(nsert) u(pdate) d(elete) m(ove to another key)
    t(runcate); ddl: "" none, "plain" nothing that needs another copy, "all"; where: the row filter; columns: the column list;
    lake: the lake table, when it is called otherwise, with a condition of the rows that are the table's"""

    def __init__(self, name, columns, keys, does="iudmt", after="", ddl="", where="", listed=None, kind="key", span=2000, lake=None):
        self.lake = lake or name
        self.name, self.keys, self.does, self.ddl, self.where, self.listed, self.kind, self.span = name, keys, does, ddl, where, listed, kind, span
        self.create = "CREATE TABLE %s (%s)" % (name, columns) + ("; " if not after.startswith(" ") else "") + after

    def key(self, i):
        return ", ".join(e.format(i=i) for e in self.keys.values())

    @property
    def key_columns(self):
        return ", ".join("%s.%s" % (self.name, k) for k in self.keys)


ID = {"id": "{i}"}
WIDE = ", ".join("c%d %s" % (n, ("int", "text", "numeric(12,2)", "timestamp", "double precision")[n % 5]) for n in range(60))
EVERY = """b boolean, si smallint, n int, bi bigint, f real, d double precision, n9 numeric(9,2), n38 numeric(38,10), nu numeric, c char(7), vc varchar(20),
	tx text, by bytea, da date, t3 time(3), t6 time, tz timetz, ts3 timestamp(3), ts6 timestamp, tt timestamptz, iv interval, u uuid, js json, jb jsonb, r4 int4range,
	ip inet, mo money, bt bit(8), xm xml, tv tsvector, pt point, o oid, ai int[], at text[]"""
OPEN = "v int, note text, half int NOT NULL, id int NOT NULL"
GROW = "id int PRIMARY KEY, a int, b varchar(10), c numeric(8,2), d real, e smallint"

SYNCS = {
    # name: (tables, options of the publication, arguments of create_sync)
    "keyed": ([
        Table("narrow", "id int PRIMARY KEY, v int", ID, span=5000),
        Table("wide", "id bigint PRIMARY KEY, " + WIDE, ID, span=300),
        Table("every", "id int PRIMARY KEY, " + EVERY, ID),
        Table("toasted", "id int PRIMARY KEY, v int, " + BIG, ID, "iudmt", "ALTER TABLE toasted ALTER big SET STORAGE EXTERNAL", span=400),
        Table("toasted_full", "id int PRIMARY KEY, v int, " + BIG, ID, "iudmt", "ALTER TABLE toasted_full REPLICA IDENTITY FULL", span=400),
        Table("by_index", "a int NOT NULL, s text NOT NULL, v int, " + BIG, {"a": "{i} % 40", "s": "'s' || {i} / 40"}, "iudmt",
              "CREATE UNIQUE INDEX by_index_key ON by_index (a, s); ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_key", span=400),
        Table("compound", "v int, day date, note text, a int, b text, PRIMARY KEY (b, a, day)",
              {"a": "{i} % 30", "b": "'k' || {i} / 30", "day": "(date '2024-01-01' + {i} % 7)"}),
        Table("big_rows", "id int PRIMARY KEY, v int, huge text, b bytea", ID, "iudm", span=30),
        Table("kinds", "id int PRIMARY KEY, m mood, p pair, po positive, sh short, a int[], aa text[], j jsonb, ma mood[]", ID),
        Table("uuids", "id uuid PRIMARY KEY, v int, tx text", {"id": "md5(({i})::text)::uuid"}),
        Table("texts", "id text PRIMARY KEY, v int, tx text", {"id": "'käy ' || {i}"}),
    ], "", "flush_interval => '150 ms', options => '{\"snapshot.num-retained.max\": \"8\", \"snapshot.num-retained.min\": \"2\"}'"),
    "evolving": ([
        Table("grows", GROW, ID, ddl="plain", span=500),
        Table("grows_anew", GROW + ", big text", ID, "iudm", ddl="all", span=500),
        Table("grows_parts", "id int PRIMARY KEY, a int, b text", ID, "iudm",
              " PARTITION BY RANGE (id); CREATE TABLE grows_parts_1 PARTITION OF grows_parts FOR VALUES FROM (0) TO (200);"
              "CREATE TABLE grows_parts_2 PARTITION OF grows_parts DEFAULT", ddl="plain", span=500),
    ], "publish_via_partition_root", "flush_interval => '100 ms', options => '{\"bucket\": \"2\", \"snapshot.num-retained.max\": \"10\"}'"),
    "filtered": ([
        Table("sale", OPEN + ", open boolean, PRIMARY KEY (id, half)", {"id": "{i}", "half": "{i} % 2"}, "iudm",
              " PARTITION BY LIST (half); CREATE TABLE sale_0 PARTITION OF sale FOR VALUES IN (0); CREATE TABLE sale_1 (open boolean, extra int, " + OPEN + ");"
              "ALTER TABLE sale_1 DROP COLUMN extra; ALTER TABLE sale ATTACH PARTITION sale_1 FOR VALUES IN (1); ALTER TABLE sale REPLICA IDENTITY FULL;"
              "ALTER TABLE sale_0 REPLICA IDENTITY FULL; ALTER TABLE sale_1 REPLICA IDENTITY FULL", where="(open)"),
        Table("ids", "id int PRIMARY KEY, v int", ID, "iudm", where="(id % 3 > 0)"),
        Table("wanted", "id int PRIMARY KEY, v int, big text, other text", ID, "iudm", "ALTER TABLE wanted REPLICA IDENTITY FULL", where="(v > 0)", span=400),
        Table("listed", "id int PRIMARY KEY, a int, secret text, big text", ID, listed=["id", "a", "big"], span=400),
    ], "publish_via_partition_root", "flush_interval => '200 ms', options => '{\"bucket\": \"2\", \"snapshot.num-retained.max\": \"10\"}'"),
    "kept": ([
        Table("soft", "id int PRIMARY KEY, v int, " + BIG, ID, "iudmt", span=400, lake="soft WHERE NOT gone"),
        Table("soft_full", "a int, v int, id int PRIMARY KEY", ID, "iudm", "ALTER TABLE soft_full REPLICA IDENTITY FULL", lake="soft_full WHERE NOT gone"),
    ], "", "flush_interval => '130 ms', tables => '[{\"source\": \".*\", \"soft_delete\": \"gone\", \"metadata\": [\"xid\"]}]', "
        "options => '{\"snapshot.num-retained.max\": \"12\"}'"),
    "together": ([
        Table("share_%s" % n, "id int PRIMARY KEY, v int, tx text, " + BIG, ID, "iudmt", span=400, lake="share WHERE part = '%s'" % n) for n in "ab"
    ], "", "flush_interval => '110 ms', tables => '[{\"source\": \"public.share_(.)\", \"table\": \"share\", \"shard\": {\"part\": \"\\\\1\"}}]', "
        "options => '{\"snapshot.num-retained.max\": \"12\"}'"),
    "appended": ([
        Table("journal", "n int, tx text, at timestamptz", {"n": "{i}"}, "i", kind="append"),
        Table("headless", "id bigserial PRIMARY KEY, n int, tx text", {"n": "{i}"}, "i", kind="append", listed=["n", "tx"]),
    ], "publish = 'insert'", "flush_interval => '100 ms', options => '{\"snapshot.num-retained.max\": \"10\"}'"),
    "changes": ([
        Table("event", "n int, tx text, b bytea", {"n": "{i}"}, "iudt", "ALTER TABLE event REPLICA IDENTITY FULL", kind="history"),
        Table("event_full", "id int PRIMARY KEY, v int, " + BIG, ID, "iudmt", "ALTER TABLE event_full REPLICA IDENTITY FULL", ddl="history", kind="history", span=400),
    ], "", "history => true, flush_interval => '120 ms', options => '{\"snapshot.num-retained.max\": \"15\"}'"),
}

PICKS = {
    "boolean": ["true", "false"],
    "time(3) without time zone": ["'00:00:00'", "'23:59:59.999'", "'12:34:56.7'"],
    "time without time zone": ["'00:00:00'", "'23:59:59.999999'", "'12:34:56.7'"],
    "time with time zone": ["'00:00:00+00'", "'23:59:59.999999-11:30'"],
    "interval": ["'1 year 2 months -3 days 04:05:06.7'", "'0'", "'-1 microsecond'"],
    "json": ["'{\"a\" : 1, \"a\": [null, \"ü\"]}'", "'[]'", "'\"x\"'"],
    "jsonb": ["'{\"a\": 1, \"b\": [null, \"ü\"]}'", "'{}'", "'1.50'"],
    "int4range": ["'empty'", "'[1,5)'", "'(,)'"],
    "inet": ["'10.0.0.1/8'", "'::1'"],
    "money": ["'12.34'", "'-0.01'"],
    "bit(8)": ["'10101010'", "'00000000'"],
    "xml": ["'<a>1</a>'", "'<b/>'"],
    "tsvector": ["'a:1 b:2'", "''"],
    "point": ["'(1,2)'", "'(-0.5,1e10)'"],
    "integer[]": ["'{}'", "'{1,NULL,3}'", "'{2147483647}'"],
    "text[]": ["'{}'", "'{a,NULL,\"\"}'", "'{\"ü, x\"}'"],
    "mood": ["'sad'", "'ok'", "'happy'"],
    "mood[]": ["'{}'", "'{sad,NULL}'"],
    "pair": ["'(1,x)'", "'(,\"a b\")'"],
    "positive": ["1", "2147483647"],
    "short": ["''", "'twelve chars'"],
    "real": ["0", "'NaN'", "'-Infinity'", "1.5", "3.4e38", "-1e-30"],
    "double precision": ["0", "'NaN'", "'Infinity'", "0.1", "1.7e308", "-1e-300"],
    "numeric": ["'NaN'", "1e30", "-0.000000000000000000000000000000000000000001", "'Infinity'", "12"],
    "character(7)": ["'a'", "'seven77'", "''", "'ü'"],
}

# What follows in the lake without another copy.
WIDER = [
    (r"smallint$", "integer"), (r"integer$", "bigint"), (r"real$", "double precision"), (r"numeric\(8,2\)", "numeric(12,4)"), (r"numeric\(12,4\)", "numeric(30,6)"),
    (r"character varying\(10\)", "varchar(20)"), (r"character varying\(20\)", "text"), (r"timestamp\(3\) without time zone", "timestamp"),
]
NEW_TYPES = ["int", "smallint", "bigint", "text", "varchar(10)", "numeric(8,2)", "real", "timestamp(3)", "jsonb", "int[]", "boolean", "uuid"]


def value(column, kind, random):
    """A random expression of g.i for a column of a type."""
    s = random.randrange(100000)
    number = "((g.i * 7919::bigint + %d) %% 20011 - 10000)" % s
    text = re.sub(r"\(.*", "", kind)
    if column == "huge":
        e = "(SELECT string_agg(md5((g.i + %d + k)::text), '') FROM generate_series(1, 3000) k)" % s
    elif column == "big":
        e = "repeat(md5((g.i + %d)::text), CASE WHEN g.i %% 2 = 0 THEN 1 ELSE %d END)" % (s, random.choice([80, 100, 300]))
    elif kind in PICKS:
        e = "(ARRAY[%s]%s)[1 + (g.i + %d) %% %d]" % (", ".join("%s::%s" % (v, kind) for v in PICKS[kind]), "", s, len(PICKS[kind])) if not kind.endswith("[]") else \
            "CASE (g.i + %d) %% %d %s END" % (s, len(PICKS[kind]), " ".join("WHEN %d THEN %s::%s" % (n, v, kind) for n, v in enumerate(PICKS[kind])))
    elif kind in ("smallint", "integer", "bigint"):
        limit = {"smallint": 32767, "integer": 2147483647, "bigint": 9223372036854775807}[kind]
        e = random.choice([number, number, "CASE WHEN g.i %% 2 = 0 THEN %d ELSE -%d END" % (limit, limit)])
    elif text == "numeric":
        digits, scale = map(int, re.findall(r"\d+", kind))
        e = "(%s / 100.0)" % number if random.random() < 0.7 else "9" * (digits - scale) + "." + "9" * scale
    elif text in ("text", "character varying"):
        e = "left(%s || g.i, %s)" % (random.choice(["''", "'数据 '", "'%x'" % s]), (re.findall(r"\d+", kind) or ["100"])[0])
    elif text == "bytea":
        e = "decode(md5((g.i + %d)::text), 'hex')" % s
    elif kind == "date":
        e = "date '1900-01-01' + ((g.i + %d) %% 100000)" % s
    elif text.startswith("timestamp"):
        e = "timestamp%s '%s' + (g.i + %d) * interval '1 second 1 microsecond'" % ("tz" if "with time zone" in kind else "", random.choice(["1969-12-31", "2024-02-28", "1900-01-01"]), s)
    elif kind == "uuid":
        e = "md5((g.i - %d)::text)::uuid" % s
    elif kind == "oid":
        e = "(%s + 10000)::oid" % number
    else:
        raise ValueError("no values of type %s" % kind)
    return "CASE WHEN (g.i + %d) %% 11 > 0 THEN %s END" % (s, e)
