/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The step loop: from a sample to its chain. It knows no guest: what covers an address and whether
 * a call precedes one are asked through callbacks.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include "model/sample.h"
#include "unwind/cfi.h"

struct unwind_ops {
	/*
	 * The rule at @pc in kernel space. -ENOENT: none covers it, and code there may keep a
	 * frame pointer (what the kernel's JIT made, a kernel built so). @pc is exact for an
	 * interrupted frame, one before the return address otherwise. NULL: the guest's kernel is
	 * not known.
	 */
	int (*find_row)(void *ctx, gva_t pc, struct cfi_row *ret_row);

	/*
	 * 0 when an instruction that can have called ends at @ret_addr in executable memory;
	 * -EBADMSG when none does; -EFAULT when the bytes cannot be read now. @user says in which
	 * half. NULL: every return address is taken.
	 */
	int (*check_call)(void *ctx, gva_t ret_addr, bool user);

	/*
	 * Whether @addr is in the kernel's text or a module's. A return address elsewhere is taken
	 * only when check_call() has seen the call. NULL: by the sign of the address.
	 */
	bool (*is_kernel_text)(void *ctx, gva_t addr);

	/*
	 * The rule at @pc in the sampled task's user space, @pc as for find_row(). -ENOENT: none
	 * covers it, and code there may keep a frame pointer; -ENODATA: that is not known;
	 * -EAGAIN: not yet, which ends the chain with STOP_NOT_LOADED, at the first address after
	 * what capture walked. NULL: user frames are those that capture walked.
	 */
	int (*find_user_row)(void *ctx, gva_t pc, struct cfi_row *ret_row);
};

struct unwinder {
	const struct unwind_ops *ops;
	void *ctx;
	unsigned int max_depth;		/* frames of one chain; 0 and too many: CHAIN_MAX_FRAMES */
};

/*
 * Makes @sample's chain: kernel frames by rule over the copied stacks, then user frames by rule
 * over the copied user stack, and above it those that capture walked along frame pointers if they
 * are the same up to there. Without a copy or a rule to begin with user frames are those that
 * capture walked, checked. Always yields a chain, which says how far it went; allocates nothing.
 */
void unwind_sample(const struct unwinder *unwinder, const struct sample *sample,
		   struct chain *ret_chain);

#endif
