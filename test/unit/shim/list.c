/*
 * list.c
 *		The parts of the server's lists that hold pointers and numbers.
 *
 * Functions that need the nodes' equal() and copyObject() are not here.
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

static List *
new_list(NodeTag type, int length, int room)
{
	List	   *list;

	room = pg_nextpower2_32(Max(8, Max(room, length)));
	list = (List *) palloc(offsetof(List, initial_elements) + room * sizeof(ListCell));
	list->type = type;
	list->length = length;
	list->max_length = room;
	list->elements = list->initial_elements;
	return list;
}

static void
make_room(List *list, int needed)
{
	ListCell   *moved;
	int			room;

	if (needed <= list->max_length)
		return;
	room = pg_nextpower2_32(needed);
	moved = (ListCell *) MemoryContextAlloc(GetMemoryChunkContext(list), room * sizeof(ListCell));
	memcpy(moved, list->elements, list->length * sizeof(ListCell));
	if (list->elements != list->initial_elements)
		pfree(list->elements);
	list->elements = moved;
	list->max_length = room;
}

/* Open a gap for one cell at pos, in a new list if there is none. */
static ListCell *
insert_cell(List **list, NodeTag type, int pos)
{
	if (*list == NIL)
		*list = new_list(type, 1, 0);
	else
	{
		make_room(*list, (*list)->length + 1);
		memmove(&(*list)->elements[pos + 1], &(*list)->elements[pos],
				((*list)->length - pos) * sizeof(ListCell));
		(*list)->length++;
	}
	return &(*list)->elements[pos];
}

List *
list_make1_impl(NodeTag t, ListCell datum1)
{
	List	   *list = new_list(t, 1, 0);

	list->elements[0] = datum1;
	return list;
}

List *
list_make2_impl(NodeTag t, ListCell datum1, ListCell datum2)
{
	List	   *list = new_list(t, 2, 0);

	list->elements[0] = datum1;
	list->elements[1] = datum2;
	return list;
}

List *
list_make3_impl(NodeTag t, ListCell datum1, ListCell datum2, ListCell datum3)
{
	List	   *list = new_list(t, 3, 0);

	list->elements[0] = datum1;
	list->elements[1] = datum2;
	list->elements[2] = datum3;
	return list;
}

List *
list_make4_impl(NodeTag t, ListCell datum1, ListCell datum2, ListCell datum3, ListCell datum4)
{
	List	   *list = new_list(t, 4, 0);

	list->elements[0] = datum1;
	list->elements[1] = datum2;
	list->elements[2] = datum3;
	list->elements[3] = datum4;
	return list;
}

List *
list_make5_impl(NodeTag t, ListCell datum1, ListCell datum2, ListCell datum3,
				ListCell datum4, ListCell datum5)
{
	List	   *list = list_make4_impl(t, datum1, datum2, datum3, datum4);

	list->elements[4] = datum5;
	list->length = 5;
	return list;
}

List *
lappend(List *list, void *datum)
{
	insert_cell(&list, T_List, list_length(list))->ptr_value = datum;
	return list;
}

List *
lappend_int(List *list, int datum)
{
	insert_cell(&list, T_IntList, list_length(list))->int_value = datum;
	return list;
}

List *
lappend_oid(List *list, Oid datum)
{
	insert_cell(&list, T_OidList, list_length(list))->oid_value = datum;
	return list;
}

List *
list_insert_nth(List *list, int pos, void *datum)
{
	insert_cell(&list, T_List, pos)->ptr_value = datum;
	return list;
}

List *
list_insert_nth_int(List *list, int pos, int datum)
{
	insert_cell(&list, T_IntList, pos)->int_value = datum;
	return list;
}

List *
lcons(void *datum, List *list)
{
	insert_cell(&list, T_List, 0)->ptr_value = datum;
	return list;
}

List *
lcons_int(int datum, List *list)
{
	insert_cell(&list, T_IntList, 0)->int_value = datum;
	return list;
}

/* ---- copies and parts ---- */

static List *
copy_range(const List *list, int from, int to)
{
	List	   *copy;

	if (from >= to)
		return NIL;
	copy = new_list(list->type, to - from, 0);
	memcpy(copy->elements, list->elements + from, (to - from) * sizeof(ListCell));
	return copy;
}

List *
list_copy(const List *list)
{
	return copy_range(list, 0, list_length(list));
}

List *
list_copy_head(const List *oldlist, int len)
{
	return copy_range(oldlist, 0, Min(len, list_length(oldlist)));
}

List *
list_copy_tail(const List *list, int nskip)
{
	return copy_range(list, Max(nskip, 0), list_length(list));
}

List *
list_concat(List *list1, const List *list2)
{
	int			added = list_length(list2);

	if (list1 == NIL)
		return list_copy(list2);
	if (added == 0)
		return list1;
	make_room(list1, list1->length + added);
	memcpy(list1->elements + list1->length, list2->elements, added * sizeof(ListCell));
	list1->length += added;
	return list1;
}

List *
list_concat_copy(const List *list1, const List *list2)
{
	return list_concat(list_copy(list1), list2);
}

List *
list_truncate(List *list, int new_size)
{
	if (new_size <= 0)
		return NIL;
	if (new_size < list_length(list))
		list->length = new_size;
	return list;
}

/* ---- members ---- */

bool
list_member_ptr(const List *list, const void *datum)
{
	for (int i = 0; i < list_length(list); i++)
	{
		if (list->elements[i].ptr_value == datum)
			return true;
	}
	return false;
}

bool
list_member_int(const List *list, int datum)
{
	for (int i = 0; i < list_length(list); i++)
	{
		if (list->elements[i].int_value == datum)
			return true;
	}
	return false;
}

List *
list_append_unique_ptr(List *list, void *datum)
{
	return list_member_ptr(list, datum) ? list : lappend(list, datum);
}

List *
list_append_unique_int(List *list, int datum)
{
	return list_member_int(list, datum) ? list : lappend_int(list, datum);
}

List *
list_delete_nth_cell(List *list, int n)
{
	if (list->length == 1)
	{
		list_free(list);
		return NIL;
	}
	memmove(&list->elements[n], &list->elements[n + 1], (list->length - 1 - n) * sizeof(ListCell));
	list->length--;
	return list;
}

List *
list_delete_cell(List *list, ListCell *cell)
{
	return list_delete_nth_cell(list, cell - list->elements);
}

List *
list_delete_first(List *list)
{
	return list == NIL ? NIL : list_delete_nth_cell(list, 0);
}

List *
list_delete_last(List *list)
{
	return list == NIL ? NIL : list_delete_nth_cell(list, list->length - 1);
}

List *
list_delete_first_n(List *list, int n)
{
	while (n-- > 0 && list != NIL)
		list = list_delete_first(list);
	return list;
}

List *
list_delete_ptr(List *list, void *datum)
{
	for (int i = 0; i < list_length(list); i++)
	{
		if (list->elements[i].ptr_value == datum)
			return list_delete_nth_cell(list, i);
	}
	return list;
}

List *
list_delete_int(List *list, int datum)
{
	for (int i = 0; i < list_length(list); i++)
	{
		if (list->elements[i].int_value == datum)
			return list_delete_nth_cell(list, i);
	}
	return list;
}

/* ---- sorting and freeing ---- */

void
list_sort(List *list, list_sort_comparator cmp)
{
	if (list_length(list) > 1)
		qsort(list->elements, list->length, sizeof(ListCell),
			  (int (*) (const void *, const void *)) (void (*) (void)) cmp);
}

int
list_int_cmp(const ListCell *p1, const ListCell *p2)
{
	return (p1->int_value > p2->int_value) - (p1->int_value < p2->int_value);
}

void
list_free(List *list)
{
	if (list == NIL)
		return;
	if (list->elements != list->initial_elements)
		pfree(list->elements);
	pfree(list);
}

void
list_free_deep(List *list)
{
	for (int i = 0; i < list_length(list); i++)
		pfree(list->elements[i].ptr_value);
	list_free(list);
}
