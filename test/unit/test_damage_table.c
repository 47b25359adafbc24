/*
 * test_damage_table.c
 *		Damaged files of whole tables, by Paimon's Java library: snapshots,
 *		schemas, manifest lists, manifests, index manifests, deletion vectors,
 *		file indexes; and the metadata of tables of ours.
 *
 * After each damage the table is opened, planned and read.  Data files have
 * tests of their own.
 */
#include "postgres.h"

#include "damage.h"
#include "lake/index_manifest.h"
#include "lake/read.h"
#include "lake/share.h"
#include "lake/snapshot.h"
#include "lake_fixture.h"
#include "storage/storage.h"

#define MAX_FIELDS 16
#define MAX_BATCHES 64
#define READERS 2

typedef struct DamagedTable
{
	const char *warehouse;
	const char *database;
	const char *name;
	const char *file;			/* that is damaged: its path */
} DamagedTable;

/* ---- reading a table ---- */

static Predicate *
random_filter(const LakeTable *table)
{
	static const PredicateOp ops[] = {PREDICATE_EQ, PREDICATE_LT, PREDICATE_GE, PREDICATE_NE};
	int			field = unit_random_below(table->schema->nfields);
	const DataType *type = table->schema->fields[field].type;
	Scalar	   *value = palloc(sizeof(Scalar));

	if (type_is_nested(type) || unit_random_below(4) == 0)
		return NULL;
	if (unit_random_below(4) == 0)
		return predicate_leaf(PREDICATE_IS_NULL, field, type, NULL, 0);
	while ((*value = unit_random_scalar(type)).isnull)
		;
	return predicate_leaf(ops[unit_random_below(lengthof(ops))], field, type, value, 1);
}

static void
read_splits(LakeTable *table, List *splits, const Predicate *filter)
{
	int			projection[MAX_FIELDS];
	int			nfields = Min(table->schema->nfields, MAX_FIELDS);
	TableReader *reader;

	for (int i = 0; i < nfields; i++)
		projection[i] = i;
	reader = table_reader_open(table, splits, projection, nfields, filter, NULL);
	for (int i = 0; i < MAX_BATCHES && table_reader_next(reader) != NULL; i++)
		;
	table_reader_close(reader);
}

static void
read_table(const DamagedTable *damaged)
{
	LakeTable  *table = lake_table_open(damaged->warehouse, damaged->database, damaged->name, false);
	ScanRequest request = {.snapshot = snapshot_load_latest(table->location)};
	List	   *splits;

	request.predicate = random_filter(table);
	splits = scan_plan(table, &request)->splits;
	if (unit_random_below(2))
		splits = share_splits(table, splits, READERS);
	read_splits(table, splits, request.predicate);
}

static void
read_damaged(BytesView bytes, void *arg)
{
	const DamagedTable *damaged = arg;

	storage_replace(damaged->file, bytes.data, bytes.length);
	read_table(damaged);
}

/* ---- its files ---- */

/* Damage a file in turn, put it back, and go on. */
static void
damage_file_of(DamagedTable *table, const char *file, int times)
{
	size_t		length;
	BytesView	sound = {.data = storage_read_whole(file, 0, false, &length)};

	sound.length = length;
	table->file = file;
	damage_read(file + strlen(table->warehouse) + 1, sound, times, read_damaged, table);
	storage_replace(file, sound.data, sound.length);
}

static void
damage_folder(DamagedTable *table, const char *location, const char *folder, const char *part, int times)
{
	const char *path = storage_join(location, folder);
	ListCell   *lc;

	foreach(lc, storage_list(path))
		if (strstr(lfirst(lc), part) != NULL)
			damage_file_of(table, storage_join(path, lfirst(lc)), times);
}

static void
damage_manifests(DamagedTable *table, const char *location, int times)
{
	LakeSnapshot *snapshot = snapshot_load_latest(location);
	const char *folder = storage_join(location, "manifest");
	List	   *names = list_make2(snapshot->base_manifest_list, snapshot->delta_manifest_list);
	List	   *manifests = list_concat(manifest_list_read(location, linitial(names), -1),
										manifest_list_read(location, lsecond(names), -1));
	ListCell   *lc;

	foreach(lc, manifests)
		names = lappend(names, ((ManifestFileMeta *) lfirst(lc))->file_name);
	if (snapshot->index_manifest != NULL)
		names = lappend(names, snapshot->index_manifest);
	foreach(lc, names)
		damage_file_of(table, storage_join(folder, lfirst(lc)), times);
}

static void
damage_table(DamagedTable *table, int times)
{
	char	   *location = lake_table_location(table->warehouse, table->database, table->name);

	for (int i = 0; i < 20; i++)
		read_table(table);
	damage_folder(table, location, "snapshot", psprintf("snapshot-%d", (int) snapshot_latest_id(location)), times);
	damage_folder(table, location, "snapshot", "LATEST", times / 4);
	damage_folder(table, location, "schema", "schema-", times);
	damage_manifests(table, location, times);
	damage_folder(table, location, "index", "index-", 4 * times);
	damage_folder(table, location, "bucket-0", ".index", 2 * times);
}

/* ---- tables of Java ---- */

static void
copy_folder(const char *from, const char *to)
{
	ListCell   *lc;

	foreach(lc, storage_list(from))
	{
		size_t		length;
		char	   *bytes = storage_read_whole(storage_join(from, lfirst(lc)), 0, false, &length);

		storage_replace(storage_join(to, lfirst(lc)), bytes, length);
	}
}

static void
damage_fixture(const char *database, const char *name, int times)
{
	static const char *const folders[] = {"schema", "snapshot", "manifest", "index", "bucket-0"};
	DamagedTable table = {.warehouse = unit_directory(), .database = database, .name = name};
	char	   *location = lake_table_location(table.warehouse, database, name);

	for (int i = 0; i < lengthof(folders); i++)
		copy_folder(storage_join(lake_table_location(FIXTURES, database, name), folders[i]),
					storage_join(location, folders[i]));
	damage_table(&table, times);
}

static void
test_deletion_vectors(void)
{
	damage_fixture("vectors", "keyed", 100);
	damage_fixture("vectors", "append", 100);
}

static void
test_file_indexes(void)
{
	damage_fixture("index", "range_bitmap", 100);
	damage_fixture("index", "all_kinds", 60);
}

static void
test_schemas(void)
{
	damage_fixture("evolve", "columns_parquet_pk", 60);
}

/* ---- tables of ours ---- */

static void
test_own_table(void)
{
	LakeTable  *table = fixture_key_table();
	DamagedTable damaged = {.warehouse = unit_directory(), .database = "db"};

	for (int i = 0; i < 4; i++)
		fixture_put(table, ROW_INSERT, i, i);
	damaged.name = strrchr(table->location, '/') + 1;
	damage_table(&damaged, 100);
}

int
main(void)
{
	unit_begin();
	RUN(test_deletion_vectors);
	RUN(test_file_indexes);
	RUN(test_schemas);
	RUN(test_own_table);
	return unit_end();
}
