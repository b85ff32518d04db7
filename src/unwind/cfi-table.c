/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From call frame information to a sorted table of rules.
 *
 * Functions are enumerated by .eh_frame_hdr where there is one, for it reaches what lies behind a
 * hole and tells where a function begins whose record is missing; else, and where it has holes
 * itself, record by record. Then they are sorted, and the programs are run. SFrame knows less of a
 * function's registers: it counts where there is nothing else.
 */
#include "unwind/cfi-table.h"

#include <dwarf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "unwind/cfi-program.h"
#include "unwind/sframe.h"

#define MAX_FILE (8ULL << 30)
#define NR_CIES 256		/* kept; a power of two */
#define HDR_TABLE DW_EH_PE_datarel | DW_EH_PE_sdata4
#define HDR_ENTRY 8

#define MAX_VDSO (64U << 10)

enum function_kind {
	FUNCTION_RULES,
	FUNCTION_MISSING,
	FUNCTION_BAD,
	FUNCTION_SIGRETURN,	/* arm64's, without rules: what a signal's handler returns to */
};

struct function {
	u64 start, size;	/* size 0: up to the next one */
	const struct cfi_section *section;
	u64 offset;		/* of its FDE there; in .sframe its number */
	enum function_kind kind;
};

struct kept_cie {
	const struct cfi_section *section;	/* NULL: none */
	u64 offset;
	int err;
	struct cfi_cie cie;
};

struct builder {
	struct cfi_table *table;
	struct cfi_object object;
	struct sframe sframe;		/* .object.sframe's, if there is one */
	VEC(struct function) functions;
	VEC(u32) offset;
	VEC(u32) rule;
	VEC(struct cfi_row) rules;
	struct hashmap known_rules;	/* a rule's hash to its index + 1 */
	u64 seed;
	struct kept_cie *cies;		/* NR_CIES, by offset */
	u64 budget;
};

static const struct kept_cie *get_cie(struct builder *b, const struct cfi_section *section,
				      u64 offset)
{
	struct kept_cie *kept = &b->cies[hash_u64(offset) % NR_CIES];

	if (kept->section != section || kept->offset != offset) {
		kept->section = section;
		kept->offset = offset;
		kept->err = cfi_cie_read(section, offset, &b->budget, &kept->cie);
	}
	return kept;
}

/* Something was not read, of which not even the place is known. */
static void note_failure(struct builder *b, int err)
{
	if (err == -ENODATA)
		b->table->incomplete = true;
	else
		b->table->nr_bad++;
}

/* Rules are for code: also throws out what the linker has thrown out, functions at 0. */
static bool is_code(const struct cfi_object *object, u64 start, u64 size)
{
	const struct cfi_load *load = cfi_object_load(object, start);

	return load && load->exec && start && size <= load->mem_size - (start - load->address);
}

static int add_function(struct builder *b, const struct function *function)
{
	if (!is_code(&b->object, function->start, function->size)) {
		b->table->nr_bad++;
		return 0;
	}
	if (b->functions.nr == CFI_MAX_FDES)
		return -E2BIG;
	return vec_push(&b->functions, *function);
}

/* Reads the FDE at @offset. */
static int read_function(struct builder *b, const struct cfi_section *section, u64 offset,
			 struct cfi_fde *fde, const struct cfi_cie **ret_cie)
{
	const struct kept_cie *kept;
	u64 next, cie;
	int kind;

	if (!b->budget)
		return -E2BIG;
	b->budget--;
	kind = cfi_record_find(section, offset, &next, &cie);
	if (kind < 0)
		return kind;
	if (kind != CFI_RECORD_FDE)
		return -EBADMSG;
	kept = get_cie(b, section, cie);
	if (kept->err)
		return kept->err;
	*ret_cie = &kept->cie;
	return cfi_fde_read(section, offset, &kept->cie, fde);
}

/* The function whose FDE is at @offset; it starts at @start if that is not 0, which is a hint. */
static int find_function(struct builder *b, const struct cfi_section *section, u64 offset,
			 u64 start)
{
	struct function function = { .section = section, .offset = offset };
	const struct cfi_cie *cie;
	struct cfi_fde fde = { .start = start };
	int err = read_function(b, section, offset, &fde, &cie);

	if (err == -E2BIG)
		return err;
	function.start = fde.start;
	function.size = fde.size;
	function.kind = !err ? FUNCTION_RULES : err == -ENODATA ? FUNCTION_MISSING : FUNCTION_BAD;
	if (err && !fde.start) {
		note_failure(b, err);
		return 0;
	}
	return add_function(b, &function);
}

/* Record by record. */
static int walk_section(struct builder *b, const struct cfi_section *section)
{
	u64 offset = 0, next, cie;
	int kind, err = 0;

	while (!err && offset < section->size) {
		if (!b->budget--)
			return -E2BIG;
		kind = cfi_record_find(section, offset, &next, &cie);
		if (kind < 0)
			note_failure(b, kind);
		if (kind < 0 || kind == CFI_RECORD_END)
			break;
		if (kind == CFI_RECORD_FDE)
			err = find_function(b, section, offset, 0);
		offset = next;
	}
	return err;
}

/* One entry of the sorted table: where a function starts and where its FDE is. */
static int take_hdr_entry(struct builder *b, u64 at)
{
	const struct cfi_section *hdr = &b->object.hdr, *section = &b->object.eh_frame;
	struct cursor c;
	u64 start, fde;

	if (!cfi_section_has(hdr, at, HDR_ENTRY)) {
		b->table->incomplete = true;
		return 0;
	}
	cursor_init(&c, hdr->data + at, HDR_ENTRY);
	start = cfi_read_pointer(&c, HDR_TABLE, 0, hdr->address);
	fde = cfi_read_pointer(&c, HDR_TABLE, 0, hdr->address) - section->address;
	return find_function(b, section, fde, start);
}

/* Whether there is a table that could be read; all functions that it names. */
static int walk_hdr(struct builder *b, bool *ret_walked)
{
	const struct cfi_section *hdr = &b->object.hdr;
	u8 pointer, count, table;
	struct cursor c;
	u64 nr;
	int err = 0;

	*ret_walked = false;
	if (!hdr->size || !cfi_section_has(hdr, 0, MIN(hdr->size, 12)))
		return 0;
	cursor_init(&c, hdr->data, MIN(hdr->size, 12));
	cursor_skip(&c, 1);
	pointer = cursor_u8(&c);
	count = cursor_u8(&c);
	table = cursor_u8(&c);
	cfi_read_pointer(&c, cfi_section_encoding(hdr, pointer), hdr->address, hdr->address);
	nr = cfi_read_pointer(&c, cfi_section_encoding(hdr, count), hdr->address, hdr->address);
	if (cursor_error(&c) || table != (HDR_TABLE))
		return 0;
	if (nr > CFI_MAX_FDES)
		return -E2BIG;
	if (nr > (hdr->size - cursor_offset(&c)) / HDR_ENTRY)
		return 0;
	for (u64 i = 0; i < nr && !err; i++)
		err = take_hdr_entry(b, cursor_offset(&c) + i * HDR_ENTRY);
	*ret_walked = true;
	return err;
}

static int drop_row(void *ctx, u64 address, const struct cfi_row *row)
{
	(void)ctx;
	(void)address;
	(void)row;
	return 0;
}

/*
 * Function number @i of .sframe. Its rows are run to see whether they are all there; where they are
 * repeated, once.
 */
static int find_sframe_function(struct builder *b, u32 i)
{
	struct function function = { .section = &b->object.sframe, .offset = i };
	struct sframe_function found;
	int err = sframe_function_read(&b->sframe, i, &found);

	if (err) {
		note_failure(b, err);
		return 0;
	}
	function.start = found.start;
	function.size = found.size;
	if (!found.size)
		return 0;
	if (found.repeat)
		found.size = MIN(found.size, found.repeat);
	err = sframe_function_run(&b->sframe, &found, &b->budget, drop_row, NULL);
	if (err == -E2BIG)
		return err;
	function.kind = err == -ENODATA ? FUNCTION_MISSING : FUNCTION_RULES;
	return add_function(b, &function);
}

static int walk_sframe(struct builder *b)
{
	int err;

	if (!b->object.sframe.size)
		return 0;
	err = sframe_open(&b->object.sframe, &b->sframe);
	if (err) {
		note_failure(b, err);
		return 0;
	}
	for (u32 i = 0; i < b->sframe.nr_functions && !err; i++) {
		if (!b->budget--)
			return -E2BIG;
		err = find_sframe_function(b, i);
	}
	return err;
}

/*
 * arm64's vDSO has no rules since 5.8 (87676cfca141 "arm64: vdso: Disable dwarf unwinding through
 * the sigreturn trampoline"): unwinders are to know the code that a signal's handler returns to.
 */
static int find_sigreturn(struct builder *b, const u8 *data, u64 size)
{
	static const u8 code[] = {
		0x68, 0x11, 0x80, 0xd2,		/* mov x8, #__NR_rt_sigreturn */
		0x01, 0x00, 0x00, 0xd4,		/* svc #0 */
	};
	int err = 0;

	if (!b->object.is_arm64 || size > MAX_VDSO)
		return 0;
	for (u64 at = 0; at + sizeof(code) <= size && !err; at += 4) {
		struct function function = { .size = sizeof(code), .kind = FUNCTION_SIGRETURN };

		if (!memcmp(data + at, code, sizeof(code)) &&
		    !cfi_table_address(b->table, at, &function.start))
			err = add_function(b, &function);
	}
	return err;
}

static int find_functions(struct builder *b, const u8 *data, u64 size)
{
	bool walked;
	int err;

	b->table->incomplete = b->object.missing;
	err = walk_hdr(b, &walked);
	if (!err && (!walked || b->table->incomplete))
		err = walk_section(b, &b->object.eh_frame);
	if (!err)
		err = walk_section(b, &b->object.debug_frame);
	if (!err)
		err = walk_sframe(b);
	return err ? err : find_sigreturn(b, data, size);
}

static unsigned int rank(const struct cfi_section *section)
{
	return section->is_sframe ? 2 : section->is_debug;
}

/* By address; of one address the one that says most, .eh_frame, then .debug_frame, .sframe. */
static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (rank(x->section) != rank(y->section))
		return rank(x->section) < rank(y->section) ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int add_rule(struct builder *b, u64 address, u32 rule)
{
	u32 offset = address - b->table->start;
	size_t nr = b->offset.nr;
	int err;

	if (nr && b->offset.data[nr - 1] == offset)
		b->offset.nr = --b->rule.nr;
	if (b->rule.nr && b->rule.data[b->rule.nr - 1] == rule)
		return 0;
	if (b->rule.nr == CFI_MAX_ROWS)
		return -E2BIG;
	err = vec_push(&b->offset, offset);
	if (!err)
		err = vec_push(&b->rule, rule);
	return err;
}

/* Two rules of one hash, if ever, are both kept, and the second one again and again. */
static int find_rule(struct builder *b, const struct cfi_row *row, u32 *ret)
{
	bool new;
	u64 *index = hashmap_put(&b->known_rules, hash_bytes_seeded(b->seed, row, sizeof(*row)),
				 &new);
	int err;

	if (!index)
		return -ENOMEM;
	if (!new && !memcmp(&b->rules.data[*index], row, sizeof(*row))) {
		*ret = *index;
		return 0;
	}
	err = vec_push(&b->rules, *row);
	if (err)
		return err;
	*index = *ret = b->rules.nr - 1;
	return 0;
}

static int add_row(void *ctx, u64 address, const struct cfi_row *row)
{
	struct builder *b = ctx;
	u32 rule;
	int err = find_rule(b, row, &rule);

	return err ? err : add_rule(b, address, rule);
}

static int run_sframe_function(struct builder *b, u32 i)
{
	struct sframe_function found;
	int err = sframe_function_read(&b->sframe, i, &found);

	return err ? err : sframe_function_run(&b->sframe, &found, &b->budget, add_row, b);
}

static int run_function(struct builder *b, const struct function *function)
{
	const struct cfi_cie *cie;
	struct cfi_fde fde = { 0 };
	int err;

	if (function->section->is_sframe)
		return run_sframe_function(b, function->offset);
	err = read_function(b, function->section, function->offset, &fde, &cie);
	return err ? err : cfi_fde_run(function->section, &fde, cie, &b->budget, add_row, b);
}

static int add_rules(struct builder *b, const struct function *function)
{
	struct cfi_row row = { .kind = CFI_ROW_UNDEFINED };
	int err;

	if (function->kind == FUNCTION_MISSING) {
		b->table->nr_missing++;
		return add_rule(b, function->start, CFI_RULE_MISSING);
	}
	if (function->kind == FUNCTION_BAD) {
		b->table->nr_bad++;
		return add_row(b, function->start, &row);
	}
	b->table->nr_functions++;
	if (function->kind == FUNCTION_SIGRETURN) {
		row = cfi_row_of_sigreturn();
		return add_row(b, function->start, &row);
	}
	err = run_function(b, function);
	if (err != -EBADMSG && err != -EOPNOTSUPP)
		return err;
	b->table->nr_bad++;
	return 0;
}

/* Where the function ends that starts at its own address and of which only that may be known. */
static u64 function_end(const struct builder *b, size_t i)
{
	const struct function *function = &b->functions.data[i];
	const struct cfi_load *load;

	if (function->size)
		return function->start + function->size;
	if (i + 1 < b->functions.nr)
		return b->functions.data[i + 1].start;
	load = cfi_object_load(&b->object, function->start);
	return load->address + load->mem_size;
}

/* All rows, with those that say that nothing is there in between. */
static int run_functions(struct builder *b)
{
	u32 none = b->table->incomplete ? CFI_RULE_MISSING : CFI_RULE_NONE;
	u64 covered = b->table->start = b->functions.data[0].start;
	int err = 0;

	for (size_t i = 0; i < b->functions.nr && !err; i++) {
		const struct function *function = &b->functions.data[i];
		u64 end = function_end(b, i);

		/* Known twice, or overlapping: the first counts. */
		if (function->start < covered && i)
			continue;
		if (end - b->table->start > UINT32_MAX) {
			b->table->nr_bad++;
			break;
		}
		if (function->start > covered)
			err = add_rule(b, covered, none);
		if (!err)
			err = add_rules(b, function);
		covered = end;
	}
	return err ? err : add_rule(b, covered, none);
}

/* Takes what was built into the table, without spare room. */
static int finish(struct builder *b)
{
	struct cfi_table *table = b->table;
	size_t nr = b->offset.nr;

	table->offset = malloc(nr * sizeof(*table->offset));
	table->rule = malloc(nr * sizeof(*table->rule));
	table->rules = malloc(MAX(b->rules.nr, 1U) * sizeof(*table->rules));
	if (!table->offset || !table->rule || !table->rules)
		return -ENOMEM;
	memcpy(table->offset, b->offset.data, nr * sizeof(*table->offset));
	memcpy(table->rule, b->rule.data, nr * sizeof(*table->rule));
	if (b->rules.nr)
		memcpy(table->rules, b->rules.data, b->rules.nr * sizeof(*table->rules));
	table->nr = nr;
	table->nr_rules = b->rules.nr;
	return block_index_init(&table->index, table->offset, nr);
}

static void take_loads(struct builder *b)
{
	memcpy(b->table->loads, b->object.loads, sizeof(b->table->loads));
	b->table->nr_loads = b->object.nr_loads;
}

static int build(struct builder *b, const u8 *data, u64 size)
{
	int err;

	take_loads(b);
	err = find_functions(b, data, size);
	if (err)
		return err;
	if (!b->functions.nr)
		return b->table->incomplete ? -ENODATA : -ENOENT;
	qsort(b->functions.data, b->functions.nr, sizeof(*b->functions.data), compare_functions);
	err = run_functions(b);
	return err ? err : finish(b);
}

static void builder_deinit(struct builder *b)
{
	cfi_object_deinit(&b->object);
	vec_deinit(&b->functions);
	vec_deinit(&b->offset);
	vec_deinit(&b->rule);
	vec_deinit(&b->rules);
	hashmap_deinit(&b->known_rules);
	free(b->cies);
}

static int build_from(const u8 *data, u64 size, const struct file_image *image, bool trusted,
		      struct cfi_table **ret)
{
	_cleanup_(cfi_table_destroy) struct cfi_table *table = calloc(1, sizeof(*table));
	struct builder b = { .table = table, .seed = hash_new_seed(), .budget = CFI_MAX_WORK };
	int err = -ENOMEM;

	b.cies = calloc(NR_CIES, sizeof(*b.cies));
	if (table && b.cies)
		err = cfi_object_init(&b.object, data, size, image, trusted);
	if (!err)
		err = build(&b, data, size);
	builder_deinit(&b);
	if (!err)
		*ret = TAKE_PTR(table);
	return err;
}

int cfi_table_from_image(const struct file_image *image, struct cfi_table **ret)
{
	return build_from(image->data, image->size, image, false, ret);
}

int cfi_table_from_memory(void *bytes, size_t size, bool trusted, struct cfi_table **ret)
{
	if (size > MAX_FILE)
		return -E2BIG;
	return build_from(bytes, size, NULL, trusted, ret);
}

int cfi_table_from_file(int fd, struct cfi_table **ret)
{
	struct stat st;
	void *map;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return -EBADMSG;
	if ((u64)st.st_size > MAX_FILE)
		return -E2BIG;
	/* Writable, for what libelf may do to its image; private. */
	map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	err = cfi_table_from_memory(map, st.st_size, true, ret);
	munmap(map, st.st_size);
	return err;
}

void cfi_table_destroy(struct cfi_table *table)
{
	if (!table)
		return;
	free(table->offset);
	free(table->rule);
	free(table->rules);
	block_index_deinit(&table->index);
	free(table);
}

int cfi_table_find(const struct cfi_table *table, u64 address, struct cfi_row *ret_row)
{
	struct cfi_row *row;
	u32 rule;

	if (address < table->start)
		return table->incomplete ? -ENODATA : -ENOENT;
	rule = table->rule[block_index_find(&table->index, table->offset, table->nr,
					    address - table->start)];
	if (rule == CFI_RULE_NONE)
		return -ENOENT;
	if (rule == CFI_RULE_MISSING)
		return -ENODATA;
	row = &table->rules[rule];
	*ret_row = *row;
	if (row->cfa.kind == CFI_PLT) {
		ret_row->cfa.kind = CFI_REG_OFFSET;
		ret_row->cfa.reg = X86_RSP;
		ret_row->cfa.offset += (address & 15) >= row->cfa.reg ? row->cfa_add : 0;
		ret_row->cfa_add = 0;
	}
	return 0;
}

int cfi_table_address(const struct cfi_table *table, u64 offset, u64 *ret_address)
{
	for (unsigned int i = 0; i < table->nr_loads; i++) {
		const struct cfi_load *load = &table->loads[i];

		if (!load->exec || offset - load->offset >= load->file_size)
			continue;
		*ret_address = load->address + (offset - load->offset);
		return 0;
	}
	return -ENOENT;
}

size_t cfi_table_size(const struct cfi_table *table)
{
	return sizeof(*table) + table->nr * (sizeof(*table->offset) + sizeof(*table->rule)) +
	       table->nr_rules * sizeof(*table->rules) +
	       (table->index.nr_blocks + 1) * sizeof(*table->index.block);
}
