/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of a recording's files. */
#ifndef ENGINE_OUTPUT_PATH_H
#define ENGINE_OUTPUT_PATH_H

#include "base/types.h"

/* Paths that are given away already. */
struct output_paths {
	const char *const *paths;
	size_t nr;
};

/*
 * "@base", or "@base.NAME" with a @name, which may be any text; with ".2", ".3" and so on behind
 * where that is taken. No two are the same, nor is one the place where another's predecessor is
 * kept (path + ".old"). The caller frees.
 */
int output_path_choose(const char *base, const char *name, const struct output_paths *taken,
		       char **ret);

#endif
