/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page-table walks over tables that the guest made up. The input is a header, then guest memory
 * from address 0 on. Beside not crashing: work is bounded, and iteration agrees with translation.
 */
#include <string.h>

#include "mem/fake.h"
#include "mmu/translate.h"

#define MAX_TABLES 64
#define MAX_MEMORY (64 * MEM_FAKE_PAGE)

struct header {
	u64 root;
	u64 gva;
	u64 end;
	u8 mode;
	u8 pad[7];
	u64 tcr;	/* arm64 */
};

struct check {
	const struct mmu_space *space;
	const struct mem_reader *mem;
	u64 last;
	u64 nr;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int on_mapping(gva_t gva, const struct mmu_mapping *mapping, void *arg)
{
	struct check *check = arg;
	struct mmu_mapping same;

	require(check->nr == 0 || gva.addr > check->last);
	require(gva.addr % mapping->page_size == 0 && mapping->gpa.addr % mapping->page_size == 0);
	/* All of a huge number of translations would say nothing new. */
	if (check->nr < 1000 || check->nr % 1024 == 0) {
		require(!mmu_translate(check->space, check->mem, gva, &same));
		require(same.gpa.addr == mapping->gpa.addr && same.leaf == mapping->leaf);
		require(same.page_size == mapping->page_size && same.access == mapping->access);
	}
	check->last = gva.addr;
	check->nr++;
	return 0;
}

static void check_space(struct mem_fake *fake, const struct mmu_space *space,
			const struct header *header)
{
	const struct mem_reader *mem = mem_fake_reader(fake);
	struct check check = { .space = space, .mem = mem };
	u64 before = mem_fake_reads(fake);
	struct mmu_mapping mapping;
	u8 buffer[3 * MEM_FAKE_PAGE];
	size_t done = 0;
	int err;

	err = mmu_translate(space, mem, GVA(header->gva), &mapping);
	require(mem_fake_reads(fake) - before <= MMU_MAX_LEVELS);
	require(!err || err == -EFAULT || err == -EBADMSG || err == -EOPNOTSUPP);
	if (!err)
		require((mapping.gpa.addr ^ header->gva) % mapping.page_size == 0);
	before = mem_fake_reads(fake);
	err = mmu_read_partial(space, mem, GVA(header->gva), buffer, sizeof(buffer), &done);
	require(mem_fake_reads(fake) - before <= 4 * (MMU_MAX_LEVELS + 1));
	require(err == -EOPNOTSUPP || (!err && done <= sizeof(buffer)));
	err = mmu_for_each_mapping(space, mem, GVA(header->gva), GVA(header->end), MAX_TABLES,
				   on_mapping, &check);
	require(!err || err == -E2BIG || err == -EOPNOTSUPP);
	require(check.nr <= MAX_TABLES * 1024);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(mem_fake_destroy) struct mem_fake *fake = mem_fake_create();
	struct mmu_space space = { .arch = VCPU_ARCH_X86_64 };
	struct header header;

	if (!fake || size < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	data += sizeof(header);
	size = MIN(size - sizeof(header), MAX_MEMORY);
	if (mem_fake_set(fake, GPA(0), data, size))
		return 0;
	if (header.mode == MMU_MODE_ARM64) {
		mmu_space_set_arm64(&space, &(struct arm64_system_regs){
						    .ttbr0 = header.root, .ttbr1 = header.root,
						    .tcr = header.tcr, .sctlr = 1 });
	} else {
		space.mode = header.mode;
		space.root = mmu_root_x86(header.mode, header.root);
	}
	check_space(fake, &space, &header);
	return 0;
}
