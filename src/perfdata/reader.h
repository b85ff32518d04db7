/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading perf.data: stock perf's files, of either byte order and word size, and our own.
 * Streaming: a window of the file at a time, so memory does not grow with it.
 */
#ifndef PERFDATA_READER_H
#define PERFDATA_READER_H

#include "base/types.h"

struct perfdata_reader;

/* One attribute: what perf_event_open was given, and the ids of its events. */
struct perfdata_attr {
	u32 type;
	u64 config;
	u64 sample_type;
	u64 read_format;
	u64 flags;		/* the bit field after read_format, bit 0 = disabled */
	u64 sample_period;	/* or frequency, when PERFDATA_ATTR_FREQ */
	u64 branch_sample_type;
	u64 sample_regs_user;	/* a bit for each register */
	const u64 *ids;
	u32 nr_ids;
	char name[64];		/* from the event description feature, else made up */
};

struct perfdata_build_id {
	u32 pid;
	u16 misc;
	u8 size;
	u8 id[20];
	const char *filename;
};

enum perfdata_kind {
	PERFDATA_SAMPLE,
	PERFDATA_MMAP,
	PERFDATA_COMM,
	PERFDATA_FORK,
	PERFDATA_EXIT,
	PERFDATA_LOST,
	PERFDATA_KSYMBOL,
	PERFDATA_OTHER,
};

/*
 * One of the kernel's records, decoded; perf's own kinds of record the reader digests itself.
 * Pointers are valid until the next call.
 */
struct perfdata_record {
	u8 kind;		/* enum perfdata_kind */
	u8 cpumode;		/* PERF_RECORD_MISC_KERNEL, _USER, … */
	u16 misc;
	u32 type;		/* PERF_RECORD_*, which tells LOST from LOST_SAMPLES and so on */
	u32 attr;		/* index of its attribute */
	u32 pid, tid;		/* -1 when not recorded; also the kernel's in MMAP */
	u32 cpu;		/* -1 when not recorded */
	u64 time;		/* ns; 0 when not recorded */
	union {
		struct {
			u64 ip, addr, period, id;
			const u64 *ips;		/* the chain with PERF_CONTEXT_* markers; aligned */
			u64 nr_ips;
			const void *raw;	/* PERF_SAMPLE_RAW, in the file's byte order */
			u32 raw_size;
			bool user_stack;	/* a copy of the stack is with it (not decoded) */
		} sample;
		struct {
			u64 start, len, pgoff;
			u32 prot, flags;
			u32 maj, min;
			u64 ino;
			u8 build_id_size;
			u8 build_id[20];
			const char *filename;
		} mmap;
		struct {
			const char *comm;
			bool exec;
		} comm;
		struct {
			u32 ppid, ptid;
		} task;
		struct {
			u64 id, lost;
		} lost;
		struct {		/* code that the kernel made itself, or freed */
			u64 start;
			u32 len;
			u16 type;	/* PERF_RECORD_KSYMBOL_TYPE_* */
			bool gone;
			const char *name;
		} ksymbol;
	};
};

/*
 * Opens @path ("-": standard input; a pipe carries perf's pipe form only). -EBADMSG: not a
 * perf.data file; -ENODATA: it ends early; -EOPNOTSUPP: a form not known. @ret_why (may be NULL)
 * then says what, as a constant, or is NULL when the error says all.
 */
int perfdata_reader_open(const char *path, struct perfdata_reader **ret, const char **ret_why);

/* The same for an open file, which the reader closes; also when this fails. */
int perfdata_reader_open_fd(int fd, struct perfdata_reader **ret, const char **ret_why);
void perfdata_reader_close(struct perfdata_reader *reader);
DEFINE_CLEANUP(struct perfdata_reader *, perfdata_reader_close)

/* Before the first record: file order instead of time order. */
void perfdata_reader_set_unordered(struct perfdata_reader *reader);

/*
 * 1 and the next record, in time order as perf makes it; 0 at the end. -ENODATA: this is the end
 * too, but of a file that was cut off or never finished (perf record was killed): what came
 * before is good. -EBADMSG: no way to find the next record.
 */
int perfdata_reader_next(struct perfdata_reader *reader, struct perfdata_record *ret);

/* What could not be used, so far. */
struct perfdata_reader_stats {
	u64 bad_records;	/* contents do not fit the record: dropped */
	u64 unknown_ids;	/* of an event that the file does not describe: dropped */
	u64 unordered;		/* came later than the file's rounds promise */
	u64 user_stacks;	/* samples with a copy of the user's stack instead of its chain */
};
void perfdata_reader_stats(const struct perfdata_reader *reader,
			   struct perfdata_reader_stats *ret);

/* In the pipe form attributes, build ids and strings may still come between the records. */
size_t perfdata_reader_nr_attrs(const struct perfdata_reader *reader);
const struct perfdata_attr *perfdata_reader_attr(const struct perfdata_reader *reader, size_t i);

size_t perfdata_reader_nr_build_ids(const struct perfdata_reader *reader);
const struct perfdata_build_id *perfdata_reader_build_id(const struct perfdata_reader *reader,
							 size_t i);

/*
 * Feature strings (enum perfdata_feature in perfdata/format.h): HOSTNAME, OSRELEASE, VERSION,
 * ARCH, CPUDESC, CPUID, CMDLINE (joined with blanks), ACCOUNTING. NULL when the file has none.
 */
const char *perfdata_reader_string(const struct perfdata_reader *reader, unsigned int feature);

#endif
