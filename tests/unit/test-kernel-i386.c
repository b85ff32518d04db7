/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel chains of i386: stacks as its entry code and its functions leave them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "build-sample.h"
#include "unwind/unwind.h"

#define HIGH 0xffffffff00000000ULL
#define TEXT 0xc1000000U
#define STACK 0xc2000000U	/* of the thread */
#define IRQ_STACK 0xc3000000U
#define ENTRY_STACK 0xff80c000U	/* in the CPU entry area */
#define STACK_BYTES 8192U
#define STACK_END (STACK + STACK_BYTES)
#define PADDING 8
#define NR_REGS 17
#define TOP_REGS (STACK_END - PADDING - NR_REGS * 4)

#define KERNEL_CS 0x60
#define USER_CS 0x73
#define USER_SS 0x7b
#define USER_PC 0x8049000U
#define USER_SP 0xbff00000U

/* A return address is good when its low byte is 0x50; code at 0x20 has not made its frame. */
#define RETURN(n) (TEXT + (n) * 0x100U + 0x50)
#define AT(n) (TEXT + (n) * 0x100U + 0x80)
#define AT_START(n) (TEXT + (n) * 0x100U + 0x20)

struct world {
	u32 thread[STACK_BYTES / 4], irq[STACK_BYTES / 4], entry[STACK_BYTES / 4];
	struct build_sample sample;
	struct unwind_ops ops;
	struct unwinder unwinder;
	struct chain chain;
};

static u32 *word(struct world *w, u32 address)
{
	if (address >= ENTRY_STACK)
		return &w->entry[(address - ENTRY_STACK) / 4];
	return address >= IRQ_STACK ? &w->irq[(address - IRQ_STACK) / 4] :
				      &w->thread[(address - STACK) / 4];
}

static int find_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	(void)ctx;
	if ((pc.addr & 0xff) != 0x20)
		return -ENOENT;
	*ret_row = (struct cfi_row){
		.kind = CFI_ROW_CALL,
		.cfa = { CFI_REG_OFFSET, X86_RSP, 4 },
		.ra = { CFI_AT_CFA, 0, -4 },
	};
	return 0;
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	(void)ctx;
	(void)user;
	return (ret_addr.addr & 0xff) == 0x50 ? 0 : -EBADMSG;
}

/* A frame at @at: what EBP was and where the function returns to. */
static void frame(struct world *w, u32 at, u32 bp, u32 ret)
{
	*word(w, at) = bp;
	*word(w, at + 4) = ret;
}

static void pt_regs(struct world *w, u32 at, u32 ip, u32 cs, u32 sp, u32 bp)
{
	*word(w, at + 5 * 4) = bp;
	*word(w, at + 12 * 4) = ip;
	*word(w, at + 13 * 4) = cs;
	*word(w, at + 15 * 4) = sp;
	*word(w, at + 16 * 4) = (cs & 3) == 3 ? USER_SS : 0x68;
}

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->ops.find_row = find_row;
	w->ops.check_call = check_call;
	w->unwinder.ops = &w->ops;
	pt_regs(w, TOP_REGS, USER_PC, USER_CS, USER_SP, 0x1234);
}

/* The stack that @sp is on. */
static void add_stack(struct world *w, u32 sp, enum wire_stack_kind kind)
{
	struct wire_stack *stack = &w->sample.wire.stacks[w->sample.wire.nr_stacks];
	u32 start = sp >= ENTRY_STACK ? ENTRY_STACK : sp >= IRQ_STACK ? IRQ_STACK : STACK;
	const u8 *bytes = (const u8 *)word(w, start);

	*stack = (struct wire_stack){
		.gva = HIGH | sp,
		.size = start + STACK_BYTES - sp,
		.kind = kind,
		.stop = STOP_COMPLETE,
	};
	strbuf_add(&w->sample.stacks[w->sample.wire.nr_stacks++], bytes + (sp - start),
		   stack->size);
}

/* From @pc on, with the stacks from @sp and, if it is not 0, @next_sp on. */
static void unwind(struct world *w, u32 pc, u32 sp, u32 bp, u32 next_sp)
{
	struct sample sample;

	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, HIGH | pc, HIGH | sp);
	w->sample.wire.regs.bits = 32;
	w->sample.wire.regs.gpr[X86_RBP] = HIGH | bp;
	w->sample.wire.flags = WIRE_F_TASK;
	w->sample.wire.task.stack = HIGH | STACK;
	add_stack(w, sp, WIRE_STACK_AT_SP);
	if (next_sp)
		add_stack(w, next_sp, WIRE_STACK_THREAD);
	assert_int_equal(build_sample_finish(&w->sample, &sample), 0);
	unwind_sample(&w->unwinder, &sample, &w->chain);
}

static void assert_kernel(const struct world *w, const u32 *ips, u32 nr, enum stop_reason stop)
{
	for (u32 i = 0; i < MIN(nr, w->chain.nr_kernel); i++)
		assert_int_equal(w->chain.frames[i].ip, HIGH | ips[i]);
	assert_int_equal(w->chain.nr_kernel, nr);
	assert_int_equal(w->chain.kernel_stop, stop);
}

#define IPS(...) (const u32[]){ __VA_ARGS__ }, ARRAY_SIZE(((const u32[]){ __VA_ARGS__ }))

static void assert_user(const struct world *w)
{
	assert_int_equal(w->chain.nr, w->chain.nr_kernel + 1);
	assert_int_equal(w->chain.frames[w->chain.nr_kernel].ip, USER_PC);
	assert_int_equal(w->chain.frames[w->chain.nr_kernel].kind, FRAME_USER);
}

/* A system call: the last function has the user's EBP saved, whatever that is. */
static void test_system_call(void **state)
{
	u32 last = TOP_REGS - 12, middle = last - 64;
	struct world w;

	(void)state;
	world_init(&w);
	frame(&w, last, 0xc2001000, RETURN(1));	/* a user may have such a value there */
	frame(&w, middle, last, RETURN(2));
	unwind(&w, AT(3), middle - 16, middle, 0);
	assert_kernel(&w, IPS(AT(3), RETURN(2), RETURN(1)), STOP_COMPLETE);
	assert_int_equal(w.chain.frames[0].flags, FRAME_F_INTERRUPTED);
	assert_int_equal(w.chain.frames[2].flags, FRAME_F_RETURN);
	assert_user(&w);
	/* The last but one may be as near. */
	frame(&w, last - 24, last, RETURN(2));
	unwind(&w, AT(3), last - 32, last - 24, 0);
	assert_kernel(&w, IPS(AT(3), RETURN(2), RETURN(1)), STOP_COMPLETE);
	frame(&w, middle, last, RETURN(2));
	/* Before it has made its frame, the caller is on top of the stack. */
	*word(&w, middle - 16) = RETURN(4);
	unwind(&w, AT_START(3), middle - 16, middle, 0);
	assert_kernel(&w, IPS(AT_START(3), RETURN(4), RETURN(2), RETURN(1)), STOP_COMPLETE);
	build_sample_deinit(&w.sample);
}

/* An exception in the kernel: EBP leads to the registers, without its highest bit. */
static void test_exception(void **state)
{
	u32 last = TOP_REGS - 8, regs = last - 200, handler = regs - 16;
	struct world w;

	(void)state;
	world_init(&w);
	frame(&w, last, 0, RETURN(1));
	pt_regs(&w, regs, AT(5), KERNEL_CS, last - 40, last);
	frame(&w, handler, regs & 0x7fffffff, RETURN(6));
	unwind(&w, AT(7), handler - 8, handler, 0);
	assert_kernel(&w, IPS(AT(7), RETURN(6), AT(5), RETURN(1)), STOP_COMPLETE);
	assert_int_equal(w.chain.frames[2].flags, FRAME_F_INTERRUPTED);
	assert_user(&w);
	/* Before 5.2 there was no stack pointer: it is behind the flags. */
	*word(&w, regs + 15 * 4) = 0x1234;
	unwind(&w, AT(7), handler - 8, handler, 0);
	assert_kernel(&w, IPS(AT(7), RETURN(6), AT(5), RETURN(1)), STOP_COMPLETE);
	/* From user mode. */
	pt_regs(&w, regs, USER_PC, USER_CS, USER_SP, 0);
	unwind(&w, AT(7), handler - 8, handler, 0);
	assert_kernel(&w, IPS(AT(7), RETURN(6)), STOP_COMPLETE);
	assert_user(&w);
	build_sample_deinit(&w.sample);
}

/* An interrupt's stack: frame pointers lead over to the thread's. */
static void test_interrupt(void **state)
{
	u32 last = TOP_REGS - 8, thread = last - 100, irq = IRQ_STACK + STACK_BYTES - 40;
	struct world w;

	(void)state;
	world_init(&w);
	frame(&w, last, 0, RETURN(1));
	frame(&w, thread, last, RETURN(2));
	frame(&w, irq, thread, RETURN(3));
	unwind(&w, AT(4), irq - 8, irq, thread - 16);
	assert_kernel(&w, IPS(AT(4), RETURN(3), RETURN(2), RETURN(1)), STOP_COMPLETE);
	assert_user(&w);
	/* And not back again. */
	frame(&w, thread, irq, RETURN(2));
	unwind(&w, AT(4), irq - 8, irq, thread - 16);
	assert_int_equal(w.chain.kernel_stop, STOP_BAD_POINTER);
	build_sample_deinit(&w.sample);
}

/* The first instructions of an interrupt's code, which have only what the processor pushed. */
static void test_pushed(void **state)
{
	u32 last = TOP_REGS - 8, sp = last - 40;
	struct world w;

	(void)state;
	world_init(&w);
	frame(&w, last, 0, RETURN(1));
	/* In the kernel: three words on top of the stack; a fault's have an error code below. */
	for (u32 code = 0; code <= 4; code += 4) {
		*word(&w, sp) = 0;
		*word(&w, sp + code) = AT(2);
		*word(&w, sp + code + 4) = KERNEL_CS;
		*word(&w, sp + code + 8) = 0x246;
		unwind(&w, AT(3), sp, last, 0);
		assert_kernel(&w, IPS(AT(3), AT(2), RETURN(1)), STOP_COMPLETE);
		assert_int_equal(w.chain.frames[1].flags, FRAME_F_INTERRUPTED);
	}
	/* Flags that no processor has. */
	*word(&w, sp + 12) = 0x244;
	unwind(&w, AT(3), sp, last, 0);
	assert_kernel(&w, IPS(AT(3), RETURN(1)), STOP_COMPLETE);
	build_sample_deinit(&w.sample);
}

/* From user mode they are at the end of a page in the entry area, and all else is the user's. */
static void test_entry_stack(void **state)
{
	static const u32 pushed[] = { USER_PC, USER_CS, 0x246, USER_SP, USER_SS };
	struct world w;
	u32 sp = ENTRY_STACK + STACK_BYTES - sizeof(pushed);

	(void)state;
	world_init(&w);
	for (u32 i = 0; i < ARRAY_SIZE(pushed); i++)
		*word(&w, sp + i * 4) = pushed[i];
	unwind(&w, AT(1), sp, 0xbfff1000, 0);
	assert_kernel(&w, IPS(AT(1)), STOP_COMPLETE);
	assert_user(&w);
	/* A little later, with something on top. */
	unwind(&w, AT(1), sp - 8, 0xbfff1000, 0);
	assert_kernel(&w, IPS(AT(1)), STOP_COMPLETE);
	assert_user(&w);
	/* None of a user's: what capture says of the user part has to do. */
	*word(&w, sp + 16) = 0x246;
	unwind(&w, AT(1), sp, 0xbfff1000, 0);
	assert_kernel(&w, IPS(AT(1)), STOP_COMPLETE);
	assert_int_equal(w.chain.nr, 1);
	build_sample_deinit(&w.sample);
}

/* Entry code that has stored some of the user's registers, or loaded some of them again. */
static void test_half_stored(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	for (u32 sp = TOP_REGS; sp <= TOP_REGS + NR_REGS * 4; sp += 4) {
		unwind(&w, AT(1), sp, 0xbfff1000, 0);
		assert_kernel(&w, IPS(AT(1)), STOP_COMPLETE);
		if (sp <= TOP_REGS + 12 * 4)
			assert_user(&w);
		else
			assert_int_equal(w.chain.nr, 1);
	}
	unwind(&w, AT(1), TOP_REGS - 4, 0xbfff1000, 0);
	assert_int_equal(w.chain.kernel_stop, STOP_BAD_POINTER);
	build_sample_deinit(&w.sample);
}

/* A thread of the kernel's has no user registers there, an idle one nothing at all. */
static void test_kernel_thread(void **state)
{
	u32 first = TOP_REGS - 80;
	struct world w;

	(void)state;
	world_init(&w);
	pt_regs(&w, TOP_REGS, 0, 0, 0, 0);
	frame(&w, first, TOP_REGS & 0x7fffffff, RETURN(1));
	unwind(&w, AT(2), first - 8, first, 0);
	assert_kernel(&w, IPS(AT(2), RETURN(1)), STOP_COMPLETE);
	assert_int_equal(w.chain.nr, 2);
	frame(&w, first, 0, RETURN(1));
	unwind(&w, AT(2), first - 8, first, 0);
	assert_kernel(&w, IPS(AT(2), RETURN(1)), STOP_COMPLETE);
	build_sample_deinit(&w.sample);
}

static void test_hostile(void **state)
{
	u32 at = STACK + 0x1000;
	struct world w;

	(void)state;
	world_init(&w);
	frame(&w, at, at, RETURN(1));		/* bites its tail */
	unwind(&w, AT(2), at - 8, at, 0);
	assert_kernel(&w, IPS(AT(2), RETURN(1)), STOP_BAD_POINTER);
	frame(&w, at, at + 64, RETURN(1) + 1);	/* behind no call */
	unwind(&w, AT(2), at - 8, at, 0);
	assert_kernel(&w, IPS(AT(2)), STOP_BAD_RETURN);
	frame(&w, at, 0xd0000000, RETURN(1));	/* no stack of ours */
	unwind(&w, AT(2), at - 8, at, 0);
	assert_kernel(&w, IPS(AT(2), RETURN(1)), STOP_BAD_POINTER);
	frame(&w, at, 0x50000000, RETURN(1));	/* no registers there */
	unwind(&w, AT(2), at - 8, at, 0);
	assert_kernel(&w, IPS(AT(2), RETURN(1)), STOP_BAD_POINTER);
	frame(&w, at, (at + 64) & 0x7fffffff, RETURN(1));	/* of code that is nowhere */
	pt_regs(&w, at + 64, 0x1000, KERNEL_CS, 0, 0);
	unwind(&w, AT(2), at - 8, at, 0);
	assert_kernel(&w, IPS(AT(2), RETURN(1)), STOP_BAD_RETURN);
	unwind(&w, AT(2), at - 8, at - 64, 0);	/* EBP below ESP */
	assert_int_equal(w.chain.nr_kernel, 1);
	assert_int_not_equal(w.chain.kernel_stop, STOP_COMPLETE);
	build_sample_deinit(&w.sample);
}

/* Copies that end, or do not begin, anywhere: no frame more, and complete only by what is there. */
static void test_cut(void **state)
{
	u32 last = TOP_REGS - 12, regs = last - 200, handler = regs - 16;
	struct wire_stack *stack;
	struct sample sample;
	struct world w;
	u32 whole;

	(void)state;
	world_init(&w);
	frame(&w, last, 0, RETURN(1));
	pt_regs(&w, regs, AT(5), KERNEL_CS, last - 40, last);
	frame(&w, handler, regs & 0x7fffffff, RETURN(6));
	unwind(&w, AT(7), handler - 8, handler, 0);
	assert_kernel(&w, IPS(AT(7), RETURN(6), AT(5), RETURN(1)), STOP_COMPLETE);
	stack = &w.sample.wire.stacks[0];
	whole = w.sample.stacks[0].len;
	for (u32 size = 0; size < whole; size++) {
		stack->size = w.sample.stacks[0].len = size;
		stack->stop = STOP_NOT_PRESENT;
		assert_int_equal(build_sample_finish(&w.sample, &sample), 0);
		unwind_sample(&w.unwinder, &sample, &w.chain);
		assert_in_range(w.chain.nr_kernel, 1, 4);
		assert_int_not_equal(w.chain.kernel_stop, STOP_COMPLETE);
		if (size < 16)
			assert_int_equal(w.chain.nr_kernel, 1);
	}
	build_sample_deinit(&w.sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_call),
		cmocka_unit_test(test_exception),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_pushed),
		cmocka_unit_test(test_entry_stack),
		cmocka_unit_test(test_half_stored),
		cmocka_unit_test(test_kernel_thread),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
