/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF: members, sizes and enumerators as declared; circles and lies refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-btf.h"

struct fixture {
	struct build_btf build;
	struct strbuf bytes;
	struct btf *btf;
	u32 u32_type, list, task, module;
};

static void declare_types(struct fixture *f)
{
	struct build_btf *b = &f->build;
	u32 chars, ptr, elements, inner, outer, aliased;

	f->u32_type = build_btf_int(b, "unsigned int", 4, 32, 0);
	chars = build_btf_array(b, build_btf_int(b, "char", 1, 8, 0), 16);
	ptr = build_btf_ref(b, BTF_PTR, NULL, 0);
	f->list = build_btf_struct(b, BTF_STRUCT, "list_head", 16,
				   (struct build_btf_member[]){ { "next", ptr, 0, 0 },
								{ "prev", ptr, 64, 0 } }, 2);
	/* struct { u32 a; union { u32 pid; u32 tid; }; } inside another anonymous struct. */
	inner = build_btf_struct(b, BTF_UNION, NULL, 4,
				 (struct build_btf_member[]){ { "pid", f->u32_type, 0, 0 },
							      { "tid", f->u32_type, 0, 0 } }, 2);
	outer = build_btf_struct(b, BTF_STRUCT, NULL, 8,
				 (struct build_btf_member[]){ { "a", f->u32_type, 0, 0 },
							      { NULL, inner, 32, 0 } }, 2);
	aliased = build_btf_ref(b, BTF_CONST, NULL,
				build_btf_ref(b, BTF_TYPEDEF, "list_t", f->list));
	elements = build_btf_array(b, aliased, 3);
	f->task = build_btf_struct(b, BTF_STRUCT, "task_struct", 96,
				   (struct build_btf_member[]){
					   { "state", f->u32_type, 0, 0 },
					   { NULL, f->u32_type, 32, 0 },
					   { NULL, outer, 64, 0 },
					   { "comm", chars, 128, 0 },
					   { "tasks", aliased, 256, 0 },
					   { "lists", elements, 384, 0 },
				   }, 6);
	f->module = build_btf_struct(b, BTF_STRUCT, "flags", 8,
				     (struct build_btf_member[]){ { "low", f->u32_type, 0, 3 },
								  { "high", f->u32_type, 3, 7 },
								  { "whole", ptr, 32, 0 } }, 3);
	build_btf_enum(b, "mod_mem_type",
		       (struct build_btf_enumerator[]){ { "MOD_INVALID", -1 }, { "MOD_TEXT", 0 },
							{ "MOD_DATA", 1 } }, 3, false);
	build_btf_enum(b, "big", (struct build_btf_enumerator[]){ { "BIG", 1LL << 40 } }, 1, true);
}

static void open_fixture(struct fixture *f, bool swap)
{
	*f = (struct fixture){ .bytes = STRBUF_INIT };
	build_btf_init(&f->build);
	f->build.swap = swap;
	declare_types(f);
	build_btf_finish(&f->build, &f->bytes);
	assert_int_equal(btf_create(f->bytes.data, f->bytes.len, &f->btf), 0);
}

static void close_fixture(struct fixture *f)
{
	btf_destroy(f->btf);
	build_btf_deinit(&f->build);
	strbuf_deinit(&f->bytes);
}

static void check_member(const struct btf *btf, u32 type, const char *path, u32 bit_offset,
			 u32 bit_size)
{
	struct btf_member member;

	assert_int_equal(btf_find_member(btf, type, path, &member), 0);
	assert_int_equal(member.bit_offset, bit_offset);
	assert_int_equal(member.bit_size, bit_size);
}

static void check_fixture(const struct fixture *f)
{
	struct btf_member member = { .type = 77 };
	u32 id, nr;
	u64 size;
	s64 value;

	assert_int_equal(btf_nr_types(f->btf), f->build.nr);
	assert_int_equal(btf_find(f->btf, BTF_STRUCT, "task_struct", &id), 0);
	assert_int_equal(id, f->task);
	assert_int_equal(btf_find(f->btf, BTF_UNION, "task_struct", &id), -ENOENT);
	assert_int_equal(btf_find(f->btf, BTF_STRUCT, "task_struc", &id), -ENOENT);
	check_member(f->btf, f->task, "state", 0, 0);
	check_member(f->btf, f->task, "a", 64, 0);
	check_member(f->btf, f->task, "pid", 96, 0);
	check_member(f->btf, f->task, "tid", 96, 0);
	check_member(f->btf, f->task, "tasks.prev", 256 + 64, 0);
	assert_int_equal(btf_find_member(f->btf, f->task, "tasks.none", &member), -ENOENT);
	assert_int_equal(btf_find_member(f->btf, f->task, "state.none", &member), -EBADMSG);
	assert_int_equal(btf_find_member(f->btf, f->task, "stat", &member), -ENOENT);
	assert_int_equal(btf_find_member(f->btf, 0, "state", &member), -EBADMSG);
	assert_int_equal(btf_find_member(f->btf, f->build.nr + 1, "state", &member), -EBADMSG);
	assert_int_equal(member.type, 77);
	assert_int_equal(btf_find_member(f->btf, f->task, "lists", &member), 0);
	assert_int_equal(btf_size(f->btf, member.type, &size), 0);
	assert_int_equal(size, 48);
	assert_int_equal(btf_array(f->btf, member.type, &id, &nr), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(btf_find_member(f->btf, id, "prev", &member), 0);
	assert_int_equal(btf_array(f->btf, f->task, &id, &nr), -EBADMSG);
	check_member(f->btf, f->module, "low", 0, 3);
	check_member(f->btf, f->module, "high", 3, 7);
	check_member(f->btf, f->module, "whole", 32, 0);
	assert_int_equal(btf_find(f->btf, BTF_ENUM, "mod_mem_type", &id), 0);
	assert_int_equal(btf_enum_value(f->btf, id, "MOD_TEXT", &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(btf_enum_value(f->btf, id, "MOD_INVALID", &value), 0);
	assert_int_equal(value, -1);
	assert_int_equal(btf_enum_value(f->btf, id, "MOD_NONE", &value), -ENOENT);
	assert_int_equal(btf_enum_value(f->btf, f->task, "MOD_TEXT", &value), -EBADMSG);
	assert_int_equal(btf_find(f->btf, BTF_ENUM64, "big", &id), 0);
	assert_int_equal(btf_enum_value(f->btf, id, "BIG", &value), 0);
	assert_int_equal(value, 1LL << 40);
}

static void test_lookups(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, false);
	check_fixture(&f);
	close_fixture(&f);
}

static void test_other_byte_order(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, true);
	check_fixture(&f);
	close_fixture(&f);
}

/* Before kind_flag a bit field was an int narrower than its storage, with an offset of its own. */
static void test_old_bit_fields(void **state)
{
	struct fixture f = { .bytes = STRBUF_INIT };
	u32 narrow, holder;

	(void)state;
	build_btf_init(&f.build);
	narrow = build_btf_int(&f.build, "unsigned int", 4, 5, 2);
	holder = build_btf_struct(&f.build, BTF_STRUCT, "old", 4,
				  (struct build_btf_member[]){ { "bits", narrow, 8, 0 } }, 1);
	build_btf_finish(&f.build, &f.bytes);
	assert_int_equal(btf_create(f.bytes.data, f.bytes.len, &f.btf), 0);
	check_member(f.btf, holder, "bits", 10, 5);
	close_fixture(&f);
}

static void test_truncated(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, false);
	for (size_t size = 0; size < f.bytes.len; size++) {
		u8 *copy = malloc(size ? size : 1);
		struct btf *btf = NULL;

		assert_non_null(copy);
		memcpy(copy, f.bytes.data, size);
		assert_int_equal(btf_create(copy, size, &btf), -ENODATA);
		assert_null(btf);
		free(copy);
	}
	close_fixture(&f);
}

static int create_spoiled(const struct fixture *f, size_t at, u32 value, size_t size)
{
	_cleanup_free_ u8 *copy = malloc(f->bytes.len);
	_cleanup_(btf_destroy) struct btf *btf = NULL;

	assert_non_null(copy);
	memcpy(copy, f->bytes.data, f->bytes.len);
	memcpy(copy + at, &value, size);
	return btf_create(copy, f->bytes.len, &btf);
}

static void test_spoiled(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f, false);
	assert_int_equal(create_spoiled(&f, 0, 0, 0), 0);
	assert_int_equal(create_spoiled(&f, 0, 0, 2), -EBADMSG);
	assert_int_equal(create_spoiled(&f, 2, 2, 1), -EOPNOTSUPP);
	assert_int_equal(create_spoiled(&f, 4, 8, 4), -EBADMSG);
	assert_int_equal(create_spoiled(&f, 4, ~0U, 4), -ENODATA);
	assert_int_equal(create_spoiled(&f, 8, ~0U, 4), -ENODATA);
	/* A name outside the strings, strings that do not end, kinds that are none. */
	assert_int_equal(create_spoiled(&f, 24, 1 << 30, 4), -EBADMSG);
	assert_int_equal(create_spoiled(&f, f.bytes.len - 1, 'x', 1), -EBADMSG);
	assert_int_equal(create_spoiled(&f, 28, 0, 4), -EBADMSG);
	assert_int_equal(create_spoiled(&f, 28, 0x40U << 24, 4), -EOPNOTSUPP);
	/* More members than there are bytes. */
	assert_int_equal(create_spoiled(&f, 28, BTF_STRUCT << 24 | 0xffff, 4), -ENODATA);
	close_fixture(&f);
}

static void test_circles(void **state)
{
	struct fixture f = { .bytes = STRBUF_INIT };
	struct build_btf *b = &f.build;
	struct build_btf_member two[2] = { { NULL, 5, 0, 0 }, { NULL, 5, 0, 0 } };
	struct btf_member member;
	u32 alias, array, self;
	u64 size;

	(void)state;
	build_btf_init(b);
	alias = build_btf_ref(b, BTF_TYPEDEF, "a", 2);
	build_btf_ref(b, BTF_CONST, NULL, 1);
	array = build_btf_array(b, 3, 2);
	build_btf_array(b, 4, 1);
	self = build_btf_struct(b, BTF_STRUCT, "self", 8, two, 2);
	build_btf_finish(b, &f.bytes);
	assert_int_equal(btf_create(f.bytes.data, f.bytes.len, &f.btf), 0);
	assert_int_equal(btf_size(f.btf, alias, &size), -EBADMSG);
	assert_int_equal(btf_size(f.btf, array, &size), -EBADMSG);
	assert_int_equal(btf_size(f.btf, array + 1, &size), -EBADMSG);
	assert_int_equal(btf_find_member(f.btf, alias, "x", &member), -EBADMSG);
	/* 2^32 ways down: the budget ends it. */
	assert_int_equal(btf_find_member(f.btf, self, "x", &member), -E2BIG);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookups),
		cmocka_unit_test(test_other_byte_order),
		cmocka_unit_test(test_old_bit_fields),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_spoiled),
		cmocka_unit_test(test_circles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
