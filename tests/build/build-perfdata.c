/* SPDX-License-Identifier: GPL-2.0-only */
/* perf.data files in code. */
#include "build-perfdata.h"

#include <linux/perf_event.h>
#include <zstd.h>

#include "perfdata/format.h"

#define ATTR_SIZE 128
#define FLAG_SAMPLE_ID_ALL 18
#define PACK_MMAP_SIZE (512 * 1024)	/* more than the records of any compressed one */

static void out16(struct perfdata_build *b, struct strbuf *to, u16 v)
{
	put_u16(to, b->swap ? __builtin_bswap16(v) : v);
}

static void out32(struct perfdata_build *b, struct strbuf *to, u32 v)
{
	put_u32(to, b->swap ? __builtin_bswap32(v) : v);
}

static void out64(struct perfdata_build *b, struct strbuf *to, u64 v)
{
	put_u64(to, b->swap ? __builtin_bswap64(v) : v);
}

static void set64(struct perfdata_build *b, size_t offset, u64 v)
{
	v = b->swap ? __builtin_bswap64(v) : v;
	memcpy(b->out.data + offset, &v, sizeof(v));
}

/* Bit fields count from the other end in the other byte order. */
static void out_flags(struct perfdata_build *b, struct strbuf *to, u64 flags)
{
	u8 bytes[8] = { 0 };

	for (unsigned int bit = 0; bit < 64; bit++)
		if (flags >> bit & 1)
			bytes[bit / 8] |= b->swap ? 0x80 >> bit % 8 : 1 << bit % 8;
	strbuf_add(to, bytes, sizeof(bytes));
}

static void out_attr(struct perfdata_build *b, struct strbuf *to, u32 index)
{
	size_t start = to->len;

	out32(b, to, PERF_TYPE_SOFTWARE);
	out32(b, to, ATTR_SIZE);
	out64(b, to, index);		/* config */
	out64(b, to, 4000);		/* period */
	out64(b, to, b->sample_type);
	out64(b, to, PERF_FORMAT_ID);
	out_flags(b, to, 1ULL << FLAG_SAMPLE_ID_ALL);
	strbuf_add_zeros(to, start + ATTR_SIZE - to->len);
}

static void begin_record(struct perfdata_build *b, u32 type, u16 misc)
{
	out32(b, b->to, type);
	out16(b, b->to, misc);
	out16(b, b->to, 0);
}

/* Fills in the size of the record that began at @start. */
static void end_record(struct perfdata_build *b, size_t start)
{
	u16 size = b->to->len - start;

	size = b->swap ? __builtin_bswap16(size) : size;
	memcpy(b->to->data + start + 6, &size, sizeof(size));
}

static void out_id(struct perfdata_build *b, const struct perfdata_build_where *where)
{
	u64 type = b->sample_type;

	if (type & PERF_SAMPLE_TID) {
		out32(b, b->to, where->pid);
		out32(b, b->to, where->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		out64(b, b->to, where->time);
	if (type & PERF_SAMPLE_ID)
		out64(b, b->to, where->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		out64(b, b->to, where->id);
	if (type & PERF_SAMPLE_CPU) {
		out32(b, b->to, where->cpu);
		out32(b, b->to, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		out64(b, b->to, where->id);
}

static void out_name(struct perfdata_build *b, const char *name)
{
	size_t size = strlen(name) + 1;

	strbuf_add(b->to, name, size);
	strbuf_add_zeros(b->to, ALIGN_UP(size, 8) - size);
}

static void out_string(struct perfdata_build *b, struct strbuf *to, const char *s)
{
	size_t padded = ALIGN_UP(strlen(s) + 1, 64);

	out32(b, to, padded);
	strbuf_adds(to, s);
	strbuf_add_zeros(to, padded - strlen(s));
}

static void out_build_id(struct perfdata_build *b, struct strbuf *to)
{
	static const char name[] = "/bin/true";
	size_t start = to->len;

	out32(b, to, PERFDATA_RECORD_HEADER_BUILD_ID);
	out16(b, to, PERF_RECORD_MISC_USER | PERFDATA_MISC_BUILD_ID_SIZE);
	out16(b, to, 8 + 4 + 24 + ALIGN_UP(sizeof(name), 64));
	out32(b, to, -1);
	for (u8 i = 0; i < 20; i++)
		put_u8(to, i + 1);
	put_u8(to, 20);
	strbuf_add_zeros(to, 3);
	strbuf_add(to, name, sizeof(name));
	strbuf_add_zeros(to, start + 8 + 4 + 24 + ALIGN_UP(sizeof(name), 64) - to->len);
}

static void out_event_desc(struct perfdata_build *b, struct strbuf *to)
{
	out32(b, to, b->nr_attrs);
	out32(b, to, ATTR_SIZE);
	for (u32 i = 0; i < b->nr_attrs; i++) {
		char name[16] = "event-0";

		name[6] += i;
		out_attr(b, to, i);
		out32(b, to, 2);
		out_string(b, to, name);
		out64(b, to, BUILD_ID_OF(i));
		out64(b, to, BUILD_ID_OF(i) + 1);
	}
}

static void out_feature(struct perfdata_build *b, struct strbuf *to, unsigned int feature)
{
	switch (feature) {
	case PERFDATA_FEATURE_BUILD_ID:
		out_build_id(b, to);
		break;
	case PERFDATA_FEATURE_HOSTNAME:
		out_string(b, to, "guest7");
		break;
	case PERFDATA_FEATURE_CMDLINE:
		out32(b, to, 2);
		out_string(b, to, "kvmprof");
		out_string(b, to, "record");
		break;
	case PERFDATA_FEATURE_EVENT_DESC:
		out_event_desc(b, to);
		break;
	case PERFDATA_FEATURE_COMPRESSED:
		for (u32 i = 0; i < 4; i++)
			out32(b, to, 1);	/* version, type, level, ratio */
		out32(b, to, PACK_MMAP_SIZE);
		break;
	case PERFDATA_FEATURE_ACCOUNTING:
		out_string(b, to, "samples: 3\n");
		break;
	}
}

static const unsigned int features[] = {
	PERFDATA_FEATURE_BUILD_ID, PERFDATA_FEATURE_HOSTNAME,	PERFDATA_FEATURE_CMDLINE,
	PERFDATA_FEATURE_EVENT_DESC, PERFDATA_FEATURE_COMPRESSED, PERFDATA_FEATURE_ACCOUNTING,
};

/* As records. perf ends its reading at a feature that it does not know. */
static void out_pipe_features(struct perfdata_build *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		size_t record = b->out.len;

		if (features[i] == PERFDATA_FEATURE_ACCOUNTING)
			continue;
		if (features[i] == PERFDATA_FEATURE_BUILD_ID) {
			out_build_id(b, &b->out);
			continue;
		}
		begin_record(b, PERFDATA_RECORD_HEADER_FEATURE, 0);
		out64(b, &b->out, features[i]);
		out_feature(b, &b->out, features[i]);
		end_record(b, record);
	}
}

static void begin_file(struct perfdata_build *b)
{
	size_t ids = PERFDATA_HEADER_SIZE + (size_t)b->nr_attrs * (ATTR_SIZE + 16);

	out64(b, &b->out, PERFDATA_HEADER_SIZE);
	out64(b, &b->out, ATTR_SIZE + 16);
	out64(b, &b->out, PERFDATA_HEADER_SIZE);
	out64(b, &b->out, (u64)b->nr_attrs * (ATTR_SIZE + 16));
	strbuf_add_zeros(&b->out, 64);	/* data, event types, features: later */
	for (u32 i = 0; i < b->nr_attrs; i++) {
		out_attr(b, &b->out, i);
		out64(b, &b->out, ids + i * 16);
		out64(b, &b->out, 16);
	}
	for (u32 i = 0; i < b->nr_attrs; i++) {
		out64(b, &b->out, BUILD_ID_OF(i));
		out64(b, &b->out, BUILD_ID_OF(i) + 1);
	}
	b->data_start = b->out.len;
	set64(b, 40, b->data_start);
}

static void begin_pipe(struct perfdata_build *b)
{
	out64(b, &b->out, PERFDATA_PIPE_HEADER_SIZE);
	for (u32 i = 0; i < b->nr_attrs; i++) {
		size_t start = b->to->len;

		begin_record(b, PERFDATA_RECORD_HEADER_ATTR, 0);
		out_attr(b, b->to, i);
		out64(b, b->to, BUILD_ID_OF(i));
		out64(b, b->to, BUILD_ID_OF(i) + 1);
		end_record(b, start);
	}
	out_pipe_features(b);
}

void perfdata_build_begin(struct perfdata_build *b, bool swap, bool pipe, u32 nr_attrs,
			  u64 sample_type)
{
	*b = (struct perfdata_build){
		.swap = swap,
		.pipe = pipe,
		.nr_attrs = nr_attrs,
		.sample_type = sample_type,
	};
	b->to = &b->out;
	strbuf_adds(&b->out, swap ? PERFDATA_MAGIC_SWAPPED : PERFDATA_MAGIC);
	if (pipe)
		begin_pipe(b);
	else
		begin_file(b);
}

void perfdata_build_mmap(struct perfdata_build *b, const struct perfdata_build_where *where,
			 u64 start, u64 len, u64 pgoff, const char *filename)
{
	size_t record = b->to->len;

	begin_record(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	out32(b, b->to, where->pid);
	out32(b, b->to, where->tid);
	out64(b, b->to, start);
	out64(b, b->to, len);
	out64(b, b->to, pgoff);
	out_name(b, filename);
	out_id(b, where);
	end_record(b, record);
}

void perfdata_build_mmap2(struct perfdata_build *b, const struct perfdata_build_where *where,
			  u64 start, u64 len, const u8 *build_id, const char *filename)
{
	size_t record = b->to->len;

	begin_record(b, PERF_RECORD_MMAP2,
		     PERF_RECORD_MISC_USER | (build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	out32(b, b->to, where->pid);
	out32(b, b->to, where->tid);
	out64(b, b->to, start);
	out64(b, b->to, len);
	out64(b, b->to, 0);
	if (build_id) {
		put_u32(b->to, 0);
		b->to->data[b->to->len - 4] = 20;
		strbuf_add(b->to, build_id, 20);
	} else {
		out32(b, b->to, 8);
		out32(b, b->to, 1);
		out64(b, b->to, 1234);
		out64(b, b->to, 0);
	}
	out32(b, b->to, 5);
	out32(b, b->to, 2);
	out_name(b, filename);
	out_id(b, where);
	end_record(b, record);
}

void perfdata_build_comm(struct perfdata_build *b, const struct perfdata_build_where *where,
			 const char *comm)
{
	size_t record = b->to->len;

	begin_record(b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	out32(b, b->to, where->pid);
	out32(b, b->to, where->tid);
	out_name(b, comm);
	out_id(b, where);
	end_record(b, record);
}

void perfdata_build_task(struct perfdata_build *b, const struct perfdata_build_where *where,
			 bool fork, u32 ppid)
{
	size_t record = b->to->len;

	begin_record(b, fork ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0);
	out32(b, b->to, where->pid);
	out32(b, b->to, ppid);
	out32(b, b->to, where->tid);
	out32(b, b->to, ppid);
	out64(b, b->to, where->time);
	out_id(b, where);
	end_record(b, record);
}

void perfdata_build_lost(struct perfdata_build *b, const struct perfdata_build_where *where,
			 u64 lost)
{
	size_t record = b->to->len;

	begin_record(b, PERF_RECORD_LOST, 0);
	out64(b, b->to, where->id);
	out64(b, b->to, lost);
	out_id(b, where);
	end_record(b, record);
}

void perfdata_build_throttle(struct perfdata_build *b, const struct perfdata_build_where *where)
{
	size_t record = b->to->len;

	begin_record(b, PERF_RECORD_THROTTLE, 0);
	out64(b, b->to, where->time);
	out64(b, b->to, where->id);
	out64(b, b->to, where->id);
	out_id(b, where);
	end_record(b, record);
}

/* The fields of a sample up to the chain, in the kernel's order. */
void perfdata_build_sample(struct perfdata_build *b, const struct perfdata_build_where *where,
			   u16 cpumode, u64 period, const u64 *ips, u64 nr_ips)
{
	size_t record = b->to->len;
	u64 type = b->sample_type;

	begin_record(b, PERF_RECORD_SAMPLE, cpumode);
	if (type & PERF_SAMPLE_IDENTIFIER)
		out64(b, b->to, where->id);
	if (type & PERF_SAMPLE_IP)
		out64(b, b->to, b->sample_ip ? b->sample_ip : nr_ips > 1 ? ips[1] : 0);
	if (type & PERF_SAMPLE_TID) {
		out32(b, b->to, where->pid);
		out32(b, b->to, where->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		out64(b, b->to, where->time);
	if (type & PERF_SAMPLE_ADDR)
		out64(b, b->to, 0xadd7);
	if (type & PERF_SAMPLE_ID)
		out64(b, b->to, where->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		out64(b, b->to, where->id);
	if (type & PERF_SAMPLE_CPU) {
		out32(b, b->to, where->cpu);
		out32(b, b->to, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		out64(b, b->to, period);
	if (type & PERF_SAMPLE_READ) {
		out64(b, b->to, 77);	/* value */
		out64(b, b->to, where->id);
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		out64(b, b->to, nr_ips);
		for (u64 i = 0; i < nr_ips; i++)
			out64(b, b->to, ips[i]);
	}
	if (type & PERF_SAMPLE_RAW) {
		out32(b, b->to, 4);
		strbuf_add(b->to, "raw!", 4);
	}
	end_record(b, record);
}

void perfdata_build_raw(struct perfdata_build *b, u32 type, u16 misc, const void *data,
			size_t size)
{
	size_t record = b->to->len;

	begin_record(b, type, misc);
	strbuf_add(b->to, data, size);
	end_record(b, record);
}

void perfdata_build_round(struct perfdata_build *b)
{
	perfdata_build_raw(b, PERFDATA_RECORD_FINISHED_ROUND, 0, "", 0);
}

void perfdata_build_pack_begin(struct perfdata_build *b)
{
	if (!b->zstd)
		b->zstd = ZSTD_createCStream();
	strbuf_reset(&b->pack);
	b->to = &b->pack;
}

static void pack_bytes(struct perfdata_build *b, const char *data, size_t size, bool second_form)
{
	_cleanup_free_ char *packed = malloc(ZSTD_compressBound(size) + 64);
	ZSTD_outBuffer to = { .dst = packed, .size = ZSTD_compressBound(size) + 64 };
	ZSTD_inBuffer from = { .src = data, .size = size };
	size_t record = b->out.len;

	ZSTD_compressStream2(b->zstd, &to, &from, ZSTD_e_flush);
	b->to = &b->out;
	begin_record(b, second_form ? PERFDATA_RECORD_COMPRESSED2 : PERFDATA_RECORD_COMPRESSED, 0);
	if (second_form)
		out64(b, &b->out, to.pos);
	strbuf_add(&b->out, packed, to.pos);
	if (second_form)
		put_align(&b->out, 8);
	end_record(b, record);
}

void perfdata_build_pack(struct perfdata_build *b, bool second_form)
{
	pack_bytes(b, b->pack.data, b->pack.len, second_form);
}

void perfdata_build_pack_halves(struct perfdata_build *b)
{
	size_t half = b->pack.len / 2 + 3;

	pack_bytes(b, b->pack.data, half, false);
	pack_bytes(b, b->pack.data + half, b->pack.len - half, false);
}

static void finish_file(struct perfdata_build *b)
{
	_cleanup_strbuf_ struct strbuf body = STRBUF_INIT;
	u64 bitmap[4] = { 0 };
	size_t table;

	set64(b, 48, b->out.len - b->data_start);
	table = b->out.len + ARRAY_SIZE(features) * 16;
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		size_t start = body.len;

		out_feature(b, &body, features[i]);
		out64(b, &b->out, table + start);
		out64(b, &b->out, body.len - start);
		bitmap[features[i] / 64] |= 1ULL << features[i] % 64;
	}
	for (size_t i = 0; i < ARRAY_SIZE(bitmap); i++)
		set64(b, 72 + i * 8, bitmap[i]);
	strbuf_add(&b->out, body.data, body.len);
}

void perfdata_build_finish(struct perfdata_build *b)
{
	if (!b->pipe)
		finish_file(b);
}

void perfdata_build_deinit(struct perfdata_build *b)
{
	strbuf_deinit(&b->out);
	strbuf_deinit(&b->pack);
	ZSTD_freeCStream(b->zstd);
}

#define EXAMPLE_SAMPLE_TYPE                                                               \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |   \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static void add_example_records(struct perfdata_build *b)
{
	static const u64 chain[] = { PERF_CONTEXT_USER, 0x401000, 0x402000 };
	static const u8 build_id[20] = { 1, 2, 3 };
	struct perfdata_build_where where = { 7, 7, 1, 10, BUILD_ID_OF(0) };

	perfdata_build_mmap(b, &where, 0x1000, 0x1000, 0, "[kernel.kallsyms]_text");
	perfdata_build_comm(b, &where, "worker");
	perfdata_build_mmap2(b, &where, 0x400000, 0x4000, build_id, "/bin/worker");
	perfdata_build_mmap2(b, &where, 0x500000, 0x1000, NULL, "/lib/libc.so");
	perfdata_build_task(b, &where, true, 3);
	perfdata_build_sample(b, &where, PERF_RECORD_MISC_USER, 5, chain, ARRAY_SIZE(chain));
	perfdata_build_throttle(b, &where);
	perfdata_build_lost(b, &where, 9);
	perfdata_build_task(b, &where, false, 3);
}

void perfdata_build_example(struct perfdata_build *b, unsigned int form)
{
	perfdata_build_begin(b, form & 1, form & 2, form & 4 ? 2 : 1, EXAMPLE_SAMPLE_TYPE);
	if (form & 8)
		perfdata_build_pack_begin(b);
	add_example_records(b);
	if (form & 8)
		perfdata_build_pack(b, form & 1);
	perfdata_build_round(b);
	add_example_records(b);
	perfdata_build_finish(b);
}
