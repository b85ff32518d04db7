/* SPDX-License-Identifier: GPL-2.0-only */
/* Places in an i386 kernel's tasks, found by what is in them. */
#include "guest/layout-i386.h"

#include <string.h>

#include "base/cursor.h"
#include "mmu/translate.h"

#define STACK_END_MAGIC 0x57ac6e9dU
#define GDT_PERCPU 27
#define PF_KTHREAD 0x00200000U		/* include/linux/sched.h */

#define DATA_SIZE (32ULL << 20)		/* behind the image: where data is looked for */
#define TASK_SPAN 4096U			/* a struct task_struct has less before its name */
#define STACK_MAX_OFFSET 128U		/* it is near the start, behind struct thread_info */
#define COMM_SIZE 16U
#define MM_SPAN 256U			/* the address of the page table is near the start, too */
#define NR_VARIABLES 4096U		/* per-CPU variables that code loads; a power of two */
#define NR_TRIES 16U			/* of them that may be the current task */

/* A per-CPU variable and how many instructions load it. */
struct variable {
	u64 address;
	u32 loads;
};

/* The three tasks at the head of the list, by the addresses of their names. */
enum { FIRST, INIT, KTHREADD, NR_TASKS };

struct search {
	const struct image *image;
	const struct mmu_space *space;
	const struct mem_reader *mem;
	u64 percpu;		/* base of the per-CPU segment of one vCPU */
	u64 names[NR_TASKS];
	u32 list;		/* from the list's links to the name */
	u32 bytes[NR_TASKS][TASK_SPAN / sizeof(u32)];	/* before each name */
};

static u64 extend(u32 address)
{
	return (s64)(s32)address;
}

static bool is_kernel(u32 address)
{
	return address >> 31 && address % sizeof(u32) == 0;
}

static int read_at(const struct search *s, u64 address, void *out, size_t size)
{
	return mmu_read(s->space, s->mem, GVA(address), out, size);
}

static bool read_word(const struct search *s, u64 address, u32 *ret)
{
	return read_at(s, address, ret, sizeof(*ret)) == 0;
}

/* mov %fs:ADDRESS,%reg at @at: its address; 0: it is another instruction. */
static u32 load_by_fs(const u8 *at)
{
	u32 address;

	if (at[0] != 0x64)
		return 0;
	if (at[1] == 0xa1)
		memcpy(&address, at + 2, sizeof(address));
	else if (at[1] == 0x8b && (at[2] & 0xc7) == 0x05)
		memcpy(&address, at + 3, sizeof(address));
	else
		return 0;
	return address;
}

static void count_load(struct variable *variables, u64 address)
{
	u32 i = (address / sizeof(u32)) % NR_VARIABLES;

	for (u32 n = 0; n < NR_VARIABLES; n++, i = (i + 1) % NR_VARIABLES) {
		if (variables[i].address && variables[i].address != address)
			continue;
		variables[i].address = address;
		variables[i].loads++;
		return;
	}
}

static int compare_loads(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	return x->loads < y->loads ? 1 : x->loads > y->loads ? -1 : 0;
}

/* The variables that code loads, those that it loads most first. */
static void count_loads(const struct image *image, struct variable *variables)
{
	const u8 *at = image->data, *end = image->data + image->size;

	while (end - at > 7 && (at = memchr(at, 0x64, end - at - 7))) {
		u32 address = load_by_fs(at);

		if (address && extend(address) - image->start < image->size + DATA_SIZE)
			count_load(variables, extend(address));
		at++;
	}
	qsort(variables, NR_VARIABLES, sizeof(*variables), compare_loads);
}

static bool has_mark(const struct search *s, u32 stack)
{
	u32 mark;

	return stack % LAYOUT_I386_THREAD_SIZE == 0 && is_kernel(stack) &&
	       read_word(s, extend(stack), &mark) && mark == STACK_END_MAGIC;
}

/* Where in what may be a task the address of its stack is; 0: nowhere. */
static u32 find_stack(const struct search *s, u32 task)
{
	u32 words[STACK_MAX_OFFSET / sizeof(u32)];

	if (!is_kernel(task) || read_at(s, extend(task), words, sizeof(words)))
		return 0;
	for (u32 i = 1; i < ARRAY_SIZE(words); i++)
		if (has_mark(s, words[i]))
			return i * sizeof(u32);
	return 0;
}

/* The base in the GDT's entry for per-CPU data (GDT_ENTRY_PERCPU, asm/segment.h). */
static int find_percpu(struct search *s, u64 gdt)
{
	u8 entry[8];

	if (!gdt || read_at(s, extend(gdt + GDT_PERCPU * sizeof(entry)), entry, sizeof(entry)))
		return -ENOENT;
	s->percpu = entry[2] | entry[3] << 8 | entry[4] << 16 | (u64)entry[7] << 24;
	return 0;
}

static int find_current(const struct search *s, struct layout_i386 *found)
{
	_cleanup_free_ struct variable *variables = calloc(NR_VARIABLES, sizeof(*variables));

	if (!variables)
		return -ENOMEM;
	count_loads(s->image, variables);
	for (u32 i = 0; i < NR_TRIES && variables[i].loads; i++) {
		u64 address = variables[i].address;
		u32 task;

		if (!read_word(s, extend(s->percpu + address), &task))
			continue;
		found->task_stack = find_stack(s, task);
		found->current_task = address;
		if (found->task_stack)
			return 0;
	}
	return -ENOENT;
}

/* Whether the links at @link lead to another and back: the other one into *@ret_next. */
static bool is_linked(const struct search *s, u64 link, u64 *ret_next)
{
	u32 next, back;

	if (!read_word(s, link, &next) || !is_kernel(next) || extend(next) == link ||
	    !read_word(s, extend(next) + sizeof(u32), &back) || extend(back) != link)
		return false;
	*ret_next = extend(next);
	return true;
}

static bool is_named(const struct search *s, u64 at, const char *name)
{
	char comm[COMM_SIZE];

	return !read_at(s, at, comm, sizeof(comm)) && !strncmp(comm, name, sizeof(comm));
}

/* Whether @name is the first task's: then the other two, and the list. */
static bool try_first(struct search *s, u64 name)
{
	for (u32 d = 2 * sizeof(u32); d < TASK_SPAN; d += sizeof(u32)) {
		u64 init, kthreadd;

		if (!is_linked(s, name - d, &init) || !is_linked(s, init, &kthreadd) ||
		    !is_named(s, kthreadd + d, "kthreadd"))
			continue;
		s->names[FIRST] = name;
		s->names[INIT] = init + d;
		s->names[KTHREADD] = kthreadd + d;
		s->list = d;
		return true;
	}
	return false;
}

/* In one page of data, of which @size bytes are known. */
static bool search_page(struct search *s, u64 address, const u8 *page, size_t size)
{
	static const char name[] = "swapper";
	const u8 *at = page, *end = page + size;

	while ((at = memmem(at, end - at, name, sizeof(name) - 1))) {
		if ((at - page) % sizeof(u32) == 0 && try_first(s, address + (at - page)))
			return true;
		at++;
	}
	return false;
}

static int find_tasks(struct search *s)
{
	u64 start = s->image->start + s->image->size;
	u8 page[4096];
	size_t got;

	for (u64 at = start; at - start < DATA_SIZE && at >= start; at += sizeof(page)) {
		if (mmu_read_partial(s->space, s->mem, GVA(at), page, sizeof(page), &got))
			return -ENOENT;
		if (search_page(s, at, page, got))
			return 0;
	}
	return -ENOENT;
}

/* The words before each name, the farthest first. */
static int read_tasks(struct search *s)
{
	for (int i = 0; i < NR_TASKS; i++)
		if (read_at(s, s->names[i] - TASK_SPAN, s->bytes[i], TASK_SPAN))
			return -ENOENT;
	return 0;
}

/* Which of the words before a name is @back bytes before it. */
static u32 word_at(u32 back)
{
	return (TASK_SPAN - back) / sizeof(u32);
}

/* The one place among the words before the names that @fits, or 0. Counted back from the name. */
static u32 find_place(const struct search *s, u32 from, u32 to,
		      bool (*fits)(const struct search *s, u32 i))
{
	u32 found = 0;

	for (u32 back = to; back < from; back += sizeof(u32)) {
		if (!fits(s, word_at(back)))
			continue;
		if (found)
			return 0;
		found = back;
	}
	return found;
}

static bool fits_stack(const struct search *s, u32 i)
{
	for (int task = 0; task < NR_TASKS; task++)
		if (!has_mark(s, s->bytes[task][i]))
			return false;
	return true;
}

static bool fits_pid(const struct search *s, u32 i)
{
	for (u32 task = 0; task < NR_TASKS; task++)
		if (s->bytes[task][i] != task || s->bytes[task][i + 1] != task)
			return false;
	return true;
}

static bool fits_mm(const struct search *s, u32 i)
{
	u32 mm = s->bytes[INIT][i];

	return is_kernel(mm) && s->bytes[INIT][i + 1] == mm && !s->bytes[FIRST][i] &&
	       !s->bytes[KTHREADD][i];
}

static bool is_kthread(const struct search *s, int task, u32 i)
{
	return s->bytes[task][i] & PF_KTHREAD;
}

/*
 * Whether a page table is at @table: its entry for the kernel's first addresses, which all tables
 * have in common, is that of the table in use. Bits that processors set are not compared.
 */
static bool is_page_table(const struct search *s, u32 table)
{
	bool pae = (s->space->mode & ~MMU_MODE_F_NO_NX) == MMU_MODE_X86_PAE;
	u32 size = pae ? 32 : 4096, offset = size / 4 * 3;
	u64 entry = 0, used = 0;

	return is_kernel(table) && table % size == 0 &&
	       !read_at(s, extend(table + offset), &entry, pae ? 8 : 4) &&
	       !mem_read(s->mem, GPA(s->space->root + offset), &used, pae ? 8 : 4) &&
	       entry & 1 && !((entry ^ used) & ~0xffeULL);
}

/* Where in the struct mm_struct at @mm its page table's address is. */
static u32 find_pgd(const struct search *s, u32 mm)
{
	u32 words[MM_SPAN / sizeof(u32)], found = LAYOUT_NONE;

	if (read_at(s, extend(mm), words, sizeof(words)))
		return LAYOUT_NONE;
	for (u32 i = 0; i < ARRAY_SIZE(words); i++) {
		if (!is_page_table(s, words[i]))
			continue;
		if (found != LAYOUT_NONE)
			return LAYOUT_NONE;
		found = i * sizeof(u32);
	}
	return found;
}

/* Offsets by what the current task's stack and all others have in common. */
static int find_members(const struct search *s, struct layout_i386 *found)
{
	u32 stack = find_place(s, TASK_SPAN, s->list, fits_stack);
	u32 mm = find_place(s, s->list, 2 * sizeof(u32), fits_mm);
	u32 pid = find_place(s, s->list, 2 * sizeof(u32), fits_pid);
	u32 flags = word_at(stack) + 2;	/* behind stack and usage */

	if (!stack || !mm || !pid)
		return -ENOENT;
	found->task_comm = found->task_stack + stack;
	found->task_mm = found->task_comm - mm;
	found->task_pid = found->task_comm - pid;
	found->task_tgid = found->task_pid + sizeof(u32);
	found->mm_pgd = find_pgd(s, s->bytes[INIT][word_at(mm)]);
	found->task_flags = LAYOUT_NONE;
	if (is_kthread(s, KTHREADD, flags) && !is_kthread(s, INIT, flags))
		found->task_flags = found->task_stack + 2 * sizeof(u32);
	return 0;
}

int layout_i386_find(const struct image *image, const struct mmu_space *space,
		     const struct mem_reader *mem, const struct vcpu_regs *regs,
		     struct layout_i386 *ret)
{
	_cleanup_free_ struct search *s = calloc(1, sizeof(*s));
	struct layout_i386 found = { 0 };
	int err;

	if (!s)
		return -ENOMEM;
	s->image = image;
	s->space = space;
	s->mem = mem;
	err = find_percpu(s, regs->x86.gdt_base);
	if (!err)
		err = find_current(s, &found);
	if (!err)
		err = find_tasks(s);
	if (!err)
		err = read_tasks(s);
	if (!err)
		err = find_members(s, &found);
	if (!err)
		*ret = found;
	return err;
}
