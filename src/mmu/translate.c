/* SPDX-License-Identifier: GPL-2.0-only */
/* Address translation in user space: the walk of mmu/walk.h over a memory reader. */
#include "mmu/translate.h"

#include <string.h>

#define PAGE_SIZE 4096
#define TABLE_BYTES 4096	/* of a table that are read at once */

int mmu_space_init(struct mmu_space *space, const struct vcpu_regs *regs)
{
	if (regs->arch != VCPU_ARCH_X86_64 && regs->arch != VCPU_ARCH_ARM64)
		return -EOPNOTSUPP;
	*space = (struct mmu_space){ 0 };
	mmu_space_set(space, regs);
	return 0;
}

static int step_error(enum mmu_step step)
{
	switch (step) {
	case MMU_STEP_LEAF:
		return 0;
	case MMU_STEP_NOT_PRESENT:
	case MMU_STEP_BAD_ADDRESS:
		return -EFAULT;
	case MMU_STEP_UNSUPPORTED:
		return -EOPNOTSUPP;
	default:
		return -EBADMSG;
	}
}

static void fill_mapping(const struct mmu_walk *walk, struct mmu_mapping *mapping)
{
	mapping->gpa = GPA(walk->gpa);
	mapping->page_size = 1ULL << walk->shift;
	mapping->leaf = walk->leaf;
	mapping->access = walk->access;
}

int mmu_translate(const struct mmu_space *space, const struct mem_reader *mem, gva_t gva,
		  struct mmu_mapping *ret)
{
	struct mmu_walk walk;
	enum mmu_step step = mmu_walk_start(&walk, space, gva.addr);
	int err;

	for (int i = 0; i < MMU_MAX_LEVELS && step == MMU_STEP_NEXT; i++) {
		u64 entry;

		err = mem_read(mem, GPA(walk.entry_gpa), &entry, sizeof(entry));
		if (err)
			return err;
		step = mmu_walk_step(&walk, entry);
	}
	err = step_error(step);
	if (err)
		return err;
	fill_mapping(&walk, ret);
	return 0;
}

int mmu_read_partial(const struct mmu_space *space, const struct mem_reader *mem, gva_t gva,
		     void *out, size_t size, size_t *ret_read)
{
	size_t done = 0;

	while (done < size) {
		struct mmu_mapping mapping;
		u64 addr = gva.addr + done;
		size_t part;
		int err;

		if (addr < gva.addr)	/* past the top of the address space */
			break;
		err = mmu_translate(space, mem, GVA(addr), &mapping);
		if (err == -EFAULT || err == -EBADMSG)
			break;
		if (err)
			return err;
		/*
		 * By 4 KiB also in larger pages: the memory behind one guest page may end in the
		 * middle, at a slot's end or a page that the VMM does not map.
		 */
		part = MIN(size - done, PAGE_SIZE - addr % PAGE_SIZE);
		err = mem_read(mem, mapping.gpa, (char *)out + done, part);
		if (err == -EFAULT)
			break;
		if (err)
			return err;
		done += part;
	}
	*ret_read = done;
	return 0;
}

int mmu_read(const struct mmu_space *space, const struct mem_reader *mem, gva_t gva, void *out,
	     size_t size)
{
	size_t done;
	int err = mmu_read_partial(space, mem, gva, out, size, &done);

	if (err)
		return err;
	return done == size ? 0 : -EFAULT;
}

/* An iteration over the pages of a range. */
struct scan {
	const struct mem_reader *mem;
	u64 start;
	u64 last;		/* last address, included: the range may end at the top */
	unsigned int tables_left;	/* of TABLE_BYTES */
	u64 high;		/* bits of an address that tables do not know */
	int (*fn)(gva_t gva, const struct mmu_mapping *mapping, void *arg);
	void *arg;
};

static int scan_table(struct scan *scan, const struct mmu_walk *at);

static int scan_entry(struct scan *scan, struct mmu_walk *walk, u64 raw)
{
	struct mmu_mapping mapping;

	switch (mmu_walk_step(walk, raw)) {
	case MMU_STEP_NEXT:
		return scan_table(scan, walk);
	case MMU_STEP_LEAF:
		fill_mapping(walk, &mapping);
		mapping.gpa.addr = ALIGN_DOWN(mapping.gpa.addr, mapping.page_size);
		return scan->fn(GVA(ALIGN_DOWN(walk->gva, mapping.page_size) | scan->high),
				&mapping, scan->arg);
	default:
		return 0;
	}
}

/* Goes through @nr entries, TABLE_BYTES at most, of @at's table, from that of its address on. */
static int scan_entries(struct scan *scan, const struct mmu_walk *at, size_t nr)
{
	u64 span = 1ULL << at->shift;
	size_t entry_bytes = at->stride == 10 ? 4 : 8;
	u64 first_gpa = at->gpa + mmu_walk_index(at) * entry_bytes;
	u8 table[TABLE_BYTES];
	int err;

	if (!scan->tables_left)
		return -E2BIG;
	scan->tables_left--;
	err = mem_read(scan->mem, GPA(first_gpa), table, nr * entry_bytes);
	if (err)
		return err == -EFAULT ? 0 : err;
	for (size_t i = 0; i < nr; i++) {
		struct mmu_walk walk = *at;
		u64 raw = 0;

		memcpy(&raw, table + i * entry_bytes, entry_bytes);
		walk.gva = ALIGN_DOWN(at->gva, span) + i * span;
		walk.entry_gpa = ALIGN_DOWN(first_gpa + i * entry_bytes, 8);
		walk.half = 0;
		/* Inside the first entry's span, tables below begin at the range's start. */
		if (walk.gva < scan->start && at->level)
			walk.gva = scan->start;
		err = scan_entry(scan, &walk, raw);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Goes through the table that @at points into, from the entry of @at's address to the end of the
 * table or of the range. Recurses at most MMU_MAX_LEVELS deep: every step lowers the level.
 */
static int scan_table(struct scan *scan, const struct mmu_walk *at)
{
	size_t most = TABLE_BYTES / (at->stride == 10 ? 4 : 8);
	u64 span = 1ULL << at->shift;
	/* The top table may have fewer entries than others. 5 levels: 57 bits, no overflow. */
	u64 mask = (span << MIN(at->stride, at->bits - at->shift)) - 1;
	u64 last = MIN(scan->last, at->gva | mask);
	size_t nr = ((last & mask) >> at->shift) - ((at->gva & mask) >> at->shift) + 1;
	struct mmu_walk walk = *at;

	while (nr) {
		size_t part = MIN(nr, most);
		int err = scan_entries(scan, &walk, part);

		if (err)
			return err;
		nr -= part;
		walk.gva = ALIGN_DOWN(walk.gva, span) + part * span;
	}
	return 0;
}

/* One canonical half of the address space. */
static int scan_half(const struct mmu_space *space, struct scan *scan, u64 start, u64 last)
{
	struct mmu_walk walk;
	enum mmu_step step;

	if (start > last)
		return 0;
	scan->start = start;
	scan->last = last;
	step = mmu_walk_start(&walk, space, start);
	return step == MMU_STEP_NEXT ? scan_table(scan, &walk) : step_error(step);
}

/* Where the lower half ends and where the upper one begins; 0: there is none. */
static void halves(const struct mmu_space *space, u64 *ret_low, u64 *ret_high)
{
	u8 mode = space->mode & ~MMU_MODE_F_NO_NX;
	u8 bits = mmu_address_bits(mode);

	*ret_low = *ret_high = 0;
	if (mode == MMU_MODE_ARM64) {
		*ret_low = space->half[0].bits ? 1ULL << space->half[0].bits : 0;
		*ret_high = space->half[1].bits ? -(1ULL << space->half[1].bits) : 0;
	} else if (mode != MMU_MODE_NONE && bits == 32) {
		*ret_low = 1ULL << 32;
	} else if (bits > 32) {
		*ret_low = 1ULL << (bits - 1);
		*ret_high = -*ret_low;
	}
}

int mmu_for_each_mapping(const struct mmu_space *space, const struct mem_reader *mem, gva_t start,
			 gva_t end, unsigned int max_tables,
			 int (*fn)(gva_t gva, const struct mmu_mapping *mapping, void *arg),
			 void *arg)
{
	struct scan scan = {
		.mem = mem,
		.tables_left = max_tables,
		.fn = fn,
		.arg = arg,
	};
	u64 low, high;
	int err;

	halves(space, &low, &high);
	if (!low && !high)
		return -EOPNOTSUPP;
	if (start.addr >= end.addr)
		return 0;
	if (low == 1ULL << 32 && mmu_is_extended(start.addr)) {
		scan.high = ~(u64)UINT32_MAX;
		return scan_half(space, &scan, (u32)start.addr, (u32)(end.addr - 1));
	}
	if (low) {
		err = scan_half(space, &scan, start.addr, MIN(end.addr, low) - 1);
		if (err)
			return err;
	}
	return high ? scan_half(space, &scan, MAX(start.addr, high), end.addr - 1) : 0;
}
