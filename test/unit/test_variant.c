/*
 * test_variant.c
 *		The binary form of VARIANT: known bytes, random values, damage; shredded
 *		variants of Parquet files.
 */
#include "unit.h"

#include "columnar/variant.h"
#include "format/format.h"
#include "utils/memutils.h"
#include "variant_files.h"

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

/* ---- shredded variants ---- */

/* Written by Paimon 1.4: "name" and "n" have columns, "price" has none. */
static const char java_file[] =
	"50415231150015c00215960115f3aed5f60c1c1550150015081508000028b52ffd0048fc010002ca0e0b1058be19fca0cbe7"
	"114a016f9cf1c5154f1cf1c30d2f9cf0c1050f1cf0efdebb73dfae3d3bf6ebd6ab539f2e3d3af4e7ce9b335fae3c39f2e303"
	"0001000015041554156c15d1a8adff0e3c15061504000028b52ffd00485001001000000001030004050a6e616d656e707269"
	"6365030000000100000b000000010400010203046162636401000015001530154815cce6aada0d1c15501504150615080000"
	"28b52ffd0048c0000007000000037f240105ee3f02031465120107421555625200010000150415f60115dc0115a39ab18e0c"
	"3c15141504000028b52ffd0048140300b28717219029e90f674682f3a72ab2c89dc2c81bef53e48f57b40deb10fddb24b164"
	"4b9902ff3c3f09691c1c060a82f02f8b9158821ff0f6db43b2d8c6f67877bad9e0b2bc42e7edaf9aa612a9fa11efef8ac562"
	"780975b39ff934a94297fd0301000100001500154c156415a2ccd9a50c1c1550150415061508000028b52ffd00483001000c"
	"00000005a62aaaa6140205a8a8aa0a040b10204313336517420068582032484049800800000100001500151e153615d987fc"
	"8b091c1550150015061508000028b52ffd00487800000b0000000b9a255559a55649456a5a010000150015920115aa0115f5"
	"ea86f20b1c1550150015061508000028b52ffd00484802000b0000000bdb255559e5574d456e5e0500000071454c4b390600"
	"00007a725252366f070000005148574d56474b010000005804000000566a6b68060000006975546c48300100000078010000"
	"1500151e153615d987fc8b091c1550150015061508000028b52ffd00487800000b0000000b9a255559a55649456a5a010000"
	"1500158e0115a60115ec86d4231c1550150015061508000028b52ffd00483802000b0000000bdb255559e5574d456e5edfff"
	"72c8daffffffe26ae329e0ffffff6dabb9d79c00000004863b5743000000c21b93e5a0fffffff1829cd6acffffffbb074fbc"
	"96000000010000191102191804000000001918042700000015021916000019110219180301000019180b0104000102030461"
	"626364150219160600191102191801001918062002bbfeffff150219160a2936060446001911011918001918001502191650"
	"2946062e1c00001911021918075148574d56474b1918067a725252366f15021916422946062e0e0e00191101191800191800"
	"15021916502946062e1c0000191102191808c21b93e5a0ffffff1918086dabb9d79c00000015021916422946062e0e0e0019"
	"1c160815c80116000000191c16e20215761600001916e40300191c16de051592011600001916b20500191c16f00615641600"
	"0019160000191c16d40715dc0116000019163c00191c16b009156416000019160000191c16940a15d60116000000150219cc"
	"480d7061696d6f6e5f736368656d61150400150225001802696455000035021801761506450200150c250018086d65746164"
	"617461550000150c2502180576616c75655502003502180b74797065645f76616c75651504450400350018046e616d651504"
	"450000150c2502180576616c7565550000150c2502180b74797065645f76616c7565250035021c1c000000350018016e1504"
	"450200150c2502180576616c756555000015042502180b74797065645f76616c75655502001650191c197c26001c15021925"
	"08001918026964150c165016f20216c80126083c180427000000180400000000160028042700000018040000000000191c15"
	"0015001502003c000016ea0e151616ea0b152e0026001c150c193508040619280176086d65746164617461150c165016d801"
	"16880226e20226d0011c3606280b0104000102030461626364180301000000192c15041504150200150015041502003c16e4"
	"03000016800f151e16980c153a0026001c150c1935080406192801760576616c7565150c1650169a0316980326de0526d803"
	"1c360a28062002bbfeffff18010000192c15041504150200150015041502003c16b20529360604460000169e0f152016d20c"
	"15360026001c150c1935080006194801760b74797065645f76616c7565046e616d650576616c7565150c1650164c166426f0"
	"063c365000191c150015001502003c16002946062e1c00000016be0f151c16880d152a0026001c150c193508000619480176"
	"0b74797065645f76616c7565046e616d650b74797065645f76616c7565150c165016c40116dc0126d4073c364228067a7252"
	"52366f18075148574d56474b00191c150015001502003c163c2946062e0e0e000016da0f151e16b20d15440026001c150c19"
	"35080006194801760b74797065645f76616c7565016e0576616c7565150c1650164c166426b0093c365000191c1500150015"
	"02003c16002946062e1c00000016f80f151c16f60d152a0026001c15041935080006194801760b74797065645f76616c7565"
	"016e0b74797065645f76616c7565150c165016be0116d60126940a3c18086dabb9d79c0000001808c21b93e5a0ffffff1642"
	"28086dabb9d79c0000001808c21b93e5a0ffffff00191c150015001502003c3946062e0e0e0000169410151816a00e154a00"
	"16fe0b1650260816e20b140000284a706172717565742d6d722076657273696f6e20312e31362e3020286275696c64203430"
	"326333383130633337326432393630336531383137373161636562666563633731626566363129197c1c00001c00001c0000"
	"1c00001c00001c00001c000000c703000050415231";

/* The rows of column v, those selected, in a vector that lives on. */
static Vector *
read_shredded(BytesView content, const DataType *type, const int32 *selection, int nselected)
{
	const char *path = psprintf("%s/variant.parquet", unit_directory());
	DataField	column = {.name = "v", .type = unconstify(DataType *, type)};
	FormatReadOptions options = {.columns = &column, .ncolumns = 1};
	FILE	   *file = fopen(path, "wb");
	FormatReader *reader;
	Vector	   *vector = vector_create(type, BATCH_ROWS);

	if (file == NULL || fwrite(content.data, 1, content.length, file) != content.length || fclose(file) != 0)
		elog(ERROR, "could not write \"%s\"", path);
	reader = format_open(format_lookup("parquet"), storage_open(path), &options);
	if (CHECK(format_next(reader)))
		format_read_column(reader, 0, selection, selection != NULL ? nselected : reader->nrows, vector);
	return vector;
}

static void
check_variant(const Vector *vector, int row, const char *expected)
{
	StringInfoData text;
	VariantMetadata metadata;
	VariantValue value;

	initStringInfo(&text);
	if (vector->has_nulls && vector->nulls[row])
		appendStringInfoString(&text, "null");
	else if (CHECK(variant_read(vector->children[0]->values.bytes[row], &value) &&
				   variant_read_metadata(vector->children[1]->values.bytes[row], &metadata)))
		describe(&text, &value, &metadata);
	CHECK_STRING(text.data, expected);
}

static const DataType *
variant_type(void)
{
	return type_make(TYPE_VARIANT, 0, 0, true);
}

static void
test_shredded_by_java(void)
{
	static const int32 selection[] = {0, 7, 33, 39};
	Vector	   *vector = read_shredded(unit_hex(java_file), variant_type(), NULL, 0);
	Vector	   *selected = read_shredded(unit_hex(java_file), variant_type(), selection, 4);

	check_variant(vector, 0, "14[n=2:-159845777441:0:0:0:,name=6:0:0:0:0:qELK9,price=5:0:0:249:2:,],");
	check_variant(vector, 1, "14[],");
	check_variant(vector, 2, "13[=2:1:0:0:0:,=6:0:0:0:0:two,=0:0:0:0:0:,],");
	check_variant(vector, 5, "5:0:0:-41:2:,");
	check_variant(vector, 6, "14[a=2:1:0:0:0:,b=14[c=13[=2:1:0:0:0:,=2:2:0:0:0:,=14[d=6:0:0:0:0:\xc3\xa9,],],],],");
	check_variant(vector, 7, "null");
	check_variant(vector, 35, "0:0:0:0:0:,");
	for (int i = 0; i < 3; i++)
		check_variant(selected, selection[i], i == 1 ? "null" : i == 0 ?
					  "14[n=2:-159845777441:0:0:0:,name=6:0:0:0:0:qELK9,price=5:0:0:249:2:,]," :
					  "14[n=2:-357176671503:0:0:0:,name=6:0:0:0:0:iuTlH0,price=5:0:0:249:2:,],");
	check_variant(selected, 39, "1:1:0:0:0:,");
}

static void
test_shredded_objects(void)
{
	Vector	   *vector = read_shredded(unit_hex(objects_file), variant_type(), NULL, 0);

	check_variant(vector, 0, "14[a=2:5:0:0:0:,l=13[=6:0:0:0:0:p,=2:1:0:0:0:,=0:0:0:0:0:,],o=14[x=9:1:0:0:0:,],"
				  "z=1:1:0:0:0:,],");
	check_variant(vector, 1, "null");
	check_variant(vector, 2, "2:7:0:0:0:,");
	check_variant(vector, 3, "0:0:0:0:0:,");
	check_variant(vector, 4, "14[a=0:0:0:0:0:,o=6:0:0:0:0:hi,],");
	check_variant(vector, 5, "14[z=1:1:0:0:0:,],");
	check_variant(vector, 6, "14[l=13[],o=14[],],");
	check_variant(vector, 7, "14[],");
}

static void
test_shredded_scalars(void)
{
	Vector	   *vector = read_shredded(unit_hex(scalars_file), variant_type(), NULL, 0);

	check_variant(vector, 0, "14[bo=1:1:0:0:0:,by=7:0:0:0:0:bytes,da=9:-1:0:0:0:,de=5:0:0:-40:2:,dl=5:0:0:10000:3:,"
				  "do=4:0:2.5:0:0:,fl=3:0:0.5:0:0:,i1=2:-1:0:0:0:,i4=2:70000:0:0:0:,st=6:0:0:0:0:text,"
				  "tm=11:1000000:0:0:0:,tn=11:1000000000:0:0:0:,tu=12:1000000:0:0:0:,],");
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"v\"", read_shredded(unit_hex(time_file), variant_type(), NULL, 0));
}

static void
test_shredded_in_lists(void)
{
	DataType   *type = type_make_nested(TYPE_ARRAY, 1, true);
	Vector	   *vector;
	const ListView *lists;

	type->children[0].type = unconstify(DataType *, variant_type());
	vector = read_shredded(unit_hex(lists_file), type, NULL, 0);
	lists = vector->values.list;
	CHECK(lists[0].length == 2 && lists[1].length == 0 && vector->nulls[2] && lists[3].length == 2);
	check_variant(vector->children[0], lists[0].start, "2:1:0:0:0:,");
	check_variant(vector->children[0], lists[0].start + 1, "1:1:0:0:0:,");
	check_variant(vector->children[0], lists[3].start, "null");
	check_variant(vector->children[0], lists[3].start + 1, "2:1:0:0:0:,");
}

/* An error or rows. */
static void
read_damaged(BytesView content)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		read_shredded(content, variant_type(), NULL, 0);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
}

static void
test_shredded_damage(void)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "damage", ALLOCSET_DEFAULT_SIZES);

	for (int32 row = 0; row < 90; row += 10)
		CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "\"v\"", read_shredded(unit_hex(damaged_file), variant_type(), &row, 1));
	MemoryContextSwitchTo(scratch);
	for (int round = 0; round < 3000; round++)
	{
		BytesView	content = unit_hex(round % 2 ? java_file : objects_file);

		unconstify(char *, content.data)[unit_random_below(content.length)] = (char) unit_random_below(256);
		read_damaged(content);
		MemoryContextReset(scratch);
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
	RUN(test_shredded_by_java);
	RUN(test_shredded_objects);
	RUN(test_shredded_scalars);
	RUN(test_shredded_in_lists);
	RUN(test_shredded_damage);
	return unit_end();
}
