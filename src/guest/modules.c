/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest kernel modules. The list, the structures and what they point to may change while they are
 * read and may hold anything; every count is bounded, every string is cut.
 */
#include "guest/modules.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hashmap.h"
#include "guest/orc-find.h"

#define MAX_TEXT (64U << 20)
#define MAX_SYMBOLS (1U << 18)
#define MAX_STRINGS (16U << 20)
#define MAX_ORC (1U << 20)
#define MAX_RODATA (8U << 20)	/* where a note is looked for */
#define NOTE_BYTES 36		/* of a build id's note: its head, "GNU", 20 bytes */
#define SEARCH_BYTES 4096	/* read at once in the search for the list */
#define MODULES_REACH (4ULL << 30)	/* from the kernel to its modules: what ADRP reaches */
#define STATE_UNFORMED 3	/* MODULE_STATE_UNFORMED: nothing in it is set up */

static void module_destroy(struct module *module)
{
	if (!module)
		return;
	orc_table_destroy(module->orc);
	symtab_destroy(module->symtab);
	free(module);
}
DEFINE_CLEANUP(struct module *, module_destroy)

void modules_deinit(struct modules *modules)
{
	vec_for_each(&modules->list, module)
		module_destroy(*module);
	vec_deinit(&modules->list);
}

static int read_at(const struct modules_source *source, u64 address, void *out, size_t size)
{
	return mmu_read(&source->space, source->mem, GVA(address), out, size);
}

/* A struct module as it was in the guest. */
struct raw_module {
	const struct kernel_layout *layout;
	u64 address;
	u8 bytes[16384];	/* layout->module_bytes of them */
};

static u64 raw_u64(const struct raw_module *raw, u32 offset)
{
	u64 value = 0;

	if (offset != LAYOUT_NONE)
		memcpy(&value, raw->bytes + offset, sizeof(value));
	return value;
}

static u32 raw_u32(const struct raw_module *raw, u32 offset)
{
	u32 value = 0;

	if (offset != LAYOUT_NONE)
		memcpy(&value, raw->bytes + offset, sizeof(value));
	return value;
}

/* What a module is recognised by: its struct may be used again for another one. */
static u64 identity_of(const struct raw_module *raw)
{
	const struct kernel_layout *layout = raw->layout;
	u64 hash = hash_bytes(raw->bytes + layout->module_name, GUEST_MODULE_NAME_LEN);

	hash = hash_combine(hash, raw_u64(raw, layout->module_text));
	hash = hash_combine(hash, raw_u32(raw, layout->module_text_size));
	hash = hash_combine(hash, raw_u64(raw, layout->module_init_text));
	hash = hash_combine(hash, raw_u64(raw, layout->module_kallsyms));
	hash = hash_combine(hash, raw_u64(raw, layout->module_orc));
	return hash_combine(hash, raw_u32(raw, layout->module_state));
}

/* The tables of struct mod_kallsyms, read out of the guest. */
struct raw_symbols {
	Elf64_Sym *symbols;
	u8 *types;		/* NULL: the kernel keeps them in the symbols */
	char *strings;
	size_t strings_size;	/* the last byte is NUL */
	u32 nr;
};

static void raw_symbols_deinit(struct raw_symbols *raw)
{
	free(raw->symbols);
	free(raw->types);
	free(raw->strings);
}

static int read_strings(const struct modules_source *source, u64 address, struct raw_symbols *raw)
{
	size_t size = 0, got;
	int err;

	for (u32 i = 0; i < raw->nr; i++)
		size = MAX(size, (size_t)raw->symbols[i].st_name);
	size = MIN(size + SYMBOL_NAME_MAX + 1, (size_t)MAX_STRINGS);
	raw->strings = malloc(size + 1);
	if (!raw->strings)
		return -ENOMEM;
	err = mmu_read_partial(&source->space, source->mem, GVA(address), raw->strings, size,
			       &got);
	if (err)
		return err;
	raw->strings[got] = '\0';
	raw->strings_size = got + 1;
	return 0;
}

static int read_raw_symbols(const struct modules_source *source, u64 kallsyms,
			    struct raw_symbols *raw)
{
	const struct kernel_layout *layout = source->layout;
	u64 symtab, strtab, typetab = 0;
	int err;

	err = read_at(source, kallsyms + layout->symtab, &symtab, sizeof(symtab));
	if (!err)
		err = read_at(source, kallsyms + layout->nr_symtab, &raw->nr, sizeof(raw->nr));
	if (!err)
		err = read_at(source, kallsyms + layout->strtab, &strtab, sizeof(strtab));
	if (!err && layout->typetab != LAYOUT_NONE)
		err = read_at(source, kallsyms + layout->typetab, &typetab, sizeof(typetab));
	if (err)
		return err;
	if (raw->nr > MAX_SYMBOLS)
		return -E2BIG;
	raw->symbols = calloc(raw->nr ? raw->nr : 1, sizeof(*raw->symbols));
	raw->types = typetab ? calloc(raw->nr ? raw->nr : 1, 1) : NULL;
	if (!raw->symbols || (typetab && !raw->types))
		return -ENOMEM;
	err = read_at(source, symtab, raw->symbols, raw->nr * sizeof(*raw->symbols));
	if (!err && typetab)
		err = read_at(source, typetab, raw->types, raw->nr);
	return err ?: read_strings(source, strtab, raw);
}

static bool is_letter(unsigned int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * nm's letter. From 5.2 in an array of its own (1c7651f43777 "kallsyms: store type information in
 * its own array"); before that it overwrote the symbol's size, or earlier its info.
 */
static u8 type_of(const struct raw_symbols *raw, u32 i)
{
	const Elf64_Sym *sym = &raw->symbols[i];

	if (raw->types)
		return is_letter(raw->types[i]) ? raw->types[i] : '?';
	if (is_letter(sym->st_info))
		return sym->st_info;
	return sym->st_size <= 'z' && is_letter(sym->st_size) ? sym->st_size : '?';
}

/* Marks between code and data that arm64's assembler leaves: "$d", "$x.1". */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && (name[1] == 'd' || name[1] == 'x') && (!name[2] || name[2] == '.');
}

static int fill_symtab(const struct raw_symbols *raw, struct symtab *symtab)
{
	for (u32 i = 0; i < raw->nr; i++) {
		const Elf64_Sym *sym = &raw->symbols[i];
		u64 size = raw->types ? sym->st_size : 0;
		int err;

		if (!sym->st_value || sym->st_shndx == SHN_UNDEF ||
		    sym->st_name >= raw->strings_size || !raw->strings[sym->st_name] ||
		    is_mapping_symbol(raw->strings + sym->st_name))
			continue;
		err = symtab_add(symtab, sym->st_value, size, type_of(raw, i),
				 raw->strings + sym->st_name);
		if (err)
			return err;
	}
	return 0;
}

/* A module whose symbols cannot be read has an empty table. */
static int read_symbols(const struct modules_source *source, u64 kallsyms, struct symtab **ret)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	struct raw_symbols raw = { 0 };
	int err = symtab_create(&symtab);

	if (err)
		return err;
	if (kallsyms && source->layout->symtab != LAYOUT_NONE &&
	    source->layout->nr_symtab != LAYOUT_NONE && source->layout->strtab != LAYOUT_NONE &&
	    !read_raw_symbols(source, kallsyms, &raw))
		err = fill_symtab(&raw, symtab);
	raw_symbols_deinit(&raw);
	if (!err)
		err = symtab_finish(symtab);
	if (err)
		return err;
	*ret = TAKE_PTR(symtab);
	return 0;
}

static int read_orc(const struct modules_source *source, const struct raw_module *raw,
		    struct orc_table **ret)
{
	const struct kernel_layout *layout = source->layout;
	u32 nr = raw_u32(raw, layout->module_nr_orcs);
	u64 ip = raw_u64(raw, layout->module_orc_ip);
	_cleanup_free_ u8 *ips = NULL, *entries = NULL;
	enum orc_format format;
	int err;

	if (!nr || nr > MAX_ORC)
		return -ENOENT;
	ips = malloc((size_t)nr * sizeof(s32));
	entries = malloc((size_t)nr * ORC_ENTRY_SIZE);
	if (!ips || !entries)
		return -ENOMEM;
	err = read_at(source, ip, ips, (size_t)nr * sizeof(s32));
	if (!err)
		err = read_at(source, raw_u64(raw, layout->module_orc), entries,
			      (size_t)nr * ORC_ENTRY_SIZE);
	if (err)
		return err;
	format = layout->orc_format ? layout->orc_format :
		 orc_guess_format(entries, nr, ORC_FORMAT_UNKNOWN);
	return orc_table_create(format, ip, ips, entries, nr, ret);
}

static bool search_build_id(const u8 *bytes, size_t size, struct guest_build_id *id)
{
	static const u8 head[16] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };

	for (size_t at = 0; at + NOTE_BYTES <= size; at += 4) {
		if (memcmp(bytes + at, head, sizeof(head)))
			continue;
		id->size = 20;
		memcpy(id->data, bytes + at + sizeof(head), 20);
		return true;
	}
	return false;
}

/*
 * The GNU build-id note somewhere in the read-only data. In most modules it is at the start, but
 * that is up to the order of their sections.
 */
static void scan_build_id(const struct modules_source *source, u64 start, u64 size,
			  struct guest_build_id *id)
{
	u8 bytes[16384];
	size_t got = sizeof(bytes);

	size = MIN(size, (u64)MAX_RODATA);
	for (u64 at = 0; at < size && got == sizeof(bytes); at += sizeof(bytes) - NOTE_BYTES) {
		if (mmu_read_partial(&source->space, source->mem, GVA(start + at), bytes,
				     MIN(size - at, sizeof(bytes)), &got) ||
		    search_build_id(bytes, got, id))
			return;
	}
}

/* In the struct itself when the kernel was built with STACKTRACE_BUILD_ID (5.14). */
static void read_build_id(const struct modules_source *source, const struct raw_module *raw,
			  struct guest_build_id *id)
{
	const struct kernel_layout *layout = source->layout;
	u64 start = raw_u64(raw, layout->module_rodata);
	u64 size = raw_u32(raw, layout->module_rodata_size);
	static const u8 zeros[20];

	if (layout->module_build_id != LAYOUT_NONE &&
	    memcmp(raw->bytes + layout->module_build_id, zeros, 20)) {
		id->size = 20;
		memcpy(id->data, raw->bytes + layout->module_build_id, 20);
		return;
	}
	/* One area for all, text first and rounded up to pages, before 6.4. */
	if (layout->module_rodata == layout->module_text) {
		u64 text = ALIGN_UP((u64)raw_u32(raw, layout->module_text_size),
				    (u64)mmu_page_bytes(&source->space));

		start += MIN(text, size);
		size -= MIN(text, size);
	}
	if (start)
		scan_build_id(source, start, size, id);
}

static bool is_module_range(u64 start, u64 size)
{
	return (s64)start < 0 && size && size <= MAX_TEXT && start + size > start;
}

static int load_module(const struct modules_source *source, const struct raw_module *raw,
		       struct module **ret)
{
	const struct kernel_layout *layout = source->layout;
	_cleanup_(module_destroy) struct module *module = calloc(1, sizeof(*module));
	int err;

	if (!module)
		return -ENOMEM;
	module->address = raw->address;
	module->identity = identity_of(raw);
	memcpy(module->public.name, raw->bytes + layout->module_name, GUEST_MODULE_NAME_LEN - 1);
	module->public.start = GVA(raw_u64(raw, layout->module_text));
	module->public.size = raw_u32(raw, layout->module_text_size);
	if (!is_module_range(module->public.start.addr, module->public.size))
		return -ENOENT;
	module->init_start = raw_u64(raw, layout->module_init_text);
	module->init_size = raw_u32(raw, layout->module_init_text_size);
	if (!is_module_range(module->init_start, module->init_size))
		module->init_start = module->init_size = 0;
	read_build_id(source, raw, &module->public.build_id);
	err = read_symbols(source, raw_u64(raw, layout->module_kallsyms), &module->symtab);
	if (err)
		return err;
	module->public.symbols = module->symtab;
	err = read_orc(source, raw, &module->orc);
	if (err == -ENOMEM)
		return err;
	*ret = TAKE_PTR(module);
	return 0;
}

/* One refresh under way. */
struct refresh {
	const struct modules_source *source;
	struct hashmap known;	/* struct module's address to old module; 0: seen in this walk */
	VEC(struct module *) list;
};

/* The same module as before is taken over, anything else is read. */
static int add_module(struct refresh *refresh, const struct raw_module *raw)
{
	struct module *module = NULL;
	bool is_new;
	u64 *place = hashmap_put(&refresh->known, raw->address, &is_new);
	int err;

	if (!place)
		return -ENOMEM;
	if (!is_new && !*place)	/* a list that bites its tail */
		return -EBADMSG;
	module = (struct module *)(uintptr_t)*place;
	*place = 0;
	if (module && module->identity == identity_of(raw)) {
		err = vec_push(&refresh->list, module);
		module->kept = !err;
		return err;
	}
	err = load_module(refresh->source, raw, &module);
	/* Text of no size, or not where kernels are: nothing that we need. */
	if (err == -ENOENT)
		return 0;
	if (err)
		return err;
	err = vec_push(&refresh->list, module);
	if (err)
		module_destroy(module);
	return err;
}

/* Follows the list. It is one when it comes back to its head. */
static int walk_list(struct refresh *refresh)
{
	const struct modules_source *source = refresh->source;
	const struct kernel_layout *layout = source->layout;
	struct raw_module raw = { .layout = layout };
	u64 at;
	int err;

	err = read_at(source, source->list_head, &at, sizeof(at));
	for (unsigned int i = 0; !err && at != source->list_head; i++) {
		if (i == MODULES_MAX)
			return -EBADMSG;
		raw.address = at - layout->module_list;
		err = read_at(source, raw.address, raw.bytes, layout->module_bytes);
		if (err)
			return err;
		if (raw_u32(&raw, layout->module_state) != STATE_UNFORMED)
			err = add_module(refresh, &raw);
		at = raw_u64(&raw, layout->module_list);
	}
	return err;
}

static int index_old(struct refresh *refresh, struct modules *modules)
{
	vec_for_each(&modules->list, module) {
		u64 *place = hashmap_put(&refresh->known, (*module)->address, NULL);

		if (!place)
			return -ENOMEM;
		*place = (uintptr_t)*module;
	}
	return 0;
}

static int compare_start(const void *a, const void *b)
{
	const struct module *x = *(struct module *const *)a, *y = *(struct module *const *)b;

	if (x->public.start.addr != y->public.start.addr)
		return x->public.start.addr < y->public.start.addr ? -1 : 1;
	return 0;
}

/* Frees the modules of one list that are not in the other one too. */
static void drop_others(struct module **list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!list[i]->kept)
			module_destroy(list[i]);
}

static void clear_kept(struct modules *modules)
{
	vec_for_each(&modules->list, module)
		(*module)->kept = false;
}

int modules_refresh(struct modules *modules, const struct modules_source *source)
{
	struct refresh refresh = { .source = source };
	int err = index_old(&refresh, modules);

	if (!err)
		err = walk_list(&refresh);
	if (err) {
		drop_others(refresh.list.data, refresh.list.nr);
	} else {
		drop_others(modules->list.data, modules->list.nr);
		vec_deinit(&modules->list);
		modules->list.data = refresh.list.data;
		modules->list.nr = refresh.list.nr;
		modules->list.alloc = refresh.list.alloc;
		if (modules->list.nr)
			qsort(modules->list.data, modules->list.nr, sizeof(*modules->list.data),
			      compare_start);
		refresh.list.data = NULL;
	}
	clear_kept(modules);
	vec_deinit(&refresh.list);
	hashmap_deinit(&refresh.known);
	return err;
}

/* Whether @entry, a list's member, is that of a module. */
static bool is_module(const struct modules_source *source, u64 entry)
{
	const struct kernel_layout *layout = source->layout;
	u64 module = entry - layout->module_list;
	char name[GUEST_MODULE_NAME_LEN];
	u32 state = 0;
	size_t len;

	if (read_at(source, module + layout->module_name, name, sizeof(name)) ||
	    (layout->module_state != LAYOUT_NONE &&
	     read_at(source, module + layout->module_state, &state, sizeof(state))))
		return false;
	len = strnlen(name, sizeof(name));
	for (size_t i = 0; i < len; i++)
		if (!isalnum((u8)name[i]) && name[i] != '_')
			return false;
	return len && len < sizeof(name) && state <= STATE_UNFORMED;
}

/* Whether the words at @head are those of the list: modules lie near the kernel, and not in it. */
static bool is_modules_head(const struct modules_source *source, u64 head, const u64 *words,
			    u64 start, u64 end)
{
	u64 back;

	for (unsigned int i = 0; i < 2; i++)
		if (words[i] % 8 || (words[i] >= start && words[i] < end) ||
		    (words[i] - start > MODULES_REACH && start - words[i] > MODULES_REACH))
			return false;
	return !read_at(source, words[0] + 8, &back, sizeof(back)) && back == head &&
	       !read_at(source, words[1], &back, sizeof(back)) && back == head &&
	       is_module(source, words[0]);
}

int modules_search(const struct modules_source *source, u64 start, u64 end, u64 *ret_head)
{
	u64 words[SEARCH_BYTES / 8 + 1];

	for (u64 at = start; at < end; at += SEARCH_BYTES) {
		/* With one word more: a head may lie across. */
		if (read_at(source, at, words, sizeof(words)) &&
		    read_at(source, at, words, SEARCH_BYTES))
			continue;
		for (size_t i = 0; i < SEARCH_BYTES / 8; i++) {
			if (!is_modules_head(source, at + i * 8, words + i, start, end))
				continue;
			*ret_head = at + i * 8;
			return 0;
		}
	}
	return -ENOENT;
}

static bool holds(const struct module *module, u64 address)
{
	return address - module->public.start.addr < module->public.size ||
	       address - module->init_start < module->init_size;
}

const struct module *modules_find(const struct modules *modules, u64 address)
{
	size_t low = 0, high = modules->list.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (modules->list.data[middle]->public.start.addr <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && holds(modules->list.data[low - 1], address))
		return modules->list.data[low - 1];
	/* Code that runs while its module is loaded lies elsewhere; seldom asked for. */
	for (size_t i = 0; i < modules->list.nr; i++)
		if (modules->list.data[i]->init_size && holds(modules->list.data[i], address))
			return modules->list.data[i];
	return NULL;
}
