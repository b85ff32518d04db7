/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sorted symbol table. Symbols of an object nest and overlap (an assembler label inside a
 * function, a data symbol around a table), so looking an address up does not search them but an
 * index of disjoint ranges that says for each stretch of addresses who owns it. There are two of
 * them, one of code and one of everything else: code wins wherever it covers an address.
 */
#include "symbols/symtab.h"

#include <elf.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "symbols/demangle.h"

#define NO_OWNER UINT32_MAX

/* In .flags while sorting: the symbol counts as one that has a length. */
#define HAS_LENGTH (1 << 7)

/* What an unsized symbol may take for itself; a longer way to the next one is a hole. */
#define MAX_GUESSED_SIZE (16ULL << 20)
#define PAGE 4096ULL

/* Bytes of all names: in a small file all symbols can have the same long name. */
#define MAX_NAMES (512U << 20)

/* Range i goes from starts.data[i] up to the next start; owners.data[i] is a symbol's index. */
struct range_index {
	VEC(u64) starts;
	VEC(u32) owners;
};

struct name_index {
	u32 mask;
	u32 slots[];	/* index of a symbol + 1; 0: free */
};

struct symtab {
	VEC(struct symbol) symbols;
	struct strbuf names;
	struct range_index code;
	struct range_index data;
	struct name_index *by_name;	/* set once, atomically */
	u64 seed;			/* of the names' hash: a guest chooses the names */
	bool demangle;
	bool finished;
};

int symtab_create(struct symtab **ret)
{
	struct symtab *symtab = calloc(1, sizeof(*symtab));

	if (!symtab)
		return -ENOMEM;
	symtab->seed = hash_new_seed();
	*ret = symtab;
	return 0;
}

static void range_index_deinit(struct range_index *index)
{
	vec_deinit(&index->starts);
	vec_deinit(&index->owners);
}

void symtab_destroy(struct symtab *symtab)
{
	if (!symtab)
		return;
	vec_deinit(&symtab->symbols);
	strbuf_deinit(&symtab->names);
	range_index_deinit(&symtab->code);
	range_index_deinit(&symtab->data);
	free(symtab->by_name);
	free(symtab);
}

int symtab_add(struct symtab *symtab, u64 start, u64 size, u8 type, const char *name)
{
	size_t len = strnlen(name, SYMBOL_NAME_MAX);
	struct symbol symbol = {
		.start = start,
		.end = size > UINT64_MAX - start ? UINT64_MAX : start + size,
		.name = symtab->names.len,
		.type = type,
		.flags = size ? SYMBOL_F_SIZED : 0,
	};

	if (symtab->finished || !len)
		return -EINVAL;
	if (symtab->names.len + len + 1 > MAX_NAMES || symtab->symbols.nr >= NO_OWNER - 1)
		return -E2BIG;
	strbuf_add(&symtab->names, name, len);
	strbuf_addc(&symtab->names, '\0');
	if (strbuf_error(&symtab->names))
		return -ENOMEM;
	return vec_push(&symtab->symbols, symbol);
}

const char *symtab_name(const struct symtab *symtab, const struct symbol *symbol)
{
	return symtab->names.data + symbol->name;
}

static int compare_start(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_weak(u8 type)
{
	return type == 'W' || type == 'w' || type == 'V' || type == 'v';
}

static bool is_global(u8 type)
{
	return type >= 'A' && type <= 'Z';
}

/* The kernel's old aliases of system calls. */
static bool is_syscall_alias(const char *name)
{
	return !strncmp(name, "SyS", 3) || !strncmp(name, "compat_SyS", 10);
}

/* Less than 0 when @x is the better name. */
static int compare_names(const char *x, const char *y)
{
	size_t ux = strspn(x, "_"), uy = strspn(y, "_"), lx = strlen(x), ly = strlen(y);

	if (ux != uy)
		return ux < uy ? -1 : 1;
	if (lx != ly)
		return lx > ly ? -1 : 1;
	return is_syscall_alias(x) - is_syscall_alias(y);
}

/* Less than 0 when @x is the better one, as choose_best_symbol() of perf 6.1 has it; code first. */
static int compare_rank(const struct symbol *x, const struct symbol *y)
{
	int d = symbol_type_is_code(y->type) - symbol_type_is_code(x->type);

	if (!d)
		d = (y->flags & HAS_LENGTH) - (x->flags & HAS_LENGTH);
	if (!d)
		d = is_weak(x->type) - is_weak(y->type);
	if (!d)
		d = is_global(y->type) - is_global(x->type);
	return d;
}

/* For qsort_r() over symbols of one address. Equal ones stay in the order of their coming. */
static int compare_same_start(const void *a, const void *b, void *ctx)
{
	const struct symtab *symtab = ctx;
	const struct symbol *x = a, *y = b;
	_cleanup_free_ char *dx = NULL, *dy = NULL;
	const char *nx = symtab_name(symtab, x), *ny = symtab_name(symtab, y);
	int d = compare_rank(x, y);

	if (d)
		return d;
	if (symtab->demangle) {
		dx = demangle(nx);
		dy = demangle(ny);
	}
	d = compare_names(dx ? dx : nx, dy ? dy : ny);
	if (d)
		return d;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* One past the last symbol that starts where symbol @i does. */
static size_t run_end(const struct symtab *symtab, size_t i)
{
	u64 start = symtab->symbols.data[i].start;

	while (i < symtab->symbols.nr && symtab->symbols.data[i].start == start)
		i++;
	return i;
}

/*
 * perf 6.1 first lets unsized symbols reach up to the next symbol and then compares those of one
 * address: only the last to come has a length left. So the same name wins here.
 */
static void sort_run(struct symtab *symtab, struct symbol *run, size_t nr)
{
	struct symbol *last_code = NULL, *last_data = NULL;

	for (size_t i = 0; i < nr; i++) {
		struct symbol **last = symbol_type_is_code(run[i].type) ? &last_code : &last_data;

		if (run[i].flags & SYMBOL_F_SIZED)
			run[i].flags |= HAS_LENGTH;
		if (!*last || run[i].name > (*last)->name)
			*last = &run[i];
	}
	if (last_code)
		last_code->flags |= HAS_LENGTH;
	if (last_data)
		last_data->flags |= HAS_LENGTH;
	qsort_r(run, nr, sizeof(*run), compare_same_start, symtab);
	for (size_t i = 0; i < nr; i++)
		run[i].flags &= ~HAS_LENGTH;
}

/* Tables come sorted by address more often than not, and then only equal addresses are left. */
static void sort_symbols(struct symtab *symtab)
{
	struct symbol *s = symtab->symbols.data;
	size_t nr = symtab->symbols.nr, i, end;

	for (i = 1; i < nr && s[i - 1].start <= s[i].start; i++)
		;
	if (i < nr)
		qsort(s, nr, sizeof(*s), compare_start);
	for (i = 0; i < nr; i = end) {
		end = run_end(symtab, i);
		if (end - i > 1)
			sort_run(symtab, s + i, end - i);
	}
}

static u64 hash_name(const struct symtab *symtab, const char *name)
{
	return hash_bytes_seeded(symtab->seed, name, strlen(name));
}

static int drop_in_long_run(struct symtab *symtab, size_t i, size_t end, size_t *to)
{
	struct symbol *s = symtab->symbols.data;
	struct hashmap seen = HASHMAP_INIT;
	bool is_new;

	for (; i < end; i++) {
		if (!hashmap_put(&seen, hash_name(symtab, symtab_name(symtab, &s[i])), &is_new)) {
			hashmap_deinit(&seen);
			return -ENOMEM;
		}
		if (is_new)
			s[(*to)++] = s[i];
	}
	hashmap_deinit(&seen);
	return 0;
}

static void drop_in_short_run(struct symtab *symtab, size_t i, size_t end, size_t *to)
{
	struct symbol *s = symtab->symbols.data;
	size_t first = *to, j;

	for (; i < end; i++) {
		const char *name = symtab_name(symtab, &s[i]);

		for (j = first; j < *to && strcmp(symtab_name(symtab, &s[j]), name); j++)
			;
		if (j == *to)
			s[(*to)++] = s[i];
	}
}

/* The better one of each address and name stays. */
static int drop_duplicates(struct symtab *symtab)
{
	size_t to = 0, end;
	int err = 0;

	for (size_t i = 0; i < symtab->symbols.nr && !err; i = end) {
		end = run_end(symtab, i);
		if (end - i <= 32)
			drop_in_short_run(symtab, i, end, &to);
		else
			err = drop_in_long_run(symtab, i, end, &to);
	}
	if (!err)
		symtab->symbols.nr = to;
	return err;
}

/* Unsized symbols reach up to the next address, and over a hole to the end of the next page. */
static void fill_ends(struct symtab *symtab)
{
	struct symbol *s = symtab->symbols.data;
	u64 next = UINT64_MAX;

	for (size_t i = symtab->symbols.nr; i-- > 0;) {
		if (i + 1 < symtab->symbols.nr && s[i + 1].start != s[i].start)
			next = s[i + 1].start;
		if (s[i].flags & SYMBOL_F_SIZED)
			continue;
		if (next - s[i].start <= MAX_GUESSED_SIZE)
			s[i].end = next;
		else if (s[i].start < UINT64_MAX - 2 * PAGE)
			s[i].end = ALIGN_UP(s[i].start, PAGE) + PAGE;
		else
			s[i].end = UINT64_MAX;
	}
}

static int emit(struct range_index *index, u64 start, u32 owner)
{
	int err;

	if (index->starts.nr && index->starts.data[index->starts.nr - 1] == start) {
		index->owners.data[index->owners.nr - 1] = owner;
		return 0;
	}
	err = vec_push(&index->starts, start);
	if (!err)
		err = vec_push(&index->owners, owner);
	return err;
}

typedef VEC(u32) index_stack_t;

/* Closes the symbols on @open that end at or before @addr; what they lay in owns the rest. */
static int close_until(const struct symtab *symtab, struct range_index *index,
		       index_stack_t *open, u64 addr)
{
	const struct symbol *s = symtab->symbols.data;
	int err = 0;

	while (!err && open->nr && s[open->data[open->nr - 1]].end <= addr) {
		u64 at = s[open->data[open->nr - 1]].end;

		while (open->nr && s[open->data[open->nr - 1]].end <= at)
			open->nr--;
		err = emit(index, at, open->nr ? open->data[open->nr - 1] : NO_OWNER);
	}
	return err;
}

/* One sweep over the best symbol of each address, of code or of the rest. */
static int build_ranges(const struct symtab *symtab, bool code, struct range_index *index)
{
	const struct symbol *s = symtab->symbols.data;
	index_stack_t open = VEC_INIT;
	u64 last_start = 0;
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < symtab->symbols.nr && !err; i++) {
		if (symbol_type_is_code(s[i].type) != code || s[i].start == s[i].end)
			continue;
		if (any && s[i].start == last_start)
			continue;
		any = true;
		last_start = s[i].start;
		err = close_until(symtab, index, &open, s[i].start);
		if (!err)
			err = emit(index, s[i].start, i);
		if (!err)
			err = vec_push(&open, i);
	}
	if (!err)
		err = close_until(symtab, index, &open, UINT64_MAX);
	vec_deinit(&open);
	return err;
}

u8 symtab_letter(unsigned int binding, bool code)
{
	switch (binding) {
	case STB_GLOBAL:
		return code ? 'T' : 'D';
	case STB_WEAK:
		return code ? 'W' : 'V';
	default:
		return code ? 't' : 'd';
	}
}

void symtab_rank_demangled(struct symtab *symtab)
{
	symtab->demangle = true;
}

int symtab_finish(struct symtab *symtab)
{
	int err;

	if (symtab->finished)
		return -EINVAL;
	sort_symbols(symtab);
	err = drop_duplicates(symtab);
	if (err)
		return err;
	fill_ends(symtab);
	err = build_ranges(symtab, true, &symtab->code);
	if (!err)
		err = build_ranges(symtab, false, &symtab->data);
	if (!err)
		symtab->finished = true;
	return err;
}

/* Branch-free halving: the loop's only branch is its count, which depends on the size alone. */
static const struct symbol *find_in(const struct symtab *symtab, const struct range_index *index,
				    u64 addr)
{
	const u64 *base = index->starts.data;
	size_t nr = index->starts.nr;
	u32 owner;

	if (!nr || addr < base[0])
		return NULL;
	while (nr > 1) {
		size_t half = nr / 2;

		base += base[half] <= addr ? half : 0;
		nr -= half;
	}
	owner = index->owners.data[base - index->starts.data];
	return owner == NO_OWNER ? NULL : &symtab->symbols.data[owner];
}

const struct symbol *symtab_find(const struct symtab *symtab, u64 addr)
{
	const struct symbol *found = find_in(symtab, &symtab->code, addr);

	return found ? found : find_in(symtab, &symtab->data, addr);
}

static u32 name_slot(const struct symtab *symtab, const struct name_index *index, const char *name)
{
	u32 i = hash_name(symtab, name) & index->mask;

	while (index->slots[i] &&
	       strcmp(symtab_name(symtab, &symtab->symbols.data[index->slots[i] - 1]), name))
		i = (i + 1) & index->mask;
	return i;
}

static struct name_index *build_name_index(const struct symtab *symtab)
{
	struct name_index *index;
	size_t size = 64;

	while (size < symtab->symbols.nr * 2)
		size *= 2;
	if (size - 1 > UINT32_MAX)
		return NULL;
	index = calloc(1, sizeof(*index) + size * sizeof(index->slots[0]));
	if (!index)
		return NULL;
	index->mask = size - 1;
	for (size_t i = 0; i < symtab->symbols.nr; i++) {
		const char *name = symtab_name(symtab, &symtab->symbols.data[i]);
		u32 slot = name_slot(symtab, index, name);

		if (!index->slots[slot])
			index->slots[slot] = i + 1;
	}
	return index;
}

/* Readers race to publish the index; who comes late throws its own away. */
static const struct name_index *get_name_index(const struct symtab *symtab)
{
	struct name_index **place = (struct name_index **)&symtab->by_name, *made, *expected = NULL;
	struct name_index *index = __atomic_load_n(place, __ATOMIC_ACQUIRE);

	if (index)
		return index;
	made = build_name_index(symtab);
	if (!made)
		return NULL;
	if (__atomic_compare_exchange_n(place, &expected, made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	free(made);
	return expected;
}

const struct symbol *symtab_find_name(const struct symtab *symtab, const char *name)
{
	const struct name_index *index = get_name_index(symtab);
	u32 found;

	if (index) {
		found = index->slots[name_slot(symtab, index, name)];
		return found ? &symtab->symbols.data[found - 1] : NULL;
	}
	/* Out of memory: slow is better than wrong. */
	for (size_t i = 0; i < symtab->symbols.nr; i++)
		if (!strcmp(symtab_name(symtab, symtab_at(symtab, i)), name))
			return symtab_at(symtab, i);
	return NULL;
}

size_t symtab_nr(const struct symtab *symtab)
{
	return symtab->symbols.nr;
}

const struct symbol *symtab_at(const struct symtab *symtab, size_t i)
{
	return &symtab->symbols.data[i];
}

size_t symtab_memory(const struct symtab *symtab)
{
	const struct range_index *code = &symtab->code, *data = &symtab->data;

	return sizeof(*symtab) + symtab->symbols.alloc * sizeof(struct symbol) +
	       symtab->names.alloc +
	       (code->starts.alloc + data->starts.alloc) * sizeof(u64) +
	       (code->owners.alloc + data->owners.alloc) * sizeof(u32) +
	       (symtab->by_name ? ((size_t)symtab->by_name->mask + 1) * sizeof(u32) : 0);
}
