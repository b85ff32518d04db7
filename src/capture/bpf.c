/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inline and deferred modes: bpf/capture.bpf.c loaded, its maps filled, its programs attached
 * to perf events on each vCPU thread and to tracepoints, its ring buffer read.
 */
#ifdef HAVE_BPF
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/errors.h"
#include "base/log.h"
#include "bpf/shared.h"
#include "capture/backend.h"
#include "capture/events.h"
#include "capture/trace-filter.h"

#include "capture.skel.h"

#define POLL_SLICE_MS 50	/* the longest that a record waits in the ring buffer */
#define STOP_WAIT_MS 200	/* for exits that events wait for */
#define WAKE_BYTES_MAX (128UL << 10)
#define REARM_MS 1000		/* how often to look whether the registers are still asked for */
#define TURN_BYTES (256UL << 10)	/* of records that are taken at once */

struct bpf_mode {
	struct capture_bpf *skel;
	struct ring_buffer *ring;
	struct bpf_program *on_event;	/* what runs at each of the two kinds of events */
	struct bpf_program *on_tracepoint;
	struct capture_thread_event *tracepoints;	/* of the options' events; NULL: not on */
	int *filters;			/* of each a program that goes before; -1: none */
	int programs;			/* array with what filters let through */
	struct bpf_link *exit;		/* deferred: to user space */
	struct bpf_link *entry;		/* arm64, with clocks: into the guest */
	u64 bad_records;
	u64 next_rearm;			/* ms */
	u64 left;			/* bytes of records that are still taken in this turn */
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
	if (size >= mode->left)
		return -ECANCELED;
	mode->left -= size;
	return 0;
}

/* How many records the library says that it took, 1 when the turn ended it, or negative. */
static int taken(int nr)
{
	return nr == -ECANCELED ? 1 : nr;
}

/*
 * Takes records out of the ring. The library does so until there are none: where they come faster
 * than they go, for ever. So no more than @bytes; what was there already is less than the ring has.
 */
static int take_records(struct bpf_mode *mode, u64 bytes)
{
	mode->left = bytes;
	return taken(ring_buffer__consume(mode->ring));
}

static u64 ring_bytes(const struct bpf_mode *mode)
{
	return bpf_map__max_entries(mode->skel->maps.ring);
}

/* The ring is for @nr VMs from now on. */
static void share_ring(struct bpf_mode *mode, size_t nr)
{
	mode->skel->bss->ring_share = capture_ring_share(
		ring_bytes(mode), nr, sizeof(struct wire_sample) + SHOT_DATA_BYTES);
}

/* Ring buffers are a power of two of pages. */
static u32 ring_size(size_t wanted)
{
	u32 size = sysconf(_SC_PAGESIZE);

	while (size < wanted && size < 1U << 30)
		size *= 2;
	return size;
}

/* Its samples are taken when a timer of the host's is due. */
static bool is_clock(const struct capture_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_CPU_CLOCK ||
						     event->config == PERF_COUNT_SW_TASK_CLOCK);
}

static bool any_event(const struct capture *capture, bool tracepoint)
{
	for (u32 i = 0; i < capture->options.nr_events; i++) {
		if (capture->options.events[i].tracepoint == tracepoint)
			return true;
	}
	return false;
}

/* Of its record, with the sample. */
static u16 raw_size(const struct capture_event *event)
{
	struct trace_format format;
	u16 size;

	if (!event->format || trace_format_parse(event->format, &format))
		return 0;
	size = MIN(format.size, (u32)WIRE_MAX_RAW);
	trace_format_deinit(&format);
	return size;
}

static void configure_event(const struct capture_event *event, struct capture_event_config *config)
{
	*config = (struct capture_event_config){
		.exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel,
		.host_side = event->host_side,
		.clock = is_clock(event),
		.raw_size = raw_size(event),
		.tracepoint_period = event->period,
		.tracepoint_interval =
			1000000000 / (event->freq ? event->freq : EVENT_DEFAULT_FREQ),
	};
}

/* For one event all vCPUs that there may be; more events are mostly of a few VMs. */
static u32 max_vcpu_events(u32 nr_events)
{
	return MAX(CAPTURE_MAX_VCPUS, nr_events * (CAPTURE_MAX_VCPUS / 8));
}

static void configure(struct capture *capture, struct capture_bpf *skel)
{
	u32 ring = ring_size(capture->options.ring_bytes);
#ifdef __x86_64__
	struct vm_vmx_msrs msrs;

	skel->rodata->amd = vm_host_vendor(capture->host) == VM_VENDOR_AMD;
	vm_host_vmx_msrs(capture->host, &msrs);
	skel->rodata->vmx_lstar = msrs.lstar;
	skel->rodata->vmx_kernel_gs_base = msrs.kernel_gs_base;
#elif defined(__aarch64__)
	skel->rodata->irqs_from_timers = vm_host_irqs_from_timers(capture->host);
#endif
	skel->rodata->max_depth = capture->options.max_depth;
	skel->rodata->user_stack = capture->options.user_stack;
	skel->rodata->nr_events = capture->options.nr_events;
	skel->rodata->task_work = capture->options.task_work;
	for (u32 i = 0; i < capture->options.nr_events; i++)
		configure_event(&capture->options.events[i], &skel->rodata->events[i]);
	skel->rodata->wake_bytes = MIN(ring / 4, WAKE_BYTES_MAX);
	bpf_map__set_max_entries(skel->maps.ring, ring);
	bpf_map__set_max_entries(skel->maps.scratches, 2 * libbpf_num_possible_cpus());
	bpf_map__set_max_entries(skel->maps.vcpu_events,
				 max_vcpu_events(capture->options.nr_events));
}

#ifdef __aarch64__

static void choose_entry(const struct capture *capture, const struct capture_bpf *skel)
{
	for (u32 i = 0; i < capture->options.nr_events; i++) {
		if (is_clock(&capture->options.events[i]))
			bpf_program__set_autoload(skel->progs.on_entry, true);
	}
}

static int attach_entry(struct bpf_mode *mode)
{
	if (!bpf_program__autoload(mode->skel->progs.on_entry))
		return 0;
	mode->entry = bpf_program__attach(mode->skel->progs.on_entry);
	return mode->entry ? 0 : -errno;
}

#else

static void choose_entry(const struct capture *capture, const struct capture_bpf *skel)
{
	(void)capture;
	(void)skel;
}

static int attach_entry(struct bpf_mode *mode)
{
	(void)mode;
	return 0;
}

#endif

/* The programs that this mode and these events need, the others are not loaded. */
static void choose_programs(struct capture *capture, struct bpf_mode *mode)
{
	const struct capture_bpf *skel = mode->skel;
	bool deferred = is_deferred(capture);

	mode->on_event = deferred ? skel->progs.on_event_deferred : skel->progs.on_event;
	mode->on_tracepoint = deferred ? skel->progs.on_tracepoint_deferred :
					 skel->progs.on_tracepoint;
	bpf_program__set_autoload(mode->on_event, any_event(capture, false));
	bpf_program__set_autoload(mode->on_tracepoint, any_event(capture, true));
	bpf_program__set_autoload(skel->progs.on_userspace_exit, deferred);
	choose_entry(capture, skel);
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

static void close_event(struct capture_thread_event *event)
{
	if (event->link >= 0)
		close(event->link);
	if (event->fd >= 0)
		close(event->fd);
	*event = (struct capture_thread_event){ .fd = -1, .link = -1 };
}

static void detach_tracepoints(const struct capture *capture)
{
	struct bpf_mode *mode = capture->mode;

	for (u32 i = 0; mode->tracepoints && i < capture->options.nr_events; i++)
		close_event(&mode->tracepoints[i]);
	free(mode->tracepoints);
	mode->tracepoints = NULL;
}

static void close_filters(const struct capture *capture)
{
	struct bpf_mode *mode = capture->mode;

	for (u32 i = 0; mode->filters && i < capture->options.nr_events; i++) {
		if (mode->filters[i] >= 0)
			close(mode->filters[i]);
	}
	free(mode->filters);
	if (mode->programs >= 0)
		close(mode->programs);
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
	detach_tracepoints(capture);
	close_filters(capture);
	bpf_link__destroy(mode->exit);
	bpf_link__destroy(mode->entry);
	capture_bpf__destroy(mode->skel);
	free(mode);
	capture->mode = NULL;
}

static int load_filter(struct bpf_mode *mode, const struct capture_event *event, int *ret,
		       const char **ret_why)
{
	_cleanup_free_ struct bpf_insn *insns = calloc(TRACE_FILTER_MAX_INSNS, sizeof(*insns));
	struct trace_format format = { .size = 0 };
	size_t nr;
	int err = -ENOMEM, fd;

	*ret_why = "out of memory";
	if (insns)
		err = trace_format_parse(event->format, &format);
	if (!err)
		err = trace_filter_compile(&format, event->filter, mode->programs, insns, &nr,
					   ret_why);
	trace_format_deinit(&format);
	if (err)
		return err;
	*ret_why = "the kernel refused the program of a filter";
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "filter", "GPL", insns, nr, NULL);
	if (fd >= 0)
		*ret = fd;
	return fd < 0 ? fd : 0;
}

/* What a filter lets through goes on, by a tail call, in the program for tracepoints. */
static int make_programs(struct bpf_mode *mode)
{
	u32 zero = 0;
	int fd = bpf_program__fd(mode->on_tracepoint);

	mode->programs = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "programs", sizeof(u32),
					sizeof(u32), 1, NULL);
	if (mode->programs < 0)
		return mode->programs;
	return bpf_map_update_elem(mode->programs, &zero, &fd, BPF_ANY) ? -errno : 0;
}

static int load_filters(struct capture *capture, struct bpf_mode *mode, const char **ret_why)
{
	u32 nr = capture->options.nr_events;
	int err = 0;

	mode->filters = calloc(nr, sizeof(*mode->filters));
	if (!mode->filters) {
		*ret_why = "out of memory";
		return -ENOMEM;
	}
	for (u32 i = 0; i < nr; i++)
		mode->filters[i] = -1;
	for (u32 i = 0; i < nr && !err; i++) {
		const struct capture_event *event = &capture->options.events[i];

		if (!event->filter)
			continue;
		*ret_why = "filters cannot go before the capture program";
		err = mode->programs < 0 ? make_programs(mode) : 0;
		if (!err)
			err = load_filter(mode, event, &mode->filters[i], ret_why);
	}
	return err;
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
	return load_filters(capture, mode, ret_why);
}

static int bpf_open(struct capture *capture, const char **ret_why)
{
	struct bpf_mode *mode = calloc(1, sizeof(*mode));
	int err;

	if (!mode) {
		*ret_why = "out of memory";
		return -ENOMEM;
	}
	mode->programs = -1;
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

/* Runs @program at the event, which stays as it is, disabled. */
static int link_program(int program, u32 index, struct capture_thread_event *event)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = index);

	event->link = bpf_link_create(program, event->fd, BPF_PERF_EVENT, &options);
	return event->link < 0 ? event->link : 0;
}

static int attach_event(const struct capture *capture, u32 index, struct capture_thread *thread)
{
	const struct bpf_mode *mode = capture->mode;
	struct capture_thread_event *event = &thread->events[index];
	struct perf_event_attr attr;
	int fd;

	event_fill_attr(&capture->options.events[index], &attr);
	/* KVM then fetches it for perf, and the program finds it: see bpf/vcpu-x86.h. */
	if (is_deferred(capture) && vm_host_vendor(capture->host) == VM_VENDOR_INTEL)
		attr.sample_type = PERF_SAMPLE_IP;
	fd = capture_open_event(&attr, thread->tid);
	if (fd < 0)
		return fd;
	event->fd = fd;
	return link_program(bpf_program__fd(mode->on_event), index, event);
}

/* Tracepoints are not the thread's: they are attached once. */
static int add_event(const struct capture *capture, u32 index, struct capture_thread *thread)
{
	const struct bpf_mode *mode = capture->mode;
	const struct capture_vcpu_event none = { 0 };
	struct capture_vcpu_event_key key = { .tid = thread->tid, .event = index };

	if (bpf_map_update_elem(bpf_map__fd(mode->skel->maps.vcpu_events), &key, &none, BPF_ANY))
		return -errno;
	if (capture->options.events[index].tracepoint)
		return 0;
	return attach_event(capture, index, thread);
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
		.timer_last = !guest->lazy,
	};
	u32 tid = thread->tid;
	int err = 0;

	if (bpf_map_update_elem(bpf_map__fd(mode->skel->maps.vcpus), &tid, &vcpu, BPF_ANY))
		return -errno;
	if (is_deferred(capture))
		err = capture_arm(capture, guest, thread);
	for (u32 i = 0; i < capture->options.nr_events && !err; i++)
		err = add_event(capture, i, thread);
	return err;
}

static bool thread_pending(const struct capture *capture, const struct capture_thread *thread)
{
	const struct bpf_mode *mode = capture->mode;
	struct capture_vcpu_event_key key = { .tid = thread->tid };
	struct capture_vcpu_event state;

	for (; key.event < capture->options.nr_events; key.event++) {
		if (!bpf_map_lookup_elem(bpf_map__fd(mode->skel->maps.vcpu_events), &key,
					 &state) && state.pending)
			return true;
	}
	return false;
}

/*
 * Counts the events that have not met their exit in one step with forgetting them, so that none
 * comes in between. Nor is a program at work on one: the VM was forgotten before, or the thread has
 * ended, for a thread alone goes only then.
 */
static void bpf_remove_thread(struct capture *capture, struct capture_guest *guest,
			      struct capture_thread *thread)
{
	const struct bpf_mode *mode = capture->mode;
	struct capture_vcpu_event_key key = { .tid = thread->tid };
	struct capture_vcpu_event state;
	u32 tid = thread->tid;

	bpf_map_delete_elem(bpf_map__fd(mode->skel->maps.vcpus), &tid);
	for (; key.event < capture->options.nr_events; key.event++) {
		if (!bpf_map_lookup_and_delete_elem(bpf_map__fd(mode->skel->maps.vcpu_events),
						    &key, &state) && state.pending)
			capture_count_of(capture, guest->index)->lost_exit++;
	}
	capture_disarm(capture, guest, thread);
}

/* One event for all threads, which only is what the program hangs on: it is never enabled. */
static int attach_tracepoint(struct capture *capture, u32 index)
{
	struct bpf_mode *mode = capture->mode;
	struct capture_thread_event *event = &mode->tracepoints[index];
	int filter = mode->filters[index];
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = capture->options.events[index].config,
		.disabled = 1,
	};

	event->fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event->fd < 0)
		return -errno;
	return link_program(filter >= 0 ? filter : bpf_program__fd(mode->on_tracepoint), index,
			    event);
}

static int attach_tracepoints(struct capture *capture)
{
	struct bpf_mode *mode = capture->mode;
	int err = 0;

	mode->tracepoints = calloc(capture->options.nr_events, sizeof(*mode->tracepoints));
	if (!mode->tracepoints)
		return -ENOMEM;
	for (u32 i = 0; i < capture->options.nr_events; i++)
		mode->tracepoints[i] = (struct capture_thread_event){ .fd = -1, .link = -1 };
	for (u32 i = 0; i < capture->options.nr_events && !err; i++) {
		if (capture->options.events[i].tracepoint)
			err = attach_tracepoint(capture, i);
	}
	return err;
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
	int err = attach_entry(mode);

	if (!err && is_deferred(capture)) {
		err = arm_all(capture);
		if (!err) {
			mode->exit = bpf_program__attach(mode->skel->progs.on_userspace_exit);
			err = mode->exit ? 0 : -errno;
		}
	}
	return err ? err : attach_tracepoints(capture);
}

static bool any_pending(const struct capture *capture)
{
	vec_for_each(&capture->guests, guest) {
		vec_for_each(&(*guest)->threads, thread) {
			if (thread_pending(capture, *thread))
				return true;
		}
	}
	return false;
}

/* Counts events that have not met their exit, and forgets them. No program may be at work. */
static void give_up_pending(struct capture *capture, const struct capture_guest *guest,
			    const struct capture_thread *thread)
{
	const struct bpf_mode *mode = capture->mode;
	struct capture_vcpu_event_key key = { .tid = thread->tid };
	struct capture_vcpu_event state;
	int fd = bpf_map__fd(mode->skel->maps.vcpu_events);

	for (; key.event < capture->options.nr_events; key.event++) {
		if (bpf_map_lookup_elem(fd, &key, &state) || !state.pending)
			continue;
		capture_count_of(capture, guest->index)->lost_exit++;
		state.pending = 0;
		bpf_map_update_elem(fd, &key, &state, BPF_EXIST);
	}
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

	detach_tracepoints(capture);
	bpf_link__destroy(mode->entry);
	mode->entry = NULL;
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
		int nr = take_records(mode, capture->running ? TURN_BYTES : ring_bytes(mode));
		u64 now = clock_now_ms();

		if (nr || now >= end)
			return nr < 0 ? nr : 0;
		nr = taken(ring_buffer__poll(mode->ring, MIN(end - now, POLL_SLICE_MS)));
		if (nr)
			return nr < 0 ? nr : 0;
	}
}

static void bpf_drain(struct capture *capture)
{
	take_records(capture->mode, ring_bytes(capture->mode));
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
