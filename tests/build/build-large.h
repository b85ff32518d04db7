/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A large file, all holes but for the few pages that matter: the head, what is mapped as code far
 * into it, symbols and section headers near its end.
 */
#ifndef BUILD_LARGE_H
#define BUILD_LARGE_H

#include <elf.h>

#include "base/strbuf.h"

#define BUILD_LARGE_PAGES 8

struct build_large {
	u64 size;
	u64 code;		/* where the file has what is mapped */
	u64 symbols;		/* then their names, and those of sections */
	u64 sections_at;
	u64 offsets[BUILD_LARGE_PAGES];	/* of the pages */
	Elf64_Ehdr header;
	Elf64_Phdr segments[8];
	Elf64_Shdr sections[5];
};

/*
 * The headers of a file of @size bytes, 3 MiB or more, for what @library, of build_cfi_file(), has.
 * They may be changed then.
 */
void build_large_init(struct build_large *large, u64 size, const struct strbuf *library);
void build_large_pages(const struct build_large *large, const struct strbuf *library,
		       u8 pages[BUILD_LARGE_PAGES][4096]);

#endif
