/* SPDX-License-Identifier: GPL-2.0-only */
/* How long what was resolved stays true. */
#include "analyze/epochs.h"

#define KERNEL_PID UINT32_MAX	/* of the records that map the kernel and its modules */

void epochs_deinit(struct epochs *epochs)
{
	hashmap_deinit(&epochs->processes);
}

int epochs_note(struct epochs *epochs, const struct perfdata_record *record)
{
	u64 *epoch;

	switch (record->kind) {
	case PERFDATA_SAMPLE:
	case PERFDATA_LOST:
	case PERFDATA_OTHER:
		return 0;
	}
	if (record->pid == KERNEL_PID) {
		epochs->kernel++;
		return 0;
	}
	epoch = hashmap_put(&epochs->processes, record->pid, NULL);
	if (!epoch)
		return -ENOMEM;
	++*epoch;
	return 0;
}

struct chain_tag epochs_tag(const struct epochs *epochs, const struct perfdata_record *sample)
{
	const u64 *epoch = hashmap_get(&epochs->processes, sample->pid);

	return (struct chain_tag){ {
		(u64)sample->pid << 32 | (u32)(epoch ? *epoch : 0),
		epochs->kernel << 8 | sample->cpumode,
		sample->sample.ip,
	} };
}
