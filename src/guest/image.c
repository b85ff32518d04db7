/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding and reading the guest kernel's image. */
#include "guest/image.h"

#include <string.h>

#define PAGE_SIZE 4096ULL

/* Init sections that are gone after boot leave the largest hole inside one image. */
#define MAX_GAP (64ULL << 20)

/* 512 tables of 4 KiB pages for the whole range, and those above them. */
#define MAX_TABLES 600

/* Mappings nearer to each other than MAX_GAP. */
struct group {
	u64 start, end;
	u64 mapped;
};

struct search {
	u64 hint;
	bool hint_matched;
	struct group now, best;
};

static bool group_holds(const struct group *group, u64 address)
{
	return address >= group->start && address < group->end;
}

static void close_group(struct search *search)
{
	if (search->hint_matched)
		return;
	search->hint_matched = group_holds(&search->now, search->hint);
	if (search->hint_matched || search->now.mapped > search->best.mapped)
		search->best = search->now;
}

static int add_mapping(gva_t gva, const struct mmu_mapping *mapping, void *arg)
{
	struct search *search = arg;
	struct group *now = &search->now;

	if (!now->mapped || gva.addr - now->end > MAX_GAP) {
		close_group(search);
		*now = (struct group){ .start = gva.addr };
	}
	now->end = gva.addr + mapping->page_size;
	now->mapped += mapping->page_size;
	return 0;
}

/* Pages that are next to each other and cannot be written. */
static int add_read_only(gva_t gva, const struct mmu_mapping *mapping, void *arg)
{
	struct search *search = arg;
	struct group *now = &search->now;

	if (mapping->access & MMU_WRITE)
		return 0;
	if (!now->mapped || gva.addr != now->end) {
		close_group(search);
		*now = (struct group){ .start = gva.addr };
	}
	now->end = gva.addr + mapping->page_size;
	now->mapped += mapping->page_size;
	return 0;
}

static bool is_i386(const struct mmu_space *space)
{
	return space->mode != MMU_MODE_NONE && mmu_address_bits(space->mode) == 32;
}

static int find_i386(const struct mmu_space *space, const struct mem_reader *mem, u64 hint,
		     struct image *ret)
{
	struct search search = { .hint = hint };
	int err = mmu_for_each_mapping(space, mem, GVA(IMAGE_I386_BASE), GVA(UINT64_MAX),
				       MAX_TABLES, add_read_only, &search);

	if (err)
		return err;
	close_group(&search);
	if (search.best.mapped < IMAGE_MIN_SIZE)
		return -ENOENT;
	*ret = (struct image){
		.start = search.best.start,
		.size = search.best.mapped,
		.word = sizeof(u32),
	};
	return 0;
}

int image_find(const struct mmu_space *space, const struct mem_reader *mem, u64 hint,
	       struct image *ret)
{
	struct search search = { .hint = hint };
	int err;

	if (is_i386(space))
		return find_i386(space, mem, hint, ret);
	err = mmu_for_each_mapping(space, mem, GVA(IMAGE_X86_BASE),
				   GVA(IMAGE_X86_BASE + IMAGE_X86_SIZE), MAX_TABLES, add_mapping,
				   &search);
	if (err)
		return err;
	close_group(&search);
	if (search.best.mapped < IMAGE_MIN_SIZE || search.best.start % IMAGE_ALIGN)
		return -ENOENT;
	*ret = (struct image){
		.start = search.best.start,
		.size = search.best.end - search.best.start,
		.word = sizeof(u64),
	};
	return 0;
}

/* arm64: how far from the hint the image may begin and end, and what is found of it. */
#define ARM64_BEFORE (128ULL << 20)
#define ARM64_BEHIND IMAGE_MAX_SIZE

struct run {
	u64 hint;
	u64 voffset;		/* from a physical address to that of the kernel's image */
	u64 start, end;
};

static int add_to_run(gva_t gva, const struct mmu_mapping *mapping, void *arg)
{
	struct run *run = arg;

	if (gva.addr - mapping->gpa.addr != run->voffset)
		return 0;
	/* Text has no gaps, what is behind it has. */
	if (!run->end || (gva.addr <= run->hint && gva.addr != run->end) ||
	    gva.addr - run->end > MAX_GAP)
		*run = run->end > run->hint ? *run : (struct run){
			.hint = run->hint, .voffset = run->voffset, .start = gva.addr,
			.end = gva.addr + mapping->page_size };
	else
		run->end = gva.addr + mapping->page_size;
	return 0;
}

int image_find_arm64(const struct mmu_space *space, const struct mem_reader *mem, u64 hint,
		     struct image *ret)
{
	struct mmu_mapping at;
	struct run run = { .hint = hint };
	int err = mmu_translate(space, mem, GVA(hint), &at);

	if (err == -EFAULT || (!err && at.access & (MMU_WRITE | MMU_USER)))
		return -ENOENT;
	if (err)
		return err;
	run.voffset = hint - at.gpa.addr;
	err = mmu_for_each_mapping(space, mem, GVA(hint - ARM64_BEFORE), GVA(hint + ARM64_BEHIND),
				   MAX_TABLES, add_to_run, &run);
	if (err)
		return err;
	if (run.end - run.start < IMAGE_MIN_SIZE || run.start % IMAGE_ARM64_HEAD)
		return -ENOENT;
	*ret = (struct image){ .start = run.start, .size = run.end - run.start };
	return 0;
}

/*
 * Behind the linear mapping, where the table is mapped, too, since 5.4 (14c127c957c1 "arm64: mm:
 * Flip kernel VA space"). Kernels that can do with 52 bits have it where those of 48 have, or of 47
 * with pages of 16 KiB (VA_BITS_MIN, arch/arm64/include/asm/memory.h).
 */
#define ARM64_HALF_BITS_MAX(half) ((half)->page_shift == 14 ? 47 : 48)

/* What vmalloc() gave out may lie before the image. */
#define MAX_TABLES_ALL 4096

struct table_search {
	u64 gpa;
	u64 found;
};

static int match_table(gva_t gva, const struct mmu_mapping *mapping, void *arg)
{
	struct table_search *search = arg;

	if (search->gpa - mapping->gpa.addr >= mapping->page_size)
		return 0;
	search->found = gva.addr + (search->gpa - mapping->gpa.addr);
	return 1;
}

int image_find_arm64_table(const struct mmu_space *space, const struct mem_reader *mem,
			   u64 *ret_hint)
{
	struct table_search search = { .gpa = space->root_high };
	u8 bits = MIN(space->half[1].bits, ARM64_HALF_BITS_MAX(&space->half[1]));
	int err;

	if (!bits)
		return -ENOENT;
	err = mmu_for_each_mapping(space, mem, GVA(-(1ULL << (bits - 1))), GVA(UINT64_MAX),
				   MAX_TABLES_ALL, match_table, &search);
	if (err < 0)
		return err == -E2BIG ? -ENOENT : err;
	if (!search.found)
		return -ENOENT;
	*ret_hint = search.found;
	return 0;
}

/* A read of [start, start + size) of the guest's addresses. */
struct reading {
	const struct mem_reader *mem;
	u64 start;
	u64 size;
	u64 read;
	u8 *out;
};

/* In one go, else page by page: the host may lack some pages of a large one. */
static int read_run(struct reading *reading, u64 offset, gpa_t gpa, u64 size)
{
	u8 *out = reading->out + offset;
	int err = mem_read(reading->mem, gpa, out, size);

	if (!err)
		reading->read += size;
	if (err != -EFAULT)
		return err;
	for (u64 done = 0, part; done < size; done += part) {
		part = MIN(size - done, PAGE_SIZE - (gpa.addr + done) % PAGE_SIZE);
		err = mem_read(reading->mem, GPA(gpa.addr + done), out + done, part);
		if (!err)
			reading->read += part;
		else if (err == -EFAULT)
			memset(out + done, 0, part);
		else
			return err;
	}
	return 0;
}

static int read_mapping(gva_t gva, const struct mmu_mapping *mapping, void *arg)
{
	struct reading *reading = arg;
	u64 start = MAX(gva.addr, reading->start);
	u64 end = MIN(gva.addr + mapping->page_size, reading->start + reading->size);

	if (start >= end)
		return 0;
	return read_run(reading, start - reading->start,
			GPA(mapping->gpa.addr + (start - gva.addr)), end - start);
}

static int read_range(const struct mmu_space *space, struct reading *reading)
{
	return mmu_for_each_mapping(space, reading->mem, GVA(reading->start),
				    GVA(reading->start + reading->size), MAX_TABLES, read_mapping,
				    reading);
}

int image_read(struct image *image, const struct mmu_space *space, const struct mem_reader *mem)
{
	struct reading reading = { .mem = mem, .start = image->start, .size = image->size };
	int err;

	if (image->size > IMAGE_MAX_SIZE)
		return -E2BIG;
	image->data = reading.out = calloc(1, image->size);
	if (!image->data)
		return -ENOMEM;
	err = read_range(space, &reading);
	if (err) {
		image_deinit(image);
		return err;
	}
	image->missing = image->size - reading.read;
	return 0;
}

int image_read_part(const struct image *image, const struct mmu_space *space,
		    const struct mem_reader *mem, u64 offset, u64 size, void *out)
{
	struct reading reading = {
		.mem = mem, .start = image->start + offset, .size = size, .out = out,
	};
	int err;

	if (offset > image->size || size > image->size - offset)
		return -EFAULT;
	err = read_range(space, &reading);
	if (err)
		return err;
	return reading.read == size ? 0 : -EFAULT;
}

void image_deinit(struct image *image)
{
	free(image->data);
	image->data = NULL;
}
