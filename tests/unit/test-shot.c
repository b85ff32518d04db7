/* SPDX-License-Identifier: GPL-2.0-only */
/* Taking shots of a guest that was built for it: the code that BPF runs at each event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-shot.h"
#include "model/sample.h"

static struct build_shot build;
static struct shot shot;

static int setup(void **state)
{
	(void)state;
	return build_shot_init(&build, MMU_MODE_X86_4LEVEL);
}

static int teardown(void **state)
{
	(void)state;
	build_shot_deinit(&build);
	return 0;
}

/* Takes it, and checks that the record holds together. */
static struct sample take(void)
{
	struct sample sample;

	build_shot_take(&build, &shot);
	assert_int_equal(sample_init(&sample, &shot.wire, shot.wire.size), 0);
	return sample;
}

static void check_frames(const struct sample *sample, unsigned int nr, u8 stop)
{
	assert_int_equal(sample->wire->nr_user_frames, nr);
	assert_int_equal(sample->wire->user_stop, stop);
	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(sample->user_frames[i], build_shot_return(i));
}

static void check_task(const struct sample *sample)
{
	const struct wire_task *task = &sample->wire->task;

	assert_true(sample->wire->flags & WIRE_F_TASK);
	assert_int_equal(task->task, BUILD_SHOT_TASK);
	assert_int_equal(task->tid, 43);
	assert_int_equal(task->pid, 42);
	assert_string_equal(task->comm, "worker");
	assert_int_equal(task->stack, BUILD_SHOT_THREAD);
}

/* That stack @i of the record is the guest's memory from @sp to @end. */
static void check_stack(const struct sample *sample, unsigned int i, u64 sp, u64 end, u8 kind)
{
	const struct wire_stack *stack = &sample->wire->stacks[i];
	struct mmu_space space = build_pagetable_space(&build.pt);
	u8 copied[WIRE_MAX_STACK_BYTES], there[WIRE_MAX_STACK_BYTES];

	assert_true(i < sample->wire->nr_stacks);
	assert_int_equal(stack->gva, sp);
	assert_int_equal(stack->size, end - sp);
	assert_int_equal(stack->kind, kind);
	assert_int_equal(stack->stop, STOP_COMPLETE);
	assert_int_equal(sample_read_stack(sample, GVA(sp), copied, end - sp), 0);
	assert_int_equal(mmu_read(&space, mem_fake_reader(build.mem), GVA(sp), there, end - sp), 0);
	assert_memory_equal(copied, there, end - sp);
}

static void set(u64 gva, u64 value)
{
	assert_int_equal(build_shot_set(&build, gva, value), 0);
}

/* The entry that maps @gva, in the guest's last-level table. */
static u64 leaf_of(u64 gva)
{
	return build_pagetable_entry(&build.pt, gva, 0);
}

static void unmap(u64 gva)
{
	assert_int_equal(build_pagetable_put(&build.pt, leaf_of(gva), 0), 0);
}

static void test_user_chain(void **state)
{
	struct sample sample = take();

	(void)state;
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	check_task(&sample);
	assert_int_equal(sample.wire->flags, WIRE_F_USER | WIRE_F_TASK);
	assert_int_equal(sample.wire->user_pc, BUILD_SHOT_USER_PC);
	assert_int_equal(sample.wire->nr_stacks, 0);
	assert_int_equal(shot.percpu, BUILD_SHOT_PERCPU);
}

static void test_five_levels(void **state)
{
	struct sample sample;

	build_shot_deinit(&build);
	assert_int_equal(build_shot_init(&build, MMU_MODE_X86_5LEVEL), 0);
	sample = take();
	(void)state;
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	check_task(&sample);
}

/* A frame whose two words are in two pages. */
static void test_frame_across_pages(void **state)
{
	u64 at = BUILD_SHOT_USER + 0xff8;
	struct sample sample;

	(void)state;
	set(build_shot_frame(0), at);
	set(at, build_shot_frame(8));
	set(at + 8, build_shot_return(1));
	sample = take();
	assert_int_equal(sample.wire->nr_user_frames, 2 + BUILD_SHOT_FRAMES - 8);
	assert_int_equal(sample.user_frames[1], build_shot_return(1));
	assert_int_equal(sample.user_frames[2], build_shot_return(8));
	assert_int_equal(sample.wire->user_stop, STOP_COMPLETE);
}

/* The first frame that is in page @page of the user stack. */
static unsigned int first_frame_in(unsigned int page)
{
	for (unsigned int i = 0;; i++) {
		if (build_shot_frame(i) + 16 > BUILD_SHOT_USER + page * SHOT_PAGE)
			return i;
	}
}

static void test_hole(void **state)
{
	struct sample sample;

	(void)state;
	unmap(BUILD_SHOT_USER + 2 * SHOT_PAGE);
	sample = take();
	check_frames(&sample, first_frame_in(2), STOP_NOT_PRESENT);
}

/* The user's chain before and in the middle of a task switch: by the tables of the task. */
static void check_switched(void)
{
	struct sample sample;

	build_shot_enter_kernel(&build, BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES - 0x200);
	sample = take();
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	assert_int_equal(sample.wire->user_root, 0);
	assert_int_equal(build_shot_switch_mm(&build), 0);
	sample = take();
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	assert_int_equal(sample.wire->user_root, build.pt.root);
	assert_true(sample.wire->nr_stacks > 0);
}

/* In the middle of a task switch CR3 is the next task's already. */
static void test_switched_mm(void **state)
{
	struct sample sample;

	(void)state;
	check_switched();
	build.vm.guest.mm_pgd_offset = 0;	/* not known: the wrong tables have no such page */
	sample = take();
	check_frames(&sample, 0, STOP_NOT_PRESENT);
	assert_int_equal(sample.wire->user_root, 0);
}

/* Where it is not known which memory is loaded, by the tables. */
static void test_switched_tables(void **state)
{
	(void)state;
	build.vm.guest.loaded_mm_offset = 0;
	check_switched();
}

/* execve() clears the registers when the old stack is gone already. */
static void test_cleared_registers(void **state)
{
	u64 top = BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES;
	struct sample sample;

	(void)state;
	build_shot_enter_kernel(&build, top - 0x200);
	set(top - 168 + 4 * 8, 0);	/* RBP */
	sample = take();
	check_frames(&sample, 0, STOP_COMPLETE);
	assert_false(sample.wire->flags & WIRE_F_USER_GONE);
	set(top - 16, 0x7ffd00000000);	/* RSP */
	sample = take();	/* no code is mapped in this guest */
	check_frames(&sample, 0, STOP_NOT_PRESENT);
	assert_true(sample.wire->flags & WIRE_F_USER_GONE);
	set(top - 40, BUILD_SHOT_USER);	/* RIP, at something that is */
	sample = take();
	check_frames(&sample, 0, STOP_NOT_PRESENT);
	assert_false(sample.wire->flags & WIRE_F_USER_GONE);
}

/* The same where RBP was just a number: by the system call and the code that made it. */
static void test_exec(void **state)
{
	u64 top = BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES;
	struct sample sample;

	(void)state;
	build_shot_enter_kernel(&build, top - 0x200);
	set(top - 168 + 4 * 8, 7);	/* RBP */
	sample = take();
	check_frames(&sample, 0, STOP_BAD_POINTER);
	assert_false(sample.wire->flags & WIRE_F_USER_GONE);
	for (u64 nr = 59; nr <= 322; nr += 322 - 59) {
		set(top - 48, nr);	/* the system call */
		sample = take();	/* no code is mapped in this guest */
		check_frames(&sample, 0, STOP_BAD_POINTER);
		assert_true(sample.wire->flags & WIRE_F_USER_GONE);
	}
	set(top - 40, BUILD_SHOT_USER);	/* RIP: memory is still the old program's */
	sample = take();
	assert_false(sample.wire->flags & WIRE_F_USER_GONE);
}

static void test_host_fault(void **state)
{
	struct sample sample;

	(void)state;
	build.fault_hva = BUILD_SHOT_HVA + BUILD_SHOT_USER_GPA + 0x3000 - SHOT_PAGE;
	sample = take();
	check_frames(&sample, first_frame_in(1), STOP_HOST_FAULT);
}

static void test_no_slot(void **state)
{
	struct sample sample;

	(void)state;
	build_pagetable_put(&build.pt, leaf_of(BUILD_SHOT_USER + SHOT_PAGE), 0x12345000 | 7);
	sample = take();
	check_frames(&sample, first_frame_in(1), STOP_NO_SLOT);
}

static void expect_stop_at(unsigned int frame, u64 saved_fp, u8 stop)
{
	struct sample sample;

	set(build_shot_frame(frame), saved_fp);
	sample = take();
	check_frames(&sample, frame + 1, stop);
}

static void test_bad_pointers(void **state)
{
	(void)state;
	expect_stop_at(5, build_shot_frame(5), STOP_BAD_POINTER);	/* itself */
	expect_stop_at(5, build_shot_frame(2), STOP_BAD_POINTER);	/* a cycle */
	expect_stop_at(5, build_shot_frame(5) + 8, STOP_BAD_POINTER);	/* overlapping */
	expect_stop_at(5, build_shot_frame(6) + 4, STOP_BAD_POINTER);	/* misaligned */
	expect_stop_at(5, 0x8000000000000000, STOP_BAD_POINTER);
	expect_stop_at(5, BUILD_SHOT_DIRECT, STOP_BAD_POINTER);		/* the kernel's */
	expect_stop_at(5, 0x00800000000000f0, STOP_BAD_POINTER);	/* not canonical */
	expect_stop_at(5, 0x7fff00000000, STOP_NOT_PRESENT);
	expect_stop_at(5, 0, STOP_COMPLETE);
}

static void test_first_pointer(void **state)
{
	struct sample sample;

	(void)state;
	build.regs.gpr[X86_RBP] = build.regs.gpr[X86_RSP] - 16;	/* below the stack pointer */
	sample = take();
	check_frames(&sample, 0, STOP_BAD_POINTER);
	build.regs.gpr[X86_RBP] = 0;
	sample = take();
	check_frames(&sample, 0, STOP_COMPLETE);
}

static void test_return_addresses(void **state)
{
	struct sample sample;

	(void)state;
	set(build_shot_frame(3) + 8, 0);
	sample = take();
	check_frames(&sample, 3, STOP_BAD_RETURN);
	set(build_shot_frame(3) + 8, 17);
	sample = take();
	check_frames(&sample, 3, STOP_BAD_RETURN);
	set(build_shot_frame(3) + 8, BUILD_SHOT_KERNEL_PC);
	sample = take();
	check_frames(&sample, 3, STOP_BAD_RETURN);
}

static void test_depth(void **state)
{
	struct sample sample;

	(void)state;
	for (unsigned int depth = 0; depth <= BUILD_SHOT_FRAMES + 1; depth++) {
		user_shot_begin(&shot, &build.env);
		shot.wire.regs = build.regs;
		shot.max_depth = depth;
		user_shot_take(&shot, true);
		assert_int_equal(sample_init(&sample, &shot.wire, shot.wire.size), 0);
		check_frames(&sample, MIN(depth, BUILD_SHOT_FRAMES),
			     depth < BUILD_SHOT_FRAMES ? STOP_DEPTH : STOP_COMPLETE);
	}
}

static void test_compat(void **state)
{
	u64 frame = BUILD_SHOT_FIRST_FRAME;
	struct sample sample;

	(void)state;
	/* Pairs of 32-bit words; 32-bit programs live below 4 GiB, the walk does not ask. */
	assert_int_equal(build_pagetable_map(&build.pt, 0xffd00000, 0xe000, SHOT_PAGE,
					     MMU_WRITE | MMU_USER), 0);
	set(0xffd00100, 0x804900000000000 | 0xffd00204);	/* aligned to 4 */
	set(0xffd00204, 0x804aaaa00000000);
	build.regs.bits = 32;
	build.regs.gpr[X86_RSP] = 0xffd000f0;
	build.regs.gpr[X86_RBP] = 0xffd00100;
	sample = take();
	assert_int_equal(sample.wire->nr_user_frames, 2);
	assert_int_equal(sample.user_frames[0], 0x8049000);
	assert_int_equal(sample.user_frames[1], 0x804aaaa);
	assert_int_equal(sample.wire->user_stop, STOP_COMPLETE);
	build.regs.bits = 16;
	build.regs.gpr[X86_RBP] = frame;
	sample = take();
	check_frames(&sample, 0, STOP_UNSUPPORTED);
}

static void test_system_call(void **state)
{
	u64 top = BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES, sp = top - 0x1358;
	struct sample sample;

	(void)state;
	for (u64 at = sp; at < top - 168; at += 8)
		set(at, at ^ 0x1111);
	build_shot_enter_kernel(&build, sp);
	sample = take();
	check_task(&sample);
	assert_int_equal(sample.wire->nr_stacks, 1);
	check_stack(&sample, 0, sp, top, WIRE_STACK_AT_SP);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	assert_int_equal(sample.wire->user_pc, BUILD_SHOT_USER_PC);
	assert_int_equal(sample.wire->user_sp, BUILD_SHOT_FIRST_FRAME - 16);
	assert_false(sample.wire->flags & WIRE_F_USER);
}

/* Where the copy of the stack at @sp begins, if it is not a small one: what its page has. */
static u64 with_red_zone(u64 sp)
{
	return sp - MIN(128U, sp % SHOT_PAGE);
}

/* The user stack is copied behind the kernel's ones, up to a limit or to its end. */
static void check_user_stack(u32 limit, u64 sp, u64 end, u8 stop)
{
	struct wire_stack *stack;
	struct sample sample;
	u32 i;

	build.user_stack = limit;
	sample = take();
	assert_true(sample.wire->nr_stacks > 0);
	i = sample.wire->nr_stacks - 1;
	stack = &shot.wire.stacks[i];
	assert_int_equal(stack->stop, stop);
	stack->stop = STOP_COMPLETE;
	check_stack(&sample, i, sp, end, WIRE_STACK_USER);
}

static void test_user_stack(void **state)
{
	u64 sp = BUILD_SHOT_FIRST_FRAME - 16, end = BUILD_SHOT_USER + BUILD_SHOT_USER_BYTES;
	struct sample sample;

	(void)state;
	check_user_stack(1, sp, sp + 1, STOP_STACK_CUT);
	check_user_stack(1000, sp, sp + 1000, STOP_STACK_CUT);
	sp = with_red_zone(sp);
	check_user_stack(8192, sp, sp + 8192, STOP_STACK_CUT);
	check_user_stack(end - sp, sp, end, STOP_STACK_CUT);
	/* All of it, but whether that is all is not known. */
	check_user_stack(UINT32_MAX, sp, end, STOP_STACK_CUT);
	assert_int_equal(shot.wire.nr_stacks, 1);
	check_frames(&(struct sample){ &shot.wire, (u64 *)shot.data }, BUILD_SHOT_FRAMES,
		     STOP_COMPLETE);
	/* In a system call. */
	build_shot_enter_kernel(&build, BUILD_SHOT_THREAD + 0x3000);
	check_user_stack(8192, sp, sp + 8192, STOP_STACK_CUT);
	assert_int_equal(shot.wire.nr_stacks, 2);
	assert_int_equal(shot.wire.stacks[0].kind, WIRE_STACK_AT_SP);
	/* The end. */
	unmap(BUILD_SHOT_USER + 2 * SHOT_PAGE);
	unmap(BUILD_SHOT_USER + 3 * SHOT_PAGE);
	check_user_stack(UINT32_MAX, sp, BUILD_SHOT_USER + 2 * SHOT_PAGE, STOP_NOT_PRESENT);
	/* Neither it nor the code is there. */
	unmap(BUILD_SHOT_USER);
	sample = take();
	assert_true(sample.wire->flags & WIRE_F_USER_GONE);
	assert_int_equal(sample.wire->nr_stacks, 1);
}

/* That the copy from @from on holds what pages @there (bit n: page n) of the stack have. */
static void check_holes(u32 there, u64 from, u32 limit)
{
	const struct wire_stack *stack = &shot.wire.stacks[0];
	const u8 *copied = (const u8 *)&shot.wire + stack->offset;
	u64 end = from;

	for (u64 page = 0; page < 4; page++) {
		u64 low = MAX(BUILD_SHOT_USER + page * SHOT_PAGE, from);
		u64 high = MIN(BUILD_SHOT_USER + (page + 1) * SHOT_PAGE, from + limit);

		if (low >= high)
			continue;
		if (there & 1U << page)
			end = high;
		for (u64 at = low; at < MIN(high, from + stack->size); at++)
			assert_int_equal(copied[at - from],
					 there & 1U << page ? at / SHOT_PAGE % 4 + 1 : 0);
	}
	assert_int_equal(stack->gva, from);
	assert_int_equal(stack->size, end - from);
	assert_int_equal(stack->stop, end == from + limit ? STOP_STACK_CUT : STOP_NOT_PRESENT);
	for (u64 page = 0; page < 8; page++) {
		u64 low = BUILD_SHOT_USER + page * SHOT_PAGE, skip = MAX(low, from) - from;

		if (low + SHOT_PAGE <= from || MAX(low, from) >= end) {
			assert_false(stack->holes & 1U << page);
			continue;
		}
		assert_int_equal(!(stack->holes & 1U << page), !!(there & 1U << page));
		assert_int_equal(!wire_stack_in_hole(stack, skip, 1), !!(there & 1U << page));
	}
}

/* Pages that were never touched are left out, whichever they are. */
static void test_holes(void **state)
{
	static const u32 limits[] = { 1024, 4096, 8192, 3 * SHOT_PAGE, WIRE_MAX_STACK_BYTES };
	u64 present[4], sp = BUILD_SHOT_USER + 0x800, reads = 0;

	(void)state;
	build.regs.gpr[X86_RSP] = sp;
	build.regs.gpr[X86_RBP] = 0;
	for (u64 at = BUILD_SHOT_USER; at < BUILD_SHOT_USER + BUILD_SHOT_USER_BYTES; at += 8)
		set(at, (at / SHOT_PAGE % 4 + 1) * 0x0101010101010101);
	for (u64 page = 0; page < 4; page++)
		present[page] = build_pagetable_get(&build.pt,
						    leaf_of(BUILD_SHOT_USER + page * SHOT_PAGE));
	for (u32 there = 16; there--;) {
		for (u64 page = 0; page < 4; page++)
			build_pagetable_put(&build.pt, leaf_of(BUILD_SHOT_USER + page * SHOT_PAGE),
					    there & 1U << page ? present[page] : 0);
		for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
			build.user_stack = limits[i];
			memset(shot.data, 0xee, sizeof(shot.data));
			build.reads = 0;
			take();
			check_holes(there, sp - 128, limits[i]);
			reads = there == 15 ? build.reads : reads;
			assert_true(build.reads <= reads);
		}
	}
}

static void test_red_zone(void **state)
{
	u64 sp = BUILD_SHOT_USER + 0x800, end = BUILD_SHOT_USER + BUILD_SHOT_USER_BYTES;

	(void)state;
	build.regs.gpr[X86_RSP] = sp;
	check_user_stack(WIRE_MAX_STACK_BYTES, sp - 128, end, STOP_NOT_PRESENT);
	check_user_stack(8192, sp - 128, sp - 128 + 8192, STOP_STACK_CUT);
	check_user_stack(1023, sp, sp + 1023, STOP_STACK_CUT);
	/* Not that of another page. */
	build.user_stack = WIRE_MAX_STACK_BYTES;
	for (u64 below = 0; below < 256; below += 8) {
		build.regs.gpr[X86_RSP] = BUILD_SHOT_USER + below;
		check_user_stack(WIRE_MAX_STACK_BYTES, BUILD_SHOT_USER + below - MIN(below, 128U),
				 end, below <= 128 ? STOP_STACK_CUT : STOP_NOT_PRESENT);
		build.regs.gpr[X86_RSP] = below;
		assert_int_equal(take().wire->stacks[0].size, 0);
	}
}

/* A thread's ends below its control block. */
static void test_stack_end(void **state)
{
	u64 sp = BUILD_SHOT_USER + 0x800, end = BUILD_SHOT_USER + BUILD_SHOT_USER_BYTES;

	(void)state;
	build.regs.gpr[X86_RSP] = sp;
	build.regs.x86.fs_base = sp + 0x1004;
	check_user_stack(WIRE_MAX_STACK_BYTES, sp - 128, sp + 0x1004, STOP_COMPLETE);
	check_user_stack(0x1000, sp - 128, sp - 128 + 0x1000, STOP_STACK_CUT);
	build.regs.x86.fs_base = sp;
	check_user_stack(WIRE_MAX_STACK_BYTES, sp - 128, end, STOP_NOT_PRESENT);
	build.regs.x86.fs_base = end + SHOT_PAGE;
	check_user_stack(WIRE_MAX_STACK_BYTES, sp - 128, end, STOP_NOT_PRESENT);
	build.regs.x86.fs_base = ~0ULL;
	check_user_stack(WIRE_MAX_STACK_BYTES, sp - 128, end, STOP_NOT_PRESENT);
	build.regs.x86.fs_base = sp + 1;
	check_user_stack(WIRE_MAX_STACK_BYTES, sp - 128, sp + 1, STOP_COMPLETE);
}

#define ALT_SP (BUILD_SHOT_ALT + 0x100)
#define ALT_END (BUILD_SHOT_ALT + BUILD_SHOT_ALT_BYTES)
#define CAME_AT (BUILD_SHOT_USER + 0x2238)

/* In a handler on the alternate stack, with room for all. */
static void enter_handler(void)
{
	assert_int_equal(build_shot_alt_stack(&build), 0);
	build.regs.gpr[X86_RSP] = ALT_SP;
	build.user_stack = WIRE_MAX_STACK_BYTES;
}

static void put_signal(u64 frame, u64 sp)
{
	assert_int_equal(build_shot_signal(&build, frame, sp), 0);
}

/* That both stacks are there, the alternate one from @sp on. */
static void check_both_stacks(u64 sp)
{
	u64 end = BUILD_SHOT_USER + BUILD_SHOT_USER_BYTES;
	struct sample sample = take();
	u32 i = sample.wire->nr_stacks - 2;

	assert_true(sample.wire->nr_stacks >= 2);
	check_stack(&sample, i, sp - 128, ALT_END, WIRE_STACK_USER);
	assert_int_equal(sample.wire->stacks[i + 1].stop, STOP_NOT_PRESENT);
	shot.wire.stacks[i + 1].stop = STOP_COMPLETE;
	check_stack(&sample, i + 1, CAME_AT - 128, end, WIRE_STACK_USER);
}

/* A signal's frame anywhere on the alternate stack leads to the stack that it came on. */
static void test_alt_stack(void **state)
{
	(void)state;
	enter_handler();
	assert_int_equal(take().wire->nr_stacks, 1);
	for (u64 frame = ALT_SP; frame + 176 <= ALT_END; frame += 8) {
		put_signal(frame, CAME_AT);
		check_both_stacks(ALT_SP);
	}
	/* Beside the stack. */
	for (u64 frame = ALT_SP; frame < ALT_END; frame += 8)
		set(frame, 0);
	for (u64 frame = ALT_END - 168; frame < ALT_END; frame += 8) {
		put_signal(frame, CAME_AT);
		assert_int_equal(take().wire->nr_stacks, 1);
	}
}

/* What makes no frame of a signal that led there, and no alternate stack. */
static void test_no_signal_frame(void **state)
{
	static const unsigned int words[] = { 2, 3, 5 };
	u64 frame = ALT_SP + 0x400;

	(void)state;
	enter_handler();
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		put_signal(frame, CAME_AT);
		set(frame + 8 * words[i], 8);
		assert_int_equal(take().wire->nr_stacks, 1);
	}
	/* One that came on the alternate stack; and then the one before it. */
	put_signal(frame, ALT_SP + 0x800);
	assert_int_equal(take().wire->nr_stacks, 1);
	put_signal(frame + 0x800, CAME_AT);
	check_both_stacks(ALT_SP);
	put_signal(frame + 0xc00, BUILD_SHOT_DIRECT);
	assert_int_equal(take().wire->nr_stacks, 1);
	put_signal(frame + 0xc00, 0);
	assert_int_equal(take().wire->nr_stacks, 1);
	put_signal(frame + 0xc00, CAME_AT);
	/* Not a word's address. */
	build.regs.gpr[X86_RSP] = ALT_SP + 4;
	assert_int_equal(take().wire->nr_stacks, 1);
	/* Below the alternate stack, and at its ends. */
	build.regs.gpr[X86_RSP] = BUILD_SHOT_ALT - 8;
	assert_int_equal(take().wire->nr_stacks, 1);
	assert_int_equal(shot.wire.stacks[0].stop, STOP_NOT_PRESENT);
	build.regs.gpr[X86_RSP] = BUILD_SHOT_ALT;
	check_both_stacks(BUILD_SHOT_ALT);
	build.regs.gpr[X86_RSP] = ALT_END;
	assert_int_equal(take().wire->nr_stacks, 1);
	assert_int_equal(shot.wire.stacks[0].stop, STOP_NOT_PRESENT);
	/* It is not known which stack that is: then it goes on above its end. */
	build.regs.gpr[X86_RSP] = ALT_SP;
	build.vm.guest.task_alt_stack_offset = 0;
	assert_int_equal(take().wire->nr_stacks, 1);
	assert_int_equal(shot.wire.stacks[0].stop, STOP_NOT_PRESENT);
}

/* Both stacks together have no more bytes than one may have. */
static void test_alt_stack_limit(void **state)
{
	u32 alt_bytes = ALT_END - ALT_SP + 128;
	const struct wire_stack *stacks = shot.wire.stacks;

	(void)state;
	enter_handler();
	put_signal(ALT_SP + 0x200, CAME_AT);
	for (build.user_stack = 1024; build.user_stack < 15000; build.user_stack += 1000) {
		u32 whole = 0x4000 - CAME_AT % 0x4000 + 128;
		u32 left = build.user_stack > alt_bytes ? build.user_stack - alt_bytes : 0;

		assert_int_equal(take().wire->nr_stacks, 2);
		assert_int_equal(stacks[0].size, MIN(build.user_stack, alt_bytes));
		assert_int_equal(stacks[0].stop,
				 build.user_stack < alt_bytes ? STOP_STACK_CUT : STOP_COMPLETE);
		assert_int_equal(stacks[1].size, MIN(left, whole));
		assert_int_equal(stacks[1].stop, STOP_STACK_CUT);
	}
}

/* Whose user stack is not copied. */
static void test_no_user_stack(void **state)
{
	(void)state;
	build.user_stack = WIRE_MAX_STACK_BYTES;
	build.regs.bits = 16;
	assert_int_equal(take().wire->nr_stacks, 0);
	assert_false(shot.wire.flags & WIRE_F_USER_32);
	build.regs.bits = 32;
	assert_int_equal(take().wire->nr_stacks, 1);
	assert_true(shot.wire.flags & WIRE_F_USER_32);
	build.regs.bits = 64;
	assert_int_equal(take().wire->nr_stacks, 1);
	assert_false(shot.wire.flags & WIRE_F_USER_32);
	build.regs.gpr[X86_RSP] = BUILD_SHOT_USER - WIRE_MAX_STACK_BYTES - 64;
	assert_int_equal(take().wire->nr_stacks, 1);
	assert_int_equal(shot.wire.stacks[0].size, 0);
	assert_int_equal(shot.wire.stacks[0].stop, STOP_NOT_PRESENT);
	build.regs.gpr[X86_RSP] = BUILD_SHOT_DIRECT;
	assert_int_equal(take().wire->nr_stacks, 0);
	build_shot_enter_kernel(&build, BUILD_SHOT_THREAD + 0x3000);
	assert_int_equal(take().wire->nr_stacks, 2);
	build.user_stack = 0;
	assert_int_equal(take().wire->nr_stacks, 1);
}

/* All stacks at once, each as large as can be: they have room. */
static void test_all_stacks(void **state)
{
	u64 irq_sp = BUILD_SHOT_IRQ, thread_sp = BUILD_SHOT_THREAD;
	u64 user_sp = with_red_zone(BUILD_SHOT_FIRST_FRAME - 16);
	struct sample sample;

	(void)state;
	set(BUILD_SHOT_IRQ + BUILD_SHOT_STACK_BYTES - 8, thread_sp);
	build_shot_hw_frame(&build, BUILD_SHOT_NMI + SHOT_PAGE, 0x10, BUILD_SHOT_KERNEL_PC, irq_sp);
	build_shot_enter_kernel(&build, BUILD_SHOT_NMI);
	build.user_stack = WIRE_MAX_STACK_BYTES;
	sample = take();
	assert_int_equal(sample.wire->nr_stacks, 4);
	assert_int_equal(sample.wire->stacks[1].size, BUILD_SHOT_STACK_BYTES);
	assert_int_equal(sample.wire->stacks[2].size, BUILD_SHOT_STACK_BYTES);
	assert_int_equal(sample.wire->stacks[3].kind, WIRE_STACK_USER);
	assert_int_equal(sample.wire->stacks[3].gva, user_sp);
	assert_int_equal(sample.wire->stacks[3].size,
			 BUILD_SHOT_USER + BUILD_SHOT_USER_BYTES - user_sp);
	/* And in a signal's handler. */
	enter_handler();
	put_signal(ALT_SP + 0x400, CAME_AT);
	build_shot_hw_frame(&build, BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES, 0x33,
			    BUILD_SHOT_USER_PC, ALT_SP);
	build_shot_enter_kernel(&build, BUILD_SHOT_NMI);
	check_both_stacks(ALT_SP);
	assert_int_equal(shot.wire.nr_stacks, WIRE_MAX_STACKS);
}

/* Every place of a stack, among them the first byte and the last word. */
static void test_whole_stack(void **state)
{
	u64 top = BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES;
	struct sample sample;

	(void)state;
	for (u64 sp = BUILD_SHOT_THREAD; sp < top; sp += 0x3f8) {
		build_shot_enter_kernel(&build, sp);
		sample = take();
		check_stack(&sample, 0, sp, top, WIRE_STACK_AT_SP);
	}
	build_shot_enter_kernel(&build, top - 8);
	sample = take();
	check_stack(&sample, 0, top - 8, top, WIRE_STACK_AT_SP);
}

static void test_irq_stack(void **state)
{
	u64 thread_sp = BUILD_SHOT_THREAD + 0x3000, end = BUILD_SHOT_IRQ + BUILD_SHOT_STACK_BYTES;
	struct sample sample;

	(void)state;
	set(end - 8, thread_sp);
	build_shot_enter_kernel(&build, end - 0x208);
	sample = take();
	assert_int_equal(sample.wire->nr_stacks, 2);
	check_stack(&sample, 0, end - 0x208, end, WIRE_STACK_AT_SP);
	check_stack(&sample, 1, thread_sp, BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES,
		    WIRE_STACK_THREAD);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
}

static void test_nmi_in_irq(void **state)
{
	u64 irq_sp = BUILD_SHOT_IRQ + 0x3f00, irq_end = BUILD_SHOT_IRQ + BUILD_SHOT_STACK_BYTES;
	u64 thread_sp = BUILD_SHOT_THREAD + 0x2ff0, end = BUILD_SHOT_NMI + SHOT_PAGE;
	struct sample sample;

	(void)state;
	set(irq_end - 8, thread_sp);
	build_shot_hw_frame(&build, end, 0x10, BUILD_SHOT_KERNEL_PC, irq_sp);
	build_shot_enter_kernel(&build, end - 0x100);
	sample = take();
	assert_int_equal(sample.wire->nr_stacks, 3);
	check_stack(&sample, 0, end - 0x100, end, WIRE_STACK_AT_SP);
	check_stack(&sample, 1, irq_sp, irq_end, WIRE_STACK_IRQ);
	check_stack(&sample, 2, thread_sp, BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES,
		    WIRE_STACK_THREAD);
}

/* Stacks that lead to each other end. */
static void test_stack_loop(void **state)
{
	u64 end = BUILD_SHOT_NMI + SHOT_PAGE;
	struct sample sample;

	(void)state;
	build_shot_hw_frame(&build, end, 0x10, BUILD_SHOT_KERNEL_PC, end - 0x80);
	build_shot_enter_kernel(&build, end - 0x100);
	sample = take();
	assert_int_equal(sample.wire->nr_stacks, 3);
}

#define LDT (BUILD_SHOT_DIRECT + 0xfc00)

/* Code in a segment of the LDT: of 32 bits, and an offset in what the kernel has of it. */
static void test_ldt_code(void **state)
{
	u64 top = BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES, base = 0x87123000;
	struct sample sample;

	(void)state;
	set(LDT + 8, (base & 0xffffff) << 16 | base >> 24 << 56 | 0xcffaULL << 40);
	build_shot_hw_frame(&build, top, 0xf, 0x401888, BUILD_SHOT_FIRST_FRAME - 16);
	build_shot_enter_kernel(&build, top - 0x400);
	build.regs.x86.ldt_base = LDT;
	sample = take();
	assert_int_equal(sample.wire->user_pc, 0x401888 + base);
	assert_int_equal(sample.wire->regs.x86.cs_base, base);
	/* Without the table nothing is said of that code. */
	build.regs.x86.ldt_base = 0;
	sample = take();
	assert_int_equal(sample.wire->user_pc, 0);
	/* The kernel's own 32-bit programs are in no such segment. */
	build_shot_hw_frame(&build, top, 0x23, 0x401888, BUILD_SHOT_FIRST_FRAME - 16);
	build.regs.x86.ldt_base = LDT;
	sample = take();
	assert_int_equal(sample.wire->user_pc, 0x401888);
	assert_int_equal(sample.wire->regs.x86.cs_base, 0);
}

static void test_entry_stack(void **state)
{
	u64 end = BUILD_SHOT_ENTRY + SHOT_PAGE;
	struct sample sample;

	(void)state;
	build_shot_hw_frame(&build, end, 0x33, 0x401888, BUILD_SHOT_FIRST_FRAME - 16);
	set(end - 168 + 32, build_shot_frame(1));
	/* Nothing pushed yet but the CPU's frame: RBP is the user's. */
	build_shot_enter_kernel(&build, end - 40);
	build.regs.gpr[X86_RBP] = BUILD_SHOT_FIRST_FRAME;
	sample = take();
	assert_int_equal(sample.wire->nr_stacks, 1);
	check_stack(&sample, 0, end - 40, end, WIRE_STACK_AT_SP);
	assert_int_equal(sample.wire->user_pc, 0x401888);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	/* All pushed: RBP is in there. */
	build_shot_enter_kernel(&build, end - 168);
	sample = take();
	assert_int_equal(sample.wire->nr_user_frames, BUILD_SHOT_FRAMES - 1);
	assert_int_equal(sample.user_frames[0], build_shot_return(1));
}

/* SYSCALL's first instructions: in the kernel, on the user's stack. */
static void test_syscall_edge(void **state)
{
	struct sample sample;

	(void)state;
	build_shot_enter_kernel(&build, BUILD_SHOT_FIRST_FRAME - 16);
	build.regs.gpr[X86_RCX] = 0x401999;
	build.regs.gpr[X86_RBP] = BUILD_SHOT_FIRST_FRAME;
	build.regs.x86.gs_base = 0;
	build.regs.x86.kernel_gs_base = BUILD_SHOT_PERCPU;
	sample = take();
	check_task(&sample);
	assert_int_equal(sample.wire->nr_stacks, 0);
	assert_int_equal(sample.wire->user_pc, 0x401999);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
}

/* There, with the page tables in the stack pointer for a moment: it is that of the entry before. */
static void test_syscall_edge_root(void **state)
{
	u64 end = BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES;
	struct sample sample;

	(void)state;
	build_shot_hw_frame(&build, end, 0x33, 0x401888, BUILD_SHOT_FIRST_FRAME - 16);
	set(end - 168 + 32, build_shot_frame(1));
	build_shot_enter_kernel(&build, build.regs.x86.cr3 ^ 0x1801);
	build.regs.gpr[X86_RCX] = 0x401999;
	build.regs.gpr[X86_RBP] = BUILD_SHOT_FIRST_FRAME;
	sample = take();
	check_task(&sample);
	assert_int_equal(sample.wire->user_pc, 0x401999);
	assert_int_equal(sample.wire->user_sp, BUILD_SHOT_FIRST_FRAME - 16);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	/* A 32-bit program's is in R8. */
	build_shot_hw_frame(&build, end, 0x23, 0x401888, BUILD_SHOT_FIRST_FRAME - 16);
	build.regs.gpr[X86_R8] = 0xfff01230;
	sample = take();
	assert_int_equal(sample.wire->user_sp, 0xfff01230);
	assert_true(sample.wire->flags & WIRE_F_USER_32);
}

static void test_unknown_stack(void **state)
{
	struct sample sample;

	(void)state;
	/* Mapped, but no stack of this task's: to the page's end, and marked as cut. */
	build_shot_enter_kernel(&build, BUILD_SHOT_DIRECT + 0xe100);
	sample = take();
	assert_int_equal(sample.wire->nr_stacks, 1);
	assert_int_equal(sample.wire->stacks[0].size, 0xf00);
	assert_int_equal(sample.wire->stacks[0].stop, STOP_STACK_CUT);
}

static void test_stack_hole(void **state)
{
	u64 sp = BUILD_SHOT_THREAD + 0x2800;
	struct sample sample;

	(void)state;
	unmap(BUILD_SHOT_THREAD + 0x3000);
	build_shot_enter_kernel(&build, sp);
	sample = take();
	assert_int_equal(sample.wire->stacks[0].size, 0x800);
	assert_int_equal(sample.wire->stacks[0].stop, STOP_NOT_PRESENT);
	/* Where the user's registers are is in the hole too. */
	check_frames(&sample, 0, STOP_NOT_PRESENT);
	assert_int_equal(sample.wire->user_pc, 0);
}

static void test_kthread(void **state)
{
	struct sample sample;

	(void)state;
	set(BUILD_SHOT_TASK + build.vm.guest.task_mm_offset, 0);
	build_shot_enter_kernel(&build, BUILD_SHOT_THREAD + 0x3e00);
	sample = take();
	assert_true(sample.wire->flags & WIRE_F_KTHREAD);
	check_frames(&sample, 0, STOP_NONE);
	assert_int_equal(sample.wire->nr_stacks, 1);
}

/* Workers that the kernel makes for a user process have no user registers. */
static void test_no_user_regs(void **state)
{
	u64 top = BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES;
	struct sample sample;

	(void)state;
	build_shot_hw_frame(&build, top, 0x33, 0, 0);
	build_shot_enter_kernel(&build, BUILD_SHOT_THREAD + 0x3e00);
	sample = take();
	check_frames(&sample, 0, STOP_NONE);
	build_shot_hw_frame(&build, top, 0x10, BUILD_SHOT_USER_PC, 0);
	sample = take();
	check_frames(&sample, 0, STOP_BAD_POINTER);
}

static void test_unknown_kernel(void **state)
{
	struct sample sample;

	(void)state;
	build.vm.guest.valid = 0;
	sample = take();
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	assert_false(sample.wire->flags & (WIRE_F_TASK | WIRE_F_TASK_FAULT));
	assert_false(sample.wire->flags & WIRE_F_FLAT);
	/* Else frame pointers are tried, too. The one there is leads down. */
	build_shot_enter_kernel(&build, BUILD_SHOT_THREAD + 0x3000);
	sample = take();
	check_frames(&sample, 0, STOP_BAD_POINTER);
	assert_true(sample.wire->flags & WIRE_F_FLAT);
	assert_int_equal(sample.wire->nr_stacks, 0);
}

/* Some kernel with frame pointers, in the upper half. */
static void test_flat(void **state)
{
	u64 sp = BUILD_SHOT_THREAD + 0x3000, return_address = BUILD_SHOT_KERNEL_PC + 0x50;
	struct sample sample;

	(void)state;
	build.vm.guest.valid = 0;
	build.user_stack = 0x800;
	build_shot_enter_kernel(&build, sp);
	build.regs.gpr[X86_RBP] = sp + 0x100;
	build_shot_set(&build, sp + 0x100, sp + 0x180);
	build_shot_set(&build, sp + 0x108, return_address);
	build_shot_set(&build, sp + 0x180, 0);
	build_shot_set(&build, sp + 0x188, return_address + 0x100);
	sample = take();
	assert_int_equal(sample.wire->nr_user_frames, 2);
	assert_int_equal(sample.wire->user_stop, STOP_COMPLETE);
	assert_int_equal(sample.user_frames[0], return_address);
	assert_int_equal(sample.user_frames[1], return_address + 0x100);
	assert_int_equal(sample.wire->nr_stacks, 1);
	assert_int_equal(sample.wire->stacks[0].kind, WIRE_STACK_USER);
	assert_int_equal(sample.wire->stacks[0].gva, sp);
	assert_int_equal(sample.wire->stacks[0].size, 0x800);
	/* Between the halves there is nothing. */
	build_shot_set(&build, sp + 0x188, 0x7f00000000000000);
	sample = take();
	assert_int_equal(sample.wire->nr_user_frames, 1);
	assert_int_equal(sample.wire->user_stop, STOP_BAD_RETURN);
	/* Of a kernel that is known, its own rules are used. */
	build.vm.guest.valid = 1;
	sample = take();
	assert_false(sample.wire->flags & WIRE_F_FLAT);
}

static void test_percpu_base(void **state)
{
	struct sample sample;

	(void)state;
	/* A user's own GS base in the kernel's half fools nobody. */
	build.regs.x86.gs_base = BUILD_SHOT_DIRECT + 0x5000;
	sample = take();
	check_task(&sample);
	/* No other base to be had: the one that was seen before. */
	build.regs.x86.kernel_gs_base = 0;
	sample = take();
	assert_true(sample.wire->flags & WIRE_F_TASK_FAULT);
	user_shot_begin(&shot, &build.env);
	shot.wire.regs = build.regs;
	shot.percpu = BUILD_SHOT_PERCPU;
	user_shot_take(&shot, true);
	assert_int_equal(sample_init(&sample, &shot.wire, shot.wire.size), 0);
	check_task(&sample);
}

static void test_task_fault(void **state)
{
	struct sample sample;

	(void)state;
	unmap(BUILD_SHOT_TASK + 0xc0);	/* its second page */
	sample = take();
	assert_true(sample.wire->flags & WIRE_F_TASK_FAULT);
	assert_false(sample.wire->flags & WIRE_F_TASK);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	set(BUILD_SHOT_PERCPU + build.vm.guest.current_task_offset, 0x1234);
	sample = take();
	assert_true(sample.wire->flags & WIRE_F_TASK_FAULT);
}

/* User mode on tables without the kernel: the second page of a pair; the kernel's are the first. */
static void test_page_table_isolation(void **state)
{
	const u8 *root = mem_fake_page(build.mem, GPA(build.pt.root));
	struct sample sample;

	(void)state;
	memcpy(mem_fake_page(build.mem, GPA(0x40000)), root, SHOT_PAGE);
	memcpy(mem_fake_page(build.mem, GPA(0x41000)), root, SHOT_PAGE / 2);
	build.regs.x86.cr3 = 0x41000;
	sample = take();
	check_task(&sample);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	/* Not a pair: nothing found there either, and the user's tables serve on. */
	memset(mem_fake_page(build.mem, GPA(0x40000)), 0, SHOT_PAGE);
	sample = take();
	assert_true(sample.wire->flags & WIRE_F_TASK_FAULT);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
}

static u64 change_at;

static void remap_page(struct build_shot *b, u64 nr)
{
	if (nr == change_at)
		build_pagetable_put(&b->pt, leaf_of(BUILD_SHOT_USER + SHOT_PAGE), 0xe000 | 7);
}

/* The other vCPUs take a page of the user stack away: before, while or after it is read. */
static void test_changed(void **state)
{
	unsigned int marked = 0, unmarked = 0;
	u64 entry, reads;

	(void)state;
	take();
	reads = build.reads;
	entry = build_pagetable_get(&build.pt, leaf_of(BUILD_SHOT_USER + SHOT_PAGE));
	build.before_read = remap_page;
	for (change_at = 0; change_at <= reads; change_at++) {
		struct sample sample;

		build.reads = 0;
		build_pagetable_put(&build.pt, leaf_of(BUILD_SHOT_USER + SHOT_PAGE), entry);
		sample = take();
		if (sample.wire->flags & WIRE_F_CHANGED)
			marked++;
		else	/* all of the old page, or all of the new one, which is empty: no chain */
			check_frames(&sample, sample.wire->nr_user_frames,
				     sample.wire->nr_user_frames == BUILD_SHOT_FRAMES ?
				     STOP_COMPLETE : STOP_BAD_RETURN);
		unmarked += !(sample.wire->flags & WIRE_F_CHANGED);
	}
	assert_true(marked >= 5);
	assert_true(unmarked >= 5);
}

/* Bits that the CPU sets by itself are no change. */
static void set_accessed(struct build_shot *b, u64 nr)
{
	u64 leaf = leaf_of(BUILD_SHOT_USER);

	(void)nr;
	build_pagetable_put(&b->pt, leaf, build_pagetable_get(&b->pt, leaf) ^ 0x60);
}

static void test_accessed(void **state)
{
	struct sample sample;

	(void)state;
	build.before_read = set_accessed;
	sample = take();
	assert_false(sample.wire->flags & WIRE_F_CHANGED);
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
}

/* One slot for each page, in a table with gaps, at addresses in another order. */
static void test_many_slots(void **state)
{
	struct mem_slots *slots = &build.vm.slots;
	struct sample sample;

	(void)state;
	slots->nr = MEM_MAX_SLOTS;
	for (u32 i = 0; i < slots->nr; i++) {
		u64 page = i < BUILD_SHOT_PAGES ? i : 2 * i;

		slots->slots[i] = (struct mem_slot){
			.gpa = page * SHOT_PAGE,
			.size = SHOT_PAGE,
			.hva = BUILD_SHOT_HVA + (0x100000 - 3 * page) * SHOT_PAGE,
		};
	}
	sample = take();
	check_frames(&sample, BUILD_SHOT_FRAMES, STOP_COMPLETE);
	check_task(&sample);
	for (u32 nr = 0; nr < BUILD_SHOT_PAGES; nr++) {
		slots->nr = nr;
		take();
	}
}

/* A large page of which the host has but a part. */
static void test_large_page(void **state)
{
	u64 gva = 0xffff889000000000;
	struct sample sample;

	(void)state;
	assert_int_equal(build_pagetable_map(&build.pt, gva, 0, 2 << 20, MMU_WRITE), 0);
	build.regs.x86.kernel_gs_base = gva + 0x1000;
	set(BUILD_SHOT_PERCPU + build.vm.guest.current_task_offset, gva + 0x2f40);
	sample = take();
	assert_true(sample.wire->flags & WIRE_F_TASK);
	assert_int_equal(sample.wire->task.tid, 43);
	assert_string_equal(sample.wire->task.comm, "worker");
	assert_true(build.vm.slots.slots[0].size < 2 << 20);
}

/* Registers only: no memory is touched. */
static void test_no_walk(void **state)
{
	struct sample sample;

	(void)state;
	user_shot_begin(&shot, &build.env);
	shot.wire.regs = build.regs;
	user_shot_take(&shot, false);
	assert_int_equal(sample_init(&sample, &shot.wire, shot.wire.size), 0);
	assert_int_equal(sample.wire->size, sizeof(struct wire_sample));
	assert_int_equal(build.reads, 0);
	assert_int_equal(sample.wire->user_stop, STOP_NONE);
}

/* Whatever read fails, the record holds together. */
static void test_every_failure(void **state)
{
	u64 end = BUILD_SHOT_NMI + SHOT_PAGE, reads;

	(void)state;
	build_shot_hw_frame(&build, end, 0x10, BUILD_SHOT_KERNEL_PC, BUILD_SHOT_IRQ + 0x3f00);
	set(BUILD_SHOT_IRQ + BUILD_SHOT_STACK_BYTES - 8, BUILD_SHOT_THREAD + 0x2ff0);
	build_shot_enter_kernel(&build, end - 0x100);
	take();
	reads = build.reads;
	assert_true(reads > 20 && reads < 1000);
	for (build.failing_read = 1; build.failing_read <= reads; build.failing_read++) {
		build.reads = 0;
		take();
	}
}

#define NEXT_TASK (BUILD_SHOT_DIRECT + 0x3740)

/* Another task, "next", whose stack is the memory that else is the interrupt's. */
static void put_next_task(void)
{
	const struct wire_guest *guest = &build.vm.guest;
	u64 comm = 0;

	memcpy(&comm, "next", 4);
	set(NEXT_TASK + guest->task_stack_offset, BUILD_SHOT_IRQ);
	set(NEXT_TASK + guest->task_mm_offset, BUILD_SHOT_MM + 0x800);
	set(NEXT_TASK + guest->task_pid_offset, 52ULL << 32 | 53);
	set(NEXT_TASK + guest->task_comm_offset, comm);
	set(BUILD_SHOT_PERCPU + guest->irq_stack_offset, BUILD_SHOT_NMI + 8 * SHOT_PAGE - 8);
	set(BUILD_SHOT_PERCPU + guest->loaded_mm_offset, BUILD_SHOT_MM + 0x800);
}

/* In __switch_to_asm() the stack is the next task's before the current task is. */
static void test_switched_stack(void **state)
{
	u64 top = BUILD_SHOT_IRQ + BUILD_SHOT_STACK_BYTES;
	const u8 user_regs[] = { X86_RSI, X86_RBX, X86_R15 };

	(void)state;
	put_next_task();
	build_shot_hw_frame(&build, top, 0x33, 0x401888, BUILD_SHOT_FIRST_FRAME - 16);
	set(top - 168 + 4 * 8, build_shot_frame(1));
	for (unsigned int i = 0; i < ARRAY_SIZE(user_regs); i++) {
		/* In the page of the pt_regs, and deeper. */
		u64 sp = i ? BUILD_SHOT_IRQ + 0x1238 : top - 0x200;
		struct sample sample;

		build_shot_enter_kernel(&build, sp);
		build.regs.gpr[X86_RDI] = BUILD_SHOT_TASK;
		build.regs.gpr[X86_RDX] = 0xffff888012345678;	/* mapped nowhere */
		build.regs.gpr[user_regs[i]] = NEXT_TASK;
		sample = take();
		assert_int_equal(sample.wire->task.task, NEXT_TASK);
		assert_int_equal(sample.wire->task.tid, 53);
		assert_int_equal(sample.wire->task.pid, 52);
		assert_string_equal(sample.wire->task.comm, "next");
		assert_int_equal(sample.wire->nr_stacks, 1);
		check_stack(&sample, 0, sp, top, WIRE_STACK_AT_SP);
		assert_int_equal(sample.wire->user_pc, 0x401888);
		assert_int_equal(sample.wire->user_root, 0);
		assert_int_equal(sample.wire->nr_user_frames, BUILD_SHOT_FRAMES - 1);
		assert_int_equal(sample.wire->user_stop, STOP_COMPLETE);
		build.regs.gpr[user_regs[i]] = 0;
	}
}

/* The next one is a kernel thread; and no register has it: then the current one stays. */
static void test_switched_to_kthread(void **state)
{
	struct sample sample;

	(void)state;
	put_next_task();
	set(NEXT_TASK + build.vm.guest.task_mm_offset, 0);
	build_shot_enter_kernel(&build, BUILD_SHOT_IRQ + 0x3000);
	build.regs.gpr[X86_RSI] = NEXT_TASK;
	sample = take();
	assert_int_equal(sample.wire->task.tid, 53);
	assert_int_equal(sample.wire->flags, WIRE_F_TASK | WIRE_F_KTHREAD);
	check_frames(&sample, 0, STOP_NONE);
	build.regs.gpr[X86_RSI] = BUILD_SHOT_TASK;
	sample = take();
	check_task(&sample);
	assert_int_equal(sample.wire->flags, WIRE_F_TASK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(user_chain),      TEST(five_levels),	TEST(frame_across_pages),
		TEST(hole),	       TEST(host_fault),	TEST(no_slot),
		TEST(bad_pointers),    TEST(first_pointer),	TEST(return_addresses),
		TEST(depth),	       TEST(compat),		TEST(system_call),
		TEST(user_stack),
		TEST(holes),
		TEST(red_zone),
		TEST(stack_end),
		TEST(alt_stack),
		TEST(no_signal_frame),
		TEST(alt_stack_limit),
		TEST(no_user_stack),
		TEST(all_stacks),
		TEST(whole_stack),     TEST(irq_stack),		TEST(nmi_in_irq),
		TEST(stack_loop),      TEST(entry_stack),	TEST(syscall_edge),
		TEST(syscall_edge_root),
		TEST(unknown_stack),   TEST(stack_hole),	TEST(kthread),
		TEST(no_user_regs),    TEST(unknown_kernel),	TEST(percpu_base),
		TEST(flat),	       TEST(ldt_code),
		TEST(task_fault),      TEST(page_table_isolation), TEST(changed),
		TEST(accessed),	       TEST(many_slots),	TEST(large_page),
		TEST(no_walk),	       TEST(every_failure),	TEST(switched_mm),
		TEST(switched_tables),
		TEST(cleared_registers), TEST(exec),
		TEST(switched_stack),	TEST(switched_to_kthread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
