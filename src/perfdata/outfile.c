/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that has its name only when it is whole: made without a name (O_TMPFILE) so that nothing
 * stays of it when the process is killed, else under a temporary one.
 */
#include "perfdata/outfile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int open_named(struct outfile *out)
{
	if (asprintf(&out->temp, "%s.XXXXXX", out->path) < 0) {
		out->temp = NULL;
		return -ENOMEM;
	}
	out->fd = mkostemp(out->temp, O_CLOEXEC);
	if (out->fd < 0) {
		int err = -errno;

		free(TAKE_PTR(out->temp));
		return err;
	}
	return 0;
}

static int open_nameless(struct outfile *out)
{
	const char *slash = strrchr(out->path, '/');
	char dir[PATH_MAX] = ".";
	size_t len;

	if (slash) {
		len = slash == out->path ? 1 : slash - out->path;
		if (len >= sizeof(dir))
			return -ENAMETOOLONG;
		memcpy(dir, out->path, len);
		dir[len] = '\0';
	}
	out->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return out->fd < 0 ? -errno : 0;
}

/* Devices have to be written in place: nobody wants /dev/null renamed. */
static int open_existing(struct outfile *out, mode_t mode)
{
	if (S_ISDIR(mode))
		return -EISDIR;
	if (!S_ISCHR(mode))
		return -EINVAL;
	out->fd = open(out->path, O_RDWR | O_CLOEXEC);
	if (out->fd < 0)
		return -errno;
	out->in_place = true;
	return 0;
}

/* What would make keep_old() fail, and lose what was written by then. */
static int check_old(const char *path)
{
	_cleanup_free_ char *old = NULL;
	struct stat st;

	if (asprintf(&old, "%s.old", path) < 0) {
		old = NULL;
		return -ENOMEM;
	}
	if (lstat(old, &st))
		return errno == ENOENT ? 0 : -errno;
	return S_ISDIR(st.st_mode) ? -EISDIR : 0;
}

/* Fails for what cannot be named so in the end. @ret_mode: of what is there, 0 if nothing is. */
static int check_path(const char *path, mode_t *ret_mode)
{
	struct stat st;
	int err = 0;

	if (!*path)
		return -ENOENT;
	if (!stat(path, &st)) {
		err = S_ISREG(st.st_mode) ? check_old(path) : 0;
		*ret_mode = st.st_mode;
	} else {
		err = errno == ENOENT ? 0 : -errno;
		*ret_mode = 0;
	}
	return err;
}

int outfile_open(struct outfile *out, const char *path)
{
	mode_t mode;
	int err = check_path(path, &mode);

	*out = OUTFILE_INIT;
	if (err)
		return err;
	out->path = strdup(path);
	if (!out->path)
		return -ENOMEM;
	if (mode && !S_ISREG(mode)) {
		err = open_existing(out, mode);
	} else {
		err = open_nameless(out);
		/* Not all file systems can, and each has its own way to say so. */
		if (err == -EOPNOTSUPP || err == -EISDIR || err == -ENOENT || err == -EINVAL)
			err = open_named(out);
	}
	if (err)
		outfile_deinit(out);
	return err;
}

static int keep_old(const struct outfile *out)
{
	_cleanup_free_ char *old = NULL;

	if (asprintf(&old, "%s.old", out->path) < 0) {
		old = NULL;
		return -ENOMEM;
	}
	if (rename(out->path, old) && errno != ENOENT)
		return -errno;
	return 0;
}

/* The first way takes a capability, the second takes /proc. */
static int give_name(const struct outfile *out)
{
	char self[64];

	if (out->temp)
		return rename(out->temp, out->path) ? -errno : 0;
	if (!linkat(out->fd, "", AT_FDCWD, out->path, AT_EMPTY_PATH))
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", out->fd);
	if (!linkat(AT_FDCWD, self, AT_FDCWD, out->path, AT_SYMLINK_FOLLOW))
		return 0;
	return -errno;
}

int outfile_commit(struct outfile *out)
{
	int err = 0;

	if (!out->in_place) {
		err = keep_old(out);
		if (!err)
			err = give_name(out);
		if (!err)
			free(TAKE_PTR(out->temp));
	}
	/* Some file systems report a full disk only here. */
	if (close(TAKE_FD(out->fd)) && !err)
		err = -errno;
	return err;
}

void outfile_deinit(struct outfile *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->temp)
		unlink(out->temp);
	free(out->temp);
	free(out->path);
	*out = OUTFILE_INIT;
}
