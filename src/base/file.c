/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole files. */
#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/errors.h"
#include "base/log.h"
#include "base/strbuf.h"

int file_read(int dirfd, const char *path, size_t max, char **ret_data, size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t len;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		if (strbuf_grow(&sb, 64 * 1024))
			return -ENOMEM;
		n = read(fd, sb.data + sb.len, sb.alloc - sb.len - 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			sb.len += n;
		if (sb.len > max)
			return -E2BIG;
	} while (n);
	sb.data[sb.len] = '\0';
	*ret_data = strbuf_steal(&sb, &len);
	if (ret_size)
		*ret_size = len;
	return 0;
}

int fd_write_all(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= n;
	}
	return 0;
}

int file_make_dirs(const char *path)
{
	char copy[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, path, len + 1);
	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	if (mkdir(copy, 0755) && errno != EEXIST)
		return -errno;
	return 0;
}

static int make_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	if (!slash || slash == path)
		return 0;
	if ((size_t)(slash - path) >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, slash - path);
	parent[slash - path] = '\0';
	return file_make_dirs(parent);
}

/* A device or a pipe (/dev/stdout) is written to as it stands: renaming would replace it. */
static int write_in_place(const char *path, const void *data, size_t size)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = fd_write_all(fd, data, size);
	if (!err && close(TAKE_FD(fd)))
		err = -errno;
	return err;
}

int file_write_atomic(const char *path, const void *data, size_t size)
{
	_cleanup_close_ int fd = -1;
	char temp[PATH_MAX];
	struct stat st;
	int err;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return write_in_place(path, data, size);
	err = make_parent(path);
	if (err)
		return err;
	if (snprintf(temp, sizeof(temp), "%s.XXXXXX", path) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fd_write_all(fd, data, size);
	if (!err && fchmod(fd, 0644))
		err = -errno;
	if (!err && close(TAKE_FD(fd)))
		err = -errno;
	if (!err && rename(temp, path))
		err = -errno;
	if (err)
		unlink(temp);
	return err;
}

void file_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_debug("the limit of open files stays: %s", error_text(-errno));
}
