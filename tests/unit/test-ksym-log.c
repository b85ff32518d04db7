/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of code that a guest's kernel made: once each, what is gone, what took its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "build-ksyms.h"
#include "engine/ksym-log.h"
#include "perfdata/reader.h"

#define ALL (BUILD_KSYMS_BPF + BUILD_KSYMS_OTHERS)

struct fixture {
	struct build_guest build;
	struct build_process p;
	struct build_ksyms k;
	struct guest *guest;
	struct perfdata_writer *writer;
	struct ksym_log log;
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
	struct build_guest_options options = build_guest_release(6);

	memset(f, 0, sizeof(*f));
	build_guest_init(&f->build, &options);
	build_process_init(&f->p, &f->build);
	build_ksyms_init(&f->k, &f->p);
	f->guest = build_process_identify(&f->p);
	assert_non_null(f->guest);
	snprintf(f->path, sizeof(f->path), "/tmp/kvmprof-test-%d.data", getpid());
	assert_int_equal(perfdata_writer_create(f->path, &writer, &f->writer), 0);
}

static void close_fixture(struct fixture *f)
{
	ksym_log_deinit(&f->log);
	perfdata_writer_destroy(f->writer);
	guest_destroy(f->guest);
	build_guest_deinit(&f->build);
	unlink(f->path);
}

struct counts {
	unsigned int came, bpf, gone;
	char last[64];		/* name of what came last */
};

/* What was written. */
static struct counts finish(struct fixture *f)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct counts counts = { .came = 0 };
	struct perfdata_record r;

	assert_int_equal(perfdata_writer_finish(f->writer), 0);
	assert_int_equal(perfdata_reader_open(f->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &r) == 1) {
		if (r.kind != PERFDATA_KSYMBOL)
			continue;
		counts.gone += r.ksymbol.gone;
		counts.came += !r.ksymbol.gone;
		counts.bpf += r.ksymbol.type == PERF_RECORD_KSYMBOL_TYPE_BPF;
		if (!r.ksymbol.gone)
			snprintf(counts.last, sizeof(counts.last), "%s", r.ksymbol.name);
	}
	return counts;
}

static void update(struct fixture *f, u64 time)
{
	assert_int_equal(ksym_log_update(&f->log, f->guest, f->writer, time), 0);
}

static void test_once(void **state)
{
	struct counts counts;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	update(&f, 1);
	update(&f, 2);
	counts = finish(&f);
	assert_int_equal(counts.came, ALL);
	assert_int_equal(counts.bpf, BUILD_KSYMS_BPF);
	assert_int_equal(counts.gone, 0);
	close_fixture(&f);
}

/* A program goes, another takes its place, the first is there again. */
static void test_changes(void **state)
{
	struct counts counts;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	update(&f, 1);
	build_set(&f.p, f.k.bpf[0], 0);
	update(&f, 2);
	build_set(&f.p, f.k.bpf[0], BUILD_KSYMS_BPF_CODE);
	build_guest_poke(&f.build, f.k.bpf[0] + BUILD_KSYM_NAME, "bpf_prog_other", 15);
	update(&f, 3);
	build_guest_poke(&f.build, f.k.bpf[0] + BUILD_KSYM_NAME, "bpf_prog_third", 15);
	update(&f, 4);
	counts = finish(&f);
	assert_int_equal(counts.came, ALL + 2);
	assert_int_equal(counts.gone, 2);
	assert_string_equal(counts.last, "bpf_prog_third");
	close_fixture(&f);
}

/* A list that is torn says nothing of what is gone. */
static void test_torn(void **state)
{
	struct counts counts;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	update(&f, 1);
	build_set(&f.p, f.k.bpf[0] + BUILD_KSYM_LIST, 0xdead000000000100);
	update(&f, 2);
	counts = finish(&f);
	assert_int_equal(counts.came, ALL);
	assert_int_equal(counts.gone, 0);
	close_fixture(&f);
}

/* A guest that makes code for ever: what was told stays true, the rest is left out and counted. */
static void test_full(void **state)
{
	struct counts counts;
	struct fixture f;
	size_t nr;

	(void)state;
	open_fixture(&f);
	update(&f, 1);
	assert_int_equal(f.log.nr_came, ALL);
	assert_int_equal(f.log.left_out, 0);
	nr = f.log.entries.nr;
	f.log.nr_came = KSYM_LOG_MAX - 1;
	for (u64 i = 0; i < 3; i++)
		build_set(&f.p, f.k.bpf[i], BUILD_KSYMS_BPF_CODE + i * 0x1000 + 0x40);
	update(&f, 2);
	assert_int_equal(f.log.entries.nr, nr + 1);
	assert_int_equal(f.log.left_out, 2);
	/* An address that is known, but whose record said that it is gone. */
	build_set(&f.p, f.k.bpf[0], BUILD_KSYMS_BPF_CODE);
	update(&f, 3);
	assert_int_equal(f.log.entries.nr, nr + 1);
	assert_int_equal(f.log.left_out, 3);
	counts = finish(&f);
	assert_int_equal(counts.came, ALL + 1);
	assert_int_equal(counts.gone, 4);
	close_fixture(&f);
}

/* A guest chooses the addresses, and cannot choose them to collide. */
static void test_seed(void **state)
{
	struct ksym_log again = { 0 };
	struct fixture f;

	(void)state;
	open_fixture(&f);
	update(&f, 1);
	assert_int_equal(f.log.entries.nr, ALL);
	assert_null(hashmap_get(&f.log.by_start, BUILD_KSYMS_BPF_CODE));
	assert_non_null(hashmap_get(&f.log.by_start,
				    hash_combine(f.log.seed, BUILD_KSYMS_BPF_CODE)));
	assert_int_equal(ksym_log_update(&again, f.guest, f.writer, 1), 0);
	assert_int_not_equal(again.seed, f.log.seed);
	ksym_log_deinit(&again);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
