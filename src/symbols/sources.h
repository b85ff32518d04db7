/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the files come from that hold symbols: an ordered list of places, each asked in turn until
 * who asks has enough. Every file is checked by its own build id before it is handed on; one that
 * has another is counted and passed over. Only where the recording has no build id (of a stock
 * perf's) is the host's own file taken as it is, as perf does.
 *
 * A struct symbol_sources is for one thread at a time.
 */
#ifndef SYMBOLS_SOURCES_H
#define SYMBOLS_SOURCES_H

#include <stdatomic.h>

#include "base/types.h"
#include "base/vec.h"
#include "objfile/build-id.h"
#include "objfile/file-image.h"
#include "symbols/cache.h"
#include "symbols/elf-file.h"
#include "symbols/source-list.h"

enum symbol_object {
	SYMBOL_OBJECT_USER,	/* a program or library */
	SYMBOL_OBJECT_KERNEL,	/* vmlinux */
	SYMBOL_OBJECT_MODULE,
	SYMBOL_OBJECT_VDSO,
};

/* What is looked for. Borrowed strings. */
struct symbol_query {
	enum symbol_object object;
	struct build_id build_id;	/* none: not known */
	const char *path;		/* as it was recorded; the name when it has none */
	const char *release;		/* of the kernel; NULL: not known */
	const atomic_bool *stop;	/* another thread sets it to end the search; may be NULL */
};

struct symbol_guest_ops {
	/*
	 * The file as far as the guest's memory has it, to the caller; it may have holes, then
	 * what is known of its symbols is used. -ENOENT: not there. NULL: there is no guest.
	 */
	int (*find)(void *arg, const struct symbol_query *query, struct file_image **ret);
	void *arg;
};

struct symbol_sources_options {
	struct symbol_source_list list;
	const char *cache_dir;	/* NULL: where perf has it, see symcache_default_dir() */
	const char *root;	/* prefix of the host's files and debug folders; NULL: none */
	bool no_host_files;	/* the list without the host, for tests */
	bool copies;		/* files as elf_file_open_copy() has them; larger ones not at all */
	/*
	 * As in perf kvm: DIR/PID is the root folder of a guest, or DIR is. All of DIR's numeric
	 * folders are tried, build ids tell which is right. Links inside stay inside.
	 */
	const char *guestmount;
	const char *vmlinux;	/* of the guest's kernel; by build id, too */
	const char *kallsyms;	/* its /proc/kallsyms: has no build id, believed as it is */
	const char *modules;	/* its /proc/modules of the same boot as .kallsyms */
	struct symbol_guest_ops guest;
	/*
	 * Called while a file is fetched, with bytes so far and in all (0: not known yet); true
	 * ends the fetch. May be NULL.
	 */
	bool (*progress)(const char *path, u64 done, u64 total);
};

struct symbol_sources;

int symbol_sources_create(const struct symbol_sources_options *options,
			  struct symbol_sources **ret);
void symbol_sources_destroy(struct symbol_sources *sources);
DEFINE_CLEANUP(struct symbol_sources *, symbol_sources_destroy)

/* Takes a file over; true: enough, do not look on. */
typedef bool (*symbol_offer_fn)(void *arg, struct elf_file *file);

/* Offers the files of @query one after the other, source by source. The only error is -ENOMEM. */
int symbol_sources_find(struct symbol_sources *sources, const struct symbol_query *query,
			symbol_offer_fn offer, void *arg);

/* Whether @source is asked at all. */
bool symbol_sources_has(const struct symbol_sources *sources, enum symbol_source source);

/* The cache folder; the root of the host's files ("": none). */
const struct symcache *symbol_sources_cache(const struct symbol_sources *sources);
const char *symbol_sources_root(const struct symbol_sources *sources);

/* The options' kallsyms; NULL: none. */
const char *symbol_sources_kallsyms(const struct symbol_sources *sources);

/* Where the options' list of modules says that @module ("ext4") starts; -ENOENT. */
int symbol_sources_module_start(struct symbol_sources *sources, const char *module, u64 *ret);

/* Files that had another build id than the recorded one. */
u64 symbol_sources_mismatches(const struct symbol_sources *sources);

/* Why a source that is to be asked cannot be; NULL: all can, as far as they were needed. */
const char *symbol_sources_problem(const struct symbol_sources *sources);

#endif
