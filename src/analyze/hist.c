/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adding up rows. The rows of the event become one call tree whose top level is the groups: what
 * the keys that do not depend on the frame tell apart (command, thread, CPU). The other keys make
 * one number, the key, of each frame. An entry is a group and a key; its nodes are those nodes of
 * the group's tree whose frame has the key.
 */
#include "analyze/hist-private.h"

static int build(struct hist *hist)
{
	int err = hist_make_keys(hist);

	if (!err)
		err = hist_make_tree(hist);
	if (!err)
		err = hist_make_entries(hist);
	if (!err)
		hist_finish_entries(hist);
	return err;
}

int hist_create(const struct profile *profile, const struct hist_options *options,
		struct hist **ret)
{
	_cleanup_(hist_destroy) struct hist *hist = calloc(1, sizeof(*hist));
	int err;

	if (!hist)
		return -ENOMEM;
	hist->profile = profile;
	hist->options = *options;
	hist->period = profile->events.data[options->event].period;
	err = calltree_init(&hist->tree);
	if (!err)
		err = build(hist);
	if (!err)
		*ret = TAKE_PTR(hist);
	return err;
}

void hist_destroy(struct hist *hist)
{
	if (!hist)
		return;
	calltree_deinit(&hist->tree);
	free(hist->nodes);
	free(hist->keys);
	free(hist->dso_names);
	vec_deinit(&hist->odds);
	vec_deinit(&hist->groups);
	vec_deinit(&hist->entries);
	free(hist);
}

size_t hist_nr(const struct hist *hist)
{
	return hist->entries.nr;
}

const struct hist_entry *hist_entry(const struct hist *hist, size_t i)
{
	return &hist->entries.data[i];
}

u64 hist_period(const struct hist *hist)
{
	return hist->period;
}
