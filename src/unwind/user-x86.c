/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user part of a chain on x86: rows applied to registers and the copied stacks, with words of 8
 * bytes, or of 4 in 32-bit programs. Neither rows nor stacks may be trusted. The walk ends because
 * each step adds a frame, and early where they make no sense, because the stack pointer must rise.
 * Only a signal handler's frame may lead to another stack (sigaltstack()), and a stack that was
 * left is not entered again.
 */
#include "unwind/user-x86.h"

#include <string.h>

#include "arch/x86-regs.h"
#include "unwind/walk-private.h"

#define USER_TOP (1ULL << 56)	/* addresses are below, with five levels of page tables too */
#define USER_TOP_32 (1ULL << 32)
#define FLAT_BELOW (1ULL << 56)	/* of an unknown guest: as much at the upper end, too */
#define FIRST_PAGE 4096		/* never mapped */

/* The general registers of struct sigcontext, 8 bytes each, then ip. */
#define SIGCONTEXT_NR 17
#define SIGCONTEXT_IP 16

/* That of i386, 4 bytes each: segments, general registers, the trap's number and error, ip, cs. */
#define SIGCONTEXT_32_NR 16
#define SIGCONTEXT_32_IP 14
#define SIGCONTEXT_32_CS 15

/* What lies between a handler's frame and what it interrupted: AMX's state has 11 KiB. */
#define SIGNAL_FRAME_MAX 16384

#define FRAME_POINTER_REACH 65536	/* from RSP: beyond, RBP is just a number */

struct user_walk {
	const struct unwinder *unwinder;
	const struct sample *sample;
	const struct wire_stack *stack;	/* the copy of the stack that RSP is on; NULL: none is */
	u32 left;		/* bit n: copy n was left */
	u64 gpr[USER_NR_GPRS];
	u32 known;		/* bit n: gpr[n] holds the frame's value */
	u64 pc;
	bool exact;		/* pc was interrupted: it is not a return address */
	u8 flags;		/* enum frame_flags of pc */
	bool outermost;		/* pc has no caller, whatever its rule */
	bool is_32;
	u32 code_base;		/* of pc's segment: return addresses in it are offsets */
	u8 word;		/* bytes on the stack */
	u64 top;		/* addresses are below */
	u64 below;		/* as many addresses at the upper end are valid, too */
};

/* The first copy, of the stack that user mode was left on. */
static const struct wire_stack *find_stack(const struct sample *sample)
{
	const struct wire_sample *wire = sample->wire;

	for (unsigned int i = 0; i < wire->nr_stacks; i++)
		if (wire->stacks[i].kind == WIRE_STACK_USER)
			return &wire->stacks[i];
	return NULL;
}

bool user_x86_has_stack(const struct sample *sample)
{
	return find_stack(sample);
}

void user_x86_load_gprs(const u64 *pt_regs, u64 *gpr)
{
	static const u8 slots[USER_NR_GPRS] = {
		[X86_RAX] = X86_PT_RAX, [X86_RDX] = X86_PT_RDX, [X86_RCX] = X86_PT_RCX,
		[X86_RBX] = X86_PT_RBX, [X86_RSI] = X86_PT_RSI, [X86_RDI] = X86_PT_RDI,
		[X86_RBP] = X86_PT_RBP, [X86_RSP] = X86_PT_RSP, [X86_R8] = X86_PT_R8,
		[X86_R9] = X86_PT_R9, [X86_R10] = X86_PT_R10, [X86_R11] = X86_PT_R11,
		[X86_R12] = X86_PT_R12, [X86_R13] = X86_PT_R13, [X86_R14] = X86_PT_R14,
		[X86_R15] = X86_PT_R15,
	};

	for (unsigned int i = 0; i < USER_NR_GPRS; i++)
		gpr[i] = pt_regs[slots[i]];
}

/* With the address and stack pointer that capture found. */
static bool is_captured(const struct wire_sample *wire, const u64 *pt_regs)
{
	u64 cs = pt_regs[X86_PT_CS];

	return x86_linear_pc(&wire->regs, cs, pt_regs[X86_PT_RIP]) == wire->user_pc &&
	       pt_regs[X86_PT_RSP] == wire->user_sp && x86_cs_cpl(cs) == 3;
}

/*
 * They end at the stack's end, or 16 bytes before it where the kernel knows FRED
 * (TOP_OF_KERNEL_STACK_PADDING, 65c9cc9e2c14 "x86/fred: Reserve space for the FRED stack frame").
 */
bool user_x86_find_pt_regs(const struct sample *sample, struct user_regs *ret)
{
	const struct wire_sample *wire = sample->wire;
	u64 pt_regs[X86_PT_NR];

	for (unsigned int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];

		for (u64 padding = 0; padding <= 16; padding += 16) {
			gva_t at = GVA(stack->gva + stack->size - padding - sizeof(pt_regs));

			if (stack->kind == WIRE_STACK_USER ||
			    sample_read_stack(sample, at, pt_regs, sizeof(pt_regs)) ||
			    !is_captured(wire, pt_regs))
				continue;
			ret->pc = wire->user_pc;
			ret->known = USER_ALL_GPRS;
			ret->is_32 = x86_cs_is_32(pt_regs[X86_PT_CS]);
			user_x86_load_gprs(pt_regs, ret->gpr);
			return true;
		}
	}
	return false;
}

static const void *bytes_at(const struct user_walk *w, const struct wire_stack *stack, u64 addr,
			    size_t size)
{
	u64 skip = addr - stack->gva;

	if (addr < stack->gva || skip > stack->size || size > stack->size - skip ||
	    wire_stack_in_hole(stack, skip, size))
		return NULL;
	return (const u8 *)w->sample->wire + stack->offset + skip;
}

/* In a stack that RSP is not on. */
static const void *find_bytes_elsewhere(const struct user_walk *w, u64 addr, size_t size)
{
	const struct wire_sample *wire = w->sample->wire;
	const void *bytes = NULL;

	for (unsigned int i = 0; i < wire->nr_stacks && !bytes; i++)
		if (wire->stacks[i].kind == WIRE_STACK_USER && !(w->left & 1U << i))
			bytes = bytes_at(w, &wire->stacks[i], addr, size);
	return bytes;
}

static bool is_beyond(const struct user_walk *w, u64 addr)
{
	return addr + w->below >= w->top + w->below;
}

/*
 * In the stack that RSP is on, before any other: one may lie in a frame of another. Inline, as the
 * size is a constant and most of a walk is here.
 */
static inline __attribute__((always_inline)) enum stop_reason
read_stack(const struct user_walk *w, u64 addr, void *out, size_t size)
{
	const void *bytes = NULL;

	if (addr % w->word || is_beyond(w, addr))
		return STOP_BAD_POINTER;
	if (likely(w->stack))
		bytes = bytes_at(w, w->stack, addr, size);
	if (unlikely(!bytes))
		bytes = find_bytes_elsewhere(w, addr, size);
	if (unlikely(!bytes))
		return walk_missing_reason(w->stack, addr, size);
	memcpy(out, bytes, size);
	return STOP_NONE;
}

/* @nr words of a 32-bit program, SIGCONTEXT_NR at most. */
static enum stop_reason read_words_32(const struct user_walk *w, u64 addr, u64 *out,
				      unsigned int nr)
{
	u32 words[SIGCONTEXT_NR] = { 0 };
	enum stop_reason stop = read_stack(w, addr, words, nr * sizeof(*words));

	for (unsigned int i = 0; stop == STOP_NONE && i < nr; i++)
		out[i] = words[i];
	return stop;
}

/* @nr words of the program's. */
static inline __attribute__((always_inline)) enum stop_reason
read_words(const struct user_walk *w, u64 addr, u64 *out, unsigned int nr)
{
	if (likely(!w->is_32))
		return read_stack(w, addr, out, nr * sizeof(*out));
	return read_words_32(w, addr, out, nr);
}

static bool is_known(const struct user_walk *w, unsigned int reg)
{
	return reg < USER_NR_GPRS && w->known & 1U << reg;
}

/* The value that @rule gives; CFI_SAME and CFI_UNDEFINED are the caller's business. */
static enum stop_reason apply_rule(const struct user_walk *w, const struct cfi_rule *rule, u64 cfa,
				   u64 *ret)
{
	u64 value;

	switch (cfi_rule_value(rule, w->gpr, w->known, cfa, &value)) {
	case CFI_VALUE_IS:
		*ret = value;
		return STOP_NONE;
	case CFI_VALUE_AT:
		return read_words(w, value, ret, 1);
	default:
		return STOP_NO_RULE;
	}
}

static enum stop_reason find_cfa(const struct user_walk *w, const struct cfi_row *row,
				 u64 *ret_cfa)
{
	enum stop_reason stop;
	u64 cfa;

	if (row->cfa.kind != CFI_REG_OFFSET && row->cfa.kind != CFI_AT_REG)
		return STOP_NO_RULE;
	stop = apply_rule(w, &row->cfa, 0, &cfa);
	if (stop != STOP_NONE)
		return stop;
	*ret_cfa = cfa + (s64)row->cfa_add;
	return STOP_NONE;
}

static int find_row(const struct user_walk *w, u64 pc, struct cfi_row *row)
{
	return w->unwinder->ops->find_user_row(w->unwinder->ctx, GVA(pc), row);
}

static bool is_user_text(const struct user_walk *w, u64 addr)
{
	return addr >= FIRST_PAGE && !is_beyond(w, addr);
}

static enum stop_reason check_linear(const struct user_walk *w, u64 ra, u8 *ret_flags)
{
	return is_user_text(w, ra) ? walk_check_user_return(w->unwinder, ra, ret_flags) :
	       STOP_BAD_RETURN;
}

/*
 * Makes *@ra linear. A caller that is seen to be in another segment, which one of the LDT is
 * entered from, is in the one at 0.
 */
static enum stop_reason check_return(struct user_walk *w, u64 *ra, u8 *ret_flags)
{
	enum stop_reason stop;
	u64 linear;
	u8 flags;

	if (likely(!w->code_base))
		return check_linear(w, *ra, ret_flags);
	linear = (u32)(*ra + w->code_base);
	stop = check_linear(w, linear, ret_flags);
	if (stop == STOP_NONE && *ret_flags == FRAME_F_RETURN) {
		*ra = linear;
		return STOP_NONE;
	}
	if (check_linear(w, *ra, &flags) == STOP_NONE && flags == FRAME_F_RETURN) {
		w->code_base = 0;
		*ret_flags = flags;
		return STOP_NONE;
	}
	*ra = linear;
	return stop;
}

static void set_pc(struct user_walk *w, u64 pc, u8 flags)
{
	w->pc = pc;
	w->flags = flags;
	w->exact = flags & FRAME_F_INTERRUPTED;
}

/* A caller's registers: those that were saved, the others are as in the callee. */
struct caller {
	u64 gpr[USER_NR_GPRS];
	u32 saved;	/* bit n: gpr[n] holds the value */
	u32 known;	/* bit n: the value is known, here or in the callee */
};

/* What cannot be had is lost, no more. */
static void restore(const struct user_walk *w, unsigned int reg, const struct cfi_rule *rule,
		    u64 cfa, struct caller *caller)
{
	u32 bit = 1U << reg;

	if (rule->kind == CFI_SAME) {
		caller->known |= w->known & bit;
	} else if (apply_rule(w, rule, cfa, &caller->gpr[reg]) == STOP_NONE) {
		caller->known |= bit;
		caller->saved |= bit;
	}
}

static void restore_all(const struct user_walk *w, const struct cfi_row *row, u64 cfa,
			struct caller *caller)
{
	const u8 *saved = w->is_32 ? cfi_saved_32 : cfi_saved_64;

	caller->gpr[X86_RSP] = cfa;
	caller->known = caller->saved = 1U << X86_RSP;
	restore(w, X86_RBP, &row->bp, cfa, caller);
	for (unsigned int i = 0; i < CFI_SAVED_NR && saved[i] != CFI_SAVED_NONE; i++)
		restore(w, saved[i], &row->saved[i], cfa, caller);
}

static void enter_caller(struct user_walk *w, const struct caller *caller)
{
	for (u32 left = caller->saved; left; left &= left - 1) {
		unsigned int reg = __builtin_ctz(left);

		w->gpr[reg] = caller->gpr[reg];
	}
	w->known = caller->known;
}

/* Another copy that holds @sp, one that was not left before one that was; NULL: none does. */
static const struct wire_stack *find_other_stack(const struct user_walk *w, u64 sp, bool *ret_left)
{
	const struct wire_sample *wire = w->sample->wire;
	const struct wire_stack *found = NULL;

	*ret_left = true;
	for (unsigned int i = 0; i < wire->nr_stacks && *ret_left; i++) {
		const struct wire_stack *stack = &wire->stacks[i];

		if (stack->kind != WIRE_STACK_USER || stack == w->stack ||
		    sp - stack->gva >= stack->size)
			continue;
		found = stack;
		*ret_left = w->left & 1U << i;
	}
	return found;
}

/* Whether @sp, where a signal came, is on the stack of the handler's frame. */
static bool is_same_stack(const struct user_walk *w, u64 sp)
{
	const struct wire_stack *stack = w->stack;

	if (!stack || sp <= w->gpr[X86_RSP])
		return false;
	return sp - stack->gva < stack->size ||
	       (stack->stop != STOP_COMPLETE &&
		sp - stack->gva - stack->size < SIGNAL_FRAME_MAX);
}

/* A handler's frame leads to @sp, where the signal came: on the same stack or on another. */
static enum stop_reason return_to_sp(struct user_walk *w, u64 sp)
{
	const struct wire_stack *other;
	bool left;

	if (is_same_stack(w, sp))
		return STOP_NONE;
	other = find_other_stack(w, sp, &left);
	if (other && left)
		return STOP_BAD_POINTER;
	/* Where no copy is, the walk ends. Down in a copy, or from none, is nonsense. */
	if (!other && sp <= w->gpr[X86_RSP] && (!w->stack || sp >= w->stack->gva))
		return STOP_BAD_POINTER;
	if (w->stack)
		w->left |= 1U << (w->stack - w->sample->wire->stacks);
	w->stack = other;
	return STOP_NONE;
}

/*
 * A user address, and above the frame's but where the caller was interrupted. The frame that user
 * mode was left in may have taken its return address off the stack already, as vfork() does.
 */
static enum stop_reason check_sp(const struct user_walk *w, u64 sp, bool interrupted)
{
	if (sp < FIRST_PAGE || is_beyond(w, sp))
		return STOP_BAD_POINTER;
	if (interrupted)	/* at any alignment, on any stack */
		return STOP_NONE;
	if (sp % w->word || sp < w->gpr[X86_RSP])
		return STOP_BAD_POINTER;
	return sp == w->gpr[X86_RSP] && !w->exact ? STOP_BAD_POINTER : STOP_NONE;
}

/* A return address of 0 where the psABI's outermost frame has it: with RBP 0, by rule. */
static bool is_outermost(const struct user_walk *w, const struct caller *caller, u64 ra)
{
	u32 bit = 1U << X86_RBP;

	if (ra || !(caller->known & bit))
		return false;
	return !(caller->saved & bit ? caller->gpr[X86_RBP] : w->gpr[X86_RBP]);
}

/*
 * Where makecontext() lets its first function return to: __start_context() of glibc on x86-64, with
 * RBX at what is on top of the stack then, where the next context is noted. Neither has a call led
 * there, nor do all versions' rules say that it has no caller; what they say is of no use.
 */
static bool is_context_start(const struct user_walk *w, const struct caller *caller, u64 ra)
{
	u32 bit = 1U << X86_RBX;
	u64 rbx = caller->saved & bit ? caller->gpr[X86_RBX] : w->gpr[X86_RBX];
	struct cfi_row row;

	if (w->is_32)
		return false;
	return caller->known & bit && rbx == caller->gpr[X86_RSP] && find_row(w, ra, &row) == 0 &&
	       row.kind == CFI_ROW_CALL && row.cfa.kind == CFI_REG_OFFSET &&
	       row.cfa.reg == X86_RSP && row.cfa.offset == sizeof(u64);
}

static enum stop_reason check_call_return(struct user_walk *w, const struct caller *caller,
					  u64 *ra, u8 *ret_flags)
{
	enum stop_reason stop = check_return(w, ra, ret_flags);

	if (stop != STOP_BAD_RETURN || !is_context_start(w, caller, *ra))
		return stop;
	w->outermost = true;
	*ret_flags = FRAME_F_INTERRUPTED;
	return STOP_NONE;
}

static enum stop_reason step_call(struct user_walk *w, const struct cfi_row *row)
{
	u8 flags = FRAME_F_INTERRUPTED;
	struct caller caller;
	enum stop_reason stop;
	u64 cfa, ra;

	stop = find_cfa(w, row, &cfa);
	if (stop == STOP_NONE)
		stop = check_sp(w, cfa, row->interrupted);
	if (stop == STOP_NONE)
		stop = apply_rule(w, &row->ra, cfa, &ra);
	if (stop != STOP_NONE)
		return stop;
	restore_all(w, row, cfa, &caller);
	if (is_outermost(w, &caller, ra))
		return STOP_COMPLETE;
	if (!row->interrupted)
		stop = check_call_return(w, &caller, &ra, &flags);
	else
		stop = is_user_text(w, ra) ? return_to_sp(w, cfa) : STOP_BAD_RETURN;
	if (stop != STOP_NONE)
		return stop;
	enter_caller(w, &caller);
	set_pc(w, ra, flags);
	return STOP_NONE;
}

/* Which word of a struct sigcontext is which register. */
static const u8 sigcontext_order[] = {
	X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
	X86_RDI, X86_RSI, X86_RBP, X86_RBX, X86_RDX, X86_RAX, X86_RCX, X86_RSP,
};

#define SIGCONTEXT_32_FIRST 4	/* behind the segments */
static const u8 sigcontext_32_order[] = {
	X86_RDI, X86_RSI, X86_RBP, X86_RSP, X86_RBX, X86_RDX, X86_RCX, X86_RAX,
};

/* A struct sigcontext at @at: its general registers into @gpr, which are all. */
static enum stop_reason read_sigcontext(const struct user_walk *w, u64 at, u64 *gpr, u64 *ret_ip)
{
	const u8 *order = w->is_32 ? sigcontext_32_order : sigcontext_order;
	size_t nr = w->is_32 ? ARRAY_SIZE(sigcontext_32_order) : ARRAY_SIZE(sigcontext_order);
	u64 words[SIGCONTEXT_NR];
	enum stop_reason stop;

	if (w->is_32)
		stop = read_words(w, at, words, SIGCONTEXT_32_NR);
	else
		stop = read_words(w, at, words, SIGCONTEXT_NR);
	if (stop != STOP_NONE)
		return stop;
	/* Where that segment begins was not looked up. */
	if (w->is_32 && words[SIGCONTEXT_32_CS] & X86_SELECTOR_LDT)
		return STOP_UNSUPPORTED;
	for (size_t i = 0; i < nr; i++)
		gpr[order[i]] = words[w->is_32 ? SIGCONTEXT_32_FIRST + i : i];
	*ret_ip = words[w->is_32 ? SIGCONTEXT_32_IP : SIGCONTEXT_IP];
	return STOP_NONE;
}

/* What a signal interrupted, all registers of it. */
static enum stop_reason step_sigcontext(struct user_walk *w, const struct cfi_row *row)
{
	u64 at, ip = 0, gpr[USER_NR_GPRS] = { 0 };
	enum stop_reason stop;

	stop = row->regs.kind == CFI_REG_OFFSET ? apply_rule(w, &row->regs, 0, &at) : STOP_NO_RULE;
	if (stop == STOP_NONE)
		stop = read_sigcontext(w, at, gpr, &ip);
	if (stop == STOP_NONE)
		stop = check_sp(w, gpr[X86_RSP], true);
	if (stop == STOP_NONE && !is_user_text(w, ip))
		stop = STOP_BAD_RETURN;
	if (stop == STOP_NONE)
		stop = return_to_sp(w, gpr[X86_RSP]);
	if (stop != STOP_NONE)
		return stop;
	memcpy(w->gpr, gpr, sizeof(w->gpr));
	w->known = USER_ALL_GPRS;
	w->code_base = 0;
	set_pc(w, ip, FRAME_F_INTERRUPTED);
	return STOP_NONE;
}

/*
 * Code without rules, such as what JIT compilers make: if RBP points at a saved RBP and a return
 * address after a call, then take them. An RBP of 0 in code that has called is the psABI's mark of
 * the outermost frame; in interrupted code it may just be a number. In code that has called, an RBP
 * that points not far above the copy is taken for a frame pointer, too: then the copy is too short.
 */
static enum stop_reason step_frame_pointer(struct user_walk *w)
{
	u64 bp = w->gpr[X86_RBP], sp = w->gpr[X86_RSP], frame[2];
	enum stop_reason stop;
	u8 flags;

	if (!is_known(w, X86_RBP))
		return STOP_NO_RULE;
	if (!bp && !w->exact)
		return STOP_COMPLETE;
	if (bp < sp)
		return STOP_NO_RULE;
	stop = read_words(w, bp, frame, ARRAY_SIZE(frame));
	if (stop != STOP_NONE && stop != STOP_BAD_POINTER && !w->exact &&
	    bp - sp < FRAME_POINTER_REACH)
		return stop;
	if (stop != STOP_NONE || check_return(w, &frame[1], &flags) != STOP_NONE ||
	    flags != FRAME_F_RETURN)
		return STOP_NO_RULE;
	w->gpr[X86_RSP] = bp + 2 * w->word;
	w->gpr[X86_RBP] = frame[0];
	w->known = 1U << X86_RSP | 1U << X86_RBP;
	set_pc(w, frame[1], flags);
	return STOP_NONE;
}

/* Why the rule at an address was not to be had, by find_user_row()'s error. */
static enum stop_reason no_row_reason(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return STOP_UNSUPPORTED;
	case -EAGAIN:
		return STOP_NOT_LOADED;
	case -ENODATA:
		return STOP_RULE_UNKNOWN;
	default:
		return STOP_NO_RULE;
	}
}

/*
 * The row of the frame. A system call's return address is behind SYSCALL, with which a function may
 * end, as what returns from signals does.
 */
static int find_frame_row(const struct user_walk *w, struct cfi_row *row)
{
	const struct wire_sample *wire = w->sample->wire;
	int err = find_row(w, w->exact ? w->pc : w->pc - 1, row);

	if (err == -ENOENT && w->exact && !wire->regs.user && w->pc == wire->user_pc)
		return find_row(w, w->pc - 1, row);
	return err;
}

/*
 * A program that has yet to run its first instruction: execve() has left it with no register but
 * RSP (ELF_PLAT_INIT(), arch/x86/include/asm/elf.h). Mostly its first page is being read, and what
 * it has mapped is not known either.
 */
static bool is_unborn(const struct user_walk *w)
{
	if (!w->exact || w->known != USER_ALL_GPRS || w->sample->wire->regs.user)
		return false;
	for (unsigned int i = 0; i < USER_NR_GPRS; i++)
		if (w->gpr[i] && i != X86_RSP)
			return false;
	return true;
}

/* To the caller's frame: STOP_NONE, or why there is none. */
static enum stop_reason step(struct user_walk *w)
{
	struct cfi_row row;
	int err;

	if (w->outermost || is_unborn(w))
		return STOP_COMPLETE;
	err = find_frame_row(w, &row);
	if (err == -ENOENT)
		return step_frame_pointer(w);
	if (err)
		return no_row_reason(err);
	switch (row.kind) {
	case CFI_ROW_END:
		return STOP_COMPLETE;
	case CFI_ROW_CALL:
		return step_call(w, &row);
	case CFI_ROW_SIGCONTEXT:
		return step_sigcontext(w, &row);
	default:
		return STOP_NO_RULE;
	}
}

enum stop_reason unwind_user_x86(const struct unwinder *unwinder, const struct sample *sample,
				 const struct user_regs *regs, unsigned int max,
				 struct chain *chain)
{
	struct user_walk w = { .unwinder = unwinder, .sample = sample };
	enum stop_reason stop = STOP_NONE;

	w.is_32 = regs->is_32;
	w.word = w.is_32 ? sizeof(u32) : sizeof(u64);
	w.code_base = w.is_32 ? sample->wire->regs.x86.cs_base : 0;
	w.top = w.is_32 ? USER_TOP_32 : USER_TOP;
	w.below = sample->wire->flags & WIRE_F_FLAT && !w.is_32 ? FLAT_BELOW : 0;
	w.stack = find_stack(sample);
	memcpy(w.gpr, regs->gpr, sizeof(w.gpr));
	w.known = regs->known | 1U << X86_RSP;
	set_pc(&w, regs->pc, FRAME_F_INTERRUPTED);
	while (stop == STOP_NONE) {
		if (chain->nr == max)
			return STOP_DEPTH;
		chain->frames[chain->nr++] = (struct frame){ w.pc, FRAME_USER, w.flags };
		stop = step(&w);
	}
	return stop;
}
