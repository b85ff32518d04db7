/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The resolver's view of the machine: which objects are mapped where and what threads are called,
 * as the records of a perf.data tell it. Names and identities of objects follow
 * tools/perf/util/{map,machine,dso,thread}.c of Linux 6.1.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "perfdata/format.h"
#include "symbols/resolve-private.h"

#define KERNEL_NAME "[kernel.kallsyms]"

/* MAP_HUGETLB and PROT_EXEC as records have them, whatever this machine's numbers are. */
#define RECORD_MAP_HUGETLB 0x40000
#define RECORD_PROT_EXEC 4

/* "/lib/…/snd-pcm.ko.xz" and "[snd_pcm]" → "[snd_pcm]"; NULL and 0 when it is no module. */
static int module_name(const char *filename, char **ret)
{
	const char *base = strrchr(filename, '/'), *end;
	char *name = NULL;

	base = base ? base + 1 : filename;
	if (*base == '[') {
		if (strncmp(base, KERNEL_NAME, strlen(KERNEL_NAME)) && strcmp(base, "[vdso]") &&
		    !(name = strdup(base)))
			return -ENOMEM;
	} else if ((end = strstr(base, ".ko")) && (!end[3] || end[3] == '.')) {
		if (asprintf(&name, "[%.*s]", (int)(end - base), base) < 0)
			return -ENOMEM;
		for (char *p = name; *p; p++)
			if (*p == '-')
				*p = '_';
	}
	*ret = name;
	return 0;
}

int resolver_add_build_id(struct resolver *resolver, const struct perfdata_build_id *build_id)
{
	struct header_build_id entry = {
		.id = build_id_make(build_id->id, build_id->size),
		.kernel = (build_id->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			  PERF_RECORD_MISC_KERNEL,
	};
	u8 mode = build_id->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	int err = 0;

	/* Those of the guests of a host's recording belong to other spaces than ours. */
	if (mode != PERF_RECORD_MISC_KERNEL && mode != PERF_RECORD_MISC_USER)
		return 0;
	if (entry.kernel)
		err = module_name(build_id->filename, &entry.module);
	if (!err)
		err = resolver_copy_string(build_id->filename, &entry.filename);
	if (!err)
		err = vec_push(&resolver->build_ids, entry);
	if (err) {
		free(entry.module);
		free(entry.filename);
	}
	return err;
}

int resolver_set_release(struct resolver *resolver, const char *release)
{
	return resolver_copy_string(release, &resolver->release);
}

int resolver_add_build_ids(struct resolver *resolver, const struct perfdata_reader *reader)
{
	int err = resolver_set_release(resolver,
				       perfdata_reader_string(reader, PERFDATA_FEATURE_OSRELEASE));

	for (size_t i = 0; i < perfdata_reader_nr_build_ids(reader) && !err; i++)
		err = resolver_add_build_id(resolver, perfdata_reader_build_id(reader, i));
	return err;
}

/* perf's own idea of the last part of a path: run-time compilers' maps have a name of their own. */
static int make_short_name(enum dso_kind kind, const char *path, char **ret)
{
	const char *slash = strrchr(path, '/');
	unsigned int pid;

	if (kind == DSO_PERF_MAP && sscanf(path, "/tmp/perf-%u.map", &pid) == 1) {
		if (asprintf(ret, "[JIT] tid %u", pid) < 0) {
			*ret = NULL;
			return -ENOMEM;
		}
		return 0;
	}
	return resolver_copy_string(slash ? slash + 1 : path, ret);
}

static int make_dso(enum dso_kind kind, const char *name, const char *short_name,
		    const char *path, struct dso **ret)
{
	struct dso *dso = calloc(1, sizeof(*dso));
	int err;

	if (!dso)
		return -ENOMEM;
	dso->kind = kind;
	err = resolver_copy_string(name, &dso->name);
	if (!err)
		err = resolver_copy_string(path, &dso->path);
	if (!err)
		err = short_name ? resolver_copy_string(short_name, &dso->short_name) :
				   make_short_name(kind, path, &dso->short_name);
	if (err) {
		dso_destroy(dso);
		return err;
	}
	*ret = dso;
	return 0;
}

/* Where the object of that path and identity is, or is to be put: its index + 1, or 0. */
static u64 *dso_slot(struct resolver *resolver, const char *path, u64 identity)
{
	u64 key = hash_bytes_seeded(resolver->seed ^ identity, path, strlen(path)), *slot;

	for (;; key++) {
		const struct dso *dso;

		slot = hashmap_put(&resolver->dso_index, key, NULL);
		if (!slot || !*slot)
			return slot;
		dso = resolver->dsos.data[*slot - 1];
		if (dso->identity == identity && !strcmp(dso->path, path))
			return slot;
	}
}

/* Takes @dso over, also on failure. */
static int add_dso(struct resolver *resolver, struct dso *dso, u32 *ret)
{
	int err = vec_push(&resolver->dsos, dso);

	if (err)
		dso_destroy(dso);
	else
		*ret = resolver->dsos.nr - 1;
	return err;
}

static const struct header_build_id *find_header_id(const struct resolver *resolver,
						    const char *filename)
{
	for (size_t i = 0; i < resolver->build_ids.nr; i++)
		if (!strcmp(resolver->build_ids.data[i].filename, filename))
			return &resolver->build_ids.data[i];
	return NULL;
}

static int new_user_dso(struct resolver *resolver, enum dso_kind kind, const char *path,
			u64 identity, const struct build_id *id, u32 *ret)
{
	const struct header_build_id *header = find_header_id(resolver, path);
	struct dso *dso;
	int err = make_dso(kind, path, NULL, path, &dso);

	if (err)
		return err;
	dso->identity = identity;
	if (id->size)
		dso->build_id = *id;
	else if (header)
		dso->build_id = header->id;
	return add_dso(resolver, dso, ret);
}

int resolver_find_dso(struct resolver *resolver, enum dso_kind kind, const char *path, u64 identity,
		      const struct build_id *id, u32 *ret)
{
	u64 *slot = dso_slot(resolver, path, identity);
	u32 dso;
	int err;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		err = new_user_dso(resolver, kind, path, identity, id, &dso);
		if (err)
			return err;
		*slot = dso + 1;
	}
	*ret = *slot - 1;
	return 0;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Memory that is no file: what runs there was made at run time. */
static bool is_anonymous(const struct perfdata_record *record)
{
	const char *name = record->mmap.filename;

	return !strcmp(name, "//anon") || starts_with(name, "/dev/zero") ||
	       starts_with(name, "/anon_hugepage") || starts_with(name, "[stack") ||
	       starts_with(name, "/SYSV") || !strcmp(name, "[heap]") ||
	       record->mmap.flags & RECORD_MAP_HUGETLB;
}

static bool is_vdso(const char *name)
{
	return !strcmp(name, "[vdso]") || !strcmp(name, "[vdso32]") || !strcmp(name, "[vdsox32]");
}

/* The record of old perf says executable in another way. */
static bool is_executable(const struct perfdata_record *record)
{
	if (record->type == PERF_RECORD_MMAP)
		return !(record->misc & PERF_RECORD_MISC_MMAP_DATA);
	return record->mmap.prot & RECORD_PROT_EXEC;
}

static u64 record_identity(const struct perfdata_record *record)
{
	if (record->mmap.build_id_size)
		return hash_bytes(record->mmap.build_id, record->mmap.build_id_size);
	return hash_combine((u64)record->mmap.maj << 32 | record->mmap.min, record->mmap.ino);
}

static int dso_of_mmap(struct resolver *resolver, const struct perfdata_record *record,
		       struct map *map)
{
	const struct build_id id = build_id_make(record->mmap.build_id, record->mmap.build_id_size);
	const char *name = record->mmap.filename;
	u64 identity = record_identity(record);
	enum dso_kind kind = DSO_USER;
	char perf_map[64];

	if (is_anonymous(record)) {
		map->identity = true;
		kind = DSO_NO_SYMBOLS;
		if (is_executable(record)) {
			snprintf(perf_map, sizeof(perf_map), "/tmp/perf-%u.map", record->pid);
			name = perf_map;
			kind = DSO_PERF_MAP;
		}
	} else if (is_vdso(name)) {
		kind = DSO_VDSO;
		identity = 0;
		map->pgoff = 0;
	}
	return resolver_find_dso(resolver, kind, name, identity, &id, &map->dso);
}

static struct resolver_space *find_process(const struct resolver *resolver, u32 pid)
{
	u64 *slot = hashmap_get(&resolver->processes, pid);

	return slot ? (struct resolver_space *)*slot : NULL;
}

static int get_process(struct resolver *resolver, u32 pid, struct resolver_space **ret)
{
	struct resolver_space *process = find_process(resolver, pid);
	u64 *slot;

	if (!process) {
		process = calloc(1, sizeof(*process));
		slot = process ? hashmap_put(&resolver->processes, pid, NULL) : NULL;
		if (!slot) {
			free(process);
			return -ENOMEM;
		}
		process->tag = resolver_new_tag(resolver);
		*slot = (uintptr_t)process;
	}
	*ret = process;
	return 0;
}

static int take_user_mmap(struct resolver *resolver, const struct perfdata_record *record)
{
	struct map map = {
		.start = record->mmap.start,
		.end = record->mmap.start + record->mmap.len,
		.pgoff = record->mmap.pgoff,
	};
	struct resolver_space *process;
	int err;

	if (map.end < map.start)
		return 0;
	err = get_process(resolver, record->pid, &process);
	if (err)
		return err;
	process->tag = resolver_new_tag(resolver);
	err = dso_of_mmap(resolver, record, &map);
	return err ? err : space_insert(&process->space, &map);
}

/* By the name that it has in the build-id table, which is a vmlinux's when perf had one. */
static int make_kernel_dso(struct resolver *resolver, u32 *ret)
{
	const struct header_build_id *header = NULL;
	const char *name = KERNEL_NAME;
	struct dso *dso;
	int err;

	for (size_t i = 0; i < resolver->build_ids.nr && !header; i++)
		if (resolver->build_ids.data[i].kernel && !resolver->build_ids.data[i].module)
			header = &resolver->build_ids.data[i];
	if (header)
		name = header->filename;
	err = make_dso(DSO_KERNEL, name, strstr(name, "vmlinux") ? "[kernel.vmlinux]" : NULL,
		       name, &dso);
	if (err)
		return err;
	if (header)
		dso->build_id = header->id;
	return add_dso(resolver, dso, ret);
}

/* "[kernel.kallsyms]_text": the part behind the name is the reference symbol, pgoff its address. */
static int take_kernel_mmap(struct resolver *resolver, const struct perfdata_record *record)
{
	const char *ref = record->mmap.filename + strlen(KERNEL_NAME);
	struct dso *dso;
	int err = 0;

	if (resolver->kernel_dso == RESOLVER_NONE)
		err = make_kernel_dso(resolver, &resolver->kernel_dso);
	if (err)
		return err;
	dso = resolver->dsos.data[resolver->kernel_dso];
	/* Its symbols are in use at the place where it was first said to be. */
	if (dso->loaded)
		return 0;
	if (record->mmap.build_id_size)
		dso->build_id = build_id_make(record->mmap.build_id, record->mmap.build_id_size);
	resolver->kernel_start = record->mmap.start;
	resolver->kernel_end = record->mmap.start + record->mmap.len;
	if (!resolver->kernel_start && !record->mmap.len)
		resolver->kernel_end = UINT64_MAX;
	dso->ref_addr = record->mmap.pgoff;
	return resolver_copy_string(*ref ? ref : NULL, &dso->ref_name);
}

static int new_module_dso(struct resolver *resolver, const char *module,
			  const struct perfdata_record *record, u32 *ret)
{
	const struct header_build_id *header = NULL;
	struct dso *dso;
	int err;

	for (size_t i = 0; i < resolver->build_ids.nr && !header; i++)
		if (resolver->build_ids.data[i].module &&
		    !strcmp(resolver->build_ids.data[i].module, module))
			header = &resolver->build_ids.data[i];
	err = make_dso(DSO_MODULE, header ? header->filename : module, module,
		       header ? header->filename : record->mmap.filename, &dso);
	if (err)
		return err;
	if (record->mmap.build_id_size)
		dso->build_id = build_id_make(record->mmap.build_id, record->mmap.build_id_size);
	else if (header)
		dso->build_id = header->id;
	return add_dso(resolver, dso, ret);
}

/* Modules go by their name alone. */
static int find_module_dso(struct resolver *resolver, const struct perfdata_record *record,
			   u32 *ret)
{
	_cleanup_free_ char *module = NULL;
	int err = module_name(record->mmap.filename, &module);

	if (!err && !module)
		err = resolver_copy_string(record->mmap.filename, &module);
	if (err)
		return err;
	for (size_t i = 0; i < resolver->dsos.nr; i++) {
		const struct dso *dso = resolver->dsos.data[i];

		if (dso->kind == DSO_MODULE && !strcmp(dso->short_name, module)) {
			*ret = i;
			return 0;
		}
	}
	return new_module_dso(resolver, module, record, ret);
}

static int take_module_mmap(struct resolver *resolver, const struct perfdata_record *record)
{
	struct map map = {
		.start = record->mmap.start,
		.end = record->mmap.start + record->mmap.len,
	};
	int err;

	if (map.end < map.start)
		return 0;
	err = find_module_dso(resolver, record, &map.dso);
	if (!err)
		err = space_insert(&resolver->kernel.space, &map);
	resolver->kernel.tag = resolver_new_tag(resolver);
	return err;
}

static int take_mmap(struct resolver *resolver, const struct perfdata_record *record)
{
	if (record->cpumode == PERF_RECORD_MISC_USER ||
	    record->cpumode == PERF_RECORD_MISC_CPUMODE_UNKNOWN)
		return take_user_mmap(resolver, record);
	if (record->cpumode != PERF_RECORD_MISC_KERNEL)
		return 0;
	resolver->kernel.tag = resolver_new_tag(resolver);
	if (starts_with(record->mmap.filename, KERNEL_NAME))
		return take_kernel_mmap(resolver, record);
	if (strchr("/[", *record->mmap.filename) && *record->mmap.filename)
		return take_module_mmap(resolver, record);
	return 0;
}

static int set_comm(struct resolver *resolver, u32 tid, u64 comm)
{
	u64 *slot = hashmap_put(&resolver->threads, tid, NULL);

	if (!slot)
		return -ENOMEM;
	*slot = comm;
	return 0;
}

static int take_comm(struct resolver *resolver, const struct perfdata_record *record)
{
	u32 comm;
	int err = resolver_intern_comm(resolver, record->comm.comm, &comm);

	return err ? err : set_comm(resolver, record->tid, comm + 1ULL);
}

/* A thread shares its process's mappings; a process starts with a copy of its parent's. */
static int fork_mappings(struct resolver *resolver, const struct perfdata_record *record)
{
	struct resolver_space *child, *parent;
	int err;

	if (record->pid == record->task.ppid)
		return 0;
	err = get_process(resolver, record->pid, &child);
	if (err)
		return err;
	space_deinit(&child->space);
	child->tag = resolver_new_tag(resolver);
	/* perf says so of processes that were there before it: their mappings follow. */
	if (record->misc & PERF_RECORD_MISC_FORK_EXEC)
		return 0;
	parent = find_process(resolver, record->task.ppid);
	return parent ? space_copy(&child->space, &parent->space) : 0;
}

static int take_fork(struct resolver *resolver, const struct perfdata_record *record)
{
	u64 *parent = hashmap_get(&resolver->threads, record->task.ptid);
	int err = set_comm(resolver, record->tid, parent ? *parent : 0);

	return err ? err : fork_mappings(resolver, record);
}

int resolver_record(struct resolver *resolver, const struct perfdata_record *record)
{
	switch (record->kind) {
	case PERFDATA_MMAP:
		return take_mmap(resolver, record);
	case PERFDATA_COMM:
		return take_comm(resolver, record);
	case PERFDATA_FORK:
		return take_fork(resolver, record);
	case PERFDATA_KSYMBOL:
		return resolver_take_ksymbol(resolver, record);
	default:
		/* A thread that is gone may still have samples on their way: it stays. */
		return 0;
	}
}

struct resolver_space *resolver_process(struct resolver *resolver, u32 pid)
{
	struct resolver_space *process = find_process(resolver, pid);

	return process ? process : &resolver->nothing;
}

struct resolver_space *resolver_kernel(struct resolver *resolver)
{
	return &resolver->kernel;
}

struct resolver_space *resolver_space(struct resolver *resolver, u32 pid, u8 cpumode)
{
	if (cpumode == PERF_RECORD_MISC_KERNEL)
		return &resolver->kernel;
	if (cpumode == PERF_RECORD_MISC_USER)
		return resolver_process(resolver, pid);
	return &resolver->nothing;
}
