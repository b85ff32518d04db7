/* SPDX-License-Identifier: GPL-2.0-only */
/* A small i386 guest in fake memory. */
#include "build-i386.h"

#include <stdio.h>
#include <string.h>

#include "build-kallsyms.h"
#include "guest/layout-i386.h"

#define OFFSET 0xc0000000U	/* PAGE_OFFSET */
#define TABLES 0x100000U	/* physical */
#define GDT_GPA 0x5000U
#define GDT_PERCPU 27
#define STACK_END_MAGIC 0x57ac6e9dU

#define CANARY_LOADS 0x100	/* in the image */
#define MEMORY 0xc1500000U	/* one struct mm_struct behind the other */

const u32 build_i386_tasks[BUILD_I386_TASKS] = {
	BUILD_I386_DATA + 0x1000, 0xc1300000, 0xc1302000, 0xc1304000,
};

static void check(int err)
{
	if (err)
		abort();
}

void build_i386_poke(struct build_i386 *g, u32 address, const void *data, size_t size)
{
	check(mem_fake_set(g->mem, GPA(address - OFFSET), data, size));
}

void build_i386_put(struct build_i386 *g, u32 address, u32 value)
{
	build_i386_poke(g, address, &value, sizeof(value));
}

static void map(struct build_i386 *g, u32 address, u32 size, u32 access)
{
	check(build_pagetable_map_range(&g->pages, address, address - OFFSET, size, access));
	for (u32 done = 0; done < size; done += MEM_FAKE_PAGE)
		if (!mem_fake_page(g->mem, GPA(address - OFFSET + done)))
			abort();
}

static void map_all(struct build_i386 *g)
{
	map(g, BUILD_I386_TEXT, BUILD_I386_TEXT_SIZE, MMU_EXEC);
	map(g, BUILD_I386_DATA, BUILD_I386_DATA_SIZE, MMU_WRITE);
	map(g, BUILD_I386_PERCPU + BUILD_I386_DATA, MEM_FAKE_PAGE, MMU_WRITE);
	map(g, MEMORY, MEM_FAKE_PAGE, MMU_WRITE);
	map(g, OFFSET + TABLES, MEM_FAKE_PAGE, MMU_WRITE);
	for (u32 i = 0; i < BUILD_I386_TASKS; i++) {
		if (i)
			map(g, build_i386_tasks[i] - 0x1000, 0x2000, MMU_WRITE);
		map(g, BUILD_I386_STACKS + i * LAYOUT_I386_THREAD_SIZE, LAYOUT_I386_THREAD_SIZE,
		    MMU_WRITE);
	}
}

static void put_gdt(struct build_i386 *g)
{
	static const u8 descriptor[] = { 0xff, 0xff, 0, 0, BUILD_I386_PERCPU >> 16 & 0xff,
					 0x93, 0x8f, BUILD_I386_PERCPU >> 24 };

	check(build_pagetable_map(&g->pages, BUILD_I386_GDT, GDT_GPA, MEM_FAKE_PAGE, MMU_WRITE));
	check(mem_fake_set(g->mem, GPA(GDT_GPA + GDT_PERCPU * sizeof(descriptor)), descriptor,
			   sizeof(descriptor)));
}

static void put_task(struct build_i386 *g, unsigned int i, const char *comm)
{
	unsigned int nr = BUILD_I386_TASKS;
	u32 task = build_i386_tasks[i], stack = BUILD_I386_STACKS + i * LAYOUT_I386_THREAD_SIZE;
	u32 next = build_i386_tasks[(i + 1) % nr], last = build_i386_tasks[(i + nr - 1) % nr];
	u32 mm = i % 2 ? MEMORY + i * 1024 : 0;

	build_i386_put(g, task + BUILD_I386_STACK, stack);
	build_i386_put(g, stack, STACK_END_MAGIC);
	build_i386_put(g, task + BUILD_I386_STACK + 4, 1);
	build_i386_put(g, task + BUILD_I386_FLAGS, i == 2 ? 0x00208040 : 0x00400100);
	build_i386_put(g, task + BUILD_I386_LIST, next + BUILD_I386_LIST);
	build_i386_put(g, task + BUILD_I386_LIST + 4, last + BUILD_I386_LIST);
	build_i386_put(g, task + BUILD_I386_MM, mm);
	build_i386_put(g, task + BUILD_I386_MM + 4, mm);
	if (mm)
		build_i386_put(g, mm + BUILD_I386_MM_PGD, OFFSET + g->pages.root);
	build_i386_put(g, task + BUILD_I386_PID, i);
	build_i386_put(g, task + BUILD_I386_PID + 4, i);
	build_i386_poke(g, task + BUILD_I386_COMM, comm, strlen(comm) + 1);
}

/* mov %fs:@address into %eax, or by the longer form into %edx. */
static void add_load(struct build_i386 *g, unsigned int at, u32 address, bool long_form)
{
	u8 code[7] = { 0x64, 0x8b, 0x15 };

	if (!long_form)
		code[1] = 0xa1;
	memcpy(code + (long_form ? 3 : 2), &address, sizeof(address));
	memcpy(g->text + at, code, long_form ? 7 : 6);
}

static void add_functions(struct build_i386 *g)
{
	static const u8 code[] = {
		0x55, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0xc9, 0xc3,	/* call the next address */
	};

	for (unsigned int i = 0; i < 20; i++)
		add_load(g, CANARY_LOADS + i * 16, BUILD_I386_CANARY, false);
	for (unsigned int i = 0; i < 10; i++)
		add_load(g, BUILD_I386_TASK_LOADS + i * 16, BUILD_I386_CURRENT, i % 2);
	for (unsigned int i = 0; i < BUILD_I386_FUNCTIONS; i++)
		memcpy(g->text + BUILD_I386_FUNCTION + i * 256, code, sizeof(code));
}

static void add_facts(struct build_i386 *g)
{
	static const char banner[] = "Linux version 6.1.0-test-686 (builder@example) (gcc) #1 SMP";
	static const u8 note[16] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };

	memcpy(g->text + BUILD_I386_BANNER, banner, sizeof(banner));
	memcpy(g->text + BUILD_I386_NOTES, note, sizeof(note));
	for (unsigned int i = 0; i < sizeof(g->build_id); i++)
		g->build_id[i] = 0x86 + i;
	memcpy(g->text + BUILD_I386_NOTES + sizeof(note), g->build_id, sizeof(g->build_id));
}

/* As 6.1 has them, with a base of 4 bytes. */
static void add_kallsyms(struct build_i386 *g)
{
	static const struct build_kallsyms_format format = {
		.addressing = KALLSYMS_BASE, .marker_size = 4, .long_lengths = true, .align = 4,
		.narrow_base = true, .max_tokens = 8,
	};
	const u64 start = BUILD_I386_HIGH | BUILD_I386_TEXT;
	struct build_ksym symbols[BUILD_I386_FUNCTIONS + 2] = {
		{ start, "_text", 'T', false }, { start, "_stext", 'T', false },
	};
	char names[BUILD_I386_FUNCTIONS][16];
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	for (unsigned int i = 0; i < BUILD_I386_FUNCTIONS; i++) {
		snprintf(names[i], sizeof(names[i]), "func_%u", i);
		symbols[i + 2] = (struct build_ksym){
			start + BUILD_I386_FUNCTION + i * 256, names[i], 't', false,
		};
	}
	build_kallsyms(&out, start, &format, symbols, ARRAY_SIZE(symbols), NULL);
	if (strbuf_error(&out) || out.len > BUILD_I386_TEXT_SIZE - BUILD_I386_KALLSYMS)
		abort();
	memcpy(g->text + BUILD_I386_KALLSYMS, out.data, out.len);
}

void build_i386_init(struct build_i386 *g, u8 mode)
{
	static const char *const comms[BUILD_I386_TASKS] = {
		"swapper/0", "init", "kthreadd", "a-program",
	};

	memset(g, 0, sizeof(*g));
	g->mem = mem_fake_create();
	if (!g->mem)
		abort();
	check(build_pagetable_init(&g->pages, g->mem, mode, GPA(TABLES)));
	map_all(g);
	put_gdt(g);
	add_functions(g);
	add_facts(g);
	add_kallsyms(g);
	build_i386_poke(g, BUILD_I386_TEXT, g->text, sizeof(g->text));
	for (unsigned int i = 0; i < BUILD_I386_TASKS; i++)
		put_task(g, i, comms[i]);
	build_i386_put(g, BUILD_I386_PERCPU + BUILD_I386_CANARY, 0x87654321);
	build_i386_put(g, BUILD_I386_PERCPU + BUILD_I386_CURRENT, build_i386_tasks[3]);
}

void build_i386_deinit(struct build_i386 *g)
{
	mem_fake_destroy(g->mem);
	g->mem = NULL;
}

struct vcpu_regs build_i386_regs(const struct build_i386 *g)
{
	struct vcpu_regs regs = build_pagetable_regs(&g->pages);

	regs.pc = BUILD_I386_HIGH | (BUILD_I386_TEXT + BUILD_I386_FUNCTION);
	regs.x86.gdt_base = BUILD_I386_GDT;
	return regs;
}
