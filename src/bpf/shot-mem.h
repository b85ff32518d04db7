/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shot's guest memory: guest virtual address to guest physical to slot to the VMM's memory.
 * Functions return 0 or the enum stop_reason that ends what needed the bytes.
 *
 * In BPF the functions marked SHOT_FN are verified on their own, with a pointer that may be NULL
 * as far as the verifier knows; hence the checks. At most 8 of them may be in one call chain.
 */
#ifndef BPF_SHOT_MEM_H
#define BPF_SHOT_MEM_H

#include "bpf/shot.h"

#define SHOT_SLOT_STEPS 10	/* a binary search over MEM_MAX_SLOTS */

_Static_assert(1 << (SHOT_SLOT_STEPS - 1) == MEM_MAX_SLOTS, "steps of the search");

SHOT_INLINE u64 shot_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Takes slot @i when @gpa is in it. */
SHOT_INLINE int shot_try_slot(struct shot *shot, const struct shot_vm *vm, u32 i, u64 gpa)
{
	const struct mem_slot *slot = &vm->slots.slots[i & (MEM_MAX_SLOTS - 1)];
	u64 skip = gpa - slot->gpa;

	if (skip >= slot->size)
		return 0;
	shot->slot = i;
	shot->hva = slot->hva + skip;
	shot->room = slot->size - skip;
	shot->behind = skip;
	return 1;
}

/* Binary search. */
SHOT_FN int shot_search_slot(struct shot *shot, u64 gpa)
{
	const struct shot_vm *vm;

	if (!shot)
		return STOP_NO_SLOT;
	vm = shot_vm(shot);
	if (!vm)
		return STOP_NO_SLOT;
	shot->low = 0;
	shot->high = vm->slots.nr;
	for (int i = 0; i < SHOT_SLOT_STEPS; i++) {
		u32 middle = (shot->low + shot->high) / 2;

		if (shot->low >= shot->high)
			break;
		if (vm->slots.slots[middle & (MEM_MAX_SLOTS - 1)].gpa > gpa)
			shot->high = middle;
		else
			shot->low = middle + 1;
	}
	/* .low: the first slot that starts behind @gpa. */
	if (shot->low && shot_try_slot(shot, vm, shot->low - 1, gpa))
		return 0;
	return STOP_NO_SLOT;
}

/* Sets .hva, .room and .behind for @gpa, which is mostly in the slot of the last one. */
SHOT_INLINE int shot_find_slot(struct shot *shot, const struct shot_vm *vm, u64 gpa)
{
	return shot_try_slot(shot, vm, shot->slot, gpa) ? 0 : shot_search_slot(shot, gpa);
}

/*
 * Looks at the view's entries again: a page that was given away while we read it shows there. Only
 * what user space may take away needs it: the kernel's own stack and task stay while this vCPU,
 * which runs on them, stands still.
 */
SHOT_FN int shot_recheck(struct shot *shot, u32 kind)
{
	u64 *now;
	struct shot_view *view;
	u64 changed = 0, noise;

	if (!shot || kind != SHOT_VIEW_USER)
		return 0;
	view = &shot->views[SHOT_VIEW_USER];
	if (!view->line_used)
		return 0;
	now = (u64 *)shot->again;
	if (shot_read_hva_again(shot, now, sizeof(view->line), view->line_hva)) {
		shot->wire.flags |= WIRE_F_CHANGED;
		return 0;
	}
	noise = mmu_entry_noise(view->walk.mode);
	for (int i = 0; i < SHOT_LINE; i++) {
		if (view->line_used & (1U << i))
			changed |= (now[i] ^ view->line[i]) & ~noise;
	}
	if (changed)
		shot->wire.flags |= WIRE_F_CHANGED;
	return 0;
}

SHOT_INLINE int shot_step_stop(enum mmu_step step)
{
	switch (step) {
	case MMU_STEP_LEAF:
		return 0;
	case MMU_STEP_NOT_PRESENT:
	case MMU_STEP_RESERVED:
		return STOP_NOT_PRESENT;
	case MMU_STEP_BAD_ADDRESS:
		return STOP_BAD_POINTER;
	default:
		return STOP_UNSUPPORTED;
	}
}

/*
 * Starts the view's walk to @gva: at the lowest table that the walk before came by and that covers
 * @gva too, else at the root. Leaves the place of the first entry, when it is known, in .hva. A
 * walk to an entry that maps nothing has come by tables, too: that the next page is not there
 * either is mostly found without a read.
 */
SHOT_INLINE enum mmu_step shot_walk_start(struct shot *shot, struct shot_view *view, u64 gva)
{
	u64 differ = gva ^ view->walk.gva, table = 0;
	u32 level = view->walk.level;

	while (level < MMU_MAX_LEVELS && differ >> mmu_walk_table_bits(&view->walk, level))
		level++;
	level &= SHOT_LEVELS - 1;
	table = view->tables[level];	/* 0 above the top table */
	if (!view->resume || !table) {
		for (int i = 0; i < SHOT_LEVELS; i++)
			view->tables[i] = 0;
		shot->hva = 0;
		return mmu_walk_start(&view->walk, &shot->space, gva);
	}
	mmu_walk_resume(&view->walk, gva, level);
	shot->hva = table + mmu_walk_index(&view->walk) * 8;
	return MMU_STEP_NEXT;
}

/*
 * Makes .line of the view of @kind hold the entry at .hva. A function of its own, as the stack of
 * all that are under way at once is 512 bytes, and Linux 6.1 counts each in steps of 32.
 */
SHOT_FN int shot_load_line(struct shot *shot, u32 kind)
{
	struct shot_view *view;
	u64 hva;

	if (!shot)
		return STOP_UNSUPPORTED;
	view = &shot->views[kind & (SHOT_NR_VIEWS - 1)];
	hva = shot->hva & ~(sizeof(view->line) - 1ULL);
	view->line_used = 0;
	view->line_hva = 0;
	if (shot_read_hva(shot, view->line, sizeof(view->line), hva))
		return STOP_HOST_FAULT;
	view->line_hva = hva;
	return 0;
}

/* Reads entries until the page is known. */
SHOT_INLINE int shot_walk_tables(struct shot *shot, const struct shot_vm *vm,
				 struct shot_view *view, u32 kind, u64 gva)
{
	enum mmu_step step = shot_walk_start(shot, view, gva);
	u32 entry = 0;

	view->resume = 0;
	for (int i = 0; i < MMU_MAX_LEVELS && step == MMU_STEP_NEXT; i++) {
		if (!shot->hva && shot_find_slot(shot, vm, view->walk.entry_gpa))
			return STOP_NO_SLOT;
		if ((shot->hva ^ view->line_hva) >= sizeof(view->line)) {
			if (view->line_used)
				shot_recheck(shot, kind);
			if (shot_load_line(shot, kind))
				return STOP_HOST_FAULT;
		}
		entry = shot->hva / 8 % SHOT_LINE;
		if (view->walk.mode >= MMU_MODE_X86_4LEVEL)
			view->tables[view->walk.level & (SHOT_LEVELS - 1)] =
				shot->hva - mmu_walk_index(&view->walk) * 8;
		shot->hva = 0;
		step = mmu_walk_step(&view->walk, view->line[entry]);
	}
	if (step == MMU_STEP_LEAF && view->line_hva)
		view->line_used |= 1U << entry;
	view->resume = step == MMU_STEP_LEAF || step == MMU_STEP_NOT_PRESENT;
	return shot_step_stop(step);
}

/* Sets the view to what is contiguous around @gva, whose page the walk has found. */
SHOT_INLINE void shot_set_window(struct shot *shot, struct shot_view *view, u64 gva)
{
	u64 page = 1ULL << (view->walk.shift & 63);
	u64 inside = view->walk.gpa & (page - 1);
	u64 before = shot_min(inside, shot->behind);

	view->gva = gva - before;
	view->hva = shot->hva - before;
	view->size = before + shot_min(page - inside, shot->room);
}

/* Moves the view of @kind to @gva. */
SHOT_FN int shot_move_view(struct shot *shot, u64 gva, u32 kind)
{
	const struct shot_vm *vm;
	struct shot_view *view;
	int stop;

	if (!shot)
		return STOP_UNSUPPORTED;
	vm = shot_vm(shot);
	if (!vm)
		return STOP_NO_SLOT;
	view = &shot->views[kind & (SHOT_NR_VIEWS - 1)];
	stop = shot_walk_tables(shot, vm, view, kind, gva);
	if (!stop)
		stop = shot_find_slot(shot, vm, view->walk.gpa);
	if (stop)
		view->size = 0;
	else
		shot_set_window(shot, view, gva);
	return stop;
}

/* Sets .hva and .room, at least 1 byte, for @gva. */
SHOT_INLINE int shot_translate(struct shot *shot, u64 gva, u32 kind)
{
	struct shot_view *view = &shot->views[kind];
	u64 skip = gva - view->gva;

	if (skip >= view->size) {
		int stop = shot_move_view(shot, gva, kind);

		if (stop)
			return stop;
		skip = gva - view->gva;
	}
	shot->hva = view->hva + skip;
	shot->room = view->size - skip;
	return 0;
}

/* Fills .buf from @gva on with as much as one read gives, @size at least. */
SHOT_INLINE int shot_read_ahead(struct shot *shot, u64 gva, u64 size)
{
	u64 ahead = shot_min(shot_min(SHOT_PAGE - gva % SHOT_PAGE, shot->room), SHOT_READ_AHEAD);

	shot_opaque(ahead);
	if (ahead < size || ahead > SHOT_READ_AHEAD ||
	    shot_read_hva(shot, shot->buf, ahead, shot->hva))
		return STOP_HOST_FAULT;
	shot->buf_size = ahead;
	return 0;
}

/* Fills .buf with just @size bytes that are not in one piece. */
SHOT_INLINE int shot_read_pieces(struct shot *shot, u64 gva, u64 size, u32 kind)
{
	u64 first = shot_min(size, shot->room), rest = size - first;
	int stop;

	shot_opaque(first);
	if (first > SHOT_READ_MAX || shot_read_hva(shot, shot->buf, first, shot->hva))
		return STOP_HOST_FAULT;
	shot->buf_size = size;
	if (!rest)
		return 0;
	stop = shot_translate(shot, gva + first, kind);
	shot_opaque(rest);
	if (!stop && (rest > SHOT_READ_MAX || rest > shot->room ||
		      shot_read_hva(shot, shot->buf + first, rest, shot->hva)))
		stop = STOP_HOST_FAULT;
	if (stop)
		shot->buf_size = 0;
	return stop;
}

/*
 * Makes @size bytes at @gva, at most SHOT_READ_MAX, available at shot_bytes(). Reads ahead, as a
 * read costs the same whatever its size: callers go upwards where they can.
 */
SHOT_FN int shot_read(struct shot *shot, u64 gva, u32 size, u32 kind)
{
	int stop;

	if (!shot || size > SHOT_READ_MAX)
		return STOP_UNSUPPORTED;
	kind &= SHOT_NR_VIEWS - 1;
	shot->buf_at = gva - shot->buf_gva;
	/* Only at an alignment that whatever has the size needs. */
	if (shot->buf_at < shot->buf_size && size <= shot->buf_size - shot->buf_at &&
	    !(shot->buf_at & (size < 8 ? 3 : 7)))
		return 0;
	shot->buf_at = 0;
	shot->buf_gva = gva;
	shot->buf_size = 0;
	stop = shot_translate(shot, gva, kind);
	if (stop)
		return stop;
	/* The host may have one of two pages only: then no more is there than was asked for. */
	return shot->room >= size && gva % SHOT_PAGE + size <= SHOT_PAGE ?
		       shot_read_ahead(shot, gva, size) :
		       shot_read_pieces(shot, gva, size, kind);
}

/* What shot_read() has read. */
SHOT_INLINE const void *shot_bytes(const struct shot *shot)
{
	return shot->buf + (shot->buf_at & (SHOT_READ_AHEAD - 1));
}

/* A kernel address of 32 bits as a record has it. */
SHOT_INLINE u64 shot_extend(u64 address)
{
	return (u64)(s64)(s32)address;
}

/* Reads 8 bytes into .value. */
SHOT_INLINE int shot_read_u64(struct shot *shot, u64 gva, u32 kind)
{
	int stop = shot_read(shot, gva, 8, kind);

	if (!stop)
		shot->value = *(const u64 *)shot_bytes(shot);
	return stop;
}

/* Reads a pointer of the kernel's into .value. */
SHOT_INLINE int shot_read_pointer(struct shot *shot, u64 gva, u32 kind)
{
	int stop = shot_read(shot, gva, shot->kernel_word, kind);

	if (!stop)
		shot->value = shot->kernel_word == 8 ?
				      *(const u64 *)shot_bytes(shot) :
				      shot_extend(*(const u32 *)shot_bytes(shot));
	return stop;
}

/* Forgets what earlier walks found. */
SHOT_INLINE void shot_forget_walks(struct shot *shot)
{
	shot->buf_size = 0;
	for (int i = 0; i < SHOT_NR_VIEWS; i++) {
		shot->views[i].size = 0;
		shot->views[i].resume = 0;
		shot->views[i].line_hva = 0;
		shot->views[i].line_used = 0;
	}
}

/* Walks by other tables from now on; on arm64 in the lower half. */
SHOT_INLINE void shot_set_root(struct shot *shot, u64 root)
{
	shot->space.root = root;
	shot_forget_walks(shot);
}

#endif
