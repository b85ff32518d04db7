/* SPDX-License-Identifier: GPL-2.0-only */
#include "works.h"

#include <stdio.h>
#include <string.h>

#include "capture/selfcheck-private.h"

bool works(const char *name)
{
	struct selfcheck check = { .error = 0 };
	const struct selfcheck_result *result;
	bool yes;

	if (!strncmp(name, "bpf.", 4))
		selfcheck_bpf(&check, NULL);
	else if (!strncmp(name, "perf.", 5))
		selfcheck_perf(&check);
	else
		selfcheck_process(&check);
	result = selfcheck_find(&check, name);
	yes = result && result->state == SELFCHECK_YES;
	if (!yes)
		printf("# %s: %s\n", name, result ? result->detail : "nobody looks at that");
	selfcheck_deinit(&check);
	return yes;
}
