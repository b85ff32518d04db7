/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds wire records, and kernel stacks as a processor and the kernel's entry code would leave
 * them: from the outermost frame inwards, pushing.
 */
#ifndef BUILD_BUILD_SAMPLE_H
#define BUILD_BUILD_SAMPLE_H

#include "arch/x86-regs.h"
#include "build.h"
#include "model/sample.h"

#define BUILD_STACK_WORDS (WIRE_MAX_STACK_BYTES / sizeof(u64))

/* Grows down from @top; word i is at top - 8 (i + 1). */
struct build_stack {
	u64 top;
	u64 sp;
	u64 words[BUILD_STACK_WORDS];
};

void build_stack_init(struct build_stack *stack, u64 top);
/* Returns the address that the value has. */
u64 build_stack_push(struct build_stack *stack, u64 value);
/* Leaves room for @words locals, filled with a pattern that is no address. */
void build_stack_locals(struct build_stack *stack, unsigned int words);
void build_stack_poke(struct build_stack *stack, u64 address, u64 value);

/* What the processor pushes when it interrupts: SS, RSP, RFLAGS, CS, RIP. */
void build_stack_iret(struct build_stack *stack, u64 ip, u64 sp, bool user);
/*
 * A whole pt_regs, by hand or by entry code: @gpr by DWARF number, RSP in it. Returns its address.
 */
u64 build_stack_regs(struct build_stack *stack, u64 ip, const u64 *gpr, bool user);

struct build_sample {
	struct wire_sample wire;	/* set fields before build_sample_finish() */
	struct strbuf frames;
	struct strbuf stacks[WIRE_MAX_STACKS];
	struct strbuf record;		/* what finish() makes */
};

/* An x86-64 sample in kernel mode without stacks. */
void build_sample_init(struct build_sample *build, u64 pc, u64 sp);
/* All of @stack from its stack pointer up, or the lowest @size bytes of that. */
void build_sample_stack(struct build_sample *build, enum wire_stack_kind kind,
			const struct build_stack *stack, u32 size, enum stop_reason stop);
void build_sample_frame(struct build_sample *build, u64 ip);
/* Makes the record and a view of it; may be called again after changes. */
int build_sample_finish(struct build_sample *build, struct sample *ret);
void build_sample_deinit(struct build_sample *build);

#endif
