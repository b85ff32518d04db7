/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shot is one sample being taken: the record as it grows, and what taking it needs. The code in
 * the shot-*.h files is compiled twice, into the BPF programs and into the ptrace mode (and the
 * unit tests), so that every capture mode makes the same record of the same guest. The two
 * differ in the few things that this file defines for each: reading the VMM's memory, finding the
 * VM, and looping.
 *
 * What a walk has found so far is kept in the shot, not in local variables: in BPF a shot is a map
 * value, of whose contents the verifier knows nothing, so that its work does not grow with the
 * length of the walks.
 */
#ifndef BPF_SHOT_H
#define BPF_SHOT_H

#include "mem/slots.h"
#include "mmu/walk.h"
#include "model/wire.h"

#define SHOT_PAGE 4096
#define SHOT_READ_MAX 256	/* of shot_read() */

/* The user frames, then the stacks: a thread's, an interrupt's and an exception's. */
#define SHOT_DATA_BYTES (WIRE_MAX_USER_FRAMES * 8 + 3 * WIRE_MAX_STACK_BYTES)

/* What is known of a VM; user space replaces it as a whole. */
struct shot_vm {
	u64 kvm;		/* host kernel's struct kvm * */
	u32 kick_signal;	/* deferred mode */
	u32 pad;
	struct wire_guest guest;
	struct mem_slots slots;
};

/* One window of guest memory as the guest's tables map it, kept while reads fall into it. */
struct shot_view {
	u64 gva;		/* its first byte */
	u64 size;		/* 0: none yet */
	u64 hva;		/* of its first byte */
	u64 leaf_hva;		/* of the entry that maps it; 0 when paging is off */
	u64 table_hva;		/* of the last-level table that the entry is in; 0: a large page */
	struct mmu_walk walk;
};

/* Neighbouring reads of one kind share a view. */
enum shot_view_kind {
	SHOT_VIEW_KERNEL,	/* per-CPU area, task */
	SHOT_VIEW_STACK,	/* kernel stacks */
	SHOT_VIEW_USER,		/* the user stack */
	SHOT_NR_VIEWS = 4,	/* a power of two: indices are masked */
};

enum shot_flags {
	SHOT_F_WALK = 1 << 0,	/* the slots hold: guest memory may be read */
};

struct shot_env;

struct shot {
	/* The record: sent up to wire.size. */
	struct wire_sample wire;
	u8 data[SHOT_DATA_BYTES];

	/* Given by the caller, with .wire's first part and .regs. */
	u32 flags;		/* enum shot_flags */
	u32 max_depth;
	u64 percpu;		/* the vCPU's per-CPU base if known from earlier; updated */

	/* Work. */
	u32 used;		/* bytes of .data */
	u32 slot;		/* the last one used */
	u32 low, high;		/* of the search for a slot */
	u8 mode;		/* enum mmu_mode */
	u8 word;		/* bytes of a user frame's words */
	u8 pad[6];
	u64 root;
	u64 hva;		/* result of shot_translate(), shot_find_slot() */
	u64 room;		/* bytes from there on that are contiguous */
	u64 behind;		/* bytes before it that are, of shot_find_slot() */
	u64 value;		/* result of shot_read_u64() */
	u64 irq_top;		/* end of the interrupt stack; 0: not known */
	u64 stack_end;		/* results of shot_find_stack(): where the stack ends, and */
	u64 next_sp;		/* the stack pointer on the stack that was left for it; 0: none */
	u64 fp;			/* the next user frame */
	u64 floor;		/* lowest address that it may have */
	struct shot_view views[SHOT_NR_VIEWS];
	u64 buf[2 * SHOT_READ_MAX / 8];	/* result of shot_read() */
#ifndef __bpf__
	struct shot_env *env;
#endif
};

_Static_assert(sizeof(struct wire_sample) % 8 == 0, "user frames follow, 8-byte aligned");

#ifdef __bpf__

#include "bpf/shot-bpf.h"

#else

#include "base/types.h"

/* Where a user-space shot gets its bytes from. */
struct shot_env {
	/*
	 * Reads the VMM's memory: 0 or a negative errno. May answer from what was read before in
	 * this shot, unless @again.
	 */
	int (*read)(struct shot_env *env, u64 hva, void *out, u32 size, bool again);
	const struct shot_vm *vm;
};

#define SHOT_FN static
#define SHOT_INLINE static inline

static inline const struct shot_vm *shot_vm(const struct shot *shot)
{
	return shot->env->vm;
}

static inline int shot_read_hva(const struct shot *shot, void *out, u32 size, u64 hva)
{
	return shot->env->read(shot->env, hva, out, size, false);
}

static inline int shot_read_hva_again(const struct shot *shot, void *out, u32 size, u64 hva)
{
	return shot->env->read(shot->env, hva, out, size, true);
}

/* Calls @fn with 0, 1, … until it returns non-zero, at most @nr times. */
static inline void shot_loop(u32 nr, long (*fn)(u32 i, void *arg), void *arg)
{
	for (u32 i = 0; i < nr; i++) {
		if (fn(i, arg))
			break;
	}
}

/* Keeps the compiler from proving @v's bounds away; only the BPF verifier needs that. */
#define shot_opaque(v) ((void)0)

#endif

#endif
