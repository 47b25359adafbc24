/*
 * test_variant.c
 *		The binary form of VARIANT: known bytes, random values, damage.
 */
#include "unit.h"

#include "columnar/variant.h"

static VariantMetadata
no_names(void)
{
	VariantMetadata metadata;

	CHECK(variant_read_metadata(unit_hex("01 00 00"), &metadata));
	return metadata;
}

static VariantValue
read_hex(const char *digits)
{
	VariantValue value;

	CHECK(variant_read(unit_hex(digits), &value));
	return value;
}

static void
test_primitives(void)
{
	VariantValue value;

	CHECK_INT(read_hex("00").kind, VARIANT_NULL);
	CHECK_INT(read_hex("04").integer, 1);
	CHECK_INT(read_hex("08").integer, 0);
	CHECK_INT(read_hex("08").kind, VARIANT_BOOLEAN);
	CHECK_INT(read_hex("0c ff").integer, -1);
	CHECK_INT(read_hex("10 00 80").integer, -32768);
	CHECK_INT(read_hex("14 ffffff7f").integer, PG_INT32_MAX);
	CHECK_INT(read_hex("18 0000000000000080").integer, PG_INT64_MIN);
	CHECK(read_hex("1c 000000000000f83f").number == 1.5);
	CHECK(read_hex("38 0000c03f").number == 1.5);
	value = read_hex("20 02 85ffffff");
	CHECK(value.kind == VARIANT_DECIMAL && value.scale == 2 && value.unscaled == -123);
	value = read_hex("28 26 ffffffffffffffffffffffffffffffff");
	CHECK(value.scale == 38 && value.unscaled == -1);
	CHECK_INT(read_hex("2c 01000000").integer, 1);
	CHECK_INT(read_hex("30 0100000000000000").kind, VARIANT_TIMESTAMP_LTZ);
	CHECK_INT(read_hex("34 0100000000000000").kind, VARIANT_TIMESTAMP);
	CHECK(read_hex("4c 0100000000000000").is_nanos);
	CHECK_BYTES(read_hex("3c 02000000 00ff").bytes, unit_hex("00ff"));
	CHECK_BYTES(read_hex("40 02000000 6869").bytes, unit_bytes("hi"));
	CHECK_BYTES(read_hex("09 6869").bytes, unit_bytes("hi"));
	CHECK_INT(read_hex("09 6869 0000").size, 3);
	CHECK_INT(read_hex("50 000102030405060708090a0b0c0d0e0f").bytes.length, 16);
}

/* {"a": 1, "b": [true, null]} as other writers make it: names not sorted, members not either. */
static void
test_containers(void)
{
	VariantMetadata metadata;
	VariantValue object = read_hex("02 02 01 00 07 00 09 03020001020400 0c01");
	VariantValue member;
	BytesView	name;

	CHECK(variant_read_metadata(unit_hex("01 02 00 01 02 6261"), &metadata));
	CHECK_INT(object.kind, VARIANT_OBJECT);
	CHECK_INT(object.count, 2);
	CHECK(variant_member(&object, &metadata, 0, &name, &member));
	CHECK_BYTES(name, unit_bytes("a"));
	CHECK_INT(member.integer, 1);
	CHECK(variant_member(&object, &metadata, 1, &name, &member));
	CHECK_BYTES(name, unit_bytes("b"));
	CHECK(member.kind == VARIANT_ARRAY && member.count == 2);
}

static void
test_damage(void)
{
	static const char *const damaged[] = {
		"", "0c", "10 00", "18 00000000000000", "54", "fc", "20 27 00000000", "40 03000000 6869", "0d 6869",
		"40 ffffffff 6869", "03 01", "03 01 00", "03 01 00 02 00", "13 ffffffff 00", "02 01 00 00", "02 ff",
	};
	VariantMetadata metadata = no_names();
	VariantValue value;
	VariantValue member;
	BytesView	name;

	for (int i = 0; i < lengthof(damaged); i++)
		CHECK_MESSAGE(!variant_read(unit_hex(damaged[i]), &value), "%s is read", damaged[i]);
	CHECK(!variant_read_metadata(unit_hex(""), &metadata));
	CHECK(!variant_read_metadata(unit_hex("02 00 00"), &metadata));
	CHECK(!variant_read_metadata(unit_hex("01 02 00 01"), &metadata));
	CHECK(!variant_read_metadata(unit_hex("c1 ffffffff 00"), &metadata));

	/* two members that are one, a member outside, a name that is not there */
	metadata = no_names();
	value = read_hex("03 02 00 00 02 0c01");
	CHECK(variant_member(&value, &metadata, 0, &name, &member));
	CHECK(!variant_member(&value, &metadata, 1, &name, &member));
	value = read_hex("03 01 02 02 0c01");
	CHECK(!variant_member(&value, &metadata, 0, &name, &member));
	value = read_hex("02 01 00 00 02 0c01");
	CHECK(!variant_member(&value, &metadata, 0, &name, &member));
}

/* ---- what is built is read again ---- */

static BytesView
random_name(int i)
{
	static const char *const prefixes[] = {"", "a", "name ", "\xc3\xa4"};

	return unit_bytes(psprintf("%s%d", prefixes[unit_random_below(lengthof(prefixes))], i));
}

static void
describe(StringInfo out, VariantValue *value, const VariantMetadata *metadata)
{
	VariantValue member;
	BytesView	name = {0};

	if (value->kind != VARIANT_ARRAY && value->kind != VARIANT_OBJECT)
	{
		appendStringInfo(out, "%d:" INT64_FORMAT ":%g:" INT64_FORMAT ":%d:%.*s,", value->kind, value->integer,
						 value->number, (int64) (value->unscaled >> 3), value->scale, value->bytes.length,
						 value->bytes.length > 0 ? value->bytes.data : "");
		return;
	}
	appendStringInfo(out, "%d[", value->kind);
	for (uint32 i = 0; i < value->count; i++)
	{
		if (!CHECK(variant_member(value, metadata, i, &name, &member)))
			return;
		appendStringInfo(out, "%.*s=", value->kind == VARIANT_OBJECT ? name.length : 0, name.data);
		describe(out, &member, metadata);
	}
	appendStringInfoString(out, "],");
}

static void
test_names(void)
{
	for (int round = 0; round < 20; round++)
	{
		VariantNames names = {0};
		StringInfoData bytes;
		VariantMetadata metadata;
		int			count = round == 0 ? 0 : 1 + unit_random_below(round < 10 ? 5 : 2000);

		for (int i = 0; i < count; i++)
			variant_add_name(&names, random_name(unit_random_below(count)));
		variant_finish_names(&names);
		initStringInfo(&bytes);
		variant_append_metadata(&bytes, &names);
		CHECK(variant_read_metadata((BytesView) {bytes.data, bytes.len}, &metadata));
		CHECK_INT(metadata.count, names.count);
		for (int i = 0; i < names.count; i++)
			CHECK_INT(variant_name_id(&names, names.names[i]), i);
	}
}

/* An object of count members "0" .. with their numbers, last to first. */
static void
check_object(int count, int padding)
{
	StringInfoData bytes;
	VariantNames names = {0};
	VariantMember *members = palloc(Max(count, 1) * sizeof(VariantMember));
	StringInfoData metadata_bytes;
	VariantMetadata metadata;
	VariantValue value;
	BytesView	name;
	char	   *pad = palloc0(padding + 1);

	memset(pad, 'x', padding);
	initStringInfo(&bytes);
	initStringInfo(&metadata_bytes);
	for (int i = 0; i < count; i++)
		variant_add_name(&names, unit_bytes(psprintf("%07d", i)));
	variant_finish_names(&names);
	variant_append_metadata(&metadata_bytes, &names);
	for (int i = 0; i < count; i++)
	{
		int			number = count - 1 - i;

		members[i].id = variant_name_id(&names, unit_bytes(psprintf("%07d", number)));
		members[i].offset = bytes.len;
		if (padding > 0)
			variant_append_string(&bytes, unit_bytes(psprintf("%d%s", number, pad)));
		else
			variant_append_integer(&bytes, number);
	}
	variant_finish_object(&bytes, 0, members, count);

	CHECK(variant_read_metadata((BytesView) {metadata_bytes.data, metadata_bytes.len}, &metadata));
	CHECK(variant_read((BytesView) {bytes.data, bytes.len}, &value));
	CHECK_INT(value.size, bytes.len);
	CHECK_INT(value.count, count);
	for (int i = 0; i < count; i++)
	{
		VariantValue member;

		if (!CHECK(variant_member(&value, &metadata, i, &name, &member)) ||
			!CHECK_BYTES(name, unit_bytes(psprintf("%07d", i))) ||
			(padding == 0 && !CHECK_INT(member.integer, i)) ||
			(padding > 0 && !CHECK_BYTES(member.bytes, unit_bytes(psprintf("%d%s", i, pad)))))
			break;
	}
}

static void
test_objects(void)
{
	check_object(0, 0);
	check_object(1, 0);
	check_object(255, 0);
	check_object(256, 0);
	check_object(300, 1000);
	check_object(70000, 0);
	check_object(70000, 300);
}

static void
test_values(void)
{
	StringInfoData out;
	StringInfoData text;
	VariantValue value;
	VariantMetadata metadata = no_names();
	VariantMember members[8];
	int			n = 0;

	initStringInfo(&out);
	initStringInfo(&text);
#define MEMBER(append) \
	(members[n++].offset = out.len, append)
	MEMBER(variant_append_null(&out));
	MEMBER(variant_append_boolean(&out, true));
	MEMBER(variant_append_integer(&out, -129));
	MEMBER(variant_append_double(&out, 2.5));
	MEMBER(variant_append_decimal(&out, -1000000000, 3));
	MEMBER(variant_append_decimal(&out, (int128) PG_INT64_MAX * 8, 20));
	MEMBER(variant_append_string(&out, unit_bytes("text")));
	MEMBER(variant_append_string(&out, unit_bytes("a text of more than sixty-three bytes, which needs a length of its own")));
	variant_finish_array(&out, 0, members, n);
	CHECK(variant_read((BytesView) {out.data, out.len}, &value));
	describe(&text, &value, &metadata);
	CHECK_STRING(text.data,
				 "13[=0:0:0:0:0:,=1:1:0:0:0:,=2:-129:0:0:0:,=4:0:2.5:0:0:,=5:0:0:-125000000:3:,"
				 "=5:0:0:9223372036854775807:20:,=6:0:0:0:0:text,"
				 "=6:0:0:0:0:a text of more than sixty-three bytes, which needs a length of its own,],");
}

/* Whatever the bytes are, reading ends without touching others. */
static void
test_random_bytes(void)
{
	for (int round = 0; round < 20000; round++)
	{
		int			length = unit_random_below(40);
		char	   *bytes = palloc(Max(length, 1));
		VariantMetadata metadata = no_names();
		VariantValue value;

		for (int i = 0; i < length; i++)
			bytes[i] = (char) unit_random_below(unit_random_below(2) ? 8 : 256);
		(void) variant_read_metadata((BytesView) {bytes, length}, &metadata);
		if (!variant_read((BytesView) {bytes, length}, &value))
			continue;
		CHECK(value.size <= length);
		for (uint32 i = 0; i < value.count; i++)
		{
			VariantValue member;
			BytesView	name;

			if (!variant_member(&value, &metadata, i, &name, &member))
				break;
		}
		pfree(bytes);
	}
}

int
main(void)
{
	unit_begin();
	RUN(test_primitives);
	RUN(test_containers);
	RUN(test_damage);
	RUN(test_names);
	RUN(test_objects);
	RUN(test_values);
	RUN(test_random_bytes);
	return unit_end();
}
