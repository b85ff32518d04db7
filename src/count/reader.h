/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What counting asks of its surroundings: which VMs there are, and figures of their vCPUs' threads.
 * host-reader.h is this host's; tests have one of their own.
 */
#ifndef COUNT_READER_H
#define COUNT_READER_H

#include "count/exits.h"
#include "count/progress.h"
#include "vm/vm.h"

/* A thread that is counted; what is in it is the reader's. */
struct counted_thread;

/* What is to be said of how it is counted. All belongs to the reader. */
struct reader_facts {
	const int *errors;	/* of each event and mode, the first of opening it; 0: none */
	const char *no_reasons_why;	/* why exits are not seen one by one; NULL: they are */
	bool no_exits;		/* and not even their number is known */
	u64 lost_reasons;	/* exits that are in no reason's count */
	bool watchdog;		/* the host's NMI watchdog has a counter of each CPU */
};

struct reader;

struct reader_ops {
	u64 (*now)(struct reader *reader);	/* ns; that of readings */
	/* All VMs, or those that can be of interest. */
	int (*scan)(struct reader *reader, struct vm_list *ret);

	/* Before the first start(); what takes privileges. */
	void (*prepare)(struct reader *reader);
	/* Starts counting on @vcpu's thread. -ESRCH: it has just ended. */
	int (*start)(struct reader *reader, pid_t pid, const struct vm_vcpu *vcpu,
		     struct counted_thread **ret);
	/*
	 * Its exits are counted no more, so that what for_each_reason() tells of it from now on is
	 * all that there will be. read() has nothing of exits any more.
	 */
	void (*leave)(struct reader *reader, struct counted_thread *thread);
	/*
	 * No more at all; @reasons are those that for_each_reason() has told of it, and are
	 * forgotten. Others may come, and stay, if there was no leave(). Frees @thread.
	 */
	void (*stop)(struct reader *reader, struct counted_thread *thread,
		     const exit_reasons *reasons);

	/* @alive: the vCPU is known to be there still, with what KVM keeps of it. */
	void (*read)(struct reader *reader, struct counted_thread *thread, bool alive,
		     struct reading *ret);
	/* Of events: into @counts, of nr_events * COUNT_NR_MODES. */
	void (*read_counts)(struct reader *reader, struct counted_thread *thread,
			    struct count *counts);
	/* Of all threads together, whose reasons are counted from their start on. */
	int (*for_each_reason)(struct reader *reader, exit_reason_fn fn, void *arg);
	/* As vm_host_vcpu_counters(). */
	int (*own_counters)(struct reader *reader, const struct vm_vcpu *vcpu,
			    struct vm_vcpu_counters *ret);

	void (*facts)(struct reader *reader, struct reader_facts *ret);
	void (*destroy)(struct reader *reader);
};

/* The beginning of each reader's own structure. */
struct reader {
	const struct reader_ops *ops;
};

static inline void reader_destroy(struct reader *reader)
{
	if (reader)
		reader->ops->destroy(reader);
}
DEFINE_CLEANUP(struct reader *, reader_destroy)

#endif
