/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page-table walk, one source for BPF and user space. It holds no memory access: the caller
 * reads the entry that the walk asks for, from wherever guest memory is, and hands it in:
 *
 *	struct mmu_walk walk;
 *	enum mmu_step step = mmu_walk_start(&walk, mode, root, gva);
 *
 *	for (int i = 0; i < MMU_MAX_LEVELS && step == MMU_STEP_NEXT; i++) {
 *		if (read 8 bytes at walk.entry_gpa into entry fails)
 *			…;
 *		step = mmu_walk_step(&walk, entry);
 *	}
 *
 * A walk takes at most MMU_MAX_LEVELS reads whatever the tables hold, and every read is 8 bytes
 * at a multiple of 8, hence inside one page. In BPF wrap the loop in one function that is not
 * inlined: the verifier then checks it once.
 *
 * Formats: Intel SDM volume 3 chapter 4 "Paging", AMD APM volume 2 chapter 5.
 */
#ifndef MMU_WALK_H
#define MMU_WALK_H

#include "base/addr.h"

#define MMU_MAX_LEVELS 5

/* How addresses translate. The values of every architecture are in one space. */
enum mmu_mode {
	MMU_MODE_UNKNOWN,
	MMU_MODE_NONE,		/* paging is off: physical = linear, 32 bits */
	MMU_MODE_X86_32,	/* 2 levels of 4-byte entries, no large pages */
	MMU_MODE_X86_32_PSE,	/* the same with 4 MiB pages */
	MMU_MODE_X86_PAE,	/* 3 levels of 8-byte entries, 32-bit addresses */
	MMU_MODE_X86_4LEVEL,	/* 48-bit addresses */
	MMU_MODE_X86_5LEVEL,	/* 57-bit addresses */
	MMU_MODE_NR,
};

/* Joined to the mode: EFER.NXE is off, so that bit 63 of an entry is reserved. */
#define MMU_MODE_F_NO_NX 0x80

/* What all levels together allow. */
enum {
	MMU_EXEC = 1 << 0,
	MMU_WRITE = 1 << 1,
	MMU_USER = 1 << 2,
};

enum mmu_step {
	MMU_STEP_NEXT,		/* read 8 bytes at .entry_gpa and call mmu_walk_step() */
	MMU_STEP_LEAF,		/* translated: .gpa, .leaf, .shift and .access hold */
	MMU_STEP_NOT_PRESENT,	/* an entry is not present */
	MMU_STEP_RESERVED,	/* an entry has reserved bits set: the CPU faults on it, so do we */
	MMU_STEP_BAD_ADDRESS,	/* not canonical, or too wide for the mode */
	MMU_STEP_UNSUPPORTED,	/* a mode that is not known */
};

struct mmu_walk {
	u64 gva;
	u64 entry_gpa;	/* where the next entry is; a multiple of 8 */
	u64 gpa;	/* MMU_STEP_LEAF: of gva itself; else of the table being read */
	u64 leaf;	/* the entry that maps the page; 0 when paging is off */
	u64 leaf_gpa;	/* where the 8 bytes that hold it are, to read them again later */
	u8 mode;	/* enum mmu_mode */
	u8 no_nx;	/* MMU_MODE_F_NO_NX was given */
	u8 level;	/* of the next entry; 0 is the last level */
	u8 stride;	/* log2 of the entries in a table */
	u8 shift;	/* log2 of the bytes that one entry of this level maps; at the leaf: page */
	u8 half;	/* 4-byte entries: 32 when the entry is the upper half of the 8 bytes */
	u8 access;	/* MMU_* */
	u8 pad;
};

#define MMU_X86_PRESENT (1ULL << 0)
#define MMU_X86_WRITE (1ULL << 1)
#define MMU_X86_USER (1ULL << 2)
#define MMU_X86_ACCESSED (1ULL << 5)
#define MMU_X86_DIRTY (1ULL << 6)
#define MMU_X86_LARGE (1ULL << 7)
#define MMU_X86_NX (1ULL << 63)
#define MMU_X86_ADDRESS 0x000ffffffffff000ULL	/* bits 51:12 */
#define MMU_X86_PAE_RESERVED 0x7ff0000000000000ULL	/* bits 62:52; ignored in long mode */
#define MMU_X86_PDPTE_RESERVED 0x80000000000001e6ULL	/* PAE's top level: no rights, no NX */

#define MMU_X86_CR0_PG (1ULL << 31)
#define MMU_X86_CR4_PSE (1ULL << 4)
#define MMU_X86_CR4_PAE (1ULL << 5)
#define MMU_X86_CR4_LA57 (1ULL << 12)
#define MMU_X86_EFER_LMA (1ULL << 10)
#define MMU_X86_EFER_NXE (1ULL << 11)

/* The mode that these registers ask for, with MMU_MODE_F_NO_NX where it applies. */
static inline u8 mmu_mode_x86(u64 cr0, u64 cr4, u64 efer)
{
	u8 no_nx = efer & MMU_X86_EFER_NXE ? 0 : MMU_MODE_F_NO_NX;

	if (!(cr0 & MMU_X86_CR0_PG))
		return MMU_MODE_NONE;
	if (efer & MMU_X86_EFER_LMA)
		return (cr4 & MMU_X86_CR4_LA57 ? MMU_MODE_X86_5LEVEL : MMU_MODE_X86_4LEVEL) | no_nx;
	if (cr4 & MMU_X86_CR4_PAE)
		return MMU_MODE_X86_PAE | no_nx;
	return cr4 & MMU_X86_CR4_PSE ? MMU_MODE_X86_32_PSE : MMU_MODE_X86_32;
}

/* CR3 to the address of the top table: PCID, cache bits and, in PAE, less alignment. */
static inline u64 mmu_root_x86(u8 mode, u64 cr3)
{
	switch (mode & ~MMU_MODE_F_NO_NX) {
	case MMU_MODE_X86_PAE:
		return cr3 & 0xffffffe0ULL;
	case MMU_MODE_X86_32:
	case MMU_MODE_X86_32_PSE:
		return cr3 & 0xfffff000ULL;
	default:
		return cr3 & MMU_X86_ADDRESS;
	}
}

/* The number of bits of a linear address in @mode; 0 for a mode that is not known. */
static inline u8 mmu_address_bits(u8 mode)
{
	switch (mode & ~MMU_MODE_F_NO_NX) {
	case MMU_MODE_NONE:
	case MMU_MODE_X86_32:
	case MMU_MODE_X86_32_PSE:
	case MMU_MODE_X86_PAE:
		return 32;
	case MMU_MODE_X86_4LEVEL:
		return 48;
	case MMU_MODE_X86_5LEVEL:
		return 57;
	default:
		return 0;
	}
}

static inline int mmu_address_ok(u8 bits, u64 gva)
{
	if (bits == 32)
		return gva >> 32 == 0;
	/* Canonical: the upper bits all equal the highest one in use. */
	return (u64)((s64)(gva << (64 - bits)) >> (64 - bits)) == gva;
}

/* Points the walk at the entry for its address in the table at @table. */
static inline void mmu_walk_enter_(struct mmu_walk *walk, u64 table)
{
	u64 index = (walk->gva >> walk->shift) & ((1ULL << walk->stride) - 1);
	u64 entry = table + (walk->stride == 10 ? index * 4 : index * 8);

	walk->gpa = table;
	walk->entry_gpa = entry & ~7ULL;
	walk->half = entry & 4 ? 32 : 0;
}

/* Starts over at @gva. @mode may have MMU_MODE_F_NO_NX, @root is of mmu_root_x86(). */
static inline enum mmu_step mmu_walk_start(struct mmu_walk *walk, u8 mode, u64 root, u64 gva)
{
	u8 bits = mmu_address_bits(mode);

	walk->gva = gva;
	walk->gpa = gva;
	walk->entry_gpa = 0;
	walk->leaf = 0;
	walk->leaf_gpa = 0;
	walk->no_nx = mode & MMU_MODE_F_NO_NX;
	walk->mode = mode & ~MMU_MODE_F_NO_NX;
	walk->stride = 9;
	walk->level = 0;
	walk->shift = 12;
	walk->half = 0;
	walk->access = MMU_EXEC | MMU_WRITE | MMU_USER;
	walk->pad = 0;

	if (!bits)
		return MMU_STEP_UNSUPPORTED;
	if (!mmu_address_ok(bits, gva))
		return MMU_STEP_BAD_ADDRESS;
	switch (walk->mode) {
	case MMU_MODE_NONE:
		return MMU_STEP_LEAF;
	case MMU_MODE_X86_32:
	case MMU_MODE_X86_32_PSE:
		walk->stride = 10;
		walk->level = 1;
		break;
	case MMU_MODE_X86_PAE:
		walk->level = 2;
		break;
	case MMU_MODE_X86_4LEVEL:
		walk->level = 3;
		break;
	default:
		walk->level = 4;
		break;
	}
	walk->shift = 12 + walk->level * walk->stride;
	mmu_walk_enter_(walk, root);
	return MMU_STEP_NEXT;
}

/* Whether @entry, present, maps a page at the walk's level, not a table. */
static inline int mmu_walk_is_leaf_(const struct mmu_walk *walk, u64 entry)
{
	if (walk->level == 0)
		return 1;
	if (!(entry & MMU_X86_LARGE))
		return 0;
	/* Without CR4.PSE the bit is ignored; above, it is a reserved bit. */
	return walk->mode == MMU_MODE_X86_32_PSE ||
	       (walk->mode == MMU_MODE_X86_PAE && walk->level == 1) ||
	       (walk->mode >= MMU_MODE_X86_4LEVEL && walk->level <= 2);
}

/* The bits of an entry that must be zero, apart from those that depend on the CPU's model. */
static inline u64 mmu_walk_reserved_(const struct mmu_walk *walk, int leaf)
{
	u64 reserved = walk->no_nx ? MMU_X86_NX : 0;

	if (walk->stride == 10)
		return leaf && walk->level == 1 ? 1ULL << 21 : 0;
	if (walk->mode == MMU_MODE_X86_PAE)
		reserved |= MMU_X86_PAE_RESERVED;
	if (walk->mode == MMU_MODE_X86_PAE && walk->level == 2)
		return reserved | MMU_X86_PDPTE_RESERVED;
	if (leaf && walk->level)	/* address bits below the page; bit 12 is its PAT bit */
		return reserved | (((1ULL << walk->shift) - 1) & ~0x1fffULL);
	if (!leaf && walk->level > 2)
		return reserved | MMU_X86_LARGE;
	return reserved;
}

static inline u8 mmu_walk_access_(const struct mmu_walk *walk, u64 entry)
{
	u8 access = 0;

	if (walk->mode == MMU_MODE_X86_PAE && walk->level == 2)
		return MMU_EXEC | MMU_WRITE | MMU_USER;
	if (!(entry & MMU_X86_NX))
		access |= MMU_EXEC;
	if (entry & MMU_X86_WRITE)
		access |= MMU_WRITE;
	if (entry & MMU_X86_USER)
		access |= MMU_USER;
	return access;
}

static inline u64 mmu_walk_leaf_address_(const struct mmu_walk *walk, u64 entry)
{
	u64 inside = (1ULL << walk->shift) - 1;
	u64 base = entry & MMU_X86_ADDRESS & ~inside;

	/* PSE-36: bits 20:13 of a 4 MiB entry are bits 39:32 of the address. */
	if (walk->stride == 10 && walk->level == 1)
		base |= (entry >> 13 & 0xff) << 32;
	return base | (walk->gva & inside);
}

/* Goes on with @raw, the 8 bytes at .entry_gpa. */
static inline enum mmu_step mmu_walk_step(struct mmu_walk *walk, u64 raw)
{
	u64 entry = walk->stride == 10 ? (raw >> walk->half) & 0xffffffffULL : raw;
	int leaf;

	if (!(entry & MMU_X86_PRESENT))
		return MMU_STEP_NOT_PRESENT;
	leaf = mmu_walk_is_leaf_(walk, entry);
	if (entry & mmu_walk_reserved_(walk, leaf))
		return MMU_STEP_RESERVED;
	walk->access &= mmu_walk_access_(walk, entry);
	if (leaf) {
		walk->leaf = entry;
		walk->leaf_gpa = walk->entry_gpa;
		walk->gpa = mmu_walk_leaf_address_(walk, entry);
		return MMU_STEP_LEAF;
	}
	walk->level--;
	walk->shift -= walk->stride;
	mmu_walk_enter_(walk, entry & MMU_X86_ADDRESS);
	return MMU_STEP_NEXT;
}

/*
 * Takes a finished walk back to @level, at or above its leaf's, for another address whose entry
 * there is in the same table. The caller knows where that table is: .entry_gpa is not set. .access
 * stays that of the first walk.
 */
static inline void mmu_walk_resume(struct mmu_walk *walk, u64 gva, u8 level)
{
	walk->gva = gva;
	walk->level = level;
	walk->shift = 12 + level * walk->stride;
}

/*
 * Whether @raw, the 8 bytes at .leaf_gpa read again, still maps the same page with the same
 * rights. The bits that the CPU itself sets as the guest uses the page do not count.
 */
static inline int mmu_walk_same_leaf(const struct mmu_walk *walk, u64 raw)
{
	u64 entry = walk->stride == 10 ? (raw >> walk->half) & 0xffffffffULL : raw;

	return !((entry ^ walk->leaf) & ~(MMU_X86_ACCESSED | MMU_X86_DIRTY));
}

#endif
