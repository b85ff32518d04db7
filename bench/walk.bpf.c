/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture programs' walks and copies in a loop, over a guest in the memory of the process that
 * runs the test, and bpf_get_stack() over that process's own stack.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/shot-take.h"

#define STACK_BYTES 4096

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct shot);
} shots SEC(".maps");

/* In. */
struct vcpu_regs regs;
u32 rounds;
u32 user_stack;	/* bytes to copy */

/* Out: of the last round, and the time of all. */
u64 ns;
u32 nr_frames;
u32 nr_stack_bytes;
u32 stop;

u8 stack[STACK_BYTES];

struct round {
	struct shot *shot;
	void *ctx;
};

SHOT_INLINE struct shot *begin(void)
{
	u32 zero = 0;
	struct shot *shot = bpf_map_lookup_elem(&shots, &zero);

	if (!shot)
		return NULL;
	shot_begin(shot);
	shot->max_depth = WIRE_MAX_USER_FRAMES;
	shot->user_stack = user_stack;
	shot->wire.regs = regs;
	return shot;
}

/* The walk alone, from the registers on, nothing of the round before kept. */
static long walk_round(u32 i, void *arg)
{
	struct shot *shot = ((struct round *)arg)->shot;

	shot->wire.nr_user_frames = 0;
	shot_set_root(shot, shot->space.root);
	shot_set_user(shot, regs.pc, regs.gpr[X86_RSP], regs.gpr[X86_RBP], 8);
	shot_walk_frames(shot);
	return 0;
}

SEC("raw_tp")
int walk_frames(void *ctx)
{
	struct round round = { .shot = begin() };
	u64 start;

	if (!round.shot)
		return 0;
	mmu_space_set(&round.shot->space, &regs);
	start = bpf_ktime_get_ns();
	bpf_loop(rounds, walk_round, &round, 0);
	ns = bpf_ktime_get_ns() - start;
	nr_frames = round.shot->wire.nr_user_frames;
	stop = round.shot->wire.user_stop;
	return 0;
}

/* A whole sample: task, user frames and, in the kernel, the stacks. */
static long sample_round(u32 i, void *arg)
{
	struct shot *shot = begin();

	if (!shot)
		return 1;
	shot->flags = SHOT_F_WALK;
	shot_take(shot);
	return 0;
}

SEC("raw_tp")
int take_samples(void *ctx)
{
	u64 start = bpf_ktime_get_ns();
	struct shot *shot;
	u32 zero = 0;

	bpf_loop(rounds, sample_round, NULL, 0);
	ns = bpf_ktime_get_ns() - start;
	shot = bpf_map_lookup_elem(&shots, &zero);
	if (!shot)
		return 0;
	nr_frames = shot->wire.nr_user_frames;
	nr_stack_bytes = shot->wire.nr_stacks ? shot->wire.stacks[0].size : 0;
	stop = shot->wire.nr_stacks ? shot->wire.stacks[0].stop : shot->wire.user_stop;
	return 0;
}

static long get_stack_round(u32 i, void *arg)
{
	long size = bpf_get_stack(((struct round *)arg)->ctx, stack, sizeof(stack),
				  BPF_F_USER_STACK);

	nr_frames = size > 0 ? (u32)size / 8 : 0;
	return 0;
}

SEC("raw_tp")
int get_stack(void *ctx)
{
	struct round round = { .ctx = ctx };
	u64 start = bpf_ktime_get_ns();

	bpf_loop(rounds, get_stack_round, &round, 0);
	ns = bpf_ktime_get_ns() - start;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
