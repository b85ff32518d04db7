/* SPDX-License-Identifier: GPL-2.0-only */
/* How counts are shown, from counts made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "build-exits.h"
#include "cmd/stat-print.h"

static const struct capture_event events[] = {
	{ .name = "task-clock", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK },
	{ .name = "page-faults", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
	  .host_side = true },
	{ .name = "cycles", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES },
	{ .name = "instructions", .type = PERF_TYPE_HARDWARE,
	  .config = PERF_COUNT_HW_INSTRUCTIONS },
	{ .name = "branches:G", .type = PERF_TYPE_HARDWARE,
	  .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS, .only_guest = true },
	{ .name = "cpu/event=0x3c/", .type = PERF_TYPE_RAW, .config = 0x3c },
	{ .name = "cache-misses:u", .type = PERF_TYPE_HARDWARE,
	  .config = PERF_COUNT_HW_CACHE_MISSES, .exclude_kernel = true },
};
#define NR ARRAY_SIZE(events)
#define MSEC 1000000ULL

static struct tally_report report;
static struct exit_names names;

static void put(u32 event, enum count_mode mode, u64 value, u64 counted)
{
	*tally_count(&report.rows.data[0].sums, event, mode) = (struct count){
		.value = value, .on = 2000 * MSEC, .counted = counted,
	};
}

static void fill(struct tally_sums *sums)
{
	sums->followed = 4000 * MSEC;
	sums->run = 3000 * MSEC;
	sums->guest = 2500 * MSEC;
	sums->steal = 40 * MSEC;
	sums->halt = 960 * MSEC;
	sums->exits = 1200;
	sums->known = TALLY_KNOWS_SCHED | TALLY_KNOWS_GUEST | TALLY_KNOWS_HALT | TALLY_KNOWS_EXITS |
		      TALLY_KNOWS_REASONS;
	assert_int_equal(exit_reasons_add(&sums->reasons, 0x78, 2, 900), 0);
	assert_int_equal(exit_reasons_add(&sums->reasons, 0x999, 2, 300), 0);
	put(1, COUNT_HOST, 42, 2000 * MSEC);
	put(2, COUNT_GUEST, 2000000000, 1000 * MSEC);
	put(2, COUNT_HOST, 1000000000, 2000 * MSEC);
	put(3, COUNT_GUEST, 6000000000, 2000 * MSEC);
	put(3, COUNT_HOST, 1000000000, 2000 * MSEC);
	put(4, COUNT_GUEST, 1000000, 2000 * MSEC);
	tally_count(sums, 5, COUNT_GUEST)->unsupported = true;
	tally_count(sums, 5, COUNT_HOST)->unsupported = true;
	put(6, COUNT_GUEST, 0, 0);
	put(6, COUNT_HOST, 7, 2000 * MSEC);
}

static int setup(void **state)
{
	struct tally_row row = {
		.name = "web;\033[31m", .vmm = "qemu", .pid = 4711, .nr_vcpus = 2, .vcpu = -1,
	};

	(void)state;
	report.elapsed = 2000 * MSEC;
	if (exit_names_parse(BUILD_EXITS_X86, &names) || tally_sums_init(&row.sums, NR) ||
	    vec_push(&report.rows, row))
		return -1;
	fill(&report.rows.data[0].sums);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tally_report_deinit(&report);
	exit_names_deinit(&names);
	return 0;
}

static char *print(struct stat_style style)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	style.subject = (struct stat_subject){ events, NR, &names };
	assert_int_equal(stat_print(out, &style, &report, 2.5), 0);
	fclose(out);
	return text;
}

static void check(struct stat_style style, const char *want)
{
	char *text = print(style);

	assert_string_equal(text, want);
	free(text);
}

static const char table[] =
	"\n"
	" Counts of guest web;\\x1b[31m (qemu, process 4711, 2 vCPUs):\n"
	"\n"
	"        in the guest          in the host\n"
	"       2,500.00 msec          500.00 msec  task-clock                 #       62.5      "
	" 12.5  % of the vCPUs' time\n"
	"                                       42  page-faults                #                 "
	" 21.0  /sec\n"
	"       4,000,000,000        1,000,000,000  cycles                     #      1.600      "
	"2.000  GHz  (50.0%)  (100.0%)\n"
	"       6,000,000,000        1,000,000,000  instructions               #       1.50      "
	" 1.00  insn per cycle\n"
	"           1,000,000                       branches:G                 #   500000.0      "
	"       /sec\n"
	"     <not supported>      <not supported>  cpu/event=0x3c/\n"
	"       <not counted>                    7  cache-misses:u             #                 "
	"  3.5  /sec\n"
	"       2,500.00 msec          500.00 msec  time on a CPU              #       62.5      "
	" 12.5  % of the vCPUs' time\n"
	"                               40.00 msec  stolen (waits for a CPU)   #                 "
	"  1.0  % of the vCPUs' time\n"
	"                              960.00 msec  halted                     #                 "
	" 24.0  % of the vCPUs' time\n"
	"                                0.00 msec  halt polling               #                 "
	"  0.0  % of the vCPUs' time\n"
	"                                    1,200  exits                      #                 "
	"600.0  /sec\n"
	"                                      900    hlt                      #                 "
	" 75.0  % of all exits\n"
	"                                      300    0x999                    #                 "
	" 25.0  % of all exits\n"
	"\n"
	"         2.500000000 seconds time elapsed\n"
	"\n";
#define HEAD "2.500000000;web_\\x1b[31m;"
static const char csv[] =
	HEAD "2500.000000;msec;task-clock:G;4000000000;100.00;62.5;% of the vCPUs' time\n"
	HEAD "500.000000;msec;task-clock:H;4000000000;100.00;12.5;% of the vCPUs' time\n"
	HEAD "42;;page-faults;2000000000;100.00;21.0;/sec\n"
	HEAD "4000000000;;cycles:G;1000000000;50.00;1.600;GHz\n"
	HEAD "1000000000;;cycles:H;2000000000;100.00;2.000;GHz\n"
	HEAD "6000000000;;instructions:G;2000000000;100.00;1.50;insn per cycle\n"
	HEAD "1000000000;;instructions:H;2000000000;100.00;1.00;insn per cycle\n"
	HEAD "1000000;;branches:G;2000000000;100.00;500000.0;/sec\n"
	HEAD "<not supported>;;cpu/event=0x3c/G;0;100.00;;\n"
	HEAD "<not supported>;;cpu/event=0x3c/H;0;100.00;;\n"
	HEAD "<not counted>;;cache-misses:uG;0;0.00;;\n"
	HEAD "7;;cache-misses:uH;2000000000;100.00;3.5;/sec\n"
	HEAD "2500.000000;msec;guest-time;4000000000;100.00;62.5;% of the vCPUs' time\n"
	HEAD "500.000000;msec;host-time;4000000000;100.00;12.5;% of the vCPUs' time\n"
	HEAD "40.000000;msec;steal-time;4000000000;100.00;1.0;% of the vCPUs' time\n"
	HEAD "960.000000;msec;halt-time;4000000000;100.00;24.0;% of the vCPUs' time\n"
	HEAD "0.000000;msec;halt-poll-time;4000000000;100.00;0.0;% of the vCPUs' time\n"
	HEAD "1200;;exits;4000000000;100.00;600.0;/sec\n"
	HEAD "900;;exits:hlt;4000000000;100.00;75.0;% of all exits\n"
	HEAD "300;;exits:0x999;4000000000;100.00;25.0;% of all exits\n";
#undef HEAD
#define HEAD "{\"guest\" : \"web;\\\\x1b[31m\", \"vcpu\" : 1, "
static const char *const json[] = {
	HEAD "\"counter-value\" : \"2500.000000\", \"unit\" : \"msec\""
		", \"event\" : \"task-clock:G\""
		", \"event-runtime\" : 4000000000, \"pcnt-running\" : 100.00"
		", \"metric-value\" : 62.5, \"metric-unit\" : \"% of the vCPUs' time\"}\n",
	HEAD "\"counter-value\" : \"4000000000\", \"unit\" : \"\", \"event\" : \"cycles:G\""
		", \"event-runtime\" : 1000000000, \"pcnt-running\" : 50.00"
		", \"metric-value\" : 1.600, \"metric-unit\" : \"GHz\"}\n",
	HEAD "\"counter-value\" : \"\\u003cnot supported\\u003e\", \"unit\" : \"\""
		", \"event\" : \"cpu/event=0x3c/G\""
		", \"event-runtime\" : 0, \"pcnt-running\" : 100.00}\n",
	HEAD "\"counter-value\" : \"900\", \"unit\" : \"\", \"event\" : \"exits:hlt\""
		", \"event-runtime\" : 4000000000, \"pcnt-running\" : 100.00"
		", \"metric-value\" : 75.0, \"metric-unit\" : \"% of all exits\"}\n",
};
#undef HEAD

static void test_table(void **state)
{
	(void)state;
	check((struct stat_style){ 0 }, table);
}

static void test_csv(void **state)
{
	(void)state;
	check((struct stat_style){ .separator = ";", .interval = true }, csv);
}

/* Whatever the separator, each line has as many fields; only texts may have some of it. */
static void test_csv_fields(void **state)
{
	static const char separators[] = ",:/; =";

	(void)state;
	for (const char *at = separators; *at; at++) {
		const char separator[] = { *at, '\0' };
		char *text = print((struct stat_style){ .separator = separator }), *save = NULL;

		for (char *line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			unsigned int nr = 0;

			for (const char *c = line; *c; c++)
				nr += *c == *at;
			assert_int_equal(nr, 7);
		}
		free(text);
	}
}

/* The sums after intervals have as many fields as these, as with perf. */
static void test_csv_summary(void **state)
{
	char *text;

	(void)state;
	text = print((struct stat_style){ .separator = ",", .summary = true });
	assert_non_null(strstr(text, "\nsummary,web;\\x1b[31m,42,,page-faults,2000000000,100.00,"));
	free(text);
}

static void test_json(void **state)
{
	char *text;

	(void)state;
	report.rows.data[0].vcpu = 1;
	text = print((struct stat_style){ .json = true, .per_vcpu = true });
	report.rows.data[0].vcpu = -1;
	for (size_t i = 0; i < ARRAY_SIZE(json); i++)
		assert_non_null(strstr(text, json[i]));
	free(text);
}

/* Lines of an interval begin with the time and whose they are. */
static void test_interval(void **state)
{
	char *text, *save = NULL;
	size_t nr = 0;

	(void)state;
	report.rows.data[0].vcpu = 3;
	text = print((struct stat_style){ .interval = true, .per_vcpu = true });
	report.rows.data[0].vcpu = -1;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		assert_memory_equal(line, "    2.500000000 web;\\x1b[31m/3 ", 31);
		nr++;
	}
	assert_int_equal(nr, NR + 4 + 3);
	free(text);
}

/* What is not known is said, and nothing is made of it. */
static void test_unknown(void **state)
{
	struct tally_sums *sums = &report.rows.data[0].sums;
	char *text;

	(void)state;
	sums->known = TALLY_KNOWS_SCHED;
	text = print((struct stat_style){ .separator = "," });
	sums->known = UINT32_MAX;
	assert_non_null(strstr(text, ",<not supported>,msec,task-clock:G,"));
	assert_non_null(strstr(text, ",<not supported>,msec,task-clock:H,"));
	assert_non_null(strstr(text, ",<not supported>,msec,guest-time,"));
	assert_non_null(strstr(text, ",<not supported>,msec,halt-time,"));
	assert_non_null(strstr(text, ",<not supported>,,exits,"));
	assert_non_null(strstr(text, ",40.000000,msec,steal-time,"));
	assert_null(strstr(text, "GHz"));
	free(text);
}

static void test_full(void **state)
{
	struct stat_style style = { .subject = { events, NR, &names } };
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	if (!out)
		skip();
	assert_int_equal(stat_print(out, &style, &report, 2.5), -ENOSPC);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_csv_fields),
		cmocka_unit_test(test_csv_summary),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
