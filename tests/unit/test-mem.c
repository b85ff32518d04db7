/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest memory readers: the fake one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mem/fake.h"

static void test_fake(void **state)
{
	_cleanup_(mem_fake_destroy) struct mem_fake *fake = mem_fake_create();
	const struct mem_reader *mem = mem_fake_reader(fake);
	u8 out[8];

	(void)state;
	assert_int_equal(mem_read(mem, GPA(0), out, 1), -EFAULT);
	assert_int_equal(mem_fake_set(fake, GPA(0x1ffe), "abcd", 4), 0);
	assert_int_equal(mem_read(mem, GPA(0x1ffe), out, 4), 0);
	assert_memory_equal(out, "abcd", 4);
	assert_int_equal(mem_read(mem, GPA(0x2ffc), out, 8), -EFAULT);
	assert_int_equal(mem_read(mem, GPA(0x2ffc), out, 4), 0);
	assert_memory_equal(out, "\0\0\0\0", 4);
	assert_int_equal(mem_read(mem, GPA(UINT64_MAX), out, 2), -EFAULT);
	mem_fake_drop(fake, GPA(0x2000));
	assert_int_equal(mem_read(mem, GPA(0x1ffe), out, 4), -EFAULT);
	assert_int_equal(mem_fake_set_u64(fake, GPA(0x2008), 0x0102030405060708), 0);
	assert_int_equal(mem_read(mem, GPA(0x2008), out, 1), 0);
	assert_int_equal(out[0], 8);
	assert_int_equal(mem_fake_reads(fake), 7);
	mem_fake_fail(fake, 1, -EPERM);
	assert_int_equal(mem_read(mem, GPA(0x2008), out, 1), 0);
	assert_int_equal(mem_read(mem, GPA(0x2008), out, 1), -EPERM);
	mem_fake_fail(fake, 0, 0);
	assert_int_equal(mem_read(mem, GPA(0x2008), out, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
