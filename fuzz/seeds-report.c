/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds: small recordings of each form, behind a byte that chooses what is made of them. */
#include <stdio.h>

#include "build-perfdata.h"
#include "seeds.h"

int write_seeds(void)
{
	int err = 0;

	for (unsigned int form = 0; form < PERFDATA_BUILD_FORMS && !err; form++) {
		_cleanup_strbuf_ struct strbuf seed = STRBUF_INIT;
		struct perfdata_build b;
		char name[16];

		perfdata_build_example(&b, form);
		put_u8(&seed, form * 17);
		strbuf_add(&seed, b.out.data, b.out.len);
		snprintf(name, sizeof(name), "form-%u", form);
		err = seed_write(name, seed.data, seed.len);
		perfdata_build_deinit(&b);
	}
	return err;
}
