/* SPDX-License-Identifier: GPL-2.0-only */
/* Page tables of every known format, built in a fake guest memory. */
#ifndef BUILD_PAGETABLE_H
#define BUILD_PAGETABLE_H

#include "mem/fake.h"
#include "mmu/translate.h"

struct build_pagetable {
	struct mem_fake *mem;
	u8 mode;	/* enum mmu_mode */
	u8 page_shift;	/* 12, but of arm64's larger granules */
	u8 bits;	/* arm64: of an address, in both halves */
	bool ds;	/* arm64: TCR.DS */
	u64 root;
	u64 root_high;	/* arm64: of the upper half */
	u64 next;	/* where the next table goes */
};

/* Makes an empty top table at @first; the tables that follow go behind it. */
int build_pagetable_init(struct build_pagetable *pt, struct mem_fake *mem, u8 mode, gpa_t first);

/* The same for arm64 (MMU_MODE_ARM64), with one top table for each half, in granules at @first. */
int build_pagetable_init_arm64(struct build_pagetable *pt, struct mem_fake *mem, u8 page_shift,
			       u8 bits, bool ds, gpa_t first);

/*
 * Maps the page of @page_size bytes at @gva to @gpa with MMU_* @access, making the tables above it
 * with all rights. Does not put bytes behind the page. -EINVAL: no such page size in the mode.
 */
int build_pagetable_map(struct build_pagetable *pt, u64 gva, u64 gpa, u64 page_size, u32 access);

/* Maps [@gva, @gva + @size) to @gpa with the smallest pages. */
int build_pagetable_map_range(struct build_pagetable *pt, u64 gva, u64 gpa, u64 size, u32 access);

/*
 * Where the entry of @gva at @level (0: last) is, to spoil it; 0 when a table above is missing.
 */
u64 build_pagetable_entry(const struct build_pagetable *pt, u64 gva, unsigned int level);

/* Reads and writes an entry in the mode's width. */
u64 build_pagetable_get(const struct build_pagetable *pt, u64 entry_gpa);
int build_pagetable_put(struct build_pagetable *pt, u64 entry_gpa, u64 value);

/* The space, and the registers that ask for it. */
struct mmu_space build_pagetable_space(const struct build_pagetable *pt);
struct vcpu_regs build_pagetable_regs(const struct build_pagetable *pt);

#endif
