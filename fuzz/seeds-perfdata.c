/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds: a file of each form with every kind of record, plain and compressed. */
#include <stdio.h>

#include "build-perfdata.h"
#include "seeds.h"

int write_seeds(void)
{
	int err = 0;

	for (unsigned int form = 0; form < PERFDATA_BUILD_FORMS && !err; form++) {
		struct perfdata_build b;
		char name[16];

		perfdata_build_example(&b, form);
		snprintf(name, sizeof(name), "form-%u", form);
		err = seed_write(name, b.out.data, b.out.len);
		perfdata_build_deinit(&b);
	}
	return err;
}
