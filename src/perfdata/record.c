/* SPDX-License-Identifier: GPL-2.0-only */
/* Decoding one record of perf.data, as linux/perf_event.h lays them out. */
#include "perfdata/record.h"

#include <linux/perf_event.h>

#define MAX_FILENAME 4096
#define MAX_COMM 256
#define BRANCH_COUNTERS (1ULL << 19)	/* PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8 */

#define ATTR_SAMPLE_ID_ALL (1ULL << 18)	/* in perfdata_attr.flags */
#define SAMPLE_BEFORE_TIME (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)
#define SAMPLE_BEFORE_ID (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)
/* Of these a record that is no sample ends with those that its attribute has, in this order. */
#define ID_FROM_TIME (PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
		      PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define ID_FROM_ID (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
		    PERF_SAMPLE_IDENTIFIER)
#define ID_ALL (PERF_SAMPLE_TID | ID_FROM_TIME)

void perfdata_scratch_deinit(struct perfdata_scratch *scratch)
{
	vec_deinit(&scratch->ips);
}

static void record_cursor(const struct perfdata_header *header, const struct perfdata_raw *raw,
			  struct cursor *c)
{
	cursor_init(c, raw->data, raw->size);
	c->swap = header->swap;
	cursor_skip(c, PERFDATA_EVENT_HEADER_SIZE);
}

/* Eight bytes for each bit that is set. */
static size_t fields_size(u64 bits)
{
	return sizeof(u64) * (size_t)__builtin_popcountll(bits);
}

/* The u64 at @offset, counted from the end when @from_end. 0 when the record has no such place. */
static u64 field_at(const struct perfdata_header *header, const struct perfdata_raw *raw,
		    size_t offset, bool from_end)
{
	size_t size = raw->size - PERFDATA_EVENT_HEADER_SIZE;
	struct cursor c;

	if (offset > size)
		return 0;
	record_cursor(header, raw, &c);
	cursor_skip(&c, from_end ? size - offset : offset);
	return cursor_u64(&c);
}

size_t perfdata_record_attr(const struct perfdata_header *header, const struct perfdata_raw *raw)
{
	const struct perfdata_attr *first = header->attrs.data;
	bool sample = raw->type == PERF_RECORD_SAMPLE;
	size_t offset;
	u64 type, id;

	if (header->attrs.nr < 2)
		return header->attrs.nr ? 0 : SIZE_MAX;
	if (!sample && !(first->flags & ATTR_SAMPLE_ID_ALL))
		return 0;
	/* All attributes of a file have the id at the same place, or perf could not read it. */
	type = first->sample_type;
	if (type & PERF_SAMPLE_IDENTIFIER)
		offset = sample ? 0 : sizeof(u64);
	else if (type & PERF_SAMPLE_ID)
		offset = fields_size(type & (sample ? SAMPLE_BEFORE_ID : ID_FROM_ID));
	else
		return SIZE_MAX;
	id = field_at(header, raw, offset, !sample);
	/* Records that perf made up itself have the id 0. */
	return id ? perfdata_header_attr_of_id(header, id) : 0;
}

u64 perfdata_record_time(const struct perfdata_header *header, const struct perfdata_attr *attr,
			 const struct perfdata_raw *raw)
{
	u64 type = attr->sample_type;

	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	if (raw->type == PERF_RECORD_SAMPLE)
		return field_at(header, raw, fields_size(type & SAMPLE_BEFORE_TIME), false);
	if (!(attr->flags & ATTR_SAMPLE_ID_ALL))
		return 0;
	return field_at(header, raw, fields_size(type & ID_FROM_TIME), true);
}

static void skip_read_values(struct cursor *c, u64 format)
{
	u64 each = fields_size(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST)) + sizeof(u64);
	u64 times = fields_size(format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
					  PERF_FORMAT_TOTAL_TIME_RUNNING));
	u64 nr = 1;

	if (format & PERF_FORMAT_GROUP)
		nr = cursor_u64(c);
	cursor_skip(c, times);
	if (nr > UINT32_MAX)
		cursor_fail(c, -EBADMSG);
	else
		cursor_skip(c, nr * each);
}

static int read_chain(struct cursor *c, struct perfdata_scratch *scratch,
		      struct perfdata_record *ret)
{
	u64 nr = cursor_u64(c);
	struct cursor ips = *c;

	if (nr > cursor_left(c) / sizeof(u64))
		return cursor_fail(c, -EBADMSG);
	ret->sample.ips = cursor_bytes(c, nr * sizeof(u64));
	ret->sample.nr_ips = nr;
	if (!c->swap)
		return 0;
	if (vec_reserve(&scratch->ips, nr))
		return -ENOMEM;
	for (u64 i = 0; i < nr; i++)
		scratch->ips.data[i] = cursor_u64(&ips);
	ret->sample.ips = scratch->ips.data;
	return 0;
}

static void skip_branches(struct cursor *c, u64 type)
{
	u64 nr = cursor_u64(c);
	/* from, to, flags; a word of counters each behind all of them */
	u64 each = type & BRANCH_COUNTERS ? 4 : 3;

	if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
		cursor_skip(c, sizeof(u64));
	if (nr > UINT16_MAX)
		cursor_fail(c, -EBADMSG);
	else
		cursor_skip(c, nr * each * sizeof(u64));
}

/*
 * Whether a copy of the user's stack follows (perf record --call-graph dwarf); @c is behind the raw
 * data. It is by value: what does not fit here does not make the rest of the sample bad.
 */
static bool has_user_stack(struct cursor c, const struct perfdata_attr *attr)
{
	u64 type = attr->sample_type, size;

	if (!(type & PERF_SAMPLE_STACK_USER))
		return false;
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&c, attr->branch_sample_type);
	/* Of a kernel thread there are neither registers nor a stack. */
	if (type & PERF_SAMPLE_REGS_USER && cursor_u64(&c) != PERF_SAMPLE_REGS_ABI_NONE)
		cursor_skip(&c, __builtin_popcountll(attr->sample_regs_user) * sizeof(u64));
	size = cursor_u64(&c);
	return !cursor_error(&c) && size;
}

static int decode_sample(struct cursor *c, const struct perfdata_attr *attr,
			 struct perfdata_scratch *scratch, struct perfdata_record *ret)
{
	u64 type = attr->sample_type;

	ret->kind = PERFDATA_SAMPLE;
	ret->sample.period = attr->sample_period;
	if (type & PERF_SAMPLE_IDENTIFIER)
		ret->sample.id = cursor_u64(c);
	if (type & PERF_SAMPLE_IP)
		ret->sample.ip = cursor_u64(c);
	if (type & PERF_SAMPLE_TID) {
		ret->pid = cursor_u32(c);
		ret->tid = cursor_u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		ret->time = cursor_u64(c);
	if (type & PERF_SAMPLE_ADDR)
		ret->sample.addr = cursor_u64(c);
	if (type & PERF_SAMPLE_ID)
		ret->sample.id = cursor_u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		cursor_skip(c, sizeof(u64));
	if (type & PERF_SAMPLE_CPU) {
		ret->cpu = cursor_u32(c);
		cursor_skip(c, sizeof(u32));
	}
	if (type & PERF_SAMPLE_PERIOD)
		ret->sample.period = cursor_u64(c);
	if (type & PERF_SAMPLE_READ)
		skip_read_values(c, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN && read_chain(c, scratch, ret) == -ENOMEM)
		return -ENOMEM;
	if (type & PERF_SAMPLE_RAW) {
		ret->sample.raw_size = cursor_u32(c);
		ret->sample.raw = cursor_bytes(c, ret->sample.raw_size);
	}
	ret->sample.user_stack = has_user_stack(*c, attr);
	return cursor_error(c);
}

/* The identification at the end of a record that is no sample; narrows @c to what is before it. */
static void split_id(struct cursor *c, const struct perfdata_attr *attr,
		     struct perfdata_record *ret)
{
	u64 type = attr->flags & ATTR_SAMPLE_ID_ALL ? attr->sample_type & ID_ALL : 0;
	size_t size = fields_size(type);
	struct cursor id = *c;

	if (size > cursor_left(c)) {
		cursor_fail(c, -ENODATA);
		return;
	}
	id.pos = id.end - size;
	c->end -= size;
	if (type & PERF_SAMPLE_TID) {
		ret->pid = cursor_u32(&id);
		ret->tid = cursor_u32(&id);
	}
	if (type & PERF_SAMPLE_TIME)
		ret->time = cursor_u64(&id);
	cursor_skip(&id, fields_size(type & (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID)));
	if (type & PERF_SAMPLE_CPU)
		ret->cpu = cursor_u32(&id);
}

static void decode_ids(struct cursor *c, struct perfdata_record *ret)
{
	ret->pid = cursor_u32(c);
	ret->tid = cursor_u32(c);
}

static void decode_build_id(struct cursor *c, struct perfdata_record *ret)
{
	u8 size = cursor_u8(c);

	cursor_skip(c, 3);
	cursor_copy(c, ret->mmap.build_id, sizeof(ret->mmap.build_id));
	if (size > sizeof(ret->mmap.build_id))
		cursor_fail(c, -EBADMSG);
	ret->mmap.build_id_size = size;
}

static void decode_inode(struct cursor *c, struct perfdata_record *ret)
{
	ret->mmap.maj = cursor_u32(c);
	ret->mmap.min = cursor_u32(c);
	ret->mmap.ino = cursor_u64(c);
	cursor_skip(c, sizeof(u64));
}

static void decode_mmap(struct cursor *c, struct perfdata_record *ret)
{
	ret->kind = PERFDATA_MMAP;
	decode_ids(c, ret);
	ret->mmap.start = cursor_u64(c);
	ret->mmap.len = cursor_u64(c);
	ret->mmap.pgoff = cursor_u64(c);
	if (ret->type == PERF_RECORD_MMAP2) {
		if (ret->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
			decode_build_id(c, ret);
		else
			decode_inode(c, ret);
		ret->mmap.prot = cursor_u32(c);
		ret->mmap.flags = cursor_u32(c);
	}
	ret->mmap.filename = cursor_string(c, MAX_FILENAME, NULL);
}

static void decode_comm(struct cursor *c, struct perfdata_record *ret)
{
	ret->kind = PERFDATA_COMM;
	decode_ids(c, ret);
	ret->comm.exec = ret->misc & PERF_RECORD_MISC_COMM_EXEC;
	ret->comm.comm = cursor_string(c, MAX_COMM, NULL);
}

static void decode_task(struct cursor *c, struct perfdata_record *ret)
{
	ret->kind = ret->type == PERF_RECORD_FORK ? PERFDATA_FORK : PERFDATA_EXIT;
	ret->pid = cursor_u32(c);
	ret->task.ppid = cursor_u32(c);
	ret->tid = cursor_u32(c);
	ret->task.ptid = cursor_u32(c);
	if (!ret->time)
		ret->time = cursor_u64(c);
}

static void decode_lost(struct cursor *c, struct perfdata_record *ret)
{
	ret->kind = PERFDATA_LOST;
	if (ret->type == PERF_RECORD_LOST)
		ret->lost.id = cursor_u64(c);
	ret->lost.lost = cursor_u64(c);
}

static void decode_ksymbol(struct cursor *c, struct perfdata_record *ret)
{
	ret->kind = PERFDATA_KSYMBOL;
	ret->ksymbol.start = cursor_u64(c);
	ret->ksymbol.len = cursor_u32(c);
	ret->ksymbol.type = cursor_u16(c);
	ret->ksymbol.gone = cursor_u16(c) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	ret->ksymbol.name = cursor_string(c, MAX_FILENAME, NULL);
}

static int decode_other(struct cursor *c, const struct perfdata_attr *attr,
			struct perfdata_record *ret)
{
	split_id(c, attr, ret);
	switch (ret->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		decode_mmap(c, ret);
		break;
	case PERF_RECORD_COMM:
		decode_comm(c, ret);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		decode_task(c, ret);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		decode_lost(c, ret);
		break;
	case PERF_RECORD_KSYMBOL:
		decode_ksymbol(c, ret);
		break;
	default:
		ret->kind = PERFDATA_OTHER;
	}
	return cursor_error(c);
}

int perfdata_record_decode(const struct perfdata_header *header, const struct perfdata_raw *raw,
			   struct perfdata_scratch *scratch, struct perfdata_record *ret)
{
	const struct perfdata_attr *attr = &header->attrs.data[raw->attr];
	struct perfdata_record record = {
		.type = raw->type,
		.attr = raw->attr,
		.pid = -1,
		.tid = -1,
		.cpu = -1,
	};
	struct cursor c;
	int err;

	cursor_init(&c, raw->data, raw->size);
	c.swap = header->swap;
	cursor_skip(&c, sizeof(u32));
	record.misc = cursor_u16(&c);
	record.cpumode = record.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	cursor_skip(&c, sizeof(u16));
	if (raw->type == PERF_RECORD_SAMPLE)
		err = decode_sample(&c, attr, scratch, &record);
	else
		err = decode_other(&c, attr, &record);
	if (!err)
		*ret = record;
	return err;
}
