/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layout of tasks by their contents. Three of them are always the first ones in the list of all
 * processes, in this order: init_task, which is the idle task of the first CPU; process 1; and
 * kthreadd, process 2 (rest_init(), init/main.c, since 2.6.22). So
 *
 *	comm	is "swapper/0", something, "kthreadd";
 *	tasks	is a list through all three, by which they are found;
 *	pid, tgid	are one behind the other and both 0, both 1, both 2;
 *	mm	is followed by active_mm: none, one that is active, too, and none;
 *	stack	points to pages that begin with STACK_END_MAGIC, to different ones.
 *
 * Nothing is taken where two places would do.
 */
#include "guest/task-find.h"

#include <ctype.h>
#include <string.h>

#define NR_TASKS 3
#define TASK_BYTES 6144		/* comm lies below 3500 in kernels of 4.x to 7.x */
#define COMM_BYTES 16
#define STACK_END_MAGIC 0x57ac6e9d	/* include/uapi/linux/magic.h */
#define PAGE 4096ULL

struct search {
	struct kread *k;
	u64 address[NR_TASKS];
	u8 bytes[NR_TASKS][TASK_BYTES];
	u32 comm, list;
};

static u64 word(const struct search *s, unsigned int task, u32 offset)
{
	u64 value;

	memcpy(&value, s->bytes[task] + offset, sizeof(value));
	return value;
}

static bool is_pointer(u64 value)
{
	return value >> 56 == 0xff && value % 8 == 0;
}

/* "swapper/0", or "swapper" without SMP. */
static int find_comm(struct search *s)
{
	const u8 *at = memmem(s->bytes[0], TASK_BYTES - COMM_BYTES, "swapper", 7);

	if (!at || (at[7] && strncmp((const char *)at + 7, "/0", 3)))
		return -ENOENT;
	s->comm = at - s->bytes[0];
	return 0;
}

/* Whether the task at @address is called @name; NULL: anything that can be a name. */
static bool is_called(struct search *s, u64 address, const char *name)
{
	char comm[COMM_BYTES];

	if (!is_pointer(address) || kread(s->k, address + s->comm, comm, sizeof(comm)) ||
	    comm[COMM_BYTES - 1])
		return false;
	return name ? !strcmp(comm, name) : isprint((unsigned char)comm[0]);
}

/* Whether the list entry at @at, which @before leads to, leads back to it. Its next is in *@ret. */
static bool is_linked(struct search *s, u64 at, u64 before, u64 *ret)
{
	u64 link[2];

	if (!is_pointer(at) || kread(s->k, at, link, sizeof(link)) || link[1] != before)
		return false;
	*ret = link[0];
	return true;
}

static bool try_list(struct search *s, u32 offset)
{
	u64 head = s->address[0] + offset, first = word(s, 0, offset), second, third;

	if (first == head || !is_linked(s, first, head, &second) ||
	    !is_linked(s, second, first, &third) || !is_called(s, first - offset, NULL) ||
	    !is_called(s, second - offset, "kthreadd"))
		return false;
	s->list = offset;
	s->address[1] = first - offset;
	s->address[2] = second - offset;
	return true;
}

static int find_list(struct search *s)
{
	for (u32 offset = 0; offset + 16 <= TASK_BYTES; offset += 8)
		if (is_pointer(word(s, 0, offset)) && try_list(s, offset))
			return 0;
	return -ENOENT;
}

/* What is to be looked for: whether it can be at @offset. */
typedef bool match_fn(struct search *s, u32 offset);

static bool match_ids(struct search *s, u32 offset)
{
	for (u32 i = 0; i < NR_TASKS; i++) {
		u32 ids[2];

		memcpy(ids, s->bytes[i] + offset, sizeof(ids));
		if (ids[0] != i || ids[1] != i)
			return false;
	}
	return true;
}

static bool match_mm(struct search *s, u32 offset)
{
	u64 mm = word(s, 1, offset);

	return is_pointer(mm) && word(s, 1, offset + 8) == mm && !word(s, 0, offset) &&
	       !word(s, 2, offset);
}

static bool match_stack(struct search *s, u32 offset)
{
	for (unsigned int i = 0; i < NR_TASKS; i++) {
		u64 stack = word(s, i, offset), magic;

		if (!is_pointer(stack) || stack % PAGE ||
		    (i && stack == word(s, i - 1, offset)) || kread_u64(s->k, stack, &magic) ||
		    magic != STACK_END_MAGIC)
			return false;
	}
	return true;
}

/* The one place where @match holds. */
static int find_place(struct search *s, u32 step, match_fn *match, u32 *ret)
{
	u32 found = LAYOUT_NONE;

	for (u32 offset = 0; offset + 16 <= TASK_BYTES; offset += step) {
		if (!match(s, offset))
			continue;
		if (found != LAYOUT_NONE)
			return -ENOENT;
		found = offset;
	}
	if (found == LAYOUT_NONE)
		return -ENOENT;
	*ret = found;
	return 0;
}

static int read_tasks(struct search *s, unsigned int first, unsigned int nr)
{
	int err = 0;

	for (unsigned int i = first; i < first + nr && !err; i++)
		err = kread(s->k, s->address[i], s->bytes[i], TASK_BYTES);
	return err;
}

static int find_all(struct search *s, struct kernel_layout *layout)
{
	u32 pid, mm, stack;
	int err = read_tasks(s, 0, 1);

	if (!err)
		err = find_comm(s);
	if (!err)
		err = find_list(s);
	if (!err)
		err = read_tasks(s, 1, NR_TASKS - 1);
	if (!err)
		err = find_place(s, 4, match_ids, &pid);
	if (!err)
		err = find_place(s, 8, match_mm, &mm);
	if (!err)
		err = find_place(s, 8, match_stack, &stack);
	if (err)
		return err == -EFAULT ? -ENOENT : err;
	layout->task_comm = s->comm;
	layout->task_pid = pid;
	layout->task_tgid = pid + 4;
	layout->task_mm = mm;
	layout->task_stack = stack;
	layout->user.task_list = s->list;
	return 0;
}

int task_find_layout(struct kernel_layout *layout, struct kread *k, u64 init_task)
{
	struct search *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->k = k;
	s->address[0] = init_task;
	err = find_all(s, layout);
	free(s);
	return err;
}
