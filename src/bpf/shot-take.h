/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking a shot: shot_begin(), then the caller fills .wire.regs (and what else it knows of .wire's
 * first part), then shot_take(), then .wire.size bytes are the record.
 */
#ifndef BPF_SHOT_TAKE_H
#define BPF_SHOT_TAKE_H

#include "bpf/shot-user.h"

SHOT_INLINE void shot_begin(struct shot *shot)
{
	__builtin_memset(&shot->wire, 0, sizeof(shot->wire));
	shot->wire.type = WIRE_SAMPLE;
	shot->wire.regs.arch = SHOT_ARCH;
	shot->flags = 0;
	shot->percpu = 0;
	shot->used = 0;
	shot->slot = 0;
	shot->irq_top = 0;
	shot->next_task = 0;
	shot->alt_size = 0;
	shot->word = 0;
	shot->kernel_word = 8;
	shot_set_root(shot, 0);
}

#ifdef SHOT_ARM64

/* By itself, for it takes more of the stack than the verifier would have left for what follows. */
SHOT_FN int shot_set_space(struct shot *shot)
{
	if (shot)
		mmu_space_set(&shot->space, &shot->wire.regs);
	return 0;
}

#else

SHOT_INLINE void shot_set_space(struct shot *shot)
{
	mmu_space_set(&shot->space, &shot->wire.regs);
}

/*
 * Code of 16 and 32 bits: segments may begin elsewhere than at 0, in real mode nearly always. What
 * is in the record are linear addresses, of the kernel as struct wire_guest says.
 */
SHOT_INLINE void shot_linear_regs(struct shot *shot)
{
	struct vcpu_regs *regs = &shot->wire.regs;
	u64 code = regs->x86.cs_base, stack = regs->x86.ss_base;

	regs->pc = (u32)(regs->pc + code);
	regs->gpr[X86_RSP] = (u32)(regs->gpr[X86_RSP] + stack);
	regs->gpr[X86_RBP] = (u32)(regs->gpr[X86_RBP] + stack);
	shot->wire.event_pc = (u32)(shot->wire.event_pc + code);
	if (regs->user || regs->x86.efer & MMU_X86_EFER_LMA || !(regs->x86.cr0 & MMU_X86_CR0_PG))
		return;
	regs->pc = shot_extend(regs->pc);
	regs->gpr[X86_RSP] = shot_extend(regs->gpr[X86_RSP]);
	regs->gpr[X86_RBP] = shot_extend(regs->gpr[X86_RBP]);
	shot->wire.event_pc = shot_extend(shot->wire.event_pc);
}

#endif

/*
 * The user's frame pointers are walked in every sample, though user space mostly goes by rules over
 * the copy of the stack. That is 10 ns a frame: of a program with frame pointers and 53 frames a
 * third of a sample in user mode (bench-walk), of one without them next to nothing, for they lead
 * nowhere. It is not left out where there is a copy: in code without rules the walk is the chain;
 * above the copy's end it goes on from frames that it has to follow up to there; and where frame
 * pointers lead off the stack that is copied, as from a handler's or a coroutine's, it has frames
 * that the copy has not.
 */
SHOT_INLINE void shot_take_memory(struct shot *shot)
{
	const struct vcpu_regs *regs = &shot->wire.regs;

	shot_set_space(shot);
#ifndef SHOT_ARM64
	shot_find_percpu(shot);
#endif
	shot_take_task(shot);
	/* Its stack, its address space and its name: all of one task. */
	if (shot_find_next_task(shot))
		shot_take_task(shot);
	shot_take_user(shot);
	if (!regs->user)
		shot_take_stacks(shot);
	if (shot->user_stack)
		shot_take_user_stacks(shot);
	shot_recheck(shot, SHOT_VIEW_USER);
}

/* Completes the record. Without SHOT_F_WALK it holds the registers only. */
SHOT_FN int shot_take(struct shot *shot)
{
	if (!shot)
		return 0;
	if (shot->wire.regs.user)
		shot->wire.flags |= WIRE_F_USER;
#ifndef SHOT_ARM64
	if (shot->wire.regs.bits != 64)
		shot_linear_regs(shot);
#endif
	if (shot->flags & SHOT_F_WALK)
		shot_take_memory(shot);
	shot->wire.size = sizeof(shot->wire) + shot->used;
	return 0;
}

#endif
