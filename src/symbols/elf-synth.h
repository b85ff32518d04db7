/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small ELF file made of what was found in a guest's memory: symbols, build id and, when it is
 * there, the code. kallsyms text would not do for a module: it has the addresses of one boot,
 * and perf trusts it for no other, while a relocatable file fits wherever the module is loaded.
 *
 * And one made of the known parts of a program's or library's file: build id, segments and the
 * symbols, no code and nothing that unwinds. Segments say where they are and how large in memory,
 * and have no contents.
 */
#ifndef SYMBOLS_ELF_SYNTH_H
#define SYMBOLS_ELF_SYNTH_H

#include "base/strbuf.h"
#include "base/types.h"
#include "objfile/build-id.h"
#include "symbols/elf-partial.h"
#include "symbols/symtab.h"

/*
 * Marks a file that was made of parts: a note of ours, name "kvmprof", type 1, without contents.
 * Such a file has no contents but symbols, and not all of them.
 */
#define ELF_SYNTH_PARTIAL_SECTION ".note.kvmprof.partial"
#define ELF_SYNTH_PARTIAL_NOTE 1

struct elf_synth {
	const struct symtab *symbols;	/* absolute; those in [start, start + size) are taken */
	u64 start, size;		/* of the text */
	u16 machine;			/* EM_X86_64 … */
	struct build_id build_id;
	const void *text;		/* @size bytes; NULL: not known */
};

/* Appends the file to @out: relocatable, 64 bits, little endian. -E2BIG: more than 4 GiB. */
int elf_synth_module(const struct elf_synth *from, struct strbuf *out);

/* The same for a program of which a part is known. -ENODATA: no build
 * id, segment or symbol is. */
int elf_synth_program(const struct elf_partial *from, struct strbuf *out);

#endif
