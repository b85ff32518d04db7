/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording of a guest whose kernel is not known: what its file then holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "build-sample.h"
#include "engine/recording.h"
#include "mem/fake.h"
#include "perfdata/format.h"
#include "perfdata/reader.h"
#include "starve.h"

#define NS_PER_S 1000000000ULL

struct place {
	char dir[32], path[64];
	struct mem_fake *mem;
	struct recording *recording;
};

static int setup(void **state)
{
	static struct place place;
	struct recording_options options = {
		.path = place.path,
		.name = "vm",
		.event = { .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .freq = 997 },
		.nr_vcpus = 1,
		.memory = 1 << 20,
	};

	strcpy(place.dir, "/tmp/kvmprof-test.XXXXXX");
	place.mem = mem_fake_create();
	if (!place.mem || !mkdtemp(place.dir))
		return -1;
	snprintf(place.path, sizeof(place.path), "%s/perf.data", place.dir);
	*state = &place;
	return recording_create(mem_fake_reader(place.mem), &options, &place.recording);
}

static int teardown(void **state)
{
	struct place *place = *state;

	recording_destroy(place->recording);
	mem_fake_destroy(place->mem);
	unlink(place->path);
	return rmdir(place->dir);
}

static void add_sample_starving(struct place *place, u64 time, bool starving)
{
	struct build_sample build;
	struct sample sample;
	int err;

	build_sample_init(&build, 0xffffffff81000010, 0xffffc90000003f00);
	build.wire.time = time;
	assert_int_equal(build_sample_finish(&build, &sample), 0);
	if (starving && !starve_begin())
		skip();
	err = recording_add(place->recording, &sample);
	if (starving)
		starve_end();
	assert_int_equal(err, 0);
	build_sample_deinit(&build);
}

static void add_sample(struct place *place, u64 time)
{
	add_sample_starving(place, time, false);
}

/* A record for each time that there was something new, and all of them are all. */
static void test_lost(void **state)
{
	static const struct { u64 time, lost; } expected[] = {
		{ 2 * NS_PER_S + 1, 3 }, { 4 * NS_PER_S + 1, 1 }, { 5 * NS_PER_S, 6 },
	};
	struct capture_counts counts = {
		.events = 15, .samples = 5, .lost_ring = 1, .lost_pending = 2, .lost_signal = 1,
		.lost_exit = 3, .lost_stop = 1, .lost_kernel = 2,
	};
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct place *place = *state;
	struct perfdata_record record;
	size_t nr = 0;
	u64 sum = 0;

	for (u64 i = 1; i <= 5; i++) {
		add_sample(place, i * NS_PER_S);
		assert_int_equal(recording_note_lost(place->recording, i < 2 ? 0 : i < 4 ? 3 : 4,
						     i * NS_PER_S + 1), 0);
	}
	assert_int_equal(recording_finish(place->recording, &counts), 0);
	assert_int_equal(perfdata_reader_open(place->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0) {
		if (record.kind != PERFDATA_LOST)
			continue;
		assert_true(nr < ARRAY_SIZE(expected));
		assert_int_equal(record.time, expected[nr].time);
		assert_int_equal(record.lost.lost, expected[nr].lost);
		sum += record.lost.lost;
		nr++;
	}
	assert_int_equal(nr, ARRAY_SIZE(expected));
	assert_int_equal(sum, accounting_lost(&counts));
	assert_non_null(strstr(perfdata_reader_string(reader, PERFDATA_FEATURE_ACCOUNTING),
			       "lost: ring buffer full: 1"));
}

static void test_nothing_lost(void **state)
{
	const struct capture_counts counts = { .events = 2, .samples = 1, .host = 1 };
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct place *place = *state;
	struct perfdata_record record;

	add_sample(place, NS_PER_S);
	assert_int_equal(recording_finish(place->recording, &counts), 0);
	assert_int_equal(perfdata_reader_open(place->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0)
		assert_int_not_equal(record.kind, PERFDATA_LOST);
}

/* What a sample's process takes in memory is the guest's choice, and no reason to end. */
static void test_no_memory(void **state)
{
	const struct capture_counts counts = { .events = 2, .samples = 2 };
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	unsigned int kinds[PERFDATA_SAMPLE + 16] = { 0 };
	struct place *place = *state;
	struct perfdata_record record;

	add_sample_starving(place, NS_PER_S, true);
	assert_int_equal(recording_accounting(place->recording)->no_memory, 1);
	add_sample(place, 2 * NS_PER_S);
	assert_int_equal(recording_accounting(place->recording)->no_memory, 1);
	assert_int_equal(recording_finish(place->recording, &counts), 0);
	assert_int_equal(perfdata_reader_open(place->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0)
		kinds[MIN((size_t)record.kind, ARRAY_SIZE(kinds) - 1)]++;
	assert_int_equal(kinds[PERFDATA_SAMPLE], 2);
	assert_int_equal(kinds[PERFDATA_COMM], 1);
	assert_non_null(strstr(perfdata_reader_string(reader, PERFDATA_FEATURE_ACCOUNTING),
			       "samples whose process did not fit into memory: 1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
