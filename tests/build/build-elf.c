/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF files in code. */
#include "build-elf.h"

#include "build.h"

#define PAGE 0x1000

static const char *const names[BUILD_ELF_NR] = {
	"", ".text", ".data", ".bss", ".comment", ".plt", ".plt.sec", ".symtab", ".strtab",
	".dynsym", ".dynstr", ".rela.plt", ".note.gnu.build-id", ".gnu_debuglink", ".gnu_debugdata",
	".hash", ".dynamic", ".shstrtab",
};

struct section {
	u32 name, type;
	u64 flags, addr, offset, size;
	u32 link, info;
	u64 align, entsize;
};

struct builder {
	const struct build_elf *spec;
	struct strbuf *out;
	struct section sections[BUILD_ELF_NR];
};

/* Numbers of the file's byte order; a word is of the file's class. */
static void put(const struct builder *b, unsigned int bytes, u64 v)
{
	for (unsigned int i = 0; i < bytes; i++)
		put_u8(b->out, v >> 8 * (b->spec->is_big ? bytes - 1 - i : i));
}

static void put_word(const struct builder *b, u64 v)
{
	put(b, b->spec->is_32 ? 4 : 8, v);
}

static struct section *start_section(struct builder *b, unsigned int i, u32 type, u64 align)
{
	struct section *s = &b->sections[i];

	put_align(b->out, align);
	*s = (struct section){ .type = type, .offset = b->out->len, .align = align };
	return s;
}

static void end_section(struct builder *b, struct section *s)
{
	s->size = b->out->len - s->offset;
}

/* .text, .data and .bss, a page of the file and of memory each. */
static void add_memory(struct builder *b, unsigned int i, u64 flags, unsigned int page, bool bits)
{
	struct section *s = start_section(b, i, bits && !b->spec->is_debug ? SHT_PROGBITS :
								      SHT_NOBITS, 16);

	s->flags = SHF_ALLOC | flags;
	s->addr = b->spec->text_addr ? b->spec->text_addr + page * PAGE : 0;
	s->size = BUILD_ELF_TEXT_SIZE;
	if (b->spec->is_debug)
		return;
	strbuf_add_zeros(b->out, (BUILD_ELF_TEXT_OFFSET + page * PAGE) - b->out->len);
	s->offset = b->out->len;
	if (bits)
		strbuf_add_zeros(b->out, s->size);
}

static u32 add_name(struct strbuf *strings, const char *name)
{
	u32 at = strings->len;

	if (!*name)
		return 0;
	strbuf_add(strings, name, strlen(name) + 1);
	return at;
}

static void put_symbol(struct builder *b, u32 name, const struct build_elf_symbol *symbol)
{
	put(b, 4, name);
	if (b->spec->is_32) {
		put(b, 4, symbol->value);
		put(b, 4, symbol->size);
	}
	put(b, 1, symbol->info);
	put(b, 1, symbol->other);
	put(b, 2, symbol->section);
	if (!b->spec->is_32) {
		put(b, 8, symbol->value);
		put(b, 8, symbol->size);
	}
}

static void add_table(struct builder *b, unsigned int i, u32 type,
		      const struct build_elf_symbol *symbols, size_t nr)
{
	static const struct build_elf_symbol none;
	struct strbuf strings = STRBUF_INIT;
	struct section *s = start_section(b, i, type, 8);

	put_u8(&strings, 0);
	put_symbol(b, 0, &none);
	for (size_t n = 0; n < nr; n++)
		put_symbol(b, add_name(&strings, symbols[n].name), &symbols[n]);
	s->entsize = b->spec->is_32 ? 16 : 24;
	s->link = i + 1;
	end_section(b, s);
	s = start_section(b, i + 1, SHT_STRTAB, 1);
	strbuf_add(b->out, strings.data, strings.len);
	end_section(b, s);
	strbuf_deinit(&strings);
}

static void add_plt(struct builder *b, unsigned int i, size_t nr)
{
	struct section *s = start_section(b, i, SHT_PROGBITS, 16);

	s->flags = SHF_ALLOC | SHF_EXECINSTR;
	s->entsize = BUILD_ELF_PLT_ENTRY;
	strbuf_add_zeros(b->out, nr * BUILD_ELF_PLT_ENTRY);
	end_section(b, s);
}

static void add_relocations(struct builder *b)
{
	struct section *s = start_section(b, BUILD_ELF_RELPLT, SHT_RELA, 8);
	size_t nr = b->spec->nr_plt;

	for (size_t i = 0; i < nr; i++) {
		put_word(b, 0x4000 + (b->spec->last_first ? nr - 1 - i : i) * 8);
		put_word(b, b->spec->is_32 ? (i + 1) << 8 | 7 : (u64)(i + 1) << 32 | 7);
		put_word(b, 0);
	}
	for (size_t i = 0; i < b->spec->nr_choosers; i++) {
		put_word(b, 0x4000 + (nr + i) * 8);
		put_word(b, R_X86_64_IRELATIVE);
		put_word(b, b->spec->choosers[i]);
	}
	s->entsize = b->spec->is_32 ? 12 : 24;
	s->link = BUILD_ELF_DYNSYM;
	end_section(b, s);
}

static u64 add_note(struct builder *b)
{
	const struct build_id *id = &b->spec->build_id;
	struct section *s = start_section(b, BUILD_ELF_NOTE, SHT_NOTE, 4);

	put(b, 4, 4);
	put(b, 4, id->size);
	put(b, 4, NT_GNU_BUILD_ID);
	strbuf_add(b->out, "GNU", 4);
	strbuf_add(b->out, id->data, id->size);
	put_align(b->out, 4);
	end_section(b, s);
	if (b->spec->note_in_segment || !id->size)
		s->type = SHT_NULL;
	return s->offset;
}

/* One bucket: all that counts is how many symbols it says there are. */
static void add_hash(struct builder *b)
{
	struct section *s = start_section(b, BUILD_ELF_HASH, SHT_HASH, 8);

	put(b, 4, 1);
	put(b, 4, b->spec->nr_dynamic + 1);
	for (size_t i = 0; i < b->spec->nr_dynamic + 2; i++)
		put(b, 4, 0);
	end_section(b, s);
}

static void add_dynamic(struct builder *b)
{
	const struct build_elf_load *load = &b->spec->loads[0];
	u64 base = load->vaddr - load->offset;
	const struct section *symbols = &b->sections[BUILD_ELF_DYNSYM];
	const struct section *strings = &b->sections[BUILD_ELF_DYNSTR];
	const u64 entries[][2] = {
		{ DT_SYMTAB, base + symbols->offset },
		{ DT_STRTAB, base + strings->offset },
		{ DT_STRSZ, strings->size },
		{ DT_HASH, base + b->sections[BUILD_ELF_HASH].offset },
		{ DT_NULL, 0 },
	};
	struct section *s = start_section(b, BUILD_ELF_DYNAMIC, SHT_DYNAMIC, 8);

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		put_word(b, entries[i][0]);
		put_word(b, entries[i][1]);
	}
	end_section(b, s);
}

static void add_rest(struct builder *b)
{
	struct section *s = start_section(b, BUILD_ELF_COMMENT, SHT_PROGBITS, 1);

	end_section(b, s);
	if (b->spec->debuglink) {
		s = start_section(b, BUILD_ELF_DEBUGLINK, SHT_PROGBITS, 4);
		strbuf_add(b->out, b->spec->debuglink, strlen(b->spec->debuglink) + 1);
		end_section(b, s);
	}
	if (b->spec->debugdata) {
		s = start_section(b, BUILD_ELF_DEBUGDATA, SHT_PROGBITS, 1);
		strbuf_add(b->out, b->spec->debugdata->data, b->spec->debugdata->len);
		end_section(b, s);
	}
	s = start_section(b, BUILD_ELF_SHSTRTAB, SHT_STRTAB, 1);
	for (unsigned int i = 0; i < BUILD_ELF_NR; i++) {
		/* A section of no type has no name: find by name must not find it. */
		b->sections[i].name = b->sections[i].type ? b->out->len - s->offset : 0;
		if (b->sections[i].type || !i)
			strbuf_add(b->out, names[i], strlen(names[i]) + 1);
	}
	end_section(b, s);
}

static void put_section(struct builder *b, const struct section *s)
{
	put(b, 4, s->name);
	put(b, 4, s->type);
	put_word(b, s->flags);
	put_word(b, s->addr);
	put_word(b, s->offset);
	put_word(b, s->size);
	put(b, 4, s->link);
	put(b, 4, s->info);
	put_word(b, s->align);
	put_word(b, s->entsize);
}

static void put_segment(struct builder *b, u32 type, const struct build_elf_load *load)
{
	put(b, 4, type);
	if (!b->spec->is_32)
		put(b, 4, PF_R | PF_X);
	put_word(b, load->offset);
	put_word(b, load->vaddr);
	put_word(b, load->vaddr);
	put_word(b, load->filesz);
	put_word(b, load->memsz);
	if (b->spec->is_32)
		put(b, 4, PF_R | PF_X);
	put_word(b, PAGE);
}

static void put_header(struct builder *b, u64 segments, size_t nr_segments, u64 sections)
{
	const struct build_elf *spec = b->spec;

	strbuf_add(b->out, ELFMAG, SELFMAG);
	put_u8(b->out, spec->is_32 ? ELFCLASS32 : ELFCLASS64);
	put_u8(b->out, spec->is_big ? ELFDATA2MSB : ELFDATA2LSB);
	put_u8(b->out, EV_CURRENT);
	strbuf_add_zeros(b->out, EI_NIDENT - EI_OSABI);
	put(b, 2, spec->type);
	put(b, 2, spec->machine ? spec->machine : EM_X86_64);
	put(b, 4, EV_CURRENT);
	put_word(b, 0);
	put_word(b, segments);
	put_word(b, sections);
	put(b, 4, 0);
	put(b, 2, spec->is_32 ? 52 : 64);
	put(b, 2, spec->is_32 ? 32 : 56);
	put(b, 2, nr_segments);
	put(b, 2, spec->is_32 ? 40 : 64);
	put(b, 2, BUILD_ELF_NR);
	put(b, 2, BUILD_ELF_SHSTRTAB);
}

/* Behind the sections: the segments' table, then the sections'. Then the header in its place. */
static void finish(struct builder *b, u64 note)
{
	const struct build_elf *spec = b->spec;
	struct build_elf_load notes = { 0, note, 16 + spec->build_id.size, 0 };
	const struct section *s = &b->sections[BUILD_ELF_DYNAMIC];
	struct build_elf_load dynamic = { 0, s->offset, s->size, 0 };
	struct strbuf header = STRBUF_INIT;
	u64 segments, sections;

	put_align(b->out, 8);
	segments = b->out->len;
	for (size_t i = 0; i < spec->nr_loads; i++)
		put_segment(b, PT_LOAD, &spec->loads[i]);
	put_segment(b, spec->build_id.size ? PT_NOTE : PT_NULL, &notes);
	put_segment(b, spec->dynamic_segment ? PT_DYNAMIC : PT_NULL, &dynamic);
	put_align(b->out, 8);
	sections = b->out->len;
	for (unsigned int i = 0; i < BUILD_ELF_NR; i++)
		put_section(b, &b->sections[i]);
	put_header(&(struct builder){ .spec = spec, .out = &header }, segments,
		   spec->nr_loads + 2, sections);
	memcpy(b->out->data, header.data, header.len);
	strbuf_deinit(&header);
}

void build_elf(const struct build_elf *spec, struct strbuf *out)
{
	struct builder b = { .spec = spec, .out = out };
	u64 note;

	strbuf_add_zeros(out, 64);
	add_memory(&b, BUILD_ELF_TEXT, SHF_EXECINSTR, 0, true);
	add_memory(&b, BUILD_ELF_DATA, SHF_WRITE, 1, true);
	add_memory(&b, BUILD_ELF_BSS, SHF_WRITE, 2, false);
	if (spec->nr_plt)
		add_plt(&b, BUILD_ELF_PLT, spec->nr_plt + spec->nr_choosers + 1);
	if (spec->second_plt)
		add_plt(&b, BUILD_ELF_PLT_SEC, spec->nr_plt);
	if (spec->nr_symbols)
		add_table(&b, BUILD_ELF_SYMTAB, SHT_SYMTAB, spec->symbols, spec->nr_symbols);
	if (spec->nr_dynamic)
		add_table(&b, BUILD_ELF_DYNSYM, SHT_DYNSYM, spec->dynamic, spec->nr_dynamic);
	if (spec->nr_plt)
		add_relocations(&b);
	if (spec->dynamic_segment) {
		add_hash(&b);
		add_dynamic(&b);
	}
	note = add_note(&b);
	add_rest(&b);
	finish(&b, note);
}

u64 build_elf_plt_offset(const struct build_elf *spec)
{
	return spec->is_debug ? 64 : BUILD_ELF_TEXT_OFFSET + 2 * PAGE;
}
