#include "postgres.h"

#include "columnar/compare.h"
#include "unit.h"

static void
test_type_texts(void)
{
	DataType   *type = type_parse_atomic(" decimal ( 10 ,2) not  null ");

	CHECK(type != NULL);
	CHECK_STRING(type_to_text(type), "DECIMAL(10, 2) NOT NULL");
	CHECK_ERROR(ERRCODE_INTERNAL_ERROR, "no vectors", vector_create(type_make(TYPE_BLOB, 0, 0, true), 1));
}

int
main(void)
{
	unit_begin();
	RUN(test_type_texts);
	return unit_end();
}
