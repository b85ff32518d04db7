/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page-table walk, one source for BPF and user space. It holds no memory access: the caller
 * reads the entry that the walk asks for, from wherever guest memory is, and hands it in:
 *
 *	struct mmu_walk walk;
 *	enum mmu_step step = mmu_walk_start(&walk, space, gva);
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
 * Formats: Intel SDM volume 3 chapter 4 "Paging", AMD APM volume 2 chapter 5; Arm ARM (DDI 0487)
 * chapter D8 "The AArch64 Virtual Memory System Architecture", stage 1 of the EL1&0 regime. What is
 * there by FEAT_D128 only (128-bit entries) is not known.
 */
#ifndef MMU_WALK_H
#define MMU_WALK_H

#include "base/addr.h"
#include "model/regs.h"

#define MMU_MAX_LEVELS 5

/* BPF programs are built for one host, whose guests are of its architecture. */
#if defined(__bpf__) && defined(__TARGET_ARCH_x86)
#define MMU_WITH_ARM64 0
#else
#define MMU_WITH_ARM64 1
#endif

/* How addresses translate. The values of every architecture are in one space. */
enum mmu_mode {
	MMU_MODE_UNKNOWN,
	MMU_MODE_NONE,		/* paging is off: physical = linear, 32 bits */
	MMU_MODE_X86_32,	/* 2 levels of 4-byte entries, no large pages */
	MMU_MODE_X86_32_PSE,	/* the same with 4 MiB pages */
	MMU_MODE_X86_PAE,	/* 3 levels of 8-byte entries, 32-bit addresses */
	MMU_MODE_X86_4LEVEL,	/* 48-bit addresses */
	MMU_MODE_X86_5LEVEL,	/* 57-bit addresses */
	MMU_MODE_ARM64_OFF,	/* the MMU is off: physical = virtual, 52 bits */
	MMU_MODE_ARM64,		/* struct mmu_half says how */
	MMU_MODE_NR,
};

/* Joined to the mode: EFER.NXE is off, so that bit 63 of an entry is reserved. */
#define MMU_MODE_F_NO_NX 0x80

/* What all levels together allow. */
enum {
	MMU_EXEC = 1 << 0,	/* arm64: to the kernel or to the user */
	MMU_WRITE = 1 << 1,
	MMU_USER = 1 << 2,
};

/* Of one half of an arm64 address space. */
enum {
	MMU_HALF_TBI = 1 << 0,	/* bits 63:56 of an address are ignored */
	MMU_HALF_DS = 1 << 1,	/* 52-bit physical addresses in entries of 4 and 16 KiB granules */
	MMU_HALF_HPD = 1 << 2,	/* rights in table entries are ignored */
};

/* arm64: the lower half of the address space (TTBR0) or the upper one (TTBR1). */
struct mmu_half {
	u8 page_shift;	/* of the granule: 12, 14, 16 */
	u8 bits;	/* of an address; 0: nothing is mapped */
	u8 level;	/* of the top table; 0 is the last level */
	u8 flags;	/* MMU_HALF_* */
};

/* One address space: what of the registers decides translation. */
struct mmu_space {
	u64 root;	/* physical address of the top table; arm64: of the lower half's */
	u64 root_high;	/* arm64: of the upper half's */
	struct mmu_half half[2];	/* arm64: lower, upper */
	u8 arch;	/* enum vcpu_arch */
	u8 mode;	/* enum mmu_mode, on x86 with MMU_MODE_F_NO_NX */
	u8 pad[6];
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
	u8 bits;	/* of an address */
	u8 page_shift;	/* log2 of the bytes that an entry of the last level maps */
	u8 flags;	/* MMU_HALF_* */
	u8 pad[6];
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
/* PAE's top level: no rights, no NX. Emulators set MMU_X86_ACCESSED there, too. */
#define MMU_X86_PDPTE_RESERVED 0x80000000000001c6ULL

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

/* Whether @gva is an address of 32 bits whose highest one was repeated. */
static inline int mmu_is_extended(u64 gva)
{
	return gva >> 31 == (1ULL << 33) - 1;
}

static inline int mmu_address_ok(u8 bits, u64 gva)
{
	if (bits == 32)	/* a kernel's may be sign-extended */
		return gva >> 32 == 0 || mmu_is_extended(gva);
	/* Canonical: the upper bits all equal the highest one in use. */
	return (u64)((s64)(gva << (64 - bits)) >> (64 - bits)) == gva;
}

static inline void mmu_space_set_x86(struct mmu_space *space, const struct x86_system_regs *regs)
{
	space->arch = VCPU_ARCH_X86_64;
	space->mode = mmu_mode_x86(regs->cr0, regs->cr4, regs->efer);
	space->root = mmu_root_x86(space->mode, regs->cr3);
}

#define MMU_ARM64_SCTLR_M (1ULL << 0)
#define MMU_ARM64_SCTLR_EE (1ULL << 25)	/* tables are big-endian */
#define MMU_ARM64_TCR_DS (1ULL << 59)

/* TCR_EL1's fields for the two halves: where they are. */
#define MMU_ARM64_TCR_SZ(high) ((high) ? 16 : 0)
#define MMU_ARM64_TCR_EPD(high) ((high) ? 23 : 7)
#define MMU_ARM64_TCR_TG(high) ((high) ? 30 : 14)
#define MMU_ARM64_TCR_TBI(high) ((high) ? 38 : 37)
#define MMU_ARM64_TCR_HPD(high) ((high) ? 42 : 41)
#define MMU_ARM64_TCR_IPS 32
#define MMU_ARM64_IPS_52 6

/* TG0 and TG1 name the granules each in its own way. 0: a reserved value. */
static inline u8 mmu_arm64_page_shift_(u64 tcr, int high)
{
	switch (tcr >> MMU_ARM64_TCR_TG(high) & 3) {
	case 0:
		return high ? 0 : 12;
	case 1:
		return high ? 14 : 16;
	case 2:
		return high ? 12 : 14;
	default:
		return high ? 16 : 0;
	}
}

static inline void mmu_half_set_(struct mmu_half *half, u64 tcr, int high)
{
	u8 page_shift = mmu_arm64_page_shift_(tcr, high);
	u8 size = tcr >> MMU_ARM64_TCR_SZ(high) & 63, least;

	half->page_shift = page_shift;
	half->bits = 0;
	half->level = 0;
	half->flags = 0;
	if (tcr >> MMU_ARM64_TCR_TBI(high) & 1)
		half->flags |= MMU_HALF_TBI;
	if (tcr >> MMU_ARM64_TCR_HPD(high) & 1)
		half->flags |= MMU_HALF_HPD;
	if (page_shift != 16 && tcr & MMU_ARM64_TCR_DS)
		half->flags |= MMU_HALF_DS;
	/* A CPU may fault below the least size, or take it for the least. */
	least = page_shift == 16 || half->flags & MMU_HALF_DS ? 12 : 16;
	if (size < least)
		size = least;
	if (!page_shift || tcr >> MMU_ARM64_TCR_EPD(high) & 1 || 64 - size <= page_shift)
		return;
	half->bits = 64 - size;
	half->level = (u32)(half->bits - page_shift - 1) / (u32)(page_shift - 3);
}

/* TTBR to the address of the top table: without ASID and CnP, aligned to the table's size. */
static inline u64 mmu_arm64_root(const struct mmu_half *half, u64 ttbr, u64 tcr)
{
	u8 shift = half->bits - half->level * (half->page_shift - 3) - half->page_shift + 3;
	u64 base = ttbr & 0x0000fffffffffffeULL;

	if (!half->bits)
		return 0;
	if (half->flags & MMU_HALF_DS ||
	    (half->page_shift == 16 && (tcr >> MMU_ARM64_TCR_IPS & 7) == MMU_ARM64_IPS_52)) {
		if (shift < 6)
			shift = 6;
		base |= (ttbr >> 2 & 0xf) << 48;
	}
	return base & ~((1ULL << (shift & 63)) - 1);
}

static inline void mmu_space_set_arm64(struct mmu_space *space,
				       const struct arm64_system_regs *regs)
{
	space->arch = VCPU_ARCH_ARM64;
	space->mode = regs->sctlr & MMU_ARM64_SCTLR_EE ? MMU_MODE_UNKNOWN :
		      regs->sctlr & MMU_ARM64_SCTLR_M  ? MMU_MODE_ARM64 :
							 MMU_MODE_ARM64_OFF;
	mmu_half_set_(&space->half[0], regs->tcr, 0);
	mmu_half_set_(&space->half[1], regs->tcr, 1);
	space->root = mmu_arm64_root(&space->half[0], regs->ttbr0, regs->tcr);
	space->root_high = mmu_arm64_root(&space->half[1], regs->ttbr1, regs->tcr);
}

/* Sets @space by the registers that decide it. MMU_MODE_UNKNOWN: what they ask for is not known. */
static inline void mmu_space_set(struct mmu_space *space, const struct vcpu_regs *regs)
{
	if (MMU_WITH_ARM64 && regs->arch == VCPU_ARCH_ARM64)
		mmu_space_set_arm64(space, &regs->arm64);
	else
		mmu_space_set_x86(space, &regs->x86);
}

/* The index of the walk's address in a table of its level. A top table may have fewer entries. */
static inline u64 mmu_walk_index(const struct mmu_walk *walk)
{
	u8 bits = walk->bits - walk->shift;

	if (bits > walk->stride)
		bits = walk->stride;
	return walk->gva >> walk->shift & ((1ULL << bits) - 1);
}

/* Points the walk at the entry for its address in the table at @table. */
static inline void mmu_walk_enter_(struct mmu_walk *walk, u64 table)
{
	u64 index = mmu_walk_index(walk);
	u64 entry = table + (walk->stride == 10 ? index * 4 : index * 8);

	walk->gpa = table;
	walk->entry_gpa = entry & ~7ULL;
	walk->half = entry & 4 ? 32 : 0;
}

/* Both ends of what arm64's rights say, kept apart until all levels are known. */
#define MMU_ARM64_KERNEL_EXEC (1 << 3)
#define MMU_ARM64_USER_EXEC (1 << 4)
#define MMU_ARM64_ALL (MMU_WRITE | MMU_USER | MMU_ARM64_KERNEL_EXEC | MMU_ARM64_USER_EXEC)

static inline enum mmu_step mmu_walk_start_arm64_(struct mmu_walk *walk,
						  const struct mmu_space *space, u64 gva)
{
	u32 high = gva >> 55 & 1;
	const struct mmu_half *half = &space->half[high];
	u8 ignored = half->flags & MMU_HALF_TBI ? 8 : 0;

	if (walk->mode == MMU_MODE_ARM64_OFF) {
		walk->bits = 52;
		walk->gpa = gva << ignored >> ignored;
		return walk->gpa >> 52 ? MMU_STEP_BAD_ADDRESS : MMU_STEP_LEAF;
	}
	if (!half->bits)
		return MMU_STEP_NOT_PRESENT;
	/* All bits from the address's size up to bit 55 or 63 are those of its half. */
	if ((s64)(gva << ignored) >> ((half->bits + ignored) & 63) != -(s64)high)
		return MMU_STEP_BAD_ADDRESS;
	walk->bits = half->bits;
	walk->page_shift = half->page_shift;
	walk->flags = half->flags;
	walk->access = MMU_ARM64_ALL;
	walk->stride = walk->page_shift - 3;
	walk->level = half->level;
	walk->shift = walk->page_shift + walk->level * walk->stride;
	mmu_walk_enter_(walk, high ? space->root_high : space->root);
	return MMU_STEP_NEXT;
}

static inline enum mmu_step mmu_walk_start_x86_(struct mmu_walk *walk,
						const struct mmu_space *space, u64 gva)
{
	walk->bits = mmu_address_bits(walk->mode);
	if (!walk->bits)
		return MMU_STEP_UNSUPPORTED;
	if (!mmu_address_ok(walk->bits, gva))
		return MMU_STEP_BAD_ADDRESS;
	if (walk->bits == 32) {
		walk->gva = gva & 0xffffffffULL;
		walk->gpa = walk->gva;
	}
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
	mmu_walk_enter_(walk, space->root);
	return MMU_STEP_NEXT;
}

/* Starts over at @gva. */
static inline enum mmu_step mmu_walk_start(struct mmu_walk *walk, const struct mmu_space *space,
					   u64 gva)
{
	walk->gva = gva;
	walk->gpa = gva;
	walk->entry_gpa = 0;
	walk->leaf = 0;
	walk->leaf_gpa = 0;
	walk->no_nx = space->mode & MMU_MODE_F_NO_NX;
	walk->mode = space->mode & ~MMU_MODE_F_NO_NX;
	walk->stride = 9;
	walk->level = 0;
	walk->shift = 12;
	walk->half = 0;
	walk->access = MMU_EXEC | MMU_WRITE | MMU_USER;
	walk->bits = 0;
	walk->page_shift = 12;
	walk->flags = 0;
	if (MMU_WITH_ARM64 &&
	    (walk->mode == MMU_MODE_ARM64 || walk->mode == MMU_MODE_ARM64_OFF))
		return mmu_walk_start_arm64_(walk, space, gva);
	return mmu_walk_start_x86_(walk, space, gva);
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

#define MMU_ARM64_VALID (1ULL << 0)
#define MMU_ARM64_TABLE (1ULL << 1)	/* at the last level: a page */
#define MMU_ARM64_AP_USER (1ULL << 6)
#define MMU_ARM64_AP_READ_ONLY (1ULL << 7)
#define MMU_ARM64_ACCESSED (1ULL << 10)
#define MMU_ARM64_PXN (1ULL << 53)
#define MMU_ARM64_UXN (1ULL << 54)
#define MMU_ARM64_PXN_TABLE (1ULL << 59)
#define MMU_ARM64_UXN_TABLE (1ULL << 60)
#define MMU_ARM64_AP_TABLE_NO_USER (1ULL << 61)
#define MMU_ARM64_AP_TABLE_READ_ONLY (1ULL << 62)

/* Whether an entry of this level may map a block. */
static inline int mmu_arm64_block_ok_(const struct mmu_walk *walk)
{
	u8 highest = walk->page_shift == 14 ? 1 : 2;

	if (walk->flags & MMU_HALF_DS)
		highest++;
	return walk->level <= highest;
}

static inline u64 mmu_arm64_address_(const struct mmu_walk *walk, u64 entry)
{
	u64 address = entry & 0x0000fffffffff000ULL;

	if (walk->flags & MMU_HALF_DS)
		address |= (entry & 3ULL << 48) | (entry >> 8 & 3) << 50;
	else if (walk->page_shift == 16)	/* zeros, where addresses have 48 bits */
		address |= (entry >> 12 & 0xf) << 48;
	return address & ~((1ULL << walk->page_shift) - 1);
}

static inline u8 mmu_arm64_table_access_(const struct mmu_walk *walk, u64 entry)
{
	u8 access = MMU_ARM64_ALL;

	if (walk->flags & MMU_HALF_HPD)
		return access;
	if (entry & MMU_ARM64_AP_TABLE_READ_ONLY)
		access &= ~MMU_WRITE;
	if (entry & MMU_ARM64_AP_TABLE_NO_USER)
		access &= ~MMU_USER;
	if (entry & MMU_ARM64_PXN_TABLE)
		access &= ~MMU_ARM64_KERNEL_EXEC;
	if (entry & MMU_ARM64_UXN_TABLE)
		access &= ~MMU_ARM64_USER_EXEC;
	return access;
}

/* The rights of a page whose tables allow .access, as MMU_*. */
static inline u8 mmu_arm64_page_access_(const struct mmu_walk *walk, u64 entry)
{
	u8 access = walk->access, exec;

	if (entry & MMU_ARM64_AP_READ_ONLY)
		access &= ~MMU_WRITE;
	if (!(entry & MMU_ARM64_AP_USER))
		access &= ~MMU_USER;
	/* The kernel never executes what the user may write. */
	if (entry & MMU_ARM64_PXN || (access & (MMU_USER | MMU_WRITE)) == (MMU_USER | MMU_WRITE))
		access &= ~MMU_ARM64_KERNEL_EXEC;
	if (entry & MMU_ARM64_UXN)
		access &= ~MMU_ARM64_USER_EXEC;
	exec = access & (MMU_ARM64_KERNEL_EXEC | MMU_ARM64_USER_EXEC) ? MMU_EXEC : 0;
	return (access & (MMU_WRITE | MMU_USER)) | exec;
}

static inline enum mmu_step mmu_walk_step_arm64_(struct mmu_walk *walk, u64 entry)
{
	u64 inside = (1ULL << walk->shift) - 1;

	if (!(entry & MMU_ARM64_VALID))
		return MMU_STEP_NOT_PRESENT;
	if (walk->level && entry & MMU_ARM64_TABLE) {
		walk->access &= mmu_arm64_table_access_(walk, entry);
		walk->level--;
		walk->shift -= walk->stride;
		mmu_walk_enter_(walk, mmu_arm64_address_(walk, entry));
		return MMU_STEP_NEXT;
	}
	if (walk->level ? !mmu_arm64_block_ok_(walk) : !(entry & MMU_ARM64_TABLE))
		return MMU_STEP_RESERVED;
	walk->access = mmu_arm64_page_access_(walk, entry);
	walk->leaf = entry;
	walk->leaf_gpa = walk->entry_gpa;
	walk->gpa = (mmu_arm64_address_(walk, entry) & ~inside) | (walk->gva & inside);
	return MMU_STEP_LEAF;
}

/* Goes on with @raw, the 8 bytes at .entry_gpa. */
static inline enum mmu_step mmu_walk_step(struct mmu_walk *walk, u64 raw)
{
	u64 entry = walk->stride == 10 ? (raw >> walk->half) & 0xffffffffULL : raw;
	int leaf;

	if (MMU_WITH_ARM64 && walk->mode == MMU_MODE_ARM64)
		return mmu_walk_step_arm64_(walk, raw);
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
	walk->shift = walk->page_shift + level * walk->stride;
}

/* log2 of the bytes that a table of @level maps, or 63 where that is more. */
static inline u32 mmu_walk_table_bits(const struct mmu_walk *walk, u8 level)
{
	u32 bits = walk->page_shift + (level + 1) * walk->stride;

	return bits < 64 ? bits : 63;
}

/*
 * The bits of an entry that the CPU changes by itself, of 4-byte entries in both halves. On arm64
 * it makes a page writable that is to be marked as changed.
 */
static inline u64 mmu_entry_noise(u8 mode)
{
	if (MMU_WITH_ARM64 && mode == MMU_MODE_ARM64)
		return MMU_ARM64_ACCESSED | MMU_ARM64_AP_READ_ONLY;
	return (MMU_X86_ACCESSED | MMU_X86_DIRTY) * 0x100000001ULL;
}

/*
 * Whether @raw, the 8 bytes at .leaf_gpa read again, still maps the same page with the same
 * rights. The bits that the CPU itself sets as the guest uses the page do not count.
 */
static inline int mmu_walk_same_leaf(const struct mmu_walk *walk, u64 raw)
{
	u64 entry = walk->stride == 10 ? (raw >> walk->half) & 0xffffffffULL : raw;

	return !((entry ^ walk->leaf) & ~mmu_entry_noise(walk->mode));
}

#endif
