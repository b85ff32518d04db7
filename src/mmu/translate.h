/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest virtual to guest physical in user space, over any memory reader. The walk itself is
 * mmu/walk.h, which BPF compiles too.
 */
#ifndef MMU_TRANSLATE_H
#define MMU_TRANSLATE_H

#include "mem/reader.h"
#include "mmu/walk.h"
#include "model/regs.h"

/* -EOPNOTSUPP when the registers ask for a paging mode that is not known. */
int mmu_space_init(struct mmu_space *space, const struct vcpu_regs *regs);

/* Bytes of a page of the kernel that runs in @space: arm64's are built for one size of three. */
static inline u32 mmu_page_bytes(const struct mmu_space *space)
{
	u8 shift = space->arch == VCPU_ARCH_ARM64 ? space->half[1].page_shift : 0;

	return 1U << (shift ? shift : 12);
}

struct mmu_mapping {
	gpa_t gpa;	/* of the address asked for */
	u64 page_size;	/* bytes of the page that holds it: 4 KiB, 2 MiB, 1 GiB, … */
	u64 leaf;	/* the entry, to compare later */
	u32 access;	/* MMU_* allowed by all levels together */
};

/*
 * -EFAULT when an entry is not present or @gva is no address of this space; a read error of @mem as
 * it is; -EBADMSG for reserved bits; -EOPNOTSUPP for a mode that is not known.
 */
int mmu_translate(const struct mmu_space *space, const struct mem_reader *mem, gva_t gva,
		  struct mmu_mapping *ret);

/* Reads across pages. -EFAULT when some byte is not there; @out is then undefined. */
int mmu_read(const struct mmu_space *space, const struct mem_reader *mem, gva_t gva, void *out,
	     size_t size);

/*
 * Reads as much as is there from @gva on, at most @size. Returns 0 with *@ret_read bytes, which
 * is 0 when the first byte is missing; missing pages in the middle end it.
 */
int mmu_read_partial(const struct mmu_space *space, const struct mem_reader *mem, gva_t gva,
		     void *out, size_t size, size_t *ret_read);

/*
 * Calls @fn for each present page that meets [@start, @end), in ascending order, with the page's
 * first address; stops when it returns non-zero, which is returned. Empty entries are skipped with
 * all that they would map, tables that are not there and entries with reserved bits count as empty.
 * Bounded: at most @max_tables tables are read, then -E2BIG. With 32-bit addresses a range whose
 * start is sign-extended has its pages' addresses so, too.
 */
int mmu_for_each_mapping(const struct mmu_space *space, const struct mem_reader *mem, gva_t start,
			 gva_t end, unsigned int max_tables,
			 int (*fn)(gva_t gva, const struct mmu_mapping *mapping, void *arg),
			 void *arg);

#endif
