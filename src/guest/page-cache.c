/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page cache: address_space.i_pages, an XArray from 4.20 on (include/linux/xarray.h), of pages
 * and, from 5.17 on, of folios in entries that span several slots.
 *
 * An entry is a pointer when its two low bits are clear, a value (here: the shadow of a page that
 * was evicted, or where it was swapped to) when bit 0 is set, and the array's own when they are 2:
 * a node above 4096, below that a number in the upper bits, of which the first 62 say "see the slot
 * of that number".
 */
#include "guest/page-cache.h"

#define SLOT_BITS 6
#define NR_SLOTS (1U << SLOT_BITS)
#define MAX_SHIFT 48		/* of the largest file: 2^63 bytes */
#define INTERNAL(entry) (((entry) & 3) == 2)
#define IS_NODE(entry) (INTERNAL(entry) && (entry) > 4096)
#define IS_SIBLING(entry) (INTERNAL(entry) && ((entry) >> 2) < NR_SLOTS - 1)
#define IS_POINTER(entry) ((entry) && !((entry) & 3))
#define MAPPING_ANON 1		/* bit of page->mapping, PAGE_MAPPING_ANON */
#define HEAD_TAIL 1		/* bit of compound_head: this is a tail page */
#define MAX_PFN (1ULL << 40)

struct walk {
	const struct page_cache *cache;
	u64 first, last;
	page_fn *fn;
	void *ctx;
	u8 *bytes;	/* of one page */
};

struct xa_node {
	u32 shift;
	u64 parent;
	u64 slots[NR_SLOTS];
};

/* An entry of the array that is a folio, and the file's pages that it stands for. */
struct entry {
	u64 page;	/* address of a struct page: of the folio's first, or its own */
	u64 base;	/* the first index */
	u64 span;	/* pages */
};

/* A struct page, as far as it matters. */
struct page_info {
	u64 address;
	u64 flags, mapping, index, head;
};

static int read_page_info(const struct page_cache *cache, u64 address, struct page_info *ret)
{
	const struct user_layout *layout = cache->layout;
	u8 bytes[PAGE_STRUCT_MAX];
	int err = kread(cache->k, address, bytes, layout->page_bytes);

	if (err)
		return err;
	*ret = (struct page_info){ .address = address };
	memcpy(&ret->flags, bytes + layout->page_flags, 8);
	memcpy(&ret->mapping, bytes + layout->page_mapping, 8);
	memcpy(&ret->index, bytes + layout->page_index, 8);
	if (layout->page_head != LAYOUT_NONE)
		memcpy(&ret->head, bytes + layout->page_head, 8);
	return 0;
}

/* The first page of the folio that the page at @address belongs to. */
static int read_head(const struct page_cache *cache, u64 address, struct page_info *ret)
{
	int err = read_page_info(cache, address, ret);

	if (!err && ret->head & HEAD_TAIL)
		err = read_page_info(cache, ret->head - HEAD_TAIL, ret);
	return err;
}

static bool is_of_file(const struct page_cache *cache, const struct page_info *head)
{
	return head->mapping == cache->mapping &&
	       head->flags >> cache->layout->page_uptodate & 1;
}

/*
 * The struct page of page @index, known to be in the folio of @head. The array tells which pages
 * those are from 5.17 on; before that each page has its own slot with the folio in it, and the page
 * itself has to point back.
 */
static int find_page(const struct page_cache *cache, const struct entry *entry,
		     const struct page_info *head, u64 index, u64 *ret)
{
	u64 distance = index - head->index, address;
	struct page_info tail;

	if (index < head->index || distance >= MAX_PFN)
		return -EBADMSG;
	address = head->address + distance * cache->layout->page_bytes;
	*ret = address;
	if (!distance || (head->index == entry->base && distance < entry->span))
		return 0;
	if (cache->layout->page_head == LAYOUT_NONE || read_page_info(cache, address, &tail))
		return -EBADMSG;
	return tail.head == (head->address | HEAD_TAIL) ? 0 : -EBADMSG;
}

/* The number of the physical page whose struct page is at @address. */
static int page_number(const struct page_cache *cache, u64 address, u64 *ret)
{
	u64 distance = address - cache->vmemmap, size = cache->layout->page_bytes;

	if (address < cache->vmemmap || distance % size || distance / size >= MAX_PFN)
		return -EBADMSG;
	*ret = distance / size;
	return 0;
}

/* Looks again after the bytes were read: the page may have become another file's meanwhile. */
static int read_page(const struct page_cache *cache, const struct entry *entry, u64 index, u8 *out)
{
	struct page_info head, again;
	u64 page, number;
	int err = read_head(cache, entry->page, &head);

	if (!err && !is_of_file(cache, &head))
		err = -EBADMSG;
	if (!err)
		err = find_page(cache, entry, &head, index, &page);
	if (!err)
		err = page_number(cache, page, &number);
	if (!err)
		err = kread_physical(cache->k, number * cache->page, out, cache->page);
	if (!err)
		err = read_head(cache, entry->page, &again);
	if (err)
		return err;
	return is_of_file(cache, &again) && again.address == head.address &&
	       again.index == head.index ? 0 : -EBADMSG;
}

static int visit_entry(const struct walk *walk, const struct entry *entry)
{
	u64 from = MAX(walk->first, entry->base);
	u64 to = MIN(walk->last, entry->base + entry->span - 1);

	for (u64 index = from; index <= to; index++) {
		int err = read_page(walk->cache, entry, index, walk->bytes);

		if (!err)
			err = walk->fn(walk->ctx, index * walk->cache->page, walk->bytes);
		if (err && err != -EFAULT && err != -EBADMSG)
			return err;
	}
	return 0;
}

static int read_node(const struct page_cache *cache, u64 entry, struct xa_node *ret)
{
	const struct user_layout *layout = cache->layout;
	struct kobject node;
	int err = kobject_read(cache->k, entry - 2, layout->xa_bytes, &node);

	if (err)
		return err;
	ret->shift = node.bytes[layout->xa_shift];
	ret->parent = kobject_u64(&node, layout->xa_parent);
	memcpy(ret->slots, node.bytes + layout->xa_slots, sizeof(ret->slots));
	return ret->shift <= MAX_SHIFT && ret->shift % SLOT_BITS == 0 ? 0 : -EBADMSG;
}

/* How many slots from @i on are one entry. */
static u32 count_siblings(const struct xa_node *node, u32 i)
{
	u32 nr = 1;

	while (i + nr < NR_SLOTS && IS_SIBLING(node->slots[i + nr]) &&
	       node->slots[i + nr] >> 2 == i)
		nr++;
	return nr;
}

static int walk_node(const struct walk *walk, u64 entry, u64 parent, u32 max_shift, u64 base);

/* The slot's entry: a folio, a node below, or nothing that has bytes. */
static int visit_slot(const struct walk *walk, const struct xa_node *node, u64 address, u32 i,
		      u64 base)
{
	u64 slot = node->slots[i];
	struct entry entry = { .page = slot, .base = base };

	if (IS_NODE(slot))
		return node->shift ? walk_node(walk, slot, address, node->shift - SLOT_BITS, base) :
				     0;
	if (!IS_POINTER(slot))
		return 0;
	entry.span = (u64)count_siblings(node, i) << node->shift;
	return visit_entry(walk, &entry);
}

/* The nodes below one have shifts that are smaller by one step each: the depth ends by itself. */
static int walk_node(const struct walk *walk, u64 entry, u64 parent, u32 max_shift, u64 base)
{
	struct xa_node node;
	int err = read_node(walk->cache, entry, &node);

	if (err == -EFAULT || err == -EBADMSG)
		return 0;
	if (err)
		return err;
	if (node.parent != parent || node.shift > max_shift ||
	    (parent && node.shift != max_shift))
		return 0;	/* freed, and something else by now */
	for (u32 i = 0; !err && i < NR_SLOTS; i++) {
		u64 from = base + ((u64)i << node.shift), to;

		if (from < base || from > walk->last)
			break;
		/* An entry of several slots goes on for longer: as far as the file can. */
		to = from + ((u64)count_siblings(&node, i) << node.shift) - 1;
		if (to >= walk->first || to < from)
			err = visit_slot(walk, &node, entry - 2, i, from);
	}
	return err;
}

int page_cache_for_each(const struct page_cache *cache, u64 first, u64 last, page_fn *fn,
			void *ctx)
{
	_cleanup_free_ u8 *bytes = malloc(cache->page);
	struct walk walk = {
		.cache = cache, .first = first, .last = last, .fn = fn, .ctx = ctx, .bytes = bytes,
	};
	struct entry only = { .span = 1 };
	u64 head;
	int err;

	if (!bytes)
		return -ENOMEM;
	err = kread_u64(cache->k, cache->mapping + cache->layout->mapping_pages, &head);
	if (err)
		return err == -EFAULT ? 0 : err;
	if (IS_NODE(head))
		return walk_node(&walk, head, 0, MAX_SHIFT, 0);
	if (!IS_POINTER(head) || first)
		return 0;
	only.page = head;
	return visit_entry(&walk, &only);
}

bool page_cache_owns(const struct page_cache *cache, u64 gpa)
{
	u64 address = cache->vmemmap + gpa / cache->page * cache->layout->page_bytes;
	struct page_info head;

	return !read_head(cache, address, &head) && head.mapping == cache->mapping;
}
