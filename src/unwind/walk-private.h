/* SPDX-License-Identifier: GPL-2.0-only */
/* What the walks of all architectures have in common: they differ in registers, not in doubts. */
#ifndef UNWIND_WALK_PRIVATE_H
#define UNWIND_WALK_PRIVATE_H

#include "unwind/unwind.h"

/*
 * What check_call() says of @ra, a return address in the kernel's half; -ENOENT when nobody can be
 * asked.
 */
int walk_ask_call(const struct unwinder *unwinder, u64 ra);

/* Whether code may be at @addr, in the kernel's half; true when nobody can be asked. */
bool walk_is_kernel_text(const struct unwinder *unwinder, u64 addr);

/*
 * Whether @ra, a return address in the kernel's half, is to be taken by @asked, which
 * walk_ask_call() said: STOP_NONE with enum frame_flags, or STOP_BAD_RETURN.
 */
enum stop_reason walk_judge_kernel_return(const struct unwinder *unwinder, u64 ra, int asked,
					  u8 *ret_flags);

/*
 * The same of a return address in the user's half. One that no call left is taken where the rule
 * there says so: the kernel "returns" from a signal's handler to the code that ends it, and
 * makecontext() to its own. STOP_NOT_LOADED: that rule is not known yet.
 */
enum stop_reason walk_check_user_return(const struct unwinder *unwinder, u64 ra, u8 *ret_flags);

/* Why the @size bytes at @addr are not in @stack, the copy that the walk is in; NULL: in none. */
enum stop_reason walk_missing_reason(const struct wire_stack *stack, u64 addr, size_t size);

#endif
