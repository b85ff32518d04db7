/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ptrace mode: no BPF. A perf event's own buffer tells of each overflow; the vCPU thread is
 * then stopped, which makes KVM leave to user space and store the registers in kvm_run; the shot
 * is taken from there and from the VMM's memory, and the thread goes on. The guest has run for a
 * little while since the event, so registers may have moved.
 *
 * What becomes of a record, unwinding and writing, takes far longer than taking it. Meanwhile the
 * stops of other vCPUs may come, and whoever is stopped stands still until we look: so records wait
 * in a queue until no stop is on its way.
 */
#include <linux/kvm.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/log.h"
#include "bpf/regs-run.h"
#include "capture/backend.h"
#include "capture/event-ring.h"
#include "capture/events.h"
#include "capture/record-queue.h"
#include "capture/tracee.h"
#include "capture/user-shot.h"

#define RING_PAGES 8
#define EPOLL_EVENTS 64
#define STOP_SPINS 200		/* times to look for a stop before sleeping */
#define STOP_SLICE_MS 1		/* sleep while a stop is on its way */
#define STOP_WAIT_MS 200	/* for a stop under way before we turn to other things */
#define HOLD_NS 100000000ULL	/* a record does not wait longer for a thread that does not stop */
#define PEEK_INTERVAL_NS 1000000000ULL
#define PAGE 4096UL
#define CACHE_PAGES 32

#ifndef KVM_RUN_X86_GUEST_MODE
#define KVM_RUN_X86_GUEST_MODE (1 << 2)	/* a nested guest runs; since 6.11 */
#endif

/* The VMM's pages that a shot has read: one system call a page, not one a word. */
struct page_cache {
	struct shot_env env;
	pid_t pid;
	u32 next;	/* to be replaced */
	u64 tags[CACHE_PAGES];	/* hva of the page; 0: none */
	u8 pages[CACHE_PAGES][PAGE];
};

/* One event of a thread. */
struct ptrace_event {
	struct event_ring ring;
	bool pending;			/* a stop is under way for .overflow */
	struct event_overflow overflow;
};

struct ptrace_thread {
	struct capture_thread *thread;
	struct capture_guest *guest;
	struct ptrace_event *events;	/* as many as the thread has */
	struct tracee tracee;
	u64 last_time;			/* of the newest overflow that a stop is for */
	u64 stop_began;			/* ns */
	u64 percpu;			/* guest's per-CPU base, once seen */
	u64 kernel_gs_base, lstar;	/* as of the last look into the host kernel */
	u64 peek_time;			/* ns; 0: not yet looked */
	bool peek_due;
};

struct ptrace_mode {
	int epoll_fd;
	struct shot shot;
	struct page_cache cache;
	struct record_queue queue;	/* taken and not yet delivered */
	u64 nr_taken;	/* samples of all VMs */
	unsigned int nr_stopping;
};

static struct capture_counts *counts_of(struct capture *capture, const struct ptrace_thread *t)
{
	return capture_count_of(capture, t->guest->index);
}

static int read_vmm(pid_t pid, u64 hva, void *out, size_t size)
{
	struct iovec local = { out, size };
	struct iovec remote = { (void *)(uintptr_t)hva, size };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EFAULT;
}

/* The place of the page at @tag in the cache, read if need be; NULL when it cannot be. */
static const u8 *cache_page(struct page_cache *cache, u64 tag)
{
	u32 slot;

	for (u32 i = 0; i < CACHE_PAGES; i++) {
		if (cache->tags[i] == tag)
			return cache->pages[i];
	}
	slot = cache->next++ % CACHE_PAGES;
	cache->tags[slot] = 0;
	if (read_vmm(cache->pid, tag, cache->pages[slot], PAGE))
		return NULL;
	cache->tags[slot] = tag;
	return cache->pages[slot];
}

static int cache_read(struct shot_env *env, u64 hva, void *out, u32 size, bool again)
{
	struct page_cache *cache = container_of(env, struct page_cache, env);

	if (again)
		return read_vmm(cache->pid, hva, out, size);
	while (size) {
		u32 offset = hva % PAGE, n = MIN(size, PAGE - offset);
		const u8 *page = cache_page(cache, hva - offset);

		if (!page)
			return -EFAULT;
		memcpy(out, page + offset, n);
		out = (u8 *)out + n;
		hva += n;
		size -= n;
	}
	return 0;
}

static void cache_reset(struct page_cache *cache, const struct capture_guest *guest)
{
	memset(cache->tags, 0, sizeof(cache->tags));
	cache->next = 0;
	cache->pid = guest->pid;
	cache->env.vm = &guest->vm;
}

#if REGS_RUN_WANTED

/*
 * What the vCPU runs beside the guest's system, as a flag of enum wire_flags; else 0. Older kernels
 * do not say that it is a nested guest: their memory does.
 */
static u32 outside(const struct capture *capture, const struct ptrace_thread *t, u16 run_flags)
{
	const struct vm_vcpu vcpu = { .id = t->thread->id, .kvm_vcpu = t->thread->kvm_vcpu };

	if (run_flags & KVM_RUN_X86_SMM)
		return WIRE_F_SMM;
	if (run_flags & KVM_RUN_X86_GUEST_MODE ||
	    (capture->host && vm_host_is_nested(capture->host, &vcpu)))
		return WIRE_F_NESTED;
	return 0;
}

/* -ENODATA: KVM was not asked for the registers, what stands there is old. */
static int read_regs(const struct capture *capture, const struct ptrace_thread *t,
		     struct vcpu_regs *regs, u32 *ret_outside)
{
	u64 run = t->thread->run_hva;
	struct kvm_sync_regs sync;
	u64 valid;
	u16 flags;
	int err;

	err = read_vmm(t->guest->pid, run + offsetof(struct kvm_run, kvm_valid_regs), &valid,
		       sizeof(valid));
	if (!err && (valid & REGS_RUN_WANTED) != REGS_RUN_WANTED)
		err = -ENODATA;
	err = err ?:
	      read_vmm(t->guest->pid, run + offsetof(struct kvm_run, s), &sync, sizeof(sync));
	err = err ?: read_vmm(t->guest->pid, run + offsetof(struct kvm_run, flags), &flags,
			      sizeof(flags));
	if (err)
		return err;
	regs_set_kvm_regs(regs, &sync.regs);
	regs_set_kvm_sregs(regs, &sync.sregs);
	*ret_outside = outside(capture, t, flags);
	return 0;
}

#else

/* KVM has put the vCPU: all of it is in the host kernel's memory. */
static int read_regs(const struct capture *capture, const struct ptrace_thread *t,
		     struct vcpu_regs *regs, u32 *ret_outside)
{
	const struct vm_vcpu vcpu = { .id = t->thread->id, .kvm_vcpu = t->thread->kvm_vcpu };

	*ret_outside = 0;
	return capture->host ? vm_host_peek_regs(capture->host, &vcpu, regs) : -EOPNOTSUPP;
}

#endif

/* What kvm_run lacks, from the host kernel's memory where that has it. */
static void peek(struct capture *capture, struct ptrace_thread *t)
{
	struct vm_vcpu vcpu = { .id = t->thread->id, .kvm_vcpu = t->thread->kvm_vcpu };
	struct vcpu_regs peeked;
	u64 base;

	t->peek_time = t->last_time;
	t->peek_due = false;
	if (!REGS_RUN_WANTED || !capture->host || vm_host_peek_regs(capture->host, &vcpu, &peeked))
		return;
	t->lstar = peeked.x86.lstar;
	/*
	 * In user mode it is what GS base is in the kernel. On Intel the mode is not known, and it
	 * may be the program's.
	 */
	base = peeked.user ? peeked.x86.kernel_gs_base : peeked.x86.gs_base;
	if (base >> 63)
		t->kernel_gs_base = base;
}

/* They hardly ever change, and looking is slow: it is done while the thread runs. */
static void add_hidden_regs(struct ptrace_thread *t, struct vcpu_regs *regs)
{
	if (!REGS_RUN_WANTED)
		return;
	t->peek_due = t->last_time - t->peek_time >= PEEK_INTERVAL_NS;
	regs->x86.lstar = t->lstar;
	regs->x86.kernel_gs_base = regs->user ? t->kernel_gs_base : 0;
}

static bool slots_hold(struct capture *capture, const struct capture_guest *guest)
{
	u64 generation;

	return capture->host &&
	       !vm_host_slots_generation(capture->host, guest->vm.kvm, &generation) &&
	       generation == guest->vm.slots.generation;
}

static void fill_header(const struct ptrace_thread *t, struct wire_sample *wire)
{
	wire->vm = t->guest->index;
	wire->vcpu = t->thread->id;
	wire->tid = t->thread->tid;
}

/* What differs between the events that one stop is for. */
static void fill_event(const struct capture *capture, const struct ptrace_thread *t, u32 index,
		       u32 flags, struct wire_sample *wire)
{
	const struct event_overflow *overflow = &t->events[index].overflow;

	wire->event = index;
	wire->time = overflow->time;
	wire->period = overflow->period;
	wire->raw_size = overflow->raw_size;
	memcpy(wire->raw, overflow->raw, sizeof(wire->raw));
	wire->event_pc = capture->options.events[index].host_side ? wire->regs.pc : overflow->pc;
	wire->flags = flags | (wire->event_pc != wire->regs.pc ? WIRE_F_MOVED : 0);
}

/* Takes the shot of the stopped thread. False: its registers cannot be had. */
static bool take_shot(struct capture *capture, struct ptrace_thread *t)
{
	struct ptrace_mode *mode = capture->mode;
	struct shot *shot = &mode->shot;
	u32 outside;
	bool walk;
	int err;

	cache_reset(&mode->cache, t->guest);
	user_shot_begin(shot, &mode->cache.env);
	shot->max_depth = capture->options.max_depth;
	shot->user_stack = capture->options.user_stack;
	shot->percpu = t->percpu;
	err = read_regs(capture, t, &shot->wire.regs, &outside);
	if (err == -ENODATA)
		capture_rearm(capture, t->guest, t->thread);
	if (err)
		return false;
	add_hidden_regs(t, &shot->wire.regs);
	fill_header(t, &shot->wire);
	walk = !outside && slots_hold(capture, t->guest);
	if (outside)
		shot->wire.flags |= outside;
	else if (!walk)
		shot->wire.flags |= WIRE_F_SLOTS_STALE;
	user_shot_take(shot, walk);
	t->percpu = shot->percpu;
	return true;
}

static bool filtered(const struct capture_event *event, const struct vcpu_regs *regs)
{
	return regs->user ? event->exclude_user : event->exclude_kernel;
}

static void put_sample(struct capture *capture, const struct ptrace_thread *t, u32 index, u32 flags)
{
	struct ptrace_mode *mode = capture->mode;
	struct capture_counts *counts = counts_of(capture, t);
	struct wire_sample *wire = &mode->shot.wire;

	fill_event(capture, t, index, flags, wire);
	if (filtered(&capture->options.events[index], &wire->regs)) {
		counts->filtered++;
	} else if (!record_queue_put(&mode->queue, wire, wire->size)) {
		counts->lost_ring++;
	} else {
		counts->samples++;
		mode->nr_taken++;
	}
}

/* Whether the event waited for the stop, which it does no more. */
static bool take_pending(struct ptrace_thread *t, u32 index)
{
	bool pending = t->events[index].pending;

	t->events[index].pending = false;
	return pending;
}

/* The thread has stopped: takes the sample, and lets it go on. */
static void sample_stopped(struct capture *capture, struct ptrace_thread *t)
{
	struct ptrace_mode *mode = capture->mode;
	bool in_run, taken;

	taken = !tracee_in_kvm_run(&t->tracee, &in_run) && in_run && take_shot(capture, t);
	tracee_release(&t->tracee);
	for (u32 i = 0, flags = mode->shot.wire.flags; i < t->thread->nr_events; i++) {
		if (!take_pending(t, i))
			continue;
		if (taken)
			put_sample(capture, t, i, flags);
		else
			counts_of(capture, t)->lost_stop++;
	}
}

/* Of a stop that does not come, or comes too late. */
static void lose_pending(struct capture *capture, struct ptrace_thread *t)
{
	for (u32 i = 0; i < t->thread->nr_events; i++) {
		if (take_pending(t, i))
			counts_of(capture, t)->lost_exit++;
	}
}

/* Looks whether the stop under way has come. */
static void check_stop(struct capture *capture, struct ptrace_thread *t)
{
	struct ptrace_mode *mode = capture->mode;
	enum tracee_state state;

	if (t->tracee.state != TRACEE_STOPPING)
		return;
	state = tracee_check(&t->tracee, false);
	if (state == TRACEE_STOPPING)
		return;
	mode->nr_stopping--;
	if (state == TRACEE_STOPPED)
		sample_stopped(capture, t);
	else
		lose_pending(capture, t);
}

/* Notes the overflow for the stop that is under way, or will be. */
static void note_overflow(struct capture *capture, struct ptrace_thread *t, u32 index,
			  const struct event_overflow *overflow)
{
	struct ptrace_event *event = &t->events[index];

	if (event->pending) {
		/* The sample stands for both. */
		event->overflow.period += overflow->period;
		counts_of(capture, t)->lost_pending++;
		return;
	}
	event->pending = true;
	event->overflow = *overflow;
	t->last_time = MAX(t->last_time, overflow->time);
}

static void begin_stop(struct capture *capture, struct ptrace_thread *t)
{
	struct ptrace_mode *mode = capture->mode;

	if (t->tracee.state == TRACEE_STOPPING)
		return;
	if (!t->peek_time)
		peek(capture, t);
	t->stop_began = clock_now_ns();
	if (t->tracee.state != TRACEE_GONE && !tracee_stop(&t->tracee)) {
		mode->nr_stopping++;
		return;
	}
	for (u32 i = 0; i < t->thread->nr_events; i++) {
		if (take_pending(t, i))
			counts_of(capture, t)->lost_stop++;
	}
}

/* Handles what one of the thread's events has told. @ending: too late for samples. */
static void drain_event(struct capture *capture, struct ptrace_thread *t, u32 index, bool ending)
{
	struct capture_counts *counts = counts_of(capture, t);
	struct event_overflow overflow;
	u64 lost = 0;

	while (event_ring_read(&t->events[index].ring, &overflow, &lost) > 0) {
		counts->events++;
		if (!overflow.guest && !capture->options.events[index].host_side) {
			counts->host++;
		} else if (ending) {
			counts->lost_exit++;
		} else {
			note_overflow(capture, t, index, &overflow);
			begin_stop(capture, t);
		}
	}
	counts->events += lost;
	counts->lost_kernel += lost;
}

static void drain_events(struct capture *capture, struct ptrace_thread *t, bool ending)
{
	for (u32 i = 0; i < t->thread->nr_events; i++) {
		if (t->events[i].ring.map)
			drain_event(capture, t, i, ending);
	}
}

#define for_each_thread(capture, t)                                           \
	vec_for_each(&(capture)->guests, guest_)                              \
		vec_for_each(&(*guest_)->threads, thread_)                    \
			for (struct ptrace_thread *t = (*thread_)->mode; t; t = NULL)

static void check_stops(struct capture *capture)
{
	for_each_thread(capture, t)
		check_stop(capture, t);
}

/* Most stops come at once: wait for them awake for a little while. */
static void reap_stops(struct capture *capture)
{
	struct ptrace_mode *mode = capture->mode;

	for (int i = 0; mode->nr_stopping && i < STOP_SPINS; i++) {
		check_stops(capture);
		if (mode->nr_stopping)
			sched_yield();
	}
}

/* Whether a stop is on its way that began so recently that it can be waited for. */
static bool stop_is_near(struct capture *capture)
{
	u64 now = clock_now_ns();

	for_each_thread(capture, t) {
		if (t->tracee.state == TRACEE_STOPPING &&
		    now - t->stop_began < STOP_WAIT_MS * 1000000ULL)
			return true;
	}
	return false;
}

/*
 * Waits for the stops under way: nobody looks for them until we come again, which can be seconds.
 * A thread that has not stopped for long sleeps in its kernel, and is no reason to wait each time.
 */
static void settle_stops(struct capture *capture)
{
	struct ptrace_mode *mode = capture->mode;

	while (mode->nr_stopping && stop_is_near(capture)) {
		reap_stops(capture);
		if (mode->nr_stopping)
			poll(NULL, 0, STOP_SLICE_MS);
	}
}

/*
 * Hands on what has been taken, all of it or as long as no stop is on its way. A thread that does
 * not stop for long is no reason to hold records back for ever: then it may have to wait for one.
 */
static void deliver(struct capture *capture, bool all)
{
	struct ptrace_mode *mode = capture->mode;
	const struct wire_sample *wire;
	size_t size;

	while ((wire = record_queue_first(&mode->queue, &size))) {
		if (mode->nr_stopping)
			check_stops(capture);
		if (mode->nr_stopping && !all && clock_now_ns() - wire->time < HOLD_NS)
			return;
		capture_deliver(capture, wire, size);
		record_queue_drop(&mode->queue);
	}
}

static void refresh_hidden_regs(struct capture *capture)
{
	for_each_thread(capture, t) {
		if (t->peek_due)
			peek(capture, t);
	}
}

static int ptrace_open(struct capture *capture, const char **ret_why)
{
	struct ptrace_mode *mode = calloc(1, sizeof(*mode));

	*ret_why = "out of memory";
	if (!mode)
		return -ENOMEM;
	if (record_queue_init(&mode->queue, capture->options.ring_bytes)) {
		free(mode);
		return -ENOMEM;
	}
	mode->cache.env.read = cache_read;
	mode->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (mode->epoll_fd < 0) {
		int err = -errno;

		*ret_why = "no more file descriptors";
		record_queue_deinit(&mode->queue);
		free(mode);
		return err;
	}
	capture->mode = mode;
	return 0;
}

static void ptrace_close(struct capture *capture)
{
	struct ptrace_mode *mode = capture->mode;

	close(mode->epoll_fd);
	record_queue_deinit(&mode->queue);
	free(mode);
	capture->mode = NULL;
}

/* .vm of the guest is what shots use: nothing to prepare. */
static int ptrace_update_guest(struct capture *capture, struct capture_guest *guest)
{
	(void)capture;
	(void)guest;
	return 0;
}

static int open_event(const struct capture *capture, struct ptrace_thread *t, u32 index)
{
	const struct ptrace_mode *mode = capture->mode;
	const char *filter = capture->options.events[index].filter;
	struct epoll_event wanted = { .events = EPOLLIN, .data.ptr = t };
	struct perf_event_attr attr;
	int fd, err;

	event_fill_attr(&capture->options.events[index], &attr);
	event_ring_fill_attr(&attr);
	fd = capture_open_event(&attr, t->thread->tid);
	if (fd < 0)
		return fd;
	t->thread->events[index].fd = fd;
	if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return -errno;
	err = event_ring_open(fd, RING_PAGES, &t->events[index].ring);
	if (!err && epoll_ctl(mode->epoll_fd, EPOLL_CTL_ADD, fd, &wanted))
		err = -errno;
	return err;
}

static int ptrace_add_thread(struct capture *capture, struct capture_guest *guest,
			     struct capture_thread *thread)
{
	struct ptrace_thread *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->thread = thread;
	t->guest = guest;
	t->tracee.tid = thread->tid;
	thread->mode = t;
	t->events = calloc(thread->nr_events, sizeof(*t->events));
	err = t->events ? capture_arm(capture, guest, thread) : -ENOMEM;
	for (u32 i = 0; i < thread->nr_events && !err; i++)
		err = open_event(capture, t, i);
	return err;
}

/* No sample any more of a stop that is still under way; the thread must not stay in it. */
static void end_stop(struct capture *capture, struct ptrace_thread *t)
{
	struct ptrace_mode *mode = capture->mode;

	if (t->tracee.state == TRACEE_STOPPING) {
		mode->nr_stopping--;
		lose_pending(capture, t);
	}
	tracee_release(&t->tracee);
}

static void ptrace_remove_thread(struct capture *capture, struct capture_guest *guest,
				 struct capture_thread *thread)
{
	struct ptrace_thread *t = thread->mode;

	if (!t)
		return;
	if (t->events)
		drain_events(capture, t, true);
	end_stop(capture, t);
	for (u32 i = 0; t->events && i < thread->nr_events; i++)
		event_ring_close(&t->events[i].ring);
	capture_disarm(capture, guest, thread);
	free(t->events);
	free(t);
	thread->mode = NULL;
}

static int ptrace_start(struct capture *capture)
{
	for_each_thread(capture, t) {
		int err = capture_arm(capture, t->guest, t->thread);

		if (err && err != -ESRCH)
			return err;
	}
	return 0;
}

static int ptrace_stop(struct capture *capture)
{
	settle_stops(capture);
	for_each_thread(capture, t) {
		drain_events(capture, t, true);
		end_stop(capture, t);
		capture_disarm(capture, t->guest, t->thread);
	}
	return 0;
}

/*
 * Each stop sends us SIGCHLD, which shall not end the waiting: it is blocked while one is on its
 * way, and comes afterwards to whoever wants it.
 */
static int wait_events(struct ptrace_mode *mode, struct epoll_event *events, int timeout_ms)
{
	sigset_t mask;
	int nr;

	if (!mode->nr_stopping) {
		nr = epoll_wait(mode->epoll_fd, events, EPOLL_EVENTS, timeout_ms);
		return nr < 0 ? -errno : nr;
	}
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	sigaddset(&mask, SIGCHLD);
	timeout_ms = MIN(timeout_ms, STOP_SLICE_MS);
	nr = epoll_pwait(mode->epoll_fd, events, EPOLL_EVENTS, timeout_ms, &mask);
	return nr < 0 ? -errno : nr;
}

/* The thread has ended: there are no more to come. */
static void ignore_events(const struct ptrace_mode *mode, const struct ptrace_thread *t)
{
	for (u32 i = 0; i < t->thread->nr_events; i++)
		epoll_ctl(mode->epoll_fd, EPOLL_CTL_DEL, t->thread->events[i].fd, NULL);
}

/* Returns whether there was anything to do, or a negative errno. */
static int poll_once(struct capture *capture, int timeout_ms)
{
	struct ptrace_mode *mode = capture->mode;
	struct epoll_event events[EPOLL_EVENTS];
	u64 taken = mode->nr_taken;
	int nr = wait_events(mode, events, timeout_ms);

	for (int i = 0; i < nr; i++) {
		struct ptrace_thread *t = events[i].data.ptr;

		drain_events(capture, t, false);
		if (events[i].events & EPOLLHUP)
			ignore_events(mode, t);
	}
	reap_stops(capture);
	deliver(capture, false);
	if (!mode->nr_stopping)
		refresh_hidden_regs(capture);
	return nr < 0 ? nr : mode->nr_taken != taken;
}

static int ptrace_poll(struct capture *capture, int timeout_ms)
{
	u64 start = clock_now_ms();
	u64 end = timeout_ms < 0 ? UINT64_MAX : start + timeout_ms;
	u64 now = start;
	int done;

	do {
		done = poll_once(capture, MIN(end - now, 1000));
		now = clock_now_ms();
	} while (!done && now < end);
	settle_stops(capture);
	deliver(capture, false);
	return done < 0 ? done : 0;
}

static void ptrace_drain(struct capture *capture)
{
	deliver(capture, true);
}

const struct capture_backend capture_ptrace_backend = {
	.open = ptrace_open,
	.close = ptrace_close,
	.update_guest = ptrace_update_guest,
	.add_thread = ptrace_add_thread,
	.remove_thread = ptrace_remove_thread,
	.start = ptrace_start,
	.stop = ptrace_stop,
	.poll = ptrace_poll,
	.drain = ptrace_drain,
};
