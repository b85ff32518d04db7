/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the resolver share. */
#ifndef SYMBOLS_RESOLVE_PRIVATE_H
#define SYMBOLS_RESOLVE_PRIVATE_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "symbols/dso.h"
#include "symbols/resolve.h"
#include "symbols/space.h"

#define RESOLVER_CACHE_BITS 15

struct resolver_space {
	struct space space;
	u64 tag;
};

struct cache_slot {
	u64 ip, tag;	/* tag 0: free */
	u32 place;
};

struct header_build_id {
	char *filename;
	char *module;	/* "[name]" when it is a kernel module; NULL else */
	bool kernel;	/* or a module */
	struct build_id id;
};

struct symbol_ref {
	u32 dso;
	u32 index;	/* in its table; RESOLVER_NONE: of an inlined function */
	const char *inlined;	/* its name */
	char *demangled;
	bool asked;	/* whether it can be demangled */
};

struct resolver {
	struct symbol_sources *sources;
	char *release;
	bool demangle, lines, inlines;
	VEC(struct header_build_id) build_ids;
	VEC(struct dso *) dsos;
	struct hashmap dso_index;
	VEC(struct resolver_place) places;
	struct hashmap place_index;
	struct hashmap inline_symbols;	/* hash of object and name → id + 1 */
	struct hashmap inline_places;	/* place → id of the first inlined into it; 0: none */
	VEC(struct symbol_ref) symbols;
	VEC(char *) comms;
	struct hashmap comm_index;
	struct hashmap threads;		/* tid → id of its comm + 1 */
	struct hashmap processes;	/* pid → struct resolver_space * */
	struct resolver_space kernel;	/* modules; the kernel itself is in the fields below */
	struct resolver_space nothing;
	u32 kernel_dso;
	u64 kernel_start, kernel_end;
	u64 last_tag;
	u64 seed;	/* of hashes: guests choose addresses and names */
	struct cache_slot slots[1 << RESOLVER_CACHE_BITS];
};

/* For a space whose mappings changed: what the cache knows of it is of the past. */
static inline u64 resolver_new_tag(struct resolver *resolver)
{
	return ++resolver->last_tag;
}

/* A copy of @from (NULL: none) in the place of what is there. */
int resolver_copy_string(const char *from, char **place);

/* The object of that path and identity, made on first sight; no kernel and no module. */
int resolver_find_dso(struct resolver *resolver, enum dso_kind kind, const char *path, u64 identity,
		      const struct build_id *id, u32 *ret);

/* Of code that the kernel made, or freed. */
int resolver_take_ksymbol(struct resolver *resolver, const struct perfdata_record *record);

/* The id of a command name, made on first sight. */
int resolver_intern_comm(struct resolver *resolver, const char *comm, u32 *ret);

#endif
