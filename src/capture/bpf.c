/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inline and deferred modes: bpf/capture.bpf.c loaded, its maps filled, its programs attached
 * to one perf event on each vCPU thread, its ring buffer read.
 */
#ifdef HAVE_BPF
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/log.h"
#include "bpf/shared.h"
#include "capture/backend.h"
#include "capture/events.h"

#include "capture.skel.h"

#define POLL_SLICE_MS 50	/* the longest that a record waits in the ring buffer */
#define STOP_WAIT_MS 200	/* for exits that events wait for */
#define WAKE_BYTES_MAX (128UL << 10)
#define REARM_MS 1000		/* how often to look whether the registers are still asked for */

struct bpf_mode {
	struct capture_bpf *skel;
	struct ring_buffer *ring;
	struct bpf_program *program;	/* what runs at the event */
	struct bpf_link *tracepoint;
	struct bpf_link *exit;		/* deferred: to user space */
	u64 bad_records;
	u64 next_rearm;			/* ms */
};

_Static_assert(sizeof(struct capture_counts) == sizeof(struct capture_vm_counts),
	       "one counter a field");
_Static_assert(offsetof(struct capture_counts, unknown_vcpu) == COUNT_UNKNOWN_VCPU * sizeof(u64),
	       "in one order");

static bool is_deferred(const struct capture *capture)
{
	return capture->options.mode == CAPTURE_DEFERRED;
}

/* The record's room is its VM's again. */
static void note_taken(struct bpf_mode *mode, const struct wire_sample *wire, size_t size)
{
	struct capture_ring_use *use;

	if (size < sizeof(*wire))
		return;
	use = &mode->skel->bss->ring_uses[wire->vm % CAPTURE_MAX_VMS];
	__atomic_store_n(&use->taken, use->taken + capture_ring_bytes(size), __ATOMIC_RELEASE);
}

static int on_record(void *arg, void *data, size_t size)
{
	struct capture *capture = arg;
	struct bpf_mode *mode = capture->mode;

	if (capture_deliver(capture, data, size))
		mode->bad_records++;
	note_taken(mode, data, size);
	return 0;
}

/* The ring is for @nr VMs from now on. */
static void share_ring(struct bpf_mode *mode, size_t nr)
{
	u64 ring = bpf_map__max_entries(mode->skel->maps.ring);

	mode->skel->bss->ring_share =
		capture_ring_share(ring, nr, sizeof(struct wire_sample) + SHOT_DATA_BYTES);
}

/* Ring buffers are a power of two of pages. */
static u32 ring_size(size_t wanted)
{
	u32 size = sysconf(_SC_PAGESIZE);

	while (size < wanted && size < 1U << 30)
		size *= 2;
	return size;
}

static void configure(struct capture *capture, struct capture_bpf *skel)
{
	const struct capture_event *event = &capture->options.event;
	u32 ring = ring_size(capture->options.ring_bytes);

#ifdef __x86_64__
	skel->rodata->amd = vm_host_vendor(capture->host) == VM_VENDOR_AMD;
#endif
	skel->rodata->max_depth = capture->options.max_depth;
	skel->rodata->user_stack = capture->options.user_stack;
	skel->rodata->exclude_user = event->exclude_user;
	skel->rodata->exclude_kernel = event->exclude_kernel;
	skel->rodata->host_side = event->host_side;
	skel->rodata->tracepoint_period = event->period;
	skel->rodata->tracepoint_interval =
		1000000000 / (event->freq ? event->freq : EVENT_DEFAULT_FREQ);
	skel->rodata->wake_bytes = MIN(ring / 4, WAKE_BYTES_MAX);
	bpf_map__set_max_entries(skel->maps.ring, ring);
	bpf_map__set_max_entries(skel->maps.scratches, 2 * libbpf_num_possible_cpus());
}

/* The programs that this mode and event need, the others are not loaded. */
static void choose_programs(struct capture *capture, struct bpf_mode *mode)
{
	const struct capture_bpf *skel = mode->skel;
	bool tracepoint = capture->options.event.tracepoint;

	if (is_deferred(capture)) {
		mode->program = tracepoint ? skel->progs.on_tracepoint_deferred :
					     skel->progs.on_event_deferred;
		bpf_program__set_autoload(skel->progs.on_userspace_exit, true);
	} else {
		mode->program = tracepoint ? skel->progs.on_tracepoint : skel->progs.on_event;
	}
	bpf_program__set_autoload(mode->program, true);
}

static const char *load_reason(int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return "BPF is not permitted: not root, or the kernel is locked down";
	case -ENOENT:
	case -ESRCH:
		return "the host kernel or KVM has no BTF";
	default:
		return "the host kernel refused the capture program";
	}
}

static void bpf_close(struct capture *capture)
{
	struct bpf_mode *mode = capture->mode;

	if (!mode)
		return;
	if (mode->bad_records)
		log_debug("%llu records of the ring buffer made no sense",
			  (unsigned long long)mode->bad_records);
	ring_buffer__free(mode->ring);
	bpf_link__destroy(mode->tracepoint);
	bpf_link__destroy(mode->exit);
	capture_bpf__destroy(mode->skel);
	free(mode);
	capture->mode = NULL;
}

static int load(struct capture *capture, struct bpf_mode *mode, const char **ret_why)
{
	int err;

	mode->skel = capture_bpf__open();
	if (!mode->skel) {
		*ret_why = load_reason(-errno);
		return -errno;
	}
	configure(capture, mode->skel);
	choose_programs(capture, mode);
	err = capture_bpf__load(mode->skel);
	if (err) {
		*ret_why = load_reason(err);
		return err;
	}
	mode->ring = ring_buffer__new(bpf_map__fd(mode->skel->maps.ring), on_record, capture, NULL);
	if (!mode->ring) {
		*ret_why = "out of memory";
		return -errno;
	}
	return 0;
}

static int bpf_open(struct capture *capture, const char **ret_why)
{
	struct bpf_mode *mode = calloc(1, sizeof(*mode));
	int err;

	if (!mode) {
		*ret_why = "out of memory";
		return -ENOMEM;
	}
	capture->mode = mode;
	err = load(capture, mode, ret_why);
	if (err)
		bpf_close(capture);
	return err;
}

/* A new inner map each time: a running program sees the old state or the new one, whole. */
static int bpf_update_guest(struct capture *capture, struct capture_guest *guest)
{
	struct bpf_mode *mode = capture->mode;
	_cleanup_close_ int inner = -1;
	u32 zero = 0;

	share_ring(mode, capture->guests.nr);
	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vm", sizeof(u32), sizeof(struct shot_vm), 1,
			       NULL);
	if (inner < 0)
		return inner;
	if (bpf_map_update_elem(inner, &zero, &guest->vm, BPF_ANY) ||
	    bpf_map_update_elem(bpf_map__fd(mode->skel->maps.vms), &guest->index, &inner, BPF_ANY))
		return -errno;
	return 0;
}

/*
 * Programs take no sample of a VM that is not in the map, and the kernel waits for those that run
 * before it returns from changing a map of maps (maybe_wait_bpf_programs(), since 4.15): what is
 * pending afterwards stays so, and is counted here and nowhere else.
 */
static void bpf_forget_guest(struct capture *capture, struct capture_guest *guest)
{
	struct bpf_mode *mode = capture->mode;

	bpf_map_delete_elem(bpf_map__fd(mode->skel->maps.vms), &guest->index);
	share_ring(mode, capture->guests.nr - 1);
}

static int attach_event(struct capture *capture, struct capture_thread *thread)
{
	struct bpf_mode *mode = capture->mode;
	struct perf_event_attr attr;
	int fd;

	event_fill_attr(&capture->options.event, &attr);
	fd = capture_open_event(&attr, thread->tid);
	if (fd < 0)
		return fd;
	thread->event_fd = fd;
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(mode->program)) ? -errno : 0;
}

static int bpf_add_thread(struct capture *capture, struct capture_guest *guest,
			  struct capture_thread *thread)
{
	struct bpf_mode *mode = capture->mode;
	struct capture_vcpu vcpu = {
		.kvm_vcpu = thread->kvm_vcpu,
		.pid = guest->pid,
		.vm = guest->index,
		.id = thread->id,
	};
	u32 tid = thread->tid;
	int err = 0;

	if (bpf_map_update_elem(bpf_map__fd(mode->skel->maps.vcpus), &tid, &vcpu, BPF_ANY))
		return -errno;
	if (is_deferred(capture))
		err = capture_arm(capture, guest, thread);
	if (!err && !capture->options.event.tracepoint)
		err = attach_event(capture, thread);
	return err;
}

static bool thread_pending(const struct bpf_mode *mode, const struct capture_thread *thread)
{
	struct capture_vcpu vcpu;
	u32 tid = thread->tid;

	return !bpf_map_lookup_elem(bpf_map__fd(mode->skel->maps.vcpus), &tid, &vcpu) &&
	       vcpu.pending;
}

/*
 * Counts the event that has not met its exit in one step with forgetting the thread, so that none
 * comes in between. Nor is a program at work on it: the VM was forgotten before, or the thread has
 * ended, for a thread alone goes only then.
 */
static void bpf_remove_thread(struct capture *capture, struct capture_guest *guest,
			      struct capture_thread *thread)
{
	const struct bpf_mode *mode = capture->mode;
	int fd = bpf_map__fd(mode->skel->maps.vcpus);
	struct capture_vcpu vcpu;
	u32 tid = thread->tid;

	if (!bpf_map_lookup_and_delete_elem(fd, &tid, &vcpu) && vcpu.pending)
		capture_count_of(capture, guest->index)->lost_exit++;
	capture_disarm(capture, guest, thread);
}

static int attach_tracepoint(struct capture *capture)
{
	struct bpf_mode *mode = capture->mode;
	char group[sizeof(capture->options.event.name)];
	char *name;

	memcpy(group, capture->options.event.name, sizeof(group));
	name = strchr(group, ':');
	if (!name)
		return -EINVAL;
	*name++ = '\0';
	mode->tracepoint = bpf_program__attach_tracepoint(mode->program, group, name);
	return mode->tracepoint ? 0 : -errno;
}

static int arm_all(struct capture *capture)
{
	vec_for_each(&capture->guests, guest) {
		vec_for_each(&(*guest)->threads, thread) {
			int err = capture_arm(capture, *guest, *thread);

			if (err && err != -ESRCH)
				return err;
		}
	}
	return 0;
}

static int bpf_start(struct capture *capture)
{
	struct bpf_mode *mode = capture->mode;
	int err = 0;

	if (is_deferred(capture)) {
		err = arm_all(capture);
		if (!err) {
			mode->exit = bpf_program__attach(mode->skel->progs.on_userspace_exit);
			err = mode->exit ? 0 : -errno;
		}
	}
	if (!err && capture->options.event.tracepoint)
		err = attach_tracepoint(capture);
	return err;
}

static bool any_pending(const struct capture *capture)
{
	vec_for_each(&capture->guests, guest) {
		vec_for_each(&(*guest)->threads, thread) {
			if (thread_pending(capture->mode, *thread))
				return true;
		}
	}
	return false;
}

/* Counts an event that has not met its exit, and forgets it. No program may be at work. */
static void give_up_pending(struct capture *capture, const struct capture_guest *guest,
			    const struct capture_thread *thread)
{
	const struct bpf_mode *mode = capture->mode;
	struct capture_vcpu vcpu;
	u32 tid = thread->tid;
	int fd = bpf_map__fd(mode->skel->maps.vcpus);

	if (bpf_map_lookup_elem(fd, &tid, &vcpu) || !vcpu.pending)
		return;
	capture_count_of(capture, guest->index)->lost_exit++;
	vcpu.pending = 0;
	bpf_map_update_elem(fd, &tid, &vcpu, BPF_EXIST);
}

/* For those that were at work when they were detached: see bpf_forget_guest(). */
static void wait_programs(struct capture *capture)
{
	if (capture->guests.nr)
		bpf_update_guest(capture, capture->guests.data[0]);
}

static int bpf_stop(struct capture *capture)
{
	struct bpf_mode *mode = capture->mode;

	bpf_link__destroy(mode->tracepoint);
	mode->tracepoint = NULL;
	if (!is_deferred(capture))
		return 0;
	for (int i = 0; i < STOP_WAIT_MS && any_pending(capture); i++)
		poll(NULL, 0, 1);
	bpf_link__destroy(mode->exit);
	mode->exit = NULL;
	wait_programs(capture);
	vec_for_each(&capture->guests, guest) {
		vec_for_each(&(*guest)->threads, thread) {
			give_up_pending(capture, *guest, *thread);
			capture_disarm(capture, *guest, *thread);
		}
	}
	return 0;
}

/* A thread whose registers nobody asks for any more has its samples counted as lost. */
static void rearm_all(struct capture *capture, u64 now)
{
	struct bpf_mode *mode = capture->mode;

	if (!is_deferred(capture) || now < mode->next_rearm)
		return;
	mode->next_rearm = now + REARM_MS;
	vec_for_each(&capture->guests, guest) {
		vec_for_each(&(*guest)->threads, thread)
			capture_rearm(capture, *guest, *thread);
	}
}

/* The programs wake us only when much is waiting: look now and then without being woken. */
static int bpf_poll(struct capture *capture, int timeout_ms)
{
	struct bpf_mode *mode = capture->mode;
	u64 end = timeout_ms < 0 ? UINT64_MAX : clock_now_ms() + timeout_ms;

	rearm_all(capture, clock_now_ms());
	for (;;) {
		int nr = ring_buffer__consume(mode->ring);
		u64 now = clock_now_ms();

		if (nr || now >= end)
			return nr < 0 ? nr : 0;
		nr = ring_buffer__poll(mode->ring, MIN(end - now, POLL_SLICE_MS));
		if (nr)
			return nr < 0 ? nr : 0;
	}
}

static void bpf_drain(struct capture *capture)
{
	const struct bpf_mode *mode = capture->mode;

	ring_buffer__consume(mode->ring);
}

static void bpf_add_counts(const struct capture *capture, u32 index, struct capture_counts *counts)
{
	const struct bpf_mode *mode = capture->mode;
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct capture_counts *values = calloc(MAX(cpus, 1), sizeof(*values));

	if (!values || bpf_map_lookup_elem(bpf_map__fd(mode->skel->maps.counts), &index, values))
		return;
	for (int cpu = 0; cpu < cpus; cpu++)
		capture_counts_add(counts, &values[cpu]);
}

const struct capture_backend capture_bpf_backend = {
	.open = bpf_open,
	.close = bpf_close,
	.update_guest = bpf_update_guest,
	.forget_guest = bpf_forget_guest,
	.add_thread = bpf_add_thread,
	.remove_thread = bpf_remove_thread,
	.start = bpf_start,
	.stop = bpf_stop,
	.poll = bpf_poll,
	.drain = bpf_drain,
	.add_counts = bpf_add_counts,
};
#endif
