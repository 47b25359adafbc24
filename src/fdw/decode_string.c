/*
 * decode_string.c
 *		Strings of a batch become Datums: text, bytea, character(n).
 *
 * Files may hold anything: what reaches SQL functions must be valid text.
 * Most of it is ASCII, which is seen while it is copied.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "compat.h"
#include "fdw/decode.h"

#define ONE_IN_EACH_BYTE UINT64CONST(0x0101010101010101)
#define HIGH_BIT_OF_EACH_BYTE UINT64CONST(0x8080808080808080)

/* ---- is it text? ---- */

static pg_noinline void
string_invalid(const ColumnDecoder *decoder, BytesView bytes)
{
	if (memchr(bytes.data, 0, bytes.length) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("value of column \"%s\" of table \"%s\" contains the character U+0000, which SQL cannot hold",
						decoder->column, decoder->table)));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("value of column \"%s\" of table \"%s\" is not valid UTF-8", decoder->column, decoder->table)));
}

static inline bool
is_valid_string(BytesView bytes)
{
	return pg_verify_mbstr(PG_UTF8, bytes.data, (int) Min(bytes.length, PG_INT32_MAX), true);
}

void
decode_check_string(const ColumnDecoder *decoder, BytesView bytes)
{
	if (!is_valid_string(bytes))
		string_invalid(decoder, bytes);
}

/* Are all values of a dictionary valid, also those that no row has? */
bool
decode_dictionary_is_valid(const Vector *vector)
{
	int			i;

	for (i = 0; i < vector->dictionary_size; i++)
	{
		if (!is_valid_string(vector->dictionary[i]))
			return false;
	}
	return true;
}

/* Copy eight bytes; the result has a high bit unless all are ASCII, and none is zero. */
static inline uint64
copy_word(char *to, const char *from)
{
	uint64		word;

	memcpy(&word, from, sizeof(word));
	memcpy(to, &word, sizeof(word));
	return word | (word - ONE_IN_EACH_BYTE);
}

/* Copy a string and say whether it is text for sure, being ASCII.  The last word may overlap the one before it. */
static inline bool
copy_ascii(char *to, const char *from, uint32 length)
{
	uint64		found = 0;
	uint32		i;

	if (length < sizeof(uint64))
	{
		for (i = 0; i < length; i++)
		{
			found |= (uint8) from[i] | ((uint64) (uint8) from[i] - 1);
			to[i] = from[i];
		}
	}
	else
	{
		for (i = 0; i + sizeof(uint64) < length; i += sizeof(uint64))
			found |= copy_word(to + i, from + i);
		found |= copy_word(to + length - sizeof(uint64), from + length - sizeof(uint64));
	}
	return (found & HIGH_BIT_OF_EACH_BYTE) == 0;
}

/* ---- varlenas ---- */

/* Bytes of the varlena that holds a value, up to where the next may begin. */
static inline Size
varlena_room(const ColumnDecoder *decoder, uint32 length)
{
	if (length > MaxAllocSize - VARHDRSZ)
		decode_too_long(decoder);
	return INTALIGN(VARHDRSZ + (Size) length);
}

/* is_text: it must be text for SQL. */
static inline char *
put_string(const ColumnDecoder *decoder, char *place, BytesView bytes, bool is_text, Datum *value)
{
	SET_VARSIZE(place, VARHDRSZ + bytes.length);
	if (!is_text)
		memcpy(VARDATA(place), bytes.data, bytes.length);
	else if (!copy_ascii(VARDATA(place), bytes.data, bytes.length))
		decode_check_string(decoder, bytes);
	*value = PointerGetDatum(place);
	return place + INTALIGN(VARHDRSZ + (Size) bytes.length);
}

static void
copy_strings(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, bool is_text,
			 Datum *values)
{
	Size		total = 0;
	char	   *place;
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
		total += varlena_room(decoder, vector_bytes(vector, r).length);

	place = MemoryContextAllocHuge(CurrentMemoryContext, total);
	FOR_EACH_VALUE(i, r)
		place = put_string(decoder, place, vector_bytes(vector, r), is_text, &values[i]);
}

Datum *
decode_dictionary_entries(const ColumnDecoder *decoder, const Vector *vector)
{
	Datum	   *entries = palloc((Size) vector->dictionary_size * sizeof(Datum));
	Size		total = 0;
	char	   *place;
	int			i;

	for (i = 0; i < vector->dictionary_size; i++)
		total += varlena_room(decoder, vector->dictionary[i].length);

	place = MemoryContextAllocHuge(CurrentMemoryContext, total);
	for (i = 0; i < vector->dictionary_size; i++)
		place = put_string(decoder, place, vector->dictionary[i], false, &entries[i]);
	return entries;
}

/* Rows share the dictionary's entries; if there are none, all rows are null. */
static void
decode_codes(const Vector *vector, const Datum *entries, const int32 *rows, int nrows, Datum *values)
{
	const int32 *codes = vector->codes;

#define ENTRY(code) (entries[code])
	if (vector->dictionary_size > 0)
		CONVERT_ROWS(codes, ENTRY);
#undef ENTRY
}

static void
decode_strings(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, bool is_text,
			   Datum *values)
{
	const Datum *entries = decode_kept_entries(decoder, vector, nrows, is_text);

	if (entries == NULL && vector->codes != NULL && vector->dictionary_size <= nrows &&
		(!is_text || decode_dictionary_is_valid(vector)))
		entries = decode_dictionary_entries(decoder, vector);
	if (entries != NULL)
		decode_codes(vector, entries, rows, nrows, values);
	else
		copy_strings(decoder, vector, rows, nrows, is_text, values);
}

/* ---- the types ---- */

static void
decode_text(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	decode_strings(decoder, vector, rows, nrows, true, values);
}

static void
decode_bytes(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	decode_strings(decoder, vector, rows, nrows, false, values);
}

/* character(n): the lake's value has no blanks at the end, SQL's is full of them. */
static void
decode_character(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	int			characters = decoder->typmod - VARHDRSZ;
	int			i;
	int			r;

	FOR_EACH_VALUE(i, r)
	{
		BytesView	bytes = vector_bytes(vector, r);
		Size		room = varlena_room(decoder, bytes.length);
		int			blanks;
		char	   *place;

		decode_check_string(decoder, bytes);
		blanks = Max(characters - pg_mbstrlen_with_len(bytes.data, bytes.length), 0);
		if (decoder->strict && bytes.length > 0 && bytes.data[bytes.length - 1] == ' ')
			decode_would_change(decoder, "blanks at the end");
		place = palloc(room + blanks);
		put_string(decoder, place, bytes, false, &values[i]);
		SET_VARSIZE(place, VARHDRSZ + bytes.length + blanks);
		memset(VARDATA(place) + bytes.length, ' ', blanks);
	}
}

void
decode_require_encoding(const ColumnDecoder *decoder)
{
	if (GetDatabaseEncoding() != PG_UTF8)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read column \"%s\" of table \"%s\" in a database with encoding \"%s\"",
						decoder->column, decoder->table, GetDatabaseEncodingName()),
				 errhint("Use a database with encoding UTF8.")));
}

DecodeFunction
decoder_of_string(const ColumnDecoder *decoder, Oid typid)
{
	if (decoder->type->root != TYPE_CHAR && decoder->type->root != TYPE_VARCHAR)
		return decode_bytes;
	decode_require_encoding(decoder);
	return typid == BPCHAROID && decoder->typmod >= (int32) VARHDRSZ ? decode_character : decode_text;
}
