/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the addresses in a perf.data to names. Most addresses come again and again, hence a small
 * direct-mapped cache in front: (state of a space, address) → place. A space gets a new tag with
 * each change of its mappings, so that nothing has to be thrown out of the cache.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/resolve-private.h"

#define NO_MEMORY_PLACE 0	/* the place that stands for those that could not be made */

int resolver_copy_string(const char *from, char **place)
{
	char *copy = from ? strdup(from) : NULL;

	if (from && !copy)
		return -ENOMEM;
	free(*place);
	*place = copy;
	return 0;
}

int resolver_create(const struct resolver_options *options, struct resolver **ret)
{
	_cleanup_(resolver_destroy) struct resolver *resolver = calloc(1, sizeof(*resolver));
	static const struct resolver_place no_place = { RESOLVER_NONE, RESOLVER_NONE, 0, 0 };
	int err;

	if (!resolver)
		return -ENOMEM;
	resolver->kernel_dso = RESOLVER_NONE;
	resolver->seed = hash_new_seed();
	resolver->demangle = !options->no_demangle;
	resolver->lines = options->lines;
	resolver->inlines = options->inlines;
	resolver->kernel.tag = resolver_new_tag(resolver);
	resolver->nothing.tag = resolver_new_tag(resolver);
	err = symbol_sources_create(&options->sources, &resolver->sources);
	if (!err)
		err = vec_push(&resolver->places, no_place);
	if (err)
		return err;
	*ret = TAKE_PTR(resolver);
	return 0;
}

static void destroy_process(struct resolver_space *process)
{
	space_deinit(&process->space);
	free(process);
}

static void destroy_processes(struct hashmap *processes)
{
	for (size_t i = 0; processes->slots && i <= processes->mask; i++)
		if (processes->used[i])
			destroy_process((struct resolver_space *)processes->slots[i].value);
	hashmap_deinit(processes);
}

void resolver_destroy(struct resolver *resolver)
{
	if (!resolver)
		return;
	destroy_processes(&resolver->processes);
	space_deinit(&resolver->kernel.space);
	for (size_t i = 0; i < resolver->dsos.nr; i++)
		dso_destroy(resolver->dsos.data[i]);
	vec_deinit(&resolver->dsos);
	for (size_t i = 0; i < resolver->build_ids.nr; i++) {
		free(resolver->build_ids.data[i].filename);
		free(resolver->build_ids.data[i].module);
	}
	vec_deinit(&resolver->build_ids);
	for (size_t i = 0; i < resolver->symbols.nr; i++)
		free(resolver->symbols.data[i].demangled);
	vec_deinit(&resolver->symbols);
	for (size_t i = 0; i < resolver->comms.nr; i++)
		free(resolver->comms.data[i]);
	vec_deinit(&resolver->comms);
	vec_deinit(&resolver->places);
	hashmap_deinit(&resolver->dso_index);
	hashmap_deinit(&resolver->place_index);
	hashmap_deinit(&resolver->inline_symbols);
	hashmap_deinit(&resolver->inline_places);
	hashmap_deinit(&resolver->comm_index);
	hashmap_deinit(&resolver->threads);
	symbol_sources_destroy(resolver->sources);
	free(resolver->release);
	free(resolver);
}

static int load(struct resolver *resolver, struct dso *dso)
{
	const struct dso_sources sources = {
		.from = resolver->sources,
		.release = resolver->release,
		.demangle = resolver->demangle && dso->kind != DSO_KERNEL &&
			    dso->kind != DSO_MODULE,
		.lines = (resolver->lines || resolver->inlines) && dso->kind != DSO_MODULE,
	};
	const struct symbol *last;
	int err;

	if (dso->loaded)
		return 0;
	err = dso_load(dso, &sources);
	if (!err && dso->kind == DSO_KERNEL && dso->symtab && symtab_nr(dso->symtab)) {
		/* Its mapping may have been said to go on to the first module. */
		last = symtab_at(dso->symtab, symtab_nr(dso->symtab) - 1);
		resolver->kernel_end = last->end - dso->bias;
	}
	return err;
}

/*
 * Where kallsyms has the module: where the recording has it, when that is of the same boot, or
 * where a list of that other boot's modules says. -ENOENT: not known.
 */
static int start_in_kallsyms(struct resolver *resolver, const struct dso *dso,
			     const struct dso *kernel, u64 recorded, u64 *ret)
{
	char name[64];

	if (snprintf(name, sizeof(name), "%.*s", (int)strlen(dso->short_name) - 2,
		     dso->short_name + 1) < (int)sizeof(name) &&
	    !symbol_sources_module_start(resolver->sources, name, ret))
		return 0;
	if (kernel->kallsyms_bias)
		return -ENOENT;
	*ret = recorded;
	return 0;
}

/* A module without a file of its own: its lines in the kernel's kallsyms. */
static int load_module(struct resolver *resolver, struct dso *dso, const struct map *map)
{
	struct dso *kernel;
	u64 start;
	int err;

	if (dso->loaded)
		return 0;
	err = load(resolver, dso);
	if (err || dso->symtab || resolver->kernel_dso == RESOLVER_NONE)
		return err;
	kernel = resolver->dsos.data[resolver->kernel_dso];
	err = load(resolver, kernel);
	if (err || !kernel->kallsyms || strlen(dso->short_name) < 3 ||
	    start_in_kallsyms(resolver, dso, kernel, map->start, &start))
		return err;
	return dso_load_module_from(dso, kernel, start);
}

/* Fills in the object and the address in it, with its symbols loaded. */
static int locate_in_kernel(struct resolver *resolver, u64 ip, struct resolver_place *place)
{
	const struct map *map = space_find(&resolver->kernel.space, ip);
	struct dso *dso;
	int err;

	if (map) {
		dso = resolver->dsos.data[map->dso];
		err = load_module(resolver, dso, map);
		place->dso = map->dso;
		place->addr = map_address(map, ip) + dso->bias;
		return err;
	}
	if (resolver->kernel_dso == RESOLVER_NONE)
		return 0;
	dso = resolver->dsos.data[resolver->kernel_dso];
	err = load(resolver, dso);
	if (!err && ip >= resolver->kernel_start && ip < resolver->kernel_end)
		place->dso = resolver->kernel_dso;
	return err;
}

static int locate(struct resolver *resolver, const struct resolver_space *space, u64 ip,
		  struct resolver_place *place)
{
	const struct map *map;

	place->addr = ip;
	if (space == &resolver->kernel)
		return locate_in_kernel(resolver, ip, place);
	map = space_find(&space->space, ip);
	if (!map)
		return 0;
	place->dso = map->dso;
	place->addr = map_address(map, ip);
	return load(resolver, resolver->dsos.data[map->dso]);
}

static int symbol_id(struct resolver *resolver, u32 dso_id, const struct symbol *symbol, u32 *ret)
{
	struct dso *dso = resolver->dsos.data[dso_id];
	struct symbol_ref ref = { .dso = dso_id, .index = symbol - symtab_at(dso->symtab, 0) };
	u32 *id;
	int err;

	if (!dso->symbol_ids) {
		dso->symbol_ids = calloc(symtab_nr(dso->symtab), sizeof(*dso->symbol_ids));
		if (!dso->symbol_ids)
			return -ENOMEM;
	}
	id = &dso->symbol_ids[ref.index];
	if (!*id) {
		err = vec_push(&resolver->symbols, ref);
		if (err)
			return err;
		*id = resolver->symbols.nr;
	}
	*ret = *id - 1;
	return 0;
}

static int name_place(struct resolver *resolver, struct resolver_place *place)
{
	const struct dso *dso = resolver->dsos.data[place->dso];
	const struct symbol *symbol;
	u64 addr = place->addr;

	if (!dso->symtab)
		return 0;
	if (dso->kind == DSO_KERNEL)
		addr += dso->bias;
	symbol = symtab_find(dso->symtab, addr);
	if (!symbol)
		return 0;
	place->offset = addr - symbol->start;
	return symbol_id(resolver, place->dso, symbol, &place->symbol);
}

/* The id of @place's object and address, with the rest filled in when it is new. */
static int intern_place(struct resolver *resolver, struct resolver_place *place, u32 *ret)
{
	u64 key = hash_combine(resolver->seed ^ place->dso, place->addr), *slot;
	int err = 0;

	for (;; key++) {
		const struct resolver_place *other;

		slot = hashmap_put(&resolver->place_index, key, NULL);
		if (!slot)
			return -ENOMEM;
		if (!*slot)
			break;
		other = &resolver->places.data[*slot];
		if (other->dso == place->dso && other->addr == place->addr) {
			*ret = *slot;
			return 0;
		}
	}
	if (place->dso != RESOLVER_NONE)
		err = name_place(resolver, place);
	if (!err)
		err = vec_push(&resolver->places, *place);
	if (err)
		return err;
	*ret = *slot = resolver->places.nr - 1;
	return 0;
}

/* The symbol of that inlined function: the same one wherever it was inlined. */
static int inline_symbol(struct resolver *resolver, u32 dso, const char *name, u32 *ret)
{
	const struct symbol_ref ref = { .dso = dso, .index = RESOLVER_NONE, .inlined = name };
	u64 key = hash_bytes_seeded(resolver->seed ^ dso, name, strlen(name)), *slot;
	int err;

	for (;; key++) {
		const struct symbol_ref *other;

		slot = hashmap_put(&resolver->inline_symbols, key, NULL);
		if (!slot)
			return -ENOMEM;
		if (!*slot)
			break;
		other = &resolver->symbols.data[*slot - 1];
		if (other->dso == dso && !strcmp(other->inlined, name)) {
			*ret = *slot - 1;
			return 0;
		}
	}
	err = vec_push(&resolver->symbols, ref);
	if (err)
		return err;
	*slot = resolver->symbols.nr;
	*ret = *slot - 1;
	return 0;
}

/* What DWARF has for the address of a place. */
static struct dwarf_lines *place_lines(const struct resolver *resolver,
				       const struct resolver_place *place, u64 *ret_addr)
{
	const struct dso *dso;

	if (place->dso == RESOLVER_NONE)
		return NULL;
	dso = resolver->dsos.data[place->dso];
	return dso_lines(dso, place->addr + (dso->kind == DSO_KERNEL ? dso->bias : 0), ret_addr);
}

/* Places for what was inlined at @place, one after the other, innermost first. How many. */
static size_t make_inlines(struct resolver *resolver, u32 place)
{
	struct dwarf_inline inlines[DWARF_LINES_MAX_INLINES];
	struct resolver_place new = resolver->places.data[place];
	struct dwarf_lines *lines;
	size_t nr;
	u64 addr;

	lines = place_lines(resolver, &new, &addr);
	nr = lines ? dwarf_lines_inlines(lines, addr, inlines) : 0;
	new.inlined = true;
	for (size_t i = 0; i < nr; i++)
		if (inline_symbol(resolver, new.dso, inlines[i].function, &new.symbol) ||
		    vec_push(&resolver->places, new))
			return i;
	return nr;
}

/* The first inlined place of @place and how many there are. */
static size_t inlines_of(struct resolver *resolver, u32 place, u32 *ret_first)
{
	bool is_new;
	u64 *slot = hashmap_put(&resolver->inline_places, place, &is_new);
	size_t nr;

	if (!slot)
		return 0;
	if (is_new) {
		u64 first = resolver->places.nr;

		nr = make_inlines(resolver, place);
		*slot = first << 8 | nr;
	}
	*ret_first = *slot >> 8;
	return *slot & 0xff;
}

static u32 make_place(struct resolver *resolver, struct resolver_space *space, u64 ip,
		      struct cache_slot *slot)
{
	struct resolver_place place = { .dso = RESOLVER_NONE, .symbol = RESOLVER_NONE };
	u32 id;
	int err = locate(resolver, space, ip, &place);

	if (!err)
		err = intern_place(resolver, &place, &id);
	if (err)
		return NO_MEMORY_PLACE;
	*slot = (struct cache_slot){ .ip = ip, .tag = space->tag, .place = id };
	return id;
}

static u32 find_place(struct resolver *resolver, struct resolver_space *space, u64 ip)
{
	u64 hash = (ip ^ space->tag << 40) * 0x9e3779b97f4a7c15ULL;
	struct cache_slot *slot = &resolver->slots[hash >> (64 - RESOLVER_CACHE_BITS)];

	if (likely(slot->ip == ip && slot->tag == space->tag))
		return slot->place;
	return make_place(resolver, space, ip, slot);
}

u32 resolver_place(struct resolver *resolver, struct resolver_space *space, u64 ip)
{
	return find_place(resolver, space, ip);
}

const struct resolver_place *resolver_place_at(const struct resolver *resolver, u32 place)
{
	return &resolver->places.data[place];
}

int resolver_line(struct resolver *resolver, u32 place, char *ret, size_t size)
{
	struct dwarf_lines *lines;
	struct dwarf_line line;
	u64 addr;
	int err;

	lines = place_lines(resolver, &resolver->places.data[place], &addr);
	err = lines ? dwarf_lines_find(lines, addr, &line) : -ENOENT;
	if (!err)
		snprintf(ret, size, "%s:%d", line.file, line.line);
	return err;
}

u32 resolver_nr_places(const struct resolver *resolver)
{
	return resolver->places.nr;
}

/* The space that a marker in a chain switches to; NULL: one that perf does not know. */
static struct resolver_space *marked_space(struct resolver *resolver, u32 pid, u64 marker)
{
	switch (marker) {
	case PERF_CONTEXT_KERNEL:
		return &resolver->kernel;
	case PERF_CONTEXT_USER:
		return resolver_process(resolver, pid);
	case PERF_CONTEXT_HV:
		return &resolver->nothing;
	default:
		return NULL;
	}
}

static size_t put_place(u64 ip, u32 place, size_t nr, u32 *places, u64 *ips)
{
	places[nr] = place;
	if (ips)
		ips[nr] = ip;
	return nr + 1;
}

/* A place of a chain and, before it, what was inlined there. */
static size_t put_places(struct resolver *resolver, u64 ip, u32 place, size_t nr, size_t max,
			 u32 *places, u64 *ips)
{
	u32 first = 0;
	size_t nr_inlines = resolver->inlines ? inlines_of(resolver, place, &first) : 0;

	for (size_t i = 0; i < nr_inlines && nr < max; i++)
		nr = put_place(ip, first + i, nr, places, ips);
	return nr < max ? put_place(ip, place, nr, places, ips) : nr;
}

size_t resolver_chain_max(const struct resolver *resolver, const struct perfdata_record *sample)
{
	size_t each = resolver->inlines ? 1 + DWARF_LINES_MAX_INLINES : 1;

	return MAX(sample->sample.nr_ips, 1) * each;
}

size_t resolver_chain(struct resolver *resolver, const struct perfdata_record *sample, size_t max,
		      u32 *ret_places, u64 *ret_ips)
{
	struct resolver_space *space;
	size_t nr = 0;

	if (!sample->sample.nr_ips && max) {
		space = resolver_space(resolver, sample->pid, sample->cpumode);
		return put_place(sample->sample.ip,
				 find_place(resolver, space, sample->sample.ip), 0, ret_places,
				 ret_ips);
	}
	space = resolver_process(resolver, sample->pid);
	for (u64 i = 0; i < sample->sample.nr_ips && nr < max; i++) {
		u64 ip = sample->sample.ips[i];

		if (likely(ip < PERF_CONTEXT_MAX)) {
			nr = put_places(resolver, ip, find_place(resolver, space, ip), nr, max,
					ret_places, ret_ips);
			continue;
		}
		space = marked_space(resolver, sample->pid, ip);
		if (!space)
			return 0;
	}
	return nr;
}

const struct symbol_sources *resolver_sources(const struct resolver *resolver)
{
	return resolver->sources;
}

u32 resolver_nr_dsos(const struct resolver *resolver)
{
	return resolver->dsos.nr;
}

const char *resolver_dso_name(const struct resolver *resolver, u32 dso)
{
	return dso == RESOLVER_NONE ? "[unknown]" : resolver->dsos.data[dso]->name;
}

const char *resolver_dso_short_name(const struct resolver *resolver, u32 dso)
{
	return dso == RESOLVER_NONE ? "[unknown]" : resolver->dsos.data[dso]->short_name;
}

static bool is_missing(const struct dso *dso)
{
	return (dso->kind == DSO_USER || dso->kind == DSO_KERNEL || dso->kind == DSO_MODULE) &&
	       dso->loaded && !dso->symtab && dso->build_id.size;
}

u32 resolver_nr_missing(const struct resolver *resolver, u32 *ret_first)
{
	u32 nr = 0;

	for (u32 i = 0; i < resolver->dsos.nr; i++) {
		if (!is_missing(resolver->dsos.data[i]))
			continue;
		if (!nr++)
			*ret_first = i;
	}
	return nr;
}

const struct build_id *resolver_dso_build_id(const struct resolver *resolver, u32 dso)
{
	return &resolver->dsos.data[dso]->build_id;
}

bool resolver_dso_is_kernel(const struct resolver *resolver, u32 dso)
{
	enum dso_kind kind;

	if (dso == RESOLVER_NONE)
		return false;
	kind = resolver->dsos.data[dso]->kind;
	return kind == DSO_KERNEL || kind == DSO_MODULE || kind == DSO_CODE;
}

u32 resolver_nr_symbols(const struct resolver *resolver)
{
	return resolver->symbols.nr;
}

const char *resolver_symbol_name(struct resolver *resolver, u32 symbol)
{
	struct symbol_ref *ref;
	const struct dso *dso;
	const char *name;

	if (symbol == RESOLVER_NONE)
		return "[unknown]";
	ref = &resolver->symbols.data[symbol];
	dso = resolver->dsos.data[ref->dso];
	name = ref->inlined ? ref->inlined :
			      symtab_name(dso->symtab, symtab_at(dso->symtab, ref->index));
	if (!ref->asked) {
		ref->asked = true;
		if (resolver->demangle && !resolver_dso_is_kernel(resolver, ref->dso))
			ref->demangled = demangle(name);
	}
	return ref->demangled ? ref->demangled : name;
}

u32 resolver_symbol_dso(const struct resolver *resolver, u32 symbol)
{
	return resolver->symbols.data[symbol].dso;
}

int resolver_intern_comm(struct resolver *resolver, const char *comm, u32 *ret)
{
	u64 key = hash_bytes_seeded(resolver->seed, comm, strlen(comm)), *slot;
	char *copy = NULL;
	int err;

	for (;; key++) {
		slot = hashmap_put(&resolver->comm_index, key, NULL);
		if (!slot)
			return -ENOMEM;
		if (!*slot)
			break;
		if (!strcmp(resolver->comms.data[*slot - 1], comm)) {
			*ret = *slot - 1;
			return 0;
		}
	}
	err = resolver_copy_string(comm, &copy);
	if (!err)
		err = vec_push(&resolver->comms, copy);
	if (err) {
		free(copy);
		return err;
	}
	*slot = resolver->comms.nr;
	*ret = *slot - 1;
	return 0;
}

u32 resolver_comm(struct resolver *resolver, u32 pid, u32 tid)
{
	u64 *slot = hashmap_get(&resolver->threads, tid);
	char text[16];
	u32 comm;

	(void)pid;	/* thread ids are the machine's, not the process's */
	if (slot && *slot)
		return *slot - 1;
	if (tid)
		snprintf(text, sizeof(text), ":%d", (int)tid);
	else
		snprintf(text, sizeof(text), "swapper");
	return resolver_intern_comm(resolver, text, &comm) ? RESOLVER_NONE : comm;
}

u32 resolver_nr_comms(const struct resolver *resolver)
{
	return resolver->comms.nr;
}

const char *resolver_comm_name(const struct resolver *resolver, u32 comm)
{
	return comm == RESOLVER_NONE ? "[unknown]" : resolver->comms.data[comm];
}
