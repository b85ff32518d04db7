/* SPDX-License-Identifier: GPL-2.0-only */
/* Source lines and inlined functions, by an index of the units' addresses. */
#include "symbols/dwarf-lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "base/vec.h"

#define MAX_RANGES (4U << 20)

struct unit_range {
	u64 start, end;
	Dwarf_Off die;
};

struct dwarf_lines {
	Dwarf *dwarf;
	VEC(struct unit_range) ranges;	/* by start */
};

void dwarf_lines_destroy(struct dwarf_lines *lines)
{
	if (!lines)
		return;
	dwarf_end(lines->dwarf);
	vec_deinit(&lines->ranges);
	free(lines);
}

/* .debug_aranges would say the same, but not every compiler writes it. */
static int add_unit(struct dwarf_lines *lines, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int err = 0;

	while (!err && (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
		struct unit_range range = { start, end, dwarf_dieoffset(unit) };

		if (lines->ranges.nr >= MAX_RANGES)
			return -E2BIG;
		if (start < end)
			err = vec_push(&lines->ranges, range);
	}
	return err;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_units(struct dwarf_lines *lines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	u8 type;
	int err = 0;

	while (!err && !dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &die, NULL))
		if (type == DW_UT_compile)
			err = add_unit(lines, &die);
	if (!err && lines->ranges.nr)
		qsort(lines->ranges.data, lines->ranges.nr, sizeof(*lines->ranges.data),
		      compare_ranges);
	return err;
}

int dwarf_lines_create(Elf *elf, struct dwarf_lines **ret)
{
	_cleanup_(dwarf_lines_destroy) struct dwarf_lines *lines = calloc(1, sizeof(*lines));
	int err;

	if (!lines)
		return -ENOMEM;
	lines->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!lines->dwarf)
		return -ENOENT;
	err = read_units(lines);
	if (!err && !lines->ranges.nr)
		err = -ENOENT;
	if (err)
		return err;
	*ret = TAKE_PTR(lines);
	return 0;
}

/* The unit that has code at @addr. */
static bool find_unit(const struct dwarf_lines *lines, u64 addr, Dwarf_Die *ret)
{
	size_t low = 0, high = lines->ranges.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->ranges.data[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < lines->ranges.data[low - 1].end &&
	       dwarf_offdie(lines->dwarf, lines->ranges.data[low - 1].die, ret);
}

int dwarf_lines_find(struct dwarf_lines *lines, u64 addr, struct dwarf_line *ret)
{
	const char *file, *slash;
	Dwarf_Die unit;
	Dwarf_Line *line;
	int number;

	if (!find_unit(lines, addr, &unit))
		return -ENOENT;
	line = dwarf_getsrc_die(&unit, addr);
	file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!file || dwarf_lineno(line, &number))
		return -ENOENT;
	slash = strrchr(file, '/');
	*ret = (struct dwarf_line){ slash ? slash + 1 : file, number };
	return 0;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ? name : dwarf_diename(die);
}

/*
 * The entries around @addr in the tree, innermost first. dwarf_getscopes() goes on from an inlined
 * function to where its source stands, dwarf_getscopes_die() to what it was inlined into.
 */
static int scopes_of(Dwarf_Die *unit, u64 addr, Dwarf_Die **ret)
{
	Dwarf_Die *innermost = NULL;
	int nr = dwarf_getscopes(unit, addr, &innermost);

	if (nr > 0)
		nr = dwarf_getscopes_die(&innermost[0], ret);
	free(innermost);
	return nr;
}

size_t dwarf_lines_inlines(struct dwarf_lines *lines, u64 addr, struct dwarf_inline *ret)
{
	Dwarf_Die unit, *scopes = NULL;
	size_t nr = 0;
	int nr_scopes;

	if (!find_unit(lines, addr, &unit))
		return 0;
	nr_scopes = scopes_of(&unit, addr, &scopes);
	for (int i = 0; i < nr_scopes && nr < DWARF_LINES_MAX_INLINES; i++) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name;

		if (tag == DW_TAG_subprogram)
			break;
		name = tag == DW_TAG_inlined_subroutine ? function_name(&scopes[i]) : NULL;
		if (name && *name)
			ret[nr++].function = name;
	}
	free(scopes);
	return nr;
}
