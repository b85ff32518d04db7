/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every format of page tables against another walker, libkdumpfile's addrxlat, on random tables:
 * both must find the same address, or none.
 *
 * On what addrxlat (0.5.1) has no opinion or a wrong one the tables keep silent, and test-translate
 * has cases of its own:
 *  - rights, and reserved bits on x86: it does not look at them;
 *  - which bits above an arm64 address make it one that is not mapped, and ignored top bytes;
 *  - 32-bit tables without CR4.PSE: it always has large pages;
 *  - 64 KiB granules: bit 47 of an entry is lost when addresses have 52 bits; so is bit 49 in
 *    entries with TCR.DS;
 *  - how a TTBR holds an address of 52 bits: it is given the root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <libkdumpfile/addrxlat.h>
#include <string.h>

#include "base/types.h"
#include "mmu/translate.h"

#define MAX_LEVELS 5
#define TABLES 4		/* of each level */
#define MAX_TABLE_BYTES 65536
#define ADDRESSES 20000

struct format {
	const char *name;
	u8 mode;
	u8 page_shift, stride, bits;
	bool ds;
	addrxlat_pte_format_t oracle;
	u8 pa_bits;
	u8 highest_block;	/* level, 0: last, of the largest page */
};

static const struct format formats[] = {
	{ "x86 32", MMU_MODE_X86_32, 12, 10, 32, false, ADDRXLAT_PTE_IA32, 32, 0 },
	{ "x86 PSE", MMU_MODE_X86_32_PSE, 12, 10, 32, false, ADDRXLAT_PTE_IA32, 32, 1 },
	{ "x86 PAE", MMU_MODE_X86_PAE, 12, 9, 32, false, ADDRXLAT_PTE_IA32_PAE, 52, 1 },
	{ "x86 4 levels", MMU_MODE_X86_4LEVEL, 12, 9, 48, false, ADDRXLAT_PTE_X86_64, 52, 2 },
	{ "x86 5 levels", MMU_MODE_X86_5LEVEL, 12, 9, 57, false, ADDRXLAT_PTE_X86_64, 52, 2 },
	{ "arm64 4K 39", MMU_MODE_ARM64, 12, 9, 39, false, ADDRXLAT_PTE_AARCH64, 48, 2 },
	{ "arm64 4K 48", MMU_MODE_ARM64, 12, 9, 48, false, ADDRXLAT_PTE_AARCH64, 48, 2 },
	{ "arm64 4K 33", MMU_MODE_ARM64, 12, 9, 33, false, ADDRXLAT_PTE_AARCH64, 48, 2 },
	{ "arm64 4K 52 LPA2", MMU_MODE_ARM64, 12, 9, 52, true, ADDRXLAT_PTE_AARCH64_LPA2, 52, 3 },
	{ "arm64 4K 48 LPA2", MMU_MODE_ARM64, 12, 9, 48, true, ADDRXLAT_PTE_AARCH64_LPA2, 52, 3 },
	{ "arm64 16K 36", MMU_MODE_ARM64, 14, 11, 36, false, ADDRXLAT_PTE_AARCH64, 48, 1 },
	{ "arm64 16K 47", MMU_MODE_ARM64, 14, 11, 47, false, ADDRXLAT_PTE_AARCH64, 48, 1 },
	{ "arm64 16K 48", MMU_MODE_ARM64, 14, 11, 48, false, ADDRXLAT_PTE_AARCH64, 48, 1 },
	{ "arm64 16K 52 LPA2", MMU_MODE_ARM64, 14, 11, 52, true, ADDRXLAT_PTE_AARCH64_LPA2, 52, 2 },
	{ "arm64 64K 42", MMU_MODE_ARM64, 16, 13, 42, false, ADDRXLAT_PTE_AARCH64, 48, 1 },
	{ "arm64 64K 48", MMU_MODE_ARM64, 16, 13, 48, false, ADDRXLAT_PTE_AARCH64, 48, 1 },
	{ "arm64 64K 48 LPA", MMU_MODE_ARM64, 16, 13, 48, false, ADDRXLAT_PTE_AARCH64_LPA, 52, 2 },
	{ "arm64 64K 52 LPA", MMU_MODE_ARM64, 16, 13, 52, false, ADDRXLAT_PTE_AARCH64_LPA, 52, 2 },
};

struct table {
	u64 gpa;
	size_t size;
	u8 bytes[MAX_TABLE_BYTES];
};

struct world {
	const struct format *format;
	struct mem_reader reader;
	u64 seed;
	unsigned int levels;
	struct table tables[MAX_LEVELS][TABLES];
	u64 hits[MAX_LEVELS];	/* pages of each level */
	u64 misses;
};

static u64 random64(struct world *world)
{
	/* xorshift64*: the same numbers in every run. */
	world->seed ^= world->seed >> 12;
	world->seed ^= world->seed << 25;
	world->seed ^= world->seed >> 27;
	return world->seed * 0x2545f4914f6cdd1dULL;
}

static u64 low_bits(unsigned int bits)
{
	return bits < 64 ? (1ULL << bits) - 1 : UINT64_MAX;
}

static const struct table *find_table(const struct world *world, u64 gpa)
{
	for (unsigned int level = 0; level < world->levels; level++) {
		for (unsigned int i = 0; i < TABLES; i++) {
			const struct table *table = &world->tables[level][i];

			if (gpa - table->gpa < table->size)
				return table;
		}
	}
	return NULL;
}

static int read_tables(const struct mem_reader *reader, gpa_t gpa, void *out, size_t size)
{
	const struct world *world = container_of(reader, struct world, reader);
	const struct table *table = find_table(world, gpa.addr);

	if (!table || gpa.addr - table->gpa + size > table->size)
		return -EFAULT;
	memcpy(out, table->bytes + (gpa.addr - table->gpa), size);
	return 0;
}

/* An address as an entry holds it. */
static u64 entry_address(const struct format *format, u64 gpa)
{
	u64 page = ~low_bits(format->page_shift);

	if (format->mode != MMU_MODE_ARM64)
		return gpa & page & low_bits(format->pa_bits);
	if (format->ds)
		return (gpa & page & low_bits(49)) | (gpa >> 50 & 3) << 8;
	if (format->pa_bits == 52)
		return (gpa & page & low_bits(47)) | (gpa >> 48 & 0xf) << 12;
	return gpa & page & low_bits(48);
}

/* What an entry may have beside the address, all of it harmless. */
static u64 attributes(struct world *world, unsigned int level)
{
	const struct format *format = world->format;
	u64 bits = random64(world);

	switch (format->mode) {
	case MMU_MODE_X86_32:
	case MMU_MODE_X86_32_PSE:
		return bits & 0xf7e;
	case MMU_MODE_X86_PAE:
		return bits & (level == 2 ? 0xe18 : 0x8000000000000f7e) & ~0x80ULL;
	case MMU_MODE_X86_4LEVEL:
	case MMU_MODE_X86_5LEVEL:
		return bits & 0xfff0000000000f7e;
	default:
		/* The contiguous hint, rights, software's; 9:8 are address bits with TCR.DS. */
		return bits & (format->ds ? 0xfff0000000000cfc : 0xfff0000000000ffc);
	}
}

static u64 random_entry(struct world *world, unsigned int level)
{
	const struct format *format = world->format;
	u64 gpa = random64(world), present = random64(world) % 8 ? 1 : 0;
	bool block = level && level <= format->highest_block && random64(world) % 4 == 0;
	bool arm64 = format->mode == MMU_MODE_ARM64;
	unsigned int shift = format->page_shift + level * format->stride;
	u64 extra = attributes(world, level);

	if (block && format->stride == 10)	/* PSE-36 */
		return present | 0x80 | extra | (gpa & 0xffc00000) | (gpa >> 32 & 0xff) << 13;
	if (block)
		return present | (arm64 ? 0 : 0x80) | extra |
		       entry_address(format, gpa & ~low_bits(shift));
	if (level)
		gpa = world->tables[level - 1][gpa % TABLES].gpa;
	/* At the last level bit 1 clear is no page, above it there a block where none may be. */
	if (arm64 && (random64(world) % 8 || (level && level <= format->highest_block)))
		present |= 2;
	/* 64 KiB granules have larger blocks when addresses have 52 bits, which no entry says. */
	if (arm64 && format->page_shift == 16)
		present |= 2;
	return present | extra | entry_address(format, gpa);
}

static void fill_table(struct world *world, unsigned int level, struct table *table)
{
	const struct format *format = world->format;
	size_t entry_bytes = format->stride == 10 ? 4 : 8;

	table->size = entry_bytes << format->stride;
	table->gpa = entry_address(format, random64(world) & low_bits(format->pa_bits));
	if (format->mode == MMU_MODE_ARM64 && format->pa_bits == 52)
		table->gpa = random64(world) & low_bits(format->ds ? 49 : 47) &
			     ~low_bits(format->page_shift);
	for (size_t at = 0; at < table->size; at += entry_bytes) {
		u64 entry = random_entry(world, level);

		memcpy(table->bytes + at, &entry, entry_bytes);
	}
}

static void fill_world(struct world *world, const struct format *format)
{
	world->format = format;
	world->reader.read = read_tables;
	world->levels = 0;
	for (unsigned int bits = format->page_shift; bits < format->bits; bits += format->stride)
		world->levels++;
	memset(world->hits, 0, sizeof(world->hits));
	world->misses = 0;
	for (unsigned int level = 0; level < world->levels; level++) {
		for (unsigned int i = 0; i < TABLES; i++)
			fill_table(world, level, &world->tables[level][i]);
	}
}

static struct mmu_space space_of(const struct world *world)
{
	const struct format *format = world->format;
	u64 root = world->tables[world->levels - 1][0].gpa;
	u64 root_high = world->tables[world->levels - 1][1].gpa;
	struct mmu_half half = {
		.page_shift = format->page_shift,
		.bits = format->bits,
		.level = world->levels - 1,
		.flags = format->ds ? MMU_HALF_DS : 0,
	};

	return (struct mmu_space){
		.mode = format->mode,
		.root = root,
		.root_high = root_high,
		.half = { half, half },
	};
}

static addrxlat_status oracle_page(const addrxlat_cb_t *cb, addrxlat_buffer_t *buf)
{
	const struct table *table = find_table(cb->priv, buf->addr.addr);

	if (!table)
		return ADDRXLAT_ERR_NODATA;
	buf->addr.addr = table->gpa;
	buf->ptr = table->bytes;
	buf->size = table->size;
	buf->byte_order = ADDRXLAT_LITTLE_ENDIAN;
	return ADDRXLAT_OK;
}

static void oracle_put_page(const addrxlat_buffer_t *buf)
{
	(void)buf;
}

static addrxlat_status oracle_page_kept(const addrxlat_cb_t *cb, addrxlat_buffer_t *buf)
{
	buf->put_page = oracle_put_page;
	return oracle_page(cb, buf);
}

static unsigned long oracle_caps(const addrxlat_cb_t *cb)
{
	(void)cb;
	return ADDRXLAT_CAPS(ADDRXLAT_MACHPHYSADDR);
}

static addrxlat_ctx_t *oracle_new(struct world *world)
{
	addrxlat_ctx_t *ctx = addrxlat_ctx_new();
	addrxlat_cb_t *cb;

	assert_non_null(ctx);
	cb = addrxlat_ctx_add_cb(ctx);
	assert_non_null(cb);
	cb->priv = world;
	cb->get_page = oracle_page_kept;
	cb->read_caps = oracle_caps;
	return ctx;
}

static addrxlat_meth_t oracle_method(const struct world *world, u64 root)
{
	const struct format *format = world->format;
	addrxlat_meth_t meth = {
		.kind = ADDRXLAT_PGT,
		.target_as = ADDRXLAT_MACHPHYSADDR,
	};
	addrxlat_paging_form_t *form = &meth.param.pgt.pf;
	unsigned int left = format->bits - format->page_shift;

	meth.param.pgt.root.as = ADDRXLAT_MACHPHYSADDR;
	meth.param.pgt.root.addr = root;
	form->pte_format = format->oracle;
	form->fieldsz[form->nfields++] = format->page_shift;
	for (; left; left -= form->fieldsz[form->nfields++])
		form->fieldsz[form->nfields] = MIN(left, format->stride);
	return meth;
}

/* True when @gva is mapped. */
static bool oracle_translate(addrxlat_ctx_t *ctx, const addrxlat_meth_t *meth, u64 gva, u64 *ret)
{
	addrxlat_step_t step = { .ctx = ctx, .meth = meth, .base.addr = gva };

	if (addrxlat_walk(&step) != ADDRXLAT_OK)
		return false;
	*ret = step.base.addr;
	return true;
}

static void compare(struct world *world, addrxlat_ctx_t *ctx, u64 gva)
{
	struct mmu_space space = space_of(world);
	bool high = world->format->mode == MMU_MODE_ARM64 && gva >> 63;
	addrxlat_meth_t meth = oracle_method(world, high ? space.root_high : space.root);
	struct mmu_mapping mapping = { 0 };
	int err = mmu_translate(&space, &world->reader, GVA(gva), &mapping);
	u64 want = 0;

	if (oracle_translate(ctx, &meth, gva, &want) != !err ||
	    (!err && want != mapping.gpa.addr))
		fail_msg("%s: %#llx: %d, %#llx instead of %#llx", world->format->name, gva, err,
			 mapping.gpa.addr, want);
	if (err)
		world->misses++;
	for (unsigned int level = 0; !err && level < world->levels; level++) {
		if (mapping.page_size ==
		    1ULL << (world->format->page_shift + level * world->format->stride))
			world->hits[level]++;
	}
}

static u64 random_address(struct world *world)
{
	const struct format *format = world->format;
	u64 gva = random64(world) & low_bits(format->bits);
	bool upper = format->bits > 32 && gva >> (format->bits - 1);

	if (format->mode == MMU_MODE_ARM64)
		upper = random64(world) & 1;

	return upper ? gva | ~low_bits(format->bits) : gva;
}

static void test_format(void **state)
{
	static struct world world;
	const struct format *format = *state;
	addrxlat_ctx_t *ctx;

	world.seed = 0x9e3779b97f4a7c15ULL;
	fill_world(&world, format);
	ctx = oracle_new(&world);
	for (unsigned int i = 0; i < ADDRESSES; i++)
		compare(&world, ctx, random_address(&world));
	addrxlat_ctx_decref(ctx);
	/* The tables had it all: holes, and pages of every size. */
	assert_true(world.misses > ADDRESSES / 20);
	for (unsigned int level = 0; level <= format->highest_block; level++)
		assert_true(world.hits[level] > ADDRESSES / 50);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(formats)];

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		tests[i] = (struct CMUnitTest){
			.name = formats[i].name,
			.test_func = test_format,
			.initial_state = (void *)&formats[i],
		};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
