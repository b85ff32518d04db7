/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole files: read under a limit, written so that a reader sees all or nothing. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/types.h"

/*
 * Reads the file @path, relative to directory @dirfd (or AT_FDCWD), into fresh memory with a NUL
 * after the last byte. More than @max bytes is -E2BIG. Works on /proc and /sys files.
 */
int file_read(int dirfd, const char *path, size_t max, char **ret_data, size_t *ret_size);

/*
 * Writes @size bytes as @path: a temporary file beside it, then rename, so that neither a crash
 * nor a full disk leaves half a file. Makes missing parent folders (mode 0755). What is there and
 * no regular file (a device, a pipe) is written to as it stands.
 */
int file_write_atomic(const char *path, const void *data, size_t size);

/* Makes @path and its missing parents. 0 also when it is there. */
int file_make_dirs(const char *path);

/* Writes all bytes to @fd or fails with the system's error. */
int fd_write_all(int fd, const void *data, size_t size);

/*
 * Lets this process open as many files as it may ever: the usual 1024, for the sake of select(), do
 * not go far where each vCPU and each of its events takes a descriptor. That it stays as it was is
 * told in debugging only.
 */
void file_limit_raise(void);

#endif
