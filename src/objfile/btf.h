/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BTF, the types that a kernel describes itself with: sizes, offsets of members, values of
 * enumerators. A reader of hostile bytes that copies nothing and knows no kernel.
 *
 * Format: Documentation/bpf/btf.rst, include/uapi/linux/btf.h of Linux.
 */
#ifndef OBJFILE_BTF_H
#define OBJFILE_BTF_H

#include "base/types.h"

#define BTF_MAX_SIZE (256U << 20)
#define BTF_MAX_TYPES (4U << 20)

enum btf_kind {
	BTF_INT = 1,
	BTF_PTR,
	BTF_ARRAY,
	BTF_STRUCT,
	BTF_UNION,
	BTF_ENUM,
	BTF_FWD,
	BTF_TYPEDEF,
	BTF_VOLATILE,
	BTF_CONST,
	BTF_RESTRICT,
	BTF_FUNC,
	BTF_FUNC_PROTO,
	BTF_VAR,
	BTF_DATASEC,
	BTF_FLOAT,
	BTF_DECL_TAG,
	BTF_TYPE_TAG,
	BTF_ENUM64,
	BTF_NR_KINDS,
};

struct btf;

struct btf_member {
	u32 type;
	u32 bit_offset;	/* from the start of the outermost struct */
	u32 bit_size;	/* of a bit field; 0: not one */
};

/*
 * Opens the BTF at @data, which must outlive it; bytes behind its end are ignored. -ENODATA when
 * it is cut off, -EBADMSG when it makes no sense, -EOPNOTSUPP for a version or kind of type that
 * is not known, -E2BIG for more types than BTF_MAX_TYPES.
 */
int btf_create(const void *data, size_t size, struct btf **ret);
void btf_destroy(struct btf *btf);
DEFINE_CLEANUP(struct btf *, btf_destroy)

/* The bytes from @data on that it takes. */
size_t btf_bytes(const struct btf *btf);

/* The number of types; they are 1 to that. */
u32 btf_nr_types(const struct btf *btf);

/* The first type of @kind that is called @name, or -ENOENT. */
int btf_find(const struct btf *btf, enum btf_kind kind, const char *name, u32 *ret_type);

/*
 * The member at @path ("list.next") of the struct or union @type. Members of anonymous structs and
 * unions are found as members of what holds them. Typedefs and qualifiers are seen through.
 * -ENOENT when there is no such member, -EBADMSG when a type is not what its use says.
 */
int btf_find_member(const struct btf *btf, u32 type, const char *path, struct btf_member *ret);

/* The size of @type in bytes; typedefs, qualifiers and arrays resolved. */
int btf_size(const struct btf *btf, u32 type, u64 *ret_size);

/* The element of the array @type and how many it has. -EBADMSG when it is not an array. */
int btf_array(const struct btf *btf, u32 type, u32 *ret_element, u32 *ret_nr);

/* The value of the enumerator @name of the enum @type, or -ENOENT. */
int btf_enum_value(const struct btf *btf, u32 type, const char *name, s64 *ret_value);

#endif
