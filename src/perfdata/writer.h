/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing perf.data: the guest view, which looks as if perf had run inside the guest. The file
 * appears under its name only when it is finished.
 */
#ifndef PERFDATA_WRITER_H
#define PERFDATA_WRITER_H

#include <linux/perf_event.h>

#include "base/types.h"

struct perfdata_writer;

struct perfdata_writer_event {
	const char *name;		/* "cycles", "cpu-clock", … */
	u32 type;			/* PERF_TYPE_* */
	u64 config;
	u64 period_or_freq;
	bool freq;
	/* Of a tracepoint, whose .config is its id: without these stock perf reads no such file. */
	const char *point;		/* "SUBSYSTEM:NAME"; NULL: it is none */
	const char *format;		/* as tracefs describes its record */
};

struct perfdata_writer_options {
	const char *hostname;		/* the VM's name */
	const char *os_release;		/* the guest kernel's; NULL: comes later */
	const char *arch;		/* "x86_64" */
	const char *cpu_desc;		/* NULL: none */
	const char *const *cmdline;	/* NULL-terminated */
	u32 nr_cpus;
	u64 total_mem_kb;
	const struct perfdata_writer_event *events;
	u32 nr_events;
	bool raw;			/* samples carry bytes of the caller's own */
};

/*
 * Strings are copied. The data goes to a temporary file beside @path until
 * perfdata_writer_finish(); where the file system can, to one without a name, which leaves no
 * trace even of a process that is killed. A @path that is a device is written to as it stands.
 */
int perfdata_writer_create(const char *path, const struct perfdata_writer_options *options,
			   struct perfdata_writer **ret);

/* Without finish before it: removes the temporary file, leaves no trace. */
void perfdata_writer_destroy(struct perfdata_writer *writer);
DEFINE_CLEANUP(struct perfdata_writer *, perfdata_writer_destroy)

struct perfdata_sample {
	u32 event;
	u32 pid, tid;
	u32 cpu;
	u64 time;		/* ns */
	u64 period;
	u64 ip;
	bool user;
	const u64 *ips;		/* with PERF_CONTEXT_* markers, ip first */
	u32 nr_ips;
	const void *raw;	/* with options.raw: stock perf steps over them */
	u32 raw_size;		/* 4 more than a multiple of 8 */
};

/*
 * These return the first write error (-ENOSPC) from then on; -E2BIG or -EINVAL for a record that
 * does not fit the format, which is then not written. Guest text (comm, file names) is written
 * with control bytes escaped: stock perf prints it as it is.
 */
int perfdata_writer_sample(struct perfdata_writer *writer, const struct perfdata_sample *sample);
int perfdata_writer_comm(struct perfdata_writer *writer, u32 pid, u32 tid, const char *comm,
			 bool exec, u64 time);
int perfdata_writer_lost(struct perfdata_writer *writer, u64 nr, u64 time);

/*
 * Records of any time may come in any order, as long as none is older than the newest by a second
 * or more. What will be later than that has to be expected: from @oldest on, UINT64_MAX: nothing.
 * Until then readers have to keep what there is in memory.
 */
void perfdata_writer_expect(struct perfdata_writer *writer, u64 oldest);

struct perfdata_task {
	u32 pid, tid;
	u32 ppid, ptid;		/* of the process that made it; of a thread, its own process */
	u64 time;
};

/*
 * A task that is new to the reader, and the end of one. As perf tells of those that were there
 * before it: what a new process has mapped comes in records of its own, nothing is its parent's.
 */
int perfdata_writer_fork(struct perfdata_writer *writer, const struct perfdata_task *task);
int perfdata_writer_exit(struct perfdata_writer *writer, const struct perfdata_task *task);

struct perfdata_mmap {
	u32 pid, tid;		/* -1 and 0 for the kernel */
	u64 start, len, pgoff;
	u32 prot, flags;
	bool kernel;
	const u8 *build_id;	/* also goes to the build-id feature; NULL: one is made up, so that
				 * perf does not take the host's file of that name */
	u8 build_id_size;
	const char *filename;
	u64 time;
};
int perfdata_writer_mmap(struct perfdata_writer *writer, const struct perfdata_mmap *mmap);

struct perfdata_kernel {
	u64 start, end;		/* of its text */
	u64 ref;		/* where the symbol is by which perf finds the KASLR offset */
	const char *ref_name;	/* its name: "_text" or "_stext" */
	const u8 *build_id;	/* as in struct perfdata_mmap */
	u8 build_id_size;
};

/* The kernel's mapping, "[kernel.kallsyms]" and the symbol's name, and build id. */
int perfdata_writer_kernel(struct perfdata_writer *writer, const struct perfdata_kernel *kernel);

/*
 * A module, which perf shows as "[name]", at its text's address. The kernel's release is part of
 * the file name that is made up for it: to be set before.
 */
int perfdata_writer_module(struct perfdata_writer *writer, const char *name, u64 start, u64 size,
			   const u8 *build_id, u8 build_id_size, u64 time);

/*
 * Code that the kernel made itself and no file has; perf shows it as of an object of that name.
 * With .gone: that was there and is no more.
 */
struct perfdata_ksymbol {
	u64 start;
	u32 len;
	bool bpf;		/* a program's, or a trampoline's of BPF */
	bool gone;
	const char *name;
	u64 time;
};
int perfdata_writer_ksymbol(struct perfdata_writer *writer,
			    const struct perfdata_ksymbol *ksymbol);

/* What only comes to be known while recording; until finish. */
int perfdata_writer_set_release(struct perfdata_writer *writer, const char *os_release);
int perfdata_writer_set_cpu_desc(struct perfdata_writer *writer, const char *cpu_desc);
int perfdata_writer_set_arch(struct perfdata_writer *writer, const char *arch);

/* kvmprof's own feature section: PERFDATA_FEATURE_ACCOUNTING in perfdata/format.h. */
int perfdata_writer_set_accounting(struct perfdata_writer *writer, const char *text);

/*
 * Writes sizes and features and gives the file its name. One that is there becomes @path.old, as
 * perf record does it.
 */
int perfdata_writer_finish(struct perfdata_writer *writer);

/* Bytes of the file so far. */
u64 perfdata_writer_bytes(const struct perfdata_writer *writer);

#endif
