/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What became of every event of one recording: nothing is dropped without a name. Written into the
 * recording and shown by record's summary and by report.
 */
#ifndef ENGINE_ACCOUNTING_H
#define ENGINE_ACCOUNTING_H

#include "base/strbuf.h"
#include "capture/capture.h"
#include "model/sample.h"

struct accounting {
	u64 samples;			/* chains made */
	u64 user;			/* of them, taken in guest user mode */
	u64 from_kernel[STOP_NR];	/* chains that start in the kernel, by why they ended */
	u64 from_user[STOP_NR];		/* chains that start in user mode */
	u64 changed;			/* guest memory changed under the walk */
	u64 moved;			/* registers later than the event */
	u64 unverified;			/* chains with a return address that could not be checked */
	u64 no_task;			/* samples without a guest task */
	u64 no_memory;			/* samples whose process we had no memory for */
};

void accounting_add(struct accounting *accounting, const struct sample *sample,
		    const struct chain *chain);

/* Adds @other to @accounting. */
void accounting_sum(struct accounting *accounting, const struct accounting *other);

/* Chains that ended as they should. */
u64 accounting_complete(const struct accounting *accounting);

/* "page not present 12, no rule 3": the reasons of the incomplete ones, most frequent first. */
void accounting_reasons(const struct accounting *accounting, struct strbuf *out);

/* Events that should have become samples, and did not. */
u64 accounting_lost(const struct capture_counts *counts);

/* "1000 events = 900 samples + 100 not in the guest": every event in exactly one place. */
void accounting_sum_text(const struct capture_counts *counts, struct strbuf *out);

/* All of it as lines "what: number", those that are zero left out. Goes into the recording. */
void accounting_write(const struct accounting *accounting, const struct capture_counts *counts,
		      struct strbuf *out);

/* Whether a return address in it could not be checked. */
bool chain_has_unverified(const struct chain *chain);

#endif
