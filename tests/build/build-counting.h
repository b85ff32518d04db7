/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host whose VMs are counted: a struct reader whose figures are what a test makes them. Time
 * passes when the test says so, and everything grows in proportion.
 */
#ifndef TESTS_BUILD_COUNTING_H
#define TESTS_BUILD_COUNTING_H

#include "count/reader.h"

#define BUILD_COUNTING_EVENTS 2
#define BUILD_COUNTING_MAX 8	/* VMs, and vCPUs of each */

/* In ns of each ms that passes. */
enum build_counting_rates {
	BUILD_RUN = 700000,
	BUILD_GUEST = 600000,		/* as BPF sees it */
	BUILD_GUEST_TICKS = 500000,	/* as the scheduler does */
	BUILD_STEAL = 50000,
	BUILD_HALT = 200000,
	BUILD_POLL = 20000,
};
#define BUILD_EXITS 12	/* a ms: 4 of reason 1, 8 of reason 2 */

struct build_vcpu {
	struct vm_vcpu vcpu;
	bool there;		/* a scan finds it */
	bool ended;		/* its thread has, with what /proc and the kernel had of it */
	u32 has;		/* what a reading has: READING_HAS_* */
	struct reading figures;
	struct count counts[BUILD_COUNTING_EVENTS * COUNT_NR_MODES];
	u64 reasons[3];		/* as in a map: of this thread's number, by reason */
	bool counted;		/* its exits are */
	bool busy;		/* one of reason 0 comes whenever the reasons have been told */
	struct vm_vcpu_counters own;
	unsigned int starts, stops;
};

struct build_vm {
	pid_t pid;
	u64 kvm;
	char name[VM_NAME_LEN];
	bool there, unread;
	struct build_vcpu vcpus[BUILD_COUNTING_MAX];
};

struct build_counting {
	struct reader reader;
	u64 now;
	struct build_vm vms[BUILD_COUNTING_MAX];	/* those with a pid */
	int errors[BUILD_COUNTING_EVENTS * COUNT_NR_MODES];
	struct reader_facts facts;	/* but for .errors */
	int scan_error, start_error;
	int reasons_error;		/* of for_each_reason(), when it has told one */
	unsigned int prepared, destroyed, walks;	/* walks: of for_each_reason() */
};

extern const struct capture_event build_counting_events[BUILD_COUNTING_EVENTS];

void build_counting_init(struct build_counting *self);

/* A VM without vCPUs, at slot @index: process 1000 + @index, named "vm" and the index. */
struct build_vm *build_counting_add_vm(struct build_counting *self, u32 index);

/* vCPU @id of it, in thread 100 * pid + @id, whose figures have stood somewhere before. */
struct build_vcpu *build_counting_add_vcpu(struct build_vm *vm, u32 id);

/* @ms pass for all threads that have not ended. */
void build_counting_pass(struct build_counting *self, u64 ms);

#endif
