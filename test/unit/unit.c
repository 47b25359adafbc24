/*
 * unit.c
 *		The frame around unit tests.
 */
#include "postgres.h"

#include <ftw.h>
#include <math.h>
#include <unistd.h>

#include "columnar/decimal.h"
#include "utils/memutils.h"

#include "unit.h"

#define MAX_FAILURES_SHOWN 20	/* of one test */

static int	passed_tests;
static int	failed_tests;
static int	failures;			/* of the test that runs */
static uint64 random_state;
static uint64 random_seed;
static char directory[64];

/* ---- running ---- */

void
unit_begin(void)
{
	const char *seed = getenv("UNIT_SEED");

	setvbuf(stdout, NULL, _IOLBF, 0);
	MemoryContextInit();
	random_seed = seed != NULL ? strtoull(seed, NULL, 10) : 20240101;
}

static int
remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	return remove(path);
}

static void
remove_directory(void)
{
	if (directory[0] != '\0')
		nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	directory[0] = '\0';
}

int
unit_end(void)
{
	remove_directory();
	MemoryContextSwitchTo(TopMemoryContext);
	MemoryContextDeleteChildren(TopMemoryContext);
	if (shim_open_files() != 0)
	{
		printf("not ok - %d files were left open\n", shim_open_files());
		failed_tests++;
	}
	printf("%d passed, %d failed\n", passed_tests, failed_tests);
	return failed_tests == 0 ? 0 : 1;
}

static void
report_unexpected_error(void)
{
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	unit_check(false, error->filename, error->lineno, "unexpected error: %s%s%s",
			   error->message, error->detail ? " / " : "", error->detail ? error->detail : "");
}

void
unit_run(const char *name, void (*test) (void))
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "unit test", ALLOCSET_DEFAULT_SIZES);

	failures = 0;
	random_state = random_seed;
	shim_forget_messages();
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		test();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		report_unexpected_error();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(TopMemoryContext);
	MemoryContextDelete(context);

	printf("%s - %s\n", failures == 0 ? "ok" : "not ok", name);
	if (failures == 0)
		passed_tests++;
	else
		failed_tests++;
}

/* ---- checking ---- */

static void
count_failure(const char *file, int line)
{
	if (++failures <= MAX_FAILURES_SHOWN)
		printf("# %s:%d: ", file, line);
}

bool
unit_check(bool passed, const char *file, int line, const char *format,...)
{
	va_list		arguments;

	if (passed)
		return true;
	count_failure(file, line);
	if (failures <= MAX_FAILURES_SHOWN)
	{
		va_start(arguments, format);
		vprintf(format, arguments);
		va_end(arguments);
		printf("\n");
	}
	return false;
}

bool
unit_check_int(int64 actual, int64 expected, const char *text, const char *file, int line)
{
	return unit_check(actual == expected, file, line, "%s is %lld, not %lld", text,
					  (long long) actual, (long long) expected);
}

bool
unit_check_string(const char *actual, const char *expected, const char *text, const char *file, int line)
{
	bool		same = actual == NULL || expected == NULL ? actual == expected : strcmp(actual, expected) == 0;

	return unit_check(same, file, line, "%s is \"%s\", not \"%s\"", text,
					  actual ? actual : "(null)", expected ? expected : "(null)");
}

static char *
to_hex(BytesView bytes)
{
	char	   *text = (char *) palloc(bytes.length * 2 + 1);

	for (uint32 i = 0; i < bytes.length; i++)
		sprintf(text + 2 * i, "%02x", (unsigned char) bytes.data[i]);
	text[bytes.length * 2] = '\0';
	return text;
}

bool
unit_check_bytes(BytesView actual, BytesView expected, const char *text, const char *file, int line)
{
	bool		same = actual.length == expected.length &&
		(actual.length == 0 || memcmp(actual.data, expected.data, actual.length) == 0);

	return same || unit_check(false, file, line, "%s is\n#   %s, not\n#   %s", text,
							  to_hex(actual), to_hex(expected));
}

void
unit_check_error(int sqlstate, const char *part, const char *text, const char *file, int line)
{
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	unit_check(sqlstate == 0 || error->sqlerrcode == sqlstate, file, line,
			   "%s raised another SQLSTATE: %s", text, error->message);
	unit_check(strstr(error->message, part) != NULL, file, line,
			   "%s raised \"%s\", which has no \"%s\"", text, error->message, part);
	FreeErrorData(error);
}

void
unit_no_error(const char *text, const char *file, int line)
{
	unit_check(false, file, line, "%s raised no error", text);
}

/* ---- material ---- */

BytesView
unit_hex(const char *digits)
{
	char	   *data = (char *) palloc(strlen(digits) / 2 + 1);
	BytesView	bytes = {data, 0};

	while (*digits != '\0')
	{
		char		pair[3] = {0};

		if (*digits == ' ')
		{
			digits++;
			continue;
		}
		memcpy(pair, digits, 2);
		data[bytes.length++] = (char) strtol(pair, NULL, 16);
		digits += 2;
	}
	return bytes;
}

BytesView
unit_bytes(const char *text)
{
	BytesView	bytes = {text, (uint32) strlen(text)};

	return bytes;
}

static int128
parse_int128(const DataType *type, const char *text)
{
	int128		number;
	int			precision = type->root == TYPE_DECIMAL ? type->precision : TYPE_MAX_DECIMAL_PRECISION;

	if (!decimal_from_text(text, strlen(text), precision, type->scale, &number))
		elog(ERROR, "bad number \"%s\" in a test", text);
	return number;
}

Scalar
unit_scalar(const DataType *type, const char *text)
{
	Scalar		value = {0};

	value.isnull = text == NULL;
	if (value.isnull)
		return value;
	switch (type->physical)
	{
		case PHYSICAL_INT8:
			value.v.i8 = type->root == TYPE_BOOLEAN ? strcmp(text, "true") == 0 : atoi(text);
			break;
		case PHYSICAL_INT16:
			value.v.i16 = atoi(text);
			break;
		case PHYSICAL_INT32:
			value.v.i32 = atoi(text);
			break;
		case PHYSICAL_INT64:
			value.v.i64 = (int64) parse_int128(type, text);
			break;
		case PHYSICAL_INT128:
			value.v.i128 = parse_int128(type, text);
			break;
		case PHYSICAL_FLOAT:
			value.v.f32 = strtof(text, NULL);
			break;
		case PHYSICAL_DOUBLE:
			value.v.f64 = strtod(text, NULL);
			break;
		case PHYSICAL_BYTES:
			value.v.bytes = type_is_string(type) ? unit_bytes(text) : unit_hex(text);
			break;
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			elog(ERROR, "no values of type %s", type_to_text(type));
	}
	return value;
}

/* Near zero, or anything. */
static int64
random_integer(void)
{
	switch (unit_random_below(8))
	{
		case 0:
			return (int64) unit_random();
		case 1:
			return unit_random_below(2) ? PG_INT64_MAX : PG_INT64_MIN;
		default:
			return unit_random_below(11) - 5;
	}
}

static double
random_float(void)
{
	static const double odd[] = {0.0, -0.0, 1e300, -1e300, 1e-310};

	switch (unit_random_below(6))
	{
		case 0:
			return odd[unit_random_below(lengthof(odd))];
		case 1:
			return unit_random_below(3) == 0 ? -INFINITY : (unit_random_below(2) ? INFINITY : NAN);
		default:
			return (unit_random_below(11) - 5) / 2.0;
	}
}

static BytesView
random_bytes(const DataType *type)
{
	static const char letters[] = "aab\xc3\xa4\x7f";
	int			length = unit_random_below(4) == 0 ? unit_random_below(40) : unit_random_below(4);
	char	   *data = (char *) palloc(length + 1);
	BytesView	bytes = {data, length};

	for (int i = 0; i < length; i++)
		data[i] = type_is_string(type) || unit_random_below(2) ?
			letters[unit_random_below(lengthof(letters) - 1)] : (char) unit_random();
	return bytes;
}

Scalar
unit_random_scalar(const DataType *type)
{
	Scalar		value = {0};
	int64		number = random_integer();

	value.isnull = type->nullable && unit_random_below(8) == 0;
	if (value.isnull)
		return value;
	switch (type->physical)
	{
		case PHYSICAL_INT8:
			value.v.i8 = type->root == TYPE_BOOLEAN ? number & 1 : number;
			break;
		case PHYSICAL_INT16:
			value.v.i16 = number;
			break;
		case PHYSICAL_INT32:
			value.v.i32 = number;
			break;
		case PHYSICAL_INT64:
			value.v.i64 = number;
			break;
		case PHYSICAL_INT128:
			value.v.i128 = unit_random_below(4) == 0 ? (int128) number * random_integer() : number;
			if (type->root != TYPE_DECIMAL)
				value.v.i128 %= (int128) PG_INT64_MAX * 1000;
			break;
		case PHYSICAL_FLOAT:
			value.v.f32 = (float) random_float();
			break;
		case PHYSICAL_DOUBLE:
			value.v.f64 = random_float();
			break;
		case PHYSICAL_BYTES:
			value.v.bytes = random_bytes(type);
			break;
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			elog(ERROR, "no values of type %s", type_to_text(type));
	}
	return value;
}

/* splitmix64 */
uint64
unit_random(void)
{
	uint64		z = (random_state += UINT64CONST(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

int
unit_random_below(int bound)
{
	return (int) (unit_random() % (uint64) bound);
}

const char *
unit_directory(void)
{
	if (directory[0] == '\0')
	{
		strlcpy(directory, "/tmp/streamhouse-unit-XXXXXX", sizeof(directory));
		if (mkdtemp(directory) == NULL)
			elog(ERROR, "could not make a folder in /tmp: %m");
	}
	return directory;
}
