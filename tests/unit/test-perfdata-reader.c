/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf.data reader: every form of file, time order, files cut at each byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"
#include "build-perfdata.h"
#include "perfdata/format.h"
#include "perfdata/order.h"
#include "perfdata/reader.h"

#define SAMPLE_TYPE                                                                       \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |   \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static const u64 chain[] = { PERF_CONTEXT_USER, 0x401000, 0x402000, 0x403000 };
static const u8 build_id[20] = { 0xde, 0xad, 0xbe, 0xef };

static int open_bytes(const void *data, size_t size, struct perfdata_reader **ret)
{
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, data, size), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return perfdata_reader_open_fd(fd, ret, NULL);
}

static struct perfdata_build_where at(u64 time, u32 cpu)
{
	return (struct perfdata_build_where){
		.pid = 7, .tid = 8, .cpu = cpu, .time = time, .id = BUILD_ID_OF(0) + cpu,
	};
}

static void add_sample(struct perfdata_build *b, u64 time, u32 cpu)
{
	struct perfdata_build_where where = at(time, cpu);

	perfdata_build_sample(b, &where, PERF_RECORD_MISC_USER, 1000 + time, chain,
			      ARRAY_SIZE(chain));
}

/* One of each kind, in time order. */
static void add_all_kinds(struct perfdata_build *b)
{
	struct perfdata_build_where zero = { .pid = -1 }, where = at(10, 1);

	perfdata_build_mmap(b, &zero, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
			    "[kernel.kallsyms]_text");
	perfdata_build_comm(b, &where, "worker");
	where = at(11, 1);
	perfdata_build_mmap2(b, &where, 0x400000, 0x4000, build_id, "/bin/worker");
	where = at(12, 1);
	perfdata_build_mmap2(b, &where, 0x7f0000000000, 0x1000, NULL, "/lib/libc.so");
	where = at(13, 1);
	perfdata_build_task(b, &where, true, 3);
	add_sample(b, 14, 0);
	where = at(15, 1);
	perfdata_build_throttle(b, &where);
	where = at(16, 1);
	perfdata_build_lost(b, &where, 99);
	where = at(17, 1);
	perfdata_build_task(b, &where, false, 3);
	perfdata_build_round(b);
}

static void next(struct perfdata_reader *reader, struct perfdata_record *record, int kind)
{
	assert_int_equal(perfdata_reader_next(reader, record), 1);
	assert_int_equal(record->kind, kind);
}

static void check_mmaps(struct perfdata_reader *reader)
{
	struct perfdata_record r;

	next(reader, &r, PERFDATA_MMAP);
	assert_int_equal(r.pid, UINT32_MAX);
	assert_int_equal(r.cpumode, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(r.mmap.start, 0xffffffff81000000);
	assert_int_equal(r.mmap.len, 0x1000000);
	assert_int_equal(r.mmap.pgoff, 0xffffffff81000000);
	assert_string_equal(r.mmap.filename, "[kernel.kallsyms]_text");
	next(reader, &r, PERFDATA_COMM);
	assert_int_equal(r.pid, 7);
	assert_int_equal(r.tid, 8);
	assert_int_equal(r.time, 10);
	assert_int_equal(r.cpu, 1);
	assert_true(r.comm.exec);
	assert_string_equal(r.comm.comm, "worker");
	next(reader, &r, PERFDATA_MMAP);
	assert_int_equal(r.mmap.build_id_size, 20);
	assert_memory_equal(r.mmap.build_id, build_id, 20);
	assert_int_equal(r.mmap.prot, 5);
	assert_string_equal(r.mmap.filename, "/bin/worker");
	next(reader, &r, PERFDATA_MMAP);
	assert_int_equal(r.mmap.build_id_size, 0);
	assert_int_equal(r.mmap.maj, 8);
	assert_int_equal(r.mmap.ino, 1234);
	assert_int_equal(r.mmap.flags, 2);
}

static void check_all_kinds(struct perfdata_reader *reader)
{
	struct perfdata_record r;

	check_mmaps(reader);
	next(reader, &r, PERFDATA_FORK);
	assert_int_equal(r.task.ppid, 3);
	assert_int_equal(r.time, 13);
	next(reader, &r, PERFDATA_SAMPLE);
	assert_int_equal(r.sample.ip, 0x401000);
	assert_int_equal(r.sample.id, BUILD_ID_OF(0));
	assert_int_equal(r.sample.period, 1014);
	assert_int_equal(r.sample.nr_ips, ARRAY_SIZE(chain));
	assert_memory_equal(r.sample.ips, chain, sizeof(chain));
	assert_int_equal((uintptr_t)r.sample.ips % 8, 0);
	assert_int_equal(r.cpumode, PERF_RECORD_MISC_USER);
	next(reader, &r, PERFDATA_OTHER);
	assert_int_equal(r.type, PERF_RECORD_THROTTLE);
	assert_int_equal(r.time, 15);
	next(reader, &r, PERFDATA_LOST);
	assert_int_equal(r.lost.lost, 99);
	next(reader, &r, PERFDATA_EXIT);
	assert_int_equal(r.pid, 7);
	assert_int_equal(r.tid, 8);
	assert_int_equal(perfdata_reader_next(reader, &r), 0);
	assert_int_equal(perfdata_reader_next(reader, &r), 0);
}

static void check_header(struct perfdata_reader *reader, u32 nr_attrs)
{
	const struct perfdata_attr *attr = perfdata_reader_attr(reader, nr_attrs - 1);

	assert_int_equal(perfdata_reader_nr_attrs(reader), nr_attrs);
	assert_int_equal(attr->type, PERF_TYPE_SOFTWARE);
	assert_int_equal(attr->config, nr_attrs - 1);
	assert_int_equal(attr->sample_type, SAMPLE_TYPE);
	assert_int_equal(attr->flags, 1 << 18);
	assert_int_equal(attr->nr_ids, 2);
	assert_int_equal(attr->ids[1], BUILD_ID_OF(nr_attrs - 1) + 1);
	assert_int_equal(perfdata_reader_nr_build_ids(reader), 1);
	assert_int_equal(perfdata_reader_build_id(reader, 0)->size, 20);
	assert_int_equal(perfdata_reader_build_id(reader, 0)->id[19], 20);
	assert_string_equal(perfdata_reader_build_id(reader, 0)->filename, "/bin/true");
	assert_string_equal(perfdata_reader_string(reader, PERFDATA_FEATURE_HOSTNAME), "guest7");
	assert_string_equal(perfdata_reader_string(reader, PERFDATA_FEATURE_CMDLINE),
			    "kvmprof record");
	assert_null(perfdata_reader_string(reader, PERFDATA_FEATURE_ARCH));
	assert_null(perfdata_reader_string(reader, 256));
}

static void test_forms(void **state)
{
	(void)state;
	for (int form = 0; form < 8; form++) {
		_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
		u32 nr_attrs = form & 4 ? 3 : 1;
		struct perfdata_build b;

		perfdata_build_begin(&b, form & 1, form & 2, nr_attrs, SAMPLE_TYPE);
		add_all_kinds(&b);
		perfdata_build_finish(&b);
		assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
		check_all_kinds(reader);
		check_header(reader, nr_attrs);
		if (!b.pipe)
			assert_string_equal(perfdata_reader_string(reader,
								   PERFDATA_FEATURE_ACCOUNTING),
					    "samples: 3\n");
		assert_string_equal(perfdata_reader_attr(reader, 0)->name, "event-0");
		perfdata_build_deinit(&b);
	}
}

/* A real pipe, which cannot be sought in and gives the bytes in pieces. */
static void test_pipe(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_build b;
	int fds[2];

	(void)state;
	perfdata_build_begin(&b, false, true, 1, SAMPLE_TYPE);
	add_all_kinds(&b);
	perfdata_build_finish(&b);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fd_write_all(fds[1], b.out.data, b.out.len), 0);
	close(fds[1]);
	assert_int_equal(perfdata_reader_open_fd(fds[0], &reader, NULL), 0);
	check_all_kinds(reader);
	perfdata_build_deinit(&b);
}

static void test_normal_form_through_pipe(void **state)
{
	struct perfdata_reader *reader = NULL;
	const char *why = NULL;
	struct perfdata_build b;
	int fds[2];

	(void)state;
	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	perfdata_build_finish(&b);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fd_write_all(fds[1], b.out.data, b.out.len), 0);
	close(fds[1]);
	assert_int_equal(perfdata_reader_open_fd(fds[0], &reader, &why), -EOPNOTSUPP);
	assert_non_null(why);
	assert_null(reader);
	perfdata_build_deinit(&b);
}

/* Sample types with the id, the address, the stream id and counter values at their places. */
static void test_sample_types(void **state)
{
	static const u64 types[] = {
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
		SAMPLE_TYPE | PERF_SAMPLE_ADDR | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_READ,
		SAMPLE_TYPE | PERF_SAMPLE_ID | PERF_SAMPLE_RAW,
		PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID |
			PERF_SAMPLE_ADDR,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types) * 2; i++) {
		_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
		struct perfdata_build_where where = at(21, 1);
		u64 type = types[i / 2];
		struct perfdata_record r;
		struct perfdata_build b;

		perfdata_build_begin(&b, i & 1, false, 2, type);
		where.id = BUILD_ID_OF(1) + 1;
		perfdata_build_sample(&b, &where, 0, 5, chain, ARRAY_SIZE(chain));
		perfdata_build_lost(&b, &where, 4);
		perfdata_build_finish(&b);
		assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
		next(reader, &r, PERFDATA_SAMPLE);
		assert_int_equal(r.attr, 1);
		assert_int_equal(r.time, 21);
		assert_int_equal(r.sample.addr, type & PERF_SAMPLE_ADDR ? 0xadd7 : 0);
		assert_int_equal(r.sample.period, type & PERF_SAMPLE_PERIOD ? 5 : 4000);
		assert_int_equal(r.cpu, type & PERF_SAMPLE_CPU ? 1 : UINT32_MAX);
		assert_int_equal(r.sample.nr_ips, type & PERF_SAMPLE_CALLCHAIN ? 4 : 0);
		assert_int_equal(r.sample.raw_size, type & PERF_SAMPLE_RAW ? 4 : 0);
		if (type & PERF_SAMPLE_RAW)
			assert_memory_equal(r.sample.raw, "raw!", 4);
		next(reader, &r, PERFDATA_LOST);
		assert_int_equal(r.attr, 1);
		assert_int_equal(r.time, 21);
		assert_int_equal(perfdata_reader_next(reader, &r), 0);
		perfdata_build_deinit(&b);
	}
}

static void check_times(struct perfdata_reader *reader, const u64 *times, size_t nr)
{
	struct perfdata_record r;

	for (size_t i = 0; i < nr; i++) {
		next(reader, &r, PERFDATA_SAMPLE);
		assert_int_equal(r.time, times[i]);
	}
	assert_int_equal(perfdata_reader_next(reader, &r), 0);
}

static void test_order(void **state)
{
	static const u64 sorted[] = { 10, 11, 12, 13, 14, 20, 21, 22, 23, 30 };
	static const u64 in_file[] = { 11, 13, 14, 10, 12, 21, 23, 20, 22, 30 };
	struct perfdata_build b;

	(void)state;
	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	for (size_t i = 0; i < ARRAY_SIZE(in_file); i++) {
		add_sample(&b, in_file[i], 0);
		if (i == 4 || i == 8)
			perfdata_build_round(&b);
	}
	perfdata_build_finish(&b);
	for (int ordered = 0; ordered < 2; ordered++) {
		_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
		struct perfdata_reader_stats stats;

		assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
		if (!ordered)
			perfdata_reader_set_unordered(reader);
		check_times(reader, ordered ? sorted : in_file, ARRAY_SIZE(sorted));
		perfdata_reader_stats(reader, &stats);
		assert_int_equal(stats.unordered, 0);
	}
	perfdata_build_deinit(&b);
}

/*
 * A record older than the rounds promise comes out at the next chance and is counted; what waits
 * of a round stays behind until the next round has ended.
 */
static void test_order_broken_promise(void **state)
{
	static const u64 in_file[] = { 10, 50, 0, 60, 70, 0, 5, 80, 0 };
	static const u64 expected[] = { 10, 50, 5, 60, 70, 80 };
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_reader_stats stats;
	struct perfdata_build b;

	(void)state;
	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	for (size_t i = 0; i < ARRAY_SIZE(in_file); i++) {
		if (in_file[i])
			add_sample(&b, in_file[i], 0);
		else
			perfdata_build_round(&b);
	}
	perfdata_build_finish(&b);
	assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
	check_times(reader, expected, ARRAY_SIZE(expected));
	perfdata_reader_stats(reader, &stats);
	assert_int_equal(stats.unordered, 1);
	perfdata_build_deinit(&b);
}

/*
 * In the pipe form a second attribute may come late, while records wait that were of the only one
 * before and have no id that is known now.
 */
static void test_late_attr(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_build_where stranger = at(2, 0);
	struct perfdata_build b, other;
	struct perfdata_record r;

	(void)state;
	perfdata_build_begin(&b, false, true, 1, SAMPLE_TYPE);
	perfdata_build_begin(&other, false, true, 1, SAMPLE_TYPE);
	stranger.id = 9999;
	perfdata_build_lost(&b, &stranger, 1);
	strbuf_add(&b.out, other.out.data + PERFDATA_PIPE_HEADER_SIZE,
		   other.out.len - PERFDATA_PIPE_HEADER_SIZE);
	assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
	next(reader, &r, PERFDATA_LOST);
	assert_int_equal(r.attr, 0);
	assert_int_equal(perfdata_reader_nr_attrs(reader), 2);
	assert_int_equal(perfdata_reader_next(reader, &r), 0);
	perfdata_build_deinit(&other);
	perfdata_build_deinit(&b);
}

/* Equal times must stay in file order, also over several flushes. */
static void test_order_stable(void **state)
{
	struct perfdata_order order = { 0 };
	struct perfdata_raw raw = { 0 };
	u64 expected[500], random = 12345, last_time = 0, last_seq = 0;

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(expected); i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		raw.size = i;
		assert_int_equal(perfdata_order_push(&order, 1 + (random >> 33) % 50, &raw), 0);
	}
	assert_false(perfdata_order_take(&order, &raw));
	assert_int_equal(perfdata_order_finish_half(&order), 0);
	for (u32 i = 0; i < ARRAY_SIZE(expected); i++) {
		if (!perfdata_order_take(&order, &raw)) {
			assert_in_range(i, 200, 300);
			assert_int_equal(perfdata_order_finish(&order), 0);
			assert_true(perfdata_order_take(&order, &raw));
		}
		assert_true(order.last_taken > last_time ||
			    (order.last_taken == last_time && raw.size > last_seq));
		last_time = order.last_taken;
		last_seq = raw.size;
	}
	assert_false(perfdata_order_take(&order, &raw));
	perfdata_order_deinit(&order);
}

/* More than a chunk of records: they cross chunk borders and wait in several. */
static void test_many(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	enum { NR = 20000 };
	struct perfdata_build b;
	struct perfdata_record r;

	(void)state;
	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	for (u64 i = 0; i < NR; i++) {
		add_sample(&b, 1 + (i ^ 1), i & 1);
		if (i % 3000 == 0)
			perfdata_build_round(&b);
	}
	perfdata_build_finish(&b);
	assert_true(b.out.len > 4 * PERFDATA_CHUNK_SIZE);
	assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
	for (u64 i = 0; i < NR; i++) {
		next(reader, &r, PERFDATA_SAMPLE);
		assert_int_equal(r.time, 1 + i);
		assert_int_equal(r.sample.period, 1001 + i);
		assert_memory_equal(r.sample.ips, chain, sizeof(chain));
	}
	assert_int_equal(perfdata_reader_next(reader, &r), 0);
	perfdata_build_deinit(&b);
}

static void test_compressed(void **state)
{
	(void)state;
	for (int form = 0; form < 8; form++) {
		_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
		struct perfdata_record r;
		struct perfdata_build b;

		perfdata_build_begin(&b, form & 1, form & 2, 1, SAMPLE_TYPE);
		add_sample(&b, 1, 0);
		perfdata_build_pack_begin(&b);
		for (u64 i = 2; i < 6000; i++)
			add_sample(&b, i, 0);
		if (form & 4)
			perfdata_build_pack_halves(&b);
		else
			perfdata_build_pack(&b, false);
		perfdata_build_round(&b);
		perfdata_build_pack_begin(&b);
		add_sample(&b, 6000, 0);
		perfdata_build_pack(&b, true);
		add_sample(&b, 6001, 0);
		perfdata_build_finish(&b);
		assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
		for (u64 i = 1; i <= 6001; i++) {
			next(reader, &r, PERFDATA_SAMPLE);
			assert_int_equal(r.time, i);
			assert_memory_equal(r.sample.ips, chain, sizeof(chain));
		}
		assert_int_equal(perfdata_reader_next(reader, &r), 0);
		perfdata_build_deinit(&b);
	}
}

/* The second half of a record never comes: an end too early, though the file itself is whole. */
static void test_compressed_cut(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_record r;
	struct perfdata_build b;

	(void)state;
	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	perfdata_build_pack_begin(&b);
	add_sample(&b, 1, 0);
	add_sample(&b, 2, 0);
	b.pack.len -= 8;
	perfdata_build_pack(&b, false);
	perfdata_build_finish(&b);
	assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
	next(reader, &r, PERFDATA_SAMPLE);
	assert_int_equal(perfdata_reader_next(reader, &r), -ENODATA);
	perfdata_build_deinit(&b);
}

/* Records that make no sense are dropped and counted; the others come through. */
static void test_bad_records(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	static const u64 huge_chain[] = { BUILD_ID_OF(0), 1, 2, 3, 0, 5, 1ULL << 61, 8 };
	struct perfdata_build_where stranger = at(2, 0);
	struct perfdata_reader_stats stats;
	struct perfdata_record r;
	struct perfdata_build b;

	(void)state;
	perfdata_build_begin(&b, false, false, 2, SAMPLE_TYPE);
	stranger.id = 9999;
	add_sample(&b, 1, 0);
	perfdata_build_lost(&b, &stranger, 1);
	perfdata_build_raw(&b, PERF_RECORD_SAMPLE, 0, huge_chain, sizeof(huge_chain));
	perfdata_build_raw(&b, PERF_RECORD_SAMPLE, 0, huge_chain, 16);
	perfdata_build_raw(&b, PERF_RECORD_COMM, 0, "", 0);
	perfdata_build_raw(&b, PERFDATA_RECORD_EVENT_UPDATE, 0, "abc", 3);
	perfdata_build_raw(&b, 77777, 0, "abc", 3);
	add_sample(&b, 4, 0);
	perfdata_build_finish(&b);
	assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
	next(reader, &r, PERFDATA_SAMPLE);
	assert_int_equal(r.time, 1);
	next(reader, &r, PERFDATA_SAMPLE);
	assert_int_equal(r.time, 4);
	assert_int_equal((uintptr_t)r.sample.ips % 8, 0);
	assert_int_equal(perfdata_reader_next(reader, &r), 0);
	perfdata_reader_stats(reader, &stats);
	assert_int_equal(stats.unknown_ids, 1);
	assert_int_equal(stats.bad_records, 4);
	perfdata_build_deinit(&b);
}

/* Payload behind a record: passed over without looking at it. */
static void test_auxtrace(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	u64 aux[5] = { 600000 };
	struct perfdata_record r;
	struct perfdata_build b;

	(void)state;
	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	perfdata_build_raw(&b, PERFDATA_RECORD_AUXTRACE, 0, aux, sizeof(aux));
	strbuf_add_zeros(&b.out, aux[0]);
	add_sample(&b, 4, 0);
	perfdata_build_finish(&b);
	assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
	next(reader, &r, PERFDATA_SAMPLE);
	assert_int_equal(perfdata_reader_next(reader, &r), 0);
	perfdata_build_deinit(&b);
}

static void test_bad_record_size(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_record r;
	struct perfdata_build b;

	(void)state;
	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	add_sample(&b, 1, 0);
	perfdata_build_round(&b);
	b.out.data[b.out.len - 2] = 7;
	perfdata_build_finish(&b);
	assert_int_equal(open_bytes(b.out.data, b.out.len, &reader), 0);
	next(reader, &r, PERFDATA_SAMPLE);
	assert_int_equal(perfdata_reader_next(reader, &r), -EBADMSG);
	assert_int_equal(perfdata_reader_next(reader, &r), -EBADMSG);
	perfdata_build_deinit(&b);
}

static void test_not_perfdata(void **state)
{
	struct perfdata_reader *reader = NULL;
	char junk[200] = "ELF or so";

	(void)state;
	assert_int_equal(open_bytes(junk, sizeof(junk), &reader), -EBADMSG);
	assert_int_equal(open_bytes(junk, 0, &reader), -ENODATA);
	assert_int_equal(perfdata_reader_open("/nonexistent/x", &reader, NULL), -ENOENT);
	assert_int_equal(perfdata_reader_open("/", &reader, NULL), -EISDIR);
	assert_null(reader);
}

/* Records of the first @size bytes; says how it ended. */
static int count_records(const struct perfdata_build *b, size_t size, unsigned int *ret_nr)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_record r;
	int n = open_bytes(b->out.data, size, &reader);

	*ret_nr = 0;
	if (n)
		return n;
	while ((n = perfdata_reader_next(reader, &r)) == 1)
		++*ret_nr;
	return n;
}

/*
 * Cut at each byte: the records before the cut come out, more of them the later the cut, and the
 * end is told from the end of a whole file. Only in the pipe form a cut between two records
 * cannot be seen.
 */
static void test_truncated(void **state)
{
	(void)state;
	for (int form = 0; form < 4; form++) {
		unsigned int nr, last = 0, total;
		struct perfdata_build b;
		int err;

		perfdata_build_begin(&b, form & 1, form & 2, 2, SAMPLE_TYPE);
		add_all_kinds(&b);
		perfdata_build_finish(&b);
		assert_int_equal(count_records(&b, b.out.len, &total), 0);
		assert_int_equal(total, 9);
		for (size_t cut = 0; cut < b.out.len; cut++) {
			err = count_records(&b, cut, &nr);
			assert_true(err == -ENODATA || (b.pipe && !err));
			assert_true(nr >= last && nr <= total);
			last = nr;
		}
		assert_int_equal(last, total);
		perfdata_build_deinit(&b);
	}
}

/* perf record was killed: the size of the data is still 0 and there are no features. */
static void test_never_finished(void **state)
{
	unsigned int nr;
	struct perfdata_build b;

	(void)state;
	perfdata_build_begin(&b, false, false, 1, SAMPLE_TYPE);
	add_all_kinds(&b);
	assert_int_equal(count_records(&b, b.out.len, &nr), -ENODATA);
	assert_int_equal(nr, 9);
	perfdata_build_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_normal_form_through_pipe),
		cmocka_unit_test(test_sample_types),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_broken_promise),
		cmocka_unit_test(test_late_attr),
		cmocka_unit_test(test_order_stable),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_compressed_cut),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_auxtrace),
		cmocka_unit_test(test_bad_record_size),
		cmocka_unit_test(test_not_perfdata),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_never_finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
