/* SPDX-License-Identifier: GPL-2.0-only */
/* A guest stopped at one moment. */
#include "build-shot.h"

#include <string.h>

#define TABLES_GPA 0x20000	/* behind all data */
#define KERNEL_START 0xffff800000000000ULL
#define RW (MMU_EXEC | MMU_WRITE)

/* Offsets in the guest's kernel, each unlike the others. */
#define CURRENT_TASK 0x18
#define IRQ_STACK_PTR 0x28
#define LOADED_MM 0x30
#define TASK_STACK 0x20
#define TASK_MM 0x88
#define TASK_PID 0x90
#define TASK_TGID 0x94
#define TASK_COMM 0xb8
#define MM_PGD 0x50
#define TASK_ALT_STACK 0xd0

static int env_read(struct shot_env *env, u64 hva, void *out, u32 size, bool again)
{
	struct build_shot *build = container_of(env, struct build_shot, env);

	(void)again;
	if (build->before_read)
		build->before_read(build, build->reads);
	build->reads++;
	if (build->reads == build->failing_read)
		return -EFAULT;
	if (build->fault_hva && hva / SHOT_PAGE == build->fault_hva / SHOT_PAGE)
		return -EFAULT;
	for (u32 i = 0; i < build->vm.slots.nr; i++) {
		const struct mem_slot *slot = &build->vm.slots.slots[i];

		if (hva - slot->hva < slot->size)
			return mem_read(mem_fake_reader(build->mem),
					GPA(slot->gpa + (hva - slot->hva)), out, size);
	}
	return -EFAULT;
}

int build_shot_set(struct build_shot *build, u64 gva, u64 value)
{
	struct mmu_space space = build_pagetable_space(&build->pt);

	for (int i = 0; i < 8; i++, value >>= 8) {
		const struct mem_reader *reader = mem_fake_reader(build->mem);
		struct mmu_mapping mapping;
		u8 byte = value;
		int err = mmu_translate(&space, reader, GVA(gva + i), &mapping);

		err = err ?: mem_fake_set(build->mem, mapping.gpa, &byte, 1);
		if (err)
			return err;
	}
	return 0;
}

static int map_all(struct build_shot *build)
{
	struct build_pagetable *pt = &build->pt;
	int err = build_pagetable_map_range(pt, BUILD_SHOT_DIRECT, 0,
					    BUILD_SHOT_PAGES * SHOT_PAGE, RW);

	err = err ?: build_pagetable_map_range(pt, BUILD_SHOT_THREAD, 0x4000,
					       BUILD_SHOT_STACK_BYTES, RW);
	err = err ?: build_pagetable_map_range(pt, BUILD_SHOT_IRQ, 0x8000,
					       BUILD_SHOT_STACK_BYTES, RW);
	err = err ?: build_pagetable_map_range(pt, BUILD_SHOT_NMI, 0xc000, SHOT_PAGE, RW);
	err = err ?: build_pagetable_map_range(pt, BUILD_SHOT_ENTRY, 0xd000, SHOT_PAGE, RW);
	/* Neighbours in the stack are none in memory. */
	for (u64 at = 0; at < BUILD_SHOT_USER_BYTES && !err; at += SHOT_PAGE)
		err = build_pagetable_map(pt, BUILD_SHOT_USER + at,
					  BUILD_SHOT_USER_GPA + 0x3000 - at, SHOT_PAGE,
					  RW | MMU_USER);
	return err;
}

static int put_task(struct build_shot *build)
{
	static const char comm[WIRE_COMM_LEN] = "worker";
	u64 halves[2];
	int err = build_shot_set(build, BUILD_SHOT_PERCPU + CURRENT_TASK, BUILD_SHOT_TASK);

	memcpy(halves, comm, sizeof(comm));
	err = err ?: build_shot_set(build, BUILD_SHOT_PERCPU + IRQ_STACK_PTR,
				    BUILD_SHOT_IRQ + BUILD_SHOT_STACK_BYTES - 8);
	err = err ?: build_shot_set(build, BUILD_SHOT_TASK + TASK_STACK, BUILD_SHOT_THREAD);
	err = err ?: build_shot_set(build, BUILD_SHOT_TASK + TASK_MM, BUILD_SHOT_MM);
	err = err ?: build_shot_set(build, BUILD_SHOT_PERCPU + LOADED_MM, BUILD_SHOT_MM);
	err = err ?: build_shot_set(build, BUILD_SHOT_MM + MM_PGD,
				    BUILD_SHOT_DIRECT + build->pt.root);
	err = err ?: build_shot_set(build, BUILD_SHOT_TASK + TASK_PID, 42ULL << 32 | 43);
	err = err ?: build_shot_set(build, BUILD_SHOT_TASK + TASK_COMM, halves[0]);
	return err ?: build_shot_set(build, BUILD_SHOT_TASK + TASK_COMM + 8, halves[1]);
}

int build_shot_hw_frame(struct build_shot *build, u64 top, u64 cs, u64 ip, u64 sp)
{
	u64 ss = (cs & 3) == 3 ? 0x2b : 0x18;
	int err = build_shot_set(build, top - 8, ss);

	err = err ?: build_shot_set(build, top - 16, sp);
	err = err ?: build_shot_set(build, top - 24, 0x246);
	err = err ?: build_shot_set(build, top - 32, cs);
	return err ?: build_shot_set(build, top - 40, ip);
}

/* The pt_regs at the top of the thread's stack, as a system call leaves them. */
static int put_pt_regs(struct build_shot *build)
{
	u64 top = BUILD_SHOT_THREAD + BUILD_SHOT_STACK_BYTES;
	int err = build_shot_hw_frame(build, top, 0x33, BUILD_SHOT_USER_PC,
				      BUILD_SHOT_FIRST_FRAME - 16);

	return err ?: build_shot_set(build, top - 168 + 4 * 8, BUILD_SHOT_FIRST_FRAME);
}

static int put_frames(struct build_shot *build)
{
	int err = 0;

	for (unsigned int i = 0; i < BUILD_SHOT_FRAMES && !err; i++) {
		u64 next = i == BUILD_SHOT_FRAMES - 1 ? 0 : build_shot_frame(i + 1);

		err = build_shot_set(build, build_shot_frame(i), next);
		err = err ?: build_shot_set(build, build_shot_frame(i) + 8, build_shot_return(i));
	}
	return err;
}

static void fill_vm(struct build_shot *build)
{
	build->vm = (struct shot_vm){
		.guest = {
			.valid = 1,
			.word = 8,
			.current_task_offset = CURRENT_TASK,
			.irq_stack_offset = IRQ_STACK_PTR,
			.task_pid_offset = TASK_PID,
			.task_tgid_offset = TASK_TGID,
			.task_comm_offset = TASK_COMM,
			.task_stack_offset = TASK_STACK,
			.task_mm_offset = TASK_MM,
			.loaded_mm_offset = LOADED_MM,
			.mm_pgd_offset = MM_PGD,
			.task_alt_stack_offset = TASK_ALT_STACK,
			.thread_size = BUILD_SHOT_STACK_BYTES,
			.irq_stack_size = BUILD_SHOT_STACK_BYTES,
			.kernel_start = KERNEL_START,
		},
		.slots = {
			.nr = 1,
			.slots = { { 0, BUILD_SHOT_PAGES * SHOT_PAGE, BUILD_SHOT_HVA, 0 } },
		},
	};
	build->env = (struct shot_env){ .read = env_read, .vm = &build->vm };
}

static void fill_regs(struct build_shot *build)
{
	build->regs = build_pagetable_regs(&build->pt);
	build->regs.arch = VCPU_ARCH_X86_64;
	build->regs.bits = 64;
	build->regs.user = 1;
	build->regs.pc = BUILD_SHOT_USER_PC;
	build->regs.gpr[X86_RSP] = BUILD_SHOT_FIRST_FRAME - 16;
	build->regs.gpr[X86_RBP] = BUILD_SHOT_FIRST_FRAME;
	build->regs.x86.kernel_gs_base = BUILD_SHOT_PERCPU;
}

int build_shot_init(struct build_shot *build, u8 mode)
{
	int err;

	*build = (struct build_shot){ .mem = mem_fake_create() };
	if (!build->mem)
		return -ENOMEM;
	for (u64 page = 0; page < BUILD_SHOT_PAGES; page++) {
		if (!mem_fake_page(build->mem, GPA(page * SHOT_PAGE)))
			return -ENOMEM;
	}
	fill_vm(build);
	err = build_pagetable_init(&build->pt, build->mem, mode, GPA(TABLES_GPA));
	err = err ?: map_all(build);
	err = err ?: put_task(build);
	err = err ?: put_pt_regs(build);
	err = err ?: put_frames(build);
	if (build->pt.next > BUILD_SHOT_PAGES * SHOT_PAGE)
		err = err ?: -E2BIG;
	fill_regs(build);
	return err;
}

void build_shot_deinit(struct build_shot *build)
{
	mem_fake_destroy(build->mem);
	build->mem = NULL;
}

/* The words of struct rt_sigframe from its return address on that matter. */
int build_shot_signal(struct build_shot *build, u64 frame, u64 sp)
{
	int err = build_shot_set(build, frame, BUILD_SHOT_RESTORER);

	err = err ?: build_shot_set(build, frame + 8, 7);	/* uc_flags */
	err = err ?: build_shot_set(build, frame + 16, 0);	/* uc_link */
	err = err ?: build_shot_set(build, frame + 24, BUILD_SHOT_ALT);
	err = err ?: build_shot_set(build, frame + 32, 0x5555555500000001);
	err = err ?: build_shot_set(build, frame + 40, BUILD_SHOT_ALT_BYTES);
	err = err ?: build_shot_set(build, frame + 48 + 15 * 8, sp);
	return err ?: build_shot_set(build, frame + 48 + 16 * 8, BUILD_SHOT_USER_PC);
}

int build_shot_alt_stack(struct build_shot *build)
{
	int err = build_shot_set(build, BUILD_SHOT_TASK + TASK_ALT_STACK, BUILD_SHOT_ALT);

	err = err ?: build_shot_set(build, BUILD_SHOT_TASK + TASK_ALT_STACK + 8,
				    BUILD_SHOT_ALT_BYTES);
	for (u64 at = 0; at < BUILD_SHOT_ALT_MAPPED && !err; at += SHOT_PAGE)
		err = build_pagetable_map(&build->pt, BUILD_SHOT_ALT / SHOT_PAGE * SHOT_PAGE + at,
					  BUILD_SHOT_ALT_GPA + at, SHOT_PAGE,
					  RW | MMU_USER);
	return err;
}

void build_shot_enter_kernel(struct build_shot *build, u64 sp)
{
	build->regs.user = 0;
	build->regs.pc = BUILD_SHOT_KERNEL_PC;
	build->regs.gpr[X86_RSP] = sp;
	build->regs.gpr[X86_RBP] = 0x5555;	/* the kernel uses it for something else */
	build->regs.x86.gs_base = BUILD_SHOT_PERCPU;
	build->regs.x86.kernel_gs_base = 0;
}

int build_shot_switch_mm(struct build_shot *build)
{
	u64 page[SHOT_PAGE / 8], root = build->pt.next;
	int err = mem_read(mem_fake_reader(build->mem), GPA(build->pt.root), page, sizeof(page));

	if (err || root >= BUILD_SHOT_PAGES * SHOT_PAGE)
		return err ?: -E2BIG;
	memset(page, 0, sizeof(page) / 2);	/* no user half */
	build->regs.x86.cr3 = root;
	err = mem_fake_set(build->mem, GPA(root), page, sizeof(page));
	return err ?: build_shot_set(build, BUILD_SHOT_PERCPU + LOADED_MM, BUILD_SHOT_MM + 0x800);
}

void build_shot_take(struct build_shot *build, struct shot *shot)
{
	user_shot_begin(shot, &build->env);
	shot->user_stack = build->user_stack;
	shot->wire.regs = build->regs;
	shot->wire.event_pc = build->regs.pc;
	user_shot_take(shot, true);
}
