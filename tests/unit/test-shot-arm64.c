/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shots of an arm64 guest: the task by SP_EL0 and by its CPU's area, behind the trampoline's table;
 * a thread's and an interrupt's stack; user registers on the kernel's; the task's own memory. The
 * code is the one that arm64 hosts run, compiled here.
 */
#define __TARGET_ARCH_arm64 1

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bpf/shot-take.h"
#include "build-pagetable.h"
#include "model/sample.h"

#define PAGES 48
#define MEMORY_HVA 0x7f0000000000ULL
#define TABLES 0x20000

#define DIRECT 0xffff000000000000ULL
#define PERCPU (DIRECT + 0x1000)
#define TASK (DIRECT + 0x2f40)
#define OTHER_TASK (DIRECT + 0x1800)
#define MM (DIRECT + 0x1900)
#define THREAD 0xffff800008000000ULL	/* its stack's lowest address; gpa 0x4000 */
#define IRQ 0xffff800008010000ULL	/* gpa 0x8000 */
#define USER 0xffffe0000000ULL		/* gpa 0xc000 */
#define STACK_BYTES 0x4000ULL
#define TOP (THREAD + STACK_BYTES)
#define PT_REGS_BYTES 0x150
#define PT_REGS (TOP - PT_REGS_BYTES)

#define USER_PC 0xaaaa00001234ULL
#define USER_SP (USER + 0x100)
#define USER_FP (USER + 0x140)
#define KERNEL_PC 0xffff800010012340ULL

#define ENTRY_TASK 0x18
#define TASK_STACK 0x20
#define TASK_MM 0x88
#define TASK_PID 0x90
#define TASK_TGID 0x94
#define TASK_COMM 0xb8
#define MM_PGD 0x50

struct world {
	struct mem_fake *mem;
	struct build_pagetable pt;
	struct shot_vm vm;
	struct shot_env env;
	struct shot shot;
	u64 reads, failing_read;
};

/* Two pages before the upper half's: a table that maps nothing. */
static u64 trampoline(const struct world *w)
{
	return w->pt.root_high - 2 * SHOT_PAGE;
}

static int env_read(struct shot_env *env, u64 hva, void *out, u32 size, bool again)
{
	struct world *w = container_of(env, struct world, env);

	(void)again;
	if (++w->reads == w->failing_read)
		return -EFAULT;
	return mem_read(mem_fake_reader(w->mem), GPA(hva - MEMORY_HVA), out, size);
}

static void set(struct world *w, u64 gva, u64 value)
{
	struct mmu_space space = build_pagetable_space(&w->pt);
	struct mmu_mapping at;

	assert_int_equal(mmu_translate(&space, mem_fake_reader(w->mem), GVA(gva), &at), 0);
	assert_int_equal(mem_fake_set_u64(w->mem, at.gpa, value), 0);
}

static void map(struct world *w, u64 gva, u64 gpa, u64 bytes, u32 access)
{
	assert_int_equal(build_pagetable_map_range(&w->pt, gva, gpa, bytes, access), 0);
}

static void put_task(struct world *w)
{
	u64 comm = 0;

	memcpy(&comm, "worker", 6);
	set(w, PERCPU + ENTRY_TASK, TASK);
	set(w, TASK + TASK_STACK, THREAD);
	set(w, TASK + TASK_MM, MM);
	set(w, TASK + TASK_PID, 42ULL << 32 | 43);
	set(w, TASK + TASK_COMM, comm);
	set(w, MM + MM_PGD, DIRECT + w->pt.root);
	/* The user's registers, of the system call number 64. */
	set(w, PT_REGS + 29 * 8, USER_FP);
	set(w, PT_REGS + 31 * 8, USER_SP);
	set(w, PT_REGS + 32 * 8, USER_PC);
	set(w, PT_REGS + 35 * 8, 64);
	/* Two user frames. */
	set(w, USER_FP, USER_FP + 0x40);
	set(w, USER_FP + 8, USER_PC + 0x100);
	set(w, USER_FP + 0x48, USER_PC + 0x200);
}

static void fill_vm(struct world *w)
{
	w->vm = (struct shot_vm){
		.guest = {
			.valid = 1,
			.word = 8,
			.current_task_offset = ENTRY_TASK,
			.task_pid_offset = TASK_PID,
			.task_tgid_offset = TASK_TGID,
			.task_comm_offset = TASK_COMM,
			.task_stack_offset = TASK_STACK,
			.task_mm_offset = TASK_MM,
			.mm_pgd_offset = MM_PGD,
			.pt_regs_size = PT_REGS_BYTES,
			.thread_size = STACK_BYTES,
			.irq_stack_size = STACK_BYTES,
			.kernel_start = DIRECT,
		},
		.slots = { .nr = 1, .slots = { { 0, PAGES * SHOT_PAGE, MEMORY_HVA, 0 } } },
	};
	w->env = (struct shot_env){ .read = env_read, .vm = &w->vm };
}

static struct world *world_create(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->mem = mem_fake_create();
	assert_non_null(w->mem);
	for (u64 page = 0; page < PAGES; page++)
		assert_non_null(mem_fake_page(w->mem, GPA(page * SHOT_PAGE)));
	assert_int_equal(build_pagetable_init_arm64(&w->pt, w->mem, 12, 48, false, GPA(TABLES)), 0);
	map(w, DIRECT, 0, PAGES * SHOT_PAGE, MMU_WRITE);
	map(w, THREAD, 0x4000, STACK_BYTES, MMU_WRITE);
	map(w, IRQ, 0x8000, STACK_BYTES, MMU_WRITE);
	map(w, USER, 0xc000, SHOT_PAGE, MMU_WRITE | MMU_USER);
	assert_in_range(w->pt.next, TABLES, PAGES * SHOT_PAGE);
	fill_vm(w);
	put_task(w);
	return w;
}

static void world_destroy(struct world *w)
{
	mem_fake_destroy(w->mem);
	free(w);
}

/* Registers of user mode, with the kernel unmapped. */
static struct vcpu_regs user_regs(const struct world *w)
{
	struct vcpu_regs regs = build_pagetable_regs(&w->pt);

	regs.bits = 64;
	regs.user = 1;
	regs.pc = USER_PC;
	regs.gpr[ARM64_SP] = regs.arm64.sp_el0 = USER_SP;
	regs.gpr[ARM64_FP] = USER_FP;
	regs.arm64.tpidr_el1 = PERCPU;
	regs.arm64.ttbr1 = trampoline(w);
	return regs;
}

/* Of the kernel, where TTBR0 maps nothing. */
static struct vcpu_regs kernel_regs(const struct world *w, u64 sp, u64 fp)
{
	struct vcpu_regs regs = user_regs(w);

	regs.user = 0;
	regs.pc = KERNEL_PC;
	regs.gpr[ARM64_SP] = regs.arm64.sp_el1 = sp;
	regs.gpr[ARM64_FP] = fp;
	regs.arm64.sp_el0 = TASK;
	regs.arm64.ttbr0 = trampoline(w);
	regs.arm64.ttbr1 = w->pt.root_high;
	return regs;
}

static const struct wire_sample *take(struct world *w, const struct vcpu_regs *regs)
{
	struct sample sample;

	w->reads = 0;
	shot_begin(&w->shot);
	w->shot.env = &w->env;
	w->shot.max_depth = 100;
	w->shot.user_stack = SHOT_PAGE;
	w->shot.flags |= SHOT_F_WALK;
	w->shot.wire.regs = *regs;
	shot_take(&w->shot);
	assert_int_equal(sample_init(&sample, &w->shot.wire, w->shot.wire.size), 0);
	return &w->shot.wire;
}

static void check_task(const struct wire_sample *wire)
{
	assert_true(wire->flags & WIRE_F_TASK);
	assert_int_equal(wire->task.pid, 42);
	assert_int_equal(wire->task.tid, 43);
	assert_string_equal(wire->task.comm, "worker");
}

static void check_user(const struct wire_sample *wire)
{
	const struct wire_stack *stack = &wire->stacks[wire->nr_stacks - 1];

	assert_int_equal(wire->user_pc, USER_PC);
	assert_int_equal(wire->user_sp, USER_SP);
	assert_int_equal(wire->user_stop, STOP_COMPLETE);
	assert_int_equal(wire->nr_user_frames, 2);
	assert_int_equal(stack->kind, WIRE_STACK_USER);
	assert_int_equal(stack->gva + stack->size, USER + SHOT_PAGE);
}

static void check_stack(const struct wire_sample *wire, u32 i, u64 sp, u64 end)
{
	assert_true(i < wire->nr_stacks);
	assert_int_equal(wire->stacks[i].gva, sp);
	assert_int_equal(wire->stacks[i].size, end - sp);
	assert_int_equal(wire->stacks[i].stop, STOP_COMPLETE);
}

static void test_user(void **state)
{
	struct world *w = world_create();
	struct vcpu_regs regs = user_regs(w);
	const struct wire_sample *wire = take(w, &regs);

	(void)state;
	check_task(wire);
	check_user(wire);
	assert_int_equal(wire->nr_stacks, 1);
	/* Where the kernel is mapped, too. */
	regs.arm64.ttbr1 = w->pt.root_high;
	check_task(take(w, &regs));
	/* Not where the trampoline's table is another. */
	regs.arm64.ttbr1 = trampoline(w) - SHOT_PAGE;
	assert_false(take(w, &regs)->flags & WIRE_F_TASK);
	world_destroy(w);
}

static void test_kernel(void **state)
{
	struct world *w = world_create();
	struct vcpu_regs regs = kernel_regs(w, PT_REGS - 0x80, PT_REGS - 0x70);
	const struct wire_sample *wire = take(w, &regs);

	(void)state;
	check_task(wire);
	assert_int_equal(wire->nr_stacks, 2);
	check_stack(wire, 0, PT_REGS - 0x80, TOP);
	check_user(wire);
	assert_int_equal(wire->user_root, w->pt.root);
	/* The task that SP_EL0 does not have yet. */
	regs.arm64.sp_el0 = USER_SP;
	regs.arm64.elr_el1 = USER_PC;
	regs.gpr[ARM64_FP] = USER_FP;
	check_task(take(w, &regs));
	check_user(&w->shot.wire);
	world_destroy(w);
}

/* The interrupt's stack, with frames on it or none yet, and the thread's that was left for it. */
static void test_interrupt(void **state)
{
	struct world *w = world_create();
	u64 sp = IRQ + STACK_BYTES - 0x40, record = PT_REGS - 0x70;
	struct vcpu_regs regs = kernel_regs(w, sp, sp + 0x10);
	const struct wire_sample *wire;

	(void)state;
	set(w, sp + 0x10, sp + 0x20);
	set(w, sp + 0x20, record);
	wire = take(w, &regs);
	assert_int_equal(wire->nr_stacks, 3);
	check_stack(wire, 0, sp, IRQ + STACK_BYTES);
	check_stack(wire, 1, record, TOP);
	check_user(wire);
	/* Records that go round. */
	set(w, sp + 0x20, sp + 0x10);
	assert_int_equal(take(w, &regs)->nr_stacks, 2);
	regs = kernel_regs(w, IRQ + STACK_BYTES, record);
	wire = take(w, &regs);
	check_stack(wire, 0, IRQ + STACK_BYTES, IRQ + STACK_BYTES);
	check_stack(wire, 1, record, TOP);
	check_user(wire);
	/* The thread's own, with nothing on it, is none. */
	regs = kernel_regs(w, TOP, record);
	assert_int_equal(take(w, &regs)->nr_stacks, 1);
	world_destroy(w);
}

/* Another task's stack, and that task in x1. */
static void test_switch(void **state)
{
	struct world *w = world_create();
	struct vcpu_regs regs = kernel_regs(w, IRQ + 0x2000, 0);

	(void)state;
	set(w, OTHER_TASK + TASK_STACK, IRQ);
	set(w, OTHER_TASK + TASK_PID, 52ULL << 32 | 53);
	regs.gpr[1] = OTHER_TASK;
	assert_int_equal(take(w, &regs)->task.pid, 52);
	check_stack(&w->shot.wire, 0, IRQ + 0x2000, IRQ + STACK_BYTES);
	regs.gpr[1] = OTHER_TASK + 0x40;
	assert_int_equal(take(w, &regs)->task.pid, 42);
	world_destroy(w);
}

/* Each read in turn fails: what was taken is less, and holds together. */
static void test_failing_reads(void **state)
{
	struct world *w = world_create();
	struct vcpu_regs all[] = {
		user_regs(w),
		kernel_regs(w, PT_REGS - 0x80, PT_REGS - 0x70),
		kernel_regs(w, IRQ + STACK_BYTES, PT_REGS - 0x70),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		u32 whole;
		u64 nr;

		w->failing_read = 0;
		whole = take(w, &all[i])->size;
		nr = w->reads;
		assert_true(nr > 10);
		for (u64 failing = 1; failing <= nr; failing++) {
			w->failing_read = failing;
			assert_in_range(take(w, &all[i])->size, sizeof(struct wire_sample), whole);
		}
	}
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user),	  cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_interrupt), cmocka_unit_test(test_switch),
		cmocka_unit_test(test_failing_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
