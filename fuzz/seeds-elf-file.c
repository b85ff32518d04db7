/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds of fuzz-elf-file: a program, a library, a module, of both classes and byte orders. */
#include <lzma.h>

#include "build-elf.h"
#include "seeds.h"

static const struct build_elf_load load = { 0x401000, BUILD_ELF_TEXT_OFFSET, 0x100, 0x3000 };

static const struct build_elf_symbol symbols[] = {
	{ "main", 0x401000, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, BUILD_ELF_TEXT },
	{ "label", 0x401010, 0, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, BUILD_ELF_TEXT },
	{ "data", 0x402000, 8, ELF64_ST_INFO(STB_WEAK, STT_OBJECT), 0, BUILD_ELF_BSS },
	{ "puts", 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF },
};

static int write_one(const char *name, const struct build_elf *spec)
{
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;

	build_elf(spec, &image);
	return seed_write(name, image.data, image.len);
}

/* A program with a small .symtab packed in .gnu_debugdata. */
static int write_packed(void)
{
	const struct build_elf inner = {
		.type = ET_DYN, .is_debug = true, .symbols = symbols, .nr_symbols = 2,
	};
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT, packed = STRBUF_INIT;
	const struct build_elf outer = { .type = ET_DYN, .debugdata = &packed };
	size_t len = 0;

	build_elf(&inner, &image);
	if (strbuf_grow(&packed, lzma_stream_buffer_bound(image.len)) ||
	    lzma_easy_buffer_encode(6, LZMA_CHECK_NONE, NULL, (u8 *)image.data, image.len,
				    (u8 *)packed.data, &len, packed.alloc) != LZMA_OK)
		return -ENOMEM;
	packed.len = len;
	return write_one("packed", &outer);
}

int write_seeds(void)
{
	struct build_elf spec = {
		.type = ET_DYN,
		.text_addr = 0x401000,
		.symbols = symbols,
		.nr_symbols = ARRAY_SIZE(symbols),
		.dynamic = symbols,
		.nr_dynamic = ARRAY_SIZE(symbols),
		.nr_plt = 2,
		.loads = &load,
		.nr_loads = 1,
		.build_id = { 20, { 1, 2, 3 } },
		.debuglink = "x.debug",
	};
	int err = write_one("library", &spec);

	spec.is_32 = true;
	if (!err)
		err = write_one("library-32", &spec);
	spec.is_big = true;
	if (!err)
		err = write_one("library-32-big", &spec);
	spec.is_32 = false;
	spec.note_in_segment = true;
	if (!err)
		err = write_one("library-big", &spec);
	spec = (struct build_elf){ .type = ET_REL, .symbols = symbols, .nr_symbols = 3 };
	if (!err)
		err = write_one("module", &spec);
	return err ? err : write_packed();
}
