/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest physical memory, wherever it is: a live VMM process, a dump, a test's buffer. Read only by
 * construction: there is no write.
 *
 * Sources: src/mem/process.h (live VMM), src/mem/fake.h (tests).
 *
 * Threads: several may read from one source at a time.
 */
#ifndef MEM_READER_H
#define MEM_READER_H

#include "base/types.h"

struct mem_reader {
	/*
	 * Reads @size bytes of guest physical memory at @gpa into @out. 0, or -EFAULT when not all
	 * of it is there (@out is then undefined), or the system's error when the source itself
	 * failed (ESRCH: the VM is gone; EPERM).
	 */
	int (*read)(const struct mem_reader *reader, gpa_t gpa, void *out, size_t size);
};

static inline int mem_read(const struct mem_reader *reader, gpa_t gpa, void *out, size_t size)
{
	return reader->read(reader, gpa, out, size);
}

#endif
