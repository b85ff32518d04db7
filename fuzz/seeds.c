/* SPDX-License-Identifier: GPL-2.0-only */
/* seeds-NAME DIR: writes the seed corpus of fuzz-NAME into DIR. */
#include "seeds.h"

#include <limits.h>
#include <stdio.h>

#include "base/errors.h"
#include "base/file.h"

static const char *directory;

int seed_write(const char *name, const void *data, size_t size)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return file_write_atomic(path, data, size);
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return 2;
	}
	directory = argv[1];
	err = write_seeds();
	if (err)
		fprintf(stderr, "%s: cannot write seeds: %s\n", argv[0], error_text(err));
	return err ? 1 : 0;
}
