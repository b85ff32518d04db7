/* SPDX-License-Identifier: GPL-2.0-only */
/* What stat.bpf.c and the user of it have in common. */
#ifndef BPF_STAT_H
#define BPF_STAT_H

#include "base/addr.h"

#define STAT_MAX_THREADS 16384
#define STAT_MAX_REASONS 262144	/* of all threads together */

/* Of a vCPU thread. Only programs that run in the thread itself write it. */
struct stat_thread {
	u64 entered;		/* when it went into the guest, by the monotonic clock; 0: is out */
	u64 left;		/* when it last left its CPU; 0: never yet */
	u64 guest_ns;		/* in the guest, but for the stay that lasts */
	u64 exits;
};

struct stat_reason_key {
	u32 tid;
	u32 reason;		/* the first field of struct stat_fields */
	u32 detail;		/* the second */
};

/* Where in the record of kvm_exit the two numbers are that make a reason. */
struct stat_fields {
	u32 reason_at, reason_size;	/* bytes, 1 to 4 */
	u32 detail_at, detail_size;	/* size 0: there is none */
};

#endif
