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

/* A host's guests are of its architecture, and the programs are built for one. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define SHOT_ARM64 1
#define SHOT_ARCH VCPU_ARCH_ARM64
#define SHOT_SP ARM64_SP
#define SHOT_FP ARM64_FP
#else
#define SHOT_ARCH VCPU_ARCH_X86_64
#define SHOT_SP X86_RSP
#define SHOT_FP X86_RBP
#endif

#define SHOT_PAGE WIRE_PAGE
#define SHOT_READ_MAX 256	/* of shot_read() */
#define SHOT_READ_AHEAD 1024	/* what it reads at once where it can; a power of two */

/*
 * The user frames, then the stacks: a thread's, an interrupt's, an exception's and the user's, of
 * which there are two behind a signal, with no more bytes than one may have.
 */
#define SHOT_DATA_BYTES (WIRE_MAX_USER_FRAMES * 8 + 4 * WIRE_MAX_STACK_BYTES)

/* What is known of a VM; user space replaces it as a whole. */
struct shot_vm {
	u64 kvm;		/* host kernel's struct kvm * */
	u32 kick_signal;	/* deferred mode; 0: kicked by task work */
	u32 pad;
	struct wire_guest guest;
	struct mem_slots slots;
};

#define SHOT_LEVELS 8		/* of page tables, rounded up for masking */
#define SHOT_LINE 8		/* entries that are read at once: neighbours share them */

/* One stretch of guest memory as the guest's tables map it, kept while reads fall into it. */
struct shot_view {
	u64 gva;		/* its first byte */
	u64 size;		/* 0: none yet */
	u64 hva;		/* of its first byte */
	struct mmu_walk walk;	/* that found it */
	u64 tables[SHOT_LEVELS];	/* hva of the tables it came by; 0: not to be used again */
	u64 line_hva;		/* the entries that .line holds; 0: none */
	u64 line[SHOT_LINE];	/* the last that were read; the leaf is among them */
	u32 line_used;		/* bit for each that maps something we read */
	u32 resume;		/* .tables, from the walk's level up, are those of its address */
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
	SHOT_F_USER = 1 << 1,	/* user memory is the task's; set by the shot */
	SHOT_F_EXEC = 1 << 2,	/* in execve() or execveat(); set by the shot */
};

struct shot_env;

struct shot {
	/* The record: sent up to wire.size. */
	struct wire_sample wire;
	u8 data[SHOT_DATA_BYTES];

	/* Given by the caller, with .wire's first part and .regs. */
	u32 flags;		/* enum shot_flags */
	u32 max_depth;
	u32 user_stack;		/* bytes of the user stacks to copy at most; 0: none */
	u32 pad_given;
	u64 percpu;		/* the vCPU's per-CPU base if known from earlier; updated */

	/* Work. */
	u32 used;		/* bytes of .data */
	u32 slot;		/* the last one used */
	u32 low, high;		/* of the search for a slot */
	u8 word;		/* bytes of a user frame's words */
	u8 kernel_word;		/* the same of the kernel */
	u8 pad[6];
	struct mmu_space space;
	u64 hva;		/* result of shot_translate() and shot_find_slot() */
	u64 room;		/* bytes from there on that are contiguous */
	u64 behind;		/* bytes before it that are, of shot_find_slot() */
	u64 value;		/* result of shot_read_pointer() */
	u64 buf_gva;		/* what .buf holds */
	u64 buf_size;		/* 0: nothing */
	u64 buf_at;		/* result of shot_read(): offset in .buf */
	u64 irq_top;		/* end of the interrupt stack; 0: not known */
	u64 stack_end;		/* results of shot_find_stack(): where the stack ends, and */
	u64 next_sp;		/* the stack pointer on the stack that was left for it; 0: none */
	u64 next_task;		/* result of shot_find_next_task() */
	u64 alt_stack;		/* the task's alternate signal stack */
	u64 alt_size;		/* 0: it has none, or that is not known */
	u32 gap;		/* of a copy: bytes before where it is that were not mapped */
	u16 holes;		/* bits as in struct wire_stack: in the copy, */
	u16 gap_holes;		/* and in the gap */
	u32 user_left;		/* of .user_stack */
	u32 scan_low;		/* of the search for a signal's frame: where in .data it ends, */
	u32 scan;		/* and where it is, going down */
	u32 pad_scan;
	u64 fp;			/* the next user frame */
	u64 floor;		/* lowest address that it may have */
	u64 window_gva;		/* user stack that is in .window */
	u64 window_size;
	struct shot_view views[SHOT_NR_VIEWS];
	u8 buf[2 * SHOT_READ_AHEAD] __attribute__((aligned(8)));
	u64 again[SHOT_LINE];	/* entries read a second time */
	/* With room for a frame at the highest offset that the verifier thinks possible. */
	u8 window[SHOT_PAGE + 16] __attribute__((aligned(8)));
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

static inline void shot_clear(void *out, u32 size)
{
	__builtin_memset(out, 0, size);
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
