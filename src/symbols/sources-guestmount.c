/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of a guest whose root folder somebody has mounted: what is below it stays below it. */
#include "symbols/sources-private.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/file.h"

#define MAX_MOUNTS 256		/* folders of guests below one --guestmount */

/* As if @dir were the root: absolute links of the guest's stay in it, and nothing leads out. */
static int open_in_root(const char *dir, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	long fd;

	if (root < 0)
		return -errno;
	fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static void try_in_root(struct search *search, const char *dir, const char *path)
{
	_cleanup_close_ int fd = search->done ? -1 : open_in_root(dir, path);
	struct elf_file *file;
	char link[64];

	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!search_open(search, link, &file))
		search_offer(search, file, path);
}

static bool is_number(const char *name)
{
	return *name && strspn(name, "0123456789") == strlen(name);
}

/* DIR itself and, as perf kvm has it, DIR/PID. */
static void try_mounted_path(struct search *search, const char *path)
{
	const char *mount = search->sources->guestmount;
	const struct dirent *entry;
	char dir[PATH_MAX];
	int nr = 0;
	DIR *stream;

	try_in_root(search, mount, path);
	stream = search->done ? NULL : opendir(mount);
	if (!stream)
		return;
	while (!search->done && nr < MAX_MOUNTS && (entry = readdir(stream))) {
		if (!is_number(entry->d_name) ||
		    snprintf(dir, sizeof(dir), "%s/%s", mount, entry->d_name) >= (int)sizeof(dir))
			continue;
		nr++;
		try_in_root(search, dir, path);
	}
	closedir(stream);
}

void search_guestmount(struct search *search)
{
	const char *path = search->query->path;
	char hex[BUILD_ID_HEX], debug[sizeof(SOURCES_DEBUG_DIR) + BUILD_ID_HEX + 32];

	/* Nothing else says which guest's it is. */
	if (!search->sources->guestmount || !search->build_id.size)
		return;
	if (search->query->object == SYMBOL_OBJECT_KERNEL) {
		search_releases(search, try_mounted_path);
		return;
	}
	build_id_hex(&search->build_id, hex);
	snprintf(debug, sizeof(debug), SOURCES_DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + 2);
	try_mounted_path(search, debug);
	if (*path == '/')
		try_mounted_path(search, path);
}
