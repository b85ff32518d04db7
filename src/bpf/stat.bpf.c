/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Times in the guest and exits by reason, of the vCPU threads that are asked for. On older kernels
 * the exit's tracepoint comes after interrupts are on again, and so after the thread may have been
 * taken from its CPU: a switch ends the stay in the guest, too.
 *
 * Tracepoints are also others': all programs return 1, which lets their events have the hit.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/stat.h"

/* Set before loading. */
const volatile struct stat_fields fields;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STAT_MAX_THREADS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct stat_thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STAT_MAX_REASONS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct stat_reason_key);
	__type(value, u64);
} reasons SEC(".maps");

u64 lost_reasons;	/* exits for which there was no room */

static __always_inline struct stat_thread *current_thread(void)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&threads, &tid);
}

/* In this order: who reads in between misses time, but never has it twice. */
static __always_inline void leave_guest(struct stat_thread *thread, u64 now)
{
	u64 entered = thread->entered;

	if (!entered)
		return;
	thread->entered = 0;
	thread->guest_ns += now - entered;
}

SEC("tracepoint/kvm/kvm_entry")
int on_entry(void *ctx)
{
	struct stat_thread *thread = current_thread();
	u64 now;

	if (!thread)
		return 1;
	now = bpf_ktime_get_ns();
	/* It went in again and the exit was not told of: KVM served it on the way (fastpath). */
	leave_guest(thread, now);
	thread->entered = now;
	return 1;
}

static __always_inline u32 read_field(const void *record, u32 at, u32 size)
{
	u32 value = 0;

	if (size && size <= sizeof(value))
		bpf_probe_read_kernel(&value, size, record + at);
	return value;
}

static __always_inline void count_reason(const void *record)
{
	struct stat_reason_key key = { .tid = (u32)bpf_get_current_pid_tgid() };
	u64 one = 1, *nr;

	key.reason = read_field(record, fields.reason_at, fields.reason_size);
	key.detail = read_field(record, fields.detail_at, fields.detail_size);
	nr = bpf_map_lookup_elem(&reasons, &key);
	if (nr)
		*nr += 1;
	else if (bpf_map_update_elem(&reasons, &key, &one, BPF_NOEXIST))
		__sync_fetch_and_add(&lost_reasons, 1);
}

SEC("tracepoint/kvm/kvm_exit")
int on_exit(void *ctx)
{
	struct stat_thread *thread = current_thread();

	if (!thread)
		return 1;
	leave_guest(thread, bpf_ktime_get_ns());
	thread->exits++;
	count_reason(ctx);
	return 1;
}

/* The thread that leaves its CPU is still the current one. */
SEC("tracepoint/sched/sched_switch")
int on_switch(void *ctx)
{
	struct stat_thread *thread = current_thread();
	u64 now;

	if (!thread)
		return 1;
	now = bpf_ktime_get_ns();
	leave_guest(thread, now);
	thread->left = now;
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
