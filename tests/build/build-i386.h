/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small i386 guest in fake memory: page tables, a kernel image with code, banner, build id and
 * kallsyms, and behind it the first tasks, their stacks, and a CPU's GDT and variables. It has
 * neither types nor symbols of data.
 */
#ifndef BUILD_I386_H
#define BUILD_I386_H

#include "build-pagetable.h"

#define BUILD_I386_HIGH 0xffffffff00000000ULL	/* what the model has above its addresses */

/* All memory is mapped at its distance from 0xc0000000, but for the GDT. */
#define BUILD_I386_TEXT 0xc1000000U
#define BUILD_I386_TEXT_SIZE 0x100000U
#define BUILD_I386_DATA (BUILD_I386_TEXT + BUILD_I386_TEXT_SIZE)
#define BUILD_I386_DATA_SIZE 0x4000U
#define BUILD_I386_GDT 0xff401000U
#define BUILD_I386_PERCPU 0x01000000U	/* the segment's base */
#define BUILD_I386_CANARY (BUILD_I386_DATA + 0x100U)	/* per-CPU variables */
#define BUILD_I386_CURRENT (BUILD_I386_DATA + 0x108U)
#define BUILD_I386_STACKS 0xc2000000U

/* In the image. Functions have 256 bytes: they make a frame, call, and are ended by 0xc9, 0xc3. */
#define BUILD_I386_TASK_LOADS 0x1000U	/* of the current task, 10 in 160 bytes */
#define BUILD_I386_FUNCTION 0x2000U
#define BUILD_I386_FUNCTIONS 64U
#define BUILD_I386_RETURN 8U		/* behind the call in each */
#define BUILD_I386_RET 9U
#define BUILD_I386_BANNER 0x80000U
#define BUILD_I386_NOTES 0x80200U
#define BUILD_I386_KALLSYMS 0x90000U

/* In a task. */
#define BUILD_I386_STACK 20U
#define BUILD_I386_FLAGS (BUILD_I386_STACK + 8)
#define BUILD_I386_LIST 972U
#define BUILD_I386_MM 1012U
#define BUILD_I386_PID 1112U
#define BUILD_I386_COMM 1416U
#define BUILD_I386_MM_PGD 36U	/* in the memory of one that has some */

#define BUILD_I386_TASKS 4U	/* swapper, init, kthreadd and a program, which runs */
extern const u32 build_i386_tasks[BUILD_I386_TASKS];

struct build_i386 {
	struct mem_fake *mem;
	struct build_pagetable pages;
	u8 build_id[20];
	u8 text[BUILD_I386_TEXT_SIZE];
};

/* @mode: MMU_MODE_X86_PAE, or one of those with two levels. */
void build_i386_init(struct build_i386 *g, u8 mode);
void build_i386_deinit(struct build_i386 *g);

/* In kernel mode, in the first function. */
struct vcpu_regs build_i386_regs(const struct build_i386 *g);

/* Of memory other than the GDT's. */
void build_i386_put(struct build_i386 *g, u32 address, u32 value);
void build_i386_poke(struct build_i386 *g, u32 address, const void *data, size_t size);

#endif
