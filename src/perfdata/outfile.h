/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that has its name only when it is whole. */
#ifndef PERFDATA_OUTFILE_H
#define PERFDATA_OUTFILE_H

#include "base/types.h"

struct outfile {
	int fd;		/* -1: not open */
	char *path;	/* what it is to be called */
	char *temp;	/* what it is called now; NULL: it has no name yet */
	bool in_place;	/* a device: written as it stands */
};

#define OUTFILE_INIT ((struct outfile){ .fd = -1 })

/* Readable by its owner alone. -EISDIR and the like for what is no place for a file. */
int outfile_open(struct outfile *out, const char *path);

/* Gives the file its name; one that is there is called @path.old from then on. Closes it. */
int outfile_commit(struct outfile *out);

/* Removes what has not been committed. */
void outfile_deinit(struct outfile *out);

#endif
