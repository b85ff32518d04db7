/* SPDX-License-Identifier: GPL-2.0-only */
/* Places that no symbol could name: one record of each, one frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/places.h"
#include "perfdata/place.h"
#include "perfdata/reader.h"

#define NS_PER_S 1000000000ULL

struct fixture {
	struct perfdata_writer *writer;
	struct places places;
	struct chain chain;
	u64 ips[PLACES_MAX_IPS];
	u32 nr;
	char path[64];
};

static void open_fixture(struct fixture *f)
{
	static const struct perfdata_writer_event event = {
		.name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .period_or_freq = 1,
	};
	static const char *const cmdline[] = { "test", NULL };
	const struct perfdata_writer_options writer = {
		.hostname = "vm", .arch = "x86_64", .cmdline = cmdline, .nr_cpus = 1,
		.events = &event, .nr_events = 1,
	};

	memset(f, 0, sizeof(*f));
	snprintf(f->path, sizeof(f->path), "/tmp/kvmprof-test-%d.data", getpid());
	assert_int_equal(perfdata_writer_create(f->path, &writer, &f->writer), 0);
}

static void close_fixture(struct fixture *f)
{
	perfdata_writer_destroy(f->writer);
	unlink(f->path);
}

static void lay_out(struct fixture *f, u64 pc, u64 time, u8 kernel_stop, u8 user_stop)
{
	const struct wire_sample wire = { .time = time, .regs.pc = pc };

	f->chain.nr = f->chain.nr ?: 1;
	f->chain.kernel_stop = kernel_stop;
	f->chain.user_stop = user_stop;
	f->nr = 0xee;
	assert_int_equal(places_lay_out(&f->places, f->writer, &wire, &f->chain, f->ips, &f->nr),
			 0);
}

static void assert_place(const struct fixture *f, enum stop_reason place, u64 offset)
{
	assert_int_equal(f->nr, 2);
	assert_true(f->ips[0] == PERF_CONTEXT_KERNEL);
	assert_int_equal(f->ips[1], perfdata_place_address(place, offset));
	assert_true(perfdata_is_place(f->ips[1]));
}

static void test_frames(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	lay_out(&f, 0xfffffff0, NS_PER_S, STOP_REAL_MODE, STOP_NONE);
	assert_place(&f, STOP_REAL_MODE, 0xfffffff0);
	lay_out(&f, 0xffffffff81234567, NS_PER_S, STOP_NESTED, STOP_NONE);
	assert_place(&f, STOP_NESTED, 0x81234567);
	lay_out(&f, 0x401000, NS_PER_S, STOP_NONE, STOP_NESTED);
	assert_place(&f, STOP_NESTED, 0x401000);
	/* Of a kernel that is not known what may be its own address stays. */
	lay_out(&f, 0x1000000, NS_PER_S, STOP_NO_KERNEL, STOP_NONE);
	assert_place(&f, STOP_NO_KERNEL, 0x1000000);
	lay_out(&f, 0xffffffff81000100, NS_PER_S, STOP_NO_KERNEL, STOP_NONE);
	assert_int_equal(f.nr, 3);
	assert_int_equal(f.ips[1], 0xffffffff81000100);
	assert_int_equal(f.ips[2], perfdata_place_address(STOP_NO_KERNEL, 0));
	/* What is a chain stays one. */
	lay_out(&f, 0x1000000, NS_PER_S, STOP_COMPLETE, STOP_NONE);
	assert_int_equal(f.nr, 0);
	f.chain.nr = 2;
	lay_out(&f, 0x1000000, NS_PER_S, STOP_NO_KERNEL, STOP_NONE);
	assert_int_equal(f.nr, 0);
	close_fixture(&f);
}

/* Each has a record, before its first sample and before older ones of other vCPUs. */
static void test_records(void **state)
{
	static const u8 stops[] = { STOP_SMM, STOP_FIRMWARE, STOP_SMM, STOP_FIRMWARE };
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_record r;
	struct fixture f;
	unsigned int nr = 0;

	(void)state;
	open_fixture(&f);
	for (size_t i = 0; i < ARRAY_SIZE(stops); i++)
		lay_out(&f, 0xf0000, (i + 1) * NS_PER_S, stops[i], STOP_NONE);
	assert_int_equal(perfdata_writer_finish(f.writer), 0);
	assert_int_equal(perfdata_reader_open(f.path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &r) == 1) {
		if (r.kind != PERFDATA_KSYMBOL)
			continue;
		assert_string_equal(r.ksymbol.name, stop_reason_place(stops[nr]));
		assert_int_equal(r.ksymbol.start, perfdata_place_address(stops[nr], 0));
		assert_int_equal(r.ksymbol.len, PERFDATA_PLACE_BYTES);
		nr++;
		assert_true(r.time < nr * NS_PER_S);
	}
	assert_int_equal(nr, 2);
	close_fixture(&f);
}

/* They do not overlap, and no processor has them. */
static void test_addresses(void **state)
{
	(void)state;
	for (unsigned int stop = 0; stop < STOP_NR; stop++) {
		u64 start = perfdata_place_address(stop, 0);

		assert_true(start + PERFDATA_PLACE_BYTES < perfdata_place_address(stop + 1, 0));
		assert_true(start >> 57 && !(start >> 63));
	}
	assert_false(perfdata_is_place(0xffffffff81000000));
	assert_false(perfdata_is_place(0x7fffffffffff));
	assert_false(perfdata_is_place(perfdata_place_address(PERFDATA_PLACES, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
