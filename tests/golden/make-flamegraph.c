/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * make-flamegraph KIND: prints a flame graph page of known contents, for the tests in a browser.
 * The shares and names here are what flamegraph-page.js expects.
 */
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "output/flamegraph.h"

struct row {
	unsigned int depth;
	const char *name, *module;
	enum flamegraph_kind kind;
	u64 weight;
};

static const struct row small[] = {
	{ 0, "all", NULL, FLAMEGRAPH_PROCESS, 1000 },
	{ 1, "busy", NULL, FLAMEGRAPH_PROCESS, 1000 },
	{ 2, "main", "/usr/bin/busy", FLAMEGRAPH_USER, 1000 },
	{ 3, "work_a", "/usr/bin/busy", FLAMEGRAPH_USER, 500 },
	{ 4, "read", "/usr/lib/libc.so.6", FLAMEGRAPH_USER, 400 },
	{ 5, "vfs_read", "[kernel]", FLAMEGRAPH_KERNEL, 400 },
	{ 6, "ext4_file_read", "[ext4]", FLAMEGRAPH_MODULE, 100 },
	{ 7, "vfs_read", "[kernel]", FLAMEGRAPH_KERNEL, 60 },
	{ 3, "work_b", "/usr/bin/busy", FLAMEGRAPH_USER, 300 },
	{ 3, "work_c", "/usr/bin/busy", FLAMEGRAPH_USER, 200 },
	{ 4, "[unknown]", NULL, FLAMEGRAPH_UNKNOWN, 50 },
};

static const struct row hostile[] = {
	{ 0, "all", NULL, FLAMEGRAPH_PROCESS, 4 },
	{ 1, "</script><script>document.title='pwned'</script>", NULL, FLAMEGRAPH_PROCESS, 4 },
	{ 2, "<img src=x onerror=\"document.title='pwned'\">", "</title><b id=pwned>",
	  FLAMEGRAPH_USER, 4 },
	{ 3, "<!--<script>", "]]>", FLAMEGRAPH_USER, 3 },
	{ 4, "\x1b]0;pwned\x07\n\"\\'", "\xff\xfe", FLAMEGRAPH_UNKNOWN, 3 },
	{ 5, "__proto__", "constructor", FLAMEGRAPH_USER, 2 },
};

static int add_rows(struct flamegraph *graph, const struct row *rows, size_t nr)
{
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++)
		err = flamegraph_add(graph, rows[i].depth, rows[i].name, rows[i].module,
				     rows[i].kind, rows[i].weight);
	return err;
}

/* 100,000 frames beside each other, most far narrower than a pixel. */
static int add_wide(struct flamegraph *graph)
{
	int err = flamegraph_add(graph, 0, "all", NULL, FLAMEGRAPH_PROCESS, 100000);
	char name[32];

	for (unsigned int i = 0; i < 50000 && !err; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		err = flamegraph_add(graph, 1, name, "[kernel]", FLAMEGRAPH_KERNEL, 2);
		if (!err)
			err = flamegraph_add(graph, 2, name, "[kernel]", FLAMEGRAPH_KERNEL, 1);
	}
	return err;
}

static int add_deep(struct flamegraph *graph)
{
	int err = 0;

	for (unsigned int i = 0; i < 3000 && !err; i++)
		err = flamegraph_add(graph, i, i ? "recurse" : "all", NULL,
				     i ? FLAMEGRAPH_USER : FLAMEGRAPH_PROCESS, 10000 - i);
	return err;
}

static int add_kind(struct flamegraph *graph, const char *kind)
{
	if (!strcmp(kind, "small") || !strcmp(kind, "inverted") || !strcmp(kind, "time"))
		return add_rows(graph, small, ARRAY_SIZE(small));
	if (!strcmp(kind, "hostile"))
		return add_rows(graph, hostile, ARRAY_SIZE(hostile));
	if (!strcmp(kind, "wide"))
		return add_wide(graph);
	if (!strcmp(kind, "deep"))
		return add_deep(graph);
	return strcmp(kind, "empty") ? -ENOENT : 0;
}

int main(int argc, char **argv)
{
	static const char *const notes[] = { "guest kernel 6.1.0", "997 Hz", NULL };
	_cleanup_strbuf_ struct strbuf page = STRBUF_INIT;
	struct flamegraph_options options = { .unit = "samples", .notes = notes, .guest = true };
	struct flamegraph *graph = NULL;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: %s KIND\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "time"))
		options.unit = "ns";
	options.inverted = !strcmp(argv[1], "inverted");
	options.title = !strcmp(argv[1], "hostile") ? "</title><b id=pwned>&amp;" : argv[1];
	err = flamegraph_create(&options, &graph);
	if (!err)
		err = add_kind(graph, argv[1]);
	if (!err)
		err = flamegraph_write(graph, &page);
	if (!err)
		fwrite(page.data, 1, page.len, stdout);
	else
		fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1], error_text(err));
	flamegraph_destroy(graph);
	return err ? 1 : 0;
}
