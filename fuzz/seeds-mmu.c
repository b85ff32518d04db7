/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds for fuzz-mmu: good tables of each mode, and one that points to itself. */
#include <stdio.h>

#include "base/strbuf.h"
#include "build-pagetable.h"
#include "build.h"
#include "seeds.h"

#define MEMORY_PAGES 64

static int write_seed(const char *name, struct build_pagetable *pt, u64 gva, u64 end)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	put_u64(&sb, pt->root);
	put_u64(&sb, gva);
	put_u64(&sb, end);
	put_u64(&sb, pt->mode);
	put_u64(&sb, pt->mode == MMU_MODE_ARM64 ? build_pagetable_regs(pt).arm64.tcr : 0);
	for (u64 page = 0; page < MEMORY_PAGES; page++)
		strbuf_add(&sb, mem_fake_page(pt->mem, GPA(page * MEM_FAKE_PAGE)), MEM_FAKE_PAGE);
	return strbuf_error(&sb) ?: seed_write(name, sb.data, sb.len);
}

static int write_mode(const char *name, u8 mode, u64 large_gva, u64 large_size)
{
	_cleanup_(mem_fake_destroy) struct mem_fake *fake = mem_fake_create();
	struct build_pagetable pt;
	int err;

	if (!fake)
		return -ENOMEM;
	err = build_pagetable_init(&pt, fake, mode, GPA(0x1000));
	err = err ?: build_pagetable_map(&pt, 0x400000, 0x1000, 4096, MMU_EXEC | MMU_USER);
	err = err ?: build_pagetable_map(&pt, 0x403000, 0x2000, 4096, MMU_WRITE);
	if (large_size)
		err = err ?: build_pagetable_map(&pt, large_gva, 0, large_size, MMU_EXEC);
	return err ?: write_seed(name, &pt, 0x400008, UINT64_MAX);
}

static int write_arm64(const char *name, u8 page_shift, u8 bits, bool ds)
{
	_cleanup_(mem_fake_destroy) struct mem_fake *fake = mem_fake_create();
	u64 page = 1ULL << page_shift, block = page << (page_shift - 3);
	struct build_pagetable pt;
	int err;

	if (!fake)
		return -ENOMEM;
	/* No more tables than fit: both halves' top, and the way to one page and one block. */
	err = build_pagetable_init_arm64(&pt, fake, page_shift, bits, ds, GPA(0));
	err = err ?: build_pagetable_map(&pt, 0x400000, page, page, MMU_EXEC | MMU_USER);
	err = err ?: build_pagetable_map(&pt, block, 0, block, MMU_WRITE);
	return err ?: write_seed(name, &pt, 0x400008, UINT64_MAX);
}

static int write_self_reference(void)
{
	_cleanup_(mem_fake_destroy) struct mem_fake *fake = mem_fake_create();
	struct build_pagetable pt;
	int err;

	if (!fake)
		return -ENOMEM;
	err = build_pagetable_init(&pt, fake, MMU_MODE_X86_5LEVEL, GPA(0x1000));
	for (u64 i = 0; !err && i < 512; i++)
		err = build_pagetable_put(&pt, 0x1000 + i * 8, 0x1007);
	return err ?: write_seed("self", &pt, 0x123456, UINT64_MAX);
}

int write_seeds(void)
{
	int err;

	err = write_mode("4level", MMU_MODE_X86_4LEVEL, 0xffff888000000000, 1 << 30);
	err = err ?: write_mode("5level", MMU_MODE_X86_5LEVEL, 0xff11000000000000, 2 << 20);
	err = err ?: write_mode("pae", MMU_MODE_X86_PAE, 0xc0000000, 2 << 20);
	err = err ?: write_mode("pse", MMU_MODE_X86_32_PSE, 0xc0000000, 4 << 20);
	err = err ?: write_mode("32", MMU_MODE_X86_32, 0, 0);
	err = err ?: write_mode("no-nx", MMU_MODE_X86_4LEVEL | MMU_MODE_F_NO_NX, 0, 0);
	err = err ?: write_arm64("arm64-4k", 12, 48, false);
	err = err ?: write_arm64("arm64-4k-52", 12, 52, true);
	err = err ?: write_arm64("arm64-16k", 14, 36, false);
	err = err ?: write_arm64("arm64-64k", 16, 42, false);
	return err ?: write_self_reference();
}
