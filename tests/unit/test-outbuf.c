/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffered output: what comes out is what went in, whatever the sizes; errors stick. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/strbuf.h"
#include "output/outbuf.h"

static void test_contents(void **state)
{
	_cleanup_strbuf_ struct strbuf wanted = STRBUF_INIT;
	_cleanup_free_ char *got = NULL;
	static char big[700000];
	struct outbuf out;
	int fd = memfd_create("out", MFD_CLOEXEC);

	(void)state;
	memset(big, 'x', sizeof(big));
	assert_int_equal(outbuf_init(&out, fd), 0);
	for (int i = 0; i < 3000; i++) {
		char text[200];
		int n = snprintf(text, sizeof(text), "%d %05d ", i, i);

		strbuf_add(&wanted, text, n);
		outbuf_add_u64(&out, i, 0, ' ');
		outbuf_addc(&out, ' ');
		outbuf_add_u64(&out, i, 5, '0');
		outbuf_addf(&out, "%s", " ");
		n = snprintf(text, sizeof(text), "%*s", 1 + i % 150, "");
		strbuf_add(&wanted, text, n);
		outbuf_add_repeated(&out, ' ', n);
	}
	strbuf_add(&wanted, big, sizeof(big));
	outbuf_add(&out, big, sizeof(big));
	for (int i = 0; i < 3; i++)
		strbuf_add(&wanted, big, 200000);
	outbuf_add_repeated(&out, 'x', 600000);
	strbuf_adds(&wanted, "18446744073709551615\\x1b[2J\xc3\xa9");
	outbuf_add_u64(&out, UINT64_MAX, 3, ' ');
	outbuf_add_escaped(&out, "\x1b[2J\xc3\xa9");
	assert_int_equal(outbuf_flush(&out), 0);

	assert_int_equal(lseek(fd, 0, SEEK_END), wanted.len);
	got = malloc(wanted.len);
	assert_int_equal(pread(fd, got, wanted.len, 0), wanted.len);
	assert_memory_equal(got, wanted.data, wanted.len);
	outbuf_deinit(&out);
	close(fd);
}

static void test_error_sticks(void **state)
{
	struct outbuf out;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(outbuf_init(&out, fd), 0);
	outbuf_adds(&out, "lost");
	assert_int_equal(outbuf_flush(&out), -ENOSPC);
	outbuf_add_repeated(&out, ' ', 1000000);
	assert_int_equal(outbuf_flush(&out), -ENOSPC);
	outbuf_deinit(&out);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_error_sticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
