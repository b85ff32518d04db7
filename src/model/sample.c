/* SPDX-License-Identifier: GPL-2.0-only */
/* Checked views of wire records, and words for stop reasons. */
#include "model/sample.h"

#include <string.h>

static bool inside(u32 offset, u64 size, u32 total)
{
	return offset >= sizeof(struct wire_sample) && offset <= total && size <= total - offset;
}

static int check_stacks(const struct wire_sample *wire)
{
	for (unsigned int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];

		if (stack->size > WIRE_MAX_STACK_BYTES || stack->gva + stack->size < stack->gva)
			return -EBADMSG;
		if (stack->size && !inside(stack->offset, stack->size, wire->size))
			return -EBADMSG;
	}
	return 0;
}

int sample_init(struct sample *sample, const void *data, size_t size)
{
	const struct wire_sample *wire = data;
	u64 frames_size;
	int err;

	if (size < sizeof(*wire) || size < wire->size)
		return -ENODATA;
	if (wire->type != WIRE_SAMPLE || wire->size < sizeof(*wire) ||
	    wire->nr_stacks > WIRE_MAX_STACKS || wire->nr_user_frames > WIRE_MAX_USER_FRAMES ||
	    wire->raw_size > WIRE_MAX_RAW)
		return -EBADMSG;
	frames_size = (u64)wire->nr_user_frames * sizeof(u64);
	if (frames_size && (wire->user_frames_offset % sizeof(u64) ||
			    !inside(wire->user_frames_offset, frames_size, wire->size)))
		return -EBADMSG;
	err = check_stacks(wire);
	if (err)
		return err;
	sample->wire = wire;
	sample->user_frames = frames_size ? data + wire->user_frames_offset : NULL;
	return 0;
}

int sample_read_stack(const struct sample *sample, gva_t gva, void *out, size_t size)
{
	const struct wire_sample *wire = sample->wire;

	for (unsigned int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];
		u64 skip = gva.addr - stack->gva;

		if (gva.addr < stack->gva || skip > stack->size || size > stack->size - skip ||
		    wire_stack_in_hole(stack, skip, size))
			continue;
		memcpy(out, (const u8 *)wire + stack->offset + skip, size);
		return 0;
	}
	return -EFAULT;
}

static const char *const stop_texts[STOP_NR] = {
	[STOP_NONE] = "not walked",
	[STOP_COMPLETE] = "complete",
	[STOP_NOT_PRESENT] = "page not present",
	[STOP_HOST_FAULT] = "page not on host",
	[STOP_NO_SLOT] = "outside memory slots",
	[STOP_NO_RULE] = "no rule",
	[STOP_BAD_POINTER] = "bad pointer",
	[STOP_BAD_RETURN] = "bad return address",
	[STOP_DEPTH] = "depth",
	[STOP_CHANGED] = "changed under us",
	[STOP_STACK_CUT] = "stack copy cut",
	[STOP_UNSUPPORTED] = "unsupported",
	[STOP_NO_KERNEL] = "kernel not identified",
	[STOP_RULE_UNKNOWN] = "rules not readable",
	[STOP_SLOTS_STALE] = "memory slots changed",
	[STOP_NOT_LOADED] = "rules not loaded yet",
	[STOP_REAL_MODE] = "real mode",
	[STOP_FIRMWARE] = "firmware",
	[STOP_SMM] = "system management mode",
	[STOP_NESTED] = "nested guest",
};

static const char *const places[STOP_NR] = {
	[STOP_NO_KERNEL] = "[guest kernel unknown]",
	[STOP_REAL_MODE] = "[guest real mode]",
	[STOP_FIRMWARE] = "[guest firmware]",
	[STOP_SMM] = "[guest SMM]",
	[STOP_NESTED] = "[nested guest]",
};

const char *stop_reason_text(unsigned int reason)
{
	return reason < STOP_NR ? stop_texts[reason] : "unknown";
}

const char *stop_reason_place(unsigned int reason)
{
	return reason < STOP_NR ? places[reason] : NULL;
}

enum stop_reason stop_reason_join(unsigned int kernel_stop, unsigned int user_stop)
{
	if (kernel_stop != STOP_NONE && kernel_stop != STOP_COMPLETE)
		return kernel_stop;
	return user_stop != STOP_NONE ? user_stop : kernel_stop;
}
