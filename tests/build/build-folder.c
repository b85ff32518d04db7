/* SPDX-License-Identifier: GPL-2.0-only */
#include "build-folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPEN 16

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

char *build_folder_make(void)
{
	char *path = strdup(BUILD_FOLDER);

	if (path && !mkdtemp(path)) {
		free(path);
		path = NULL;
	}
	return path;
}

int build_folder_remove(const char *path)
{
	return nftw(path, remove_one, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
}
