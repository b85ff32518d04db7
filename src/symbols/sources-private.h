/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the search for files with symbols share. */
#ifndef SYMBOLS_SOURCES_PRIVATE_H
#define SYMBOLS_SOURCES_PRIVATE_H

#include "symbols/debuginfod.h"
#include "symbols/sources.h"

#define SOURCES_DEBUG_DIR "/usr/lib/debug"	/* below whichever root */

struct symbol_sources {
	struct symbol_sources_options options;	/* strings in it are NULL or below */
	struct symcache *cache;
	char *root, *guestmount, *vmlinux, *kallsyms, *modules_path;
	char *modules;		/* text of .modules_path, read on first use */
	struct debuginfod *debuginfod;
	const char *problem;
	u64 mismatches;
};

/* A running search. */
struct search {
	struct symbol_sources *sources;
	const struct symbol_query *query;
	struct build_id build_id;	/* wanted; may come from the host's own file */
	symbol_offer_fn offer;
	void *arg;
	bool done;
};

/* Takes @file over: offers it when it is what is looked for. @from names it in the log. */
void search_offer(struct search *search, struct elf_file *file, const char *from);

/* elf_file_open(), or as the options want it. */
int search_open(const struct search *search, const char *path, struct elf_file **ret);

/* The file @path of this machine, unless the search is done. */
void search_try_file(struct search *search, const char *path);

/* Tries the file @path of whichever root it is for. */
typedef void (*search_place_fn)(struct search *search, const char *path);

/* Calls @fn with each place of a vmlinux that is named by its release. */
void search_releases(struct search *search, search_place_fn fn);

/* sources-host.c: this machine's files, under the root that was asked for. */
void search_host(struct search *search);

/*
 * What the program's own file says: its build id, when none was recorded, and the name of its debug
 * file ("": none).
 */
void search_ask_own_file(struct search *search, char *ret_link, size_t size);

/* sources-guestmount.c: the root folders of guests. */
void search_guestmount(struct search *search);

#endif
