/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may hold counters of the host's PMU: as much as /proc tells. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/types.h"
#include "vpmu/vpmu.h"

#define PERF_LINK "anon_inode:[perf_event]"

struct found {
	struct vpmu_holder *holders;
	unsigned int max, nr;
};

static void add(struct found *found, const struct vpmu_holder *holder)
{
	unsigned int at = MIN(found->nr, found->max);

	found->nr++;
	while (at && found->holders[at - 1].nr_events < holder->nr_events) {
		if (at < found->max)
			found->holders[at] = found->holders[at - 1];
		at--;
	}
	if (at < found->max)
		found->holders[at] = *holder;
}

/* Reads the first line of a small file; "" when that fails. */
static void read_line(int dir, const char *path, char *out, size_t size)
{
	_cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);

	out[got < 0 ? 0 : got] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static DIR *open_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *opened = fd < 0 ? NULL : fdopendir(fd);

	if (!opened && fd >= 0)
		close(fd);
	return opened;
}

static unsigned int count_events(int root, long pid)
{
	char path[64], link[sizeof(PERF_LINK)];
	const struct dirent *entry;
	unsigned int nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%ld/fd", pid);
	dir = open_dir(root, path);
	if (!dir)
		return 0;	/* ended, or not ours to look at */
	while ((entry = readdir(dir))) {
		ssize_t size = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link));

		if (size == sizeof(PERF_LINK) - 1 && !memcmp(link, PERF_LINK, (size_t)size))
			nr++;
	}
	closedir(dir);
	return nr;
}

static void look_at(struct found *found, int root, const char *name)
{
	struct vpmu_holder holder = { 0 };
	char path[64], *end;
	long pid = strtol(name, &end, 10);

	if (*end || pid <= 0 || pid > INT_MAX)
		return;
	holder.nr_events = count_events(root, pid);
	if (!holder.nr_events)
		return;
	holder.pid = (int)pid;
	snprintf(path, sizeof(path), "%ld/comm", pid);
	read_line(root, path, holder.name, sizeof(holder.name));
	add(found, &holder);
}

static void look_at_watchdog(struct found *found, int root)
{
	struct vpmu_holder holder = { .name = "NMI watchdog", .nr_events = 1 };
	char line[16];

	read_line(root, "sys/kernel/nmi_watchdog", line, sizeof(line));
	if (!strcmp(line, "1"))
		add(found, &holder);
}

int vpmu_holders(const char *root, struct vpmu_holder *holders, unsigned int max)
{
	struct found found = { holders, max, 0 };
	const struct dirent *entry;
	DIR *dir = open_dir(AT_FDCWD, root ? root : "/proc");

	if (!dir)
		return -errno;
	look_at_watchdog(&found, dirfd(dir));
	while ((entry = readdir(dir)))
		look_at(&found, dirfd(dir), entry->d_name);
	closedir(dir);
	return (int)found.nr;
}
