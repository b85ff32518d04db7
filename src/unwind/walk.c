/* SPDX-License-Identifier: GPL-2.0-only */
#include "unwind/walk-private.h"

int walk_ask_call(const struct unwinder *unwinder, u64 ra)
{
	const struct unwind_ops *ops = unwinder->ops;

	return ops->check_call ? ops->check_call(unwinder->ctx, GVA(ra), false) : -ENOENT;
}

bool walk_is_kernel_text(const struct unwinder *unwinder, u64 addr)
{
	const struct unwind_ops *ops = unwinder->ops;

	return !ops->is_kernel_text || ops->is_kernel_text(unwinder->ctx, GVA(addr));
}

enum stop_reason walk_judge_kernel_return(const struct unwinder *unwinder, u64 ra, int asked,
					  u8 *ret_flags)
{
	const struct unwind_ops *ops = unwinder->ops;
	u8 flags = FRAME_F_RETURN;

	if (asked == -EBADMSG)
		return STOP_BAD_RETURN;
	if (asked) {
		if (!walk_is_kernel_text(unwinder, ra))
			return STOP_BAD_RETURN;
		if (ops->check_call)
			flags |= FRAME_F_UNVERIFIED;
	}
	*ret_flags = flags;
	return STOP_NONE;
}

static enum stop_reason check_hand_made(const struct unwinder *unwinder, u64 ra)
{
	struct cfi_row row;
	int err = unwinder->ops->find_user_row(unwinder->ctx, GVA(ra), &row);

	if (err)
		return err == -EAGAIN ? STOP_NOT_LOADED : STOP_BAD_RETURN;
	return row.kind == CFI_ROW_SIGCONTEXT || row.interrupted || row.kind == CFI_ROW_END ?
	       STOP_NONE : STOP_BAD_RETURN;
}

enum stop_reason walk_check_user_return(const struct unwinder *unwinder, u64 ra, u8 *ret_flags)
{
	const struct unwind_ops *ops = unwinder->ops;
	int err = ops->check_call ? ops->check_call(unwinder->ctx, GVA(ra), true) : 0;
	u8 flags = FRAME_F_RETURN;

	if (err == -EBADMSG) {
		enum stop_reason stop = check_hand_made(unwinder, ra);

		if (stop != STOP_NONE)
			return stop;
		flags = FRAME_F_INTERRUPTED;
	} else if (err) {
		flags |= FRAME_F_UNVERIFIED;
	}
	*ret_flags = flags;
	return STOP_NONE;
}

enum stop_reason walk_missing_reason(const struct wire_stack *stack, u64 addr, size_t size)
{
	if (!stack)
		return STOP_STACK_CUT;
	if (addr - stack->gva < stack->size &&
	    wire_stack_in_hole(stack, addr - stack->gva,
			       MIN(size, stack->size - (addr - stack->gva))))
		return STOP_NOT_PRESENT;
	if (addr < stack->gva || stack->stop == STOP_COMPLETE)
		return STOP_BAD_POINTER;
	return stack->stop == STOP_NONE || stack->stop >= STOP_NR ? STOP_STACK_CUT : stack->stop;
}
