/* SPDX-License-Identifier: GPL-2.0-only */
/* Folded chains. */
#include "output/folded.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"

struct folded_line {
	u32 at;		/* in the text */
	u64 samples;
};

struct folder {
	const struct profile *profile;
	struct strbuf text;	/* NUL-terminated lines */
	VEC(struct folded_line) lines;
	VEC(u32) path;
};

/* A ';' would look like the end of the frame, and a control character like anything. */
static void add_name(struct strbuf *sb, const char *name, bool no_blanks)
{
	size_t room = strlen(name) * 4 + 1;

	if (strbuf_grow(sb, room))
		return;
	room = escape_terminal(name, sb->data + sb->len, room);
	for (size_t i = 0; i < room; i++) {
		char *c = &sb->data[sb->len + i];

		if (*c == ';')
			*c = ':';
		else if (*c == ' ' && no_blanks)
			*c = '_';
	}
	sb->len += room;
}

/* Functions by name, other code by its object: "[libfoo.so]". */
static void add_frame(const struct folder *folder, u32 frame, struct strbuf *sb)
{
	const char *symbol = profile_frame_symbol(folder->profile, frame);
	const char *dso = profile_frame_dso(folder->profile, frame);
	const char *slash;

	strbuf_addc(sb, ';');
	if (symbol) {
		add_name(sb, symbol, false);
		return;
	}
	slash = strrchr(dso, '/');
	dso = slash ? slash + 1 : dso;
	if (!strcmp(dso, "[unknown]"))
		dso = "unknown";
	strbuf_addc(sb, '[');
	add_name(sb, dso, false);
	strbuf_addc(sb, ']');
}

static int add_row(struct folder *folder, const struct profile_row *row)
{
	const struct calltree_node *nodes = folder->profile->chains.nodes.data;
	struct folded_line line = { .at = folder->text.len, .samples = row->samples };

	folder->path.nr = 0;
	for (u32 n = row->leaf; n != CALLTREE_ROOT; n = nodes[n].parent)
		if (vec_push(&folder->path, nodes[n].frame))
			return -ENOMEM;
	if (!folder->path.nr && vec_push(&folder->path, row->self))
		return -ENOMEM;
	add_name(&folder->text, resolver_comm_name(folder->profile->resolver, row->comm), true);
	while (folder->path.nr)
		add_frame(folder, folder->path.data[--folder->path.nr], &folder->text);
	strbuf_addc(&folder->text, '\0');
	if (strbuf_error(&folder->text))
		return -ENOMEM;
	return vec_push(&folder->lines, line);
}

static int compare_lines(const void *a, const void *b, void *arg)
{
	const char *text = arg;

	return strcmp(text + ((const struct folded_line *)a)->at,
		      text + ((const struct folded_line *)b)->at);
}

/* Equal lines, which other details told apart, are written as one. */
static void write_lines(const struct folder *folder, struct outbuf *out)
{
	const char *text = folder->text.data;

	for (size_t i = 0; i < folder->lines.nr;) {
		const char *line = text + folder->lines.data[i].at;
		u64 samples = 0;

		do
			samples += folder->lines.data[i++].samples;
		while (i < folder->lines.nr && !strcmp(line, text + folder->lines.data[i].at));
		outbuf_adds(out, line);
		outbuf_addc(out, ' ');
		outbuf_add_u64(out, samples, 0, ' ');
		outbuf_addc(out, '\n');
	}
}

int folded_write(const struct profile *profile, struct outbuf *out)
{
	struct folder folder = { .profile = profile };
	int err = 0;

	for (size_t i = 0; i < profile->rows.nr && !err; i++)
		err = add_row(&folder, &profile->rows.data[i]);
	if (!err && folder.text.len > UINT32_MAX)
		err = -E2BIG;
	if (!err && folder.lines.nr) {
		qsort_r(folder.lines.data, folder.lines.nr, sizeof(*folder.lines.data),
			compare_lines, folder.text.data);
		write_lines(&folder, out);
	}
	strbuf_deinit(&folder.text);
	vec_deinit(&folder.lines);
	vec_deinit(&folder.path);
	return err;
}
