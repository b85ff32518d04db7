/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the addresses in a perf.data to names, as stock perf 6.1 resolves them: the records of maps
 * and processes are fed in time order, and between them any address of a sample or of its chain
 * can be asked for.
 *
 * An address becomes a *place*: one address of one object. Places, objects (dso), symbols and
 * command names have dense ids from 0 that never change and that arrays can be indexed by; the
 * same place is the same id in every process that maps the object, wherever it is mapped.
 *
 *	read a record
 *	  sample: resolver_process() once, then resolver_chain() or resolver_place() an address
 *	  other:  resolver_record()
 *
 * One difference is wanted: when perf reads a recording in the very boot that it was made in and
 * may read /proc/kcore, it calls a module's functions the kernel's; here they stay the module's.
 *
 * Objects are found as symbols/sources.h has it, by build id, and are loaded when the first address
 * falls on them. Asking for a place allocates
 * nothing but on the first time that the place is seen.
 */
#ifndef SYMBOLS_RESOLVE_H
#define SYMBOLS_RESOLVE_H

#include "base/types.h"
#include "perfdata/reader.h"
#include "symbols/sources.h"

#define RESOLVER_NONE UINT32_MAX

struct resolver;
struct resolver_space;	/* the mappings of one process, or of the kernel */

struct resolver_options {
	struct symbol_sources_options sources;
	bool no_demangle;
	bool lines;	/* resolver_line() is going to be asked */
	bool inlines;	/* chains have inlined functions, too, where there is DWARF */
};

/* One address of one object. */
struct resolver_place {
	u32 dso;	/* RESOLVER_NONE: no mapping covers the address */
	u32 symbol;	/* RESOLVER_NONE: no symbol does */
	u64 addr;	/* as perf counts: offset in an ELF file; the ip itself without dso */
	u64 offset;	/* from the symbol's start: "symbol+0xoffset"; 0 without symbol */
	bool inlined;	/* the symbol was inlined there; .offset is of what it is in */
};

int resolver_create(const struct resolver_options *options, struct resolver **ret);
void resolver_destroy(struct resolver *resolver);
DEFINE_CLEANUP(struct resolver *, resolver_destroy)

/* Where it looks for files: for what there is to be said about that at the end. */
const struct symbol_sources *resolver_sources(const struct resolver *resolver);

/* An entry of the build-id feature: to be given before the first record. */
int resolver_add_build_id(struct resolver *resolver, const struct perfdata_build_id *build_id);

/* The kernel's release, by which its vmlinux is named. NULL: not known. */
int resolver_set_release(struct resolver *resolver, const char *release);

/* All build ids of @reader, and the release. */
int resolver_add_build_ids(struct resolver *resolver, const struct perfdata_reader *reader);

/*
 * Takes a map, comm, fork or exit record into account; other kinds do nothing. What is wrong in a
 * record spoils that record only; an error is -ENOMEM.
 */
int resolver_record(struct resolver *resolver, const struct perfdata_record *record);

/*
 * The mappings of process @pid now, or of the kernel. Never NULL: when memory is short, one that
 * maps nothing. Valid until the next resolver_record(); the kernel's always.
 */
struct resolver_space *resolver_process(struct resolver *resolver, u32 pid);
struct resolver_space *resolver_kernel(struct resolver *resolver);

/* What PERF_RECORD_MISC_* mode @cpumode means for @pid; for guests a space without mappings. */
struct resolver_space *resolver_space(struct resolver *resolver, u32 pid, u8 cpumode);

/*
 * What @ip is in @space: the id of a place, also when nothing is known of it (see its fields).
 * Place 0 is a place without anything; it is returned when memory is short.
 */
u32 resolver_place(struct resolver *resolver, struct resolver_space *space, u64 ip);

/* By id. Valid until the next call that can make a place. */
const struct resolver_place *resolver_place_at(const struct resolver *resolver, u32 place);
u32 resolver_nr_places(const struct resolver *resolver);

/*
 * A sample's chain, or its ip alone when it has none: up to @max places and, unless NULL, their
 * addresses, innermost first, PERF_CONTEXT_* markers obeyed and left out. As in perf a marker that
 * is not kernel, user or hypervisor discards the whole chain. Returns how many. The first space is
 * that of the sample's own mode for an ip alone, user space for a chain that starts unmarked.
 */
size_t resolver_chain(struct resolver *resolver, const struct perfdata_record *sample, size_t max,
		      u32 *ret_places, u64 *ret_ips);

/* As many places as the chain of @sample can have. */
size_t resolver_chain_max(const struct resolver *resolver, const struct perfdata_record *sample);

/* The source line of a place, "file.c:12"; -ENOENT: not known, or lines were not asked for. */
int resolver_line(struct resolver *resolver, u32 place, char *ret, size_t size);

/*
 * Objects by id. The name is perf script's, the short name perf report's: "[ext4]", "/bin/x" and
 * "x". "[unknown]" for RESOLVER_NONE.
 */
u32 resolver_nr_dsos(const struct resolver *resolver);
const char *resolver_dso_name(const struct resolver *resolver, u32 dso);
const char *resolver_dso_short_name(const struct resolver *resolver, u32 dso);
bool resolver_dso_is_kernel(const struct resolver *resolver, u32 dso);	/* also modules */

/*
 * How many objects were looked into in vain: programs, modules and the kernel, with a build id, of
 * which no file or list of symbols was found. The first in *@ret_first, unless there is none.
 */
u32 resolver_nr_missing(const struct resolver *resolver, u32 *ret_first);
const struct build_id *resolver_dso_build_id(const struct resolver *resolver, u32 dso);

/* Symbols by id: names (demangled unless told otherwise) that stay where they are. */
u32 resolver_nr_symbols(const struct resolver *resolver);
const char *resolver_symbol_name(struct resolver *resolver, u32 symbol);
u32 resolver_symbol_dso(const struct resolver *resolver, u32 symbol);

/*
 * The command name of thread @tid of @pid now, as an id; names are equal when ids are. ":tid" for
 * a thread that never had one. RESOLVER_NONE: out of memory.
 */
u32 resolver_comm(struct resolver *resolver, u32 pid, u32 tid);
u32 resolver_nr_comms(const struct resolver *resolver);
const char *resolver_comm_name(const struct resolver *resolver, u32 comm);

#endif
