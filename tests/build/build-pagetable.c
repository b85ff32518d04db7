/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables built in a fake guest memory. Written from the formats, not from mmu/walk.h, so that
 * one checks the other.
 */
#include "build-pagetable.h"

#include <string.h>

struct format {
	unsigned int levels;
	unsigned int index_bits;
	unsigned int entry_bytes;
	u64 page_sizes[4];	/* by level of the leaf; 0: none */
};

static const struct format formats[MMU_MODE_NR] = {
	[MMU_MODE_X86_32] = { 2, 10, 4, { 4096 } },
	[MMU_MODE_X86_32_PSE] = { 2, 10, 4, { 4096, 4 << 20 } },
	[MMU_MODE_X86_PAE] = { 3, 9, 8, { 4096, 2 << 20 } },
	[MMU_MODE_X86_4LEVEL] = { 4, 9, 8, { 4096, 2 << 20, 1 << 30 } },
	[MMU_MODE_X86_5LEVEL] = { 5, 9, 8, { 4096, 2 << 20, 1 << 30 } },
};

/* By granule; 52-bit formats have a size more. */
static const struct format arm64_formats[] = {
	{ 0, 9, 8, { 4 << 10, 2 << 20, 1 << 30, 512ULL << 30 } },
	{ 0, 11, 8, { 16 << 10, 32 << 20, 64ULL << 30 } },
	{ 0, 13, 8, { 64 << 10, 512 << 20, 4ULL << 40 } },
};

static struct format format_of(const struct build_pagetable *pt)
{
	struct format format;

	if (pt->mode != MMU_MODE_ARM64)
		return formats[pt->mode & ~MMU_MODE_F_NO_NX];
	format = arm64_formats[(pt->page_shift - 12) / 2];
	for (unsigned int bits = pt->page_shift; bits < pt->bits; bits += format.index_bits)
		format.levels++;
	return format;
}

/* An empty table, all of whose bytes are there. */
static int new_table(struct build_pagetable *pt, u64 *ret)
{
	u64 bytes = 1ULL << pt->page_shift;

	for (u64 at = 0; at < bytes; at += MEM_FAKE_PAGE) {
		if (!mem_fake_page(pt->mem, GPA(pt->next + at)))
			return -ENOMEM;
	}
	*ret = pt->next;
	pt->next += bytes;
	return 0;
}

int build_pagetable_init(struct build_pagetable *pt, struct mem_fake *mem, u8 mode, gpa_t first)
{
	*pt = (struct build_pagetable){
		.mem = mem,
		.mode = mode,
		.page_shift = 12,
		.next = first.addr,
	};
	return new_table(pt, &pt->root);
}

int build_pagetable_init_arm64(struct build_pagetable *pt, struct mem_fake *mem, u8 page_shift,
			       u8 bits, bool ds, gpa_t first)
{
	*pt = (struct build_pagetable){
		.mem = mem,
		.mode = MMU_MODE_ARM64,
		.page_shift = page_shift,
		.bits = bits,
		.ds = ds,
		.next = first.addr,
	};
	return new_table(pt, &pt->root) ?: new_table(pt, &pt->root_high);
}

u64 build_pagetable_get(const struct build_pagetable *pt, u64 entry_gpa)
{
	u64 value = 0;
	const u8 *page = mem_fake_page(pt->mem, GPA(entry_gpa));

	if (page)
		memcpy(&value, page + entry_gpa % 4096, format_of(pt).entry_bytes);
	return value;
}

int build_pagetable_put(struct build_pagetable *pt, u64 entry_gpa, u64 value)
{
	return mem_fake_set(pt->mem, GPA(entry_gpa), &value, format_of(pt).entry_bytes);
}

static u64 entry_in(const struct build_pagetable *pt, u64 table, u64 gva, unsigned int level)
{
	struct format format = format_of(pt);
	u64 index = gva;

	if (pt->mode == MMU_MODE_ARM64)
		index &= (1ULL << pt->bits) - 1;
	index >>= pt->page_shift + level * format.index_bits;
	index &= (1U << format.index_bits) - 1;
	return table + index * format.entry_bytes;
}

static u64 top_table(const struct build_pagetable *pt, u64 gva)
{
	return pt->mode == MMU_MODE_ARM64 && gva >> 63 ? pt->root_high : pt->root;
}

/* Where an entry of arm64 keeps an address. */
static u64 arm64_address_bits(const struct build_pagetable *pt, u64 gpa)
{
	u64 bits = gpa & 0x0000fffffffff000ULL;

	if (pt->ds)		/* 51:50 in 9:8, 49:48 in place */
		return bits | (gpa & 0x0003000000000000ULL) | (gpa >> 50 & 3) << 8;
	if (pt->page_shift == 16)	/* 51:48 in 15:12 */
		return (bits & ~0xf000ULL) | (gpa >> 48 & 0xf) << 12;
	return bits;
}

static u64 table_address(const struct build_pagetable *pt, u64 entry)
{
	if (pt->mode != MMU_MODE_ARM64)
		return entry & 0x000ffffffffff000ULL;
	if (pt->ds)
		return (entry & 0x0003fffffffff000ULL) | (entry >> 8 & 3) << 50;
	if (pt->page_shift == 16)
		return (entry & 0x0000ffffffff0000ULL) | (entry >> 12 & 0xf) << 48;
	return entry & 0x0000fffffffff000ULL;
}

static u64 table_entry(const struct build_pagetable *pt, u64 table, unsigned int level)
{
	if (pt->mode == MMU_MODE_ARM64)
		return arm64_address_bits(pt, table) | 0x3;
	/* PAE's top entries have no rights; all others allow all. */
	return table | (format_of(pt).levels == 3 && level == 2 ? 0x1 : 0x7);
}

/* The table that @entry points to, made when it is missing. */
static int next_table(struct build_pagetable *pt, u64 entry, unsigned int level, u64 *ret)
{
	u64 value = build_pagetable_get(pt, entry);
	u64 table;
	int err;

	if (!(value & 1)) {
		err = new_table(pt, &table);
		if (err)
			return err;
		value = table_entry(pt, table, level);
		err = build_pagetable_put(pt, entry, value);
		if (err)
			return err;
	}
	*ret = table_address(pt, value);
	return 0;
}

static u64 arm64_leaf_entry(const struct build_pagetable *pt, u64 gpa, unsigned int level,
			    u32 access)
{
	/* Accessed, inner shareable where that is no address, block or page. */
	u64 entry = arm64_address_bits(pt, gpa) | 0x401 | (pt->ds ? 0 : 0x300) | (level ? 0 : 2);

	if (!(access & MMU_WRITE))
		entry |= 1 << 7;
	if (access & MMU_USER)
		entry |= 1 << 6;
	/* The one who may use it executes it; UXN and PXN. */
	if (!(access & MMU_EXEC))
		return entry | 3ULL << 53;
	return entry | 1ULL << (access & MMU_USER ? 53 : 54);
}

static u64 leaf_entry(const struct build_pagetable *pt, u64 gpa, unsigned int level, u32 access)
{
	u64 entry = gpa | 0x1;

	if (pt->mode == MMU_MODE_ARM64)
		return arm64_leaf_entry(pt, gpa, level, access);
	if (format_of(pt).entry_bytes == 4 && level == 1)	/* PSE-36 */
		entry = (gpa & 0xffc00000) | (gpa >> 32 & 0xff) << 13 | 0x1;
	if (access & MMU_WRITE)
		entry |= 0x2;
	if (access & MMU_USER)
		entry |= 0x4;
	if (level)
		entry |= 0x80;
	if (!(access & MMU_EXEC) && format_of(pt).entry_bytes == 8)
		entry |= 1ULL << 63;
	return entry;
}

int build_pagetable_map(struct build_pagetable *pt, u64 gva, u64 gpa, u64 page_size, u32 access)
{
	struct format format = format_of(pt);
	unsigned int leaf = 0;
	u64 table = top_table(pt, gva);

	while (leaf < ARRAY_SIZE(format.page_sizes) && format.page_sizes[leaf] != page_size)
		leaf++;
	if (leaf == ARRAY_SIZE(format.page_sizes))
		return -EINVAL;
	for (unsigned int level = format.levels - 1; level > leaf; level--) {
		int err = next_table(pt, entry_in(pt, table, gva, level), level, &table);

		if (err)
			return err;
	}
	return build_pagetable_put(pt, entry_in(pt, table, gva, leaf),
				   leaf_entry(pt, gpa, leaf, access));
}

int build_pagetable_map_range(struct build_pagetable *pt, u64 gva, u64 gpa, u64 size, u32 access)
{
	u64 page = 1ULL << pt->page_shift;

	for (u64 done = 0; done < size; done += page) {
		int err = build_pagetable_map(pt, gva + done, gpa + done, page, access);

		if (err)
			return err;
	}
	return 0;
}

u64 build_pagetable_entry(const struct build_pagetable *pt, u64 gva, unsigned int level)
{
	u64 table = top_table(pt, gva);

	for (unsigned int i = format_of(pt).levels - 1; i > level; i--) {
		u64 value = build_pagetable_get(pt, entry_in(pt, table, gva, i));

		if (!(value & 1))
			return 0;
		table = table_address(pt, value);
	}
	return entry_in(pt, table, gva, level);
}

struct mmu_space build_pagetable_space(const struct build_pagetable *pt)
{
	struct vcpu_regs regs = build_pagetable_regs(pt);
	struct mmu_space space;

	if (pt->mode == MMU_MODE_ARM64 && !mmu_space_init(&space, &regs))
		return space;
	return (struct mmu_space){
		.arch = VCPU_ARCH_X86_64,
		.mode = pt->mode,
		.root = pt->root,
	};
}

/* A TTBR with ASID 0x12 and CnP. */
static u64 arm64_ttbr(const struct build_pagetable *pt, u64 root)
{
	bool wide = pt->ds || pt->page_shift == 16;

	return 0x12ULL << 48 | (root & 0x0000ffffffffffc0ULL) | (wide ? root >> 48 << 2 : 0) | 1;
}

static struct vcpu_regs arm64_regs(const struct build_pagetable *pt)
{
	static const u8 tg0[] = { 0, 2, 1 }, tg1[] = { 2, 1, 3 };
	u64 size = 64 - pt->bits, granule = (pt->page_shift - 12) / 2;
	struct vcpu_regs regs = {
		.arch = VCPU_ARCH_ARM64,
		.bits = 64,
		.arm64.sctlr = 0x1,
		.arm64.ttbr0 = arm64_ttbr(pt, pt->root),
		.arm64.ttbr1 = arm64_ttbr(pt, pt->root_high),
	};

	/* 52-bit physical addresses, the top byte of a user's address ignored. */
	regs.arm64.tcr = size | size << 16 | (u64)tg0[granule] << 14 | (u64)tg1[granule] << 30 |
			 6ULL << 32 | 1ULL << 37 | (u64)pt->ds << 59;
	return regs;
}

struct vcpu_regs build_pagetable_regs(const struct build_pagetable *pt)
{
	u8 mode = pt->mode & ~MMU_MODE_F_NO_NX;
	struct vcpu_regs regs = {
		.arch = VCPU_ARCH_X86_64,
		.bits = mode >= MMU_MODE_X86_4LEVEL ? 64 : 32,
		.x86.cr0 = mode == MMU_MODE_NONE ? 0x11 : 0x80050033,
		.x86.cr3 = pt->root,
	};

	if (pt->mode == MMU_MODE_ARM64)
		return arm64_regs(pt);
	if (!(pt->mode & MMU_MODE_F_NO_NX))
		regs.x86.efer |= 1 << 11;
	if (mode == MMU_MODE_X86_32_PSE)
		regs.x86.cr4 |= 1 << 4;
	if (mode >= MMU_MODE_X86_PAE)
		regs.x86.cr4 |= 1 << 5;
	if (mode >= MMU_MODE_X86_4LEVEL)
		regs.x86.efer |= 1 << 10 | 1 << 8;
	if (mode == MMU_MODE_X86_5LEVEL)
		regs.x86.cr4 |= 1 << 12;
	return regs;
}
