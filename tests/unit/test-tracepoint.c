/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints in a tracefs made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "build-folder.h"
#include "capture/tracepoint.h"

static char *root;
static struct strbuf found;

static void put(const char *path, const char *text)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/events/%s", root, path);
	assert_int_equal(file_write_atomic(full, text, strlen(text)), 0);
}

static int setup(void **state)
{
	(void)state;
	root = build_folder_make();
	assert_non_null(root);
	put("header_page", "");
	put("kvm/filter", "none\n");
	put("kvm/kvm_exit/id", "10\n");
	put("kvm/kvm_entry/id", "11\n");
	put("kvm/broken/id", "x\n");
	put("kvm/no_number/format", "\n");
	put("sched/sched_switch/id", "12\n");
	put("kvmmmu/kvm_mmu_get_page/id", "13\n");
	return 0;
}

static int teardown(void **state)
{
	int err = build_folder_remove(root);

	(void)state;
	free(root);
	strbuf_deinit(&found);
	return err;
}

static int note(const char *name, u64 id, void *arg)
{
	strbuf_addf(&found, "%s=%llu ", name, (unsigned long long)id);
	return arg ? *(int *)arg : 0;
}

static void expect(const char *pattern, const char *names)
{
	strbuf_reset(&found);
	assert_int_equal(tracepoints_find(root, pattern, note, NULL), *names ? 0 : -ENOENT);
	assert_string_equal(strbuf_cstr(&found), names);
}

static void test_find(void **state)
{
	(void)state;
	expect("kvm:kvm_exit", "kvm:kvm_exit=10 ");
	expect("kvm:*", "kvm:kvm_entry=11 kvm:kvm_exit=10 ");
	expect("kvm*:kvm_[!e]*", "kvmmmu:kvm_mmu_get_page=13 ");
	expect("*:*_*t*", "kvm:kvm_entry=11 kvm:kvm_exit=10 kvmmmu:kvm_mmu_get_page=13 "
	       "sched:sched_switch=12 ");
	expect("kvm:nix", "");
	expect("kvm:nix*", "");
	expect("nix*:*", "");
	expect("kvm:no_number", "");
	expect("kvm:filter", "");
}

static void test_bad(void **state)
{
	static const char *const bad[] = {
		"kvm", "kvm:", ":kvm_exit", "../events/kvm:kvm_exit", "kvm:../kvm_exit", "*/*:*",
	};
	char text[TRACEPOINT_NAME_MAX + 1];
	int stop = -EINTR;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(tracepoints_find(root, bad[i], note, NULL), -EBADMSG);
	memset(text, ':', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(tracepoints_find(root, text, note, NULL), -E2BIG);
	assert_int_equal(tracepoints_find("/nowhere", "kvm:*", note, NULL), -ENOENT);
	strbuf_reset(&found);
	assert_int_equal(tracepoints_find(root, "kvm:*", note, &stop), -EINTR);
	assert_string_equal(strbuf_cstr(&found), "kvm:kvm_entry=11 ");
}

static void test_format(void **state)
{
	char *text = NULL;

	(void)state;
	assert_int_equal(tracepoint_format(root, "kvm:no_number", &text), 0);
	assert_string_equal(text, "\n");
	free(text);
	assert_int_equal(tracepoint_format(root, "kvm:kvm_exit", &text), -ENOENT);
	assert_int_equal(tracepoint_format(root, "kvm", &text), -EBADMSG);
}

static void test_exists(void **state)
{
	(void)state;
	assert_true(tracepoint_exists(root, "kvm:kvm_exit"));
	assert_false(tracepoint_exists(root, "kvm:kvm_*"));
	assert_false(tracepoint_exists(root, "kvm:broken"));
	assert_false(tracepoint_exists(root, "cycles:u"));
	assert_false(tracepoint_exists(root, "cycles"));
	assert_true(tracepoint_is_pattern("kvm:*"));
	assert_false(tracepoint_is_pattern("kvm:kvm_exit"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_exists),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
