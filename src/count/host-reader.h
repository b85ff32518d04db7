/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting on this host: perf events, BPF at KVM's tracepoints, /proc, KVM's own structures. */
#ifndef COUNT_HOST_READER_H
#define COUNT_HOST_READER_H

#include "count/reader.h"

struct host_reader_options {
	pid_t pid;		/* only the VMs of this process; 0: all */
	const struct capture_event *events;	/* they must outlive it */
	u32 nr_events;
	bool without_bpf;	/* as if there were none */
};

/* @host must outlive it. On failure *@ret_why, a constant, says what stood in the way. */
int host_reader_create(struct vm_host *host, const struct host_reader_options *options,
		       struct reader **ret, const char **ret_why);

#endif
