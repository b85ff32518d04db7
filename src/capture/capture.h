/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking samples from running guests. One recorder, some events, any number of VMs, one of three
 * modes. Samples come as wire records (model/wire.h) in the order of the ring buffer.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include "base/types.h"
#include "base/vec.h"
#include "mem/slots.h"
#include "model/sample.h"
#include "vm/vm.h"

enum capture_mode {
	CAPTURE_AUTO,
	CAPTURE_INLINE,		/* in the event's BPF program */
	CAPTURE_DEFERRED,	/* at the exit to user space that the event's program asks for */
	CAPTURE_PTRACE,		/* by stopping the thread; no BPF */
	CAPTURE_NR,
};

const char *capture_mode_name(enum capture_mode mode);

#define CAPTURE_EVENT_NAME 64

/* An event as perf_event_open takes it, with a period or a frequency. */
struct capture_event {
	char name[CAPTURE_EVENT_NAME];
	u32 type;
	u64 config;
	u64 config1, config2;
	u64 period;		/* 0: by frequency */
	u64 freq;		/* Hz */
	bool rated;		/* they were asked for, by the event's own terms or for all */
	bool exclude_host;
	bool exclude_user, exclude_kernel;
	/* Of one that is counted: G alone, H alone, D. */
	bool only_guest, only_host, pinned;
	const char *guest_why;	/* why it cannot be counted in the guest, a constant; or NULL */
	bool tracepoint;
	bool host_side;		/* happens in the host kernel: the sample is the guest behind it */
	/* Of a tracepoint; the strings are the list's that it is in. */
	char *point;		/* "SUBSYSTEM:NAME" */
	char *format;		/* its record, as tracefs describes it */
	char *filter;		/* NULL: every hit counts */
};

/* The events of a recording; all zero: none yet. */
struct capture_events {
	/* How often, of those that do not say it themselves; both 0: as is usual for each. */
	u64 period;
	u64 freq;		/* Hz */
	VEC(struct capture_event) list;
	bool counting;		/* they are to be counted (src/count), not sampled: set it first */
	size_t last;		/* what was named last begins here */
	char wrong[CAPTURE_EVENT_NAME];	/* the event that an error is about */
};

/*
 * Adds what @text names in perf's syntax: cycles, cpu-clock, instructions:u, r01c2, SUBSYSTEM:NAME
 * with wildcards, PMU/TERM,…/, several of them with commas between. -ENOENT: no such event;
 * -EBADMSG: syntax; -EOPNOTSUPP: not here. *@ret_why is then a constant, or NULL. An event to be
 * counted may be one that this host has no counter for.
 */
int capture_events_add(struct capture_events *events, const char *text, const char **ret_why);

/*
 * A filter in the kernel's language for what was named last, and, as with perf, beside the filters
 * that it has. -EINVAL: the kernel does not take it; *@ret_said (to be freed) is then what the
 * kernel says, or NULL. -EOPNOTSUPP: it is no tracepoint; -ENOENT: nothing was named.
 */
int capture_events_filter(struct capture_events *events, const char *filter, char **ret_said);

/* Hardware cycles in guest mode, else cpu-clock; @ret_why is a constant that says why. */
int capture_events_add_default(struct capture_events *events, const char **ret_why);
void capture_events_deinit(struct capture_events *events);

/* Every event that fired is in exactly one of these. */
struct capture_counts {
	u64 events;		/* overflows that we know of */
	u64 samples;		/* records delivered */
	u64 host;		/* skipped: not in the guest */
	u64 filtered;		/* skipped: in the guest's user or kernel mode, excluded */
	u64 lost_ring;		/* no room in the ring buffer */
	u64 lost_pending;	/* joined to the event before, which waits for its exit or stop */
	u64 lost_signal;	/* deferred: the kick failed */
	u64 lost_exit;		/* the thread or the run ended before the exit or stop came */
	u64 lost_stop;		/* ptrace: the thread did not stop, or was not in the guest then */
	u64 lost_kernel;	/* the kernel says it dropped or throttled */
	u64 unknown_vcpu;	/* a thread that was not yet known, or no more */
};

/* Of the user stack; as deep as one is copied at all. Most hold less, and no more is copied. */
#define CAPTURE_USER_STACK_DEFAULT WIRE_MAX_STACK_BYTES

struct capture_options {
	enum capture_mode mode;	/* not CAPTURE_AUTO: see capture_choose() */
	/* At least one, at most WIRE_MAX_EVENTS. They must outlive the capture. */
	const struct capture_event *events;
	u32 nr_events;
	unsigned int max_depth;	/* user frames */
	unsigned int user_stack;	/* bytes of the user stack to copy at most; 0: none */
	size_t ring_bytes;	/* 0: default */
	bool task_work;		/* deferred: VMs may have VM_KICK_WORK; capture_has_task_work() */
};

/* Whether @mode works on this host and for @vm; if not -EOPNOTSUPP and why, as a constant. */
int capture_probe(struct vm_host *host, const struct vm *vm, enum capture_mode mode,
		  const char **ret_why);

/* The part of that which lies with @vm, where the host can do @mode. Asks nobody: cheap. */
int capture_probe_vm(const struct vm *vm, enum capture_mode mode, const char **ret_why);

/* Whether BPF can kick vCPUs without a signal. NULL for @host: reads the kernel's types, slow. */
bool capture_has_task_work(const struct vm_host *host);

/* The mode that AUTO means here, and why, as a constant. */
int capture_choose(struct vm_host *host, const struct vm *vm, enum capture_mode *ret_mode,
		   const char **ret_why);

struct capture;

/* @on_sample gets each record, in the thread that polls, valid during the call only. */
typedef void (*capture_sample_fn)(const struct sample *sample, void *arg);

/* The ptrace mode takes NULL for @host, too: one whose kernel's memory cannot be read. */
int capture_create(struct vm_host *host, const struct capture_options *options,
		   capture_sample_fn on_sample, void *arg, struct capture **ret,
		   const char **ret_why);
/* Detaches everything; guests run on. */
void capture_destroy(struct capture *capture);

/*
 * Follows @vm as @index (struct wire_sample's .vm). Calling it again with the VM's new state adds
 * new vCPUs, drops gone ones and replaces the memory slots. -EOPNOTSUPP for a confidential VM, and
 * in the deferred mode for one that cannot be kicked.
 */
int capture_set_vm(struct capture *capture, u32 index, const struct vm *vm);
int capture_set_guest(struct capture *capture, u32 index, const struct wire_guest *config);
/* Its samples under way are delivered before it goes. */
void capture_remove_vm(struct capture *capture, u32 index);

/* Starts and stops the events. Stop waits, bounded, for samples under way. */
int capture_start(struct capture *capture);
int capture_stop(struct capture *capture);

/* Delivers what is there, waits at most @timeout_ms for the first. -EINTR on a signal. */
int capture_poll(struct capture *capture, int timeout_ms);

/* True once when a sample met memory slots newer than ours: refresh @index. */
bool capture_slots_stale(struct capture *capture, u32 *ret_index);

/* Of all VMs together, and events that are no VM's that we know. */
void capture_get_counts(const struct capture *capture, struct capture_counts *ret);

/*
 * Of the VM that is or was followed as @index. Once it is removed, or the capture stopped, every
 * event is in exactly one counter.
 */
void capture_get_vm_counts(const struct capture *capture, u32 index, struct capture_counts *ret);

/*
 * How long the hardware event of that index was on, of all threads together, and how long of that
 * it counted: less, where others had the counters. Both 0: it is none, or the kernel does not say.
 */
void capture_get_times(const struct capture *capture, u32 event, u64 *ret_on, u64 *ret_counted);

/* Adds @other to @counts. */
void capture_counts_add(struct capture_counts *counts, const struct capture_counts *other);

#endif
