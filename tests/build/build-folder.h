/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder of a test's own. */
#ifndef BUILD_FOLDER_H
#define BUILD_FOLDER_H

#define BUILD_FOLDER "/tmp/kvmprof-test.XXXXXX"

/* Makes a folder of a new name of the form BUILD_FOLDER, to free(); NULL when that fails. */
char *build_folder_make(void);

/* Removes the folder and all that is in it; links are not followed. 0 on success. */
int build_folder_remove(const char *path);

#endif
