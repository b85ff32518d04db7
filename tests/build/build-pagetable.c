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
	u64 page_sizes[3];	/* by level of the leaf; 0: none */
};

static const struct format formats[MMU_MODE_NR] = {
	[MMU_MODE_X86_32] = { 2, 10, 4, { 4096 } },
	[MMU_MODE_X86_32_PSE] = { 2, 10, 4, { 4096, 4 << 20 } },
	[MMU_MODE_X86_PAE] = { 3, 9, 8, { 4096, 2 << 20 } },
	[MMU_MODE_X86_4LEVEL] = { 4, 9, 8, { 4096, 2 << 20, 1 << 30 } },
	[MMU_MODE_X86_5LEVEL] = { 5, 9, 8, { 4096, 2 << 20, 1 << 30 } },
};

static const struct format *format_of(const struct build_pagetable *pt)
{
	return &formats[pt->mode & ~MMU_MODE_F_NO_NX];
}

int build_pagetable_init(struct build_pagetable *pt, struct mem_fake *mem, u8 mode, gpa_t first)
{
	*pt = (struct build_pagetable){
		.mem = mem,
		.mode = mode,
		.root = first.addr,
		.next = first.addr + 4096,
	};
	return mem_fake_page(mem, first) ? 0 : -ENOMEM;
}

u64 build_pagetable_get(const struct build_pagetable *pt, u64 entry_gpa)
{
	u64 value = 0;
	const u8 *page = mem_fake_page(pt->mem, GPA(entry_gpa));

	if (page)
		memcpy(&value, page + entry_gpa % 4096, format_of(pt)->entry_bytes);
	return value;
}

int build_pagetable_put(struct build_pagetable *pt, u64 entry_gpa, u64 value)
{
	return mem_fake_set(pt->mem, GPA(entry_gpa), &value, format_of(pt)->entry_bytes);
}

static u64 entry_in(const struct format *format, u64 table, u64 gva, unsigned int level)
{
	u64 index = gva >> (12 + level * format->index_bits) & ((1U << format->index_bits) - 1);

	return table + index * format->entry_bytes;
}

/* The table that @entry points to, made when it is missing. */
static int next_table(struct build_pagetable *pt, u64 entry, unsigned int level, u64 *ret)
{
	u64 value = build_pagetable_get(pt, entry);
	/* PAE's top entries have no rights; all others allow all. */
	u64 rights = format_of(pt)->levels == 3 && level == 2 ? 0x1 : 0x7;
	int err;

	if (!(value & 1)) {
		if (!mem_fake_page(pt->mem, GPA(pt->next)))
			return -ENOMEM;
		value = pt->next | rights;
		pt->next += 4096;
		err = build_pagetable_put(pt, entry, value);
		if (err)
			return err;
	}
	*ret = value & 0x000ffffffffff000ULL;
	return 0;
}

static u64 leaf_entry(const struct build_pagetable *pt, u64 gpa, unsigned int level, u32 access)
{
	u64 entry = gpa | 0x1;

	if (format_of(pt)->entry_bytes == 4 && level == 1)	/* PSE-36 */
		entry = (gpa & 0xffc00000) | (gpa >> 32 & 0xff) << 13 | 0x1;
	if (access & MMU_WRITE)
		entry |= 0x2;
	if (access & MMU_USER)
		entry |= 0x4;
	if (level)
		entry |= 0x80;
	if (!(access & MMU_EXEC) && format_of(pt)->entry_bytes == 8)
		entry |= 1ULL << 63;
	return entry;
}

int build_pagetable_map(struct build_pagetable *pt, u64 gva, u64 gpa, u64 page_size, u32 access)
{
	const struct format *format = format_of(pt);
	unsigned int leaf = 0;
	u64 table = pt->root;

	while (leaf < ARRAY_SIZE(format->page_sizes) && format->page_sizes[leaf] != page_size)
		leaf++;
	if (leaf == ARRAY_SIZE(format->page_sizes))
		return -EINVAL;
	for (unsigned int level = format->levels - 1; level > leaf; level--) {
		int err = next_table(pt, entry_in(format, table, gva, level), level, &table);

		if (err)
			return err;
	}
	return build_pagetable_put(pt, entry_in(format, table, gva, leaf),
				   leaf_entry(pt, gpa, leaf, access));
}

int build_pagetable_map_range(struct build_pagetable *pt, u64 gva, u64 gpa, u64 size, u32 access)
{
	for (u64 done = 0; done < size; done += 4096) {
		int err = build_pagetable_map(pt, gva + done, gpa + done, 4096, access);

		if (err)
			return err;
	}
	return 0;
}

u64 build_pagetable_entry(const struct build_pagetable *pt, u64 gva, unsigned int level)
{
	const struct format *format = format_of(pt);
	u64 table = pt->root;

	for (unsigned int i = format->levels - 1; i > level; i--) {
		u64 value = build_pagetable_get(pt, entry_in(format, table, gva, i));

		if (!(value & 1))
			return 0;
		table = value & 0x000ffffffffff000ULL;
	}
	return entry_in(format, table, gva, level);
}

struct mmu_space build_pagetable_space(const struct build_pagetable *pt)
{
	return (struct mmu_space){
		.arch = VCPU_ARCH_X86_64,
		.mode = pt->mode,
		.root = pt->root,
	};
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
