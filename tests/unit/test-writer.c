/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf.data writer: the file as bytes, and what becomes of it when things go wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/file.h"
#include "perfdata/format.h"
#include "perfdata/reader.h"
#include "perfdata/writer.h"

static const struct perfdata_writer_event events[] = {
	{ .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
	  .period_or_freq = 999, .freq = true },
	{ .name = "cycles", .type = PERF_TYPE_HARDWARE, .period_or_freq = 100000 },
};

static const char *const cmdline[] = { "kvmprof", "record", NULL };

static const struct perfdata_writer_options options = {
	.hostname = "vm1",
	.arch = "x86_64",
	.cmdline = cmdline,
	.nr_cpus = 4,
	.total_mem_kb = 1048576,
	.events = events,
	.nr_events = 2,
};

static const u8 build_id[20] = { 0xaa, 0xbb, 1, 2, 3 };

struct place {
	char dir[32];
	char path[64];
};

static void make_place(struct place *place)
{
	strcpy(place->dir, "/tmp/kvmprof-test.XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	snprintf(place->path, sizeof(place->path), "%s/perf.data", place->dir);
}

/* Removes the files and says how many there were. */
static size_t remove_place(const struct place *place)
{
	DIR *dir = opendir(place->dir);
	struct dirent *entry;
	size_t nr = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		nr++;
		assert_int_equal(unlinkat(dirfd(dir), entry->d_name, 0), 0);
	}
	closedir(dir);
	assert_int_equal(rmdir(place->dir), 0);
	return nr;
}

static void add_sample(struct perfdata_writer *writer, u64 time, u32 nr_ips)
{
	u64 ips[16] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020 };
	struct perfdata_sample sample = {
		.event = 1, .pid = 7, .tid = 8, .cpu = 3, .time = time, .period = 100000,
		.ip = ips[1], .ips = ips, .nr_ips = nr_ips,
	};

	assert_int_equal(perfdata_writer_sample(writer, &sample), 0);
}

struct record {
	struct perf_event_header header;
	struct cursor body;
};

/* A header whose data section holds whole records, with directory and sections behind. */
static void open_data(const char *data, size_t size, struct cursor *ret_records, u64 *ret_features)
{
	struct cursor c;
	u64 offset, length;

	cursor_init(&c, data, size);
	assert_memory_equal(cursor_bytes(&c, 8), PERFDATA_MAGIC, 8);
	assert_int_equal(cursor_u64(&c), PERFDATA_HEADER_SIZE);
	assert_int_equal(cursor_u64(&c), sizeof(struct perf_event_attr) + 16);
	cursor_skip(&c, 16);
	offset = cursor_u64(&c);
	length = cursor_u64(&c);
	cursor_skip(&c, 16);
	*ret_features = cursor_u64(&c);
	assert_int_equal(cursor_error(&c), 0);
	assert_int_equal(cursor_sub(&c, offset, length, ret_records), 0);
}

static bool next_record(struct cursor *c, struct record *ret)
{
	if (!cursor_left(c))
		return false;
	assert_int_equal(cursor_copy(c, &ret->header, sizeof(ret->header)), 0);
	assert_true(ret->header.size >= sizeof(ret->header) && ret->header.size % 8 == 0);
	cursor_init(&ret->body, cursor_bytes(c, ret->header.size - sizeof(ret->header)),
		    ret->header.size - sizeof(ret->header));
	assert_int_equal(cursor_error(c), 0);
	return true;
}

static void expect_sample(struct record *r, u64 time)
{
	assert_int_equal(r->header.type, PERF_RECORD_SAMPLE);
	assert_int_equal(r->header.misc, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(cursor_u64(&r->body), 2);
	assert_int_equal(cursor_u64(&r->body), 0xffffffff81000010);
	assert_int_equal(cursor_u32(&r->body), 7);
	assert_int_equal(cursor_u32(&r->body), 8);
	assert_int_equal(cursor_u64(&r->body), time);
	assert_int_equal(cursor_u64(&r->body), 3);
	assert_int_equal(cursor_u64(&r->body), 100000);
	assert_int_equal(cursor_u64(&r->body), 3);
	cursor_skip(&r->body, 24);
	assert_int_equal(cursor_error(&r->body), 0);
	assert_int_equal(cursor_left(&r->body), 0);
}

/* Feature @bit's section in the file. */
static void find_feature(const char *data, size_t size, unsigned int bit, struct cursor *ret)
{
	struct cursor c, records;
	u64 features, offset, length;
	unsigned int before;

	open_data(data, size, &records, &features);
	assert_true(features & 1ULL << bit);
	before = __builtin_popcountll(features & ((1ULL << bit) - 1));
	cursor_init(&c, data, size);
	cursor_seek(&c, (const char *)records.end - data + before * 16);
	offset = cursor_u64(&c);
	length = cursor_u64(&c);
	assert_int_equal(cursor_sub(&c, offset, length, ret), 0);
}

static void expect_text(struct cursor *c, const char *text)
{
	u32 size = cursor_u32(c);

	assert_int_equal(size % 64, 0);
	assert_string_equal(cursor_bytes(c, size), text);
}

static void test_features(const char *data, size_t size)
{
	struct cursor c;

	find_feature(data, size, PERFDATA_FEATURE_HOSTNAME, &c);
	expect_text(&c, "vm1");
	find_feature(data, size, PERFDATA_FEATURE_OSRELEASE, &c);
	expect_text(&c, "6.1.0-18-amd64");
	find_feature(data, size, PERFDATA_FEATURE_CMDLINE, &c);
	assert_int_equal(cursor_u32(&c), 2);
	expect_text(&c, "kvmprof");
	expect_text(&c, "record");
	assert_int_equal(cursor_left(&c), 0);
	find_feature(data, size, PERFDATA_FEATURE_SAMPLE_TIME, &c);
	assert_int_equal(cursor_u64(&c), 900);
	assert_int_equal(cursor_u64(&c), 1000);
	find_feature(data, size, PERFDATA_FEATURE_BUILD_ID, &c);
	cursor_skip(&c, 12);
	assert_memory_equal(cursor_bytes(&c, 20), build_id, 20);
	assert_int_equal(cursor_u32(&c), 20);
	assert_string_equal(cursor_string(&c, 64, NULL), "[kernel.kallsyms]");
}

static void test_file(void **state)
{
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	const struct perfdata_kernel kernel = {
		.start = 0xffffffff81000000,
		.end = 0xffffffff81e00000,
		.ref = 0xffffffff81000000,
		.ref_name = "_text",
		.build_id = build_id,
		.build_id_size = 20,
	};
	_cleanup_free_ char *data = NULL;
	struct place place;
	struct cursor records;
	struct record r;
	struct stat st;
	u64 features;
	size_t size;

	(void)state;
	make_place(&place);
	assert_int_equal(perfdata_writer_create(place.path, &options, &writer), 0);
	assert_int_equal(perfdata_writer_kernel(writer, &kernel), 0);
	assert_int_equal(perfdata_writer_comm(writer, 7, 8, "a\33[m", false, 900), 0);
	add_sample(writer, 1000, 3);
	add_sample(writer, 900, 3);
	assert_int_equal(perfdata_writer_lost(writer, 5, 1001), 0);
	assert_int_equal(perfdata_writer_set_release(writer, "6.1.0-18-amd64"), 0);
	assert_int_equal(access(place.path, F_OK), -1);
	assert_int_equal(perfdata_writer_finish(writer), 0);
	assert_int_equal(file_read(AT_FDCWD, place.path, 1 << 20, &data, &size), 0);
	assert_int_equal(size, perfdata_writer_bytes(writer));
	assert_int_equal(stat(place.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);

	open_data(data, size, &records, &features);
	assert_true(next_record(&records, &r));
	assert_int_equal(r.header.type, PERF_RECORD_MMAP);
	assert_int_equal(r.header.misc, PERF_RECORD_MISC_KERNEL);
	cursor_skip(&r.body, 8);
	assert_int_equal(cursor_u64(&r.body), 0xffffffff81000000);
	assert_int_equal(cursor_u64(&r.body), 0xe00000);
	assert_int_equal(cursor_u64(&r.body), 0xffffffff81000000);
	assert_string_equal(cursor_string(&r.body, 64, NULL), "[kernel.kallsyms]_text");
	assert_true(next_record(&records, &r));
	assert_int_equal(r.header.type, PERF_RECORD_COMM);
	cursor_skip(&r.body, 8);
	assert_string_equal(cursor_string(&r.body, 64, NULL), "a\\x1b[m");
	assert_true(next_record(&records, &r));
	expect_sample(&r, 1000);
	assert_true(next_record(&records, &r));
	expect_sample(&r, 900);
	assert_true(next_record(&records, &r));
	assert_int_equal(r.header.type, PERF_RECORD_LOST);
	assert_false(next_record(&records, &r));
	test_features(data, size);
	assert_int_equal(remove_place(&place), 1);
}

static void test_abandoned(void **state)
{
	struct perfdata_writer *writer = NULL;
	struct place place;

	(void)state;
	make_place(&place);
	assert_int_equal(perfdata_writer_create(place.path, &options, &writer), 0);
	for (int i = 0; i < 10000; i++)
		add_sample(writer, i, 3);
	perfdata_writer_destroy(writer);
	perfdata_writer_destroy(NULL);
	assert_int_equal(remove_place(&place), 0);
}

static void test_old_file_kept(void **state)
{
	struct place place;
	char old[80];
	_cleanup_free_ char *data = NULL;

	(void)state;
	make_place(&place);
	snprintf(old, sizeof(old), "%s.old", place.path);
	assert_int_equal(file_write_atomic(place.path, "before", 6), 0);
	for (int i = 0; i < 2; i++) {
		_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;

		assert_int_equal(perfdata_writer_create(place.path, &options, &writer), 0);
		add_sample(writer, 1, 3);
		assert_int_equal(perfdata_writer_finish(writer), 0);
		if (!i) {
			assert_int_equal(file_read(AT_FDCWD, old, 6, &data, NULL), 0);
			assert_string_equal(data, "before");
		}
	}
	assert_int_equal(remove_place(&place), 2);
}

/* Said at the start, not when all is recorded. */
static void test_names_that_cannot_be(void **state)
{
	struct perfdata_writer *writer = NULL;
	char path[400], old[80];
	struct place place;

	(void)state;
	make_place(&place);
	assert_int_equal(perfdata_writer_create("", &options, &writer), -ENOENT);
	snprintf(path, sizeof(path), "%s/%0300d", place.dir, 1);
	assert_int_equal(perfdata_writer_create(path, &options, &writer), -ENAMETOOLONG);
	snprintf(path, sizeof(path), "%s/%0253d", place.dir, 1);
	assert_int_equal(file_write_atomic(place.path, "before", 6), 0);
	assert_int_equal(rename(place.path, path), 0);
	assert_int_equal(perfdata_writer_create(path, &options, &writer), -ENAMETOOLONG);
	assert_int_equal(unlink(path), 0);
	snprintf(old, sizeof(old), "%s.old", place.path);
	assert_int_equal(mkdir(old, 0700), 0);
	assert_int_equal(file_write_atomic(place.path, "before", 6), 0);
	assert_int_equal(perfdata_writer_create(place.path, &options, &writer), -EISDIR);
	assert_int_equal(rmdir(old), 0);
	assert_int_equal(remove_place(&place), 1);
}

/* The first error stays, and the name is not taken. */
static void test_full_disk(void **state)
{
	struct perfdata_sample sample = { .ips = (const u64[200]){ 0 }, .nr_ips = 200 };
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	int err = 0;

	(void)state;
	assert_int_equal(perfdata_writer_create("/dev/full", &options, &writer), 0);
	for (int i = 0; i < 1000 && !err; i++)
		err = perfdata_writer_sample(writer, &sample);
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(perfdata_writer_comm(writer, 1, 1, "x", false, 1), -ENOSPC);
	assert_int_equal(perfdata_writer_lost(writer, 1, 1), -ENOSPC);
	assert_int_equal(perfdata_writer_module(writer, "m", 1, 1, build_id, 20, 1), -ENOSPC);
	assert_int_equal(perfdata_writer_finish(writer), -ENOSPC);
}

static void test_places_that_cannot_be(void **state)
{
	struct perfdata_writer *writer = NULL;
	struct perfdata_writer_options none = options;

	(void)state;
	assert_int_equal(perfdata_writer_create("/tmp", &options, &writer), -EISDIR);
	assert_int_equal(perfdata_writer_create("/nonexistent/x", &options, &writer), -ENOENT);
	none.nr_events = 0;
	assert_int_equal(perfdata_writer_create("/dev/null", &none, &writer), -EINVAL);
	assert_null(writer);
}

static void test_limits(void **state)
{
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	_cleanup_free_ u64 *ips = calloc(9000, sizeof(u64));
	struct perfdata_sample sample = { .ips = ips, .nr_ips = 8184 };
	struct perfdata_kernel kernel = { .start = 2, .end = 1, .ref = 2, .ref_name = "_text" };
	u64 before;

	(void)state;
	assert_non_null(ips);
	assert_int_equal(perfdata_writer_create("/dev/null", &options, &writer), 0);
	before = perfdata_writer_bytes(writer);
	assert_int_equal(perfdata_writer_sample(writer, &sample), -E2BIG);
	sample.event = 2;
	sample.nr_ips = 1;
	assert_int_equal(perfdata_writer_sample(writer, &sample), -EINVAL);
	assert_int_equal(perfdata_writer_kernel(writer, &kernel), -EINVAL);
	kernel.end = 3;
	kernel.ref_name = "a name that no kernel has";
	assert_int_equal(perfdata_writer_kernel(writer, &kernel), -EINVAL);
	assert_int_equal(perfdata_writer_bytes(writer), before);
	sample.event = 0;
	sample.nr_ips = 8183;
	assert_int_equal(perfdata_writer_sample(writer, &sample), 0);
	assert_int_equal(perfdata_writer_bytes(writer), before + 65528);
}

/*
 * At a mark perf lets go of what is not newer than all before the mark before. Records that come
 * late by less than a second must not be among that.
 */
static void test_rounds(void **state)
{
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	_cleanup_free_ char *data = NULL;
	u64 newest = 0, at_mark = 0, gone = 0, features;
	struct cursor records;
	struct place place;
	struct record r;
	size_t size, rounds = 0;

	(void)state;
	make_place(&place);
	assert_int_equal(perfdata_writer_create(place.path, &options, &writer), 0);
	for (u64 t = 2; t < 100; t++)
		add_sample(writer, t * 100000000ULL - (t % 2) * 150000000ULL, 3);
	assert_int_equal(perfdata_writer_finish(writer), 0);
	assert_int_equal(file_read(AT_FDCWD, place.path, 1 << 20, &data, &size), 0);
	open_data(data, size, &records, &features);
	while (next_record(&records, &r)) {
		u64 time;

		if (r.header.type == PERFDATA_RECORD_FINISHED_ROUND) {
			rounds++;
			gone = at_mark;
			at_mark = newest;
			continue;
		}
		cursor_skip(&r.body, 24);
		time = cursor_u64(&r.body);
		assert_true(time >= gone);
		newest = MAX(newest, time);
	}
	assert_in_range(rounds, 5, 12);
	assert_int_equal(remove_place(&place), 1);
}

/* What was said to come late is in order for the reader, and rounds go on afterwards. */
static void test_expected(void **state)
{
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_reader_stats stats;
	struct perfdata_record r;
	struct place place;
	size_t size;
	u64 last = 0, nr = 0;

	(void)state;
	make_place(&place);
	assert_int_equal(perfdata_writer_create(place.path, &options, &writer), 0);
	for (u64 t = 10; t < 100; t++) {
		if (t == 30)
			perfdata_writer_expect(writer, 30 * 100000000ULL + 5);
		if (t == 90) {
			add_sample(writer, 30 * 100000000ULL + 5, 3);
			perfdata_writer_expect(writer, UINT64_MAX);
		}
		add_sample(writer, t * 100000000ULL, 3);
	}
	size = perfdata_writer_bytes(writer);
	for (u64 t = 100; t < 140; t++)
		add_sample(writer, t * 100000000ULL, 3);
	assert_true(perfdata_writer_bytes(writer) - size > 40 * 88);	/* marks, too */
	assert_int_equal(perfdata_writer_finish(writer), 0);
	assert_int_equal(perfdata_reader_open(place.path, &reader, NULL), 0);
	for (; perfdata_reader_next(reader, &r) == 1; nr++) {
		assert_true(r.time >= last);
		last = r.time;
	}
	perfdata_reader_stats(reader, &stats);
	assert_int_equal(nr, 131);
	assert_int_equal(stats.unordered, 0);
	assert_int_equal(remove_place(&place), 1);
}

/* Each file with each build id once, however many there are. */
static void test_many_build_ids(void **state)
{
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_mmap mmap = { .pid = 7, .tid = 7, .len = 4096, .build_id_size = 20 };
	struct perfdata_record r;
	struct place place;
	u8 id[20] = { 1 };
	char name[32];

	(void)state;
	make_place(&place);
	assert_int_equal(perfdata_writer_create(place.path, &options, &writer), 0);
	mmap.build_id = id;
	mmap.filename = name;
	for (u32 i = 0; i < 12000; i++) {
		u32 which = i % 6000;

		snprintf(name, sizeof(name), "/lib/%u", which / 2);
		id[19] = which % 2;
		assert_int_equal(perfdata_writer_mmap(writer, &mmap), 0);
	}
	assert_int_equal(perfdata_writer_finish(writer), 0);
	assert_int_equal(perfdata_reader_open(place.path, &reader, NULL), 0);
	assert_int_equal(perfdata_reader_next(reader, &r), 1);
	assert_int_equal(perfdata_reader_nr_build_ids(reader), 6000);
	assert_int_equal(remove_place(&place), 1);
}

static void test_raw(void **state)
{
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	struct perfdata_writer_options with_raw = options;
	struct perfdata_sample sample = { .raw = "twelve bytes", .raw_size = 12 };
	u64 before;

	(void)state;
	with_raw.raw = true;
	assert_int_equal(perfdata_writer_create("/dev/null", &with_raw, &writer), 0);
	before = perfdata_writer_bytes(writer);
	assert_int_equal(perfdata_writer_sample(writer, &sample), 0);
	assert_int_equal(perfdata_writer_bytes(writer), before + 8 + 56 + 16);
	sample.raw_size = 8;
	assert_int_equal(perfdata_writer_sample(writer, &sample), -EINVAL);
}

static void expect_next(struct perfdata_reader *reader, enum perfdata_kind kind, u64 time,
			struct perfdata_record *ret)
{
	assert_int_equal(perfdata_reader_next(reader, ret), 1);
	assert_int_equal(ret->kind, kind);
	assert_int_equal(ret->time, time);
}

static void write_all_kinds(struct perfdata_writer *writer)
{
	const struct perfdata_mmap mmap = {
		.pid = 7, .tid = 8, .start = 0x400000, .len = 0x2000, .pgoff = 0x1000, .prot = 5,
		.flags = 2, .build_id = build_id, .build_id_size = 20, .filename = "/bin/\33x",
		.time = 30,
	};
	const struct perfdata_task forked = { 9, 10, 7, 8, 40 }, ended = { 9, 10, 7, 8, 45 };
	u64 ips[] = { PERF_CONTEXT_USER, 0x400010, 0x400020 };
	const struct perfdata_sample sample = {
		.event = 0, .pid = 7, .tid = 8, .cpu = 1, .time = 60, .period = 10, .ip = 0x400010,
		.user = true, .ips = ips, .nr_ips = 3, .raw = "0123456789ab", .raw_size = 12,
	};

	assert_int_equal(perfdata_writer_sample(writer, &sample), 0);
	assert_int_equal(perfdata_writer_lost(writer, 5, 50), 0);
	assert_int_equal(perfdata_writer_fork(writer, &forked), 0);
	assert_int_equal(perfdata_writer_exit(writer, &ended), 0);
	assert_int_equal(perfdata_writer_mmap(writer, &mmap), 0);
	assert_int_equal(perfdata_writer_comm(writer, 7, 8, "name", true, 20), 0);
	assert_int_equal(perfdata_writer_set_release(writer, "6.1"), 0);
	assert_int_equal(perfdata_writer_module(writer, "m/m", 0x1000, 0x100, NULL, 0, 10), 0);
	assert_int_equal(perfdata_writer_set_accounting(writer, "events 1\n"), 0);
}

static void read_all_kinds(struct perfdata_reader *reader)
{
	struct perfdata_record r;

	expect_next(reader, PERFDATA_MMAP, 10, &r);
	assert_int_equal(r.cpumode, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(r.pid, UINT32_MAX);
	assert_string_equal(r.mmap.filename, "/lib/modules/6.1/m_m.ko");
	expect_next(reader, PERFDATA_COMM, 20, &r);
	assert_string_equal(r.comm.comm, "name");
	assert_true(r.comm.exec);
	expect_next(reader, PERFDATA_MMAP, 30, &r);
	assert_int_equal(r.cpumode, PERF_RECORD_MISC_USER);
	assert_int_equal(r.mmap.start, 0x400000);
	assert_int_equal(r.mmap.len, 0x2000);
	assert_int_equal(r.mmap.pgoff, 0x1000);
	assert_int_equal(r.mmap.prot, 5);
	assert_int_equal(r.mmap.build_id_size, 20);
	assert_memory_equal(r.mmap.build_id, build_id, 20);
	assert_string_equal(r.mmap.filename, "/bin/\\x1bx");
	expect_next(reader, PERFDATA_FORK, 40, &r);
	assert_int_equal(r.pid, 9);
	assert_int_equal(r.tid, 10);
	assert_int_equal(r.task.ppid, 7);
	assert_int_equal(r.task.ptid, 8);
	assert_true(r.misc & PERF_RECORD_MISC_FORK_EXEC);
	expect_next(reader, PERFDATA_EXIT, 45, &r);
	assert_int_equal(r.pid, 9);
	assert_int_equal(r.tid, 10);
	assert_int_equal(r.task.ppid, 7);
	expect_next(reader, PERFDATA_LOST, 50, &r);
	assert_int_equal(r.lost.lost, 5);
	expect_next(reader, PERFDATA_SAMPLE, 60, &r);
	assert_int_equal(r.sample.nr_ips, 3);
	assert_int_equal(r.sample.ips[1], 0x400010);
	assert_int_equal(r.sample.raw_size, 12);
	assert_memory_equal(r.sample.raw, "0123456789ab", 12);
	assert_int_equal(perfdata_reader_next(reader, &r), 0);
}

/* Backwards, so that the reader has to sort. */
static void test_round_trip(void **state)
{
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_writer_options with_raw = options;
	struct place place;

	(void)state;
	with_raw.raw = true;
	make_place(&place);
	assert_int_equal(perfdata_writer_create(place.path, &with_raw, &writer), 0);
	write_all_kinds(writer);
	assert_int_equal(perfdata_writer_finish(writer), 0);
	assert_int_equal(perfdata_reader_open(place.path, &reader, NULL), 0);
	read_all_kinds(reader);
	assert_int_equal(perfdata_reader_nr_attrs(reader), 2);
	assert_string_equal(perfdata_reader_attr(reader, 0)->name, "cpu-clock");
	assert_string_equal(perfdata_reader_attr(reader, 1)->name, "cycles");
	assert_int_equal(perfdata_reader_attr(reader, 0)->sample_period, 999);
	assert_int_equal(perfdata_reader_nr_build_ids(reader), 2);
	assert_string_equal(perfdata_reader_build_id(reader, 0)->filename, "/bin/\\x1bx");
	assert_memory_equal(perfdata_reader_build_id(reader, 0)->id, build_id, 20);
	/* That of the module, which has none. */
	assert_memory_equal(perfdata_reader_build_id(reader, 1)->id, "no build id", 12);
	assert_string_equal(perfdata_reader_string(reader, PERFDATA_FEATURE_HOSTNAME), "vm1");
	assert_string_equal(perfdata_reader_string(reader, PERFDATA_FEATURE_OSRELEASE), "6.1");
	assert_string_equal(perfdata_reader_string(reader, PERFDATA_FEATURE_CMDLINE),
			    "kvmprof record");
	assert_string_equal(perfdata_reader_string(reader, PERFDATA_FEATURE_ACCOUNTING),
			    "events 1\n");
	assert_int_equal(remove_place(&place), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_old_file_kept),
		cmocka_unit_test(test_names_that_cannot_be),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_places_that_cannot_be),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_many_build_ids),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
