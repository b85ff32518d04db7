/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BTF. One pass notes where each type begins and checks that it lies inside; lookups then go over
 * the types in place. Types may refer to each other in circles, so every chase is counted.
 */
#include "objfile/btf.h"

#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"

#define BTF_MAGIC 0xeb9f
#define BTF_VERSION 1
#define HEADER_SIZE 24
#define TYPE_SIZE 12	/* struct btf_type without what follows it */

#define MAX_CHASE 64		/* typedefs, qualifiers and arrays in a row */
#define MAX_NESTING 32		/* anonymous structs in each other */
#define MAX_MEMBERS (1U << 20)	/* members looked at for one path */

/* What follows struct btf_type: a fixed part, and one for each of its vlen things. */
static const struct {
	u8 fixed;
	u8 each;
} extra_size[BTF_NR_KINDS] = {
	[BTF_INT] = { 4, 0 },		[BTF_ARRAY] = { 12, 0 },
	[BTF_STRUCT] = { 0, 12 },	[BTF_UNION] = { 0, 12 },
	[BTF_ENUM] = { 0, 8 },		[BTF_FUNC_PROTO] = { 0, 8 },
	[BTF_VAR] = { 4, 0 },		[BTF_DATASEC] = { 0, 12 },
	[BTF_DECL_TAG] = { 4, 0 },	[BTF_ENUM64] = { 0, 12 },
};

struct btf {
	struct cursor types;	/* over the type section; kept at its start */
	const char *strings;	/* ends with NUL */
	u32 strings_len;
	size_t bytes;		/* from the header's start to the end of the last section */
	VEC(u32) offsets;	/* of type i + 1 in the type section */
};

struct type {
	u32 name;
	u32 vlen;
	u32 size_or_type;
	u8 kind;
	bool kind_flag;
	struct cursor extra;	/* what follows, exactly */
};

static int read_type(struct cursor *c, struct type *ret)
{
	struct type type;
	u32 info;
	size_t size;

	type.name = cursor_u32(c);
	info = cursor_u32(c);
	type.size_or_type = cursor_u32(c);
	if (cursor_error(c))
		return -ENODATA;
	/* The bits between are zero in all versions; wider fields may come to use them. */
	type.vlen = info & 0xffffff;
	type.kind = info >> 24 & 0x7f;
	type.kind_flag = info >> 31;
	if (!type.kind)
		return -EBADMSG;
	if (type.kind >= BTF_NR_KINDS)
		return -EOPNOTSUPP;
	size = extra_size[type.kind].fixed + (size_t)extra_size[type.kind].each * type.vlen;
	if (cursor_sub(c, cursor_offset(c), size, &type.extra))
		return -ENODATA;
	cursor_skip(c, size);
	*ret = type;
	return 0;
}

static int index_types(struct btf *btf)
{
	struct cursor c = btf->types;
	struct type type;

	while (cursor_left(&c)) {
		u32 offset = cursor_offset(&c);
		int err = read_type(&c, &type);

		if (err)
			return err;
		if (type.name >= btf->strings_len)
			return -EBADMSG;
		if (btf->offsets.nr == BTF_MAX_TYPES)
			return -E2BIG;
		err = vec_push(&btf->offsets, offset);
		if (err)
			return err;
	}
	return 0;
}

static int set_strings(struct btf *btf, const struct cursor *strings)
{
	size_t len = cursor_left(strings);

	if (!len || strings->start[0] || strings->start[len - 1])
		return -EBADMSG;
	btf->strings = (const char *)strings->start;
	btf->strings_len = len;
	return 0;
}

static int read_header(struct btf *btf, const void *data, size_t size)
{
	u32 header_len, type_off, type_len, str_off, str_len;
	struct cursor c, strings;
	u16 magic;
	int err;

	if (size > BTF_MAX_SIZE)
		size = BTF_MAX_SIZE;
	cursor_init(&c, data, size);
	magic = cursor_u16(&c);
	c.swap = magic == __builtin_bswap16(BTF_MAGIC);
	if (!cursor_error(&c) && magic != BTF_MAGIC && !c.swap)
		return -EBADMSG;
	if (cursor_u8(&c) != BTF_VERSION && !cursor_error(&c))
		return -EOPNOTSUPP;
	cursor_skip(&c, 1);	/* flags: none is known, none changes what we read */
	header_len = cursor_u32(&c);
	type_off = cursor_u32(&c);
	type_len = cursor_u32(&c);
	str_off = cursor_u32(&c);
	str_len = cursor_u32(&c);
	if (cursor_error(&c))
		return cursor_error(&c);
	if (header_len < HEADER_SIZE)
		return -EBADMSG;
	err = cursor_sub(&c, (size_t)header_len + type_off, type_len, &btf->types);
	if (!err)
		err = cursor_sub(&c, (size_t)header_len + str_off, str_len, &strings);
	if (err)
		return err;
	btf->bytes = header_len + MAX((size_t)type_off + type_len, (size_t)str_off + str_len);
	return set_strings(btf, &strings);
}

int btf_create(const void *data, size_t size, struct btf **ret)
{
	_cleanup_(btf_destroy) struct btf *btf = calloc(1, sizeof(*btf));
	int err;

	if (!btf)
		return -ENOMEM;
	err = read_header(btf, data, size);
	if (!err)
		err = index_types(btf);
	if (err)
		return err;
	*ret = TAKE_PTR(btf);
	return 0;
}

void btf_destroy(struct btf *btf)
{
	if (!btf)
		return;
	vec_deinit(&btf->offsets);
	free(btf);
}

size_t btf_bytes(const struct btf *btf)
{
	return btf->bytes;
}

u32 btf_nr_types(const struct btf *btf)
{
	return btf->offsets.nr;
}

/* -EBADMSG: nothing in well-formed BTF leads to a type that does not exist. */
static int get_type(const struct btf *btf, u32 id, struct type *ret)
{
	struct cursor c = btf->types;

	if (!id || id > btf->offsets.nr)
		return -EBADMSG;
	cursor_seek(&c, btf->offsets.data[id - 1]);
	return read_type(&c, ret);
}

static bool is_name(const struct btf *btf, u32 offset, const char *name, size_t len)
{
	return offset < btf->strings_len && btf->strings_len - offset > len &&
	       !memcmp(btf->strings + offset, name, len) && !btf->strings[offset + len];
}

int btf_find(const struct btf *btf, enum btf_kind kind, const char *name, u32 *ret_type)
{
	size_t len = strlen(name);
	struct type type;

	for (u32 id = 1; id <= btf->offsets.nr; id++) {
		if (get_type(btf, id, &type) || type.kind != kind)
			continue;
		if (!is_name(btf, type.name, name, len))
			continue;
		*ret_type = id;
		return 0;
	}
	return -ENOENT;
}

static bool is_alias(u8 kind)
{
	return kind == BTF_TYPEDEF || kind == BTF_VOLATILE || kind == BTF_CONST ||
	       kind == BTF_RESTRICT || kind == BTF_TYPE_TAG;
}

/* Sees through typedefs and qualifiers. */
static int resolve(const struct btf *btf, u32 id, struct type *ret)
{
	for (unsigned int i = 0; i < MAX_CHASE; i++) {
		int err = get_type(btf, id, ret);

		if (err || !is_alias(ret->kind))
			return err;
		id = ret->size_or_type;
	}
	return -EBADMSG;
}

struct search {
	const struct btf *btf;
	const char *name;
	size_t len;
	u32 budget;
};

/*
 * A bit field is marked by its struct's kind_flag; in older BTF by an int that is narrower than
 * its storage.
 */
static void decode_offset(const struct btf *btf, const struct type *holder, u32 offset,
			  struct btf_member *member)
{
	struct type type;
	u32 encoding;

	if (holder->kind_flag) {
		member->bit_offset += offset & 0xffffff;
		member->bit_size = offset >> 24;
		return;
	}
	member->bit_offset += offset;
	if (resolve(btf, member->type, &type) || type.kind != BTF_INT)
		return;
	encoding = cursor_u32(&type.extra);
	if ((encoding & 0xff) == (u64)type.size_or_type * 8)
		return;
	member->bit_offset += encoding >> 16 & 0xff;
	member->bit_size = encoding & 0xff;
}

static int find_in(struct search *search, u32 id, unsigned int depth, struct btf_member *found)
{
	struct type holder;
	int err = resolve(search->btf, id, &holder);

	if (err)
		return err;
	if (holder.kind != BTF_STRUCT && holder.kind != BTF_UNION)
		return -EBADMSG;
	for (u32 i = 0; i < holder.vlen; i++) {
		u32 name = cursor_u32(&holder.extra);
		struct btf_member member = { .type = cursor_u32(&holder.extra) };
		u32 offset = cursor_u32(&holder.extra);

		if (!search->budget--)
			return -E2BIG;
		member.bit_offset = found->bit_offset;
		decode_offset(search->btf, &holder, offset, &member);
		if (is_name(search->btf, name, search->name, search->len)) {
			*found = member;
			return 0;
		}
		if (name || depth == MAX_NESTING)
			continue;
		err = find_in(search, member.type, depth + 1, &member);
		if (!err) {
			*found = member;
			return 0;
		}
		/* An anonymous bit field is not a struct; it just has no name. */
		if (err != -ENOENT && err != -EBADMSG)
			return err;
	}
	return -ENOENT;
}

int btf_find_member(const struct btf *btf, u32 type, const char *path, struct btf_member *ret)
{
	struct search search = { .btf = btf, .budget = MAX_MEMBERS };
	struct btf_member found = { .type = type };

	while (*path) {
		int err;

		search.name = path;
		search.len = strcspn(path, ".");
		err = find_in(&search, found.type, 0, &found);
		if (err)
			return err;
		path += search.len;
		path += *path == '.';
	}
	*ret = found;
	return 0;
}

int btf_array(const struct btf *btf, u32 type, u32 *ret_element, u32 *ret_nr)
{
	struct type array;
	u32 element;
	int err = resolve(btf, type, &array);

	if (err)
		return err;
	if (array.kind != BTF_ARRAY)
		return -EBADMSG;
	element = cursor_u32(&array.extra);
	cursor_u32(&array.extra);	/* type of the index */
	*ret_nr = cursor_u32(&array.extra);
	*ret_element = element;
	return 0;
}

int btf_size(const struct btf *btf, u32 type, u64 *ret_size)
{
	u64 count = 1;

	for (unsigned int i = 0; i < MAX_CHASE; i++) {
		struct type t;
		u32 nr;
		int err = resolve(btf, type, &t);

		if (err)
			return err;
		switch (t.kind) {
		case BTF_ARRAY:
			err = btf_array(btf, type, &type, &nr);
			if (err)
				return err;
			if (__builtin_mul_overflow(count, nr, &count))
				return -EBADMSG;
			continue;
		case BTF_PTR:
			/* BTF says nowhere how wide a pointer is; our kernels are 64-bit. */
			t.size_or_type = 8;
			break;
		case BTF_INT:
		case BTF_STRUCT:
		case BTF_UNION:
		case BTF_ENUM:
		case BTF_ENUM64:
		case BTF_FLOAT:
		case BTF_DATASEC:
			break;
		default:
			return -EBADMSG;
		}
		return __builtin_mul_overflow(count, t.size_or_type, ret_size) ? -EBADMSG : 0;
	}
	return -EBADMSG;
}

int btf_enum_value(const struct btf *btf, u32 type, const char *name, s64 *ret_value)
{
	size_t len = strlen(name);
	struct type t;
	int err = resolve(btf, type, &t);

	if (err)
		return err;
	if (t.kind != BTF_ENUM && t.kind != BTF_ENUM64)
		return -EBADMSG;
	for (u32 i = 0; i < t.vlen; i++) {
		u32 at = cursor_u32(&t.extra), low = cursor_u32(&t.extra), high;

		if (t.kind == BTF_ENUM64)
			high = cursor_u32(&t.extra);
		else
			high = t.kind_flag && (s32)low < 0 ? UINT32_MAX : 0;
		if (!is_name(btf, at, name, len))
			continue;
		*ret_value = (s64)((u64)high << 32 | low);
		return 0;
	}
	return -ENOENT;
}
