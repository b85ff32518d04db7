/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF made type by type. */
#include "build-btf.h"

#include <string.h>

#define KIND(kind) ((u32)(kind) << 24)
#define KIND_FLAG (1U << 31)

void build_btf_init(struct build_btf *b)
{
	*b = (struct build_btf){ 0 };
	put_u8(&b->strings, 0);
}

void build_btf_deinit(struct build_btf *b)
{
	strbuf_deinit(&b->types);
	strbuf_deinit(&b->strings);
}

static void put(const struct build_btf *b, struct strbuf *out, u32 v)
{
	put_u32(out, b->swap ? __builtin_bswap32(v) : v);
}

static u32 put_string(struct build_btf *b, const char *s)
{
	u32 offset = b->strings.len;

	if (!s || !*s)
		return 0;
	strbuf_add(&b->strings, s, strlen(s) + 1);
	return offset;
}

static u32 begin(struct build_btf *b, const char *name, u32 info, u32 size_or_type)
{
	put(b, &b->types, put_string(b, name));
	put(b, &b->types, info);
	put(b, &b->types, size_or_type);
	return ++b->nr;
}

u32 build_btf_int(struct build_btf *b, const char *name, u32 size, u8 bits, u8 offset)
{
	u32 id = begin(b, name, KIND(BTF_INT), size);

	put(b, &b->types, (u32)offset << 16 | bits);
	return id;
}

u32 build_btf_ref(struct build_btf *b, enum btf_kind kind, const char *name, u32 to)
{
	return begin(b, name, KIND(kind), to);
}

u32 build_btf_array(struct build_btf *b, u32 element, u32 nr)
{
	u32 id = begin(b, NULL, KIND(BTF_ARRAY), 0);

	put(b, &b->types, element);
	put(b, &b->types, element);
	put(b, &b->types, nr);
	return id;
}

u32 build_btf_struct(struct build_btf *b, enum btf_kind kind, const char *name, u32 size,
		     const struct build_btf_member *members, u32 nr)
{
	u32 flag = 0, id;

	for (u32 i = 0; i < nr; i++)
		if (members[i].bit_size)
			flag = KIND_FLAG;
	id = begin(b, name, KIND(kind) | flag | nr, size);
	for (u32 i = 0; i < nr; i++) {
		put(b, &b->types, put_string(b, members[i].name));
		put(b, &b->types, members[i].type);
		put(b, &b->types, members[i].bit_offset | members[i].bit_size << 24);
	}
	return id;
}

u32 build_btf_enum(struct build_btf *b, const char *name, const struct build_btf_enumerator *values,
		   u32 nr, bool wide)
{
	u32 id = begin(b, name, KIND(wide ? BTF_ENUM64 : BTF_ENUM) | KIND_FLAG | nr, wide ? 8 : 4);

	for (u32 i = 0; i < nr; i++) {
		put(b, &b->types, put_string(b, values[i].name));
		put(b, &b->types, values[i].value);
		if (wide)
			put(b, &b->types, values[i].value >> 32);
	}
	return id;
}

u32 build_btf_raw(struct build_btf *b, const char *name, u32 info, u32 size_or_type,
		  const u32 *extra, u32 nr_extra)
{
	u32 id = begin(b, name, info, size_or_type);

	for (u32 i = 0; i < nr_extra; i++)
		put(b, &b->types, extra[i]);
	return id;
}

void build_btf_finish(const struct build_btf *b, struct strbuf *out)
{
	put_u16(out, b->swap ? 0x9feb : 0xeb9f);
	put_u8(out, 1);
	put_u8(out, 0);
	put(b, out, 24);
	put(b, out, 0);
	put(b, out, b->types.len);
	put(b, out, b->types.len);
	put(b, out, b->strings.len);
	strbuf_add(out, b->types.data, b->types.len);
	strbuf_add(out, b->strings.data, b->strings.len);
}
