/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples that wait: kept whole and in order, however they come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "build-sample.h"
#include "engine/parked.h"

/* A sample with @size bytes of user stack, each the low byte of @time. */
static int add(struct parked *parked, u64 time, u32 size, const void *what)
{
	struct build_stack stack;
	struct build_sample build;
	struct sample sample;
	int err;

	build_stack_init(&stack, 0x7fff00000000);
	for (u32 i = 0; i < size / 8; i++)
		build_stack_push(&stack, (time & 0xff) * 0x0101010101010101ULL);
	build_sample_init(&build, 0x400000, stack.sp);
	build.wire.time = time;
	build_sample_stack(&build, WIRE_STACK_USER, &stack, size, STOP_COMPLETE);
	assert_int_equal(build_sample_finish(&build, &sample), 0);
	err = parked_add(parked, &sample, what, (void *)~time);
	build_sample_deinit(&build);
	return err;
}

struct seen {
	u64 times[16384];
	size_t nr;
	u64 keep;		/* those whose time is a multiple of it stay; 0: none */
};

static const void *look(void *ctx, const struct sample *sample, const void *what, void *held)
{
	const struct wire_sample *wire = sample->wire;
	const struct wire_stack *stack = &wire->stacks[0];
	struct seen *seen = ctx;

	assert_non_null(what);
	assert_ptr_equal(held, (void *)~wire->time);
	for (u32 i = 0; i < stack->size; i++)
		assert_int_equal(((const u8 *)wire)[stack->offset + i], wire->time & 0xff);
	seen->times[seen->nr++] = wire->time;
	return seen->keep && wire->time % seen->keep == 0 ? what : NULL;
}

static void visit(struct parked *parked, struct seen *seen, u64 keep)
{
	seen->nr = 0;
	seen->keep = keep;
	parked_for_each(parked, look, seen);
}

static void test_order(void **state)
{
	_cleanup_(parked_destroy) struct parked *parked = NULL;
	static struct seen seen;

	(void)state;
	assert_int_equal(parked_create(&parked), 0);
	assert_int_equal(parked_oldest(parked), UINT64_MAX);
	visit(parked, &seen, 0);
	assert_int_equal(seen.nr, 0);
	for (u64 time = 9; time > 3; time--)
		assert_int_equal(add(parked, time, 64 * time, &seen), 0);
	assert_int_equal(parked_nr(parked), 6);
	assert_int_equal(parked_oldest(parked), 4);
	visit(parked, &seen, 3);
	assert_int_equal(seen.nr, 6);
	for (u64 i = 0; i < 6; i++)
		assert_int_equal(seen.times[i], 9 - i);
	assert_int_equal(parked_nr(parked), 2);
	assert_int_equal(parked_oldest(parked), 6);
	visit(parked, &seen, 0);
	assert_int_equal(seen.nr, 2);
	assert_int_equal(seen.times[0], 9);
	assert_int_equal(seen.times[1], 6);
	assert_int_equal(parked_nr(parked), 0);
	assert_int_equal(parked_oldest(parked), UINT64_MAX);
}

/* Sizes that meet the area's end in every way; nothing is lost, and full is full. */
static void test_around(void **state)
{
	_cleanup_(parked_destroy) struct parked *parked = NULL;
	static struct seen seen;
	u64 time = 1, expected = 0;
	size_t refused = 0;

	(void)state;
	assert_int_equal(parked_create(&parked), 0);
	for (unsigned int round = 0; round < 30; round++) {
		u64 oldest = UINT64_MAX;

		for (; !add(parked, time, (time * 7 + round) % 1900 * 8, &seen); time++)
			expected++;
		refused++;
		assert_int_equal(parked_nr(parked), expected);
		visit(parked, &seen, 3 + round);
		assert_int_equal(seen.nr, expected);
		expected = 0;
		for (size_t i = 0; i < seen.nr; i++) {
			bool kept = seen.times[i] % (3 + round) == 0;

			assert_true(!i || seen.times[i] > seen.times[i - 1]);
			expected += kept;
			oldest = kept ? MIN(oldest, seen.times[i]) : oldest;
		}
		assert_int_equal(parked_nr(parked), expected);
		assert_int_equal(parked_oldest(parked), oldest);
		assert_true(expected);
	}
	assert_true(time > 10000);
	assert_int_equal(refused, 30);
	visit(parked, &seen, 0);
	assert_int_equal(seen.nr, expected);
	assert_int_equal(add(parked, time, 64, &seen), 0);
}

/* Those of up to @ctx are done with. */
static const void *drop_early(void *ctx, const struct sample *sample, const void *what, void *held)
{
	(void)held;
	return sample->wire->time > *(const u64 *)ctx ? what : NULL;
}

/* One size, so that the end meets the first exactly: full, and the first is not written over. */
static void test_end_meets_first(void **state)
{
	_cleanup_(parked_destroy) struct parked *parked = NULL;
	static struct seen seen;
	u64 time = 1, all, freed;

	(void)state;
	assert_int_equal(parked_create(&parked), 0);
	while (!add(parked, time, 16000, &seen))
		time++;
	all = time - 1;
	freed = all / 2;
	parked_for_each(parked, drop_early, &freed);
	assert_int_equal(parked_nr(parked), all - freed);
	for (; !add(parked, time, 16000, &seen); time++)
		;
	assert_int_equal(parked_nr(parked), all);
	assert_int_equal(add(parked, time, 16000, &seen), -ENOBUFS);
	visit(parked, &seen, 0);
	assert_int_equal(seen.nr, all);
	for (u64 i = 0; i < all; i++)
		assert_int_equal(seen.times[i], freed + 1 + i);
	assert_int_equal(parked_nr(parked), 0);
}

/* Stacks of guests are in no core dump: "dd" in smaps. */
static void test_not_dumped(void **state)
{
	_cleanup_(parked_destroy) struct parked *parked = NULL;
	FILE *smaps;
	char line[512];
	unsigned long long kb = 0, place = 0, end = 0;
	bool found = false;

	(void)state;
	assert_int_equal(parked_create(&parked), 0);
	smaps = fopen("/proc/self/smaps", "re");
	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%llx-%llx ", &place, &end) == 2)
			kb = (end - place) / 1024;
		if (!strncmp(line, "VmFlags:", 8) && kb == PARKED_MAX_BYTES / 1024)
			found |= strstr(line, " dd") != NULL;
	}
	fclose(smaps);
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_around),
		cmocka_unit_test(test_end_meets_first),
		cmocka_unit_test(test_not_dumped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
