/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user part of a sample: where user mode was left, the walk along frame pointers from there,
 * and the copy of the stack; of two stacks, in the handler of a signal that has one of its own.
 */
#ifndef BPF_SHOT_USER_H
#define BPF_SHOT_USER_H

#include "bpf/shot-stack.h"

#define SHOT_USER_TOP (1ULL << 56)	/* user addresses are below, with five levels too */
#define SHOT_FLAT_BELOW (1ULL << 56)	/* at the other end, where a kernel may be, too */
#define SHOT_FIRST_PAGE 4096		/* never mapped: no address is in it */
#define SHOT_USER32_CS 0x23		/* __USER32_CS, arch/x86/include/asm/segment.h */
#define SHOT_RED_ZONE_WORTH 1024	/* bytes of a copy that has room for the red zone, too */

#ifndef SHOT_ARM64

/* struct pt_regs, arch/x86/include/asm/ptrace.h; the same since 64-bit kernels exist. */
struct shot_pt_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	struct shot_hw_frame hw;
};

_Static_assert(sizeof(struct shot_pt_regs) == 168, "21 words");
_Static_assert(sizeof(struct shot_pt_regs) <= SHOT_READ_MAX, "one read");

/*
 * System calls, arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl; pt_regs.orig_ax is -1
 * out of them.
 */
#define SHOT_NR_EXECVE 59
#define SHOT_NR_EXECVEAT 322
#define SHOT_NR_EXECVE_32 11
#define SHOT_NR_EXECVEAT_32 358

SHOT_INLINE int shot_is_exec(u64 nr, u8 word)
{
	if (word == 4)
		return (u32)nr == SHOT_NR_EXECVE_32 || (u32)nr == SHOT_NR_EXECVEAT_32;
	return nr == SHOT_NR_EXECVE || nr == SHOT_NR_EXECVEAT;
}

SHOT_INLINE void shot_set_user(struct shot *shot, u64 pc, u64 sp, u64 fp, u8 word)
{
	shot->wire.user_pc = pc;
	shot->wire.user_sp = sp;
	shot->fp = fp;
	shot->word = word;
}

#define SHOT_SELECTOR_LDT 4	/* SDM volume 3, 3.4.2 */

/*
 * User code that a selector of the LDT leads to (modify_ldt()): of 16 or 32 bits, in a segment that
 * may begin anywhere. Makes .wire.user_pc linear, and notes where it begins for what the stack has.
 */
SHOT_INLINE int shot_add_code_base(struct shot *shot, u32 cs)
{
	u64 at, entry, base;
	int stop;

	if (!(cs & SHOT_SELECTOR_LDT))
		return 0;
	at = shot->wire.regs.x86.ldt_base + (cs & 0xfff8);
	stop = shot_read(shot, shot->kernel_word == 8 ? at : shot_extend(at), 8, SHOT_VIEW_KERNEL);
	if (stop) {
		shot->wire.user_pc = 0;
		return stop;
	}
	entry = *(const u64 *)shot_bytes(shot);
	base = SHOT_GDT_BASE_LOW(entry) | SHOT_GDT_BASE_HIGH(entry) << 24;
	shot->wire.regs.x86.cs_base = base;
	shot->wire.user_pc = (u32)(shot->wire.user_pc + base);
	return 0;
}

/* From the pt_regs that have been read; 0 or why not. */
SHOT_INLINE int shot_set_user_pt_regs(struct shot *shot, int with_bp)
{
	const struct shot_pt_regs *regs = shot_bytes(shot);
	u32 cs = (u16)regs->hw.cs;
	u8 word = cs == SHOT_USER32_CS || cs & SHOT_SELECTOR_LDT ? 4 : 8;

	if ((cs & 3) != 3)
		return STOP_BAD_POINTER;
	if (shot_is_exec(regs->orig_ax, word))
		shot->flags |= SHOT_F_EXEC;
	shot_set_user(shot, regs->hw.ip, regs->hw.sp,
		      with_bp ? regs->bp : shot->wire.regs.gpr[X86_RBP], word);
	return shot_add_code_base(shot, cs);
}

/* The same of i386. */
struct shot_pt_regs_i386 {
	u32 bx, cx, dx, si, di, bp, ax, ds, es, fs, gs, orig_ax, ip, cs, flags, sp, ss;
};

_Static_assert(sizeof(struct shot_pt_regs_i386) == 68, "17 words");

/*
 * A system call by way of the 32-bit vDSO: EBP is on top of the user's stack, and the register has
 * something else until the kernel has fetched it (do_fast_syscall_32(), arch/x86/entry/common.c).
 */
SHOT_INLINE void shot_fetch_fp(struct shot *shot)
{
	if (!shot_read(shot, shot->wire.user_sp, 4, SHOT_VIEW_USER))
		shot->fp = *(const u32 *)shot_bytes(shot);
}

/*
 * While entry code is on the stack where interrupts from user mode arrive: what the processor
 * pushed at its end, and EBP, if it has been stored below. The thread's pt_regs are those of the
 * entry before. Returns whether it is so; CS is then in .value.
 */
SHOT_INLINE int shot_find_entry_frame_i386(struct shot *shot, u64 sp)
{
	const struct i386_frame *frame;
	u64 end = (sp | (SHOT_PAGE - 1)) + 1;

	if (sp < I386_ENTRY_AREA || end - sp < sizeof(*frame) ||
	    shot_read(shot, end - sizeof(*frame), sizeof(*frame), SHOT_VIEW_STACK))
		return 0;
	frame = shot_bytes(shot);
	if (!i386_frame_is_user(frame))
		return 0;
	shot_set_user(shot, frame->ip, frame->sp, (u32)shot->wire.regs.gpr[X86_RBP], 4);
	shot->value = (u16)frame->cs;
	end -= sizeof(struct shot_pt_regs_i386) - offsetof(struct shot_pt_regs_i386, bp);
	if (sp <= end && !shot_read(shot, end, 4, SHOT_VIEW_STACK))
		shot->fp = *(const u32 *)shot_bytes(shot);
	return 1;
}

SHOT_INLINE int shot_find_user_regs_i386(struct shot *shot, const struct shot_vm *vm)
{
	const struct shot_pt_regs_i386 *regs;
	u64 top;
	u32 cs;
	int stop;

	if (shot_find_entry_frame_i386(shot, shot->wire.regs.gpr[X86_RSP]))
		return shot_add_code_base(shot, shot->value);
	if (!(shot->wire.flags & WIRE_F_TASK))
		return STOP_NOT_PRESENT;
	top = shot->wire.task.stack + vm->guest.thread_size - vm->guest.pt_regs_top;
	stop = shot_read(shot, top - sizeof(*regs), sizeof(*regs), SHOT_VIEW_STACK);
	if (stop)
		return stop;
	regs = shot_bytes(shot);
	if ((regs->cs & 3) != 3)
		return STOP_BAD_POINTER;
	if (shot_is_exec(regs->orig_ax, 4))
		shot->flags |= SHOT_F_EXEC;
	cs = (u16)regs->cs;
	shot_set_user(shot, regs->ip, regs->sp, regs->bp, 4);
	if (regs->bp == regs->sp && (s32)regs->orig_ax >= 0)
		shot_fetch_fp(shot);
	return shot_add_code_base(shot, cs);
}

/*
 * Whether @sp is no stack pointer, but the guest's page tables: with the kernel unmapped in user
 * mode SYSCALL's entry takes RSP to change them (SWITCH_TO_KERNEL_CR3, arch/x86/entry/calling.h).
 * The user's are the other half of two pages (PTI_USER_PGTABLE_BIT), and what is below is the PCID.
 */
SHOT_INLINE int shot_is_root(const struct shot *shot, u64 sp)
{
	return (sp ^ shot->wire.regs.x86.cr3) << 1 < 0x2000 << 1;
}

/*
 * There a 32-bit program's stack pointer is in R8; that of a 64-bit one is in no register, and
 * taken to be what it was at the entry before, whose registers, those at @top, are still there.
 */
SHOT_INLINE int shot_find_user_behind_root(struct shot *shot, u64 top)
{
	const u64 *gpr = shot->wire.regs.gpr;
	const struct shot_pt_regs *regs;
	int stop = shot_read(shot, top - sizeof(*regs), sizeof(*regs), SHOT_VIEW_STACK);

	if (stop)
		return stop;
	regs = shot_bytes(shot);
	if ((regs->hw.cs & 3) != 3)
		return STOP_BAD_POINTER;
	if ((u16)regs->hw.cs == SHOT_USER32_CS) {
		shot_set_user(shot, (u32)gpr[X86_RCX], (u32)gpr[X86_R8], (u32)gpr[X86_RBP], 4);
		shot_fetch_fp(shot);
	} else {
		shot_set_user(shot, gpr[X86_RCX], regs->hw.sp, gpr[X86_RBP], 8);
	}
	return 0;
}

/*
 * In the kernel: the pt_regs at the top of the thread's stack, but for the few instructions of the
 * entry and exit paths at which they are not there yet or no more.
 */
SHOT_INLINE int shot_find_user_regs(struct shot *shot, const struct shot_vm *vm)
{
	const u64 *gpr = shot->wire.regs.gpr;
	u64 sp = gpr[X86_RSP], top;
	int with_bp = 1, stop;

	if (shot->kernel_word == 4)
		return shot_find_user_regs_i386(shot, vm);
	top = shot->wire.task.stack + vm->guest.thread_size - vm->guest.pt_regs_top;
	if (sp < vm->guest.kernel_start && shot_is_root(shot, sp) &&
	    shot->wire.flags & WIRE_F_TASK)
		return shot_find_user_behind_root(shot, top);
	if (sp < vm->guest.kernel_start) {
		/*
		 * SYSCALL and SYSRET leave the stack alone and hold the user's pc in RCX. A 32-bit
		 * program's are short, and hardly any other program has both there.
		 */
		shot_set_user(shot, gpr[X86_RCX], sp, gpr[X86_RBP],
			      (gpr[X86_RCX] | sp) >> 32 ? 8 : 4);
		return 0;
	}
	if (!(shot->wire.flags & WIRE_F_TASK))
		return STOP_NOT_PRESENT;
	if (shot_find_stack(shot, sp) == SHOT_STACK_ENTRY) {
		/* All registers are pushed here first; until then RBP is still the user's. */
		top = shot->stack_end;
		with_bp = sp <= top - sizeof(struct shot_pt_regs);
	}
	stop = shot_read(shot, top - sizeof(struct shot_pt_regs), sizeof(struct shot_pt_regs),
			 SHOT_VIEW_STACK);
	return stop ? stop : shot_set_user_pt_regs(shot, with_bp);
}

#endif

/*
 * Reads the stack from .fp to its page's end into .window, a frame at least. One read a page is
 * worth it: each read costs as much as a dozen frames.
 */
SHOT_INLINE int shot_fill_window(struct shot *shot)
{
	u64 size;
	int stop;

	shot->window_gva = shot->fp;
	shot->window_size = 2 * shot->word;
	stop = shot_translate(shot, shot->fp, SHOT_VIEW_USER);
	if (stop)
		return stop;
	size = shot_min(SHOT_PAGE - shot->fp % SHOT_PAGE, shot->room);
	shot_opaque(size);
	if (size >= shot->window_size && size <= SHOT_PAGE &&
	    !shot_read_hva(shot, shot->window, size, shot->hva)) {
		shot->window_size = size;
		return 0;
	}
	/* Across two pages. */
	stop = shot_read(shot, shot->fp, shot->window_size, SHOT_VIEW_USER);
	if (!stop)
		__builtin_memcpy(shot->window, shot_bytes(shot), 16);
	return stop;
}

/* Where a walk along frame pointers is; in registers while it stays in the window. */
struct shot_cursor {
	u64 fp, floor;
	u64 gva, last;	/* of the window, and the last offset in it at which a frame fits */
	u64 below;	/* bytes at the other end that frames may lie in, too */
	u32 nr, max, word;
#ifdef SHOT_ARM64
	u64 mask;	/* of a return address */
#endif
};

/* Whether @address is none of user mode, nor of the @below bytes at the other end. */
SHOT_INLINE int shot_is_beyond(u64 address, u64 below)
{
	return address + below >= SHOT_USER_TOP + below;
}

SHOT_INLINE u64 shot_below(const struct shot *shot)
{
	return shot->wire.flags & WIRE_F_FLAT ? SHOT_FLAT_BELOW : 0;
}

/* One step to the caller's frame. Why the walk ends, 0, or SHOT_STEP_OUT. */
#define SHOT_STEP_OUT STOP_NR	/* the frame is not in the window */

SHOT_INLINE int shot_step_frame(struct shot *shot, struct shot_cursor *at)
{
	u64 offset = at->fp - at->gva, nr = at->nr, next, ret;

	if (!at->fp)
		return STOP_COMPLETE;
	if (nr >= at->max)
		return STOP_DEPTH;
	if (at->fp < at->floor || shot_is_beyond(at->fp, at->below) || at->fp & (at->word - 1))
		return STOP_BAD_POINTER;
	if (offset > at->last)
		return SHOT_STEP_OUT;
	shot_opaque(offset);
	shot_opaque(nr);
	if (offset > SHOT_PAGE || nr >= WIRE_MAX_USER_FRAMES)	/* for the verifier */
		return STOP_BAD_POINTER;
	if (at->word == 8) {
		next = *(u64 *)(shot->window + offset);
		ret = *(u64 *)(shot->window + offset + 8);
	} else {
		next = *(u32 *)(shot->window + offset);
		ret = *(u32 *)(shot->window + offset + 4);
	}
#ifdef SHOT_ARM64
	ret &= at->mask;
#endif
	/* 0 too: a stack's page that has just been freed or mapped reads as zeros. */
	if (ret < SHOT_FIRST_PAGE || shot_is_beyond(ret, at->below))
		return STOP_BAD_RETURN;
	((u64 *)shot->data)[nr] = ret;
	at->nr = nr + 1;
	at->floor = at->fp + 2 * at->word;
	at->fp = next;
	return 0;
}

#define SHOT_STEPS 16	/* of one round */

/* Some steps. Why the walk ends, 0, or SHOT_STEP_OUT. */
SHOT_INLINE int shot_step_frames(struct shot *shot)
{
	struct shot_cursor at = {
		.fp = shot->fp,
		.floor = shot->floor,
		.gva = shot->window_gva,
		.last = shot->window_size - 2 * shot->word,
		.below = shot_below(shot),
		.nr = shot->wire.nr_user_frames,
		.max = shot->max_depth,
		.word = shot->word,
#ifdef SHOT_ARM64
		.mask = shot_user_mask(shot),
#endif
	};
	int stop = 0;

	for (int i = 0; i < SHOT_STEPS && !stop; i++)
		stop = shot_step_frame(shot, &at);
	shot->fp = at.fp;
	shot->floor = at.floor;
	shot->wire.nr_user_frames = at.nr;
	return stop;
}

struct shot_loop_arg {
	struct shot *shot;
};

static long shot_frames_round(u32 i, void *arg)
{
	struct shot *shot = ((struct shot_loop_arg *)arg)->shot;
	int stop = shot_step_frames(shot);

	(void)i;
	if (stop == SHOT_STEP_OUT)
		stop = shot_fill_window(shot);
	if (!stop)
		return 0;
	shot->wire.user_stop = stop;
	return 1;
}

/*
 * execve() replaces the memory first, then clears the registers in pt_regs, then sets the new
 * program's (load_elf_binary(): ELF_PLAT_INIT, START_THREAD). In between a frame pointer of 0 does
 * not mean the outermost frame: the old stack pointer points at nothing.
 */
SHOT_INLINE int shot_check_outermost(struct shot *shot)
{
	if (shot->fp || shot->wire.regs.user)
		return 0;
	return shot_translate(shot, shot->wire.user_sp, SHOT_VIEW_USER);
}

SHOT_FN int shot_walk_frames(struct shot *shot)
{
	struct shot_loop_arg arg = { .shot = shot };

	if (!shot)
		return 0;
	shot->wire.user_stop = shot_check_outermost(shot);
	if (shot->wire.user_stop)
		return 0;
	shot->floor = shot->wire.user_sp;
	shot->window_gva = 0;
	shot->window_size = 2 * shot->word;	/* nothing there: no frame is at 0 */
	if (shot->max_depth > WIRE_MAX_USER_FRAMES)
		shot->max_depth = WIRE_MAX_USER_FRAMES;
	/* A frame takes a round and, where the window has to move, one before. */
	shot_loop(2 * WIRE_MAX_USER_FRAMES + 2, shot_frames_round, &arg);
	shot->used = shot->wire.nr_user_frames * 8;
	shot->wire.user_frames_offset = sizeof(shot->wire);
	return 0;
}

#ifndef SHOT_ARM64

/*
 * While the guest switches tasks, the tables of the next one are loaded already and the current
 * task is still the one before (context_switch(), kernel/sched/core.c). Its user stack is then
 * found by way of its own tables, whose kernel half is the same. Where it is not known which memory
 * is loaded, of i386's kernels, the tables tell.
 */
SHOT_FN int shot_use_task_root(struct shot *shot)
{
	const struct shot_vm *vm;
	const struct shot_view *view;
	u64 pgd, root;
	int stop;

	if (!shot)
		return STOP_UNSUPPORTED;
	vm = shot_vm(shot);
	if (!vm || !vm->guest.mm_pgd_offset || !(shot->wire.flags & WIRE_F_TASK))
		return 0;
	if (vm->guest.loaded_mm_offset) {
		stop = shot_read_pointer(shot, shot->percpu + vm->guest.loaded_mm_offset,
					 SHOT_VIEW_KERNEL);
		if (stop || shot->value == shot->wire.task.mm)
			return stop;
	}
	stop = shot_read_pointer(shot, shot->wire.task.mm + vm->guest.mm_pgd_offset,
				 SHOT_VIEW_KERNEL);
	if (stop)
		return stop;
	pgd = shot->value;
	stop = shot_translate(shot, pgd, SHOT_VIEW_KERNEL);
	if (stop)
		return stop;
	view = &shot->views[SHOT_VIEW_KERNEL];
	root = mmu_root_x86(shot->space.mode, view->walk.gpa + (pgd - view->walk.gva));
	if (root == shot->space.root)
		return 0;
	shot->wire.user_root = root;
	shot_set_root(shot, root);
	return 0;
}

#endif

/*
 * In execve() the new program's memory comes before its registers: the old ones point at a stack
 * and at code that are both not there. A stack's page alone can be missing for a moment. Where RBP
 * was no frame pointer it does not tell, but the code does: it had just made the system call.
 */
SHOT_FN int shot_note_gone(struct shot *shot)
{
	if (!shot || shot->wire.regs.user || shot->wire.nr_user_frames ||
	    shot->wire.flags & WIRE_F_FLAT)
		return 0;
	if (shot->wire.user_stop != STOP_NOT_PRESENT && !(shot->flags & SHOT_F_EXEC))
		return 0;
	if (shot_translate(shot, shot->wire.user_pc, SHOT_VIEW_USER) == STOP_NOT_PRESENT)
		shot->wire.flags |= WIRE_F_USER_GONE;
	return 0;
}

/* Fills the user part. Comes before the stacks, whose place in the record is behind the frames. */
SHOT_INLINE int shot_take_user(struct shot *shot)
{
	const struct vcpu_regs *regs = &shot->wire.regs;
	const struct shot_vm *vm = shot_vm(shot);

	if (!vm)
		return 0;
	if (regs->user) {
#ifdef SHOT_ARM64
		shot_set_user(shot, regs->pc, regs->gpr[SHOT_SP], regs->gpr[SHOT_FP],
			      SHOT_USER_WORD(regs->flags));
#else
		shot_set_user(shot, regs->pc, regs->gpr[SHOT_SP], regs->gpr[SHOT_FP],
			      regs->bits / 8);
#endif
	} else if (!vm->guest.valid) {
#ifdef SHOT_ARM64
		return 0;
#else
		/* Frame pointers may lead somewhere, whatever it is that runs. */
		shot->wire.flags |= WIRE_F_FLAT;
		shot_set_user(shot, regs->pc, regs->gpr[SHOT_SP], regs->gpr[SHOT_FP],
			      regs->bits / 8);
#endif
	} else if (shot->wire.flags & WIRE_F_KTHREAD) {
		return 0;
	} else {
		shot->wire.user_stop = shot_find_user_regs(shot, vm);
		if (!shot->wire.user_stop)
			shot->wire.user_stop = shot_use_task_root(shot);
	}
	if (!shot->wire.user_pc || shot->wire.user_stop)
		return 0;
	if (shot->word != 8 && shot->word != 4) {
		shot->wire.user_stop = STOP_UNSUPPORTED;
		return 0;
	}
	if (shot->word == 4)
		shot->wire.flags |= WIRE_F_USER_32;
	shot->flags |= SHOT_F_USER;
	shot_walk_frames(shot);
	shot_note_gone(shot);
	return 0;
}

/*
 * Copies the user stack from @sp up: to its end at @end, if that is known and above, as much as is
 * asked for, or to where no more pages are there, which mostly is the stack's end. With the red
 * zone below @sp (psABI 3.2.2), for rules lead there: when a function has popped the registers that
 * it saved, they still say that these are where they were. Only what @sp's page has of it: the one
 * before may never have been touched, and to find that out would cost as much as a sample's stack.
 */
SHOT_FN int shot_copy_user_stack(struct shot *shot, u64 sp, u64 end)
{
	struct wire_stack *stack;
	u32 start, stop, i;
	u64 from, size;

	if (!shot || shot_is_beyond(sp, shot_below(shot)))
		return 0;
	i = shot->wire.nr_stacks;
	if (i >= WIRE_MAX_STACKS)
		return 0;
	from = sp;
	if (shot->user_left >= SHOT_RED_ZONE_WORTH)
		from -= shot_min(WIRE_RED_ZONE, sp % SHOT_PAGE);
	size = end > sp ? shot_min(shot->user_left, end - from) : shot->user_left;
	start = shot->used;
	stop = shot_copy(shot, from, size, SHOT_VIEW_USER);
	if (!stop)
		stop = from + size == end ? STOP_COMPLETE : STOP_STACK_CUT;
	stack = &shot->wire.stacks[i];
	stack->gva = from;
	stack->offset = sizeof(shot->wire) + start;
	stack->size = shot->used - start;
	stack->kind = WIRE_STACK_USER;
	stack->stop = stop;
	stack->holes = shot->holes;
	shot->wire.nr_stacks = i + 1;
	shot->user_left -= stack->size;
	/* Words at unaligned addresses are none. */
	shot->scan_low = (start | from) & (shot->word - 1) ? shot->used : start;
	return 0;
}

/*
 * Words of a struct ucontext, which a signal's frame has behind its return address (struct
 * rt_sigframe, arch/x86/include/asm/sigframe.h; include/uapi/asm-generic/ucontext.h).
 */
#define SHOT_UC_LINK 1		/* always 0 */
#define SHOT_UC_STACK 2		/* uc_stack.ss_sp: the alternate stack, as sigaltstack() got it */
#define SHOT_UC_STACK_SIZE 4
#ifndef SHOT_ARM64
#define SHOT_UC_SP 20		/* uc_mcontext.sp */
#define SHOT_UC_BYTES 168
#endif

/*
 * The same of a 32-bit program: the 4-byte words of struct ucontext_ia32 (arch/x86/include/asm/
 * sigframe.h, struct rt_sigframe_ia32).
 */
#define SHOT_UC32_SP 12		/* uc_mcontext.sp: behind the segments, di, si and bp */
#define SHOT_UC32_BYTES 52

SHOT_INLINE int shot_on_alt_stack(const struct shot *shot, u64 sp)
{
	return sp - shot->alt_stack < shot->alt_size;
}

/* The words of a ucontext that tell it, and the stack pointer that was interrupted. */
struct shot_ucontext {
	u64 link, stack, size, sp;
};

/*
 * Whether the signal that led to the alternate stack has its frame at @offset in .data. The stack
 * pointer that it interrupted is then in .value.
 */
SHOT_INLINE int shot_try_signal_frame(struct shot *shot, u64 offset)
{
	struct shot_ucontext uc;

	shot_opaque(offset);
	if (offset > SHOT_DATA_BYTES - SHOT_UC_BYTES)	/* for the verifier */
		return 0;
	if (shot->word == 8) {
		const u64 *words = (const u64 *)(shot->data + offset);

		uc.link = words[SHOT_UC_LINK];
		uc.stack = words[SHOT_UC_STACK];
		uc.size = words[SHOT_UC_STACK_SIZE];
		uc.sp = words[SHOT_UC_SP];
	} else {
		const u32 *words = (const u32 *)(shot->data + offset);

		uc.link = words[SHOT_UC_LINK];
		uc.stack = words[SHOT_UC_STACK];
		uc.size = words[SHOT_UC_STACK_SIZE];
		uc.sp = words[SHOT_UC32_SP];
	}
	if (uc.link || uc.stack != shot->alt_stack || uc.size != shot->alt_size ||
	    shot_on_alt_stack(shot, uc.sp))
		return 0;
	shot->value = uc.sp;
	return 1;
}

static long shot_signal_round(u32 i, void *arg)
{
	struct shot *shot = ((struct shot_loop_arg *)arg)->shot;

	(void)i;
	for (int k = 0; k < SHOT_STEPS; k++) {
		if (shot->scan < shot->scan_low + shot->word)
			return 1;
		shot->scan -= shot->word;
		if (shot_try_signal_frame(shot, shot->scan))
			return 1;
	}
	return 0;
}

/*
 * Finds the frame of the signal that led to the alternate stack, by what the kernel wrote into it:
 * that very stack's place and size. From the stack's end down, of which the last bytes in .data are
 * a copy, since it is the first on it. Leaves the interrupted stack pointer in .value, else 0.
 */
SHOT_FN int shot_find_signal_frame(struct shot *shot)
{
	struct shot_loop_arg arg = { .shot = shot };
	u32 word, bytes;

	if (!shot)
		return 0;
	shot->value = 0;
	word = shot->word;
	bytes = word == 8 ? SHOT_UC_BYTES : SHOT_UC32_BYTES;
	if (shot->used < shot->scan_low + bytes)
		return 0;
	shot->scan = shot->scan_low + ((shot->used - shot->scan_low - bytes) & -word) + word;
	shot_loop(WIRE_MAX_STACK_BYTES / 4 / SHOT_STEPS + 1, shot_signal_round, &arg);
	return 0;
}

#ifndef SHOT_ARM64
SHOT_INLINE u64 shot_control_block(const struct shot *shot)
{
	const struct x86_system_regs *sys = &shot->wire.regs.x86;

	if (shot->word == 8)
		return sys->fs_base;
	/* In a 64-bit kernel, which has a base of its own there, it is the other one. */
	return shot->wire.regs.user || shot->kernel_word == 4 ? sys->gs_base : sys->kernel_gs_base;
}
#endif

/*
 * Copies the stack that user mode was left on and, if that is the one of a signal's handler, the
 * one that the signal came on. Both have no more bytes than are asked for. Comes behind the
 * kernel's stacks, whose number is not known before.
 *
 * A thread's stack ends below its control block, which FS points at, as C libraries place them, GS
 * in 32-bit programs; the first thread's is far away from it. Above is no more of the stack,
 * whatever else is there.
 */
SHOT_FN int shot_take_user_stacks(struct shot *shot)
{
	u64 sp, end;

	if (!shot || !(shot->flags & SHOT_F_USER) || shot->wire.flags & WIRE_F_USER_GONE)
		return 0;
	sp = shot->wire.user_sp;
	end = shot_control_block(shot);
	shot->user_left = shot_min(shot->user_stack, WIRE_MAX_STACK_BYTES);
	if (!shot_on_alt_stack(shot, sp))
		return shot_copy_user_stack(shot, sp, end);
	shot_copy_user_stack(shot, sp, shot->alt_stack + shot->alt_size);
	shot_find_signal_frame(shot);
	if (shot->value)
		shot_copy_user_stack(shot, shot->value, end);
	return 0;
}

#endif
