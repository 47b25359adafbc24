/*
 * roaring64.c
 *		Serialised roaring bitmaps: the 64-bit format of Java's Roaring64Bitmap.
 *
 * The upper 48 bits of the members are the keys of an adaptive radix tree,
 * written node by node, parents first; its leaves have the numbers of the
 * containers, which follow in an array that may have holes.  How the tree
 * looks depends a little on the order of insertion, and the array's length on
 * how it grew: both are kept up as Java does.
 */
#include "postgres.h"

#include "lake/roaring.h"
#include "miscadmin.h"

#define KEY_BYTES 6
#define TAG_EMPTY 0
#define TAG_NOT_EMPTY 1
#define CONTAINERS_NOT_TRIMMED 0xFE
#define LEVELS 1				/* arrays of containers: a second one begins after 2^31 containers */
#define NO_SLOT 0xFF

/* As numbered in the format */
typedef enum NodeForm
{
	NODE_4,
	NODE_16,
	NODE_48,
	NODE_256,
	NODE_LEAF
} NodeForm;

static const int node_capacities[] = {4, 16, 48, 256};

struct Node;

typedef struct Child
{
	uint8		key;
	uint8		slot;			/* of NODE_48: where Java's array has it */
	struct Node *node;
} Child;

typedef struct Node
{
	NodeForm	form;
	int			nprefix;
	uint8		prefix[KEY_BYTES];
	int			nchildren;
	Child	   *children;		/* by key; room as the form has it */
	/* of a leaf */
	uint8		key[KEY_BYTES];
	int64		container;
} Node;

typedef struct Bitmap64
{
	Node	   *root;			/* NULL: empty */
	int64		nkeys;
	int			length;			/* of the array of containers, holes included */
	int			room;			/* as Java has it */
	int			max_containers; /* as we have it */
	RoaringContainer *containers;
	bool	   *present;
	int64		ncontainers;	/* that are present */
	int			last;			/* number given last */
} Bitmap64;

/* ---- reading ---- */

static Child *
allocate_children(NodeForm form)
{
	return palloc0(node_capacities[form] * sizeof(Child));
}

/* Keys of an inner node's children, which ascend. */
static bool
read_child_keys(ByteInput *input, Node *node)
{
	static const int key_bytes[] = {4, 16, 256, 32};
	const char *bytes = byte_input_take(input, key_bytes[node->form]);
	int			count = 0;

	if (bytes == NULL || node->nchildren < 2 || node->nchildren > node_capacities[node->form])
		return false;
	node->children = allocate_children(node->form);
	for (int i = 0; i < 256 && count < node->nchildren; i++)
	{
		Child	   *child = &node->children[count];

		/* words of eight bytes (of NODE_4 four) were turned from the highest byte first */
		if (node->form == NODE_4)
			child->key = i < 4 ? (uint8) bytes[3 - i] : 0;
		else if (node->form == NODE_16)
			child->key = i < 16 ? (uint8) bytes[i / 8 * 8 + 7 - i % 8] : 0;
		else
		{
			child->key = (uint8) i;
			if (node->form == NODE_48)
				child->slot = (uint8) bytes[i / 8 * 8 + 7 - i % 8];
			else if (!(bytes[i / 8] >> (i % 8) & 1))
				child->slot = NO_SLOT;
			if (child->slot == NO_SLOT)
			{
				child->slot = 0;
				continue;
			}
			if (child->slot >= node_capacities[NODE_48])
				return false;
		}
		if (count > 0 && node->children[count - 1].key >= child->key)
			return false;
		count++;
	}
	return count == node->nchildren;
}

/* The node below a path, the first depth bytes of the keys of its leaves. */
static Node *
read_node(ByteInput *input, Bitmap64 *bitmap, uint8 *path, int depth)
{
	Node	   *node = palloc0(sizeof(Node));
	uint64		form;
	uint64		nchildren;
	uint64		nprefix;
	const char *bytes;

	if (!byte_input_number(input, 1, &form) || !byte_input_number(input, 2, &nchildren) || !byte_input_number(input, 1, &nprefix) ||
		form > NODE_LEAF || depth + nprefix > KEY_BYTES || (bytes = byte_input_take(input, nprefix)) == NULL)
		return NULL;
	node->form = (NodeForm) form;
	if (node->form == NODE_LEAF)
	{
		uint64		container;

		/* leaves may have a prefix left over from the past, which means nothing */
		bytes = byte_input_take(input, KEY_BYTES);
		if (bytes == NULL || memcmp(bytes, path, depth) != 0 || !byte_input_number(input, 8, &container))
			return NULL;
		memcpy(node->key, bytes, KEY_BYTES);
		node->container = (int64) container;
		bitmap->nkeys--;
		return node;
	}
	node->nprefix = (int) nprefix;
	memcpy(node->prefix, bytes, nprefix);
	node->nchildren = (int) nchildren;
	if (depth + nprefix >= KEY_BYTES || !read_child_keys(input, node))
		return NULL;
	memcpy(path + depth, bytes, nprefix);
	for (int i = 0; i < node->nchildren; i++)
	{
		path[depth + nprefix] = node->children[i].key;
		node->children[i].node = read_node(input, bitmap, path, depth + (int) nprefix + 1);
		if (node->children[i].node == NULL)
			return NULL;
	}
	return node;
}

static bool
read_containers(ByteInput *input, Bitmap64 *bitmap)
{
	uint64		levels;
	uint64		trimmed;
	uint64		length;
	uint64		count;
	uint64		level;
	uint64		last;

	if (!byte_input_number(input, 4, &levels) || levels != LEVELS || !byte_input_number(input, 1, &trimmed) ||
		!byte_input_number(input, 4, &length) || length > (uint64) (input->end - input->next))
		return false;
	bitmap->room = bitmap->max_containers = (int) length;
	bitmap->containers = MemoryContextAllocHuge(CurrentMemoryContext, Max(length, 1) * sizeof(RoaringContainer));
	bitmap->present = MemoryContextAllocHuge(CurrentMemoryContext, Max(length, 1));
	for (uint64 i = 0; i < length; i++)
	{
		uint64		tag;
		uint64		form;
		uint64		cardinality;

		if (!byte_input_number(input, 1, &tag) || tag > 1)
			return false;
		bitmap->present[i] = tag == 1;
		if (!bitmap->present[i])
			continue;
		if (!byte_input_number(input, 1, &form) || form > ROARING_ARRAY || !byte_input_number(input, 4, &cardinality) ||
			cardinality > PG_INT32_MAX ||
			!roaring_read_container(input, (RoaringForm) form, (int) cardinality, &bitmap->containers[i]))
			return false;
		bitmap->ncontainers++;
	}
	if (!byte_input_number(input, 8, &count) || count != (uint64) bitmap->ncontainers ||
		!byte_input_number(input, 4, &level) || level != 0 ||
		!byte_input_number(input, 4, &last) || last >= length)
		return false;
	bitmap->last = (int) last;
	bitmap->length = bitmap->last + 1;
	return true;
}

/* Do the leaves name containers that are there? */
static bool
leaves_are_sound(const Bitmap64 *bitmap, const Node *node)
{
	if (node->form == NODE_LEAF)
		return node->container >= 0 && node->container < bitmap->length && bitmap->present[node->container];
	for (int i = 0; i < node->nchildren; i++)
		if (!leaves_are_sound(bitmap, node->children[i].node))
			return false;
	return true;
}

static bool
read_bitmap(BytesView bytes, Bitmap64 *bitmap)
{
	ByteInput	input = byte_input(bytes);
	uint8		path[KEY_BYTES];
	uint64		tag;
	uint64		nkeys;

	memset(bitmap, 0, sizeof(*bitmap));
	bitmap->last = -1;
	if (!byte_input_number(&input, 1, &tag) || tag > TAG_NOT_EMPTY)
		return false;
	if (tag == TAG_EMPTY)
		return true;
	if (!byte_input_number(&input, 8, &nkeys))
		return false;
	bitmap->nkeys = (int64) nkeys;
	bitmap->root = read_node(&input, bitmap, path, 0);
	if (bitmap->root == NULL || bitmap->nkeys != 0 || !read_containers(&input, bitmap))
		return false;
	bitmap->nkeys = (int64) nkeys;
	return leaves_are_sound(bitmap, bitmap->root);
}

/* ---- inserting ---- */

static int
common_length(const uint8 *a, const uint8 *b, int length)
{
	int			common = 0;

	while (common < length && a[common] == b[common])
		common++;
	return common;
}

static Node *
make_leaf(const uint8 *key, int64 container)
{
	Node	   *leaf = palloc0(sizeof(Node));

	leaf->form = NODE_LEAF;
	memcpy(leaf->key, key, KEY_BYTES);
	leaf->container = container;
	return leaf;
}

static Node *
make_node(const uint8 *prefix, int nprefix)
{
	Node	   *node = palloc0(sizeof(Node));

	node->form = NODE_4;
	node->nprefix = nprefix;
	memcpy(node->prefix, prefix, nprefix);
	node->children = allocate_children(NODE_4);
	return node;
}

/* A full node becomes one of the next form; in NODE_48 children first stand in the order of keys. */
static void
grow_node(Node *node)
{
	Child	   *old = node->children;

	node->form = (NodeForm) (node->form + 1);
	node->children = allocate_children(node->form);
	memcpy(node->children, old, node->nchildren * sizeof(Child));
	for (int i = 0; i < node->nchildren && node->form == NODE_48; i++)
		node->children[i].slot = (uint8) i;
}

static uint8
free_slot(const Node *node)
{
	bool		used[256] = {false};
	int			slot = node->nchildren;

	for (int i = 0; i < node->nchildren; i++)
		used[node->children[i].slot] = true;
	if (used[slot])
		for (slot = 0; used[slot];)
			slot++;
	return (uint8) slot;
}

static void
add_child(Node *node, uint8 key, Node *child)
{
	Child		added = {.key = key, .node = child};
	int			place;

	if (node->nchildren == node_capacities[node->form])
		grow_node(node);
	if (node->form == NODE_48)
		added.slot = free_slot(node);
	place = node->nchildren;
	while (place > 0 && node->children[place - 1].key > key)
		place--;
	memmove(&node->children[place + 1], &node->children[place], (node->nchildren - place) * sizeof(Child));
	node->children[place] = added;
	node->nchildren++;
}

static Child *
find_child(const Node *node, uint8 key)
{
	for (int i = 0; i < node->nchildren; i++)
		if (node->children[i].key == key)
			return &node->children[i];
	return NULL;
}

/* Insert a key that is not there below a node; the node that takes its place. */
static Node *
insert_key(Node *node, int depth, const uint8 *key, int64 container)
{
	Node	   *leaf;
	Node	   *split;
	Child	   *child;
	int			common;

	if (node == NULL)
		return make_leaf(key, container);
	if (node->form == NODE_LEAF)
	{
		common = common_length(node->key + depth, key + depth, KEY_BYTES - depth - 1);
		split = make_node(key + depth, common);
		add_child(split, node->key[depth + common], node);
		add_child(split, key[depth + common], make_leaf(key, container));
		return split;
	}
	common = common_length(node->prefix, key + depth, node->nprefix);
	if (common < node->nprefix)
	{
		leaf = make_leaf(key, container);
		split = make_node(node->prefix, common);
		add_child(split, node->prefix[common], node);
		add_child(split, key[depth + common], leaf);
		node->nprefix -= common + 1;
		memmove(node->prefix, node->prefix + common + 1, node->nprefix);
		return split;
	}
	depth += node->nprefix;
	child = find_child(node, key[depth]);
	if (child != NULL)
		child->node = insert_key(child->node, depth + 1, key, container);
	else
		add_child(node, key[depth], make_leaf(key, container));
	return node;
}

static Node *
find_leaf(Node *node, const uint8 *key)
{
	int			depth = 0;

	while (node != NULL && node->form != NODE_LEAF)
	{
		Child	   *child;

		depth += node->nprefix;
		child = find_child(node, key[depth++]);
		node = child != NULL ? child->node : NULL;
	}
	return node != NULL && memcmp(node->key, key, KEY_BYTES) == 0 ? node : NULL;
}

/* Room grows by half, in Java's array; the number of the new container. */
static int
add_container(Bitmap64 *bitmap, const RoaringContainer *container)
{
	int			number = bitmap->last + 1;

	if (number + 1 > bitmap->room)
		bitmap->room = Max(bitmap->room + bitmap->room / 2, number + 1);
	if (number >= bitmap->max_containers)
	{
		int			room = Max(bitmap->max_containers * 2, 16);
		RoaringContainer *containers = MemoryContextAllocHuge(CurrentMemoryContext, room * sizeof(RoaringContainer));
		bool	   *present = MemoryContextAllocHuge(CurrentMemoryContext, room);

		if (number > 0)
		{
			memcpy(containers, bitmap->containers, number * sizeof(RoaringContainer));
			memcpy(present, bitmap->present, number);
		}
		bitmap->containers = containers;
		bitmap->present = present;
		bitmap->max_containers = room;
	}
	bitmap->containers[number] = *container;
	bitmap->present[number] = true;
	bitmap->ncontainers++;
	bitmap->last = number;
	bitmap->length = number + 1;
	return number;
}

/* Add what is below a node of another bitmap. */
static void
unite_node(Bitmap64 *bitmap, const Bitmap64 *other, const Node *node)
{
	const RoaringContainer *container;
	Node	   *leaf;

	for (int i = 0; i < node->nchildren; i++)
		unite_node(bitmap, other, node->children[i].node);
	if (node->form != NODE_LEAF)
		return;
	CHECK_FOR_INTERRUPTS();
	container = &other->containers[node->container];
	leaf = bitmap->root != NULL ? find_leaf(bitmap->root, node->key) : NULL;
	if (leaf != NULL)
	{
		RoaringContainer *present = &bitmap->containers[leaf->container];

		*present = roaring_unite_containers(present, container);
	}
	else
	{
		bitmap->root = insert_key(bitmap->root, 0, node->key, add_container(bitmap, container));
		bitmap->nkeys++;
	}
}

/* ---- writing ---- */

static void
append_child_keys(StringInfo out, const Node *node)
{
	uint8		bytes[256];
	int			length = node->form == NODE_4 ? 4 : node->form == NODE_16 ? 16 : node->form == NODE_48 ? 256 : 32;

	memset(bytes, node->form == NODE_48 ? NO_SLOT : 0, sizeof(bytes));
	for (int i = 0; i < node->nchildren; i++)
	{
		const Child *child = &node->children[i];

		if (node->form == NODE_4)
			bytes[3 - i] = child->key;
		else if (node->form == NODE_16)
			bytes[i / 8 * 8 + 7 - i % 8] = child->key;
		else if (node->form == NODE_48)
			bytes[child->key / 8 * 8 + 7 - child->key % 8] = child->slot;
		else
			bytes[child->key / 8] |= 1 << (child->key % 8);
	}
	appendBinaryStringInfo(out, (const char *) bytes, length);
}

static void
append_node(StringInfo out, const Node *node)
{
	append_number(out, node->form, 1);
	append_number(out, node->nchildren, 2);
	append_number(out, node->nprefix, 1);
	appendBinaryStringInfo(out, (const char *) node->prefix, node->nprefix);
	if (node->form == NODE_LEAF)
	{
		appendBinaryStringInfo(out, (const char *) node->key, KEY_BYTES);
		append_number(out, node->container, 8);
		return;
	}
	append_child_keys(out, node);
	for (int i = 0; i < node->nchildren; i++)
		append_node(out, node->children[i].node);
}

static void
append_containers(StringInfo out, const Bitmap64 *bitmap)
{
	append_number(out, LEVELS, 4);
	append_number(out, CONTAINERS_NOT_TRIMMED, 1);
	append_number(out, bitmap->room, 4);
	for (int i = 0; i < bitmap->room; i++)
	{
		const RoaringContainer *container = &bitmap->containers[i];

		append_number(out, i < bitmap->length && bitmap->present[i] ? 1 : 0, 1);
		if (i >= bitmap->length || !bitmap->present[i])
			continue;
		append_number(out, container->form, 1);
		append_number(out, container->cardinality, 4);
		roaring_append_container(out, container);
	}
	append_number(out, bitmap->ncontainers, 8);
	append_number(out, 0, 4);
	append_number(out, bitmap->last, 4);
}

static void
optimize_containers(Bitmap64 *bitmap)
{
	for (int i = 0; i < bitmap->length; i++)
	{
		/* runs that are no longer of use are left as they are */
		if (bitmap->present[i] && bitmap->containers[i].form != ROARING_RUNS)
			bitmap->containers[i] = roaring_unite_containers(&bitmap->containers[i], NULL);
	}
}

bool
roaring64_unite(BytesView a, BytesView b, StringInfo out)
{
	Bitmap64	bitmap;
	Bitmap64	other;

	if (!read_bitmap(a, &bitmap) || !read_bitmap(b, &other))
		return false;
	if (other.root != NULL)
		unite_node(&bitmap, &other, other.root);
	if (bitmap.root == NULL)
	{
		append_number(out, TAG_EMPTY, 1);
		return true;
	}
	optimize_containers(&bitmap);
	append_number(out, TAG_NOT_EMPTY, 1);
	append_number(out, bitmap.nkeys, 8);
	append_node(out, bitmap.root);
	append_containers(out, &bitmap);
	return true;
}
