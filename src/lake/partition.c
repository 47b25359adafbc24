/*
 * partition.c
 *		Where the files of a partition and bucket lie.
 *
 * The folder's text is only ever computed, never parsed: what a partition's
 * values are, the manifest says (format digest section 1).
 */
#include "postgres.h"

#include "columnar/value_text.h"
#include "lake/binary_row.h"
#include "lake/path.h"
#include "lake/table.h"

#define BUCKET_POSTPONED -2

/* Java's Character.isWhitespace beyond ASCII: no-break spaces are none. */
static bool
is_wide_space(const unsigned char *at, int left)
{
	if (left < 3)
		return false;
	if (at[0] == 0xE1)
		return at[1] == 0x9A && at[2] == 0x80;	/* U+1680 */
	if (at[0] == 0xE3)
		return at[1] == 0x80 && at[2] == 0x80;	/* U+3000 */
	if (at[0] != 0xE2)
		return false;
	if (at[1] == 0x81)
		return at[2] == 0x9F;	/* U+205F */
	/* U+2000 to U+200A without U+2007, U+2028, U+2029 */
	return at[1] == 0x80 &&
		((at[2] >= 0x80 && at[2] <= 0x8A && at[2] != 0x87) || at[2] == 0xA8 || at[2] == 0xA9);
}

static bool
is_blank(const char *text, int length)
{
	const unsigned char *at = (const unsigned char *) text;
	const unsigned char *end = at + length;

	while (at < end)
	{
		if (*at == ' ' || (*at >= 0x09 && *at <= 0x0D) || (*at >= 0x1C && *at <= 0x1F))
			at++;
		else if (is_wide_space(at, end - at))
			at += 3;
		else
			return false;
	}
	return true;
}

/* All that is escaped is ASCII, so bytes of UTF-8 do for Java's UTF-16 units. */
static void
append_escaped(StringInfo out, const char *text, int length)
{
	for (int i = 0; i < length; i++)
	{
		unsigned char c = (unsigned char) text[i];

		if (c < 0x20 || c == 0x7F || strchr("\"#%'*/:=?\\{}[]^", c) != NULL)
			appendStringInfo(out, "%%%02X", c);
		else
			appendStringInfoChar(out, (char) c);
	}
}

/* One value's text, or the default name when there is nothing to see in it. */
static void
append_value(StringInfo out, const LakeTable *table, int key, const Scalar *value, ValueTextStyle style)
{
	const DataField *field = &table->schema->fields[table->schema->partition_keys[key]];

	if (!value->isnull && !value_to_text(out, table->partition_types[key], value, style))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has a partition whose folder cannot be named", table->name),
				 errdetail("Column \"%s\" of type %s, with \"partition.legacy-name\" = '%s'.",
						   field->name, type_to_text(field->type),
						   table->options->partition_legacy_name ? "true" : "false")));
	if (is_blank(out->data, out->len))
	{
		resetStringInfo(out);
		appendStringInfoString(out, table->options->partition_default_name);
	}
}

/* "k=v/k=v", with values as folders are named or as casts print them, escaped or not; nothing for a table without partitions. */
static void
append_partition(StringInfo out, const LakeTable *table, BytesView partition, bool as_folder, bool escape)
{
	int			nkeys = table->schema->npartition_keys;
	/* Java names a folder by the time zone of the process that writes; here it is always UTC */
	ValueTextStyle style = as_folder && table->options->partition_legacy_name ? VALUE_TEXT_LEGACY : VALUE_TEXT_CAST_UTC;
	Scalar	   *values = (Scalar *) palloc(Max(nkeys, 1) * sizeof(Scalar));
	StringInfoData text;

	initStringInfo(&text);
	binary_row_deserialize(partition, table->partition_types, values, nkeys, "partition", table->name);
	for (int i = 0; i < nkeys; i++)
	{
		const char *name = table->schema->fields[table->schema->partition_keys[i]].name;

		resetStringInfo(&text);
		append_value(&text, table, i, &values[i], style);
		if (i > 0)
			appendStringInfoChar(out, '/');
		if (escape)
		{
			append_escaped(out, name, strlen(name));
			appendStringInfoChar(out, '=');
			append_escaped(out, text.data, text.len);
		}
		else
		{
			appendStringInfo(out, "%s=", name);
			appendBinaryStringInfo(out, text.data, text.len);
		}
	}
	pfree(text.data);
	pfree(values);
}

/* Option "data-file.path-directory", which must not lead out of the table's folder. */
static void
append_path_directory(StringInfo out, const LakeTable *table)
{
	char	   *copy = pstrdup(table->options->data_path_directory);
	char	   *rest = copy;
	char	   *step;

	while ((step = strsep(&rest, "/")) != NULL)
	{
		if (*step == '\0')
			continue;
		if (!path_step_is_safe(step))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"data-file.path-directory\" of table \"%s\" leads out of the table's folder",
							table->name)));
		appendStringInfo(out, "%s/", step);
	}
	pfree(copy);
}

/* Folder of a partition and bucket, without the table's location. */
char *
lake_bucket_directory(const LakeTable *table, BytesView partition, int32 bucket)
{
	StringInfoData out;

	initStringInfo(&out);
	if (table->options->data_path_directory != NULL)
		append_path_directory(&out, table);
	append_partition(&out, table, partition, true, true);
	if (table->schema->npartition_keys > 0)
		appendStringInfoChar(&out, '/');
	if (bucket == BUCKET_POSTPONED)
		appendStringInfoString(&out, "bucket-postpone");
	else
		appendStringInfo(&out, "bucket-%d", bucket);
	return out.data;
}

/* Full path of a data file.  It leads out of the table's own folder only if metadata says so. */
char *
lake_data_file_path(const LakeTable *table, BytesView partition, int32 bucket, const DataFileMeta *file)
{
	char	   *directory;
	char	   *path;

	if (file->external_path != NULL)
		return lake_external_path(table, file->external_path);
	if (!path_step_is_safe(file->file_name))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("metadata of table \"%s\" has an invalid file name \"%s\"",
						table->name, file->file_name)));
	directory = lake_bucket_directory(table, partition, bucket);
	path = psprintf("%s/%s/%s", table->location, directory, file->file_name);
	pfree(directory);
	return path;
}

/* "k=v/k=v" for messages and views. */
char *
lake_partition_text(const LakeTable *table, BytesView partition)
{
	StringInfoData out;

	initStringInfo(&out);
	append_partition(&out, table, partition, false, false);
	return out.data;
}

char *
lake_partition_spec(const LakeTable *table, BytesView partition)
{
	StringInfoData out;

	initStringInfo(&out);
	append_partition(&out, table, partition, true, false);
	return out.data;
}
