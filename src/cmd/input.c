/* SPDX-License-Identifier: GPL-2.0-only */
/* What the commands that read a recording have in common. */
#include "cmd/input.h"

#include <stdio.h>

#include "base/errors.h"
#include "base/log.h"

bool input_filter_active(const struct input_filter *filter)
{
	return filter->comms.nr || filter->pids.nr || filter->tids.nr;
}

static bool matches_number(const struct option_list *list, u32 number)
{
	char text[16];

	if (!list->nr)
		return true;
	snprintf(text, sizeof(text), "%d", (int)number);
	return option_list_matches(list, text);
}

bool input_filter_sample(const struct perfdata_record *sample, const char *comm, void *arg)
{
	const struct input_filter *filter = arg;

	return option_list_matches(&filter->comms, comm) &&
	       matches_number(&filter->pids, sample->pid) &&
	       matches_number(&filter->tids, sample->tid);
}

void input_filter_deinit(struct input_filter *filter)
{
	option_list_deinit(&filter->comms);
	option_list_deinit(&filter->pids);
	option_list_deinit(&filter->tids);
}

struct resolver_options input_resolver_options(const struct input_symbols *symbols)
{
	return (struct resolver_options){
		.cache_dir = symbols->cache_dir,
		.root = symbols->symfs,
	};
}

int input_error(const char *path, int err, const char *why)
{
	if (why)
		log_error("%s: %s: %s", path, error_text(err), why);
	else if (err == -ENOENT)
		log_error("%s: no such file; `kvmprof record` writes one, -i FILE names another",
			  path);
	else
		log_error("%s: %s", path, error_text(err));
	return STATUS_FAILURE;
}

void input_warn_truncated(const char *path)
{
	log_warning("%s: the file ends early, was its recorder killed? It goes this far", path);
}
