/*
 * sketch_hll.c
 *		HLL sketches: the largest value seen in each of many slots.
 *
 * A member of the set is a coupon: a slot number of 26 bits and a value of 6.
 * A sketch first lists its coupons, then has them in a hash set, and when they
 * are many, only the largest value in each of 2^k slots; slots are folded by
 * their lower bits.  It also keeps sums by which the number of members is
 * estimated as they come.
 */
#include "postgres.h"

#include <math.h>

#include "lake/byte_input.h"
#include "lake/sketch.h"

#define SERIAL_VERSION 1
#define FAMILY_HLL 7
#define FLAG_EMPTY 0x04
#define FLAG_COMPACT 0x08
#define FLAG_OUT_OF_ORDER 0x10

#define MIN_LG_K 4
#define MAX_LG_K 21
#define LG_LIST 3				/* of the places in a list */
#define LG_FIRST_SET 5			/* of the places in the smallest set */
#define MIN_SET_LG_K 8			/* smaller sketches have no sets */
#define SLOT_BITS 26
#define SLOT_MASK ((1 << SLOT_BITS) - 1)
#define VALUE_MASK 63
#define NIBBLE_EXCEPTION 15		/* of a slot whose value is listed apart */

typedef enum SketchMode
{
	MODE_LIST,
	MODE_SET,
	MODE_SLOTS
} SketchMode;

/* How slots are written; we have a byte for each */
typedef enum SlotForm
{
	SLOTS_4_BITS,
	SLOTS_6_BITS,
	SLOTS_8_BITS
} SlotForm;

typedef struct HllSketch
{
	SketchMode	mode;
	int			lg_k;
	/* of lists and sets; 0 is no coupon */
	int			lg_places;
	int			count;
	uint32	   *coupons;
	/* of slots */
	uint8	   *slots;
	bool		out_of_order;	/* unions leave no estimate of what came */
	double		estimate;
	double		chance_low;		/* sum of 2^-value of small values; the same of large ones */
	double		chance_high;
} HllSketch;

/* ---- hash sets of coupons, or of exceptions by slot number ---- */

/* The place of a key (what the mask leaves of an entry), or the empty one for it; -1 if there is none. */
static int
find_place(const uint32 *entries, int lg_places, uint32 key, uint32 mask, uint32 stride_key)
{
	int			place_mask = (1 << lg_places) - 1;
	int			place = key & place_mask;
	int			stride = (stride_key >> lg_places) | 1;

	for (int tries = 0; tries <= place_mask; tries++)
	{
		if (entries[place] == 0 || (entries[place] & mask) == key)
			return place;
		place = (place + stride) & place_mask;
	}
	return -1;
}

static int
find_coupon(const uint32 *coupons, int lg_places, uint32 coupon)
{
	return find_place(coupons, lg_places, coupon, PG_UINT32_MAX, coupon & SLOT_MASK);
}

static uint32 *
allocate_places(int lg_places)
{
	return palloc0(((Size) 1 << lg_places) * sizeof(uint32));
}

static bool
is_too_full(int count, int lg_places)
{
	return 4 * (int64) count > 3 * ((int64) 1 << lg_places);
}

/* ---- slots ---- */

static void
begin_slots(HllSketch *sketch)
{
	sketch->mode = MODE_SLOTS;
	sketch->slots = palloc0((Size) 1 << sketch->lg_k);
	sketch->chance_low = 1 << sketch->lg_k;
	sketch->chance_high = 0;
}

static void
add_chance(HllSketch *sketch, int value, double sign)
{
	if (value < 32)
		sketch->chance_low += sign * ldexp(1.0, -value);
	else
		sketch->chance_high += sign * ldexp(1.0, -value);
}

static void
update_slot(HllSketch *sketch, uint32 coupon)
{
	uint8	   *slot = &sketch->slots[coupon & ((1 << sketch->lg_k) - 1)];
	int			value = coupon >> SLOT_BITS;

	if (value <= *slot)
		return;
	sketch->estimate += (1 << sketch->lg_k) / (sketch->chance_low + sketch->chance_high);
	add_chance(sketch, *slot, -1);
	add_chance(sketch, value, 1);
	*slot = value;
}

/* A sketch of 2^lg_k slots with the values of another one that has at least as many. */
static HllSketch
fold_slots(const HllSketch *source, int lg_k)
{
	HllSketch	result = {.lg_k = lg_k};

	begin_slots(&result);
	for (uint32 slot = 0; slot < (uint32) 1 << source->lg_k; slot++)
		update_slot(&result, (uint32) source->slots[slot] << SLOT_BITS | slot);
	result.out_of_order = source->out_of_order;
	result.estimate = source->estimate;
	return result;
}

/* ---- coupons ---- */

/* How many members so many coupons stand for: a cubic curve through four points nearby. */
static double
estimate_of_coupons(int count)
{
	static const double xs[] = {
		0, 1, 20, 400, 8000, 160000, 300000, 600000, 900000, 1200000, 1500000, 1800000, 2100000, 2400000
	};
	static const double ys[] = {
		0, 1, 20.0000009437402611, 400.0003963713384110, 8000.1589294602090376, 160063.6067763759638183,
		300223.7071597663452849, 600895.5933856170158833, 902016.8065120954997838, 1203588.4983199508860707,
		1505611.8245524743106216, 1808087.9449319066479802, 2111018.0231759352609515, 2414403.2270142501220107
	};
	double		x = count;
	double		sum = 0;
	int			first = 0;

	while (xs[first + 1] <= x)
		first++;
	first = first == 0 ? 0 : first - 1;
	for (int i = 0; i < 4; i++)
	{
		double		numerator = 1;
		double		denominator = 1;

		for (int k = 0; k < 4; k++)
		{
			if (k == i)
				continue;
			numerator *= x - xs[first + k];
			denominator *= xs[first + i] - xs[first + k];
		}
		sum += ys[first + i] * numerator / denominator;
	}
	return Max(sum, x);
}

static void
promote_to_slots(HllSketch *sketch)
{
	uint32	   *coupons = sketch->coupons;

	begin_slots(sketch);
	for (int i = 0; i < 1 << sketch->lg_places; i++)
		if (coupons[i] != 0)
			update_slot(sketch, coupons[i]);
	sketch->estimate = estimate_of_coupons(sketch->count);
	sketch->out_of_order = false;
}

static void
grow_set(HllSketch *sketch)
{
	uint32	   *old = sketch->coupons;
	int			nold = 1 << sketch->lg_places;

	sketch->lg_places++;
	sketch->coupons = allocate_places(sketch->lg_places);
	for (int i = 0; i < nold; i++)
		if (old[i] != 0)
			sketch->coupons[find_coupon(sketch->coupons, sketch->lg_places, old[i])] = old[i];
	pfree(old);
}

static void
update_set(HllSketch *sketch, uint32 coupon)
{
	int			place = find_coupon(sketch->coupons, sketch->lg_places, coupon);

	Assert(place >= 0);
	if (sketch->coupons[place] == coupon)
		return;
	sketch->coupons[place] = coupon;
	sketch->count++;
	if (!is_too_full(sketch->count, sketch->lg_places))
		return;
	if (sketch->lg_places == sketch->lg_k - 3)
		promote_to_slots(sketch);
	else
		grow_set(sketch);
}

static void
begin_set(HllSketch *sketch)
{
	sketch->mode = MODE_SET;
	sketch->lg_places = LG_FIRST_SET;
	sketch->coupons = allocate_places(LG_FIRST_SET);
	sketch->count = 0;
}

static void
promote_to_set(HllSketch *sketch)
{
	uint32	   *coupons = sketch->coupons;
	int			count = sketch->count;

	begin_set(sketch);
	for (int i = 0; i < count; i++)
		update_set(sketch, coupons[i]);
}

static void
update_list(HllSketch *sketch, uint32 coupon)
{
	for (int i = 0; i < sketch->count; i++)
		if (sketch->coupons[i] == coupon)
			return;
	sketch->coupons[sketch->count++] = coupon;
	if (sketch->count < 1 << LG_LIST)
		return;
	if (sketch->lg_k < MIN_SET_LG_K)
		promote_to_slots(sketch);
	else
		promote_to_set(sketch);
}

static void
update_sketch(HllSketch *sketch, uint32 coupon)
{
	if (coupon >> SLOT_BITS == 0)
		return;
	if (sketch->mode == MODE_LIST)
		update_list(sketch, coupon);
	else if (sketch->mode == MODE_SET)
		update_set(sketch, coupon);
	else
		update_slot(sketch, coupon);
}

/* ---- reading ---- */

static bool
read_coupon(ByteInput *input, uint32 *coupon)
{
	uint64		number;

	if (!byte_input_number(input, 4, &number))
		return false;
	*coupon = (uint32) number;
	return true;
}

static void
begin_list(HllSketch *sketch, int lg_k)
{
	memset(sketch, 0, sizeof(*sketch));
	sketch->mode = MODE_LIST;
	sketch->lg_k = lg_k;
	sketch->lg_places = LG_LIST;
	sketch->coupons = allocate_places(LG_LIST);
}

static bool
read_list(ByteInput *input, HllSketch *sketch, int count)
{
	begin_list(sketch, sketch->lg_k);
	if (count >= 1 << LG_LIST)
		return false;
	for (int i = 0; i < count; i++)
		if (!read_coupon(input, &sketch->coupons[i]) || sketch->coupons[i] == 0)
			return false;
	sketch->count = count;
	return true;
}

static bool
read_set(ByteInput *input, HllSketch *sketch, bool is_compact, int lg_places)
{
	uint64		count;

	if (sketch->lg_k < MIN_SET_LG_K || !byte_input_number(input, 4, &count) || count > PG_INT32_MAX ||
		is_too_full((int) count, sketch->lg_k - 3))
		return false;
	begin_set(sketch);
	if (!is_compact)
	{
		if (lg_places < LG_FIRST_SET || lg_places > sketch->lg_k - 3 || is_too_full((int) count, lg_places))
			return false;
		sketch->lg_places = lg_places;
		sketch->coupons = allocate_places(lg_places);
	}
	for (int i = 0; i < (is_compact ? (int) count : 1 << lg_places); i++)
	{
		uint32		coupon;

		if (!read_coupon(input, &coupon) || (is_compact && coupon == 0))
			return false;
		if (is_compact)
			update_set(sketch, coupon);
		else
		{
			sketch->coupons[i] = coupon;
			sketch->count += coupon != 0;
		}
	}
	return sketch->mode == MODE_SET && sketch->count == (int) count;
}

/* Values of slots of four bits, counted from the smallest one, and those too large for it. */
static bool
read_nibbles(ByteInput *input, HllSketch *sketch, int smallest, int nexceptions, bool is_compact, int lg_places)
{
	int			nslots = 1 << sketch->lg_k;
	const char *bytes = byte_input_take(input, nslots / 2);
	int			nplaces = is_compact || nexceptions == 0 ? nexceptions : 1 << Min(lg_places, SLOT_BITS);

	if (bytes == NULL)
		return false;
	for (int slot = 0; slot < nslots; slot++)
	{
		int			nibble = (uint8) bytes[slot / 2] >> (slot % 2 * 4) & 15;

		sketch->slots[slot] = nibble == NIBBLE_EXCEPTION ? 0 : nibble + smallest;
		nexceptions -= nibble == NIBBLE_EXCEPTION;
	}
	if (nexceptions != 0)
		return false;
	for (int i = 0; i < nplaces; i++)
	{
		uint32		exception;

		if (!read_coupon(input, &exception))
			return false;
		if (exception != 0)
			sketch->slots[exception & (nslots - 1)] = exception >> SLOT_BITS;
	}
	return true;
}

static bool
read_wider_slots(ByteInput *input, HllSketch *sketch, SlotForm form)
{
	int			nslots = 1 << sketch->lg_k;
	const char *bytes = byte_input_take(input, form == SLOTS_8_BITS ? nslots : nslots * 3 / 4 + 1);

	if (bytes == NULL)
		return false;
	for (int slot = 0; slot < nslots; slot++)
	{
		if (form == SLOTS_8_BITS)
			sketch->slots[slot] = bytes[slot] & VALUE_MASK;
		else
			sketch->slots[slot] = bytes_number(bytes + slot * 6 / 8, 2) >> (slot * 6 % 8) & VALUE_MASK;
	}
	return true;
}

static double
number_as_double(uint64 number)
{
	double		value;

	memcpy(&value, &number, sizeof(value));
	return value;
}

static bool
read_slots(ByteInput *input, HllSketch *sketch, const char *header)
{
	SlotForm	form = (SlotForm) (header[7] >> 2 & 3);
	bool		is_compact = (header[5] & FLAG_COMPACT) != 0;
	uint64		sums[3];
	uint64		at_smallest;
	uint64		nexceptions;
	int			smallest = (uint8) header[6];
	HllSketch	read;

	for (int i = 0; i < 3; i++)
		if (!byte_input_number(input, 8, &sums[i]))
			return false;
	if (!byte_input_number(input, 4, &at_smallest) || !byte_input_number(input, 4, &nexceptions) ||
		nexceptions > (uint64) 1 << sketch->lg_k || smallest > VALUE_MASK)
		return false;
	begin_slots(sketch);
	if (form == SLOTS_4_BITS ?
		!read_nibbles(input, sketch, smallest, (int) nexceptions, is_compact, (uint8) header[4]) :
		!read_wider_slots(input, sketch, form))
		return false;
	sketch->out_of_order = (header[5] & FLAG_OUT_OF_ORDER) != 0;
	sketch->estimate = number_as_double(sums[0]);
	/* of eight bits the sums are taken as they are */
	read = fold_slots(sketch, sketch->lg_k);
	if (form == SLOTS_8_BITS)
	{
		read.chance_low = number_as_double(sums[1]);
		read.chance_high = number_as_double(sums[2]);
	}
	*sketch = read;
	return true;
}

static bool
read_sketch(BytesView bytes, HllSketch *sketch)
{
	static const int header_ints[] = {[MODE_LIST] = 2, [MODE_SET] = 3, [MODE_SLOTS] = 10};
	ByteInput	input = byte_input(bytes);
	const char *header = byte_input_take(&input, 8);
	int			mode;

	if (header == NULL || header[1] != SERIAL_VERSION || header[2] != FAMILY_HLL ||
		header[3] < MIN_LG_K || header[3] > MAX_LG_K)
		return false;
	mode = header[7] & 3;
	if (mode > MODE_SLOTS || (header[0] & 0x3F) != header_ints[mode] || (header[7] >> 2 & 3) > SLOTS_8_BITS)
		return false;
	memset(sketch, 0, sizeof(*sketch));
	sketch->lg_k = header[3];
	if (mode == MODE_LIST)
		return read_list(&input, sketch, (uint8) header[6]);
	if (mode == MODE_SET)
		return read_set(&input, sketch, (header[5] & FLAG_COMPACT) != 0, (uint8) header[4]);
	return read_slots(&input, sketch, header);
}

/* ---- uniting ---- */

static bool
is_empty(const HllSketch *sketch)
{
	return sketch->mode != MODE_SLOTS && sketch->count == 0;
}

static void
add_coupons(HllSketch *sketch, const HllSketch *source)
{
	for (int i = 0; i < 1 << source->lg_places; i++)
		if (source->coupons[i] != 0)
			update_sketch(sketch, source->coupons[i]);
}

/* Slots into slots: the larger values stay, the order of what came is lost. */
static void
merge_slots(HllSketch *sketch, const HllSketch *source)
{
	if (source->lg_k < sketch->lg_k)
		*sketch = fold_slots(sketch, source->lg_k);
	for (uint32 slot = 0; slot < (uint32) 1 << source->lg_k; slot++)
	{
		uint8	   *own = &sketch->slots[slot & ((1 << sketch->lg_k) - 1)];

		*own = Max(*own, source->slots[slot]);
	}
	sketch->out_of_order = true;
	sketch->estimate = 0;
}

/* Add a sketch to another one, which has at most 2^max_lg_k slots. */
static void
add_sketch(HllSketch *sketch, const HllSketch *source, int max_lg_k)
{
	HllSketch	coupons = *sketch;

	if (is_empty(source))
		return;
	if (source->mode == MODE_SET && is_empty(sketch) && source->lg_k == sketch->lg_k)
		*sketch = *source;
	else if (source->mode != MODE_SLOTS)
		add_coupons(sketch, source);
	else if (sketch->mode == MODE_SLOTS)
		merge_slots(sketch, source);
	else
	{
		/* the other way round */
		*sketch = source->lg_k > max_lg_k ? fold_slots(source, max_lg_k) : *source;
		add_coupons(sketch, &coupons);
	}
}

/* ---- writing ---- */

static void
append_double(StringInfo out, double value)
{
	uint64		bits;

	memcpy(&bits, &value, sizeof(bits));
	append_number(out, bits, 8);
}

static void
append_header(StringInfo out, const HllSketch *sketch, int nints, int lg_places, int flags, int byte6)
{
	append_number(out, nints, 1);
	append_number(out, SERIAL_VERSION, 1);
	append_number(out, FAMILY_HLL, 1);
	append_number(out, sketch->lg_k, 1);
	append_number(out, lg_places, 1);
	append_number(out, FLAG_COMPACT | flags, 1);
	append_number(out, byte6, 1);
	append_number(out, sketch->mode, 1);
}

static void
append_entries(StringInfo out, const uint32 *entries, int lg_places)
{
	for (int i = 0; i < 1 << lg_places; i++)
		if (entries[i] != 0)
			append_number(out, entries[i], 4);
}

static void
append_coupons(StringInfo out, const HllSketch *sketch)
{
	bool		is_list = sketch->mode == MODE_LIST;

	append_header(out, sketch, is_list ? 2 : 3, sketch->lg_places, sketch->count == 0 ? FLAG_EMPTY : 0,
				  is_list ? sketch->count : 0);
	if (!is_list)
		append_number(out, sketch->count, 4);
	append_entries(out, sketch->coupons, sketch->lg_places);
}

/* Values that are too large for four bits above the smallest, in a hash set by slot number. */
static uint32 *
collect_exceptions(const HllSketch *sketch, int smallest, int *count, int *lg_places)
{
	static const int first_lg_places[] = {
		0, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13
	};
	uint32		slot_mask = (1 << sketch->lg_k) - 1;
	uint32	   *exceptions;

	*count = 0;
	*lg_places = first_lg_places[sketch->lg_k];
	exceptions = allocate_places(*lg_places);
	for (uint32 slot = 0; slot <= slot_mask; slot++)
	{
		if (sketch->slots[slot] < smallest + NIBBLE_EXCEPTION)
			continue;
		exceptions[find_place(exceptions, *lg_places, slot, slot_mask, slot)] =
			(uint32) sketch->slots[slot] << SLOT_BITS | slot;
		(*count)++;
		if (is_too_full(*count, *lg_places))
		{
			uint32	   *larger = allocate_places(*lg_places + 1);

			for (int i = 0; i < 1 << *lg_places; i++)
			{
				uint32		old_slot = exceptions[i] & slot_mask;

				if (exceptions[i] != 0)
					larger[find_place(larger, *lg_places + 1, old_slot, slot_mask, old_slot)] = exceptions[i];
			}
			exceptions = larger;
			(*lg_places)++;
		}
	}
	return exceptions;
}

static void
append_slots(StringInfo out, const HllSketch *sketch)
{
	int			nslots = 1 << sketch->lg_k;
	HllSketch	sums = fold_slots(sketch, sketch->lg_k);
	int			smallest = VALUE_MASK;
	int			at_smallest = 0;
	int			nexceptions;
	int			lg_places;
	uint32	   *exceptions;

	for (int slot = 0; slot < nslots; slot++)
		smallest = Min(smallest, sketch->slots[slot]);
	for (int slot = 0; slot < nslots; slot++)
		at_smallest += sketch->slots[slot] == smallest;
	exceptions = collect_exceptions(sketch, smallest, &nexceptions, &lg_places);
	append_header(out, sketch, 10, nexceptions > 0 ? lg_places : 0, sketch->out_of_order ? FLAG_OUT_OF_ORDER : 0,
				  smallest);
	append_double(out, sketch->estimate);
	append_double(out, sums.chance_low);
	append_double(out, sums.chance_high);
	append_number(out, at_smallest, 4);
	append_number(out, nexceptions, 4);
	for (int slot = 0; slot < nslots; slot += 2)
	{
		int			low = Min(sketch->slots[slot] - smallest, NIBBLE_EXCEPTION);
		int			high = Min(sketch->slots[slot + 1] - smallest, NIBBLE_EXCEPTION);

		append_number(out, high << 4 | low, 1);
	}
	append_entries(out, exceptions, lg_places);
}

bool
hll_sketch_unite(BytesView a, BytesView b, StringInfo out)
{
	HllSketch	x;
	HllSketch	y;
	HllSketch	result;

	if (!read_sketch(a, &x) || !read_sketch(b, &y))
		return false;
	/* the second one gives the size, and comes first */
	begin_list(&result, y.lg_k);
	add_sketch(&result, &y, y.lg_k);
	add_sketch(&result, &x, y.lg_k);
	if (result.mode == MODE_SLOTS)
		append_slots(out, &result);
	else
		append_coupons(out, &result);
	return true;
}
