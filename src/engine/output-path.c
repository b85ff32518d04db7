/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of VMs are anybody's choice: two may be the same, or become so when they are made fit. */
#include "engine/output-path.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "base/strbuf.h"

#define PART_MAX 128	/* bytes of a VM's name, with the NUL: a path's part may have 255 in all */
#define OLD ".old"	/* perfdata/outfile.c keeps what was there before under it */

/* Whether @a is @b's ".old". */
static bool is_old_of(const char *a, const char *b)
{
	size_t size = strlen(b);

	return !strncmp(a, b, size) && !strcmp(a + size, OLD);
}

static bool is_taken(const struct output_paths *taken, const char *path)
{
	for (size_t i = 0; i < taken->nr; i++) {
		const char *other = taken->paths[i];

		if (!strcmp(other, path) || is_old_of(other, path) || is_old_of(path, other))
			return true;
	}
	return false;
}

int output_path_choose(const char *base, const char *name, const struct output_paths *taken,
		       char **ret)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	char part[PART_MAX];
	size_t size;

	strbuf_adds(&path, base);
	if (name) {
		escape_path_component(name, part, sizeof(part));
		strbuf_addf(&path, ".%s", part);
	}
	size = path.len;
	/* One that is taken makes at most three names unfit. */
	for (size_t i = 2; !strbuf_error(&path) && is_taken(taken, strbuf_cstr(&path)); i++) {
		path.len = size;
		strbuf_addf(&path, ".%zu", i);
	}
	if (strbuf_error(&path))
		return -ENOMEM;
	*ret = strbuf_steal(&path, NULL);
	return 0;
}
