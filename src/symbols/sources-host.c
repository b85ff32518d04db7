/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This machine's files with symbols. Which are tried, and in which order, is what dso__load() of
 * tools/perf/util/symbol.c, Linux 6.1, does.
 */
#include "symbols/sources-private.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#define VDSO_MAX (1 << 20)

/* The host's own file, under the root that was asked for. */
static void try_host_file(struct search *search, const char *fmt, ...) __printf(2, 3);

static void try_host_file(struct search *search, const char *fmt, ...)
{
	char path[PATH_MAX];
	int used = snprintf(path, sizeof(path), "%s", search->sources->root), len;
	va_list ap;

	if (used < 0 || used >= (int)sizeof(path))
		return;
	va_start(ap, fmt);
	len = vsnprintf(path + used, sizeof(path) - used, fmt, ap);
	va_end(ap);
	if (len >= 0 && len < (int)sizeof(path) - used)
		search_try_file(search, path);
}

void search_ask_own_file(struct search *search, char *ret_link, size_t size)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	char path[PATH_MAX];
	struct build_id found;

	*ret_link = '\0';
	if (snprintf(path, sizeof(path), "%s%s", search->sources->root, search->query->path) >=
	    (int)sizeof(path) || search_open(search, path, &file))
		return;
	if (!search->build_id.size && !elf_file_build_id(file, &found))
		search->build_id = found;
	if (elf_file_debuglink(file, ret_link, size))
		*ret_link = '\0';
}

static void try_debuglink(struct search *search, const char *link)
{
	const char *path = search->query->path, *slash = strrchr(path, '/');
	int dir = slash ? slash - path : 0;

	if (!*link)
		return;
	try_host_file(search, "%.*s/%s", dir, path, link);
	try_host_file(search, "%.*s/.debug/%s", dir, path, link);
	try_host_file(search, SOURCES_DEBUG_DIR "%.*s/%s", dir, path, link);
}

static void try_host_user(struct search *search)
{
	const char *path = search->query->path;
	char link[NAME_MAX + 1], hex[BUILD_ID_HEX];

	search_ask_own_file(search, link, sizeof(link));
	try_debuglink(search, link);
	if (*path == '/') {
		try_host_file(search, SOURCES_DEBUG_DIR "%s.debug", path);
		try_host_file(search, SOURCES_DEBUG_DIR "%s", path);
	}
	build_id_hex(&search->build_id, hex);
	if (search->build_id.size > 1)
		try_host_file(search, SOURCES_DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (*path == '/')
		try_host_file(search, "%s", path);
}

/* The vdso that the kernel gave to this very process. */
static void try_own_vdso(struct search *search)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_free_ void *copy = NULL;
	struct elf_file *file;
	size_t size;

	if (search->done || !header)
		return;
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	copy = size <= VDSO_MAX ? malloc(size) : NULL;
	if (!copy)
		return;
	memcpy(copy, header, size);
	if (elf_file_open_owned(copy, size, &file))
		return;
	copy = NULL;
	search_offer(search, file, "[vdso]");
}

static void try_kernel(struct search *search, const char *path)
{
	try_host_file(search, "%s", path);
}

void search_host(struct search *search)
{
	switch (search->query->object) {
	case SYMBOL_OBJECT_USER:
		try_host_user(search);
		break;
	case SYMBOL_OBJECT_KERNEL:
		search_releases(search, try_kernel);
		break;
	case SYMBOL_OBJECT_MODULE:
		if (*search->query->path == '/')
			try_host_file(search, "%s", search->query->path);
		break;
	case SYMBOL_OBJECT_VDSO:
		try_own_vdso(search);
		break;
	}
}
