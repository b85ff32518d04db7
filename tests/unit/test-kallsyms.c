/* SPDX-License-Identifier: GPL-2.0-only */
/* kallsyms in every layout: decoded as built, refused when anything does not hold together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "build-kallsyms.h"
#include "guest/kallsyms.h"

#define START 0xffffffff9e200000ULL
#define NR_MADE 700	/* more than two markers' worth */

struct table {
	struct build_ksym symbols[NR_MADE + 8];
	char names[NR_MADE][48];
	char long_name[KALLSYMS_NAME_MAX + 1];
	u32 nr;
};

static void add(struct table *t, u64 address, char type, const char *name, bool absolute)
{
	t->symbols[t->nr++] = (struct build_ksym){
		.address = address, .name = name, .type = type, .absolute = absolute,
	};
}

/* A name that compression cannot make much of: it stays longer than 127 bytes. */
static void make_long_name(struct table *t, size_t len)
{
	u32 x = 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1103515245 + 12345;
		t->long_name[i] = 'a' + (x >> 16) % 26;
	}
	t->long_name[len] = '\0';
}

static struct table *make_table(bool percpu, bool with_text)
{
	static const char *const words[] = { "read", "write", "lock", "page", "sched", "tcp" };
	struct table *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	if (percpu) {
		add(t, 0, 'A', "__per_cpu_start", true);
		add(t, 0x1c0c0, 'A', "current_task", true);
	}
	if (with_text)
		add(t, START, 'T', "_text", false);
	add(t, START + 0x1000, 'T', "_stext", false);
	for (u32 i = 0; i < NR_MADE; i++) {
		snprintf(t->names[i], sizeof(t->names[i]), "%s_%s_%u", words[i % 6],
			 words[i / 6 % 6], i);
		add(t, START + 0x2000 + i / 2 * 64, i % 3 ? 't' : 'T', t->names[i], false);
	}
	make_long_name(t, 400);
	add(t, START + 0x800000, 'D', t->long_name, false);
	add(t, START + 0x900000, 'B', "_end", false);
	return t;
}

static void check_same(const struct kallsyms *k, const struct table *t)
{
	assert_int_equal(k->nr, t->nr);
	for (u32 i = 0; i < k->nr; i++) {
		const struct build_ksym *want = &t->symbols[i];

		assert_string_equal(kallsyms_name(k, &k->symbols[i]), want->name);
		assert_int_equal(k->symbols[i].type, want->type);
		assert_int_equal(kallsyms_address(&k->symbols[i], START), want->address);
		assert_int_equal(k->symbols[i].absolute, want->address < 1ULL << 63);
	}
}

static bool has_percpu(const struct build_kallsyms_format *format)
{
	return format->addressing == KALLSYMS_BASE_PERCPU ||
	       format->addressing == KALLSYMS_ABSOLUTE;
}

/* An image with other things before and after the tables. */
static void put_image(struct strbuf *image, const struct build_kallsyms_format *format,
		      const struct table *t, struct build_kallsyms_places *places)
{
	for (u32 i = 0; i < 2000; i++)
		put_u32(image, i * 2654435761U);
	/* A false start: the digits without a table around them. */
	strbuf_add(image, "0\0001\0002\0003\0004\0005\0006\0007\0008\0009\0", 20);
	build_kallsyms(image, START, format, t->symbols, t->nr, places);
	strbuf_add_zeros(image, 64);
	assert_int_equal(strbuf_error(image), 0);
}

static void test_releases(void **state)
{
	(void)state;
	for (size_t i = 0; i < BUILD_KALLSYMS_RELEASES; i++) {
		const struct build_kallsyms_format *format = &build_kallsyms_releases[i].format;
		_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
		_cleanup_free_ struct table *t = make_table(has_percpu(format), true);
		_cleanup_(kallsyms_destroy) struct kallsyms *k = NULL;

		/* Before 6.1 a name has at most 127 bytes, and a length is one byte. */
		if (!format->long_lengths)
			make_long_name(t, 127);
		put_image(&image, format, t, NULL);
		assert_int_equal(kallsyms_parse(image.data, image.len, START, &k), 0);
		check_same(k, t);
		assert_int_equal(k->addressing, format->addressing);
		assert_int_equal(k->addresses_last, format->addresses_last);
		assert_int_equal(k->marker_size, format->marker_size);
		assert_string_equal(kallsyms_name(k, kallsyms_find(k, "_end")), "_end");
		assert_null(kallsyms_find(k, "_en"));
	}
}

/* A compressed name over 127 bytes reads differently in the two kinds of lengths. */
static void test_lengths(void **state)
{
	struct build_kallsyms_format format = {
		.addressing = KALLSYMS_BASE_PERCPU, .marker_size = 4, .max_tokens = 20,
	};

	(void)state;
	for (int long_lengths = 0; long_lengths < 2; long_lengths++) {
		_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
		_cleanup_free_ struct table *t = make_table(true, true);
		_cleanup_(kallsyms_destroy) struct kallsyms *k = NULL;

		format.long_lengths = long_lengths;
		make_long_name(t, long_lengths ? 500 : 200);
		put_image(&image, &format, t, NULL);
		assert_int_equal(kallsyms_parse(image.data, image.len, START, &k), 0);
		check_same(k, t);
		assert_int_equal(k->long_lengths, long_lengths);
	}
}

static void test_without_text_symbol(void **state)
{
	const struct build_kallsyms_format *format = &build_kallsyms_releases[4].format;
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
	_cleanup_free_ struct table *t = make_table(false, false);
	_cleanup_(kallsyms_destroy) struct kallsyms *k = NULL;

	(void)state;
	put_image(&image, format, t, NULL);
	assert_int_equal(kallsyms_parse(image.data, image.len, START, &k), 0);
	check_same(k, t);
}

/* The tables of another address than where the page tables say that the kernel is. */
static void test_wrong_start(void **state)
{
	(void)state;
	for (size_t i = 0; i < BUILD_KALLSYMS_RELEASES; i++) {
		const struct build_kallsyms_format *format = &build_kallsyms_releases[i].format;
		_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
		_cleanup_free_ struct table *t = make_table(false, true);
		struct kallsyms *k = NULL;
		int err;

		make_long_name(t, 100);
		put_image(&image, format, t, NULL);
		err = kallsyms_parse(image.data, image.len, START + 0x200000, &k);
		/* Offsets from the place move with the place. */
		if (format->addressing == KALLSYMS_PLACE) {
			assert_int_equal(err, 0);
			kallsyms_destroy(k);
			continue;
		}
		assert_int_equal(err, -ENOENT);
		assert_null(k);
	}
}

static void cut_everywhere(const struct build_kallsyms_format *format)
{
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
	_cleanup_free_ struct table *t = make_table(false, true);
	struct build_kallsyms_places places;
	size_t needed;

	t->nr = 40;
	build_kallsyms(&image, START, format, t->symbols, t->nr, &places);
	needed = format->addresses_last ? places.addresses + t->nr * 4 : places.token_index + 512;
	if (places.base > places.token_index)
		needed = places.base + 8;
	for (size_t size = 0; size < image.len; size++) {
		/* A copy of its own size, so that a sanitizer sees each byte too far. */
		_cleanup_free_ u8 *copy = malloc(size ? size : 1);
		struct kallsyms *k = NULL;
		int err;

		assert_non_null(copy);
		memcpy(copy, image.data, size);
		err = kallsyms_parse(copy, size, START, &k);
		assert_int_equal(err, size >= ALIGN_UP(needed, format->align ?: 8) ? 0 : -ENOENT);
		kallsyms_destroy(k);
	}
}

static void test_truncated(void **state)
{
	(void)state;
	for (size_t i = 0; i < BUILD_KALLSYMS_RELEASES; i++)
		cut_everywhere(&build_kallsyms_releases[i].format);
}

static int parse_spoiled(const struct strbuf *image, size_t at, u64 value, size_t size)
{
	_cleanup_free_ u8 *copy = malloc(image->len);
	_cleanup_(kallsyms_destroy) struct kallsyms *k = NULL;

	assert_non_null(copy);
	memcpy(copy, image->data, image->len);
	memcpy(copy + at, &value, size);
	return kallsyms_parse(copy, image->len, START, &k);
}

static void test_hostile(void **state)
{
	const struct build_kallsyms_format *format = &build_kallsyms_releases[6].format;
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
	_cleanup_free_ struct table *t = make_table(true, true);
	struct build_kallsyms_places places;

	(void)state;
	put_image(&image, format, t, &places);
	assert_int_equal(parse_spoiled(&image, places.begin, 0, 0), 0);
	/* Counts that lie. */
	for (u32 nr = t->nr - 3; nr <= t->nr + 3; nr++)
		assert_int_equal(parse_spoiled(&image, places.num_syms, nr, 8),
				 nr == t->nr ? 0 : -ENOENT);
	assert_int_equal(parse_spoiled(&image, places.num_syms, 0, 8), -ENOENT);
	assert_int_equal(parse_spoiled(&image, places.num_syms, ~0ULL, 8), -ENOENT);
	/* A length of nothing, and one over the end. */
	assert_int_equal(parse_spoiled(&image, places.names, 0, 1), -ENOENT);
	assert_int_equal(parse_spoiled(&image, places.names, 0x7fff, 2), -ENOENT);
	/* A marker and a token that are somewhere else. */
	assert_int_equal(parse_spoiled(&image, places.markers + 4, 1, 4), -ENOENT);
	assert_int_equal(parse_spoiled(&image, places.token_index + 2, 0xffff, 2), -ENOENT);
	assert_int_equal(parse_spoiled(&image, places.token_index + 0x30 * 2, 0xffff, 2), -ENOENT);
	assert_int_equal(parse_spoiled(&image, places.token_table + 1, 0, 1), -ENOENT);
	/* Addresses that go down, and a base elsewhere. */
	assert_int_equal(parse_spoiled(&image, places.addresses + 40, ~0U, 4), -ENOENT);
	assert_int_equal(parse_spoiled(&image, places.base, START + 4096, 8), -ENOENT);
}

/* Many candidates for the count, each of which takes long to refuse: the work is bounded. */
static void test_expensive(void **state)
{
	const struct build_kallsyms_format *format = &build_kallsyms_releases[6].format;
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
	_cleanup_free_ struct table *t = make_table(true, true);
	_cleanup_(kallsyms_destroy) struct kallsyms *k = NULL;
	struct build_kallsyms_places places;

	(void)state;
	for (u32 i = 0; i < 1 << 20; i++)
		put_u64(&image, 4096 + i % 65536);
	build_kallsyms(&image, START, format, t->symbols, t->nr, &places);
	memset(image.data + places.num_syms, 1, 8);
	assert_int_equal(kallsyms_parse(image.data, image.len, START, &k), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_releases),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_without_text_symbol),
		cmocka_unit_test(test_wrong_start),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_expensive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
