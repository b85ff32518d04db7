/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF made type by type. */
#ifndef BUILD_BTF_H
#define BUILD_BTF_H

#include "build.h"
#include "objfile/btf.h"

struct build_btf {
	struct strbuf types;
	struct strbuf strings;
	u32 nr;		/* types so far; the last one's number */
	bool swap;	/* big endian on a little-endian host, and the reverse */
};

struct build_btf_member {
	const char *name;	/* NULL: anonymous */
	u32 type;
	u32 bit_offset;
	u32 bit_size;		/* not 0: the struct has the kind_flag encoding */
};

struct build_btf_enumerator {
	const char *name;
	s64 value;
};

void build_btf_init(struct build_btf *b);
void build_btf_deinit(struct build_btf *b);

/* Each returns the number of the new type. */
u32 build_btf_int(struct build_btf *b, const char *name, u32 size, u8 bits, u8 offset);
u32 build_btf_ref(struct build_btf *b, enum btf_kind kind, const char *name, u32 to);
u32 build_btf_array(struct build_btf *b, u32 element, u32 nr);
u32 build_btf_struct(struct build_btf *b, enum btf_kind kind, const char *name, u32 size,
		     const struct build_btf_member *members, u32 nr);
u32 build_btf_enum(struct build_btf *b, const char *name, const struct build_btf_enumerator *values,
		   u32 nr, bool wide);
/* Any record: a fixed part of @nr_extra words follows. */
u32 build_btf_raw(struct build_btf *b, const char *name, u32 info, u32 size_or_type,
		  const u32 *extra, u32 nr_extra);

/* Appends header, types and strings. */
void build_btf_finish(const struct build_btf *b, struct strbuf *out);

#endif
