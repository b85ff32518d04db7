/* SPDX-License-Identifier: GPL-2.0-only */
/* Address translation: every paging mode, holes, hostile tables, iteration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-pagetable.h"
#include "base/vec.h"
#include "mmu/translate.h"

#define TABLES 0x10000000	/* where page tables go */
#define RWX (MMU_EXEC | MMU_WRITE | MMU_USER)
#define KERNEL 0xffffffff81000000ULL

static struct mem_fake *mem;
static struct build_pagetable pt;

static int setup(void **state)
{
	(void)state;
	mem = mem_fake_create();
	return mem ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	mem_fake_destroy(mem);
	return 0;
}

static void start(u8 mode)
{
	assert_int_equal(build_pagetable_init(&pt, mem, mode, GPA(TABLES)), 0);
}

static void map(u64 gva, u64 gpa, u64 page_size, u32 access)
{
	assert_int_equal(build_pagetable_map(&pt, gva, gpa, page_size, access), 0);
}

static int translate(u64 gva, struct mmu_mapping *mapping)
{
	struct mmu_space space = build_pagetable_space(&pt);

	return mmu_translate(&space, mem_fake_reader(mem), GVA(gva), mapping);
}

static void check(u64 gva, u64 gpa, u64 page_size, u32 access)
{
	struct mmu_mapping mapping;

	assert_int_equal(translate(gva, &mapping), 0);
	assert_int_equal(mapping.gpa.addr, gpa);
	assert_int_equal(mapping.page_size, page_size);
	assert_int_equal(mapping.access, access);
}

static void check_fails(u64 gva, int err)
{
	struct mmu_mapping mapping = { .page_size = 7 };

	assert_int_equal(translate(gva, &mapping), err);
	assert_int_equal(mapping.page_size, 7);
}

/* Changes the entry of @gva at @level. */
static void spoil(u64 gva, unsigned int level, u64 set, u64 clear)
{
	u64 at = build_pagetable_entry(&pt, gva, level);

	assert_int_not_equal(at, 0);
	set |= build_pagetable_get(&pt, at) & ~clear;
	assert_int_equal(build_pagetable_put(&pt, at, set), 0);
}

static void check_long_mode(u8 mode, u64 low)
{
	start(mode);
	map(KERNEL, 0x1000000, 2 << 20, MMU_EXEC);
	map(KERNEL + 0x400000, 0x5000, 4096, MMU_WRITE);
	map(0xffff888000000000, 0, 1 << 30, MMU_WRITE);
	map(low, 0xabc000, 4096, RWX);
	map(low + 0x2000, 0xdef000, 4096, MMU_USER);
	check(KERNEL + 0x123456, 0x1123456, 2 << 20, MMU_EXEC);
	check(KERNEL + 0x400fff, 0x5fff, 4096, MMU_WRITE);
	check(0xffff88801fffffff, 0x1fffffff, 1 << 30, MMU_WRITE);
	check(low + 8, 0xabc008, 4096, RWX);
	check(low + 0x2000, 0xdef000, 4096, MMU_USER);
	check_fails(low + 0x1000, -EFAULT);
	check_fails(KERNEL - 0x200000, -EFAULT);
	check_fails(0, -EFAULT);
}

static void test_4level(void **state)
{
	(void)state;
	check_long_mode(MMU_MODE_X86_4LEVEL, 0x7ffffffde000);
	check_fails(0x800000000000, -EFAULT);
	check_fails(0xffff7fffffffffff, -EFAULT);
	check_fails(0x0100ffffffffe000, -EFAULT);
}

static void test_5level(void **state)
{
	(void)state;
	check_long_mode(MMU_MODE_X86_5LEVEL, 0x00fffffffffde000);
	check(0x00fffffffffde123, 0xabc123, 4096, RWX);
	check_fails(0x0100000000000000, -EFAULT);
	check_fails(0xfeffffffffffffff, -EFAULT);
}

static void test_pae(void **state)
{
	(void)state;
	start(MMU_MODE_X86_PAE);
	/* The top table needs 32 bytes' alignment only. */
	pt.root += 0x7e0;
	map(0xc0000000, 0x200000, 2 << 20, MMU_EXEC | MMU_WRITE);
	map(0xbffff000, 0x123456000, 4096, MMU_USER | MMU_WRITE);
	check(0xc01fffff, 0x3fffff, 2 << 20, MMU_EXEC | MMU_WRITE);
	check(0xbffff010, 0x123456010, 4096, MMU_USER | MMU_WRITE);
	check_fails(0x100000000, -EFAULT);
	check_fails(0xbfffe000, -EFAULT);
	check_fails(0x1000, -EFAULT);
	spoil(0xbffff000, 0, 1ULL << 52, 0);
	check_fails(0xbffff000, -EBADMSG);
	spoil(0xc0000000, 2, 0x2, 0);
	check_fails(0xc0000000, -EBADMSG);
}

static void test_32bit(void **state)
{
	(void)state;
	start(MMU_MODE_X86_32_PSE);
	map(0xc0000000, 0x0000000400000, 4 << 20, MMU_WRITE | MMU_EXEC);
	map(0xc0400000, 0xab00800000, 4 << 20, MMU_EXEC);
	map(0x08048000, 0xfffff000, 4096, RWX);
	map(0x08049000, 0x7000, 4096, MMU_EXEC | MMU_USER);
	check(0xc03fffff, 0x7fffff, 4 << 20, MMU_WRITE | MMU_EXEC);
	check(0xc0400001, 0xab00800001, 4 << 20, MMU_EXEC);
	check(0x08048ffc, 0xfffffffc, 4096, RWX);
	check(0x08049000, 0x7000, 4096, MMU_EXEC | MMU_USER);
	check_fails(0x0804a000, -EFAULT);
	check_fails(0x108048000, -EFAULT);
	spoil(0xc0000000, 1, 1 << 21, 0);
	check_fails(0xc0000000, -EBADMSG);
	/* Without CR4.PSE bit 7 means nothing and the entry points to a table. */
	spoil(0xc0400000, 1, TABLES + 0x100000, 0xfffff000);
	assert_int_equal(mem_fake_set_u64(mem, GPA(TABLES + 0x100000), 0x00009003), 0);
	pt.mode = MMU_MODE_X86_32;
	check(0xc0400010, 0x9010, 4096, MMU_EXEC);
}

static void test_paging_off(void **state)
{
	(void)state;
	start(MMU_MODE_X86_4LEVEL);
	pt.mode = MMU_MODE_NONE;
	check(0x7c00, 0x7c00, 4096, RWX);
	check_fails(0x100000000, -EFAULT);
	pt.mode = MMU_MODE_UNKNOWN;
	check_fails(0x7c00, -EOPNOTSUPP);
	pt.mode = MMU_MODE_NR;
	check_fails(0x7c00, -EOPNOTSUPP);
}

static void start_arm64(u8 page_shift, u8 bits, bool ds, u64 first)
{
	assert_int_equal(build_pagetable_init_arm64(&pt, mem, page_shift, bits, ds, GPA(first)), 0);
}

/* Pages of every size in both halves, at the ends of the halves. */
static void check_arm64(const u64 *page_sizes, size_t nr)
{
	u64 high = -(1ULL << pt.bits), top = (1ULL << pt.bits) - page_sizes[0];
	/* In 52-bit formats all address bits that they have. */
	u64 far = pt.ds || pt.page_shift == 16 ? 0x000a800000000000 : 0x0000800000000000;

	map(0, far | 0xabcd0000, page_sizes[0], MMU_USER | MMU_EXEC);
	map(top, 0x10000, page_sizes[0], MMU_USER | MMU_WRITE);
	map(high, 0x20000, page_sizes[0], MMU_EXEC);
	map(-page_sizes[0], far | 0x30000, page_sizes[0], MMU_WRITE);
	check(0x123, far | 0xabcd0123, page_sizes[0], MMU_USER | MMU_EXEC);
	check(top + 8, 0x10008, page_sizes[0], MMU_USER | MMU_WRITE);
	check(high, 0x20000, page_sizes[0], MMU_EXEC);
	check(-1ULL, far | (0x30000 + page_sizes[0] - 1), page_sizes[0], MMU_WRITE);
	for (size_t i = 1; i < nr; i++) {
		map(high + i * page_sizes[i], far, page_sizes[i], MMU_EXEC);
		check(high + i * page_sizes[i] + 0x54321, far | 0x54321, page_sizes[i], MMU_EXEC);
		map(i * page_sizes[i], page_sizes[i], page_sizes[i], MMU_USER);
		check(i * page_sizes[i] + 9, page_sizes[i] + 9, page_sizes[i], MMU_USER);
	}
	check_fails(page_sizes[0], -EFAULT);
	check_fails(1ULL << pt.bits, -EFAULT);
	check_fails(high - 1, -EFAULT);
	check_fails(0x0080000000000000, -EFAULT);
	/* The builder's TCR has TBI0 and not TBI1. */
	check(0xa500000000000123, far | 0xabcd0123, page_sizes[0], MMU_USER | MMU_EXEC);
	check_fails(high & ~(1ULL << 60), -EFAULT);
}

static void test_arm64(void **state)
{
	static const u64 sizes_4k[] = { 4 << 10, 2 << 20, 1 << 30, 512ULL << 30 };
	static const u64 sizes_16k[] = { 16 << 10, 32 << 20, 64ULL << 30 };
	static const u64 sizes_64k[] = { 64 << 10, 512 << 20, 4ULL << 40 };

	(void)state;
	for (u8 bits = 36; bits <= 48; bits++) {
		start_arm64(12, bits, false, TABLES + ((u64)bits << 32));
		check_arm64(sizes_4k, 3);
		start_arm64(14, bits, false, TABLES + ((u64)bits << 33));
		check_arm64(sizes_16k, 2);
	}
	/* Tables at addresses of 52 bits. */
	start_arm64(12, 52, true, 0x000f800010000000);
	check_arm64(sizes_4k, 4);
	start_arm64(14, 52, true, 0x000e800010000000);
	check_arm64(sizes_16k, 3);
	start_arm64(16, 48, false, 0x000d800010000000);
	check_arm64(sizes_64k, 3);
	start_arm64(16, 52, false, 0x000c800010000000);
	check_arm64(sizes_64k, 3);
	start_arm64(16, 42, false, 0x000b800010000000);
	check_arm64(sizes_64k, 2);
}

static void test_arm64_entries(void **state)
{
	(void)state;
	start_arm64(12, 48, false, TABLES);
	map(0x400000, 0x1000, 4096, MMU_USER);
	map(0x40000000, 0x200000, 2 << 20, MMU_EXEC);
	/* The contiguous hint, DBM, nG, no access flag, software's bits, bits above the address. */
	spoil(0x400000, 0, 0x0798000000000800, 0x400);
	check(0x400000, 0x1000, 4096, MMU_USER);
	/* Neither a page nor a table; a block where there can be none. */
	spoil(0x400000, 0, 0, 2);
	check_fails(0x400000, -EBADMSG);
	spoil(0x40000000, 3, 0, 2);
	check_fails(0x40000000, -EBADMSG);
	spoil(0x40000000, 3, 0, 1);
	check_fails(0x40000000, -EFAULT);
}

static void test_arm64_rights(void **state)
{
	(void)state;
	start_arm64(12, 48, false, TABLES);
	/* UXN clear, PXN set: the user executes. */
	map(0x400000, 0x1000, 4096, RWX);
	check(0x400000, 0x1000, 4096, RWX);
	spoil(0x400000, 2, 1ULL << 60, 0);
	check(0x400000, 0x1000, 4096, MMU_USER | MMU_WRITE);
	spoil(0x400000, 2, 0, 1ULL << 60);
	spoil(0x400000, 1, 1ULL << 62, 0);
	check(0x400000, 0x1000, 4096, MMU_USER | MMU_EXEC);
	spoil(0x400000, 3, 1ULL << 61, 0);
	check(0x400000, 0x1000, 4096, MMU_EXEC);
	/* What the user may write the kernel never executes. */
	map(0x8000000000, 0x2000, 4096, MMU_USER | MMU_WRITE);
	spoil(0x8000000000, 0, 0, 1ULL << 53);
	check(0x8000000000, 0x2000, 4096, MMU_USER | MMU_WRITE);
	spoil(0x8000000000, 0, 1 << 7, 0);
	check(0x8000000000, 0x2000, 4096, MMU_USER | MMU_EXEC);
	/* PXNTable against a page of the kernel's. */
	map(-4096ULL, 0x3000, 4096, MMU_EXEC);
	check(-4096ULL, 0x3000, 4096, MMU_EXEC);
	spoil(-4096ULL, 3, 1ULL << 59, 0);
	check(-4096ULL, 0x3000, 4096, 0);
}

static int translate_regs(const struct vcpu_regs *regs, u64 gva, u64 *ret_gpa)
{
	struct mmu_mapping mapping;
	struct mmu_space space;
	int err = mmu_space_init(&space, regs);

	err = err ?: mmu_translate(&space, mem_fake_reader(mem), GVA(gva), &mapping);
	if (!err)
		*ret_gpa = mapping.gpa.addr;
	return err;
}

static void test_arm64_registers(void **state)
{
	struct vcpu_regs regs;
	u64 gpa = 0;

	(void)state;
	start_arm64(12, 48, false, TABLES);
	map(0x400000, 0x1000, 4096, MMU_USER);
	map(-4096ULL, 0x3000, 4096, MMU_EXEC);
	regs = build_pagetable_regs(&pt);
	assert_int_equal(translate_regs(&regs, 0x400010, &gpa), 0);
	/* TBI1; EPD0, EPD1; granules that are none; a size less than there is. */
	regs.arm64.tcr |= 1ULL << 38;
	assert_int_equal(translate_regs(&regs, 0x12fffffffffff010, &gpa), 0);
	assert_int_equal(gpa, 0x3010);
	regs.arm64.tcr |= 1 << 7;
	assert_int_equal(translate_regs(&regs, 0x400010, &gpa), -EFAULT);
	assert_int_equal(translate_regs(&regs, -4096ULL, &gpa), 0);
	regs.arm64.tcr |= 1 << 23;
	assert_int_equal(translate_regs(&regs, -4096ULL, &gpa), -EFAULT);
	regs.arm64.tcr &= ~(1ULL << 7 | 1ULL << 23);
	regs.arm64.tcr |= 3 << 14;
	assert_int_equal(translate_regs(&regs, 0x400010, &gpa), -EFAULT);
	regs.arm64.tcr &= ~(3ULL << 14 | 3ULL << 30);
	assert_int_equal(translate_regs(&regs, 0x400010, &gpa), 0);
	assert_int_equal(translate_regs(&regs, -4096ULL, &gpa), -EFAULT);
	regs.arm64.tcr &= ~0x3fULL;
	assert_int_equal(translate_regs(&regs, 0x400010, &gpa), 0);
	/* Rights in tables are not looked at with HPD0. */
	spoil(0x400000, 2, 1ULL << 61, 0);
	regs.arm64.tcr |= 1ULL << 41;
	assert_int_equal(translate_regs(&regs, 0x400010, &gpa), 0);
	/* A whole 48-bit TTBR without TCR.DS: bits 5:2 are part of nothing. */
	regs.arm64.ttbr0 |= 0x3c;
	assert_int_equal(translate_regs(&regs, 0x400010, &gpa), 0);
	assert_int_equal(gpa, 0x1010);
	regs.arm64.sctlr |= 1 << 25;
	assert_int_equal(translate_regs(&regs, 0x400010, &gpa), -EOPNOTSUPP);
}

static void test_arm64_off(void **state)
{
	struct vcpu_regs regs;
	u64 gpa = 0;

	(void)state;
	start_arm64(12, 48, false, TABLES);
	regs = build_pagetable_regs(&pt);
	regs.arm64.sctlr = 0;
	assert_int_equal(translate_regs(&regs, 0x40080000, &gpa), 0);
	assert_int_equal(gpa, 0x40080000);
	assert_int_equal(translate_regs(&regs, 0x7700000040080000, &gpa), 0);
	assert_int_equal(gpa, 0x40080000);
	assert_int_equal(translate_regs(&regs, 0x0010000000000000, &gpa), -EFAULT);
	assert_int_equal(translate_regs(&regs, 0xffff800010000000, &gpa), -EFAULT);
}

static void test_rights_add_up(void **state)
{
	(void)state;
	start(MMU_MODE_X86_4LEVEL);
	map(0x400000, 0x1000, 4096, RWX);
	spoil(0x400000, 2, 0, 0x4);
	check(0x400000, 0x1000, 4096, MMU_EXEC | MMU_WRITE);
	spoil(0x400000, 3, 0, 0x2);
	check(0x400000, 0x1000, 4096, MMU_EXEC);
	spoil(0x400000, 1, 1ULL << 63, 0);
	check(0x400000, 0x1000, 4096, 0);
	pt.mode |= MMU_MODE_F_NO_NX;
	check_fails(0x400000, -EBADMSG);
}

static void test_reserved_bits(void **state)
{
	(void)state;
	start(MMU_MODE_X86_5LEVEL);
	map(KERNEL, 0, 2 << 20, MMU_EXEC);
	map(0, 0x40000000, 1 << 30, MMU_EXEC);
	/* Ignored bits and the PAT bit of a large page are no fault. */
	spoil(KERNEL, 1, 0x7ff0000000001e00, 0);
	check(KERNEL, 0, 2 << 20, MMU_EXEC);
	spoil(KERNEL, 1, 1 << 13, 0);
	check_fails(KERNEL, -EBADMSG);
	spoil(KERNEL, 1, 0, 1 << 13);
	spoil(KERNEL, 3, 0x80, 0);
	check_fails(KERNEL, -EBADMSG);
	spoil(KERNEL, 3, 0, 0x80);
	spoil(KERNEL, 4, 0x80, 0);
	check_fails(KERNEL, -EBADMSG);
	spoil(0, 2, 1 << 29, 0);
	check_fails(0, -EBADMSG);
}

static void test_self_reference(void **state)
{
	struct mmu_space space;
	u64 reads;

	(void)state;
	start(MMU_MODE_X86_5LEVEL);
	/* Every entry of the only table points to the table itself. */
	for (unsigned int i = 0; i < 512; i++)
		assert_int_equal(build_pagetable_put(&pt, TABLES + i * 8, TABLES | 7), 0);
	reads = mem_fake_reads(mem);
	check(0x00123456789abcde, TABLES + 0xcde, 4096, RWX);
	assert_int_equal(mem_fake_reads(mem) - reads, 5);
	space = build_pagetable_space(&pt);
	assert_int_equal(mmu_for_each_mapping(&space, mem_fake_reader(mem), GVA(0), GVA(UINT64_MAX),
					      0, NULL, NULL), -E2BIG);
}

static void test_read_errors(void **state)
{
	(void)state;
	start(MMU_MODE_X86_4LEVEL);
	map(0x400000, 0x1000, 4096, RWX);
	for (u64 after = 0; after < 4; after++) {
		mem_fake_fail(mem, after, -ESRCH);
		check_fails(0x400000, -ESRCH);
	}
	mem_fake_fail(mem, 0, 0);
	check(0x400000, 0x1000, 4096, RWX);
	/* A table outside of memory. */
	spoil(0x400000, 1, 0x7777777000, 0x000ffffffffff000);
	check_fails(0x400000, -EFAULT);
}

static void test_same_leaf(void **state)
{
	struct mmu_walk walk = { .stride = 9, .leaf = 0x8000000012345067 };

	(void)state;
	assert_true(mmu_walk_same_leaf(&walk, 0x8000000012345067));
	assert_true(mmu_walk_same_leaf(&walk, 0x8000000012345007));
	assert_false(mmu_walk_same_leaf(&walk, 0x8000000012346067));
	assert_false(mmu_walk_same_leaf(&walk, 0x8000000012345066));
	walk.mode = MMU_MODE_ARM64;
	walk.leaf = 0x0060000012345783;
	assert_true(mmu_walk_same_leaf(&walk, 0x0060000012345303));
	assert_false(mmu_walk_same_leaf(&walk, 0x00600000123457c3));
	walk = (struct mmu_walk){ .stride = 10, .half = 32, .leaf = 0x12345067 };
	assert_true(mmu_walk_same_leaf(&walk, 0x1234506700000000));
	assert_false(mmu_walk_same_leaf(&walk, 0x12345067));
}

static void test_space_from_regs(void **state)
{
	static const u8 modes[] = {
		MMU_MODE_NONE, MMU_MODE_X86_32, MMU_MODE_X86_32_PSE, MMU_MODE_X86_PAE,
		MMU_MODE_X86_PAE | MMU_MODE_F_NO_NX, MMU_MODE_X86_4LEVEL, MMU_MODE_X86_5LEVEL,
		MMU_MODE_X86_5LEVEL | MMU_MODE_F_NO_NX,
	};
	struct vcpu_regs regs = { .arch = VCPU_ARCH_NONE };
	struct mmu_space space = { 0 };

	(void)state;
	start(MMU_MODE_X86_4LEVEL);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		pt.mode = modes[i];
		regs = build_pagetable_regs(&pt);
		if ((modes[i] & ~MMU_MODE_F_NO_NX) < MMU_MODE_X86_PAE)
			regs.x86.efer = 0;
		assert_int_equal(mmu_space_init(&space, &regs), 0);
		if ((modes[i] & ~MMU_MODE_F_NO_NX) >= MMU_MODE_X86_PAE || modes[i] == MMU_MODE_NONE)
			assert_int_equal(space.mode, modes[i]);
		else
			assert_int_equal(space.mode & ~MMU_MODE_F_NO_NX, modes[i]);
		assert_int_equal(space.root, TABLES);
	}
	/* The PCID, the no-flush bit and the cache bits are no part of the address. */
	regs.x86.cr3 = 0x8000000000000000 | TABLES | 0x81b;
	assert_int_equal(mmu_space_init(&space, &regs), 0);
	assert_int_equal(space.root, TABLES);
	regs.arch = VCPU_ARCH_NONE;
	assert_int_equal(mmu_space_init(&space, &regs), -EOPNOTSUPP);
}

static void test_read(void **state)
{
	struct mmu_space space;
	u8 out[0x3000];
	size_t done;

	(void)state;
	start(MMU_MODE_X86_4LEVEL);
	space = build_pagetable_space(&pt);
	/* Two virtual neighbours far apart, then a hole. */
	map(0x400000, 0x9000, 4096, MMU_USER);
	map(0x401000, 0x3000, 4096, MMU_USER);
	memset(mem_fake_page(mem, GPA(0x9000)), 'a', 4096);
	memset(mem_fake_page(mem, GPA(0x3000)), 'b', 4096);
	assert_int_equal(mmu_read(&space, mem_fake_reader(mem), GVA(0x400ffe), out, 4), 0);
	assert_memory_equal(out, "aabb", 4);
	assert_int_equal(mmu_read(&space, mem_fake_reader(mem), GVA(0x401ffe), out, 4), -EFAULT);
	assert_int_equal(mmu_read_partial(&space, mem_fake_reader(mem), GVA(0x400800), out,
					  sizeof(out), &done), 0);
	assert_int_equal(done, 0x1800);
	assert_int_equal(mmu_read_partial(&space, mem_fake_reader(mem), GVA(0x402000), out, 1,
					  &done), 0);
	assert_int_equal(done, 0);
	mem_fake_drop(mem, GPA(0x3000));
	assert_int_equal(mmu_read_partial(&space, mem_fake_reader(mem), GVA(0x400800), out,
					  sizeof(out), &done), 0);
	assert_int_equal(done, 0x800);
	mem_fake_fail(mem, 6, -EPERM);
	assert_int_equal(mmu_read_partial(&space, mem_fake_reader(mem), GVA(0x400800), out,
					  sizeof(out), &done), -EPERM);
	mem_fake_fail(mem, 0, 0);
	/* Never around the top of the address space. */
	map(-4096ULL, 0x9000, 4096, MMU_WRITE);
	map(0, 0x9000, 4096, MMU_WRITE);
	assert_int_equal(mmu_read_partial(&space, mem_fake_reader(mem), GVA(-16ULL), out, 32,
					  &done), 0);
	assert_int_equal(done, 16);
}

struct found {
	u64 gva, gpa, page_size;
};

struct found_list {
	VEC(struct found) found;
	size_t stop_at;
};

static int on_mapping(gva_t gva, const struct mmu_mapping *mapping, void *arg)
{
	struct found_list *list = arg;
	struct found found = { gva.addr, mapping->gpa.addr, mapping->page_size };

	assert_int_equal(vec_push(&list->found, found), 0);
	return list->stop_at && list->found.nr == list->stop_at ? 42 : 0;
}

static int iterate(u64 from, u64 to, unsigned int max_tables, struct found_list *list)
{
	struct mmu_space space = build_pagetable_space(&pt);

	list->found.nr = 0;
	return mmu_for_each_mapping(&space, mem_fake_reader(mem), GVA(from), GVA(to), max_tables,
				    on_mapping, list);
}

static void check_found(const struct found_list *list, const struct found *want, size_t nr)
{
	assert_int_equal(list->found.nr, nr);
	assert_memory_equal(list->found.data, want, nr * sizeof(*want));
}

static void test_for_each(void **state)
{
	static const struct found all[] = {
		{ 0x400000, 0x9000, 4096 },
		{ 0x401000, 0x3000, 4096 },
		{ 0x7fffffffe000, 0x5000, 4096 },
		{ 0xffff888000000000, 0, 1 << 30 },
		{ 0xffff888040000000, 0x40000000, 1 << 30 },
		{ KERNEL, 0x200000, 2 << 20 },
		{ 0xfffffffffffff000, 0x7000, 4096 },
	};
	struct found_list list = { VEC_INIT, 0 };

	(void)state;
	start(MMU_MODE_X86_4LEVEL);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		map(all[i].gva, all[i].gpa, all[i].page_size, MMU_WRITE);
	assert_int_equal(iterate(0, UINT64_MAX, 100, &list), 0);
	check_found(&list, all, ARRAY_SIZE(all));
	/* The range begins and ends inside pages. */
	assert_int_equal(iterate(0x401008, 0xffff888000000001, 100, &list), 0);
	check_found(&list, all + 1, 3);
	assert_int_equal(iterate(0xffff88807ffffff0, KERNEL, 100, &list), 0);
	check_found(&list, all + 4, 1);
	assert_int_equal(iterate(KERNEL + 0x1000, KERNEL + 0x2000, 100, &list), 0);
	check_found(&list, all + 5, 1);
	/* Only holes; nothing; the hole that is not canonical. */
	assert_int_equal(iterate(0x402000, 0x7fffffffe000, 100, &list), 0);
	check_found(&list, all, 0);
	assert_int_equal(iterate(0x400000, 0x400000, 100, &list), 0);
	check_found(&list, all, 0);
	assert_int_equal(iterate(0x800000000000, 0xffff700000000000, 100, &list), 0);
	check_found(&list, all, 0);
	list.stop_at = 3;
	assert_int_equal(iterate(0, UINT64_MAX, 100, &list), 42);
	check_found(&list, all, 3);
	list.stop_at = 0;
	/* Root twice, and three tables below it for each of the low two runs. */
	assert_int_equal(iterate(0, 0x800000000000, 7, &list), 0);
	assert_int_equal(iterate(0, 0x800000000000, 6, &list), -E2BIG);
	/* A table that is not there hides only what it maps. */
	spoil(0x400000, 1, 0x7777777000, 0x000ffffffffff000);
	assert_int_equal(iterate(0, UINT64_MAX, 100, &list), 0);
	check_found(&list, all + 2, 5);
	mem_fake_fail(mem, 3, -ESRCH);
	assert_int_equal(iterate(0, UINT64_MAX, 100, &list), -ESRCH);
	mem_fake_fail(mem, 0, 0);
	vec_deinit(&list.found);
}

static void test_for_each_32bit(void **state)
{
	static const struct found all[] = {
		{ 0x08048000, 0x9000, 4096 },
		{ 0x08049000, 0xa000, 4096 },
		{ 0xbf800000, 0x3000, 4096 },
		{ 0xc0000000, 0x1200400000, 4 << 20 },
		{ 0xfffff000, 0x5000, 4096 },
	};
	struct found_list list = { VEC_INIT, 0 };

	(void)state;
	start(MMU_MODE_X86_32_PSE);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		map(all[i].gva, all[i].gpa, all[i].page_size, MMU_WRITE);
	assert_int_equal(iterate(0, UINT64_MAX, 100, &list), 0);
	check_found(&list, all, ARRAY_SIZE(all));
	assert_int_equal(iterate(0x08049fff, 0xbf800001, 100, &list), 0);
	check_found(&list, all + 1, 2);
	vec_deinit(&list.found);
	pt.mode = MMU_MODE_NONE;
	assert_int_equal(iterate(0, 1, 1, &list), -EOPNOTSUPP);
}

static void test_for_each_pae(void **state)
{
	static const struct found all[] = {
		{ 0x3ffff000, 0x9000, 4096 },
		{ 0x40000000, 0x123400000, 2 << 20 },
		{ 0xffe00000, 0x5000, 4096 },
	};
	struct found_list list = { VEC_INIT, 0 };

	(void)state;
	start(MMU_MODE_X86_PAE);
	pt.root += 0x20;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		map(all[i].gva, all[i].gpa, all[i].page_size, MMU_WRITE);
	assert_int_equal(iterate(0, UINT64_MAX, 100, &list), 0);
	check_found(&list, all, ARRAY_SIZE(all));
	vec_deinit(&list.found);
}

static void test_for_each_arm64(void **state)
{
	static const struct found all[] = {
		{ 0x400000, 0x90000, 65536 },
		{ 0x20000000, 0x40000000, 512 << 20 },
		{ 0xfffffffff0000, 0x50000, 65536 },
		{ 0xfff0000000000000, 0x60000, 65536 },
		{ 0xffff800040000000, 0x80000000, 512 << 20 },
		{ 0xffffffffffff0000, 0x70000, 65536 },
	};
	struct found_list list = { VEC_INIT, 0 };

	(void)state;
	start_arm64(16, 52, false, TABLES);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		map(all[i].gva, all[i].gpa, all[i].page_size, MMU_WRITE);
	assert_int_equal(iterate(0, UINT64_MAX, 1000, &list), 0);
	check_found(&list, all, ARRAY_SIZE(all));
	assert_int_equal(iterate(0x40ffff, 0xffff80005fffffff, 1000, &list), 0);
	check_found(&list, all, 5);
	assert_int_equal(iterate(0x410000, 0xffff800040000000, 1000, &list), 0);
	check_found(&list, all + 1, 3);
	/* The hole that is in neither half. */
	assert_int_equal(iterate(0x10000000000000, 0xfff0000000000000, 1000, &list), 0);
	check_found(&list, all, 0);
	/* Tables count by the 512 entries that are read of them. */
	assert_int_equal(iterate(0x400000, 0x410000, 3, &list), 0);
	assert_int_equal(iterate(0x400000, 0x410000, 2, &list), -E2BIG);
	assert_int_equal(iterate(0x20000000, 0x20000000 + 512 * (512ULL << 20), 3, &list), 0);
	assert_int_equal(iterate(0x20000000, 0x20000000 + 513 * (512ULL << 20), 2, &list), -E2BIG);
	vec_deinit(&list.found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_4level),
		TEST(test_5level),
		TEST(test_pae),
		TEST(test_32bit),
		TEST(test_paging_off),
		TEST(test_arm64),
		TEST(test_arm64_entries),
		TEST(test_arm64_rights),
		TEST(test_arm64_registers),
		TEST(test_arm64_off),
		TEST(test_rights_add_up),
		TEST(test_reserved_bits),
		TEST(test_self_reference),
		TEST(test_read_errors),
		TEST(test_same_leaf),
		TEST(test_space_from_regs),
		TEST(test_read),
		TEST(test_for_each),
		TEST(test_for_each_32bit),
		TEST(test_for_each_pae),
		TEST(test_for_each_arm64),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
