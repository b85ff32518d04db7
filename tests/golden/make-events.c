/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording with several events, two of them tracepoints of one subsystem and one of another,
 * with their records. Usage: make-events FILE
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "perfdata/writer.h"

#define COMMON                                                                                  \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                  \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                  \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"          \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char exit_format[] = "name: kvm_exit\nID: 501\nformat:\n" COMMON
	"\tfield:unsigned int exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long guest_rip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"reason %s rip 0x%lx\", __print_symbolic(REC->exit_reason, "
	"{ 0x78, \"hlt\" }, { 0x60, \"interrupt\" }), REC->guest_rip\n";

static const char entry_format[] = "name: kvm_entry\nID: 502\nformat:\n" COMMON
	"\tfield:unsigned int vcpu_id;\toffset:8;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"vcpu %u\", REC->vcpu_id\n";

static const char switch_format[] = "name: sched_switch\nID: 316\nformat:\n" COMMON
	"\tfield:char next_comm[8];\toffset:8;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"next_comm=%s\", REC->next_comm\n";

static const struct perfdata_writer_event events[] = {
	{ .name = "cpu-clock", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
	  .period_or_freq = 1000, .freq = true },
	{ .name = "kvm:kvm_exit", .type = PERF_TYPE_TRACEPOINT, .config = 501,
	  .period_or_freq = 1, .point = "kvm:kvm_exit", .format = exit_format },
	{ .name = "sched:sched_switch", .type = PERF_TYPE_TRACEPOINT, .config = 316,
	  .period_or_freq = 1, .point = "sched:sched_switch", .format = switch_format },
	{ .name = "entries", .type = PERF_TYPE_TRACEPOINT, .config = 502,
	  .period_or_freq = 1, .point = "kvm:kvm_entry", .format = entry_format },
	{ .name = "cpu-clock:u", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
	  .period_or_freq = 1000000 },
};

struct exit_record {
	u16 type;
	u8 flags, preempt_count;
	s32 pid;
	u32 value;	/* of all: the first bytes */
	u32 more;
	u64 rip;
	u32 note[3];	/* of ours, which readers pass over */
	u32 end;
};

/* As many samples of each as its place says, less one. */
static int add_sample(struct perfdata_writer *writer, u32 event, u32 i)
{
	const u64 ips[] = { PERF_CONTEXT_USER, 0x401140, 0x401150 };
	struct exit_record record = {
		.type = events[event].config, .pid = 4000, .rip = 0xabc0 + i,
		.note = { 0x504d564b, 0x00010101, 4000 },
		.value = event == 1 ? (i % 2 ? 0x78 : 0x60) : i,
	};
	struct perfdata_sample sample = {
		.event = event,
		.pid = 200, .tid = 200,
		.time = 1000000000ULL + 1000 * (i * 10 + event),
		.period = event == 4 ? 1000000 : 1,
		.ip = ips[1],
		.user = true,
		.ips = ips,
		.nr_ips = ARRAY_SIZE(ips),
		.raw = &record,
		.raw_size = offsetof(struct exit_record, end),
	};

	if (event == 2)
		memcpy(&record.value, "idle\0\0\0", 8);
	return perfdata_writer_sample(writer, &sample);
}

static int write_file(const char *path)
{
	const struct perfdata_writer_options options = {
		.hostname = "vm",
		.os_release = "6.1.0-18-amd64",
		.arch = "x86_64",
		.nr_cpus = 1,
		.events = events,
		.nr_events = ARRAY_SIZE(events),
		.raw = true,
	};
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	int err = perfdata_writer_create(path, &options, &writer);

	if (!err)
		err = perfdata_writer_comm(writer, 200, 200, "spinner", true, 900000000);
	for (u32 event = 0; event < ARRAY_SIZE(events); event++) {
		for (u32 i = 0; i < 3 + event && !err; i++)
			err = add_sample(writer, event, i);
	}
	return err ? err : perfdata_writer_finish(writer);
}

int main(int argc, char **argv)
{
	int err = argc == 2 ? write_file(argv[1]) : -EINVAL;

	if (err)
		fprintf(stderr, "make-events: %s\n", strerror(-err));
	return err ? 1 : 0;
}
