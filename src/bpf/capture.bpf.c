/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture programs. Each takes the guest's registers where its mode finds them, and hands them
 * to the shot, which does the rest (bpf/shot.h).
 *
 *   on_event            inline: in the perf event that ended guest mode
 *   on_event_deferred   deferred: notes the event and kicks the vCPU out to user space
 *   on_userspace_exit   deferred: there, KVM has just stored the registers where we find them
 *   on_tracepoint       inline, for an event that is a tracepoint
 *   on_tracepoint_deferred
 *   on_entry            arm64, with events that are clocks: notes when a guest is entered
 *
 * Of several events each is attached with its index as the cookie.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/host-types.h"
#include "bpf/shared.h"
#include "bpf/shot-take.h"

#ifdef __TARGET_ARCH_arm64
#include "bpf/vcpu-arm64.h"
#else
#include "bpf/vcpu-x86.h"
#endif

/* Set before loading. */
const volatile u32 max_depth;
const volatile u32 user_stack;		/* bytes */
const volatile u64 wake_bytes;		/* wake the reader when as much is waiting */
const volatile u32 nr_events;
const volatile u32 task_work;		/* the kernel has bpf_task_work_schedule_signal() */
const volatile struct capture_event_config events[WIRE_MAX_EVENTS];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAPTURE_MAX_VCPUS);
	__type(key, u32);
	__type(value, struct capture_vcpu);
} vcpus SEC(".maps");

/* User space sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAPTURE_MAX_VCPUS);
	__type(key, struct capture_vcpu_event_key);
	__type(value, struct capture_vcpu_event);
} vcpu_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_MAX_VMS + 1);
	__type(key, u32);
	__type(value, struct capture_vm_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* In memory that user space has mapped: .bss. */
struct capture_ring_use ring_uses[CAPTURE_MAX_VMS];
volatile u64 ring_share;		/* of the ring's bytes for each VM; 0: all. It may change */

/* A shot and the work space of reading its registers. */
struct scratch {
	struct shot shot;
	struct regs_work regs;
};

/*
 * Not a per-CPU map, whose values may not be as large. Two for each CPU: an event may come while
 * the program on the exit to user space is at work, and neither interrupts itself. User space sets
 * the size.
 */
enum scratch_user {
	SCRATCH_EVENT,
	SCRATCH_EXIT,
	SCRATCH_NR,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* @which is a constant. */
static __always_inline void count(u32 vm, u32 which)
{
	struct capture_vm_counts *of_vm = bpf_map_lookup_elem(&counts, &vm);

	if (of_vm)
		of_vm->values[which] += 1;
}

/*
 * What we know of the current thread, or NULL. A vCPU's thread may have ended since, and its tid be
 * that of any other program's thread, which a kick would end.
 */
static __always_inline struct capture_vcpu *current_vcpu(void)
{
	u64 pid_tid = bpf_get_current_pid_tgid();
	u32 tid = (u32)pid_tid;
	struct capture_vcpu *vcpu = bpf_map_lookup_elem(&vcpus, &tid);

	return vcpu && vcpu->pid == pid_tid >> 32 ? vcpu : NULL;
}

/* Its state of @event; NULL when user space has forgotten it. */
static __always_inline struct capture_vcpu_event *vcpu_event(u32 event)
{
	struct capture_vcpu_event_key key = {
		.tid = (u32)bpf_get_current_pid_tgid(),
		.event = event,
	};

	return bpf_map_lookup_elem(&vcpu_events, &key);
}

/* The index of the event that the program runs for. */
static __always_inline u32 event_of(void *ctx)
{
	return bpf_get_attach_cookie(ctx) & (WIRE_MAX_EVENTS - 1);
}

static __always_inline struct scratch *take_scratch(enum scratch_user user)
{
	u32 index = bpf_get_smp_processor_id() * SCRATCH_NR + user;

	return bpf_map_lookup_elem(&scratches, &index);
}

/* Guest memory may be walked only while the table of slots is the one that KVM uses. */
static __always_inline int slots_hold(struct kvm_vcpu *vcpu, const struct shot_vm *vm)
{
	return BPF_CORE_READ(vcpu, kvm, memslots[0], generation) == vm->slots.generation;
}

static __always_inline void begin(struct shot *shot, const struct capture_vcpu *vcpu)
{
	shot_begin(shot);
	shot->max_depth = max_depth;
	shot->user_stack = user_stack;
	shot->percpu = vcpu->percpu;
	shot->wire.vm = vcpu->vm;
	shot->wire.vcpu = vcpu->id;
	shot->wire.tid = (u32)bpf_get_current_pid_tgid();
}

/* Whether the event does not want the mode that the guest was in. */
static __always_inline int filtered(const struct vcpu_regs *regs, u32 event)
{
	return regs->user ? events[event].exclude_user : events[event].exclude_kernel;
}

/* Puts the record into the ring, if it fits. */
static __always_inline int output(struct shot *shot)
{
	u64 size = shot->wire.size;
	u64 flags = BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	shot_opaque(size);
	if (size > sizeof(shot->wire) + sizeof(shot->data))
		return -1;
	return bpf_ringbuf_output(&ring, shot, size, flags);
}

/*
 * Notes what is sent before it is, so that no other CPU can have the same room. One that is over
 * the limit takes it back: until then another of the same VM may find no room, but never too much.
 */
static __always_inline void send(struct shot *shot)
{
	struct capture_ring_use *use = &ring_uses[shot->wire.vm % CAPTURE_MAX_VMS];
	u64 bytes = capture_ring_bytes(shot->wire.size), share = ring_share;
	u64 taken = *(volatile u64 *)&use->taken;
	u64 waiting = __sync_fetch_and_add(&use->sent, bytes) + bytes - taken;

	if ((share && waiting > share) || output(shot)) {
		__sync_fetch_and_add(&use->sent, -bytes);
		count(shot->wire.vm, COUNT_LOST_RING);
	} else {
		count(shot->wire.vm, COUNT_SAMPLES);
	}
}

/* Whether @event happened in the guest of @vcpu. */
static __always_inline int is_guests(const void *ctx, struct capture_vcpu *vcpu, u32 event)
{
	if (events[event].host_side)
		return 1;
	return in_guest((struct kvm_vcpu *)vcpu->kvm_vcpu) &&
	       (!events[event].clock || clock_in_guest(ctx, vcpu));
}

/* The vCPU whose guest an event belongs to, or NULL. Counts. */
static __always_inline struct capture_vcpu *event_vcpu(const void *ctx, u32 event)
{
	struct capture_vcpu *vcpu = current_vcpu();

	if (!vcpu) {
		count(CAPTURE_NO_VM, COUNT_EVENTS);
		count(CAPTURE_NO_VM, COUNT_UNKNOWN_VCPU);
		return NULL;
	}
	count(vcpu->vm, COUNT_EVENTS);
	if (!is_guests(ctx, vcpu, event)) {
		count(vcpu->vm, COUNT_HOST);
		return NULL;
	}
	return vcpu;
}

/*
 * From the registers on, up to a record that can be sent. @outside: what the vCPU ran is not the
 * guest's system, as a flag of enum wire_flags; else 0.
 */
static __always_inline void take(struct shot *shot, struct capture_vcpu *vcpu, u32 outside)
{
	struct kvm_vcpu *kvm_vcpu = (struct kvm_vcpu *)vcpu->kvm_vcpu;
	const struct shot_vm *vm = shot_vm_at(vcpu->vm);
	int slots_ok = vm && slots_hold(kvm_vcpu, vm);

	if (outside)
		shot->wire.flags |= outside;
	else if (slots_ok)
		shot->flags |= SHOT_F_WALK;
	else
		shot->wire.flags |= WIRE_F_SLOTS_STALE;
	shot_take(shot);
	if (shot->percpu != vcpu->percpu)
		vcpu->percpu = shot->percpu;
	/* The slots may have moved under the walk. */
	if (slots_ok && !slots_hold(kvm_vcpu, vm))
		shot->wire.flags |= WIRE_F_CHANGED;
}

/* The first bytes of a tracepoint's @record to @raw; NULL: there is none. Returns how many. */
static __always_inline u32 copy_record(u8 *raw, u32 event, const void *record)
{
	u32 size = events[event].raw_size;

	if (!record || !size || size > WIRE_MAX_RAW)
		return 0;
	return bpf_probe_read_kernel(raw, size, record) ? 0 : size;
}

/* One sample out of the registers that are in memory now. */
static __always_inline void take_inline(struct capture_vcpu *vcpu, u32 event, u64 period,
					const void *record)
{
	struct scratch *scratch = take_scratch(SCRATCH_EVENT);
	struct shot *shot;
	int outside;

	if (!scratch)
		return;
	shot = &scratch->shot;
	begin(shot, vcpu);
	shot->wire.event = event;
	shot->wire.time = bpf_ktime_get_ns();
	shot->wire.period = period;
	shot->wire.raw_size = copy_record(shot->wire.raw, event, record);
	outside = regs_at_event(&scratch->regs, vcpu, &shot->wire.regs);
	if (outside < 0) {	/* the VM is going away */
		count(vcpu->vm, COUNT_HOST);
		return;
	}
	shot->wire.event_pc = shot->wire.regs.pc;
	if (filtered(&shot->wire.regs, event)) {
		count(vcpu->vm, COUNT_FILTERED);
		return;
	}
	take(shot, vcpu, outside);
	send(shot);
}

/*
 * Since 7.0. In 6.18 it has another name and one argument more. libbpf
 * wants types of the same kinds as the kernel's, no more.
 */
extern int bpf_task_work_schedule_signal(struct task_struct *task, struct bpf_task_work *work,
					 void *map,
					 int (*callback)(struct bpf_map *, void *, void *))
	__ksym __weak;

/* Nothing is left to do: that it is due makes the vCPU leave to user space, as for a signal. */
static int on_kicked(struct bpf_map *map, void *key, void *value)
{
	(void)map;
	(void)key;
	(void)value;
	return 0;
}

/*
 * Makes KVM leave to user space before it enters the guest again. By task work KVM_RUN ends with
 * EINTR as it does for a signal, but the VMM sees none.
 */
static __always_inline long kick(struct capture_vcpu *vcpu, const struct shot_vm *vm)
{
	long err;

	if (vm->kick_signal || !task_work)
		return bpf_send_signal_thread(vm->kick_signal);
	err = bpf_task_work_schedule_signal(bpf_get_current_task_btf(), &vcpu->work, &vcpus,
					    on_kicked);
	return err == -EBUSY ? 0 : err;		/* one is under way */
}

/*
 * Notes the event and sends the vCPU out to user space: KVM sees the kick before it enters the
 * guest again. Where one waits already, the guest has mostly not run since: the sample then stands
 * for both. It is kicked again all the same, for the exit of the first may have been missed.
 *
 * Of a VM that is no more there nothing changes: user space counts what is pending then.
 */
static __always_inline void take_deferred(struct capture_vcpu *vcpu, u32 event, u64 period,
					  const void *record)
{
	struct capture_vcpu_event *state = vcpu_event(event);
	const struct shot_vm *vm = shot_vm_at(vcpu->vm);
	u32 waiting, kicked;

	if (!vm || !state) {
		count(vcpu->vm, COUNT_LOST_SIGNAL);
		return;
	}
	waiting = state->pending;
	kicked = vcpu->pending;
	state->pending_time = bpf_ktime_get_ns();
	state->pending_period = waiting ? state->pending_period + period : period;
	state->pending_pc = event_pc(vcpu);
	state->pending_moves = !state->pending_pc && event_moves(vcpu);
	state->raw_size = copy_record(state->raw, event, record);
	state->pending = 1;
	vcpu->pending = 1;
	if (waiting)
		count(vcpu->vm, COUNT_LOST_PENDING);
	/* One kick at a time is under way: two events at once share it. */
	if (kick(vcpu, vm) && !kicked) {
		state->pending = 0;
		vcpu->pending = 0;
		count(vcpu->vm, COUNT_LOST_SIGNAL);
	}
}

/* What is to be done with each event that waits. */
enum pending_step {
	PENDING_GIVE_UP,	/* there are no registers: none will have a sample */
	PENDING_FILTER,		/* count those that do not want the guest's mode, and the others */
	PENDING_SEND,		/* the same sample for each */
};

struct pending_work {
	u16 step;		/* enum pending_step */
	u16 host;		/* clocks are the host's */
	u32 vm;
	u32 flags;		/* the sample's, without those that are an event's own */
	u32 nr;			/* result of PENDING_FILTER: how many still wait */
};

static __always_inline void send_pending(struct shot *shot, const struct pending_work *work,
					 u32 event, const struct capture_vcpu_event *state)
{
	u64 pc = state->pending_pc ? state->pending_pc : shot->wire.regs.pc;

	shot->wire.event = event;
	shot->wire.time = state->pending_time;
	shot->wire.period = state->pending_period;
	shot->wire.event_pc = pc;
	shot->wire.raw_size = state->raw_size;
	__builtin_memcpy(shot->wire.raw, state->raw, sizeof(shot->wire.raw));
	shot->wire.flags = work->flags;
	if (pc != shot->wire.regs.pc || state->pending_moves)
		shot->wire.flags |= WIRE_F_MOVED;
	send(shot);
}

static long step_pending(u32 event, void *arg)
{
	struct pending_work *work = arg;
	struct scratch *scratch = take_scratch(SCRATCH_EXIT);
	struct capture_vcpu_event *state = vcpu_event(event);

	if (!scratch || !state || !state->pending)
		return 0;
	event &= WIRE_MAX_EVENTS - 1;
	if (work->step == PENDING_GIVE_UP) {
		count(work->vm, COUNT_LOST_EXIT);
	} else if (work->step == PENDING_SEND) {
		send_pending(&scratch->shot, work, event, state);
	} else if (work->host && events[event].clock) {
		count(work->vm, COUNT_HOST);
	} else if (filtered(&scratch->shot.wire.regs, event)) {
		count(work->vm, COUNT_FILTERED);
	} else {
		work->nr++;
		return 0;
	}
	state->pending = 0;
	return 0;
}

static __always_inline void step_all_pending(struct pending_work *work, enum pending_step step)
{
	work->step = step;
	bpf_loop(nr_events, step_pending, work, 0);
}

/* The samples for the events that were noted, which are one and the same but for the event. */
static __always_inline void take_pending(struct capture_vcpu *vcpu)
{
	struct scratch *scratch = take_scratch(SCRATCH_EXIT);
	struct pending_work work = { .vm = vcpu->vm, .host = clock_taken_back(vcpu) };
	struct shot *shot;
	int outside;

	if (!scratch)
		return;
	shot = &scratch->shot;
	begin(shot, vcpu);
	outside = regs_at_exit(&scratch->regs, vcpu, &shot->wire.regs);
	if (outside < 0) {
		step_all_pending(&work, PENDING_GIVE_UP);
		return;
	}
	step_all_pending(&work, PENDING_FILTER);
	if (!work.nr)
		return;
	take(shot, vcpu, outside);
	work.flags = shot->wire.flags;
	step_all_pending(&work, PENDING_SEND);
}

/* The number of hits that a sample stands for, when one is due now; else 0. */
static __always_inline u64 tracepoint_due(const struct capture_vcpu *vcpu, u32 event)
{
	struct capture_vcpu_event *state = vcpu_event(event);
	u64 period = events[event].tracepoint_period, hits, now;

	if (!state)
		return 0;
	hits = state->hits + 1;
	state->hits = hits;
	if (period) {
		if (hits < period)
			return 0;
	} else {
		now = bpf_ktime_get_ns();
		if (now - state->last_time < events[event].tracepoint_interval)
			return 0;
		state->last_time = now;
	}
	state->hits = 0;
	count(vcpu->vm, COUNT_EVENTS);
	return hits;
}

SEC("?perf_event")
int on_event(struct bpf_perf_event_data *ctx)
{
	u32 event = event_of(ctx);
	struct capture_vcpu *vcpu = event_vcpu(ctx, event);

	if (vcpu)
		take_inline(vcpu, event, ctx->sample_period, NULL);
	return 0;
}

SEC("?perf_event")
int on_event_deferred(struct bpf_perf_event_data *ctx)
{
	u32 event = event_of(ctx);
	struct capture_vcpu *vcpu = event_vcpu(ctx, event);

	if (vcpu)
		take_deferred(vcpu, event, ctx->sample_period, NULL);
	return 0;
}

/* An event that comes in between is noted after .pending was, and looked for at the next exit. */
SEC("?raw_tp/kvm_userspace_exit")
int on_userspace_exit(void *ctx)
{
	struct capture_vcpu *vcpu = current_vcpu();

	if (!vcpu || !vcpu->pending || !shot_vm_at(vcpu->vm))
		return 0;
	vcpu->pending = 0;
	take_pending(vcpu);
	return 0;
}

#ifdef __TARGET_ARCH_arm64

SEC("?raw_tp/kvm_entry")
int on_entry(struct bpf_raw_tracepoint_args *ctx)
{
	struct capture_vcpu *vcpu = current_vcpu();

	if (vcpu)
		note_entry(vcpu, ctx->args[0]);
	return 0;
}

#endif

/*
 * Hits on other threads than ours are none of our events. The tracepoint is also others': what is
 * returned is whether their events shall have the hit.
 */
SEC("?tracepoint")
int on_tracepoint(void *ctx)
{
	u32 event = event_of(ctx);
	struct capture_vcpu *vcpu = current_vcpu();
	u64 period = vcpu ? tracepoint_due(vcpu, event) : 0;

	if (period)
		take_inline(vcpu, event, period, ctx);
	return 1;
}

SEC("?tracepoint")
int on_tracepoint_deferred(void *ctx)
{
	u32 event = event_of(ctx);
	struct capture_vcpu *vcpu = current_vcpu();
	u64 period = vcpu ? tracepoint_due(vcpu, event) : 0;

	if (period)
		take_deferred(vcpu, event, period, ctx);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
