/* SPDX-License-Identifier: GPL-2.0-only */
/* A guest with a process that runs one function. */
#include "build-program.h"

#include <elf.h>
#include <string.h>

#define USUAL 6			/* 6.12's form */
#define PAGE 4096ULL
#define STACK_TOP 0x7ffffffff000ULL

static void check(int err)
{
	if (err)
		abort();
}

/* An object of one function. Its code is zeros. */
static void build_library(struct strbuf *ret)
{
	struct build_cfi build = { 0 };
	Elf64_Phdr *segment;

	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	build_cfi_fde(&build, BUILD_PROGRAM_FUNCTION, 64, CFI(0x44, 0x0e, 24));
	build_cfi_file(&build, ret);
	build_cfi_deinit(&build);
	strbuf_add_zeros(ret, BUILD_PROGRAM_FUNCTION + PAGE - ret->len);
	check(strbuf_error(ret));
	segment = (Elf64_Phdr *)(ret->data + sizeof(Elf64_Ehdr));
	segment->p_filesz = ret->len;
}

static void cache_page(struct build_program *program, u64 inode, u64 index,
		       const struct strbuf *bytes)
{
	struct build_process *p = &program->process;
	u64 pfn = build_folio(p, inode, index, 0);

	check(mem_fake_set(program->guest.mem, GPA(pfn * PAGE), bytes->data + index * PAGE,
			   MIN(PAGE, bytes->len - index * PAGE)));
	build_cache_store(p, inode, index, 0, build_page(pfn));
}

void build_program_cache_page(struct build_program *program, u64 index)
{
	cache_page(program, program->inode, index, &program->file);
}

void build_program_cache(struct build_program *program)
{
	for (u64 i = 0; i * PAGE < program->file.len; i++)
		build_program_cache_page(program, i);
}

u64 build_program_map(struct build_program *program, const char *name, const struct strbuf *bytes,
		      u64 start)
{
	struct build_process *p = &program->process;
	u64 file = build_named_file(p, name, 77, bytes->len);
	u64 inode = build_get(p, file + BUILD_FILE_INODE);

	build_vma(p, start, start + ALIGN_UP(bytes->len, PAGE), BUILD_VM_READ | BUILD_VM_EXEC,
		  file, 0);
	build_hang_mappings(p, 1, 0);
	for (u64 i = 0; i * PAGE < bytes->len; i++)
		cache_page(program, inode, i, bytes);
	return inode;
}

void build_program_init(struct build_program *program)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct build_process *p = &program->process;
	const u64 jit = BUILD_PROGRAM_JIT;

	memset(program, 0, sizeof(*program));
	build_guest_init(&program->guest, &options);
	build_process_init(p, &program->guest);
	build_library(&program->file);
	program->mapped_file = build_named_file(p, "libx.so", 9, program->file.len);
	program->inode = build_get(p, program->mapped_file + BUILD_FILE_INODE);
	build_vma(p, BUILD_PROGRAM_TEXT, BUILD_PROGRAM_TEXT + ALIGN_UP(program->file.len, PAGE),
		  BUILD_VM_READ | BUILD_VM_EXEC, program->mapped_file, 0);
	build_vma(p, jit, jit + PAGE, BUILD_VM_READ | BUILD_VM_EXEC, 0, 0);
	build_vma(p, jit + PAGE, jit + 2 * PAGE, BUILD_VM_READ | BUILD_VM_WRITE, 0, 0);
	build_hang_mappings(p, 1, 0);
}

void build_program_deinit(struct build_program *program)
{
	build_guest_deinit(&program->guest);
	strbuf_deinit(&program->file);
}

struct wire_sample build_program_wire(const struct build_program *program, u64 time)
{
	return (struct wire_sample){
		.flags = WIRE_F_TASK,
		.time = time,
		.user_pc = BUILD_PROGRAM_TEXT + BUILD_PROGRAM_FUNCTION,
		.task = build_process_task(&program->process),
	};
}

void build_program_sample(const struct build_program *program, u64 time,
			  struct build_sample *ret_build, struct sample *ret)
{
	u64 pc = BUILD_PROGRAM_TEXT + BUILD_PROGRAM_FUNCTION + 8;
	struct build_stack stack;
	struct wire_sample *wire = &ret_build->wire;

	build_stack_init(&stack, STACK_TOP);
	build_stack_push(&stack, 0);	/* the return address: the end */
	build_stack_push(&stack, 1);
	build_stack_push(&stack, 2);
	build_sample_init(ret_build, pc, stack.sp);
	wire->flags = WIRE_F_USER | WIRE_F_TASK;
	wire->time = time;
	wire->regs.user = 1;
	wire->user_pc = pc;
	wire->user_sp = stack.sp;
	wire->task = build_process_task(&program->process);
	memcpy(wire->task.comm, "program", 8);
	build_sample_stack(ret_build, WIRE_STACK_USER, &stack, WIRE_MAX_STACK_BYTES, STOP_COMPLETE);
	check(build_sample_finish(ret_build, ret));
}
