/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that the kernel made itself (BPF programs, trampolines), each an object of its own with one
 * symbol, as machine__process_ksymbol() of tools/perf/util/machine.c, Linux 6.1, has it.
 */
#include "symbols/resolve-private.h"

#include "perfdata/place.h"

#define MAX_CODE (64U << 20)	/* bytes of one; a JIT's limit is far below */

/* Unless something is there already: a module, or the kernel itself. */
static bool is_free(const struct resolver *resolver, u64 start)
{
	if (resolver->kernel_dso != RESOLVER_NONE && start >= resolver->kernel_start &&
	    start < resolver->kernel_end)
		return false;
	return !space_find(&resolver->kernel.space, start);
}

static bool has_room(const struct perfdata_record *record)
{
	return record->ksymbol.len <= MAX_CODE || perfdata_is_place(record->ksymbol.start);
}

static int make_symbol(struct dso *dso, u64 start, u32 len, const char *name)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	int err = symtab_create(&symtab);

	if (!err)
		err = symtab_add(symtab, start, len, 't', name);
	if (!err)
		err = symtab_finish(symtab);
	if (!err)
		dso->symtab = TAKE_PTR(symtab);
	dso->loaded = true;
	return err;
}

static int take_code(struct resolver *resolver, const struct perfdata_record *record)
{
	static const struct build_id none;
	struct map map = {
		.start = record->ksymbol.start,
		.end = record->ksymbol.start + record->ksymbol.len,
		.identity = true,
	};
	struct dso *dso;
	int err = resolver_find_dso(resolver, DSO_CODE, record->ksymbol.name,
				    hash_combine(map.start, map.end), &none, &map.dso);

	if (err)
		return err;
	dso = resolver->dsos.data[map.dso];
	if (dso->kind != DSO_CODE)	/* a guest chose the name of a file of its */
		return 0;
	if (!dso->symtab)
		err = make_symbol(dso, map.start, record->ksymbol.len, record->ksymbol.name);
	return err ? err : space_insert(&resolver->kernel.space, &map);
}

static void drop_code(struct resolver *resolver, u64 start)
{
	const struct map *map = space_find(&resolver->kernel.space, start);

	if (map && resolver->dsos.data[map->dso]->kind == DSO_CODE)
		space_remove(&resolver->kernel.space, map->start);
}

int resolver_take_ksymbol(struct resolver *resolver, const struct perfdata_record *record)
{
	u32 len = record->ksymbol.len;
	int err = 0;

	resolver->kernel.tag = resolver_new_tag(resolver);
	if (record->ksymbol.gone)
		drop_code(resolver, record->ksymbol.start);
	else if (len && has_room(record) && record->ksymbol.start <= UINT64_MAX - len &&
		 *record->ksymbol.name && is_free(resolver, record->ksymbol.start))
		err = take_code(resolver, record);
	return err;
}
