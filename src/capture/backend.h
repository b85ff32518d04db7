/* SPDX-License-Identifier: GPL-2.0-only */
/* Between capture.c, which knows which vCPUs are followed, and the modes that take the samples. */
#ifndef CAPTURE_BACKEND_H
#define CAPTURE_BACKEND_H

#include <linux/perf_event.h>

#include "base/vec.h"
#include "bpf/shot.h"
#include "capture/capture.h"

/* An open event of a thread. */
struct capture_thread_event {
	int fd;			/* -1: none */
	int link;		/* of the BPF program to it; -1: none */
};

/* One vCPU thread that is followed. */
struct capture_thread {
	pid_t tid;
	u32 id;			/* KVM's vcpu_id */
	u64 kvm_vcpu;
	u64 run_hva;		/* 0: not known */
	int vmm_fd;		/* the VMM's descriptor of the vCPU when last used; 0: not known */
	struct capture_thread_event *events;	/* one for each of the options' */
	u32 nr_events;
	bool seen;		/* in the newest state of the VM */
	bool armed;		/* kvm_valid_regs is set by us */
	u64 old_valid_regs;	/* its value before */
	void *mode;		/* the mode's own */
};

/* One VM that is followed. */
struct capture_guest {
	u32 index;
	pid_t pid;		/* VMM */
	struct shot_vm vm;	/* as the modes see it */
	VEC(struct capture_thread *) threads;
	bool stale;		/* a sample met newer memory slots */
	bool lazy;		/* arm64: see struct vm */
	void *mode;		/* the mode's own */
};

struct capture;

/* A way to take samples. Each returns 0 or a negative errno; pointers may be NULL unless said. */
struct capture_backend {
	/* Needs nothing of the guests yet. Never NULL. */
	int (*open)(struct capture *capture, const char **ret_why);
	void (*close)(struct capture *capture);

	/* @guest is new, or its .vm has changed. Never NULL. */
	int (*update_guest)(struct capture *capture, struct capture_guest *guest);
	/* Before its threads are removed. When it returns nobody is at work on a sample of it. */
	void (*forget_guest)(struct capture *capture, struct capture_guest *guest);

	/* Opens what is in .events, disabled. Never NULL. */
	int (*add_thread)(struct capture *capture, struct capture_guest *guest,
			  struct capture_thread *thread);
	/* The event is disabled; may be called for a thread that is gone. */
	void (*remove_thread)(struct capture *capture, struct capture_guest *guest,
			      struct capture_thread *thread);

	/* Before the events are enabled, after they were disabled. */
	int (*start)(struct capture *capture);
	int (*stop)(struct capture *capture);

	/* Never NULL. */
	int (*poll)(struct capture *capture, int timeout_ms);
	/* Delivers what has been taken already, without waiting. */
	void (*drain)(struct capture *capture);
	/* Adds what is counted elsewhere than in capture_count_of(); CAPTURE_NO_VM is one too. */
	void (*add_counts)(const struct capture *capture, u32 index,
			   struct capture_counts *counts);
};

struct capture_times {
	u64 on, counted;	/* ns */
};

struct capture {
	struct vm_host *host;
	struct capture_options options;
	capture_sample_fn on_sample;
	void *arg;
	const struct capture_backend *backend;
	const char *vcpu_file;	/* what links to vCPUs' files say, but for the id at the end */
	void *mode;		/* the mode's own */
	VEC(struct capture_guest *) guests;
	VEC(struct capture_counts) counts;	/* by VM index; of VMs that are gone, too */
	struct capture_times *times;	/* by event, of threads that are gone */
	bool running;
};

extern const struct capture_backend capture_bpf_backend;	/* inline and deferred */
extern const struct capture_backend capture_ptrace_backend;

/* Hands a finished record on. -EBADMSG when it does not hold together. */
int capture_deliver(struct capture *capture, const void *data, size_t size);

/* What user space counts for the VM of that index, which capture_set_vm() has been given. */
static inline struct capture_counts *capture_count_of(struct capture *capture, u32 index)
{
	return &capture->counts.data[index];
}

/* Opens @event on thread @tid, disabled. The fd, or a negative errno. */
int capture_open_event(const struct perf_event_attr *attr, pid_t tid);

/* The thread of that tid, or NULL. */
struct capture_thread *capture_find_thread(struct capture_guest *guest, pid_t tid);

/*
 * Makes KVM store the registers in @thread's kvm_run page at each exit to user space, and undoes
 * that. Nothing but that page can be written. Undoing writes only what we had changed, and only
 * while it is as we left it. -ENOENT: the VMM has no such vCPU any more.
 */
int capture_arm(const struct capture *capture, struct capture_guest *guest,
		struct capture_thread *thread);
/* Arms again if somebody else has undone it: another recorder that ended, or the VMM. */
int capture_rearm(const struct capture *capture, struct capture_guest *guest,
		  struct capture_thread *thread);
void capture_disarm(const struct capture *capture, struct capture_guest *guest,
		    struct capture_thread *thread);

#endif
