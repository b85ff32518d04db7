/* SPDX-License-Identifier: GPL-2.0-only */
/* A large file with few pages. */
#include "build-large.h"

#include <string.h>

#include "build-cfi.h"

#define PAGE 4096ULL

static void choose_places(struct build_large *large, u64 size)
{
	large->size = size;
	large->code = ALIGN_DOWN(size / 3 * 2, PAGE);
	large->symbols = ALIGN_DOWN(size - size / 150, PAGE);
	large->sections_at = ALIGN_DOWN(size - size / 300, PAGE);
	for (u64 i = 0; i < 3; i++) {
		large->offsets[1 + i] = large->code + i * PAGE;
		large->offsets[4 + i] = large->symbols + i * PAGE;
	}
	large->offsets[7] = large->sections_at;
}

static void make_sections(struct build_large *large)
{
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_type = SHT_SYMTAB, .sh_offset = large->symbols,
		  .sh_size = 2 * sizeof(Elf64_Sym), .sh_link = 2,
		  .sh_entsize = sizeof(Elf64_Sym) },
		{ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = large->symbols + PAGE,
		  .sh_size = 16 },
		{ .sh_name = 9, .sh_type = SHT_STRTAB, .sh_offset = large->symbols + 2 * PAGE,
		  .sh_size = 64 },
		{ .sh_name = 19, .sh_type = SHT_PROGBITS, .sh_offset = large->size / 3,
		  .sh_size = large->size / 4 },
	};

	memcpy(large->sections, sections, sizeof(sections));
}

void build_large_init(struct build_large *large, u64 size, const struct strbuf *library)
{
	memset(large, 0, sizeof(*large));
	choose_places(large, size);
	make_sections(large);
	memcpy(&large->header, library->data, sizeof(large->header));
	if (large->header.e_phnum > ARRAY_SIZE(large->segments))
		abort();
	memcpy(large->segments, library->data + large->header.e_phoff,
	       large->header.e_phnum * sizeof(large->segments[0]));
	for (unsigned int i = 0; i < large->header.e_phnum; i++)
		large->segments[i].p_offset += large->code;
	large->header.e_phoff = sizeof(large->header);
	large->header.e_shoff = large->sections_at;
	large->header.e_shnum = ARRAY_SIZE(large->sections);
	large->header.e_shentsize = sizeof(large->sections[0]);
	large->header.e_shstrndx = 3;
}

void build_large_pages(const struct build_large *large, const struct strbuf *library,
		       u8 pages[BUILD_LARGE_PAGES][4096])
{
	static const char names[64] = "\0.strtab\0.shstrtab\0.rodata", strings[16] = "\0function";
	const Elf64_Sym symbol = {
		.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
		.st_value = BUILD_CFI_TEXT, .st_size = 64,
	};

	memset(pages, 0, BUILD_LARGE_PAGES * PAGE);
	memcpy(pages[0], &large->header, sizeof(large->header));
	memcpy(pages[0] + sizeof(large->header), large->segments, sizeof(large->segments));
	memcpy(pages[1], library->data, MIN(library->len, 3 * PAGE));
	memcpy(pages[4] + sizeof(symbol), &symbol, sizeof(symbol));
	memcpy(pages[5], strings, sizeof(strings));
	memcpy(pages[6], names, sizeof(names));
	memcpy(pages[7], large->sections, sizeof(large->sections));
}
