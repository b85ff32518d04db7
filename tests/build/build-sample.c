/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds wire records and the kernel stacks in them. */
#include "build-sample.h"

#include <assert.h>

#define KERNEL_CS 0x10
#define KERNEL_DS 0x18
#define USER_CS 0x33
#define USER_DS 0x2b
#define FLAGS_IF 0x202

static u64 *word_at(struct build_stack *stack, u64 address)
{
	u64 i = (stack->top - address) / sizeof(u64) - 1;

	assert(address % sizeof(u64) == 0 && i < BUILD_STACK_WORDS);
	return &stack->words[i];
}

void build_stack_init(struct build_stack *stack, u64 top)
{
	stack->top = stack->sp = top;
	memset(stack->words, 0, sizeof(stack->words));
}

u64 build_stack_push(struct build_stack *stack, u64 value)
{
	stack->sp -= sizeof(u64);
	*word_at(stack, stack->sp) = value;
	return stack->sp;
}

void build_stack_locals(struct build_stack *stack, unsigned int words)
{
	for (unsigned int i = 0; i < words; i++)
		build_stack_push(stack, 0x10ca1);
}

void build_stack_poke(struct build_stack *stack, u64 address, u64 value)
{
	*word_at(stack, address) = value;
}

void build_stack_iret(struct build_stack *stack, u64 ip, u64 sp, bool user)
{
	build_stack_push(stack, user ? USER_DS : KERNEL_DS);
	build_stack_push(stack, sp);
	build_stack_push(stack, FLAGS_IF);
	build_stack_push(stack, user ? USER_CS : KERNEL_CS);
	build_stack_push(stack, ip);
}

u64 build_stack_regs(struct build_stack *stack, u64 ip, const u64 *gpr, bool user)
{
	/* As entry code pushes them after the error code's place. */
	static const u8 order[] = {
		X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_RAX, X86_R8, X86_R9, X86_R10,
		X86_R11, X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15,
	};

	build_stack_iret(stack, ip, gpr[X86_RSP], user);
	build_stack_push(stack, -1ULL);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		build_stack_push(stack, gpr[order[i]]);
	return stack->sp;
}

void build_sample_init(struct build_sample *build, u64 pc, u64 sp)
{
	memset(build, 0, sizeof(*build));
	build->wire.type = WIRE_SAMPLE;
	build->wire.regs.arch = VCPU_ARCH_X86_64;
	build->wire.regs.bits = 64;
	build->wire.regs.x86.cr0 = 0x80050033;	/* as Linux has it: paging is on */
	build->wire.regs.pc = build->wire.event_pc = pc;
	build->wire.regs.gpr[X86_RSP] = sp;
}

void build_sample_stack(struct build_sample *build, enum wire_stack_kind kind,
			const struct build_stack *stack, u32 size, enum stop_reason stop)
{
	struct wire_stack *wire = &build->wire.stacks[build->wire.nr_stacks];
	struct strbuf *bytes = &build->stacks[build->wire.nr_stacks];

	assert(build->wire.nr_stacks < WIRE_MAX_STACKS);
	for (u64 at = stack->sp; at < stack->top; at += sizeof(u64))
		put_u64(bytes, *word_at((struct build_stack *)stack, at));
	wire->gva = stack->sp;
	wire->size = MIN(size, bytes->len);
	wire->kind = kind;
	wire->stop = stop;
	build->wire.nr_stacks++;
}

void build_sample_frame(struct build_sample *build, u64 ip)
{
	put_u64(&build->frames, ip);
	build->wire.nr_user_frames++;
}

int build_sample_finish(struct build_sample *build, struct sample *ret)
{
	struct strbuf *record = &build->record;
	u32 offset = sizeof(build->wire);

	build->wire.user_frames_offset = offset;
	offset += build->frames.len;
	for (unsigned int i = 0; i < build->wire.nr_stacks; i++) {
		build->wire.stacks[i].offset = offset;
		offset += build->wire.stacks[i].size;
	}
	build->wire.size = offset;
	strbuf_reset(record);
	strbuf_add(record, &build->wire, sizeof(build->wire));
	strbuf_add(record, build->frames.data, build->frames.len);
	for (unsigned int i = 0; i < build->wire.nr_stacks; i++)
		strbuf_add(record, build->stacks[i].data, build->wire.stacks[i].size);
	if (strbuf_error(record))
		return strbuf_error(record);
	return sample_init(ret, record->data, record->len);
}

void build_sample_deinit(struct build_sample *build)
{
	strbuf_deinit(&build->frames);
	strbuf_deinit(&build->record);
	for (unsigned int i = 0; i < WIRE_MAX_STACKS; i++)
		strbuf_deinit(&build->stacks[i]);
}
