/* SPDX-License-Identifier: GPL-2.0-only */
/* A relocatable ELF file out of symbols, a build id and code. */
#include "symbols/elf-synth.h"

#include <elf.h>

#define TEXT_ALIGN 4096

enum {
	SECTION_NULL,
	SECTION_TEXT,
	SECTION_NOTE,
	SECTION_SYMTAB,
	SECTION_STRTAB,
	SECTION_SHSTRTAB,
	NR_SECTIONS,
};

static const char section_names[] = "\0.text\0.note.gnu.build-id\0.symtab\0.strtab\0.shstrtab";

/* The file while it is made: offsets count from where @out was at the start. */
struct builder {
	const struct elf_synth *from;
	struct strbuf *out;
	size_t base;
	struct strbuf names;
	u32 nr_local;
	Elf64_Shdr sections[NR_SECTIONS];
};

static u64 offset_now(const struct builder *b)
{
	return b->out->len - b->base;
}

static void align_to(struct builder *b, size_t align)
{
	strbuf_add_zeros(b->out, ALIGN_UP(offset_now(b), align) - offset_now(b));
}

static u32 name_offset(const char *name)
{
	const char *p = section_names;

	while (strcmp(p, name))
		p += strlen(p) + 1;
	return p - section_names;
}

static Elf64_Shdr *start_section(struct builder *b, unsigned int i, const char *name, u32 type,
				 u64 align)
{
	Elf64_Shdr *section = &b->sections[i];

	align_to(b, align);
	*section = (Elf64_Shdr){
		.sh_name = name_offset(name),
		.sh_type = type,
		.sh_offset = offset_now(b),
		.sh_addralign = align,
	};
	return section;
}

static void end_section(struct builder *b, Elf64_Shdr *section)
{
	section->sh_size = offset_now(b) - section->sh_offset;
}

/* Without the code the section takes no room, and disassemblers will not show what is not there. */
static void add_text(struct builder *b)
{
	Elf64_Shdr *section = start_section(b, SECTION_TEXT, ".text",
					    b->from->text ? SHT_PROGBITS : SHT_NOBITS, TEXT_ALIGN);

	section->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	section->sh_size = b->from->size;
	if (b->from->text)
		strbuf_add(b->out, b->from->text, b->from->size);
}

static void add_note(struct builder *b)
{
	const struct build_id *id = &b->from->build_id;
	Elf64_Shdr *section = start_section(b, SECTION_NOTE, ".note.gnu.build-id", SHT_NOTE, 4);
	const Elf64_Nhdr header = { 4, id->size, NT_GNU_BUILD_ID };

	section->sh_flags = SHF_ALLOC;
	strbuf_add(b->out, &header, sizeof(header));
	strbuf_add(b->out, "GNU", 4);
	strbuf_add(b->out, id->data, id->size);
	align_to(b, 4);
	end_section(b, section);
}

static bool is_local(u8 type)
{
	return type != 'T' && type != 'W';
}

static void add_symbol(struct builder *b, const struct symbol *symbol)
{
	const struct elf_synth *from = b->from;
	int bind = is_local(symbol->type) ? STB_LOCAL : symbol->type == 'W' ? STB_WEAK : STB_GLOBAL;
	u64 end = MIN(symbol->end, from->start + from->size);
	const Elf64_Sym sym = {
		.st_name = b->names.len,
		.st_info = ELF64_ST_INFO(bind, STT_FUNC),
		.st_shndx = SECTION_TEXT,
		.st_value = symbol->start - from->start,
		.st_size = end - symbol->start,
	};
	const char *name = symtab_name(from->symbols, symbol);

	strbuf_add(b->out, &sym, sizeof(sym));
	strbuf_add(&b->names, name, strlen(name) + 1);
}

/* Local ones go before the others: the format asks for it. */
static void add_symbols(struct builder *b)
{
	Elf64_Shdr *section = start_section(b, SECTION_SYMTAB, ".symtab", SHT_SYMTAB, 8);
	const struct symtab *symtab = b->from->symbols;

	strbuf_add_zeros(b->out, sizeof(Elf64_Sym));
	b->nr_local = 1;
	for (int global = 0; global < 2; global++) {
		for (size_t i = 0; i < symtab_nr(symtab); i++) {
			const struct symbol *symbol = symtab_at(symtab, i);

			if (!symbol_type_is_code(symbol->type) ||
			    symbol->start < b->from->start ||
			    symbol->start - b->from->start >= b->from->size ||
			    is_local(symbol->type) != !global)
				continue;
			add_symbol(b, symbol);
			b->nr_local += !global;
		}
	}
	section->sh_link = SECTION_STRTAB;
	section->sh_info = b->nr_local;
	section->sh_entsize = sizeof(Elf64_Sym);
	end_section(b, section);
}

static void add_strings(struct builder *b)
{
	Elf64_Shdr *section = start_section(b, SECTION_STRTAB, ".strtab", SHT_STRTAB, 1);

	strbuf_add(b->out, b->names.data, b->names.len);
	end_section(b, section);
	section = start_section(b, SECTION_SHSTRTAB, ".shstrtab", SHT_STRTAB, 1);
	strbuf_add(b->out, section_names, sizeof(section_names));
	end_section(b, section);
}

/* The header was left blank at the start. */
static void finish(struct builder *b)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = b->from->machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = SECTION_SHSTRTAB,
	};

	align_to(b, 8);
	header.e_shoff = offset_now(b);
	strbuf_add(b->out, b->sections, sizeof(b->sections));
	if (!strbuf_error(b->out))
		memcpy(b->out->data + b->base, &header, sizeof(header));
}

int elf_synth_module(const struct elf_synth *from, struct strbuf *out)
{
	struct builder b = { .from = from, .out = out, .base = out->len, .names = STRBUF_INIT };
	int err;

	if (from->size > UINT32_MAX || from->start + from->size < from->start)
		return -E2BIG;
	strbuf_addc(&b.names, '\0');
	strbuf_add_zeros(out, sizeof(Elf64_Ehdr));
	add_text(&b);
	add_note(&b);
	add_symbols(&b);
	add_strings(&b);
	finish(&b);
	err = strbuf_error(out) ? strbuf_error(out) : strbuf_error(&b.names);
	strbuf_deinit(&b.names);
	return err;
}
