/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc through a handle. */
#include "base/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define STAT_MAX 4096
#define STATUS_MAX 65536

int proc_open(struct proc *proc, const char *root)
{
	proc->fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return proc->fd < 0 ? -errno : 0;
}

void proc_close(struct proc *proc)
{
	if (proc->fd >= 0)
		close(proc->fd);
	proc->fd = -1;
}

static void make_path(char *path, size_t size, pid_t pid, const char *name)
{
	if (pid)
		snprintf(path, size, "%d/%s", pid, name);
	else
		snprintf(path, size, "%s", name);
}

/* A process that ends makes its files vanish, or be there and fail. */
static int process_error(pid_t pid, int err)
{
	return pid && err == -ENOENT ? -ESRCH : err;
}

int proc_read(const struct proc *proc, pid_t pid, const char *name, size_t max, char **ret_data,
	      size_t *ret_size)
{
	char path[64];
	char *data = NULL;
	size_t size = 0;
	int err;

	make_path(path, sizeof(path), pid, name);
	err = file_read(proc->fd, path, max, &data, &size);
	if (err)
		return process_error(pid, err);
	if (!data)
		data = calloc(1, 1);
	if (!data)
		return -ENOMEM;
	*ret_data = data;
	if (ret_size)
		*ret_size = size;
	return 0;
}

int proc_read_link(const struct proc *proc, pid_t pid, const char *name, char *out, size_t size)
{
	char path[64];
	ssize_t len;

	make_path(path, sizeof(path), pid, name);
	len = readlinkat(proc->fd, path, out, size - 1);
	if (len < 0)
		return process_error(pid, -errno);
	out[len] = '\0';
	return 0;
}

int proc_start_time(const struct proc *proc, pid_t pid, u64 *ret)
{
	_cleanup_free_ char *stat = NULL;
	unsigned long long ticks;
	const char *p;
	int err;

	err = proc_read(proc, pid, "stat", STAT_MAX, &stat, NULL);
	if (err)
		return err;
	/* The name, field 2, may hold anything; what follows its last ')' may not. Field 22. */
	p = strrchr(stat, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, " %llu", &ticks) != 1)
		return -EBADMSG;
	*ret = ticks;
	return 0;
}

int proc_tgid(const struct proc *proc, pid_t tid, pid_t *ret)
{
	_cleanup_free_ char *status = NULL;
	const char *line;
	int err;

	err = proc_read(proc, tid, "status", STATUS_MAX, &status, NULL);
	if (err)
		return err;
	/* Newlines in the name are escaped there: a line start is a line start. */
	line = strstr(status, "\nTgid:");
	if (!line || sscanf(line, "\nTgid: %d", ret) != 1)
		return -EBADMSG;
	return 0;
}

int proc_for_each(const struct proc *proc, int (*fn)(pid_t pid, void *arg), void *arg)
{
	int fd = openat(proc->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (pid > 0 && pid <= INT32_MAX && !*end)
			err = fn(pid, arg);
	}
	closedir(dir);
	return err;
}
