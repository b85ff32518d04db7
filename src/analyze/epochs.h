/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long what was resolved stays true: each process has an epoch, which ends when a record
 * changes its mappings, and so has the kernel. A chain means the same in the same epochs.
 */
#ifndef ANALYZE_EPOCHS_H
#define ANALYZE_EPOCHS_H

#include "analyze/chaincache.h"
#include "base/hashmap.h"
#include "perfdata/reader.h"

struct epochs {
	struct hashmap processes;	/* pid -> epoch, for those that ever changed */
	u64 kernel;
};

#define EPOCHS_INIT ((struct epochs){ 0 })

void epochs_deinit(struct epochs *epochs);

/* Takes a record that is no sample into account. 0 or -ENOMEM. */
int epochs_note(struct epochs *epochs, const struct perfdata_record *record);

/* What the meaning of @sample's chain and address hangs on besides themselves. */
struct chain_tag epochs_tag(const struct epochs *epochs, const struct perfdata_record *sample);

#endif
