/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of kallsyms in every layout that kernels have had, compressed as theirs are. */
#ifndef BUILD_KALLSYMS_H
#define BUILD_KALLSYMS_H

#include "build.h"
#include "guest/kallsyms.h"

struct build_ksym {
	u64 address;
	const char *name;
	char type;
	bool absolute;	/* per-CPU, with KALLSYMS_BASE_PERCPU */
};

struct build_kallsyms_format {
	enum kallsyms_addressing addressing;
	bool addresses_last;	/* 6.4 */
	bool long_lengths;	/* 6.1 */
	u8 marker_size;		/* 4; 8 before 4.20 */
	u8 seq_size;		/* of an entry of seqs_of_names: 0 before 6.2, 4 or 3 */
	u8 align;		/* of the parts: 4 from 7.0 on and on i386; 0: 8 */
	bool narrow_base;	/* i386: it has 4 bytes */
	unsigned int max_tokens;	/* pairs that are compressed; 0: no limit */
};

/* Where the parts are in the output, for tests that spoil them. */
struct build_kallsyms_places {
	size_t begin, num_syms, names, markers, token_table, token_index, addresses, base, end;
};

/*
 * Appends the tables of @nr symbols, ascending by address, to @out, whose first byte is the one at
 * guest address @start. The base of relative addresses is @start.
 */
void build_kallsyms(struct strbuf *out, u64 start, const struct build_kallsyms_format *format,
		    const struct build_ksym *symbols, u32 nr, struct build_kallsyms_places *ret);

/* The forms of the releases that changed them. */
struct build_kallsyms_release {
	const char *name;
	struct build_kallsyms_format format;
};

#define BUILD_KALLSYMS_RELEASES 9
extern const struct build_kallsyms_release build_kallsyms_releases[BUILD_KALLSYMS_RELEASES];

#endif
