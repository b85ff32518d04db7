/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures out of sums that are made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-exits.h"
#include "cmd/stat-lines.h"

#define MS 1000000ULL

enum {
	L1_LOADS,
	L1_MISSES,
	CYCLES,
	CYCLES_USER,
	INSTRUCTIONS,
	FAULTS,
	CLOCK,
	NR,
};

static const struct capture_event events[NR] = {
	[L1_LOADS] = { .name = "L1-dcache-loads", .type = PERF_TYPE_HW_CACHE, .config = 0 },
	[L1_MISSES] = { .name = "L1-dcache-load-misses", .type = PERF_TYPE_HW_CACHE,
			.config = 0x10000 },
	[CYCLES] = { .name = "cycles:D", .type = PERF_TYPE_HARDWARE,
		     .config = PERF_COUNT_HW_CPU_CYCLES, .pinned = true },
	[CYCLES_USER] = { .name = "cycles:u", .type = PERF_TYPE_HARDWARE,
			  .config = PERF_COUNT_HW_CPU_CYCLES, .exclude_kernel = true },
	[INSTRUCTIONS] = { .name = "instructions", .type = PERF_TYPE_HARDWARE,
			   .config = PERF_COUNT_HW_INSTRUCTIONS },
	[FAULTS] = { .name = "page-faults", .type = PERF_TYPE_SOFTWARE,
		     .config = PERF_COUNT_SW_PAGE_FAULTS, .host_side = true },
	[CLOCK] = { .name = "task-clock", .type = PERF_TYPE_SOFTWARE,
		    .config = PERF_COUNT_SW_TASK_CLOCK },
};

struct fixture {
	struct exit_names names;
	struct tally_row row;
	stat_lines lines;
};

static void put(struct fixture *f, u32 event, enum count_mode mode, u64 value)
{
	*tally_count(&f->row.sums, event, mode) = (struct count){ value, 500 * MS, 250 * MS };
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f || exit_names_parse(BUILD_EXITS_X86, &f->names) ||
	    tally_sums_init(&f->row.sums, NR))
		return -1;
	f->row.sums.followed = 2000 * MS;
	f->row.sums.run = 1000 * MS;
	f->row.sums.guest = 800 * MS;
	f->row.sums.exits = 400;
	f->row.sums.known = TALLY_KNOWS_SCHED | TALLY_KNOWS_GUEST | TALLY_KNOWS_EXITS;
	put(f, L1_LOADS, COUNT_GUEST, 1000);
	put(f, L1_MISSES, COUNT_GUEST, 30);
	put(f, CYCLES, COUNT_GUEST, 1200000000);
	put(f, CYCLES_USER, COUNT_GUEST, 600000000);
	put(f, INSTRUCTIONS, COUNT_GUEST, 3600000000);
	return exit_reasons_add(&f->row.sums.reasons, 0x78, 2, 100);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vec_deinit(&f->lines);
	tally_sums_deinit(&f->row.sums);
	exit_names_deinit(&f->names);
	free(f);
	return 0;
}

static void make(struct fixture *f)
{
	const struct stat_subject subject = { events, NR, &f->names };

	vec_deinit(&f->lines);
	assert_int_equal(stat_lines_make(&subject, &f->row, 1000 * MS, &f->lines), 0);
}

static const struct stat_line *line(const struct fixture *f, const char *name)
{
	vec_for_each(&f->lines, it)
		if (!strcmp(it->name, name))
			return it;
	fail_msg("no line %s", name);
	return NULL;
}

static void check_names(const struct fixture *f, const char *name, const char *guest,
			const char *host)
{
	const struct stat_line *it = line(f, name);

	assert_string_equal(it->figures[COUNT_GUEST].name, guest);
	assert_string_equal(it->figures[COUNT_HOST].name, host);
}

/* Each as perf would have it asked for. */
static void test_names(void **state)
{
	struct fixture *f = *state;

	make(f);
	check_names(f, "cycles:D", "cycles:DG", "cycles:DH");
	check_names(f, "cycles:u", "cycles:uG", "cycles:uH");
	check_names(f, "instructions", "instructions:G", "instructions:H");
	check_names(f, "time on a CPU", "guest-time", "host-time");
	assert_int_equal(line(f, "page-faults")->figures[COUNT_GUEST].state, STAT_FIGURE_NONE);
	assert_string_equal(line(f, "page-faults")->figures[COUNT_HOST].name, "page-faults");
	assert_string_equal(line(f, "  hlt")->figures[COUNT_HOST].name, "exits:hlt");
}

static void check_metric(const struct fixture *f, const char *name, enum count_mode mode,
			 double want, const char *unit)
{
	const struct stat_line *it = line(f, name);

	assert_true(it->figures[mode].has_metric);
	assert_float_equal(it->figures[mode].metric, want, 1e-9);
	assert_string_equal(it->metric_unit, unit);
}

static void test_metrics(void **state)
{
	struct fixture *f = *state;

	make(f);
	/* Counted half of the time: what it is divided by is scaled, too. */
	check_metric(f, "L1-dcache-load-misses", COUNT_GUEST, 3, "% of all L1-dcache accesses");
	check_metric(f, "L1-dcache-loads", COUNT_GUEST, 2000, "/sec");
	check_metric(f, "cycles:D", COUNT_GUEST, 3, "GHz");
	/* Those of the user do not fill the time. */
	check_metric(f, "cycles:u", COUNT_GUEST, 1.2e9, "/sec");
	check_metric(f, "instructions", COUNT_GUEST, 3, "insn per cycle");
	check_metric(f, "task-clock", COUNT_HOST, 10, "% of the vCPUs' time");
	check_metric(f, "time on a CPU", COUNT_GUEST, 40, "% of the vCPUs' time");
	check_metric(f, "exits", COUNT_HOST, 400, "/sec");
	check_metric(f, "  hlt", COUNT_HOST, 25, "% of all exits");
	/* Nothing is made of nothing. */
	assert_false(line(f, "instructions")->figures[COUNT_HOST].has_metric);
}

static void test_states(void **state)
{
	struct fixture *f = *state;

	tally_count(&f->row.sums, CYCLES, COUNT_GUEST)->unsupported = true;
	tally_count(&f->row.sums, INSTRUCTIONS, COUNT_GUEST)->failed = true;
	f->row.sums.known = TALLY_KNOWS_GUEST;
	make(f);
	assert_int_equal(line(f, "cycles:D")->figures[COUNT_GUEST].state,
			 STAT_FIGURE_NOT_SUPPORTED);
	assert_int_equal(line(f, "instructions")->figures[COUNT_GUEST].state,
			 STAT_FIGURE_NOT_COUNTED);
	assert_int_equal(line(f, "time on a CPU")->figures[COUNT_GUEST].state, STAT_FIGURE_THERE);
	assert_int_equal(line(f, "time on a CPU")->figures[COUNT_HOST].state,
			 STAT_FIGURE_NOT_SUPPORTED);
	assert_int_equal(line(f, "halted")->figures[COUNT_HOST].state, STAT_FIGURE_NOT_SUPPORTED);
	assert_int_equal(line(f, "exits")->figures[COUNT_HOST].state, STAT_FIGURE_NOT_SUPPORTED);
	assert_false(line(f, "exits")->figures[COUNT_HOST].has_metric);
	/* Without the count that it is divided by it is a rate. */
	assert_string_equal(line(f, "instructions")->metric_unit, "/sec");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names), TEST(test_metrics), TEST(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
