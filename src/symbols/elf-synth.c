/* SPDX-License-Identifier: GPL-2.0-only */
/* Small ELF files out of symbols, a build id and perhaps code. */
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
	SECTION_PARTIAL,	/* a program's only */
	NR_SECTIONS,
};

static const char section_names[] = "\0.text\0.note.gnu.build-id\0.symtab\0.strtab\0.shstrtab\0"
				    ELF_SYNTH_PARTIAL_SECTION;

/* The file while it is made: offsets count from where @out was at the start. */
struct builder {
	const struct elf_synth *from;
	const struct elf_partial *program;	/* NULL: a module */
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
	section->sh_addr = b->program ? b->from->start : 0;
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

/* Says that not all of the file was known. */
static void add_partial_note(struct builder *b)
{
	static const char name[] = "kvmprof";
	const Elf64_Nhdr header = { sizeof(name), 0, ELF_SYNTH_PARTIAL_NOTE };
	Elf64_Shdr *section = start_section(b, SECTION_PARTIAL, ELF_SYNTH_PARTIAL_SECTION,
					    SHT_NOTE, 4);

	strbuf_add(b->out, &header, sizeof(header));
	strbuf_add(b->out, name, sizeof(name));
	end_section(b, section);
}

static bool is_local(u8 type)
{
	return type != 'T' && type != 'W' && type != 'D' && type != 'V';
}

static bool is_weak(u8 type)
{
	return type == 'W' || type == 'V';
}

/* A module's functions only: that is where its addresses count from. */
static bool is_taken(const struct builder *b, const struct symbol *symbol)
{
	return (b->program || symbol_type_is_code(symbol->type)) &&
	       symbol->start >= b->from->start && symbol->start - b->from->start < b->from->size;
}

static void add_symbol(struct builder *b, const struct symbol *symbol)
{
	const struct elf_synth *from = b->from;
	int bind = is_local(symbol->type) ? STB_LOCAL :
		   is_weak(symbol->type) ? STB_WEAK : STB_GLOBAL;
	bool guess = b->program && !(symbol->flags & SYMBOL_F_SIZED);
	u64 end = MIN(symbol->end, from->start + from->size);
	const Elf64_Sym sym = {
		.st_name = b->names.len,
		.st_info = ELF64_ST_INFO(bind, symbol_type_is_code(symbol->type) ? STT_FUNC :
										   STT_OBJECT),
		.st_shndx = SECTION_TEXT,
		.st_value = symbol->start - (b->program ? 0 : from->start),
		.st_size = guess ? 0 : end - symbol->start,
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

			if (!is_taken(b, symbol) || is_local(symbol->type) != !global)
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

/* Offsets and addresses are the file's own: perf goes from one to the other by them. */
static void add_segments(struct builder *b, Elf64_Ehdr *header)
{
	align_to(b, 8);
	header->e_type = ET_DYN;
	header->e_phoff = offset_now(b);
	header->e_phentsize = sizeof(Elf64_Phdr);
	header->e_phnum = b->program->loads.nr;
	for (size_t i = 0; i < b->program->loads.nr; i++) {
		const struct elf_partial_load *load = &b->program->loads.data[i];
		const Elf64_Phdr segment = {
			.p_type = PT_LOAD,
			.p_flags = PF_R | (load->executable ? PF_X : 0),
			.p_offset = load->offset,
			.p_vaddr = load->vaddr,
			.p_paddr = load->vaddr,
			.p_memsz = load->memsz,
			.p_align = 1,
		};

		strbuf_add(b->out, &segment, sizeof(segment));
	}
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
		.e_shnum = b->program ? NR_SECTIONS : SECTION_PARTIAL,
		.e_shstrndx = SECTION_SHSTRTAB,
	};

	if (b->program)
		add_segments(b, &header);
	align_to(b, 8);
	header.e_shoff = offset_now(b);
	strbuf_add(b->out, b->sections, header.e_shnum * sizeof(Elf64_Shdr));
	if (!strbuf_error(b->out))
		memcpy(b->out->data + b->base, &header, sizeof(header));
}

static int build(struct builder *b)
{
	int err;

	strbuf_addc(&b->names, '\0');
	strbuf_add_zeros(b->out, sizeof(Elf64_Ehdr));
	add_text(b);
	add_note(b);
	add_symbols(b);
	add_strings(b);
	if (b->program)
		add_partial_note(b);
	finish(b);
	err = strbuf_error(b->out) ? strbuf_error(b->out) : strbuf_error(&b->names);
	strbuf_deinit(&b->names);
	return err;
}

int elf_synth_module(const struct elf_synth *from, struct strbuf *out)
{
	struct builder b = { .from = from, .out = out, .base = out->len, .names = STRBUF_INIT };

	if (from->size > UINT32_MAX || from->start + from->size < from->start)
		return -E2BIG;
	return build(&b);
}

/* From the first segment's first byte to the last one's last; nothing for none. */
static void find_range(const struct elf_partial *program, u64 *ret_start, u64 *ret_size)
{
	u64 start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < program->loads.nr; i++) {
		const struct elf_partial_load *load = &program->loads.data[i];
		u64 load_end = load->vaddr + load->memsz;

		start = MIN(start, load->vaddr);
		end = MAX(end, load_end < load->vaddr ? UINT64_MAX : load_end);
	}
	*ret_start = end ? start : 0;
	*ret_size = end ? end - start : 0;
}

int elf_synth_program(const struct elf_partial *from, struct strbuf *out)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	struct elf_synth synth = { .machine = from->machine, .build_id = from->build_id };
	struct builder b = {
		.from = &synth, .program = from, .out = out, .base = out->len,
		.names = STRBUF_INIT,
	};
	int err;

	if (!from->build_id.size || !from->loads.nr)
		return -ENODATA;
	err = symtab_create(&symtab);
	if (!err)
		err = elf_partial_add_symbols(from, false, symtab);
	if (!err)
		err = symtab_finish(symtab);
	if (!err && !symtab_nr(symtab))
		err = -ENODATA;
	if (err)
		return err;
	synth.symbols = symtab;
	find_range(from, &synth.start, &synth.size);
	return build(&b);
}
