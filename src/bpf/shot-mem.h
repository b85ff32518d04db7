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

/* Sets .hva, .room and .behind for @gpa. */
SHOT_FN int shot_find_slot(struct shot *shot, u64 gpa)
{
	const struct shot_vm *vm;

	if (!shot)
		return STOP_NO_SLOT;
	vm = shot_vm(shot);
	if (!vm)
		return STOP_NO_SLOT;
	if (shot_try_slot(shot, vm, shot->slot, gpa))
		return 0;
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

/* Looks at the view's entry again: a page that was given away while we read it shows there. */
SHOT_FN int shot_recheck(struct shot *shot, u32 kind)
{
	struct shot_view *view;

	if (!shot)
		return 0;
	view = &shot->views[kind & (SHOT_NR_VIEWS - 1)];
	if (!view->size || !view->leaf_hva)
		return 0;
	if (shot_read_hva_again(shot, &shot->value, sizeof(shot->value), view->leaf_hva) ||
	    !mmu_walk_same_leaf(&view->walk, shot->value))
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
 * Starts the view's walk to @gva: at the last-level table of the walk before when that covers it,
 * else at the root. Leaves the place of the first entry, when it is known already, in .hva.
 */
SHOT_INLINE enum mmu_step shot_walk_start(struct shot *shot, struct shot_view *view, u64 gva)
{
	struct mmu_walk *walk = &view->walk;
	u64 index = gva >> 12 & 511;

	if (!view->table_hva || (gva ^ walk->gva) >> 21) {
		shot->hva = 0;
		return mmu_walk_start(walk, shot->mode, shot->root, gva);
	}
	walk->gva = gva;
	walk->entry_gpa = (walk->leaf_gpa & ~4095ULL) + index * 8;
	shot->hva = view->table_hva + index * 8;
	return MMU_STEP_NEXT;
}

/* Reads entries until the page is known. */
SHOT_INLINE int shot_walk_tables(struct shot *shot, struct shot_view *view, u64 gva)
{
	enum mmu_step step = shot_walk_start(shot, view, gva);

	view->leaf_hva = 0;
	for (int i = 0; i < MMU_MAX_LEVELS && step == MMU_STEP_NEXT; i++) {
		if (!shot->hva && shot_find_slot(shot, view->walk.entry_gpa))
			return STOP_NO_SLOT;
		if (shot_read_hva(shot, &shot->value, sizeof(shot->value), shot->hva))
			return STOP_HOST_FAULT;
		view->leaf_hva = shot->hva;
		shot->hva = 0;
		step = mmu_walk_step(&view->walk, shot->value);
	}
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
	view->table_hva = 0;
	if (view->leaf_hva && view->walk.stride == 9 && view->walk.level == 0)
		view->table_hva = view->leaf_hva & ~4095ULL;
}

/* Moves the view of @kind to @gva. */
SHOT_FN int shot_move_view(struct shot *shot, u64 gva, u32 kind)
{
	struct shot_view *view;
	int stop;

	if (!shot)
		return STOP_UNSUPPORTED;
	shot_recheck(shot, kind);
	view = &shot->views[kind & (SHOT_NR_VIEWS - 1)];
	view->size = 0;
	stop = shot_walk_tables(shot, view, gva);
	if (!stop)
		stop = shot_find_slot(shot, view->walk.gpa);
	if (stop) {
		view->table_hva = 0;
		return stop;
	}
	shot_set_window(shot, view, gva);
	return 0;
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

/* Reads @size bytes, at most SHOT_READ_MAX, into .buf; they may lie in two pages. */
SHOT_FN int shot_read(struct shot *shot, u64 gva, u32 size, u32 kind)
{
	u64 first, rest;
	int stop;

	if (!shot || size > SHOT_READ_MAX)
		return STOP_UNSUPPORTED;
	kind &= SHOT_NR_VIEWS - 1;
	stop = shot_translate(shot, gva, kind);
	if (stop)
		return stop;
	first = shot_min(size, shot->room);
	shot_opaque(first);
	if (first > SHOT_READ_MAX || shot_read_hva(shot, shot->buf, first, shot->hva))
		return STOP_HOST_FAULT;
	rest = size - first;
	if (!rest)
		return 0;
	stop = shot_translate(shot, gva + first, kind);
	if (stop)
		return stop;
	shot_opaque(rest);
	if (rest > SHOT_READ_MAX || rest > shot->room ||
	    shot_read_hva(shot, (u8 *)shot->buf + first, rest, shot->hva))
		return STOP_HOST_FAULT;
	return 0;
}

/* Reads 8 bytes into .value. */
SHOT_INLINE int shot_read_u64(struct shot *shot, u64 gva, u32 kind)
{
	int stop = shot_read(shot, gva, 8, kind);

	if (!stop)
		shot->value = shot->buf[0];
	return stop;
}

#endif
