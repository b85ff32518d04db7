/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A captured sample as the layers above see it: a checked view of one wire record, and the chain
 * of frames that unwinding makes of it.
 */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "base/types.h"
#include "model/wire.h"

/* A view; owns nothing and is valid as long as the record is. */
struct sample {
	const struct wire_sample *wire;
	const u64 *user_frames;
};

/*
 * Checks that all that @data (@size bytes, 8-byte aligned) promises lies inside it. -ENODATA when
 * it ends early, -EBADMSG when counts, offsets or the type make no sense.
 */
int sample_init(struct sample *sample, const void *data, size_t size);

_Static_assert(WIRE_MAX_STACK_BYTES / WIRE_PAGE + 1 <= 8, "a bit of .holes for each page");

/*
 * Whether one of @size > 0 bytes from @skip on, all of which are in @stack, is in a page of it that
 * was not mapped: what the record holds there is not the guest's.
 */
static inline bool wire_stack_in_hole(const struct wire_stack *stack, u64 skip, size_t size)
{
	u64 first = stack->gva % WIRE_PAGE + skip, last = first + size - 1;

	if (likely(!stack->holes))
		return false;
	return stack->holes & ((2ULL << last / WIRE_PAGE) - (1ULL << first / WIRE_PAGE));
}

/*
 * Reads @size bytes at @gva out of the copied stacks. -EFAULT when no copy holds all of them.
 */
int sample_read_stack(const struct sample *sample, gva_t gva, void *out, size_t size);

enum frame_kind {
	FRAME_KERNEL,
	FRAME_USER,
};

enum frame_flags {
	FRAME_F_RETURN = 1 << 0,	/* ip is a return address: look up ip - 1 */
	FRAME_F_INTERRUPTED = 1 << 1,	/* ip was interrupted by the frame before: look up ip */
	FRAME_F_UNVERIFIED = 1 << 2,	/* the call before ip could not be read */
};

struct frame {
	u64 ip;
	u8 kind;	/* enum frame_kind */
	u8 flags;	/* enum frame_flags */
};

#define CHAIN_MAX_FRAMES 1024

/* Innermost first. The kernel part, when there is one, comes before the user part. */
struct chain {
	u32 nr;
	u32 nr_kernel;		/* of them, frames in the kernel */
	u8 kernel_stop;		/* enum stop_reason; STOP_NONE when sampled in user mode */
	u8 user_stop;		/* enum stop_reason; STOP_NONE when there is no user part */
	bool changed;		/* the guest's memory changed under the walk: do not trust wholly */
	struct frame frames[CHAIN_MAX_FRAMES];
};

/* "complete", "page not present", … for the user; "unknown" out of range. */
const char *stop_reason_text(unsigned int reason);

/*
 * The name of what was sampled when that is nothing that a symbol could name, as "[guest
 * firmware]"; NULL: @reason is no such.
 */
const char *stop_reason_place(unsigned int reason);

/*
 * Why a chain of these two parts ended: STOP_COMPLETE when both are complete or absent, else the
 * reason of the part that ended early, the kernel's first.
 */
enum stop_reason stop_reason_join(unsigned int kernel_stop, unsigned int user_stop);

static inline enum stop_reason chain_stop(const struct chain *chain)
{
	return stop_reason_join(chain->kernel_stop, chain->user_stop);
}

/* The address to look up for @frame: one before a return address, so that it lies in the call. */
static inline u64 frame_lookup_ip(const struct frame *frame)
{
	return frame->flags & FRAME_F_RETURN ? frame->ip - 1 : frame->ip;
}

#endif
