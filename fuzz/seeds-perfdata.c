/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds: a file of each form with every kind of record, plain and compressed. */
#include <linux/perf_event.h>
#include <stdio.h>

#include "build-perfdata.h"
#include "seeds.h"

#define SAMPLE_TYPE                                                                       \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |   \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static void add_records(struct perfdata_build *b)
{
	static const u64 chain[] = { PERF_CONTEXT_USER, 0x401000, 0x402000 };
	static const u8 build_id[20] = { 1, 2, 3 };
	struct perfdata_build_where where = { 7, 7, 1, 10, BUILD_ID_OF(0) };

	perfdata_build_mmap(b, &where, 0x1000, 0x1000, 0, "[kernel.kallsyms]_text");
	perfdata_build_comm(b, &where, "worker");
	perfdata_build_mmap2(b, &where, 0x400000, 0x4000, build_id, "/bin/worker");
	perfdata_build_mmap2(b, &where, 0x500000, 0x1000, NULL, "/lib/libc.so");
	perfdata_build_task(b, &where, true, 3);
	perfdata_build_sample(b, &where, PERF_RECORD_MISC_USER, 5, chain, ARRAY_SIZE(chain));
	perfdata_build_throttle(b, &where);
	perfdata_build_lost(b, &where, 9);
	perfdata_build_task(b, &where, false, 3);
}

static int write_form(unsigned int form)
{
	struct perfdata_build b;
	char name[16];
	int err;

	perfdata_build_begin(&b, form & 1, form & 2, form & 4 ? 2 : 1, SAMPLE_TYPE);
	if (form & 8)
		perfdata_build_pack_begin(&b);
	add_records(&b);
	if (form & 8)
		perfdata_build_pack(&b, form & 1);
	perfdata_build_round(&b);
	add_records(&b);
	perfdata_build_finish(&b);
	snprintf(name, sizeof(name), "form-%u", form);
	err = seed_write(name, b.out.data, b.out.len);
	perfdata_build_deinit(&b);
	return err;
}

int write_seeds(void)
{
	int err = 0;

	for (unsigned int form = 0; form < 16 && !err; form++)
		err = write_form(form);
	return err;
}
