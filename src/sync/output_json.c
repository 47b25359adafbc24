/*
 * output_json.c
 *		Each message is a JSON object on one line.
 *
 * Values are what to_json makes of them: numbers and booleans as such, json
 * as it is, arrays and composites as arrays and objects, times in ISO form (with
 * time zone UTC), and others as text.  The layout of wal2json has its own rules.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "sync/decoded_row.h"
#include "sync/output.h"

typedef enum JsonValueKind
{
	JSON_VALUE_NUMBER,			/* unless it is NaN or infinite */
	JSON_VALUE_BOOLEAN,
	JSON_VALUE_JSON,
	JSON_VALUE_ARRAY,
	JSON_VALUE_COMPOSITE,
	JSON_VALUE_TIME,			/* date, timestamp, timestamptz */
	JSON_VALUE_BYTES,
	JSON_VALUE_TEXT
} JsonValueKind;

typedef struct JsonColumn
{
	bool		published;
	bool		identity;
	char	   *name;			/* as JSON */
	char	   *type;			/* as JSON */
	JsonValueKind kind;
	Oid			base_type;
	FmgrInfo	output;
} JsonColumn;

/* ---- values ---- */

static JsonValueKind
kind_of_type(Oid base_type)
{
	switch (base_type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return JSON_VALUE_NUMBER;
		case BOOLOID:
			return JSON_VALUE_BOOLEAN;
		case JSONOID:
		case JSONBOID:
			return JSON_VALUE_JSON;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return JSON_VALUE_TIME;
		case BYTEAOID:
			return JSON_VALUE_BYTES;
		default:
			if (type_is_rowtype(base_type))
				return JSON_VALUE_COMPOSITE;
			return type_is_array(base_type) && get_array_type(get_element_type(base_type)) == base_type ? JSON_VALUE_ARRAY :
				JSON_VALUE_TEXT;
	}
}

/* JSON on one line: line ends occur between its tokens only. */
static void
append_json(StringInfo out, const char *json)
{
	int			start = out->len;
	int			i;

	appendStringInfoString(out, json);
	for (i = start; i < out->len; i++)
	{
		if (out->data[i] == '\n' || out->data[i] == '\r')
			out->data[i] = ' ';
	}
}

static bool
is_finite_number(const char *text)
{
	return strspn(text, "+-.0123456789eE") == strlen(text);
}

static void
append_time(StringInfo out, Datum value, Oid type)
{
	const int	utc = 0;
	char		text[MAXDATELEN + 1];

	appendStringInfo(out, "\"%s\"", JsonEncodeDateTime(text, value, type, &utc));
}

/* As to_json does. */
static void
append_value(StringInfo out, JsonColumn *column, Datum value)
{
	const char *printed;

	switch (column->kind)
	{
		case JSON_VALUE_BOOLEAN:
			appendStringInfoString(out, DatumGetBool(value) ? "true" : "false");
			return;
		case JSON_VALUE_TIME:
			append_time(out, value, column->base_type);
			return;
		case JSON_VALUE_ARRAY:
			append_json(out, TextDatumGetCString(DirectFunctionCall1(array_to_json, value)));
			return;
		case JSON_VALUE_COMPOSITE:
			append_json(out, TextDatumGetCString(DirectFunctionCall1(row_to_json, value)));
			return;
		default:
			break;
	}
	printed = OutputFunctionCall(&column->output, value);
	if (column->kind == JSON_VALUE_JSON)
		append_json(out, printed);
	else if (column->kind == JSON_VALUE_NUMBER && is_finite_number(printed))
		appendStringInfoString(out, printed);
	else
		escape_json(out, printed);
}

/* As wal2json does: text but for numbers and booleans, and no number that is not finite. */
static void
append_plain_value(StringInfo out, JsonColumn *column, Datum value)
{
	const char *text = OutputFunctionCall(&column->output, value);

	if (column->kind == JSON_VALUE_BOOLEAN)
		appendStringInfoString(out, DatumGetBool(value) ? "true" : "false");
	else if (column->kind == JSON_VALUE_NUMBER)
		appendStringInfoString(out, is_finite_number(text) ? text : "null");
	else if (column->kind == JSON_VALUE_BYTES && strncmp(text, "\\x", 2) == 0)
		escape_json(out, text + 2);
	else
		escape_json(out, text);
}

/* ---- rows ---- */

static char *
as_json(const char *text)
{
	StringInfoData json;

	initStringInfo(&json);
	escape_json(&json, text);
	return json.data;
}

static void
describe_column(JsonColumn *column, const OutputRelation *target, Form_pg_attribute attribute)
{
	Oid			output;
	bool		varlena;

	column->published = !attribute->attisdropped && bms_is_member(attribute->attnum, target->columns);
	if (!column->published)
		return;
	column->identity = bms_is_member(attribute->attnum, target->identity);
	column->name = as_json(NameStr(attribute->attname));
	column->type = as_json(format_type_with_typemod(attribute->atttypid, attribute->atttypmod));
	column->base_type = getBaseType(attribute->atttypid);
	column->kind = kind_of_type(column->base_type);
	getTypeOutputInfo(attribute->atttypid, &output, &varlena);
	fmgr_info_cxt(output, &column->output, CurrentMemoryContext);
}

static JsonColumn *
columns_of(OutputRelation *target, TupleDesc desc)
{
	MemoryContext old;
	JsonColumn *columns = target->format_data;
	int			i;

	if (columns != NULL)
		return columns;
	old = MemoryContextSwitchTo(target->context);
	columns = palloc0(sizeof(JsonColumn) * Max(desc->natts, 1));
	for (i = 0; i < desc->natts; i++)
		describe_column(&columns[i], target, TupleDescAttr(desc, i));
	target->format_data = columns;
	MemoryContextSwitchTo(old);
	return columns;
}

static void
append_member(const OutputState *state, StringInfo out, JsonColumn *column, const TupleTableSlot *row, int i)
{
	bool		isnull = row->tts_isnull[i];

	if (state->options.arrays)
	{
		appendStringInfo(out, "{\"name\":%s,\"type\":%s", column->name, column->type);
		appendStringInfoString(out, ",\"value\":");
		if (isnull)
			appendStringInfoString(out, "null");
		else
			append_plain_value(out, column, row->tts_values[i]);
		appendStringInfoChar(out, '}');
		return;
	}
	appendStringInfo(out, "%s:", column->name);
	if (isnull)
		appendStringInfoString(out, "null");
	else
		append_value(out, column, row->tts_values[i]);
}

/* Those columns of a row that are known: of the identity, or all. */
static void
append_row(const OutputState *state, StringInfo out, const char *name, JsonColumn *columns, const TupleTableSlot *row,
		   bool identity)
{
	bool		first = true;
	int			i;

	appendStringInfo(out, ",\"%s\":%c", name, state->options.arrays ? '[' : '{');
	for (i = 0; i < row->tts_tupleDescriptor->natts; i++)
	{
		if (!columns[i].published || (identity && !columns[i].identity) || decoded_value_is_out_of_reach(row, i))
			continue;
		if (!first)
			appendStringInfoChar(out, ',');
		first = false;
		append_member(state, out, &columns[i], row, i);
	}
	appendStringInfoChar(out, state->options.arrays ? ']' : '}');
}

/* Names of columns whose value the update left as it is, and the WAL does not have. */
static void
append_unchanged(StringInfo out, const JsonColumn *columns, const TupleTableSlot *row)
{
	bool		any = false;
	int			i;

	for (i = 0; i < row->tts_tupleDescriptor->natts; i++)
	{
		if (!columns[i].published || !decoded_value_is_out_of_reach(row, i))
			continue;
		appendStringInfo(out, "%s%s", any ? "," : ",\"unchanged\":[", columns[i].name);
		any = true;
	}
	if (any)
		appendStringInfoChar(out, ']');
}

static void
append_types(StringInfo out, const JsonColumn *columns, int ncolumns)
{
	bool		first = true;
	int			i;

	appendStringInfoString(out, ",\"types\":{");
	for (i = 0; i < ncolumns; i++)
	{
		if (!columns[i].published)
			continue;
		appendStringInfo(out, "%s%s:%s", first ? "" : ",", columns[i].name, columns[i].type);
		first = false;
	}
	appendStringInfoChar(out, '}');
}

/* ---- messages ---- */

static void
append_lsn(const OutputState *state, StringInfo out, XLogRecPtr lsn)
{
	if (state->options.include_lsn && lsn != InvalidXLogRecPtr)
		appendStringInfo(out, ",\"lsn\":\"%X/%X\"", LSN_FORMAT_ARGS(lsn));
}

static void
append_head(const OutputState *state, StringInfo out, char action, TransactionId xid, XLogRecPtr lsn)
{
	appendStringInfo(out, "{\"action\":\"%c\"", action);
	if ((state->options.include_xids || state->in_stream) && TransactionIdIsValid(xid))
		appendStringInfo(out, ",\"xid\":%u", xid);
	append_lsn(state, out, lsn);
}

static void
append_relation(StringInfo out, const OutputRelation *target)
{
	appendStringInfoString(out, ",\"schema\":");
	escape_json(out, target->schema);
	appendStringInfoString(out, ",\"table\":");
	escape_json(out, target->table);
}

static void
json_event(const OutputState *state, StringInfo out, const OutputEvent *event)
{
	appendStringInfo(out, "{\"action\":\"%c\"", event->action);
	if (state->options.include_xids || strchr("SEAcp", event->action) != NULL)
		appendStringInfo(out, ",\"xid\":%u", event->xid);
	if (event->action == 'A' && event->subxid != event->xid)
		appendStringInfo(out, ",\"subxid\":%u", event->subxid);
	append_lsn(state, out, event->lsn);
	if (event->transaction->gid && strchr("bPKrp", event->action) != NULL)
	{
		appendStringInfoString(out, ",\"gid\":");
		escape_json(out, event->transaction->gid);
	}
	if (state->options.include_time && event->time != 0)
	{
		appendStringInfoString(out, ",\"timestamp\":");
		append_time(out, TimestampTzGetDatum(event->time), TIMESTAMPTZOID);
	}
	appendStringInfoChar(out, '}');
}

static void
json_row(const OutputState *state, StringInfo out, OutputRelation *target, Relation relation, const OutputRow *row)
{
	JsonColumn *columns = columns_of(target, RelationGetDescr(relation));

	append_head(state, out, row->action, row->xid, row->lsn);
	append_relation(out, target);
	if (state->options.arrays)
	{
		/* an update always says which row it is of */
		if (row->new_row)
			append_row(state, out, "columns", columns, row->new_row, false);
		if (row->old_row || row->action == 'U')
			append_row(state, out, "identity", columns, row->old_row ? row->old_row : row->new_row, true);
	}
	else
	{
		if (row->old_row)
			append_row(state, out, "old", columns, row->old_row, true);
		if (row->new_row)
		{
			append_row(state, out, "new", columns, row->new_row, false);
			append_unchanged(out, columns, row->new_row);
		}
		if (state->options.include_types)
			append_types(out, columns, RelationGetDescr(relation)->natts);
	}
	appendStringInfoChar(out, '}');
}

static void
json_truncate(const OutputState *state, StringInfo out, const OutputTruncate *truncate)
{
	append_head(state, out, 'T', truncate->xid, truncate->lsn);
	append_relation(out, truncate->targets[0]);
	if (!state->options.arrays)
		appendStringInfo(out, ",\"cascade\":%s,\"restart_identity\":%s", truncate->cascade ? "true" : "false",
						 truncate->restart_identity ? "true" : "false");
	appendStringInfoChar(out, '}');
}

static void
json_message(const OutputState *state, StringInfo out, const OutputMessage *message)
{
	append_head(state, out, 'M', message->xid, message->lsn);
	appendStringInfo(out, ",\"transactional\":%s,\"prefix\":", message->transactional ? "true" : "false");
	escape_json(out, message->prefix);
	if (pg_verifymbstr(message->content, message->size, true))
	{
		appendStringInfoString(out, ",\"content\":");
		escape_json(out, pnstrdup(message->content, message->size));
	}
	else
	{
		char	   *hex = palloc(message->size * 2 + 1);

		hex[hex_encode(message->content, message->size, hex)] = '\0';
		appendStringInfo(out, ",\"content_hex\":\"%s\"", hex);
	}
	appendStringInfoChar(out, '}');
}

const OutputFormat output_json = {
	.one_by_one = true,
	.event = json_event,
	.row = json_row,
	.truncate = json_truncate,
	.message = json_message
};
