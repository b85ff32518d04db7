/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of a perf.data: laying them out, and their order for whoever sorts them. */
#include "base/escape.h"
#include "perfdata/format.h"
#include "perfdata/writer-private.h"
#include "perfdata/writer.h"

#define MAX_RECORD 65528U	/* a 16-bit size, in whole words */

/*
 * perf holds records back to sort them by time, until a mark says that what is older than the mark
 * before will not come any more. A mark a second leaves a record that much time to be late in, and
 * none is made that would end the time of what is still to come.
 */
static int end_round(struct perfdata_writer *writer)
{
	struct perf_event_header mark = {
		.type = PERFDATA_RECORD_FINISHED_ROUND,
		.size = sizeof(mark),
	};

	if (!writer->round_time)
		writer->round_time = writer->newest;
	if (writer->newest - writer->round_time < WRITER_NS_PER_S ||
	    writer->oldest_to_come < writer->round_time)
		return 0;
	writer->round_time = writer->newest;
	return writer_append(writer, &mark, sizeof(mark));
}

u8 *writer_start_record(struct perfdata_writer *writer, u32 type, u16 misc, size_t size, u64 time)
{
	struct perf_event_header header = { .type = type, .misc = misc, .size = size };
	u8 *p;

	if (time > writer->newest)
		writer->newest = time;
	if (end_round(writer))
		return NULL;
	p = writer_reserve(writer, size);
	return p ? writer_put_bytes(p, &header, sizeof(header)) : NULL;
}

void writer_end_record(u8 *p, const struct perfdata_writer *writer, u32 pid, u32 tid, u64 time)
{
	struct writer_sample_id id = {
		.pid = pid,
		.tid = tid,
		.time = time,
		.id = writer->events.data[0].id,
	};

	writer_put_bytes(p, &id, sizeof(id));
}

static size_t sample_size(const struct perfdata_writer *writer,
			  const struct perfdata_sample *sample)
{
	size_t size = sizeof(struct perf_event_header) + 7 * sizeof(u64);

	size += (size_t)sample->nr_ips * sizeof(u64);
	if (writer->raw)
		size += sizeof(u32) + sample->raw_size;
	return size;
}

int perfdata_writer_sample(struct perfdata_writer *writer, const struct perfdata_sample *sample)
{
	size_t size = sample_size(writer, sample);
	u16 misc = sample->user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	u8 *p;

	if (sample->event >= writer->events.nr || size % 8)
		return -EINVAL;
	if (size > MAX_RECORD)
		return -E2BIG;
	p = writer_start_record(writer, PERF_RECORD_SAMPLE, misc, size, sample->time);
	if (!p)
		return writer->error;
	p = writer_put_u64(p, writer->events.data[sample->event].id);
	p = writer_put_u64(p, sample->ip);
	p = writer_put_u32(p, sample->pid);
	p = writer_put_u32(p, sample->tid);
	p = writer_put_u64(p, sample->time);
	p = writer_put_u32(p, sample->cpu);
	p = writer_put_u32(p, 0);
	p = writer_put_u64(p, sample->period);
	p = writer_put_u64(p, sample->nr_ips);
	p = writer_put_bytes(p, sample->ips, sample->nr_ips * sizeof(u64));
	if (writer->raw) {
		p = writer_put_u32(p, sample->raw_size);
		writer_put_bytes(p, sample->raw, sample->raw_size);
	}
	if (!writer->first_time || sample->time < writer->first_time)
		writer->first_time = sample->time;
	writer->last_time = MAX(writer->last_time, sample->time);
	return 0;
}

int perfdata_writer_comm(struct perfdata_writer *writer, u32 pid, u32 tid, const char *comm,
			 bool exec, u64 time)
{
	char safe[256];
	size_t text, size;
	u8 *p;

	escape_terminal(comm, safe, sizeof(safe));
	text = writer_text_size(safe);
	size = sizeof(struct perf_event_header) + 2 * sizeof(u32) + text +
	       sizeof(struct writer_sample_id);
	p = writer_start_record(writer, PERF_RECORD_COMM,
				exec ? PERF_RECORD_MISC_COMM_EXEC : 0, size, time);
	if (!p)
		return writer->error;
	p = writer_put_u32(p, pid);
	p = writer_put_u32(p, tid);
	p = writer_put_text(p, safe, text);
	writer_end_record(p, writer, pid, tid, time);
	return 0;
}

void perfdata_writer_expect(struct perfdata_writer *writer, u64 oldest)
{
	writer->oldest_to_come = oldest;
}

/* PERF_RECORD_FORK and PERF_RECORD_EXIT. */
static int write_task(struct perfdata_writer *writer, u32 type, u16 misc,
		      const struct perfdata_task *task)
{
	size_t size = sizeof(struct perf_event_header) + 3 * sizeof(u64) +
		      sizeof(struct writer_sample_id);
	u8 *p = writer_start_record(writer, type, misc, size, task->time);

	if (!p)
		return writer->error;
	p = writer_put_u32(p, task->pid);
	p = writer_put_u32(p, task->ppid);
	p = writer_put_u32(p, task->tid);
	p = writer_put_u32(p, task->ptid);
	p = writer_put_u64(p, task->time);
	writer_end_record(p, writer, task->ppid, task->ptid, task->time);
	return 0;
}

/*
 * A reader gives a new process what its parent had mapped, unless the record says that the parent
 * is not known to have been like that: then all that it has comes by itself, as here.
 */
int perfdata_writer_fork(struct perfdata_writer *writer, const struct perfdata_task *task)
{
	return write_task(writer, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, task);
}

int perfdata_writer_exit(struct perfdata_writer *writer, const struct perfdata_task *task)
{
	return write_task(writer, PERF_RECORD_EXIT, 0, task);
}

int perfdata_writer_lost(struct perfdata_writer *writer, u64 nr, u64 time)
{
	size_t size = sizeof(struct perf_event_header) + 2 * sizeof(u64) +
		      sizeof(struct writer_sample_id);
	u8 *p = writer_start_record(writer, PERF_RECORD_LOST, 0, size, time);

	if (!p)
		return writer->error;
	p = writer_put_u64(p, writer->events.data[0].id);
	p = writer_put_u64(p, nr);
	writer_end_record(p, writer, 0, 0, time);
	return 0;
}
