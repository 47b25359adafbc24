/*
 * metadata.c
 *		Columns of a lake table that say of each row where it came from.
 */
#include "postgres.h"

#include "access/transam.h"
#include "lib/stringinfo.h"

#include "fdw/epoch.h"
#include "sync/metadata.h"

static const char *const names[METADATA_DELETED] = {
	[METADATA_KIND] = "kind",
	[METADATA_LSN] = "lsn",
	[METADATA_COMMIT_LSN] = "commit_lsn",
	[METADATA_COMMIT_TIME] = "commit_time",
	[METADATA_XID] = "xid",
	[METADATA_TABLE] = "table"
};

MetadataField
metadata_field_by_name(const char *name)
{
	int			field;

	for (field = 0; field < lengthof(names) && strcmp(names[field], name) != 0; field++)
		;
	return field < lengthof(names) ? field : METADATA_FIELDS;
}

char *
metadata_field_names(void)
{
	StringInfoData text;
	int			field;

	initStringInfo(&text);
	for (field = 0; field < lengthof(names); field++)
		appendStringInfo(&text, "%s\"%s\"", field > 0 ? ", " : "", names[field]);
	return text.data;
}

DataField
metadata_column(MetadataField field, const char *deleted_name)
{
	DataField	result = {.name = field == METADATA_DELETED ? pstrdup(deleted_name) : psprintf("_%s", names[field])};

	switch (field)
	{
		case METADATA_KIND:
		case METADATA_TABLE:
			result.type = type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true);
			break;
		case METADATA_DELETED:
			result.type = type_make(TYPE_BOOLEAN, 0, 0, true);
			break;
		case METADATA_COMMIT_TIME:
			result.type = type_make(TYPE_TIMESTAMP_LTZ, MAX_TIMESTAMP_PRECISION, 0, true);
			break;
		default:
			result.type = type_make(TYPE_BIGINT, 0, 0, true);
	}
	return result;
}

static void
set_text(Scalar *value, const char *text)
{
	value->v.bytes.data = text;
	value->v.bytes.length = strlen(text);
}

static void
describe_field(Scalar *value, MetadataField field, const RowOrigin *origin)
{
	memset(value, 0, sizeof(Scalar));
	switch (field)
	{
		case METADATA_KIND:
			set_text(value, origin->kind);
			break;
		case METADATA_LSN:
			value->v.i64 = (int64) origin->lsn;
			break;
		case METADATA_COMMIT_LSN:
			value->v.i64 = (int64) origin->commit_lsn;
			break;
		case METADATA_COMMIT_TIME:
			value->v.i64 = origin->commit_time + EPOCH_MICROS;
			value->isnull = origin->commit_time == 0;
			break;
		case METADATA_XID:
			value->v.i64 = origin->xid;
			value->isnull = !TransactionIdIsValid(origin->xid);
			break;
		case METADATA_TABLE:
			set_text(value, origin->table);
			break;
		case METADATA_DELETED:
			value->v.i8 = strcmp(origin->kind, "-D") == 0;
			break;
		case METADATA_FIELDS:
			elog(ERROR, "unexpected metadata field");
	}
}

void
metadata_describe(Scalar *row, const MetadataField *fields, int nfields, const RowOrigin *origin)
{
	int			i;

	for (i = 0; i < nfields; i++)
		describe_field(&row[i], fields[i], origin);
}
