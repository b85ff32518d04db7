/* SPDX-License-Identifier: GPL-2.0-only */
/* Which VMs and vCPU threads are followed. How samples are taken of them is in the backends. */
#include "capture/capture.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/errors.h"
#include "base/log.h"
#include "bpf/shared.h"
#include "capture/backend.h"
#include "capture/events.h"

/* Some 400 samples with a full kernel stack each; with a full user stack beside, as many. */
#define RING_BYTES_DEFAULT (8UL << 20)
#define RING_BYTES_USER_STACK (16UL << 20)
#define VCPU_FILE "anon_inode:kvm-vcpu:"	/* virt/kvm/kvm_main.c, create_vcpu_fd() */
#define MAX_DEPTH_DEFAULT 127	/* perf's, kernel.perf_event_max_stack */

const char *capture_mode_name(enum capture_mode mode)
{
	static const char *const names[CAPTURE_NR] = {
		[CAPTURE_AUTO] = "auto",
		[CAPTURE_INLINE] = "inline",
		[CAPTURE_DEFERRED] = "deferred",
		[CAPTURE_PTRACE] = "ptrace",
	};

	return (unsigned int)mode < CAPTURE_NR ? names[mode] : "unknown";
}

int capture_open_event(const struct perf_event_attr *attr, pid_t tid)
{
	int fd = syscall(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static struct capture_guest *find_guest(const struct capture *capture, u32 index)
{
	vec_for_each(&capture->guests, guest) {
		if ((*guest)->index == index)
			return *guest;
	}
	return NULL;
}

struct capture_thread *capture_find_thread(struct capture_guest *guest, pid_t tid)
{
	vec_for_each(&guest->threads, thread) {
		if ((*thread)->tid == tid)
			return *thread;
	}
	return NULL;
}

/* The mode has counted it as a sample; nobody gets it, for the guest was removed meanwhile. */
static int count_stray(struct capture *capture, u32 index)
{
	struct capture_counts *counts;

	if (index >= capture->counts.nr)
		return -EBADMSG;
	counts = capture_count_of(capture, index);
	counts->samples--;	/* wraps: it is added to the mode's own */
	counts->unknown_vcpu++;
	return 0;
}

int capture_deliver(struct capture *capture, const void *data, size_t size)
{
	struct capture_guest *guest;
	struct sample sample;
	int err = sample_init(&sample, data, size);

	if (err)
		return err;
	guest = find_guest(capture, sample.wire->vm);
	if (!guest)
		return count_stray(capture, sample.wire->vm);
	if (sample.wire->flags & WIRE_F_SLOTS_STALE)
		guest->stale = true;
	capture->on_sample(&sample, capture->arg);
	return 0;
}

static void enable_events(const struct capture_thread *thread, bool on)
{
	for (u32 i = 0; i < thread->nr_events; i++) {
		int fd = thread->events[i].fd;

		if (fd >= 0 && ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
			log_debug("thread %d: cannot switch its event: %s", thread->tid,
				  error_text(errno));
	}
}

static int make_events(struct capture_thread *thread, u32 nr)
{
	thread->events = calloc(nr, sizeof(*thread->events));
	if (!thread->events)
		return -ENOMEM;
	thread->nr_events = nr;
	for (u32 i = 0; i < nr; i++)
		thread->events[i] = (struct capture_thread_event){ .fd = -1, .link = -1 };
	return 0;
}

/* As event_fill_attr() has asked for them. */
static void add_times(const struct capture_thread *thread, u32 event, struct capture_times *times)
{
	struct {
		u64 count, on, counted;
	} values;
	int fd = thread->events[event].fd;

	if (fd < 0 || read(fd, &values, sizeof(values)) != sizeof(values))
		return;
	times->on += values.on;
	times->counted += values.counted;
}

static void close_events(struct capture *capture, struct capture_thread *thread)
{
	for (u32 i = 0; i < thread->nr_events; i++) {
		add_times(thread, i, &capture->times[i]);
		if (thread->events[i].link >= 0)
			close(thread->events[i].link);
		if (thread->events[i].fd >= 0)
			close(thread->events[i].fd);
	}
	free(thread->events);
}

static void remove_thread(struct capture *capture, struct capture_guest *guest,
			  struct capture_thread *thread)
{
	enable_events(thread, false);
	if (capture->backend->remove_thread)
		capture->backend->remove_thread(capture, guest, thread);
	close_events(capture, thread);
	free(thread);
}

static int add_thread(struct capture *capture, struct capture_guest *guest,
		      const struct vm_vcpu *vcpu)
{
	struct capture_thread *thread = calloc(1, sizeof(*thread));
	int err;

	if (!thread)
		return -ENOMEM;
	*thread = (struct capture_thread){
		.tid = vcpu->tid,
		.id = vcpu->id,
		.kvm_vcpu = vcpu->kvm_vcpu,
		.run_hva = vcpu->run_hva,
		.seen = true,
	};
	err = make_events(thread, capture->options.nr_events);
	if (err) {
		free(thread);
		return err;
	}
	err = capture->backend->add_thread(capture, guest, thread);
	if (!err)
		err = vec_push(&guest->threads, thread);
	if (err) {
		remove_thread(capture, guest, thread);
		return err == -ESRCH ? 0 : err;	/* it ended: the VM's next state will say so */
	}
	if (capture->running)
		enable_events(thread, true);
	return 0;
}

static struct capture_thread *same_thread(struct capture_guest *guest, const struct vm_vcpu *vcpu)
{
	struct capture_thread *thread = capture_find_thread(guest, vcpu->tid);

	return thread && thread->kvm_vcpu == vcpu->kvm_vcpu && thread->id == vcpu->id ? thread :
											NULL;
}

static void drop_unseen(struct capture *capture, struct capture_guest *guest)
{
	size_t kept = 0;

	vec_for_each(&guest->threads, thread) {
		if ((*thread)->seen)
			guest->threads.data[kept++] = *thread;
		else
			remove_thread(capture, guest, *thread);
	}
	guest->threads.nr = kept;
}

/* Gone threads first: a new vCPU may have the tid of one. */
static int update_threads(struct capture *capture, struct capture_guest *guest,
			  const struct vm *vm)
{
	int err = 0;

	vec_for_each(&guest->threads, thread)
		(*thread)->seen = false;
	vec_for_each(&vm->vcpus, vcpu) {
		struct capture_thread *thread = vcpu->tid ? same_thread(guest, vcpu) : NULL;

		if (thread)
			thread->seen = true;
	}
	drop_unseen(capture, guest);
	vec_for_each(&vm->vcpus, vcpu) {
		if (vcpu->tid && !capture_find_thread(guest, vcpu->tid) && !err)
			err = add_thread(capture, guest, vcpu);
	}
	return err;
}

static int make_counts(struct capture *capture, u32 index)
{
	const struct capture_counts none = { 0 };
	int err = 0;

	while (capture->counts.nr <= index && !err)
		err = vec_push(&capture->counts, none);
	return err;
}

static int new_guest(struct capture *capture, u32 index, struct capture_guest **ret)
{
	struct capture_guest *guest = NULL;
	int err;

	if (index >= CAPTURE_MAX_VMS)
		return -E2BIG;
	err = make_counts(capture, index);
	if (err)
		return err;
	guest = calloc(1, sizeof(*guest));
	if (!guest)
		return -ENOMEM;
	guest->index = index;
	err = vec_push(&capture->guests, guest);
	if (err) {
		free(guest);
		return err;
	}
	*ret = guest;
	return 0;
}

/* What makes taking samples of @vm impossible, or a danger to it. */
static bool must_refuse(const struct capture *capture, const struct vm *vm)
{
	if (vm->confidential)
		return true;
	if (capture->options.mode != CAPTURE_DEFERRED)
		return false;
	return !vm->kick_signal || (vm->kick_signal == VM_KICK_WORK && !capture->options.task_work);
}

int capture_set_vm(struct capture *capture, u32 index, const struct vm *vm)
{
	struct capture_guest *guest = find_guest(capture, index);
	bool is_new = !guest;
	int err;

	if (must_refuse(capture, vm))
		return -EOPNOTSUPP;
	if (is_new) {
		err = new_guest(capture, index, &guest);
		if (err)
			return err;
	}
	guest->pid = vm->pid;
	guest->vm.kvm = vm->kvm;
	guest->vm.kick_signal = vm->kick_signal == VM_KICK_WORK ? 0 : vm->kick_signal;
	guest->vm.slots = vm->slots;
	guest->stale = false;
	guest->lazy = vm->lazy;
	err = capture->backend->update_guest(capture, guest);
	if (!err)
		err = update_threads(capture, guest, vm);
	if (err && is_new)
		capture_remove_vm(capture, index);
	return err;
}

int capture_set_guest(struct capture *capture, u32 index, const struct wire_guest *config)
{
	struct capture_guest *guest = find_guest(capture, index);

	if (!guest)
		return -ENOENT;
	guest->vm.guest = *config;
	return capture->backend->update_guest(capture, guest);
}

/* Events off first, so that none begins when the mode has forgotten the guest. */
static void remove_threads(struct capture *capture, struct capture_guest *guest)
{
	vec_for_each(&guest->threads, thread)
		enable_events(*thread, false);
	if (capture->backend->forget_guest)
		capture->backend->forget_guest(capture, guest);
	vec_for_each(&guest->threads, thread)
		remove_thread(capture, guest, *thread);
	vec_deinit(&guest->threads);
}

static void free_guest(struct capture *capture, struct capture_guest *guest)
{
	if (guest->threads.nr)
		remove_threads(capture, guest);
	free(guest);
}

void capture_remove_vm(struct capture *capture, u32 index)
{
	struct capture_guest *removed = find_guest(capture, index);
	size_t kept = 0;

	if (!removed)
		return;
	remove_threads(capture, removed);
	if (capture->backend->drain)
		capture->backend->drain(capture);
	vec_for_each(&capture->guests, guest) {
		if (*guest == removed)
			free_guest(capture, *guest);
		else
			capture->guests.data[kept++] = *guest;
	}
	capture->guests.nr = kept;
}

static void enable_all(struct capture *capture, bool on)
{
	vec_for_each(&capture->guests, guest) {
		vec_for_each(&(*guest)->threads, thread)
			enable_events(*thread, on);
	}
	capture->running = on;
}

int capture_start(struct capture *capture)
{
	int err = capture->backend->start ? capture->backend->start(capture) : 0;

	if (!err)
		enable_all(capture, true);
	return err;
}

int capture_stop(struct capture *capture)
{
	if (!capture->running)
		return 0;
	enable_all(capture, false);
	return capture->backend->stop ? capture->backend->stop(capture) : 0;
}

int capture_poll(struct capture *capture, int timeout_ms)
{
	return capture->backend->poll(capture, timeout_ms);
}

bool capture_slots_stale(struct capture *capture, u32 *ret_index)
{
	vec_for_each(&capture->guests, guest) {
		if (!(*guest)->stale)
			continue;
		(*guest)->stale = false;
		*ret_index = (*guest)->index;
		return true;
	}
	return false;
}

void capture_counts_add(struct capture_counts *counts, const struct capture_counts *other)
{
	const u64 *from = (const u64 *)other;
	u64 *to = (u64 *)counts;

	for (size_t i = 0; i < sizeof(*counts) / sizeof(*to); i++)
		to[i] += from[i];
}

void capture_get_times(const struct capture *capture, u32 event, u64 *ret_on, u64 *ret_counted)
{
	struct capture_times times = capture->times[event];

	vec_for_each(&capture->guests, guest) {
		vec_for_each(&(*guest)->threads, thread)
			add_times(*thread, event, &times);
	}
	*ret_on = times.on;
	*ret_counted = times.counted;
}

static void add_vm_counts(const struct capture *capture, u32 index, struct capture_counts *counts)
{
	if (index < capture->counts.nr)
		capture_counts_add(counts, &capture->counts.data[index]);
	if (capture->backend->add_counts)
		capture->backend->add_counts(capture, index, counts);
}

void capture_get_vm_counts(const struct capture *capture, u32 index, struct capture_counts *ret)
{
	*ret = (struct capture_counts){ 0 };
	add_vm_counts(capture, index, ret);
}

void capture_get_counts(const struct capture *capture, struct capture_counts *ret)
{
	*ret = (struct capture_counts){ 0 };
	for (size_t i = 0; i < capture->counts.nr; i++)
		add_vm_counts(capture, i, ret);
	add_vm_counts(capture, CAPTURE_NO_VM, ret);
}

static const struct capture_backend *find_backend(enum capture_mode mode, const char **ret_why)
{
	switch (mode) {
	case CAPTURE_INLINE:
	case CAPTURE_DEFERRED:
#ifdef HAVE_BPF
		return &capture_bpf_backend;
#else
		*ret_why = "kvmprof was built without BPF";
		return NULL;
#endif
	case CAPTURE_PTRACE:
		return &capture_ptrace_backend;
	default:
		*ret_why = "not a capture mode";
		return NULL;
	}
}

int capture_create(struct vm_host *host, const struct capture_options *options,
		   capture_sample_fn on_sample, void *arg, struct capture **ret,
		   const char **ret_why)
{
	struct capture *capture;
	int err = -EOPNOTSUPP;

	*ret_why = "no event, or too many of them";
	if (!options->nr_events || options->nr_events > WIRE_MAX_EVENTS)
		return -EINVAL;
	capture = calloc(1, sizeof(*capture));
	*ret_why = "out of memory";
	if (!capture)
		return -ENOMEM;
	capture->host = host;
	capture->options = *options;
	capture->on_sample = on_sample;
	capture->arg = arg;
	capture->vcpu_file = VCPU_FILE;
	if (!options->ring_bytes)
		capture->options.ring_bytes =
			options->user_stack ? RING_BYTES_USER_STACK : RING_BYTES_DEFAULT;
	if (!options->max_depth)
		capture->options.max_depth = MAX_DEPTH_DEFAULT;
	capture->options.max_depth = MIN(capture->options.max_depth, WIRE_MAX_USER_FRAMES);
	capture->options.user_stack = MIN(options->user_stack, WIRE_MAX_STACK_BYTES + 0U);
	capture->times = calloc(options->nr_events, sizeof(*capture->times));
	capture->backend = capture->times ? find_backend(options->mode, ret_why) : NULL;
	if (capture->backend)
		err = capture->backend->open(capture, ret_why);
	if (err) {
		free(capture->times);
		free(capture);
		return err;
	}
	*ret = capture;
	return 0;
}

void capture_destroy(struct capture *capture)
{
	if (!capture)
		return;
	enable_all(capture, false);
	vec_for_each(&capture->guests, guest)
		free_guest(capture, *guest);
	vec_deinit(&capture->guests);
	vec_deinit(&capture->counts);
	capture->backend->close(capture);
	free(capture->times);
	free(capture);
}
