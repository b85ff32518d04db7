/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sparse guest physical memory in a buffer, for tests, fuzz targets and benchmarks. Several threads
 * may read, while none changes it.
 */
#ifndef MEM_FAKE_H
#define MEM_FAKE_H

#include "mem/reader.h"

#define MEM_FAKE_PAGE 4096

struct mem_fake;

/* NULL when out of memory. */
struct mem_fake *mem_fake_create(void);
void mem_fake_destroy(struct mem_fake *fake);
DEFINE_CLEANUP(struct mem_fake *, mem_fake_destroy)

/* Valid as long as @fake is. A page that was never set is not there: -EFAULT. */
const struct mem_reader *mem_fake_reader(struct mem_fake *fake);

/* The bytes of the page that holds @gpa, made of zeros when it is not there; NULL: no memory. */
u8 *mem_fake_page(struct mem_fake *fake, gpa_t gpa);

/* Sets bytes, making the pages that are missing. 0 or -ENOMEM. */
int mem_fake_set(struct mem_fake *fake, gpa_t gpa, const void *data, size_t size);
int mem_fake_set_u64(struct mem_fake *fake, gpa_t gpa, u64 value);

/* Takes the page that holds @gpa away again. */
void mem_fake_drop(struct mem_fake *fake, gpa_t gpa);

/* Reads after the next @after ones fail with @err; 0 ends that. */
void mem_fake_fail(struct mem_fake *fake, u64 after, int err);

/* The number of reads that were asked for, failed ones too. */
u64 mem_fake_reads(const struct mem_fake *fake);

#endif
