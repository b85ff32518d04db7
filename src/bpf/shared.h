/* SPDX-License-Identifier: GPL-2.0-only */
/* The map contents that the capture programs and user space share. */
#ifndef BPF_SHARED_H
#define BPF_SHARED_H

#include "base/addr.h"
#include "bpf/entry.h"
#include "model/wire.h"

#define CAPTURE_MAX_VMS 1024
#define CAPTURE_MAX_VCPUS 16384

/*
 * The kernel knows it by its name and size in the map's BTF, since 6.18. <linux/bpf.h> has it since
 * then, too, but Debian 12's has not.
 */
#ifndef HAVE_BPF_TASK_WORK
struct bpf_task_work {
	u64 opaque;
};
#endif

/* The value for one vCPU thread; the key is its host tid. */
struct capture_vcpu {
	u64 kvm_vcpu;		/* host kernel's struct kvm_vcpu * */
	u64 percpu;		/* guest's per-CPU base on this vCPU, once it has been seen */
	u32 vm;			/* index */
	u32 id;			/* KVM's vcpu_id */
	u32 pid;		/* of the VMM */
	u32 pending;		/* deferred mode: of an event the .pending may be set */

	/* arm64, with events that are clocks. */
	struct entry entry;
	u32 timer_last;		/* it serves its timer behind a guest's: see struct entry_event */
	u32 entry_cpu;		/* which served the last of them */

	/* Deferred mode, kicks without a signal: the kernel's own while one is under way. */
	struct bpf_task_work work;
};

/* One of its events; those that are not of tracepoints have it in the deferred mode only. */
struct capture_vcpu_event_key {
	u32 tid;
	u32 event;		/* index */
};

struct capture_vcpu_event {
	/* Deferred mode: what waits for the exit. */
	u8 pending;		/* 1: the fields below hold */
	u8 pending_moves;	/* the guest's pc goes on before the exit, or did so in between */
	u16 pad;
	u32 raw_size;
	u64 pending_time;
	u64 pending_period;
	u64 pending_pc;		/* 0: cannot be read at the event */

	/* Tracepoints. */
	u64 hits;		/* since the last sample */
	u64 last_time;
	u8 raw[WIRE_MAX_RAW];	/* while it waits */
};

/* What the programs know of an event. */
struct capture_event_config {
	u64 tracepoint_period;		/* one sample for as many hits; 0: by time */
	u64 tracepoint_interval;	/* ns between samples of one vCPU */
	u8 host_side;		/* the event happens in the host kernel, never in a guest */
	u8 exclude_user;
	u8 exclude_kernel;
	u8 clock;		/* a timer of the host's: see bpf/entry.h */
	u8 pad[2];
	u16 raw_size;		/* of a tracepoint's record this much goes with the sample */
};

/* Per-CPU counters of one VM; the order of struct capture_counts. */
enum capture_counter {
	COUNT_EVENTS,
	COUNT_SAMPLES,
	COUNT_HOST,
	COUNT_FILTERED,
	COUNT_LOST_RING,
	COUNT_LOST_PENDING,
	COUNT_LOST_SIGNAL,
	COUNT_LOST_EXIT,
	COUNT_LOST_STOP,
	COUNT_LOST_KERNEL,
	COUNT_UNKNOWN_VCPU,
	COUNT_NR,
};

struct capture_vm_counts {
	u64 values[COUNT_NR];
};

#define CAPTURE_NO_VM CAPTURE_MAX_VMS	/* counts what is no VM's that we know */

/*
 * The samples of one VM that wait in the ring buffer: .sent less .taken bytes. All VMs share the
 * ring, and the size of a sample is a guest's choice: one must not take the room of all.
 */
struct capture_ring_use {
	u64 sent;	/* by the programs, on any CPU */
	u64 taken;	/* by the reader */
	u64 pad[6];	/* no other VM's in the cache line */
};

/* What a record of @size bytes takes in the ring: BPF_RINGBUF_HDR_SZ, and multiples of 8. */
static inline u64 capture_ring_bytes(u64 size)
{
	return (size + 8 + 7) & ~7ULL;
}

/*
 * Bytes of a ring of @ring that each of @nr VMs may have waiting; 0: any number. Twice what it
 * would have were all the same, for mostly they are not, but with others never more than half: what
 * one does then leaves them room. At least @largest, a record's size, or that could never be sent.
 */
static inline u64 capture_ring_share(u64 ring, u64 nr, u64 largest)
{
	u64 share = nr > 4 ? 2 * ring / nr : ring / 2;

	if (nr < 2)
		return 0;
	return share > capture_ring_bytes(largest) ? share : capture_ring_bytes(largest);
}

#endif
