/* SPDX-License-Identifier: GPL-2.0-only */
/* One mapped object (perf calls it a dso) and where its symbols are found. */
#ifndef SYMBOLS_DSO_H
#define SYMBOLS_DSO_H

#include "base/types.h"
#include "objfile/build-id.h"
#include "symbols/dwarf-lines.h"
#include "symbols/kallsyms-text.h"
#include "symbols/sources.h"
#include "symbols/symtab.h"

enum dso_kind {
	DSO_USER,
	DSO_KERNEL,
	DSO_MODULE,
	DSO_VDSO,
	DSO_PERF_MAP,	/* "/tmp/perf-PID.map": what a run-time compiler wrote */
	DSO_NO_SYMBOLS,	/* heap, stack */
	DSO_CODE,	/* made by the kernel: its one symbol is known from the start */
};

struct dso {
	enum dso_kind kind;
	char *name;		/* as perf script prints it */
	char *short_name;	/* as perf report does */
	char *path;		/* of its file; the name when it has none */
	u64 identity;		/* hash of inode or build id: tells objects of one path apart */
	struct build_id build_id;
	bool loaded;		/* or tried in vain */
	struct symtab *symtab;	/* NULL: none */
	u64 bias;		/* symtab address - address of the mapped object */
	struct elf_file *dwarf_file;	/* the first file that has DWARF, when lines are wanted */
	struct elf_file *segments_file;	/* by which addresses in it are found; NULL: as they are */
	struct dwarf_lines *lines;
	u32 *symbol_ids;	/* resolver's: id + 1 of each symbol of the table, 0: none yet */

	/* The kernel's: */
	char *ref_name;		/* symbol whose address in the recorded boot is known; NULL: none */
	u64 ref_addr;
	struct kallsyms_text *kallsyms;	/* for the modules in it */
	u64 kallsyms_bias;		/* its addresses - those of the recorded boot */
};

struct dso_sources {
	struct symbol_sources *from;
	const char *release;	/* the kernel's; NULL: not known */
	bool demangle;		/* which of two names is better */
	bool lines;		/* keep what has DWARF; not of modules */
};

/* Fills in .symtab, or leaves it NULL. The only errors are those of memory. */
int dso_load(struct dso *dso, const struct dso_sources *sources);

/* For a module that has no file: the lines in .kallsyms of @kernel. @start is where it lies. */
int dso_load_module_from(struct dso *dso, const struct dso *kernel, u64 start);

/*
 * What DWARF has for @addr, an address as the object's symbols count; NULL and *@ret_addr untouched
 * when there is no DWARF, lines were not asked for or the address is in no segment.
 */
struct dwarf_lines *dso_lines(const struct dso *dso, u64 addr, u64 *ret_addr);

void dso_destroy(struct dso *dso);

#endif
