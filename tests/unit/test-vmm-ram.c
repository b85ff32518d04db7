/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof-vmm's guest memory, without a VM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "vmm/ram.h"

static uint8_t first[16], second[16];
static const struct memory memory = {
	.slots = {
		{ .gpa = 0, .size = sizeof(first), .hva = first },
		{ .gpa = sizeof(first), .size = sizeof(second), .hva = second },
	},
	.nr = 2,
	.size = sizeof(first) + sizeof(second),
};

static void test_write(void **state)
{
	(void)state;
	assert_int_equal(memory_write(&memory, 14, "abcd", 4), 0);
	assert_memory_equal(first + 14, "ab", 2);
	assert_memory_equal(second, "cd", 2);
	assert_int_equal(memory_write(&memory, 30, "xy", 2), 0);
	assert_memory_equal(second + 14, "xy", 2);
	assert_int_equal(memory_write(&memory, 0, "", 0), 0);
}

static void test_read(void **state)
{
	char got[4] = "";

	(void)state;
	assert_int_equal(memory_write(&memory, 14, "abcd", 4), 0);
	assert_int_equal(memory_read(&memory, 14, got, 4), 0);
	assert_memory_equal(got, "abcd", 4);
	assert_int_equal(memory_read(&memory, 15, got, 2), 0);
	assert_memory_equal(got, "bccd", 4);
	assert_int_equal(memory_read(&memory, 32, got, 0), 0);
	assert_int_equal(memory_read(&memory, 31, got, 2), -EFAULT);
	assert_int_equal(memory_read(&memory, UINT64_MAX, got, 2), -EFAULT);
}

static void test_outside(void **state)
{
	(void)state;
	assert_int_equal(memory_write(&memory, 31, "xy", 2), -EFAULT);
	assert_int_equal(memory_write(&memory, 32, "x", 1), -EFAULT);
	assert_int_equal(memory_write(&memory, UINT64_MAX, "xy", 2), -EFAULT);
	assert_int_equal(memory_write(&memory, 2, "x", SIZE_MAX), -EFAULT);
}

static void test_refused(void **state)
{
	struct memory none;

	(void)state;
	assert_int_equal(memory_create(&none, -1, MEMORY_ANON, 2 << 20, 0), -EINVAL);
	assert_int_equal(memory_create(&none, -1, MEMORY_ANON, 2 << 20, 2), -EINVAL);
	assert_int_equal(memory_create(&none, -1, MEMORY_ANON, 3 << 20, 1), -EINVAL);
	assert_int_equal(memory_create(&none, -1, MEMORY_ANON, 2 << 20, 65), -EINVAL);
	assert_int_equal(memory_create(&none, -1, MEMORY_ANON, MEMORY_MAX + (2 << 20), 1), -EINVAL);
	/* No VM. */
	assert_int_equal(memory_create(&none, -1, MEMORY_MEMFD, 2 << 20, 1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
