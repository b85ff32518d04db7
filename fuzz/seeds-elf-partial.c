/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds of fuzz-elf-partial: a library, whole and with holes in several places. */
#include "build-elf.h"
#include "seeds.h"

static const struct build_elf_load load = { 0x401000, BUILD_ELF_TEXT_OFFSET, 0x100, 0x3000 };

static const struct build_elf_symbol symbols[] = {
	{ "main", 0x401000, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, BUILD_ELF_TEXT },
	{ "data", 0x402000, 8, ELF64_ST_INFO(STB_WEAK, STT_OBJECT), 0, BUILD_ELF_BSS },
	{ "puts", 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF },
};

static int write_one(const char *name, u64 known, const struct strbuf *file)
{
	_cleanup_strbuf_ struct strbuf seed = STRBUF_INIT;

	strbuf_add(&seed, &known, sizeof(known));
	strbuf_add(&seed, file->data, file->len);
	return seed_write(name, seed.data, seed.len);
}

int write_seeds(void)
{
	const struct build_elf spec = {
		.type = ET_DYN,
		.text_addr = 0x401000,
		.symbols = symbols,
		.nr_symbols = ARRAY_SIZE(symbols),
		.dynamic = symbols,
		.nr_dynamic = ARRAY_SIZE(symbols),
		.loads = &load,
		.nr_loads = 1,
		.build_id = { 20, { 1, 2, 3 } },
		.dynamic_segment = true,
	};
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	int err;

	build_elf(&spec, &file);
	err = write_one("whole", UINT64_MAX, &file);
	if (!err)
		err = write_one("first", 1, &file);
	return err ? err : write_one("no-code", ~2ULL, &file);
}
