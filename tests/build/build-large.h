/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file of 300 MiB, all holes but for the few pages that matter: the head, what is mapped as code
 * far into it, symbols and section headers near its end.
 */
#ifndef BUILD_LARGE_H
#define BUILD_LARGE_H

#include <elf.h>

#include "base/strbuf.h"

#define BUILD_LARGE_SIZE (300ULL << 20)
#define BUILD_LARGE_CODE (200ULL << 20)		/* where the file has what is mapped */
#define BUILD_LARGE_SYMBOLS (298ULL << 20)	/* then their names, and those of sections */
#define BUILD_LARGE_SECTIONS (299ULL << 20)
#define BUILD_LARGE_PAGES 8

struct build_large {
	Elf64_Ehdr header;
	Elf64_Phdr segments[8];
	Elf64_Shdr sections[5];
};

/* Where the pages are in the file. */
extern const u64 build_large_offsets[BUILD_LARGE_PAGES];

/* The headers for what @library, of build_cfi_file(), has. They may be changed then. */
void build_large_init(struct build_large *large, const struct strbuf *library);
void build_large_pages(const struct build_large *large, const struct strbuf *library,
		       u8 pages[BUILD_LARGE_PAGES][4096]);

#endif
